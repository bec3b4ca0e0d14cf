/*
 * Groups over cycles, with a real process table below.
 *
 * A cycle is begin(), SEE() per process, end(). take() makes what the groups show; shown() looks
 * into what was taken last. User CPU time stands for all counters, storage reads for those that
 * can be refused.
 */
#include "by_comm.h"

#include "comm_rule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define BIT(n) (UINT32_C(1) << (n))
#define CPU    COUNTER_CPU_USER_NS
#define READ   COUNTER_STORAGE_READ_BYTES
#define EXITED (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN)

static const uint64_t SECOND = 1000000000u;

static const struct wanted wanted = {
    .parts = BIT(PART_STAT) | BIT(PART_IO) | BIT(PART_FD) | BIT(PART_LIMITS) | BIT(PART_MAPS) |
             BIT(PART_STATUS),
    .counters = BIT(CPU) | BIT(READ),
};

enum { TAKEN_MAX = 80 };

struct taken {
    char name[UTF8_LABEL_MAX + 1];
    struct group_values values;
};

/* For a test linked with --wrap=realloc: there is no more memory. */
static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

struct fixture {
    struct table table;
    struct groups groups;
    uint64_t now_ns;
    uint64_t sequence;
    uint64_t served;
    uint64_t max_map_count;
    struct taken taken[TAKEN_MAX];
    size_t n_taken;
};

/* A process as one cycle shows it; what is left out is 0 or ordinary. */
struct look {
    uint32_t pid;
    uint64_t start;
    const char *comm;
    uint64_t cpu;
    uint64_t read;
    bool io_refused;
    bool kernel_thread;
    enum state state;
    uint32_t have_gauges;
    uint64_t gauge[GAUGE_N];
};

struct rule_text {
    const char *name, *glob;
};

static void set_rules(struct fixture *f, const struct rule_text *texts, size_t n, size_t max)
{
    struct rules rules;

    rules_init(&rules);
    for (size_t i = 0; i < n; i++) {
        struct span glob = span_from_str(texts[i].glob), wrong;

        assert_int_equal(rules_add_comm(&rules, span_from_str(texts[i].name), &glob, 1, &wrong), 0);
    }
    assert_int_equal(groups_set_rules(&f->groups, &rules, max, 3600 * SECOND), 0);
    assert_null(rules.rules);
}

#define RULES(f, max, ...)                          \
    set_rules(f, (struct rule_text[]){__VA_ARGS__}, \
              sizeof((struct rule_text[]){__VA_ARGS__}) / sizeof(struct rule_text), max)

static void setup(struct fixture *f, enum groups_mode mode)
{
    *f = (struct fixture){.now_ns = 1000 * SECOND};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, mode);
    set_rules(f, NULL, 0, 100);
}

static void teardown(struct fixture *f)
{
    groups_deinit(&f->groups);
    table_deinit(&f->table);
}

static void begin(struct fixture *f)
{
    f->now_ns += 10 * SECOND;
    table_begin(&f->table, 0);
    groups_begin(&f->groups);
}

static uint32_t see(struct fixture *f, struct look look)
{
    const char *comm = look.comm ? look.comm : "x";
    struct sample s = {.identity = {look.pid, look.start},
                       .state = look.state,
                       .kernel_thread = look.kernel_thread,
                       .comm_len = (uint8_t)strlen(comm),
                       .have_gauges = look.have_gauges};
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    uint32_t ref;

    memcpy(s.comm, comm, s.comm_len);
    memcpy(s.gauge, look.gauge, sizeof(s.gauge));
    sample_set_counter(&s, CPU, look.cpu);
    if (!look.io_refused)
        sample_set_counter(&s, READ, look.read);
    assert_int_equal(table_see(&f->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f->table, ref);
    assert_int_equal(place_by_comm(&f->groups, p, sighting, &delta), 0);
    groups_add(&f->groups, p, &s, sighting, sample_lacks(&s, &wanted), f->max_map_count);
    return ref;
}

#define SEE(f, ...) see(f, (struct look){__VA_ARGS__})

static void end(struct fixture *f)
{
    uint32_t ref;

    table_end(&f->table);
    for (size_t at = 0; (ref = table_next_ended(&f->table, &at)) != TABLE_NONE;)
        groups_exit(&f->groups, table_process(&f->table, ref), EXIT_REASON_UNKNOWN);
    groups_end(&f->groups, f->now_ns);
}

static void take(struct fixture *f)
{
    struct groups_moment moment = {.sequence = ++f->sequence,
                                   .served_sequence = f->served,
                                   .now_ns = f->now_ns,
                                   .have_boot_time = true,
                                   .boot_time_seconds = 1700000000,
                                   .ticks_per_second = 100};

    f->n_taken = f->groups.n_order;
    assert_true(f->n_taken <= TAKEN_MAX);
    for (size_t i = 0; i < f->n_taken; i++) {
        struct span name = group_name(&f->groups, f->groups.order[i]);

        memcpy(f->taken[i].name, name.p, name.n);
        f->taken[i].name[name.n] = '\0';
        memset(&f->taken[i].values, 0xaa, sizeof(f->taken[i].values));
        groups_values(&f->groups, f->groups.order[i], &moment, &f->taken[i].values);
    }
}

static const struct group_values *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->n_taken; i++)
        if (strcmp(f->taken[i].name, name) == 0)
            return &f->taken[i].values;
    return NULL;
}

