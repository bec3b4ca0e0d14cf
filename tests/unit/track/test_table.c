/*
 * Processes over cycles: rows of what is seen, and what the table must make of it, run in order.
 *
 * The counter is user CPU time. In rows that see a process, `total` is what it shows; in those that
 * begin a cycle, `start` is its tick.
 */
#include "track/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static struct sample sample_of(uint32_t pid, uint64_t start, const char *comm, uint64_t cpu)
{
    struct sample s = {.identity = {.pid = pid, .start_ticks = start},
                       .parent_pid = 1,
                       .state = STATE_SLEEPING,
                       .comm_len = (uint8_t)strlen(comm)};

    memcpy(s.comm, comm, s.comm_len);
    sample_set_counter(&s, COUNTER_CPU_USER_NS, cpu);
    return s;
}

static void run_see(struct table *t, const struct row *row, size_t number)
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

static uint32_t see_one(struct table *t, uint32_t pid)
{
    struct sample s = sample_of(pid, 10, "x", 0);
    enum sighting sighting;
    struct delta delta;
    uint32_t ref;

    assert_int_equal(table_see(t, &s, wanted_cpu.parts, &wanted_cpu, &ref, &sighting, &delta), 0);
    return ref;
}

static void run_unread(struct table *t, const struct row *row, size_t number)
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

static void run_end(struct table *t, const struct row *row, size_t number)
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

static void run_rows(struct table *t, const struct row *rows, size_t n)
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

#define RUN(mode, first_tick, rows)                           \
    do {                                                      \
        struct table t;                                       \
        table_init(&t, mode, first_tick);                     \
        run_rows(&t, rows, sizeof(rows) / sizeof((rows)[0])); \
        table_deinit(&t);                                     \
    } while (0)

static void test_birth_and_exit(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 500, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 510, KNOWN, 10),
        SEES(7, 90, 33, STARTED, 33),
        ENDS(),
        BEGINS,
        SEES(1, 0, 510, KNOWN, 0),
        SEES(7, 90, 34, KNOWN, 1),
        ENDS(),
        BEGINS,
        SEES(1, 0, 511, KNOWN, 1),
        ENDS({7, 90}),
        BEGINS,
        SEES(1, 0, 511, KNOWN, 0),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* The old one ended and the new one is another process, though nothing was missing in between. */
static void test_pid_reuse(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1302, 10000, 7000, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1302, 95000, 3, STARTED, 3),
        ENDS({1302, 10000}),
        BEGINS,
        SEES(1302, 95000, 4, KNOWN, 1),
        ENDS(),
        /* And again, the remains of the first still there. */
        BEGINS,
        SEES(1302, 96000, 9, STARTED, 9),
        ENDS({1302, 95000}),
        BEGINS,
        SEES(1302, 97000, 2, STARTED, 2),
        ENDS({1302, 96000}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* On the live /proc, who appears late and started before the first cycle was only hidden. */
static void test_older_than_the_first_tick(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 5, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 999, 4000, FOUND, 0),
        SEES(3, 1000, 7, STARTED, 7),
        SEES(4, 1001, 8, STARTED, 8),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 999, 4010, KNOWN, 10),
        ENDS({3, 1000}, {4, 1001}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 1000, rows);
}

/*
 * Who is new, and older than the last cycle that was finished, was hidden, and what it used is of
 * some other time. That is so too for one that was known and away for longer than bases are kept.
 */
static void test_hidden(void **state)
{
    static const struct row rows[] = {
        BEGINS_AT(1000),
        SEES(1, 0, 5, FOUND, 0),
        ENDS(),
        BEGINS_AT(2000),
        SEES(1, 0, 6, KNOWN, 1),
        SEES(2, 1500, 40, STARTED, 40),
        SEES(3, 1000, 30, STARTED, 30),
        SEES(4, 999, 4000, FOUND, 0),
        ENDS(),
        BEGINS_AT(3000),
        SEES(1, 0, 6, KNOWN, 0),
        SEES(4, 999, 4001, KNOWN, 1),
        ENDS({2, 1500}, {3, 1000}),
        BEGINS_AT(4000),
        SEES(1, 0, 6, KNOWN, 0),
        SEES(2, 1500, 44, RETURNED, 4),
        SEES(5, 2999, 80, FOUND, 0),
        SEES(6, 3000, 7, STARTED, 7),
        ENDS({4, 999}),
        BEGINS_AT(5000),
        SEES(1, 0, 6, KNOWN, 0),
        ENDS({2, 1500}, {5, 2999}, {6, 3000}),
        BEGINS_AT(6000),
        ENDS({1, 0}),
        /* All that were ever there, at once. */
        BEGINS_AT(7000),
        SEES(1, 0, 7, RETURNED, 1),
        SEES(2, 1500, 90, FOUND, 0),
        SEES(3, 1000, 91, FOUND, 0),
        SEES(4, 999, 5000, FOUND, 0),
        SEES(5, 2999, 93, FOUND, 0),
        SEES(6, 3000, 94, FOUND, 0),
        SEES(7, 5999, 95, FOUND, 0),
        SEES(8, 6000, 96, STARTED, 96),
        ENDS(),
        BEGINS_AT(8000),
        SEES(2, 1500, 92, KNOWN, 2),
        SEES(5, 2999, 93, KNOWN, 0),
        SEES(6, 3000, 94, KNOWN, 0),
        SEES(8, 6000, 99, KNOWN, 3),
        ENDS({1, 0}, {3, 1000}, {4, 999}, {7, 5999}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 500, rows);
}

/* A cycle that was left may have missed anybody. */
static void test_hidden_from_a_cycle_that_was_left(void **state)
{
    static const struct row rows[] = {
        BEGINS_AT(1000),
        SEES(1, 0, 5, FOUND, 0),
        ENDS(),
        BEGINS_AT(2000),
        ABORTS,
        BEGINS_AT(3000),
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 1000, 7, STARTED, 7),
        SEES(3, 999, 8, FOUND, 0),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 500, rows);
}

