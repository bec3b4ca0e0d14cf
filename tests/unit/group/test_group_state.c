/*
 * States of groups as bytes, and what a daemon makes of them that comes after.
 *
 * Linked with --wrap=realloc,--wrap=malloc, to have no memory.
 */
#include "by_comm.h"
#include "group/group_state.h"

#include "chance.h"
#include "check.h"
#include "comm_rule.h"

#include <errno.h>
#include <limits.h>

#define BIT(n) (UINT32_C(1) << (n))
#define CPU    COUNTER_CPU_USER_NS
#define READ   COUNTER_STORAGE_READ_BYTES
#define EXITED (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN)

static const uint64_t SECOND = 1000000000u;
static const struct wanted wanted = {.parts = BIT(PART_STAT) | BIT(PART_IO),
                                     .counters = BIT(CPU) | BIT(READ)};

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

/* Apart: the first malloc of a decoder is the index of names. */
static unsigned mallocs_left = UINT_MAX;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
    if (mallocs_left == 0)
        return NULL;
    mallocs_left -= mallocs_left < UINT_MAX;
    return __real_malloc(n);
}

/* One daemon. */
struct fixture {
    struct table table;
    struct groups groups;
    uint64_t now_ns;
    uint64_t sequence, served;
    uint64_t youngest;
    bool resumed;
    struct group_values shown; /* of the group last asked for */
};

static void setup(struct fixture *f)
{
    struct rules rules;

    *f = (struct fixture){.now_ns = 1000 * SECOND};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, GROUPS_FIRST_AT_ZERO);
    rules_init(&rules);
    assert_int_equal(groups_set_rules(&f->groups, &rules, 100, 3600 * SECOND), 0);
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

static void see(struct fixture *f, uint32_t pid, uint64_t start, const char *comm, uint64_t cpu)
{
    struct sample s = {.identity = {pid, start}, .comm_len = (uint8_t)strlen(comm)};
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    uint32_t ref;

    memcpy(s.comm, comm, s.comm_len);
    sample_set_counter(&s, CPU, cpu);
    sample_set_counter(&s, READ, 2 * cpu);
    assert_int_equal(table_see(&f->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f->table, ref);
    assert_int_equal(place_by_comm(&f->groups, p, sighting, &delta), 0);
    groups_add(&f->groups, p, &s, sighting, 0, 0);
    f->youngest = start > f->youngest ? start : f->youngest;
}

/* As see(), and a rule waits for its command line, which is `line` once it is known. */
static void see_app(struct fixture *f, uint32_t pid, uint64_t start, uint64_t cpu, const char *line)
{
    struct subject subject = {.comm = SPAN_LITERAL("app"),
                              .cmdline = span_from_str(line ? line : ""),
                              .expected = line ? 0 : BIT(SUBJECT_CMDLINE)};
    struct sample s = {.identity = {pid, start}};
    const struct kin kin = {0};
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    uint32_t ref;

    sample_set_counter(&s, CPU, cpu);
    sample_set_counter(&s, READ, 2 * cpu);
    assert_int_equal(table_see(&f->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f->table, ref);
    assert_int_equal(groups_place(&f->groups, p, sighting, &delta, &subject, &kin),
                     line ? GROUPS_DECIDED : GROUPS_LATER);
    groups_add(&f->groups, p, &s, sighting, 0, 0);
    f->youngest = start > f->youngest ? start : f->youngest;
}

/* Ends the cycle with a snapshot that is scraped. */
static void end(struct fixture *f)
{
    struct groups_moment moment = {
        .sequence = ++f->sequence, .served_sequence = f->served, .now_ns = f->now_ns};
    uint32_t ref;

    table_end(&f->table);
    for (size_t at = 0; (ref = table_next_ended(&f->table, &at)) != TABLE_NONE;)
        groups_exit(&f->groups, table_process(&f->table, ref), EXIT_REASON_UNKNOWN);
    if (f->resumed)
        group_state_end_missing(&f->groups, &f->table);
    f->resumed = false;
    groups_end(&f->groups, f->now_ns);
    for (size_t i = 0; i < f->groups.n_order; i++)
        groups_values(&f->groups, f->groups.order[i], &moment, &f->shown);
    f->served = f->sequence;
}

static uint32_t find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->groups.n_order; i++)
        if (span_equal(group_name(&f->groups, f->groups.order[i]), span_from_str(name)))
            return f->groups.order[i];
    fail_msg("there is no group %s", name);
    return 0;
}