static const struct group_values *shown(const struct fixture *f, const char *name)
{
    const struct group_values *v = find(f, name);

    if (!v) {
        fail_msg("there is no group %s", name);
        abort(); /* not reached: for compilers that do not know */
    }
    return v;
}

/* A counter that is on the page. */
static uint64_t counter(const struct fixture *f, const char *name, unsigned field)
{
    const struct group_values *v = shown(f, name);

    if (!(v->have_counters >> field & 1))
        fail_msg("%s does not know counter %u", name, field);
    return v->counter[field];
}

static void end_and_take(struct fixture *f)
{
    end(f);
    take(f);
}

/* The names on the page, joined by commas. */
static void check_names(const struct fixture *f, const char *expected)
{
    char names[1024] = "";
    size_t n = 0;

    for (size_t i = 0; i < f->n_taken; i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? "," : "", f->taken[i].name);
    assert_string_equal(names, expected);
}

static void test_totals_outlive_members(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 100);
    SEE(&f, .pid = 2, .cpu = 50);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 103);
    SEE(&f, .pid = 2, .cpu = 57);
    SEE(&f, .pid = 3, .start = 10, .cpu = 20);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 3);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 103);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 1);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 1);
    assert_int_equal(counter(&f, "x", EXITED), 2);
    begin(&f);
    SEE(&f, .pid = 9, .comm = "y", .start = 20);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 0);
    assert_int_equal(counter(&f, "x", EXITED), 3);
    teardown(&f);
}

/* What counts appears at 0 first, and with its amount once the 0 was served. */
static void test_first_at_zero_until_served(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .start = 5, .cpu = 700);
    end_and_take(&f); /* sequence 2 */
    assert_true(shown(&f, "x")->have_counters & BIT(CPU));
    assert_int_equal(counter(&f, "x", CPU), 0);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 0);
    f.served = 1; /* not the one that held the 0 */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .start = 5, .cpu = 710);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 0);
    f.served = 2;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .start = 5, .cpu = 711);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 711);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 1);
    /* An amount that comes later needs no further 0. */
    f.served = 0;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .start = 5, .cpu = 800);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 800);
    teardown(&f);
}

static void test_first_at_zero_for_a_minute(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end_and_take(&f);
    for (int i = 0; i < 8; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "init");
        SEE(&f, .pid = 2, .start = 5, .cpu = 700);
        end_and_take(&f);
        assert_int_equal(counter(&f, "x", CPU), i < 6 ? 0 : 700);
    }
    teardown(&f);
}

/* Each series waits for its own 0: io becomes readable, an exit happens, long after cpu. */
static void test_each_series_is_first_at_zero(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    for (uint64_t i = 1; i <= 3; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .cpu = 10 * i, .io_refused = true);
        end_and_take(&f);
        f.served = f.sequence;
    }
    assert_int_equal(counter(&f, "x", CPU), 20);
    assert_false(shown(&f, "x")->have_counters & BIT(READ));
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 31);
    SEE(&f, .pid = 2, .start = 9, .read = 5000);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 21);
    assert_true(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", READ), 0);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 31);
    SEE(&f, .pid = 2, .start = 9, .read = 5001);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", READ), 5001);
    teardown(&f);
}

/* What a series held back is not lost when its members end. */
static void test_amount_of_the_short_lived(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .start = 5, .cpu = 700);
    end_and_take(&f);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->processes, 0);
    assert_int_equal(counter(&f, "x", CPU), 700);
    teardown(&f);
}