/* Without a clock there is no telling: who was away for long counts as one that is new. */
static void test_away_without_a_clock(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 5, FOUND, 0),
        SEES(2, 3, 40, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        ENDS({2, 3}),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 3, 41, STARTED, 41),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* An earlier daemon counted up to tick 1000, but for some; those it says, and nobody like them. */
static void test_resumed(void **state)
{
    static const struct identity news[] = {{9, 500}, {3, 700}, {9, 400}, {4, 800}};
    static const struct row rows[] = {
        BEGINS,
        SEES(3, 700, 30, STARTED, 30),
        SEES(9, 400, 5, STARTED, 5),
        ABORTS,
        BEGINS,
        SEES(1, 0, 500, FOUND, 0),
        SEES(3, 700, 31, KNOWN, 1),
        SEES(4, 801, 9, FOUND, 0),
        SEES(9, 400, 5, KNOWN, 0),
        SEES(9, 500, 6, STARTED, 6),
        SEES(10, 1000, 7, STARTED, 7),
        ENDS(),
        /* Later it would have been hidden. */
        BEGINS,
        SEES(1, 0, 500, KNOWN, 0),
        SEES(4, 800, 9, FOUND, 0),
        ENDS({3, 700}, {4, 801}, {9, 400}, {9, 500}, {10, 1000}),
    };
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 2000);
    assert_int_equal(table_resume(&t, 1000, news, 4), 0);
    run_rows(&t, rows, sizeof(rows) / sizeof(*rows));
    table_deinit(&t);
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 2000);
    assert_int_equal(table_resume(&t, 1000, news, 4), 0);
    table_deinit(&t);
}

static void test_once_counts_in_full(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 500, STARTED, 500),
        SEES(2, 10, 0, STARTED, 0),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_START, 1000, rows);
}

static void test_unread_stat_keeps_the_process(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 5, FOUND, 0),
        SEES(2, 0, 100, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        UNREADABLE(2, 0),
        UNREADABLE_STRANGER(3),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        UNREADABLE(2, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 0, 130, KNOWN, 30),
        SEES(3, 20, 9, STARTED, 9),
        ENDS(),
        BEGINS,
        UNREADABLE(2, 0),
        ENDS({1, 0}, {3, 20}),
        /* Its pid alone does not revive who has ended. */
        BEGINS,
        UNREADABLE_STRANGER(3),
        UNREADABLE_STRANGER(1),
        SEES(2, 0, 131, KNOWN, 1),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* A kernel that answered ESRCH once: bases are kept, nothing is credited twice. */
static void test_returned(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 5, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 50, 100, STARTED, 100),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        ENDS({2, 50}),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 50, 107, RETURNED, 7),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        SEES(2, 50, 108, KNOWN, 1),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        ENDS({2, 50}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* Remains are for one further cycle, and their records are used again. */
static void test_remains_are_dropped(void **state)
{
    static const struct identity gone = {2, 50};
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 5, FOUND, 0),
        SEES(2, 50, 100, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 5, KNOWN, 0),
        ENDS({2, 50}),
    };
    static const struct row more[] = {BEGINS, SEES(1, 0, 5, KNOWN, 0), ENDS()};
    static const struct row reuse[] = {BEGINS, SEES(1, 0, 5, KNOWN, 0), SEES(9, 80, 1, STARTED, 1),
                                       ENDS()};
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    run_rows(&t, rows, sizeof(rows) / sizeof(*rows));
    assert_int_not_equal(table_find(&t, gone), TABLE_NONE);
    run_rows(&t, more, 3);
    assert_int_equal(table_find(&t, gone), TABLE_NONE);
    run_rows(&t, reuse, 4);
    assert_int_equal(t.n_processes, 2);
    table_deinit(&t);
}