/* What the group shows in a further look at the snapshot that was just taken. */
static uint64_t shown(struct fixture *f, const char *name, unsigned counter)
{
    struct groups_moment moment = {.sequence = f->sequence, .now_ns = f->now_ns};

    groups_values(&f->groups, find(f, name), &moment, &f->shown);
    assert_true(f->shown.have_counters >> counter & 1);
    return f->shown.counter[counter];
}

static struct buf encode(const struct fixture *f)
{
    struct group_state state = {.first_tick = f->youngest + 1, .counters = wanted.counters};
    struct buf bytes;

    buf_init(&bytes, 1 << 24);
    group_state_encode(&f->groups, &f->table, &state, &bytes);
    assert_false(buf_failed(&bytes));
    return bytes;
}

static void set_rules(struct fixture *f)
{
    struct span comm = SPAN_LITERAL("app"), line = SPAN_LITERAL("-n (\\w+)");
    struct rule_spec spec = {.name = SPAN_LITERAL("app-${1}"),
                             .patterns = {[RULE_COMM] = {&comm, 1}, [RULE_CMDLINE] = {&line, 1}}};
    struct rule_fault fault;
    struct rules rules;

    rules_init(&rules);
    assert_int_equal(rules_add(&rules, &spec, &fault), 0);
    assert_int_equal(groups_set_rules(&f->groups, &rules, 100, 3600 * SECOND), 0);
}

/* The daemon is gone and another one goes on, as the cycle does it. */
static void restart(struct fixture *f)
{
    struct buf bytes = encode(f);
    struct group_state state;
    uint64_t now_ns = f->now_ns;

    teardown(f);
    *f = (struct fixture){.now_ns = now_ns, .resumed = true};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, GROUPS_FIRST_AT_ZERO);
    assert_int_equal(group_state_decode(buf_span(&bytes), &f->groups, &state), 0);
    assert_int_equal(state.counters, wanted.counters);
    assert_int_equal(table_resume(&f->table, state.first_tick, state.pending, state.n_pending), 0);
    free(state.pending);
    f->youngest = state.first_tick - 1;
    set_rules(f);
    buf_deinit(&bytes);
}

static void test_totals_go_on(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    for (uint64_t i = 0; i < 3; i++) {
        begin(&f);
        see(&f, 1, 10, "web", 1000 + 100 * i);
        end(&f);
    }
    assert_int_equal(shown(&f, "web", CPU), 200);
    restart(&f);
    /* 50 were used while nobody looked: lost, and no jump; shown at once. */
    begin(&f);
    see(&f, 1, 10, "web", 1250);
    end(&f);
    assert_int_equal(shown(&f, "web", CPU), 200);
    assert_int_equal(shown(&f, "web", READ), 400);
    assert_int_equal(shown(&f, "web", GROUP_COUNTER_STARTED), 0);
    begin(&f);
    see(&f, 1, 10, "web", 1257);
    end(&f);
    assert_int_equal(shown(&f, "web", CPU), 207);
    teardown(&f);
}

static void test_born_meanwhile_counts_in_full(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        see(&f, 1, 10, "web", 1000);
        see(&f, 3, 20, "web", 5);
        end(&f);
    }
    restart(&f);
    begin(&f);
    see(&f, 1, 10, "web", 1000);
    see(&f, 2, 20, "web", 300); /* of the last one's tick: it may have been counted */
    see(&f, 3, 20, "web", 5);
    see(&f, 4, 21, "web", 70);
    end(&f);
    assert_int_equal(shown(&f, "web", CPU), 70);
    assert_int_equal(shown(&f, "web", GROUP_COUNTER_STARTED), 1);
    teardown(&f);
}