static void test_fixed_names_from_the_start(void **state)
{
    const struct group_values *v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"web", "nginx"}, {"db", "postgres"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .io_refused = true);
    end_and_take(&f);
    check_names(&f, "db,init,web");
    v = shown(&f, "web");
    assert_int_equal(v->processes, 0);
    assert_int_equal(v->have_counters & BIT(CPU), BIT(CPU));
    assert_int_equal(v->have_counters & BIT(READ), BIT(READ));
    assert_int_equal(v->have_counters & BIT(GROUP_COUNTER_RESTARTS), BIT(GROUP_COUNTER_RESTARTS));
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(v->have_gauges, BIT(GAUGE_N) - 1);
    assert_int_equal(v->gauge[GAUGE_THREADS], 0);
    assert_int_equal(v->oldest_start_ns, 0);
    assert_true(v->worst_fds_ratio < 0);
    f.served = f.sequence;
    /* The first member counts at once, for the 0 was served; what it lacks is no longer known. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .io_refused = true);
    SEE(&f, .pid = 2, .comm = "nginx", .start = 9, .cpu = 40, .io_refused = true);
    end_and_take(&f);
    v = shown(&f, "web");
    assert_int_equal(counter(&f, "web", CPU), 40);
    assert_false(v->have_counters & BIT(READ));
    assert_int_equal(v->unread[PART_IO], 1);
    /* Nor does it come back as 0 when the member is gone. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end_and_take(&f);
    v = shown(&f, "web");
    assert_int_equal(v->processes, 0);
    assert_int_equal(counter(&f, "web", CPU), 40);
    assert_false(v->have_counters & BIT(READ));
    teardown(&f);
}

/* A gauge is known if one member has it, and the others are counted. */
static void test_gauges(void **state)
{
    const struct group_values *v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .have_gauges = BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 3, [GAUGE_PEAK_RESIDENT_BYTES] = 500, [GAUGE_SWAP_BYTES] = 7});
    SEE(&f, .pid = 2, .have_gauges = BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 4, [GAUGE_PEAK_RESIDENT_BYTES] = 900});
    SEE(&f, .pid = 3, .have_gauges = BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 99, [GAUGE_PEAK_RESIDENT_BYTES] = 100});
    end_and_take(&f);
    v = shown(&f, "x");
    assert_int_equal(v->gauge[GAUGE_THREADS], 7);
    assert_int_equal(v->gauge[GAUGE_PEAK_RESIDENT_BYTES], 900);
    assert_int_equal(v->have_gauges, BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES));
    /* Levels are of the present: those who left are not in them. */
    begin(&f);
    SEE(&f, .pid = 3, .have_gauges = BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_PEAK_RESIDENT_BYTES] = 100});
    end_and_take(&f);
    v = shown(&f, "x");
    assert_int_equal(v->gauge[GAUGE_PEAK_RESIDENT_BYTES], 100);
    assert_int_equal(v->have_gauges, BIT(GAUGE_PEAK_RESIDENT_BYTES));
    teardown(&f);
}

static void test_sums_saturate(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end(&f);
    begin(&f);
    for (uint32_t pid = 2; pid < 5; pid++)
        SEE(&f, .pid = pid, .start = 5, .cpu = UINT64_MAX / 2, .have_gauges = BIT(GAUGE_SWAP_BYTES),
            .gauge = {[GAUGE_SWAP_BYTES] = UINT64_MAX / 2});
    end_and_take(&f);
    assert_true(counter(&f, "x", CPU) == INT64_MAX);
    assert_true(shown(&f, "x")->gauge[GAUGE_SWAP_BYTES] == INT64_MAX);
    teardown(&f);
}

static void test_states(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .state = STATE_RUNNING);
    SEE(&f, .pid = 2, .state = STATE_ZOMBIE);
    SEE(&f, .pid = 3, .state = STATE_ZOMBIE);
    SEE(&f, .pid = 4, .state = STATE_SLEEPING);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->state[STATE_RUNNING], 1);
    assert_int_equal(shown(&f, "x")->state[STATE_ZOMBIE], 2);
    assert_int_equal(shown(&f, "x")->state[STATE_SLEEPING], 1);
    assert_int_equal(shown(&f, "x")->processes, 4);
    teardown(&f);
}

static void test_zombie_children(void **state)
{
    struct fixture f;
    uint32_t parent;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    parent = SEE(&f, .pid = 1, .comm = "lazy");
    SEE(&f, .pid = 2, .comm = "child", .state = STATE_ZOMBIE);
    groups_add_zombie_child(&f.groups, table_process(&f.table, parent));
    groups_add_zombie_child(&f.groups, table_process(&f.table, parent));
    end_and_take(&f);
    assert_int_equal(shown(&f, "lazy")->zombie_children, 2);
    assert_int_equal(shown(&f, "child")->zombie_children, 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "lazy");
    end_and_take(&f);
    assert_int_equal(shown(&f, "lazy")->zombie_children, 0);
    teardown(&f);
}