static void test_abort_of_the_first_cycle(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 500, FOUND, 0),
        ABORTS,
        BEGINS,
        ABORTS,
        /* Still the first cycle, so 2 is found; 1 has been seen and goes on. */
        BEGINS,
        SEES(1, 0, 520, KNOWN, 20),
        SEES(2, 0, 900, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(1, 0, 520, KNOWN, 0),
        SEES(2, 0, 901, KNOWN, 1),
        SEES(3, 5, 7, STARTED, 7),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

static void test_abort_of_a_later_cycle(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 10, FOUND, 0),
        SEES(2, 0, 20, FOUND, 0),
        SEES(3, 0, 30, FOUND, 0),
        ENDS(),
        /* 1 is reached, 9 is new, 2 and 3 are not reached. */
        BEGINS,
        SEES(1, 0, 11, KNOWN, 1),
        SEES(9, 70, 5, STARTED, 5),
        ABORTS,
        BEGINS,
        ABORTS,
        BEGINS,
        SEES(1, 0, 13, KNOWN, 2),
        SEES(2, 0, 26, KNOWN, 6),
        SEES(9, 70, 5, KNOWN, 0),
        ENDS({3, 0}),
        /* Who had ended already does not end once more by an abort, and may return after it. */
        BEGINS,
        SEES(1, 0, 13, KNOWN, 0),
        ABORTS,
        BEGINS,
        SEES(1, 0, 13, KNOWN, 0),
        SEES(2, 0, 26, KNOWN, 0),
        SEES(3, 0, 35, RETURNED, 5),
        ENDS({9, 70}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* Seen new in a cycle that was left, and gone by the next: it was there, so it has ended. */
static void test_end_after_an_abort(void **state)
{
    static const struct row rows[] = {
        BEGINS, SEES(1, 0, 10, FOUND, 0), ENDS(),        BEGINS, SEES(9, 70, 5, STARTED, 5), ABORTS,
        BEGINS, SEES(1, 0, 10, KNOWN, 0), ENDS({9, 70}),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* Both the old and the new owner of a pid were seen around an abort: the pid is the younger's. */
static void test_unread_after_reuse_and_abort(void **state)
{
    static const struct row rows[] = {
        BEGINS,
        SEES(1, 0, 10, FOUND, 0),
        SEES(7, 20, 10, FOUND, 0),
        ENDS(),
        BEGINS,
        SEES(7, 90, 3, STARTED, 3),
        ABORTS,
        BEGINS,
        SEES(1, 0, 10, KNOWN, 0),
        UNREADABLE(7, 90),
        ENDS({7, 20}),
        BEGINS,
        SEES(1, 0, 10, KNOWN, 0),
        SEES(7, 90, 4, KNOWN, 1),
        ENDS(),
    };

    (void)state;
    RUN(TABLE_SINCE_FIRST_CYCLE, 0, rows);
}

/* The record's number must last through an abort: groups refer to it. */
static void test_abort_frees_nothing(void **state)
{
    static const struct row rows[] = {BEGINS, SEES(1, 0, 1, FOUND, 0), SEES(2, 0, 1, FOUND, 0),
                                      ENDS()};
    static const struct row left[] = {BEGINS, SEES(8, 5, 1, STARTED, 1), ABORTS};
    struct table t;
    uint32_t one, eight;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    run_rows(&t, rows, 4);
    one = table_find(&t, (struct identity){1, 0});
    run_rows(&t, left, 3);
    eight = table_find(&t, (struct identity){8, 5});
    assert_int_not_equal(eight, TABLE_NONE);
    for (int i = 0; i < 5; i++)
        run_rows(&t, (struct row[]){BEGINS, ABORTS}, 2);
    assert_int_equal(table_find(&t, (struct identity){1, 0}), one);
    assert_int_equal(table_find(&t, (struct identity){8, 5}), eight);
    assert_int_not_equal(table_process(&t, eight)->seen, 0);
    table_deinit(&t);
}

static uint32_t see(struct table *t, struct sample *s, uint32_t parts, const struct wanted *wanted)
{
    enum sighting sighting;
    struct delta delta;
    uint32_t ref;

    assert_int_equal(table_see(t, s, parts, wanted, &ref, &sighting, &delta), 0);
    return ref;
}

static void test_zombie(void **state)
{
    struct sample s = sample_of(5, 10, "worker", 70);
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    see(&t, &s, wanted_cpu.parts, &wanted_cpu);
    table_end(&t);
    table_begin(&t, 0);
    s = sample_of(5, 10, "worker", 75);
    s.state = STATE_ZOMBIE;
    s.parent_pid = 4;
    ref = see(&t, &s, wanted_cpu.parts, &wanted_cpu);
    table_end(&t);
    assert_int_equal(table_process(&t, ref)->state, STATE_ZOMBIE);
    assert_int_equal(table_process(&t, ref)->parent_pid, 4);
    assert_int_equal(table_find_pid(&t, 5), ref);
    assert_int_equal(t.n_present, 1);
    table_begin(&t, 0);
    table_end(&t);
    assert_int_equal(table_find_pid(&t, 5), TABLE_NONE);
    assert_int_equal(t.n_present, 0);
    table_deinit(&t);
}

static void test_present_are_counted(void **state)
{
    struct sample a = sample_of(1, 0, "a", 1), b = sample_of(2, 0, "b", 1);
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    see(&t, &a, wanted_cpu.parts, &wanted_cpu);
    see(&t, &b, wanted_cpu.parts, &wanted_cpu);
    table_end(&t);
    table_begin(&t, 0);
    see(&t, &a, wanted_cpu.parts, &wanted_cpu);
    table_see_unread(&t, 2);
    table_end(&t);
    assert_int_equal(t.n_present, 2);
    table_deinit(&t);
}

static void test_renamed(void **state)
{
    static const struct {
        const char *comm;
        bool renamed;
    } rows[] = {
        {"bash", true}, /* at first sight, from nothing */
        {"bash", false},  {"qtdisp", true}, {"qtdisp", false}, {"qtdis", true},
        {"qtdist", true}, {"", true},       {"", false},
    };
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sample s = sample_of(1501, 61000, rows[i].comm, 3);
        uint32_t ref;

        table_begin(&t, 0);
        ref = see(&t, &s, wanted_cpu.parts, &wanted_cpu);
        table_end(&t);
        if (table_process(&t, ref)->renamed != rows[i].renamed)
            fail_msg("row %zu", i);
        assert_int_equal(table_process(&t, ref)->comm_len, strlen(rows[i].comm));
        assert_memory_equal(table_process(&t, ref)->comm, rows[i].comm, strlen(rows[i].comm));
    }
    table_deinit(&t);
}

static const struct wanted wanted_slow = {
    .parts = UINT32_C(1) << PART_STAT | UINT32_C(1) << PART_FD | UINT32_C(1) << PART_LIMITS |
             UINT32_C(1) << PART_MAPS | UINT32_C(1) << PART_SMAPS,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS,
    .gauges = UINT32_C(1) << GAUGE_OPEN_FDS | UINT32_C(1) << GAUGE_OPEN_FDS_LIMIT |
              UINT32_C(1) << GAUGE_MAPPINGS | UINT32_C(1) << GAUGE_PROPORTIONAL_BYTES,
};

static const uint32_t SLOW =
    UINT32_C(1) << PART_LIMITS | UINT32_C(1) << PART_MAPS | UINT32_C(1) << PART_SMAPS;

/* A cycle of one process whose slow parts, if read, show `value`. Returns what was due. */
static uint32_t slow_cycle(struct table *t, uint32_t pid, const char *comm, uint64_t value,
                           const struct wanted *wanted, struct sample *ret)
{
    uint32_t ref, due;

    *ret = sample_of(pid, 10, comm, 1);
    table_begin(t, 0);
    ref = table_find(t, ret->identity);
    due = table_parts_due(t, ref, table_is_news(t, ref, ret), ret, wanted);
    if (due & part_bit(PART_LIMITS))
        sample_set_gauge(ret, GAUGE_OPEN_FDS_LIMIT, value);
    if (due & part_bit(PART_MAPS))
        sample_set_gauge(ret, GAUGE_MAPPINGS, value + 1);
    if (due & part_bit(PART_SMAPS))
        sample_set_gauge(ret, GAUGE_PROPORTIONAL_BYTES, value + 2);
    see(t, ret, due, wanted);
    table_end(t);
    return due;
}

/* Once in 16 cycles for every pid; what was read last stands in between. */
static void test_slow_parts_come_by_turns(void **state)
{
    (void)state;
    for (uint32_t pid = 1; pid <= 40; pid++) {
        unsigned turns = 0;
        uint64_t last = 0;
        struct sample s;
        struct table t;

        table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
        for (uint64_t i = 0; i < 1 + 16 * 3; i++) {
            uint32_t due = slow_cycle(&t, pid, "x", 100 + i, &wanted_slow, &s);

            assert_int_equal(due & ~SLOW, wanted_slow.parts & ~SLOW);
            assert_true((due & SLOW) == 0 || (due & SLOW) == SLOW);
            if (i == 0)
                assert_int_equal(due, wanted_slow.parts);
            else
                turns += (due & SLOW) != 0;
            if (due & SLOW)
                last = 100 + i;
            assert_true(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
            assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], last);
            assert_true(sample_has_gauge(&s, GAUGE_MAPPINGS));
            assert_int_equal(s.gauge[GAUGE_MAPPINGS], last + 1);
            assert_true(sample_has_gauge(&s, GAUGE_PROPORTIONAL_BYTES));
            assert_int_equal(s.gauge[GAUGE_PROPORTIONAL_BYTES], last + 2);
        }
        assert_int_equal(turns, 3);
        table_deinit(&t);
    }
}

static void test_slow_parts_are_read_after_an_exec(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 1, "sh", 5, &wanted_slow, &s);
    assert_int_equal(slow_cycle(&t, 1, "sh", 6, &wanted_slow, &s) & SLOW, 0);
    assert_int_equal(slow_cycle(&t, 1, "app", 7, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 7);
    assert_int_equal(slow_cycle(&t, 1, "app", 8, &wanted_slow, &s) & SLOW, 0);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 7);
    table_deinit(&t);
}

/* It was its turn, and it could not be read: unknown is not the old value. */
static void test_slow_part_refused(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 1, "x", 5, &wanted_slow, &s);
    table_begin(&t, 0);
    s = sample_of(1, 10, "x", 1);
    see(&t, &s, wanted_slow.parts, &wanted_slow);
    table_end(&t);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    slow_cycle(&t, 1, "x", 5, &wanted_slow, &s);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    assert_false(sample_has_gauge(&s, GAUGE_MAPPINGS));
    assert_false(sample_has_gauge(&s, GAUGE_PROPORTIONAL_BYTES));
    table_deinit(&t);
}