/* What nobody has scraped at 0 yet is shown at 0 again. */
/* Who was pending is in no total, so all of it counts, and its start. */
static void test_pending_counts_in_full(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    set_rules(&f);
    begin(&f);
    see(&f, 1, 10, "init", 0);
    see_app(&f, 5, 20, 1000, NULL); /* found: what it used does not count */
    end(&f);
    begin(&f);
    see(&f, 1, 10, "init", 0);
    see_app(&f, 5, 20, 1001, "-n old");
    see_app(&f, 6, 700, 30, NULL);
    see_app(&f, 7, 650, 4, NULL);
    see(&f, 8, 800, "later", 5);
    end(&f);
    restart(&f);
    begin(&f);
    see(&f, 1, 10, "init", 0);
    see_app(&f, 5, 20, 1005, "-n old");
    see_app(&f, 6, 700, 35, NULL);
    see_app(&f, 7, 650, 5, "-n new");
    see(&f, 8, 800, "later", 9);
    end(&f);
    begin(&f);
    see(&f, 1, 10, "init", 0);
    see_app(&f, 5, 20, 1005, "-n old");
    see_app(&f, 6, 700, 40, "-n new");
    see_app(&f, 7, 650, 5, "-n new");
    see(&f, 8, 800, "later", 9);
    end(&f);
    assert_int_equal(shown(&f, "app-new", CPU), 45);
    assert_int_equal(shown(&f, "app-new", READ), 90);
    assert_int_equal(shown(&f, "app-new", GROUP_COUNTER_STARTED), 2);
    assert_int_equal(shown(&f, "app-new", GROUP_COUNTER_RESTARTS), 0);
    assert_int_equal(shown(&f, "app-old", CPU), 1);
    assert_int_equal(shown(&f, "later", CPU), 5);
    assert_int_equal(shown(&f, "later", GROUP_COUNTER_STARTED), 1);
    teardown(&f);
}

static void test_first_zero_is_kept(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    for (uint64_t i = 0; i < 2; i++) {
        begin(&f);
        see(&f, 1, 10, "web", 1000 * i);
        if (i == 1)
            f.served = 0;
        end(&f);
    }
    assert_int_equal(f.groups.groups[find(&f, "web")].total[CPU], 1000);
    assert_int_equal(shown(&f, "web", CPU), 0);
    restart(&f);
    begin(&f);
    see(&f, 1, 10, "web", 1000);
    end(&f);
    assert_int_equal(shown(&f, "web", CPU), 0);
    begin(&f);
    see(&f, 1, 10, "web", 1000);
    end(&f);
    assert_int_equal(shown(&f, "web", CPU), 1000);
    teardown(&f);
}

/* Runs three cycles of an old and a young member, restarts, and one cycle more. */
static uint64_t restarts_after(bool old_lives, bool young_lives, bool new_comes, const char *moved)
{
    struct fixture f;
    uint64_t restarts;

    setup(&f);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        see(&f, 1, 10, "web", 0);
        see(&f, 2, 20, "web", 0);
        see(&f, 9, 5, "other", 0);
        end(&f);
    }
    restart(&f);
    begin(&f);
    if (old_lives)
        see(&f, 1, 10, moved, 0);
    if (young_lives)
        see(&f, 2, 20, "web", 0);
    if (new_comes)
        see(&f, 3, 30, "web", 0);
    see(&f, 9, 5, "other", 0);
    end(&f);
    assert_int_equal(shown(&f, "other", GROUP_COUNTER_RESTARTS), 0);
    restarts = shown(&f, "web", GROUP_COUNTER_RESTARTS);
    /* Later ones are counted as ever. */
    begin(&f);
    see(&f, 4, 40, "web", 0);
    see(&f, 9, 5, "other", 0);
    end(&f);
    assert_int_equal(shown(&f, "web", GROUP_COUNTER_RESTARTS) - restarts,
                     new_comes || young_lives || old_lives ? strcmp(moved, "web") == 0 : 1);
    teardown(&f);
    return restarts;
}

