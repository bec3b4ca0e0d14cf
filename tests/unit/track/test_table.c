/* Who is found, started, known, hidden, returned or ended, cycle after cycle. */
#include "table_cycles.h"

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
    RUN_ROWS(&t, rows);
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
    RUN_ROWS(&t, rows);
    assert_int_not_equal(table_find(&t, gone), TABLE_NONE);
    RUN_ROWS(&t, more);
    assert_int_equal(table_find(&t, gone), TABLE_NONE);
    RUN_ROWS(&t, reuse);
    assert_int_equal(t.n_processes, 2);
    table_deinit(&t);
}

static void test_zombie(void **state)
{
    struct sample s = sample_of(5, 10, "worker", 70);
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    see_cpu(&t, s);
    table_end(&t);
    table_begin(&t, 0);
    s = sample_of(5, 10, "worker", 75);
    s.state = STATE_ZOMBIE;
    s.parent_pid = 4;
    ref = see_cpu(&t, s);
    table_end(&t);
    assert_int_equal(table_process(&t, ref)->state, STATE_ZOMBIE);
    assert_int_equal(table_process(&t, ref)->parent_pid, 4);
    assert_int_equal(table_find_pid(&t, 5), ref);
    assert_int_equal(t.n_present, 1);
    empty_cycle(&t);
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
    see_cpu(&t, a);
    see_cpu(&t, b);
    table_end(&t);
    table_begin(&t, 0);
    see_cpu(&t, a);
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
        ref = see_cpu(&t, s);
        table_end(&t);
        if (table_process(&t, ref)->renamed != rows[i].renamed)
            fail_msg("row %zu", i);
        assert_int_equal(table_process(&t, ref)->comm_len, strlen(rows[i].comm));
        assert_memory_equal(table_process(&t, ref)->comm, rows[i].comm, strlen(rows[i].comm));
    }
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
    RUN_ROWS(&t, before);
    table_forget_counters(&t, wanted_cpu.counters);
    RUN_ROWS(&t, after);
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
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_present_are_counted),
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_forget_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