/* Only what was never read is due at once. */
static void test_one_slow_part_more_is_wanted(void **state)
{
    struct wanted fewer = wanted_slow;
    struct sample s;
    struct table t;

    (void)state;
    fewer.parts &= ~part_bit(PART_SMAPS);
    fewer.gauges &= ~(UINT32_C(1) << GAUGE_PROPORTIONAL_BYTES);
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 3, "x", 5, &fewer, &s);
    assert_int_equal(slow_cycle(&t, 3, "x", 6, &wanted_slow, &s) & SLOW, part_bit(PART_SMAPS));
    assert_int_equal(s.gauge[GAUGE_MAPPINGS], 6);
    assert_int_equal(s.gauge[GAUGE_PROPORTIONAL_BYTES], 8);
    assert_int_equal(slow_cycle(&t, 3, "x", 7, &wanted_slow, &s) & SLOW, 0);
    table_deinit(&t);
}

/* Families off and on again: what was read before is stale, so it is read anew at once. */
static void test_slow_parts_wanted_again(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 3, "x", 5, &wanted_cpu, &s);
    assert_int_equal(slow_cycle(&t, 3, "x", 6, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(slow_cycle(&t, 3, "x", 7, &wanted_slow, &s) & SLOW, 0);
    slow_cycle(&t, 3, "x", 8, &wanted_cpu, &s);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    assert_int_equal(slow_cycle(&t, 3, "x", 9, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 9);
    /* Nobody's permission does not make every cycle try. */
    table_begin(&t, 0);
    s = sample_of(3, 10, "x", 1);
    see(&t, &s, wanted_slow.parts, &wanted_slow);
    table_end(&t);
    assert_int_equal(slow_cycle(&t, 3, "x", 9, &wanted_slow, &s) & SLOW, 0);
    table_deinit(&t);
}

static void test_forget_counters(void **state)
{
    static const struct row before[] = {BEGINS, SEES(1, 0, 10, FOUND, 0), ENDS()};
    static const struct row after[] = {
        BEGINS, SEES(1, 0, 5000, KNOWN, 0), SEES(2, 10, 7, STARTED, 7), ENDS(),
        BEGINS, SEES(1, 0, 5002, KNOWN, 2), SEES(2, 10, 7, KNOWN, 0),   ENDS(),
    };
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    run_rows(&t, before, 3);
    table_forget_counters(&t, wanted_cpu.counters);
    run_rows(&t, after, 8);
    table_deinit(&t);
}

/* More records than fit at first, all ended and replaced several times. */
static void test_many(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint64_t cycle = 0; cycle < 8; cycle++) {
        table_begin(&t, 0);
        for (uint32_t pid = 1; pid <= 1000; pid++) {
            struct sample s = sample_of(pid, 1000 * cycle, "x", pid);

            see(&t, &s, wanted_cpu.parts, &wanted_cpu);
        }
        table_end(&t);
        assert_int_equal(t.n_present, 1000);
    }
    /* Those present and the remains of two cycles, no more. */
    assert_true(t.n_processes <= 3000);
    for (uint32_t pid = 1; pid <= 1000; pid++)
        assert_int_equal(table_process(&t, table_find_pid(&t, pid))->identity.start_ticks, 7000);
    table_deinit(&t);
}

/* Sees process 7, and takes that back if told so. Returns the delta. */
static uint64_t see_seven(struct table *t, uint64_t total, enum sighting expected, bool unsee)
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

/* Whatever the sighting, what was taken back is seen once more by the cycle that follows. */
static void test_unsee(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    table_end(&t);
    for (int i = 0; i < 2; i++) {
        table_begin(&t, 0);
        assert_int_equal(see_seven(&t, 30, SIGHTING_STARTED, true), 30);
        assert_int_equal(t.n_present, 0);
        table_abort(&t);
    }
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 40, SIGHTING_STARTED, false), 40);
    table_end(&t);
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 45, SIGHTING_KNOWN, true), 5);
    table_abort(&t);
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 47, SIGHTING_KNOWN, false), 7);
    table_end(&t);
    table_begin(&t, 0);
    table_end(&t);
    for (int i = 0; i < 2; i++) {
        table_begin(&t, 0);
        assert_int_equal(see_seven(&t, 50, SIGHTING_RETURNED, true), 3);
        table_abort(&t);
    }
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 60, SIGHTING_RETURNED, false), 13);
    table_end(&t);
    table_deinit(&t);
}