static void test_restarts_of_groups(void **state)
{
    (void)state;
    assert_int_equal(restarts_after(true, true, false, "web"), 0);
    assert_int_equal(restarts_after(true, true, true, "web"), 0);
    assert_int_equal(restarts_after(false, true, true, "web"), 0);
    assert_int_equal(restarts_after(false, false, true, "web"), 1);
    assert_int_equal(restarts_after(false, false, false, "web"), 0);
}

/* A move is no end, whoever was looking. */
static void test_moved_meanwhile(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    see(&f, 1, 10, "web", 0);
    end(&f);
    restart(&f);
    begin(&f);
    see(&f, 1, 10, "elsewhere", 0);
    see(&f, 2, 20, "web", 0);
    end(&f);
    assert_int_equal(shown(&f, "web", GROUP_COUNTER_RESTARTS), 0);
    teardown(&f);
}

/* A supervisor that waits: the group was empty, and due to restart. */
static void test_restart_due_is_kept(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    see(&f, 1, 10, "web", 0);
    see(&f, 9, 5, "other", 0);
    end(&f);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        see(&f, 9, 5, "other", 0);
        end(&f);
    }
    assert_int_equal(shown(&f, "web", EXITED), 1);
    restart(&f);
    begin(&f);
    see(&f, 9, 5, "other", 0);
    see(&f, 2, 20, "web", 0);
    end(&f);
    assert_int_equal(shown(&f, "web", EXITED), 1);
    assert_int_equal(f.groups.groups[find(&f, "web")].total[GROUP_COUNTER_RESTARTS], 1);
    teardown(&f);
}

/* An empty group is forgotten when it would have been, however often the daemon restarts. */
static void test_forget_goes_on(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    see(&f, 1, 10, "web", 0);
    see(&f, 9, 5, "other", 0);
    end(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.groups.n_order, 2);
        f.now_ns += 1300 * SECOND;
        begin(&f);
        see(&f, 9, 5, "other", 0);
        end(&f);
        restart(&f);
        assert_int_equal(f.groups.n_counted, f.groups.n_order);
    }
    f.now_ns += 1300 * SECOND;
    begin(&f);
    see(&f, 9, 5, "other", 0);
    end(&f);
    assert_int_equal(f.groups.n_order, 1);
    teardown(&f);
}

/* Fixed groups are what the rules say, not what they were. */
static void test_fixed_and_other(void **state)
{
    struct fixture f;
    struct rules rules;
    struct span glob = SPAN_LITERAL("web"), wrong;

    (void)state;
    setup(&f);
    f.groups.max = 2;
    begin(&f);
    see(&f, 1, 10, "web", 0);
    see(&f, 2, 10, "x", 0);
    see(&f, 3, 10, "y", 0);
    end(&f);
    find(&f, "_other");
    restart(&f);
    assert_int_equal(f.groups.n_counted, 2);
    rules_init(&rules);
    assert_int_equal(rules_add_comm(&rules, SPAN_LITERAL("web"), &glob, 1, &wrong), 0);
    assert_int_equal(groups_set_rules(&f.groups, &rules, 1, SECOND), 0);
    assert_int_equal(f.groups.n_counted, 1);
    assert_true(f.groups.groups[find(&f, "web")].fixed);
    teardown(&f);
}