static void test_unread(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 5, .io_refused = true);
    SEE(&f, .pid = 2, .start = 7, .cpu = 5);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->unread[PART_IO], 1);
    assert_int_equal(shown(&f, "x")->unread[PART_STAT], 0);
    /* Whose stat cannot be read stays a member, of a state that is not known. */
    begin(&f);
    groups_add_unread(&f.groups, table_process(&f.table, table_see_unread(&f.table, 1)));
    SEE(&f, .pid = 2, .start = 7, .cpu = 6);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->processes, 2);
    assert_int_equal(shown(&f, "x")->unread[PART_STAT], 1);
    assert_int_equal(shown(&f, "x")->unread[PART_IO], 0);
    assert_int_equal(shown(&f, "x")->state[STATE_OTHER], 1);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000000 * SECOND);
    assert_int_equal(counter(&f, "x", EXITED), 0);
    assert_int_equal(counter(&f, "x", CPU), 1);
    teardown(&f);
}

static void test_worst_ratios(void **state)
{
    static const struct {
        uint64_t fds, limit, mappings, max_map_count;
        uint32_t have;
        double fds_ratio, mappings_ratio;
    } rows[] = {
        {5, 10, 65530, 65530, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT) | BIT(GAUGE_MAPPINGS),
         0.5, 1},
        {5, SAMPLE_UNLIMITED, 5, 0, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), 0, -1},
        {20, 10, 5, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), 2, -1},
        {5, 0, 5, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), -1, -1},
        {5, 10, 5, 0, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_MAPPINGS), -1, -1},
        {5, 10, 5, 10, BIT(GAUGE_OPEN_FDS_LIMIT), -1, -1},
        {0, 10, 0, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT) | BIT(GAUGE_MAPPINGS), 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture f;

        setup(&f, GROUPS_AT_ONCE);
        f.max_map_count = rows[i].max_map_count;
        begin(&f);
        SEE(&f, .pid = 1, .have_gauges = rows[i].have,
            .gauge = {[GAUGE_OPEN_FDS] = rows[i].fds,
                      [GAUGE_OPEN_FDS_LIMIT] = rows[i].limit,
                      [GAUGE_MAPPINGS] = rows[i].mappings});
        end_and_take(&f);
        if (shown(&f, "x")->worst_fds_ratio != rows[i].fds_ratio ||
            shown(&f, "x")->worst_mappings_ratio != rows[i].mappings_ratio)
            fail_msg("row %zu: %f %f", i, shown(&f, "x")->worst_fds_ratio,
                     shown(&f, "x")->worst_mappings_ratio);
        teardown(&f);
    }
}

/* The worst member is who is nearest to its own limit, not who has the most open. */
static void test_worst_member(void **state)
{
    uint32_t have = BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT);
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 3, [GAUGE_OPEN_FDS_LIMIT] = 4});
    SEE(&f, .pid = 2, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 1000, [GAUGE_OPEN_FDS_LIMIT] = 4000});
    SEE(&f, .pid = 3, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 9000, [GAUGE_OPEN_FDS_LIMIT] = SAMPLE_UNLIMITED});
    end_and_take(&f);
    assert_true(shown(&f, "x")->worst_fds_ratio == 0.75);
    begin(&f);
    SEE(&f, .pid = 3, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 9000, [GAUGE_OPEN_FDS_LIMIT] = SAMPLE_UNLIMITED});
    end_and_take(&f);
    assert_true(shown(&f, "x")->worst_fds_ratio == 0);
    teardown(&f);
}

static void test_oldest_and_newest(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 5, .start = 300);
    SEE(&f, .pid = 4, .start = 150);
    SEE(&f, .pid = 6, .start = 250);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000001 * SECOND + SECOND / 2);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 1700000003 * SECOND);
    begin(&f);
    SEE(&f, .pid = 6, .start = 250);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000002 * SECOND + SECOND / 2);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 1700000002 * SECOND + SECOND / 2);
    begin(&f);
    SEE(&f, .pid = 7, .comm = "y", .start = 900);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 0);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 0);
    teardown(&f);
}

/* Ticks since boot say nothing while the time of boot is not known. */
static void test_no_boot_time(void **state)
{
    struct groups_moment moment = {.sequence = 1, .now_ns = 1, .ticks_per_second = 100};
    struct group_values v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 5, .start = 300);
    end(&f);
    groups_values(&f.groups, f.groups.order[0], &moment, &v);
    assert_int_equal(v.oldest_start_ns, 0);
    assert_int_equal(v.newest_start_ns, 0);
    assert_int_equal(v.processes, 1);
    teardown(&f);
}

static void test_names_in_order(void **state)
{
    static const char *const comms[] = {"m", "a", "zz", "z", "B", "b", "_", "\xc3\xa9", "aa", "0"};
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    for (uint32_t i = 0; i < 10; i++)
        SEE(&f, .pid = i + 1, .comm = comms[i]);
    end_and_take(&f);
    check_names(&f, "0,B,_,a,aa,b,m,z,zz,\xc3\xa9");
    teardown(&f);
}