/* Who started before a cycle that failed is still new in the next one, but not in the one after. */
static void test_new_through_an_abort(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    table_end(&t);
    table_begin(&t, 0);
    (void)see_seven(&t, 30, SIGHTING_STARTED, false);
    table_abort(&t);
    for (int i = 0; i < 2; i++) {
        struct sample s = sample_of(7, 50, "x", 30);
        enum sighting sighting;
        struct delta delta;

        table_begin(&t, 0);
        assert_int_equal(table_see(&t, &s, wanted_cpu.parts, &wanted_cpu, &ref, &sighting, &delta),
                         0);
        assert_int_equal(sighting, SIGHTING_KNOWN);
        assert_int_equal(process_is_new(table_process(&t, ref)), i == 0);
        table_end(&t);
    }
    table_deinit(&t);
}

/* ---- ends that are told ---- */

/* Process 7 as see_seven() knows it, with its last totals. */
static struct sample last_of_seven(uint64_t total)
{
    return sample_of(7, 50, "x", total);
}

/* A table that counted process 7 up to 100, and finds it not there any more; 8 is. */
static uint32_t lose_seven(struct table *t)
{
    struct sample eight = sample_of(8, 60, "x", 5);
    uint32_t ref;

    table_init(t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(t, 0);
    table_end(t);
    table_begin(t, 0);
    (void)see_seven(t, 100, SIGHTING_STARTED, false);
    see(t, &eight, wanted_cpu.parts, &wanted_cpu);
    table_end(t);
    ref = table_find(t, last_of_seven(0).identity);
    table_begin(t, 0);
    see(t, &eight, wanted_cpu.parts, &wanted_cpu);
    return ref;
}

/* By how much the end of process 7 says that its counter grew; UINT64_MAX: it was told before. */
static uint64_t tell_seven(struct table *t, uint64_t total)
{
    struct sample s = last_of_seven(total);
    struct delta delta;
    uint32_t ref = table_find(t, s.identity);

    assert_int_not_equal(ref, TABLE_NONE);
    if (!table_see_end(t, ref, &s, &wanted_cpu, &delta))
        return UINT64_MAX;
    assert_true(table_process(t, ref)->end_told);
    assert_int_equal(delta.known, wanted_cpu.counters);
    return delta.counter[COUNTER_CPU_USER_NS];
}

static size_t count_ended(const struct table *t)
{
    size_t n = 0;

    for (size_t at = 0; table_next_ended(t, &at) != TABLE_NONE;)
        n++;
    return n;
}

static void test_last_totals(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(tell_seven(&t, 190), UINT64_MAX);
    /* It is found ended all the same, and leaves its remains for a cycle. */
    table_end(&t);
    assert_int_equal(count_ended(&t), 1);
    assert_int_equal(t.n_present, 1);
    assert_int_equal(t.n_awaited, 0);
    table_begin(&t, 0);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), ref);
    assert_int_equal(tell_seven(&t, 190), UINT64_MAX);
    table_end(&t);
    assert_int_equal(count_ended(&t), 1); /* 8 */
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    table_deinit(&t);
}