/* Groups that have something of everything. */
static void make_some(struct fixture *f, struct chance *chance, unsigned n)
{
    begin(f);
    for (unsigned i = 0; i < n; i++) {
        char comm[SAMPLE_COMM_MAX];
        struct group *group;

        snprintf(comm, sizeof(comm), "%c\xc3\xa4-%u", (int)('a' + chance_below(chance, 26)), i);
        see(f, i + 1, 10 + i, comm, 0);
        group = &f->groups.groups[find(f, comm)];
        for (unsigned k = 0; k < GROUP_COUNTER_N; k++) {
            group->total[k] = chance_u64(chance) >> (1 + chance_below(chance, 63));
            group->series[k].released = chance_below(chance, 2);
        }
        group->known = chance_u64(chance) & (BIT(GROUP_COUNTER_N) - 1);
        group->restart_due = chance_below(chance, 2);
    }
    end(f);
}

static void check_same(const struct groups *a, const struct groups *b)
{
    assert_int_equal(a->n_order, b->n_order);
    assert_int_equal(a->n_counted, b->n_counted);
    for (size_t i = 0; i < a->n_order; i++) {
        const struct group *x = &a->groups[a->order[i]], *y = &b->groups[b->order[i]];

        assert_true(span_equal(group_name(a, a->order[i]), group_name(b, b->order[i])));
        assert_memory_equal(x->total, y->total, sizeof(x->total));
        assert_int_equal(x->known, y->known);
        assert_int_equal(x->had_members, y->had_members);
        assert_int_equal(x->restart_due, y->restart_due);
        assert_true(identity_equal(x->oldest_before, y->oldest_before));
        assert_int_equal(x->empty_since_ns, y->empty_since_ns);
        for (unsigned k = 0; k < GROUP_COUNTER_N; k++)
            assert_int_equal(x->series[k].released, y->series[k].released);
    }
}

static void test_round_trip(void **state)
{
    struct chance chance = chance_of_test();

    (void)state;
    for (unsigned n = 0; n < 60; n += 7) {
        struct group_state found;
        struct groups groups;
        struct fixture f;
        struct buf bytes;
        struct span copy;

        setup(&f);
        make_some(&f, &chance, n);
        bytes = encode(&f);
        copy = check_copy(buf_span(&bytes));
        groups_init(&groups, GROUPS_FIRST_AT_ZERO);
        assert_int_equal(group_state_decode(copy, &groups, &found), 0);
        assert_int_equal(found.first_tick, f.youngest + 1);
        check_same(&f.groups, &groups);
        groups_deinit(&groups);
        free((char *)copy.p);
        buf_deinit(&bytes);
        teardown(&f);
    }
}

/* Bytes that must be refused, and leave nothing behind. */
static void check_refused(struct span bytes, int result)
{
    struct group_state found = {.first_tick = 77};
    struct groups groups;

    groups_init(&groups, GROUPS_FIRST_AT_ZERO);
    assert_int_equal(group_state_decode(bytes, &groups, &found), result);
    assert_int_equal(found.first_tick, 77);
    assert_int_equal(groups.n_order, 0);
    assert_int_equal(groups.n_groups, 0);
    assert_int_equal(groups.n_counted, 0);
    groups_deinit(&groups);
}

static void test_every_truncation(void **state)
{
    struct chance chance = chance_of_test();
    struct fixture f;
    struct buf bytes;

    (void)state;
    setup(&f);
    make_some(&f, &chance, 4);
    bytes = encode(&f);
    for (size_t n = 0; n < bytes.len; n++) {
        struct span copy = check_copy(span_of(bytes.data, n));

        check_refused(copy, -EBADMSG);
        free((char *)copy.p);
    }
    buf_append_char(&bytes, '\0');
    check_refused(buf_span(&bytes), -EBADMSG);
    buf_deinit(&bytes);
    teardown(&f);
}