/* Bytes that are no text become U+FFFD each, and what is equal then is one group. */
static void test_names_made_equal(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a\xff");
    SEE(&f, .pid = 2, .comm = "a\xfe");
    SEE(&f, .pid = 3, .comm = "a\x01");
    SEE(&f, .pid = 4, .comm = "");
    end_and_take(&f);
    check_names(&f, "_empty,a\xef\xbf\xbd");
    assert_int_equal(shown(&f, "a\xef\xbf\xbd")->processes, 3);
    assert_int_equal(shown(&f, "_empty")->processes, 1);
    teardown(&f);
}

static void test_long_names_are_cut(void **state)
{
    char text[600], name[UTF8_LABEL_MAX + 1] = "";
    struct fixture f;

    (void)state;
    memset(text, 'n', sizeof(text) - 1);
    memcpy(text + 500, "-${comm}", 9);
    memset(name, 'n', UTF8_LABEL_MAX);
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100, {text, "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    SEE(&f, .pid = 2, .comm = "b");
    end_and_take(&f);
    check_names(&f, name);
    assert_int_equal(shown(&f, name)->processes, 2);
    teardown(&f);
}

static void test_kernel_threads(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    SEE(&f, .pid = 3, .comm = "kworker/0:0", .kernel_thread = true);
    end_and_take(&f);
    check_names(&f, "kernel");
    assert_int_equal(shown(&f, "kernel")->processes, 2);
    teardown(&f);
}

/* Beyond max all go to `_other`, stay there when there is room again, and are counted once. */
static void test_max_and_other(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 2, {"fixed", "f*"}, {"${comm}", "*"});
    f.groups.forget_ns = 15 * SECOND;
    for (uint64_t i = 1; i <= 2; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "a", .cpu = 10 * i);
        SEE(&f, .pid = 2, .comm = "b", .cpu = 10 * i);
        SEE(&f, .pid = 3, .comm = "c", .cpu = 10 * i);
        SEE(&f, .pid = 4, .comm = "d", .cpu = 10 * i);
        SEE(&f, .pid = 5, .comm = "f", .cpu = 10 * i);
        end_and_take(&f);
        check_names(&f, "_other,a,b,fixed");
        assert_int_equal(shown(&f, "_other")->processes, 2);
        assert_int_equal(f.groups.other_assignments, 2);
    }
    assert_int_equal(counter(&f, "_other", CPU), 20);
    /* Looked at anew, they are still there: no further assignment. */
    RULES(&f, 2, {"fixed", "f*"}, {"${comm}", "*"});
    f.groups.forget_ns = 15 * SECOND;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a", .cpu = 20);
    SEE(&f, .pid = 2, .comm = "b", .cpu = 20);
    SEE(&f, .pid = 3, .comm = "c", .cpu = 20);
    SEE(&f, .pid = 4, .comm = "d", .cpu = 20);
    end_and_take(&f);
    assert_int_equal(shown(&f, "_other")->processes, 2);
    assert_int_equal(f.groups.other_assignments, 2);
    for (int i = 0; i < 4; i++) {
        begin(&f);
        SEE(&f, .pid = 3, .comm = "c", .cpu = 25);
        SEE(&f, .pid = 4, .comm = "d", .cpu = 20);
        end_and_take(&f);
    }
    check_names(&f, "_other,fixed");
    /* Room for two again: a new process takes it, the others stay where they are. */
    begin(&f);
    SEE(&f, .pid = 3, .comm = "c", .cpu = 26);
    SEE(&f, .pid = 4, .comm = "e", .cpu = 21); /* but a new comm is looked at anew */
    SEE(&f, .pid = 6, .comm = "c", .start = 7, .cpu = 1);
    end_and_take(&f);
    check_names(&f, "_other,c,e,fixed");
    assert_int_equal(shown(&f, "_other")->processes, 1);
    assert_int_equal(counter(&f, "_other", CPU), 27);
    assert_int_equal(counter(&f, "c", CPU), 1);
    assert_int_equal(counter(&f, "e", CPU), 0);
    assert_int_equal(f.groups.other_assignments, 2);
    assert_int_equal(f.groups.n_counted, 2);
    teardown(&f);
}