/* What was counted once stays so in the cycle that follows one that was left. */
static void test_last_totals_through_an_abort(void **state)
{
    struct table t;

    (void)state;
    lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    for (int i = 0; i < 3; i++) {
        table_abort(&t);
        table_begin(&t, 0);
        assert_int_equal(tell_seven(&t, 130), UINT64_MAX);
    }
    table_end(&t);
    assert_int_equal(count_ended(&t), 2);
    table_deinit(&t);
}

/* A step back is one at the end too; a field nobody had a base of is base, and adds nothing. */
static void test_last_totals_that_step_back(void **state)
{
    struct sample s = last_of_seven(90);
    struct wanted more = wanted_cpu;
    struct delta delta;
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    more.counters |= UINT32_C(1) << COUNTER_STORAGE_READ_BYTES | UINT32_C(1)
                                                                     << COUNTER_MAJOR_FAULTS;
    sample_set_counter(&s, COUNTER_STORAGE_READ_BYTES, 4096);
    assert_true(table_see_end(&t, ref, &s, &more, &delta));
    assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(delta.counter[COUNTER_STORAGE_READ_BYTES], 0);
    assert_int_equal(delta.counter[COUNTER_MAJOR_FAULTS], 0);
    assert_int_equal(delta.known, UINT32_C(1) << COUNTER_CPU_USER_NS |
                                      UINT32_C(1) << COUNTER_STORAGE_READ_BYTES);
    assert_int_equal(t.steps_back[COUNTER_CPU_USER_NS], 1);
    assert_int_equal(t.steps_back[COUNTER_STORAGE_READ_BYTES], 0);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_USER_NS], 100);
    table_deinit(&t);
}

/* Who is seen lives, whatever was told before: its end is to come. */
static void test_seen_after_its_end(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(see_seven(&t, 135, SIGHTING_KNOWN, false), 5);
    table_end(&t);
    assert_int_equal(count_ended(&t), 0);
    assert_false(table_process(&t, ref)->end_told);
    table_begin(&t, 0);
    assert_int_equal(tell_seven(&t, 140), 5);
    table_end(&t);
    table_deinit(&t);
}

/* ---- ends that are awaited ---- */

static void test_awaited(void **state)
{
    struct table t;
    uint32_t ref, found;
    size_t at = 0;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    found = table_next_ended(&t, &at);
    assert_int_equal(found, ref);
    table_await_end(&t, ref, 12345);
    assert_int_equal(table_process(&t, ref)->awaited_since_ns, 12345);
    for (int i = 0; i < 50; i++) {
        struct sample eight = sample_of(8, 60, "x", 5);

        assert_int_equal(t.n_awaited, 1);
        assert_int_equal(t.n_present, 1);
        at = 0;
        assert_int_equal(table_next_awaited(&t, &at), ref);
        assert_int_equal(table_next_awaited(&t, &at), TABLE_NONE);
        table_begin(&t, 0);
        see(&t, &eight, wanted_cpu.parts, &wanted_cpu);
        /* It is not there, and its pid alone does not bring it back. */
        assert_int_equal(table_find_pid(&t, 7), TABLE_NONE);
        assert_int_equal(table_see_unread(&t, 7), TABLE_NONE);
        /* But whoever it led may be told of as late. */
        assert_int_equal(table_find_parent(&t, 7, 50), ref);
        assert_int_equal(table_find_parent(&t, 7, 49), TABLE_NONE);
        assert_int_equal(table_find(&t, last_of_seven(0).identity), ref);
        if (i % 3 == 0) {
            table_abort(&t);
            continue;
        }
        table_end(&t);
        assert_int_equal(count_ended(&t), 0);
    }
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(tell_seven(&t, 130), UINT64_MAX);
    table_forget(&t, ref);
    assert_int_equal(t.n_awaited, 0);
    assert_int_equal(t.n_present, 1);
    at = 0;
    assert_int_equal(table_next_awaited(&t, &at), TABLE_NONE);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    assert_int_equal(table_find_parent(&t, 7, 50), TABLE_NONE);
    table_deinit(&t);
}

/* It goes on from its bases however long it was away, and then ends like anybody. */
static void test_awaited_returns(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    table_await_end(&t, ref, 1);
    for (int i = 0; i < 5; i++) {
        table_begin(&t, 0);
        table_end(&t);
    }
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 140, SIGHTING_RETURNED, false), 40);
    assert_int_equal(t.n_awaited, 0);
    table_end(&t);
    assert_int_equal(t.n_present, 1);
    assert_int_equal(table_find_pid(&t, 7), ref);
    table_begin(&t, 0);
    table_end(&t);
    assert_int_equal(count_ended(&t), 1);
    table_begin(&t, 0);
    table_end(&t);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    table_deinit(&t);
}

