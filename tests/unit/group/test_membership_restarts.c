/* When one that comes into a group is a restart: also of those that were pending or move. */
#include "membership_cycles.h"

/* The old one is gone and the new one pending; it is a restart when that is placed. */
static void test_restart_by_one_that_was_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    assert_int_equal(restarts(&f, "app-one"), 0);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app");
    end(&f);
    assert_int_equal(restarts(&f, "app-one"), 1);
    check_group(&f, "app-one", 1, 0, 1, 1);
    teardown(&f);
}

/* Each of them ends before it is placed, which is when an alert is wanted most. */
static void test_restarts_of_pending_ones(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    for (uint32_t i = 0; i < 4; i++) {
        begin_with_init(&f);
        LOOK_LATER(&f, .pid = 10 + i, .start = 9 + i, .comm = "app", .expected = TEXTS);
        end(&f);
        /* The one before ended; that it was a restart is known since it is. */
        assert_int_equal(restarts(&f, "app-one"), i);
        FORESEE(&f, .pid = 10 + i, .start = 9 + i, .comm = "app", .cmdline = "app -n one");
    }
    cycle_of_init(&f);
    check_group(&f, "app-one", 0, 0, 4, 5);
    assert_int_equal(restarts(&f, "app-one"), 4);
    teardown(&f);
}

/* Found by the daemon, it was there all the time. */
static void test_no_restart_by_one_that_was_found(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    /* As of a state that another daemon left. */
    group(&f, "app-one")->oldest_ended = true;
    group(&f, "app-one")->oldest_before = (struct identity){77, 0};
    f.table.first_tick = 100;
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    assert_true(group(&f, "app-one")->restart_due);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app");
    end(&f);
    assert_int_equal(restarts(&f, "app-one"), 0);
    check_group(&f, "app-one", 1, 0, 0, 1);
    teardown(&f);
}

/* Who moves in was there before: a move is no start, and so no restart. */
static void test_restart_of_one_that_moves_in(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "a");
    LOOK(&f, .pid = 6, .comm = "a");
    end(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "b");
    end(&f);
    check_group(&f, "b", 1, 0, 0, 0);
    check_group(&f, "a", 0, 0, 0, 1);
    assert_int_equal(restarts(&f, "b"), 0);
    assert_int_equal(restarts(&f, "a"), 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart_by_one_that_was_pending),
        cmocka_unit_test(test_restarts_of_pending_ones),
        cmocka_unit_test(test_no_restart_by_one_that_was_found),
        cmocka_unit_test(test_restart_of_one_that_moves_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
