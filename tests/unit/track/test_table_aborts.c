/* Cycles that are left half way, and looks that are taken back. */
#include "table_cycles.h"

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
    RUN_ROWS(&t, rows);
    one = table_find(&t, (struct identity){1, 0});
    RUN_ROWS(&t, left);
    eight = table_find(&t, (struct identity){8, 5});
    assert_int_not_equal(eight, TABLE_NONE);
    for (int i = 0; i < 5; i++)
        run_rows(&t, (struct row[]){BEGINS, ABORTS}, 2);
    assert_int_equal(table_find(&t, (struct identity){1, 0}), one);
    assert_int_equal(table_find(&t, (struct identity){8, 5}), eight);
    assert_int_not_equal(table_process(&t, eight)->seen, 0);
    table_deinit(&t);
}

/* Whatever the sighting, what was taken back is seen once more by the cycle that follows. */
static void test_unsee(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    empty_cycle(&t);
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
    empty_cycle(&t);
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
    empty_cycle(&t);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abort_of_the_first_cycle),
        cmocka_unit_test(test_abort_of_a_later_cycle),
        cmocka_unit_test(test_end_after_an_abort),
        cmocka_unit_test(test_unread_after_reuse_and_abort),
        cmocka_unit_test(test_abort_frees_nothing),
        cmocka_unit_test(test_unsee),
        cmocka_unit_test(test_new_through_an_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