static void test_forget(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"fixed", "f"}, {"${comm}", "*"});
    f.groups.forget_ns = 25 * SECOND;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .comm = "a", .cpu = 5);
    end_and_take(&f);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 2, .comm = "a", .cpu = 505);
    end_and_take(&f);
    assert_int_equal(counter(&f, "a", CPU), 500);
    for (int i = 0; i < 4; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "init");
        end_and_take(&f);
        f.served = f.sequence;
        /* Empty for 0, 10, 20 and, at last, 30 seconds. */
        check_names(&f, i < 3 ? "a,fixed,init" : "fixed,init");
    }
    /* The slot is another's now, who inherits nothing. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 3, .comm = "b", .start = 9, .cpu = 7);
    end_and_take(&f);
    check_names(&f, "b,fixed,init");
    assert_int_equal(f.groups.n_groups, 3);
    assert_int_equal(counter(&f, "b", CPU), 0);
    assert_int_equal(counter(&f, "b", EXITED), 0);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 3, .comm = "b", .start = 9, .cpu = 7);
    SEE(&f, .pid = 4, .comm = "a", .start = 10, .cpu = 3);
    end_and_take(&f);
    assert_int_equal(counter(&f, "b", CPU), 7);
    assert_int_equal(counter(&f, "a", CPU), 0); /* dropped, and first at 0 anew */
    teardown(&f);
}

/* A member that comes back in time resets the clock. */
static void test_not_forgotten_with_a_member_between(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.groups.forget_ns = 25 * SECOND;
    for (uint32_t i = 0; i < 20; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "init");
        if (i % 3 == 0)
            SEE(&f, .pid = 10 + i, .comm = "cron", .start = 10 + i, .cpu = 1);
        end_and_take(&f);
        check_names(&f, "cron,init");
    }
    assert_int_equal(counter(&f, "cron", CPU), 6);
    teardown(&f);
}

/* Case 15. What was used up to the look goes to where it was used; no start, no end. */
static void test_move(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "bash", .start = 61000, .cpu = 3);
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "qtdisp", .start = 61000, .cpu = 5);
    end_and_take(&f);
    assert_int_equal(shown(&f, "bash")->processes, 0);
    assert_int_equal(shown(&f, "qtdisp")->processes, 1);
    assert_int_equal(counter(&f, "bash", CPU), 2);
    assert_int_equal(counter(&f, "qtdisp", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "qtdisp", .start = 61000, .cpu = 25);
    end_and_take(&f);
    assert_int_equal(counter(&f, "bash", CPU), 2);
    assert_int_equal(counter(&f, "qtdisp", CPU), 20);
    for (size_t i = 0; i < f.n_taken; i++) {
        assert_int_equal(counter(&f, f.taken[i].name, GROUP_COUNTER_STARTED), 0);
        assert_int_equal(counter(&f, f.taken[i].name, GROUP_COUNTER_RESTARTS), 0);
        assert_int_equal(counter(&f, f.taken[i].name, EXITED), 0);
    }
    /* It ends where it is. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .start = 61001);
    end_and_take(&f);
    assert_int_equal(counter(&f, "bash", EXITED), 0);
    assert_int_equal(counter(&f, "qtdisp", EXITED), 1);
    teardown(&f);
}

/* Who moves in brings what it knows, so the series is there at 0 and its amount is not late. */
static void test_move_into_a_fixed_group(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "bash", .cpu = 3);
    end_and_take(&f);
    f.served = f.sequence;
    assert_int_equal(counter(&f, "web", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 5);
    end_and_take(&f);
    f.served = f.sequence;
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(counter(&f, "web", READ), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "qtdisp", .cpu = 25);
    end_and_take(&f);
    f.served = f.sequence;
    assert_int_equal(counter(&f, "web", CPU), 20);
    assert_int_equal(counter(&f, "qtdisp", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "qtdisp", .cpu = 30);
    end_and_take(&f);
    assert_int_equal(counter(&f, "qtdisp", CPU), 5);
    teardown(&f);
}

static void test_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 10);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 10);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 15);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 12);
    end(&f);
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 16);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 13);
    end_and_take(&f);
    check_names(&f, "bash,nginx,web");
    assert_int_equal(shown(&f, "nginx")->processes, 0);
    assert_int_equal(counter(&f, "nginx", CPU), 6);
    assert_int_equal(counter(&f, "nginx", EXITED), 0);
    assert_int_equal(shown(&f, "web")->processes, 1);
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(counter(&f, "web", GROUP_COUNTER_STARTED), 0);
    assert_int_equal(counter(&f, "bash", CPU), 3);
    /* The same rules once more move nobody. */
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 17);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 13);
    end_and_take(&f);
    assert_int_equal(counter(&f, "web", CPU), 1);
    /* A name that is fixed no more is like any other, with what it counted. */
    RULES(&f, 100, {"${comm}", "*"});
    f.groups.forget_ns = SECOND;
    assert_int_equal(f.groups.n_counted, 3);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 18);
    end_and_take(&f);
    assert_int_equal(counter(&f, "web", CPU), 2);
    assert_int_equal(shown(&f, "nginx")->processes, 1);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 18);
    end_and_take(&f);
    check_names(&f, "nginx");
    assert_int_equal(f.groups.n_counted, 1);
    teardown(&f);
}

