#pragma once
/*
 * group_cycles - groups over cycles, with a real process table below.
 *
 * A cycle is begin(), SEE() per process, end(). take() makes what the groups show; shown() looks
 * into what was taken last. User CPU time stands for all counters, storage reads for those that
 * can be refused.
 */
#include "by_comm.h"

#include "check.h"
#include "comm_rule.h"

#include <stdio.h>

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

static inline void set_rules(struct fixture *f, const struct rule_text *texts, size_t n, size_t max)
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

static inline void setup(struct fixture *f, enum groups_mode mode)
{
    *f = (struct fixture){.now_ns = 1000 * SECOND};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, mode);
    set_rules(f, NULL, 0, 100);
}

static inline void teardown(struct fixture *f)
{
    groups_deinit(&f->groups);
    table_deinit(&f->table);
}

static inline void begin(struct fixture *f)
{
    f->now_ns += 10 * SECOND;
    table_begin(&f->table, 0);
    groups_begin(&f->groups);
}

static inline uint32_t see(struct fixture *f, struct look look)
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

static inline void begin_with_init(struct fixture *f)
{
    begin(f);
    SEE(f, .pid = 1, .comm = "init");
}

static inline void end(struct fixture *f)
{
    uint32_t ref;

    table_end(&f->table);
    for (size_t at = 0; (ref = table_next_ended(&f->table, &at)) != TABLE_NONE;)
        groups_exit(&f->groups, table_process(&f->table, ref), EXIT_REASON_UNKNOWN);
    groups_end(&f->groups, f->now_ns);
}

static inline void take(struct fixture *f)
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

static inline const struct group_values *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->n_taken; i++)
        if (strcmp(f->taken[i].name, name) == 0)
            return &f->taken[i].values;
    return NULL;
}

static inline const struct group_values *shown(const struct fixture *f, const char *name)
{
    const struct group_values *v = find(f, name);

    if (!v) {
        fail_msg("there is no group %s", name);
        abort(); /* not reached: for compilers that do not know */
    }
    return v;
}

/* A counter that is on the page. */
static inline uint64_t counter(const struct fixture *f, const char *name, unsigned field)
{
    const struct group_values *v = shown(f, name);

    if (!(v->have_counters >> field & 1))
        fail_msg("%s does not know counter %u", name, field);
    return v->counter[field];
}

static inline void end_and_take(struct fixture *f)
{
    end(f);
    take(f);
}

/* And somebody reads it. */
static inline void end_and_serve(struct fixture *f)
{
    end_and_take(f);
    f->served = f->sequence;
}

/* The names on the page, joined by commas. */
static inline void check_names(const struct fixture *f, const char *expected)
{
    char names[1024] = "";
    size_t n = 0;

    for (size_t i = 0; i < f->n_taken; i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? "," : "", f->taken[i].name);
    assert_string_equal(names, expected);
}