/* What is taken of damaged bytes is fit for a page, and is the same when it is written again. */
static void test_every_byte_flipped(void **state)
{
    struct chance chance = chance_of_test();
    struct fixture f;
    struct buf bytes;

    (void)state;
    setup(&f);
    make_some(&f, &chance, 3);
    bytes = encode(&f);
    for (size_t i = 0; i < bytes.len * 8; i++) {
        struct group_state found;
        struct groups groups;

        bytes.data[i / 8] ^= (char)(1 << i % 8);
        groups_init(&groups, GROUPS_FIRST_AT_ZERO);
        if (group_state_decode(buf_span(&bytes), &groups, &found) == 0)
            for (size_t k = 0; k < groups.n_order; k++) {
                char label[UTF8_LABEL_MAX];
                struct span name = group_name(&groups, groups.order[k]);

                assert_int_equal(utf8_label(label, name), name.n);
                assert_memory_equal(label, name.p, name.n);
                for (unsigned c = 0; c < GROUP_COUNTER_N; c++)
                    assert_true(groups.groups[groups.order[k]].total[c] <= INT64_MAX);
            }
        groups_deinit(&groups);
        bytes.data[i / 8] ^= (char)(1 << i % 8);
    }
    buf_deinit(&bytes);
    teardown(&f);
}

static void put(struct buf *b, uint64_t number)
{
    buf_append(b, (const char *)&number, sizeof(number));
}

static void put_text(struct buf *b, const char *text)
{
    static const char zeros[8];

    buf_append_str(b, text);
    buf_append(b, zeros, -strlen(text) % 8);
}

/* A state by hand: two counters, of which the first is nobody's, and one group per name. */
static void by_hand(struct buf *b, const char *first, const char *second, uint64_t n_groups,
                    const char *const *names, size_t n_names)
{
    buf_reset(b);
    put(b, 123);
    put(b, 3);
    put(b, 2);
    put(b, n_groups);
    put(b, strlen(first));
    put_text(b, first);
    put(b, strlen(second));
    put_text(b, second);
    for (size_t i = 0; i < n_names; i++) {
        put(b, strlen(names[i]));
        put(b, 1);
        put(b, 3);
        put(b, 2);
        put(b, 3);
        put(b, 1);
        put(b, 5);
        put(b, 0);
        put(b, 1111);
        put(b, 2222);
        put_text(b, names[i]);
    }
}

static const char *const two[] = {"a", "b"};

/* A version that counts more, or under other numbers. */
static void test_counters_by_name(void **state)
{
    struct group_state found;
    struct groups groups;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    by_hand(&b, "gravity", "cpu_user", 2, two, 2);
    groups_init(&groups, GROUPS_FIRST_AT_ZERO);
    assert_int_equal(group_state_decode(buf_span(&b), &groups, &found), 0);
    assert_int_equal(found.first_tick, 123);
    assert_int_equal(found.counters, BIT(CPU));
    assert_int_equal(groups.groups[0].total[CPU], 2222);
    assert_int_equal(groups.groups[0].known, BIT(CPU));
    assert_true(groups.groups[0].series[CPU].released);
    for (unsigned i = 0; i < GROUP_COUNTER_N; i++)
        if (i != CPU)
            assert_int_equal(groups.groups[0].total[i], 0);
    groups_deinit(&groups);
    by_hand(&b, "exited unknown", "started", 2, two, 2);
    groups_init(&groups, GROUPS_FIRST_AT_ZERO);
    assert_int_equal(group_state_decode(buf_span(&b), &groups, &found), 0);
    assert_int_equal(found.counters, 0);
    assert_int_equal(groups.groups[1].total[EXITED], 1111);
    assert_int_equal(groups.groups[1].total[GROUP_COUNTER_STARTED], 2222);
    groups_deinit(&groups);
    buf_deinit(&b);
}