/* An ordinary group that becomes fixed leaves room for another. */
static void test_fixed_later(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    end(&f);
    assert_int_equal(f.groups.n_counted, 1);
    RULES(&f, 1, {"a", "a"}, {"${comm}", "*"});
    assert_int_equal(f.groups.n_counted, 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    SEE(&f, .pid = 2, .comm = "b");
    SEE(&f, .pid = 3, .comm = "c");
    end_and_take(&f);
    check_names(&f, "_other,a,b");
    teardown(&f);
}

/* What each cycle shows of one group, and how many restarts that makes so far. */
struct restarts_row {
    struct {
        uint32_t pid;
        uint64_t start;
    } seen[4];
    uint64_t restarts;
};

static void check_restarts(const struct restarts_row *rows, size_t n)
{
    struct fixture f;

    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100, {"g", "g"});
    for (size_t i = 0; i < n; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "init");
        for (size_t k = 0; k < 4 && rows[i].seen[k].pid; k++)
            SEE(&f, .pid = rows[i].seen[k].pid, .start = rows[i].seen[k].start, .comm = "g");
        end_and_take(&f);
        if (counter(&f, "g", GROUP_COUNTER_RESTARTS) != rows[i].restarts)
            fail_msg("row %zu: %lu restarts", i, counter(&f, "g", GROUP_COUNTER_RESTARTS));
    }
    teardown(&f);
}

#define CHECK_RESTARTS(rows) check_restarts(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_restart_within_a_cycle(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0}, {{{10, 100}, {11, 101}}, 0},
        {{{20, 200}, {21, 201}}, 1}, /* master and worker anew */
        {{{20, 200}, {21, 201}}, 1}, {{{30, 300}}, 2},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

static void test_restart_after_a_pause(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}}, 0}, {{{0, 0}}, 0}, {{{0, 0}}, 0}, {{{20, 200}}, 1}, {{{20, 200}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* A group that ends for good, and begins with its first member, had no restart. */
static void test_first_start_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{0, 0}}, 0}, {{{10, 100}}, 0}, {{{10, 100}}, 0}, {{{0, 0}}, 0}, {{{0, 0}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

static void test_worker_exit_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{10, 100}, {12, 150}}, 0}, /* a worker replaced */
        {{{10, 100}}, 0},
        {{{10, 100}, {13, 160}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* The oldest ended, but one of its time lives on: a supervisor handed over, nothing restarted. */
static void test_oldest_ends_others_live(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{11, 101}}, 0},
        {{{11, 101}, {12, 300}}, 0},
        {{{12, 300}, {13, 400}}, 0}, /* 12 was there before 11 ended */
        {{{14, 500}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* It was only not to be seen for a cycle. */
static void test_returned_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}}, 0}, {{{0, 0}}, 0},    {{{10, 100}}, 0}, {{{10, 100}, {11, 300}}, 0},
        {{{10, 100}}, 0}, {{{12, 400}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* The oldest ends in the cycle in which a younger one, not seen before, turns out to live. */
static void test_returned_predates_the_end(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{10, 100}}, 0},
        {{{11, 101}, {12, 300}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* Nor is one that was hidden, and is older than the daemon. */
static void test_found_is_no_restart(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.table.first_tick = 1000;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g");
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 11, .start = 200, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_STARTED), 0);
    /* Not even in the cycle of the end. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 12, .start = 300, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 13, .start = 1300, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 1);
    teardown(&f);
}

/* A cycle that was left neither ends nor restarts anybody, and what it added stays. */
static void test_left_cycle(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .cpu = 3);
    SEE(&f, .pid = 20, .start = 200, .comm = "h", .cpu = 9);
    table_abort(&f.table);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .cpu = 4);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 7);
    end_and_take(&f);
    assert_int_equal(counter(&f, "init", CPU), 4);
    assert_int_equal(counter(&f, "g", CPU), 2);
    assert_int_equal(counter(&f, "g", EXITED), 0);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    assert_int_equal(counter(&f, "h", CPU), 9);
    assert_int_equal(counter(&f, "h", GROUP_COUNTER_STARTED), 1);
    assert_int_equal(counter(&f, "h", EXITED), 1);
    assert_int_equal(shown(&f, "h")->processes, 0);
    teardown(&f);
}

/* One that returns goes on from its bases; its end stays counted. */
static void test_returned(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 7);
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", CPU), 2);
    assert_int_equal(counter(&f, "g", EXITED), 1);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_STARTED), 0);
    assert_int_equal(shown(&f, "g")->processes, 1);
    teardown(&f);
}