/* The pid goes on under another process, which ends first. */
static void test_awaited_and_reused(void **state)
{
    struct sample next = sample_of(7, 900, "x", 3);
    struct table t;
    uint32_t ref, young;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    table_await_end(&t, ref, 1);
    table_begin(&t, 0);
    young = see(&t, &next, wanted_cpu.parts, &wanted_cpu);
    table_end(&t);
    assert_int_not_equal(young, ref);
    assert_int_equal(table_find_pid(&t, 7), young);
    assert_int_equal(table_find_parent(&t, 7, 899), ref);
    assert_int_equal(table_find_parent(&t, 7, 900), young);
    table_begin(&t, 0);
    assert_int_equal(table_see_unread(&t, 7), young);
    table_end(&t);
    assert_int_equal(table_find(&t, next.identity), young);
    table_begin(&t, 0);
    table_end(&t);
    table_forget(&t, young);
    assert_int_equal(t.n_awaited, 1);
    assert_int_equal(tell_seven(&t, 101), 1);
    table_deinit(&t);
}

/* Remains of the others go when they would, and their records are used again. */
static void test_awaited_among_remains(void **state)
{
    enum { MANY = 300 };
    struct table t;
    size_t awaited = 0;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint64_t cycle = 0; cycle < 6; cycle++) {
        uint32_t ref;

        table_begin(&t, 0);
        for (uint32_t pid = 1; pid <= MANY; pid++) {
            struct sample s = sample_of(pid, 1000 * cycle, "x", pid);

            see(&t, &s, wanted_cpu.parts, &wanted_cpu);
        }
        table_end(&t);
        assert_int_equal(count_ended(&t), cycle ? MANY : 0);
        for (size_t at = 0; (ref = table_next_ended(&t, &at)) != TABLE_NONE;)
            if (table_process(&t, ref)->identity.pid % 100 == 7) {
                table_await_end(&t, ref, cycle);
                awaited++;
            }
        assert_int_equal(t.n_awaited, awaited);
        assert_int_equal(t.n_present, MANY);
    }
    assert_int_equal(awaited, 5 * MANY / 100);
    assert_true(t.n_processes <= 3 * MANY + awaited);
    for (uint64_t cycle = 0; cycle < 5; cycle++)
        for (uint32_t pid = 1; pid <= MANY; pid++) {
            uint32_t ref = table_find(&t, (struct identity){pid, 1000 * cycle});

            /* Of the last but one, remains are left. */
            assert_int_equal(ref != TABLE_NONE, pid % 100 == 7 || cycle == 4);
            if (pid % 100 == 7)
                assert_int_equal(table_process(&t, ref)->awaited_since_ns, cycle + 1);
        }
    for (size_t at = 0, left = awaited;; left--) {
        uint32_t ref = table_next_awaited(&t, &at);

        if (ref == TABLE_NONE) {
            assert_int_equal(left, 0);
            break;
        }
        table_forget(&t, ref);
    }
    assert_int_equal(t.n_awaited, 0);
    assert_int_equal(t.n_present, MANY);
    table_deinit(&t);
}

/* One that came and went is seen and dropped in one cycle, and was never present. */
static void test_forget_who_was_just_seen(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    lose_seven(&t);
    for (uint32_t pid = 100; pid < 400; pid++) {
        struct sample s = sample_of(pid, 70, "x", pid);
        enum sighting sighting;
        struct delta delta;

        assert_int_equal(table_see(&t, &s, 0, &wanted_cpu, &ref, &sighting, &delta), 0);
        assert_int_equal(sighting, SIGHTING_STARTED);
        assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], pid);
        assert_int_equal(t.n_present, 2);
        assert_int_equal(table_find_parent(&t, pid, 70), ref);
        table_forget(&t, ref);
        assert_int_equal(t.n_present, 1);
        assert_int_equal(table_find_parent(&t, pid, 70), TABLE_NONE);
    }
    assert_true(t.n_processes <= 3);
    table_end(&t);
    assert_int_equal(count_ended(&t), 1);
    table_deinit(&t);
}

/* ---- the scheduler's sum ---- */

static const struct wanted wanted_both = {
    .parts = UINT32_C(1) << PART_STAT,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS | UINT32_C(1) << COUNTER_CPU_SYSTEM_NS,
};

static struct sample runtime_of_seven(uint64_t runtime, uint64_t user, uint64_t system)
{
    struct sample s = last_of_seven(user);

    sample_set_counter(&s, COUNTER_CPU_SYSTEM_NS, system);
    s.have_cpu_runtime = true;
    s.cpu_runtime_ns = runtime;
    return s;
}

static void check_cpu(const struct delta *delta, uint64_t user, uint64_t system)
{
    assert_int_equal(delta->counter[COUNTER_CPU_USER_NS], user);
    assert_int_equal(delta->counter[COUNTER_CPU_SYSTEM_NS], system);
}

/* What ticks say divides the sum, in every look and at the end, and neither part steps back. */
static void test_runtime_is_split(void **state)
{
    static const struct {
        uint64_t runtime, user, system, more_user, more_system;
    } rows[] = {
        {1000, 30, 10, 750, 250}, {1100, 30, 30, 0, 100},   {1100, 60, 30, 0, 0},
        {1050, 60, 30, 0, 0},     {2000, 60, 60, 250, 650},
    };
    enum sighting sighting;
    struct delta delta;
    struct sample s;
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    table_end(&t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        s = runtime_of_seven(rows[i].runtime, rows[i].user, rows[i].system);
        table_begin(&t, 0);
        assert_int_equal(table_see(&t, &s, 0, &wanted_both, &ref, &sighting, &delta), 0);
        check_cpu(&delta, rows[i].more_user, rows[i].more_system);
        table_end(&t);
    }
    /* By ticks alone it is as it was before there was a sum: what is behind steps back. */
    s = runtime_of_seven(9, 1003, 60);
    s.have_cpu_runtime = false;
    table_begin(&t, 0);
    assert_int_equal(table_see(&t, &s, 0, &wanted_both, &ref, &sighting, &delta), 0);
    check_cpu(&delta, 3, 0);
    assert_int_equal(t.steps_back[COUNTER_CPU_SYSTEM_NS], 1);
    s = runtime_of_seven(2103, 1, 1);
    assert_true(table_see_end(&t, ref, &s, &wanted_both, &delta));
    check_cpu(&delta, 49, 51);
    table_deinit(&t);
}