static void test_hostile(void **state)
{
    static const char *const swapped[] = {"b", "a"}, *const twice[] = {"a", "a"};
    static const char *const control[] = {"a\x01"}, *const no_utf8[] = {"\xff"};
    static const char *const empty[] = {""};
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    by_hand(&b, "gravity", "cpu_user", 3, two, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", UINT64_MAX, two, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 1, two, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "cpu_user", "cpu_user", 2, two, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "", "cpu_user", 2, two, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 2, swapped, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 2, twice, 2);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 1, control, 1);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 1, no_utf8, 1);
    check_refused(buf_span(&b), -EBADMSG);
    by_hand(&b, "gravity", "cpu_user", 1, empty, 1);
    check_refused(buf_span(&b), -EBADMSG);
    /* Behind the groups: no pid, half a process. */
    for (uint64_t pid = 0; pid < 3; pid++) {
        by_hand(&b, "gravity", "cpu_user", 2, two, 2);
        put(&b, pid == 1 ? UINT64_C(1) << 32 | 5 : pid);
        if (pid < 2)
            put(&b, 77);
        check_refused(buf_span(&b), -EBADMSG);
    }
    /* More names of counters than there are bytes, or places. */
    for (uint64_t n = 3; n != 0; n *= 2) {
        by_hand(&b, "gravity", "cpu_user", 2, two, 2);
        memcpy(b.data + 16, &n, sizeof(n));
        check_refused(buf_span(&b), -EBADMSG);
    }
    buf_deinit(&b);
}

/* One total that cannot be costs that counter of that group, which begins at 0 like a new one. */
static void test_impossible_total(void **state)
{
    static const uint64_t impossible[] = {UINT64_MAX, (uint64_t)INT64_MAX + 1};
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        setup(&f);
        for (uint64_t n = 0; n < 3; n++) {
            begin(&f);
            see(&f, 1, 10, "web", 1000 * n);
            see(&f, 2, 10, "other", 10 * n);
            end(&f);
        }
        f.groups.groups[find(&f, "web")].total[CPU] = impossible[i];
        restart(&f);
        begin(&f);
        see(&f, 1, 10, "web", 2000);
        see(&f, 2, 10, "other", 20);
        see(&f, 3, 11, "web", 7);
        end(&f);
        assert_int_equal(shown(&f, "web", CPU), 0);
        assert_int_equal(shown(&f, "web", READ), 4014);
        assert_int_equal(shown(&f, "other", CPU), 20);
        begin(&f);
        see(&f, 1, 10, "web", 2001);
        see(&f, 3, 11, "web", 7);
        end(&f);
        assert_int_equal(shown(&f, "web", CPU), 8);
        teardown(&f);
    }
}

/* What is highest goes on as it is. */
static void test_highest_total(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    see(&f, 1, 10, "web", 1000);
    end(&f);
    f.groups.groups[find(&f, "web")].total[CPU] = GROUP_SUM_MAX;
    f.groups.groups[find(&f, "web")].series[CPU].released = true;
    restart(&f);
    begin(&f);
    see(&f, 1, 10, "web", 1000);
    see(&f, 2, 11, "web", 1000);
    end(&f);
    assert_true(shown(&f, "web", CPU) == GROUP_SUM_MAX);
    teardown(&f);
}

static void test_no_memory(void **state)
{
    unsigned before;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    by_hand(&b, "gravity", "cpu_user", 2, two, 2);
    no_memory = true;
    check_refused(buf_span(&b), -ENOMEM);
    no_memory = false;
    buf_deinit(&b);
    /* For those that were pending. */
    buf_init(&b, 1 << 20);
    by_hand(&b, "gravity", "cpu_user", 2, two, 2);
    put(&b, 5);
    put(&b, 77);
    for (mallocs_left = 0; mallocs_left < 2; mallocs_left = before + 1) {
        before = mallocs_left;
        check_refused(buf_span(&b), -ENOMEM);
    }
    mallocs_left = UINT_MAX;
    buf_deinit(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_go_on),
        cmocka_unit_test(test_born_meanwhile_counts_in_full),
        cmocka_unit_test(test_pending_counts_in_full),
        cmocka_unit_test(test_first_zero_is_kept),
        cmocka_unit_test(test_restarts_of_groups),
        cmocka_unit_test(test_moved_meanwhile),
        cmocka_unit_test(test_restart_due_is_kept),
        cmocka_unit_test(test_forget_goes_on),
        cmocka_unit_test(test_fixed_and_other),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_counters_by_name),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_impossible_total),
        cmocka_unit_test(test_highest_total),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