/* It comes back in the very cycle at whose end its group would be forgotten. */
static void test_returned_in_time(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.groups.forget_ns = SECOND;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init");
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 9);
    end_and_take(&f);
    check_names(&f, "g,init");
    assert_int_equal(counter(&f, "g", CPU), 4);
    teardown(&f);
}

/* A move for which there is no memory leaves the process where it was, until there is some. */
static void test_out_of_memory(void **state)
{
    struct sample s = {.identity = {1, 0}, .comm = "new", .comm_len = 3};
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct fixture f;
    uint32_t ref;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    for (uint32_t i = 1; i <= 64; i++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "g%u", i);
        SEE(&f, .pid = i, .comm = comm);
    }
    end(&f);
    assert_int_equal(f.groups.capacity, 64);
    begin(&f);
    sample_set_counter(&s, CPU, 7);
    assert_int_equal(table_see(&f.table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f.table, ref);
    no_memory = true;
    assert_int_equal(place_by_comm(&f.groups, p, sighting, &delta), -ENOMEM);
    no_memory = false;
    assert_string_equal(f.groups.groups[p->membership.now.group].name, "g1");
    table_abort(&f.table);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "new", .cpu = 9);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "new", .cpu = 10);
    end(&f);
    begin(&f);
    end_and_take(&f);
    assert_int_equal(counter(&f, "g1", CPU), 9);
    assert_int_equal(counter(&f, "g1", EXITED), 0);
    assert_int_equal(counter(&f, "new", CPU), 1);
    assert_int_equal(counter(&f, "new", EXITED), 1);
    teardown(&f);
}

static void test_forget_counters(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    for (uint64_t i = 0; i < 2; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .cpu = 100 * i, .read = 50 * i);
        end_and_take(&f);
        f.served = f.sequence;
    }
    assert_int_equal(counter(&f, "x", READ), 50);
    groups_forget_counters(&f.groups, BIT(READ));
    table_forget_counters(&f.table, BIT(READ));
    take(&f);
    assert_false(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", CPU), 100);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 101, .read = 9000);
    SEE(&f, .pid = 2, .start = 4, .read = 33);
    end_and_take(&f);
    assert_true(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", READ), 0);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 101, .read = 9001);
    SEE(&f, .pid = 2, .start = 4, .read = 33);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", READ), 34);
    teardown(&f);
}

static void test_many_groups(void **state)
{
    enum { MANY = 500 };
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100000, {"${comm}", "*"});
    for (uint64_t cycle = 0; cycle < 3; cycle++) {
        begin(&f);
        for (uint32_t i = 0; i < MANY; i++) {
            char comm[16];

            snprintf(comm, sizeof(comm), "g%u", i * 7919 % MANY);
            SEE(&f, .pid = i + 1, .comm = comm, .cpu = cycle * i);
        }
        end(&f);
    }
    assert_int_equal(f.groups.n_order, MANY);
    for (size_t i = 1; i < f.groups.n_order; i++) {
        struct span a = group_name(&f.groups, f.groups.order[i - 1]);
        struct span b = group_name(&f.groups, f.groups.order[i]);
        int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

        assert_true(c < 0 || (c == 0 && a.n < b.n));
    }
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_outlive_members),
        cmocka_unit_test(test_first_at_zero_until_served),
        cmocka_unit_test(test_first_at_zero_for_a_minute),
        cmocka_unit_test(test_each_series_is_first_at_zero),
        cmocka_unit_test(test_amount_of_the_short_lived),
        cmocka_unit_test(test_fixed_names_from_the_start),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_sums_saturate),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_zombie_children),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_worst_ratios),
        cmocka_unit_test(test_worst_member),
        cmocka_unit_test(test_oldest_and_newest),
        cmocka_unit_test(test_no_boot_time),
        cmocka_unit_test(test_names_in_order),
        cmocka_unit_test(test_names_made_equal),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_kernel_threads),
        cmocka_unit_test(test_max_and_other),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_not_forgotten_with_a_member_between),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_move_into_a_fixed_group),
        cmocka_unit_test(test_new_rules),
        cmocka_unit_test(test_fixed_later),
        cmocka_unit_test(test_restart_within_a_cycle),
        cmocka_unit_test(test_restart_after_a_pause),
        cmocka_unit_test(test_first_start_is_no_restart),
        cmocka_unit_test(test_worker_exit_is_no_restart),
        cmocka_unit_test(test_oldest_ends_others_live),
        cmocka_unit_test(test_returned_is_no_restart),
        cmocka_unit_test(test_returned_predates_the_end),
        cmocka_unit_test(test_found_is_no_restart),
        cmocka_unit_test(test_left_cycle),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_returned_in_time),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_forget_counters),
        cmocka_unit_test(test_many_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