/* With one of the two, or without a base, there is nothing to hold to. */
static void test_runtime_without_parts(void **state)
{
    struct sample s = runtime_of_seven(1000, 30, 10);
    enum sighting sighting;
    struct delta delta;
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_START, 0);
    table_begin(&t, 0);
    s.have_counters = UINT32_C(1) << COUNTER_CPU_USER_NS;
    assert_int_equal(table_see(&t, &s, 0, &wanted_both, &ref, &sighting, &delta), 0);
    assert_int_equal(delta.known, UINT32_C(1) << COUNTER_CPU_USER_NS);
    assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], 30);
    table_end(&t);
    table_forget_counters(&t, wanted_both.counters);
    s = runtime_of_seven(2000, 10, 30);
    table_begin(&t, 0);
    assert_int_equal(table_see(&t, &s, 0, &wanted_both, &ref, &sighting, &delta), 0);
    check_cpu(&delta, 0, 0);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_USER_NS], 500);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_SYSTEM_NS], 1500);
    table_deinit(&t);
}

static void see_many(struct table *t, uint32_t first, uint32_t n)
{
    table_begin(t, 0);
    for (uint32_t pid = first; pid < first + n; pid++) {
        struct sample s = sample_of(pid, pid, "x", 5);

        (void)see(t, &s, wanted_cpu.parts, &wanted_cpu);
    }
    table_end(t);
}

/* Thousands end at once, and as many others have begun by the next cycle. */
static void test_few_remains_of_many(void **state)
{
    enum { MANY = 20000, ROUNDS = 5 };
    struct table t;
    size_t ended = 0;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        see_many(&t, 1 + round * MANY, MANY);
        see_many(&t, 1, 0);
        for (size_t at = 0; table_next_ended(&t, &at) != TABLE_NONE;)
            ended++;
    }
    assert_int_equal(ended, ROUNDS * MANY);
    assert_in_range(t.n_processes, MANY, MANY + MANY / 4);
    table_deinit(&t);
}

/* Found in whatever order they are asked for, and not where a record was given back. */
static void test_found_in_any_order(void **state)
{
    enum { N = 50 };
    struct table t;
    uint32_t refs[N + 1];

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    for (uint32_t pid = 1; pid <= N; pid++)
        refs[pid] = see_one(&t, pid);
    for (uint32_t pid = 1; pid <= N; pid++)
        assert_int_equal(table_find(&t, (struct identity){pid, 10}), refs[pid]);
    for (uint32_t pid = N; pid >= 1; pid--) {
        assert_int_equal(see_one(&t, pid), refs[pid]);
        for (uint32_t other = 1; other <= N; other += 7)
            assert_int_equal(table_find(&t, (struct identity){other, 10}), refs[other]);
        assert_int_equal(table_find(&t, (struct identity){pid, 11}), TABLE_NONE);
    }
    /* The one that was seen last, and the one behind it. */
    table_forget(&t, refs[1]);
    table_forget(&t, refs[2]);
    assert_int_equal(table_find(&t, (struct identity){1, 10}), TABLE_NONE);
    assert_int_equal(table_find(&t, (struct identity){2, 10}), TABLE_NONE);
    assert_int_equal(table_find(&t, (struct identity){3, 10}), refs[3]);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_birth_and_exit),
        cmocka_unit_test(test_pid_reuse),
        cmocka_unit_test(test_older_than_the_first_tick),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_hidden_from_a_cycle_that_was_left),
        cmocka_unit_test(test_away_without_a_clock),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_once_counts_in_full),
        cmocka_unit_test(test_unread_stat_keeps_the_process),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_remains_are_dropped),
        cmocka_unit_test(test_abort_of_the_first_cycle),
        cmocka_unit_test(test_abort_of_a_later_cycle),
        cmocka_unit_test(test_end_after_an_abort),
        cmocka_unit_test(test_unread_after_reuse_and_abort),
        cmocka_unit_test(test_abort_frees_nothing),
        cmocka_unit_test(test_unsee),
        cmocka_unit_test(test_new_through_an_abort),
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_present_are_counted),
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_slow_parts_come_by_turns),
        cmocka_unit_test(test_slow_parts_are_read_after_an_exec),
        cmocka_unit_test(test_slow_part_refused),
        cmocka_unit_test(test_one_slow_part_more_is_wanted),
        cmocka_unit_test(test_slow_parts_wanted_again),
        cmocka_unit_test(test_forget_counters),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_last_totals),
        cmocka_unit_test(test_last_totals_through_an_abort),
        cmocka_unit_test(test_last_totals_that_step_back),
        cmocka_unit_test(test_seen_after_its_end),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_awaited_returns),
        cmocka_unit_test(test_awaited_and_reused),
        cmocka_unit_test(test_awaited_among_remains),
        cmocka_unit_test(test_forget_who_was_just_seen),
        cmocka_unit_test(test_runtime_is_split),
        cmocka_unit_test(test_runtime_without_parts),
        cmocka_unit_test(test_few_remains_of_many),
        cmocka_unit_test(test_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
