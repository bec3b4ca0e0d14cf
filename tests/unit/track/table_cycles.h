#pragma once
/*
 * table_cycles - processes over cycles: rows of what is seen, and what the table must make of it.
 *
 * The counter is user CPU time. In rows that see a process, `total` is what it shows; in those that
 * begin a cycle, `start` is its tick. Rows are run in order; where they do not say enough, a cycle
 * is table_begin(), see() or see_cpu() per process, table_end().
 */
#include "track/table.h"

#include "check.h"

enum what {
    BEGIN,
    SEE,
    UNREAD,
    END,
    ABORT,
};

struct row {
    enum what what;
    uint32_t pid;
    uint64_t start;
    uint64_t total;
    enum sighting sighting;
    uint64_t delta;
    struct identity ended[5]; /* by END, in any order; pid 0 ends the list */
    bool unknown;             /* nobody is known under the pid of UNREAD */
};

#define BEGINS        \
    {                 \
        .what = BEGIN \
    }
#define BEGINS_AT(tick)                \
    {                                  \
        .what = BEGIN, .start = (tick) \
    }
#define SEES(pid_, start_, total_, sighting_, delta_)                     \
    {                                                                     \
        .what = SEE, .pid = (pid_), .start = (start_), .total = (total_), \
        .sighting = SIGHTING_##sighting_, .delta = (delta_)               \
    }
#define UNREADABLE(pid_, start_)                         \
    {                                                    \
        .what = UNREAD, .pid = (pid_), .start = (start_) \
    }
#define UNREADABLE_STRANGER(pid_)                      \
    {                                                  \
        .what = UNREAD, .pid = (pid_), .unknown = true \
    }
#define ENDS(...)                             \
    {                                         \
        .what = END, .ended = { __VA_ARGS__ } \
    }
#define ABORTS        \
    {                 \
        .what = ABORT \
    }

static const struct wanted wanted_cpu = {
    .parts = UINT32_C(1) << PART_STAT,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS,
};

static inline struct sample sample_of(uint32_t pid, uint64_t start, const char *comm, uint64_t cpu)
{
    struct sample s = {.identity = {.pid = pid, .start_ticks = start},
                       .parent_pid = 1,
                       .state = STATE_SLEEPING,
                       .comm_len = (uint8_t)strlen(comm)};

    memcpy(s.comm, comm, s.comm_len);
    sample_set_counter(&s, COUNTER_CPU_USER_NS, cpu);
    return s;
}

static inline uint32_t see(struct table *t, struct sample *s, uint32_t parts,
                           const struct wanted *wanted)
{
    enum sighting sighting;
    struct delta delta;
    uint32_t ref;

    assert_int_equal(table_see(t, s, parts, wanted, &ref, &sighting, &delta), 0);
    return ref;
}

/* Of those that are wanted for their CPU time alone. */
static inline uint32_t see_cpu(struct table *t, struct sample s)
{
    return see(t, &s, wanted_cpu.parts, &wanted_cpu);
}

static inline void empty_cycle(struct table *t)
{
    table_begin(t, 0);
    table_end(t);
}

static inline void run_see(struct table *t, const struct row *row, size_t number)
{
    struct sample s = sample_of(row->pid, row->start, "x", row->total);
    enum sighting sighting;
    struct delta delta;
    uint32_t ref;

    assert_int_equal(table_see(t, &s, wanted_cpu.parts, &wanted_cpu, &ref, &sighting, &delta), 0);
    if (sighting != row->sighting)
        fail_msg("row %zu: sighting %d, not %d", number, sighting, row->sighting);
    if (delta.counter[COUNTER_CPU_USER_NS] != row->delta)
        fail_msg("row %zu: delta %lu, not %lu", number, delta.counter[COUNTER_CPU_USER_NS],
                 row->delta);
    assert_int_equal(delta.known, wanted_cpu.counters);
    assert_true(identity_equal(table_process(t, ref)->identity, s.identity));
    assert_int_equal(table_find(t, s.identity), ref);
}

static inline void run_unread(struct table *t, const struct row *row, size_t number)
{
    uint32_t ref = table_see_unread(t, row->pid);

    if (row->unknown) {
        if (ref != TABLE_NONE)
            fail_msg("row %zu: somebody is known", number);
        return;
    }
    if (ref == TABLE_NONE || table_process(t, ref)->identity.start_ticks != row->start)
        fail_msg("row %zu: not the one expected", number);
    assert_true(table_process(t, ref)->unread);
}

static inline void run_end(struct table *t, const struct row *row, size_t number)
{
    size_t expected = 0, got = 0;
    uint32_t ref;

    table_end(t);
    while (expected < 5 && row->ended[expected].pid != 0)
        expected++;
    for (size_t at = 0; (ref = table_next_ended(t, &at)) != TABLE_NONE; got++) {
        bool found = false;

        for (size_t i = 0; i < expected; i++)
            found |= identity_equal(row->ended[i], table_process(t, ref)->identity);
        if (!found)
            fail_msg("row %zu: pid %u ended", number, table_process(t, ref)->identity.pid);
    }
    if (got != expected)
        fail_msg("row %zu: %zu ended, not %zu", number, got, expected);
}

static inline void run_rows(struct table *t, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (rows[i].what) {
        case BEGIN:
            table_begin(t, rows[i].start);
            break;
        case SEE:
            run_see(t, &rows[i], i);
            break;
        case UNREAD:
            run_unread(t, &rows[i], i);
            break;
        case END:
            run_end(t, &rows[i], i);
            break;
        case ABORT:
            table_abort(t);
            break;
        }
}

#define RUN_ROWS(t, rows) run_rows(t, rows, sizeof(rows) / sizeof((rows)[0]))

#define RUN(mode, first_tick, rows)       \
    do {                                  \
        struct table t;                   \
        table_init(&t, mode, first_tick); \
        RUN_ROWS(&t, rows);               \
        table_deinit(&t);                 \
    } while (0)

/* Sees process 7, and takes that back if told so. Returns the delta. */
static inline uint64_t see_seven(struct table *t, uint64_t total, enum sighting expected,
                                 bool unsee)
{
    struct sample s = sample_of(7, 50, "x", total);
    enum sighting sighting;
    struct delta delta;
    uint32_t ref;

    assert_int_equal(table_see(t, &s, wanted_cpu.parts, &wanted_cpu, &ref, &sighting, &delta), 0);
    assert_int_equal(sighting, expected);
    assert_int_equal(process_is_new(table_process(t, ref)), expected == SIGHTING_STARTED);
    if (unsee)
        table_unsee(t, ref, sighting, &delta);
    return delta.counter[COUNTER_CPU_USER_NS];
}

/* Process 7 as see_seven() knows it, with its last totals. */
static inline struct sample last_of_seven(uint64_t total)
{
    return sample_of(7, 50, "x", total);
}

static inline size_t count_ended(const struct table *t)
{
    size_t n = 0;

    for (size_t at = 0; table_next_ended(t, &at) != TABLE_NONE;)
        n++;
    return n;
}
