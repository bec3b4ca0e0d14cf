/* Ends of those that are undecided, and ends that are told in time or late. */
#include "membership_cycles.h"

static void test_end_undecided(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 7, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    cycle_of_init(&f);
    /* By what there was; the other one by what had come. */
    check_group(&f, "app", 0, 50, 1, 1);
    check_group(&f, "app-one", 0, 7, 1, 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* New rules came between what was foreseen and the end. */
static void test_end_under_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    RULES(&f, {.name = "all", .comm = "*"});
    cycle_of_init(&f);
    check_group(&f, "all", 1, 50, 1, 1);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Taken for ended a cycle ago, it is placed again, and nothing counts twice. */
static void test_returned(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    cycle_of_init(&f);
    check_group(&f, "app", 0, 50, 1, 1);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 53, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 54, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 4, 0, 0);
    teardown(&f);
}

/* Told before the cycle that finds it ended: it is one end, of its reason. */
static void test_end_told_in_time(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    begin(&f);
    TELL(&f, CRASHED, .pid = 5, .comm = "web", .cpu = 130);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
    end(&f);
    check_group(&f, "web", 1, 32, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_CRASHED), 1);
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(restarts(&f, "web"), 1);
    assert_int_equal(f.table.n_awaited, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* It leaves when it is not there any more, and has ended when that is told: once each. */
static void test_leave_and_exit(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    for (int i = 0; i < 5; i++) {
        begin_with_init(&f);
        /* Its successor is there when it is missed, or later. */
        if (i >= 2)
            LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
        end(&f);
        check_group(&f, "web", i >= 2, i >= 2 ? 2 : 0, i >= 2, 0);
        assert_int_equal(all_exits(&f, "web"), 0);
        assert_int_equal(restarts(&f, "web"), i >= 2);
        check_waiting(&f, 0, 1);
    }
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .comm = "web", .cpu = 140);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
    end(&f);
    /* What it did until its end is its group's, however late. */
    check_group(&f, "web", 1, 42, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_SUCCESS), 1);
    assert_int_equal(restarts(&f, "web"), 1);
    check_waiting(&f, 0, 0);
    for (int i = 0; i < 3; i++) {
        begin_with_init(&f);
        LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
        end(&f);
    }
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(restarts(&f, "web"), 1);
    teardown(&f);
}

/* Told while nobody has come in its place: that is no restart, and who comes later is one. */
static void test_exit_from_an_empty_group(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "web");
    end(&f);
    for (int i = 0; i < 4; i++) {
        begin_with_init(&f);
        if (i == 2)
            TELL(&f, KILLED, .pid = 5, .comm = "web", .cpu = 9);
        end(&f);
        assert_int_equal(restarts(&f, "web"), 0);
        assert_int_equal(all_exits(&f, "web"), i >= 2);
    }
    for (int i = 0; i < 3; i++) {
        begin_with_init(&f);
        LOOK(&f, .pid = 6, .start = 9, .comm = "web");
        end(&f);
        assert_int_equal(restarts(&f, "web"), 1);
    }
    check_group(&f, "web", 1, 9, 1, 0);
    teardown(&f);
}

/* Those of one group leave in one cycle and are told of one by one: the oldest alone matters. */
static void test_many_leave(void **state)
{
    enum { MANY = 20 };
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin_with_init(&f);
    for (uint32_t pid = 10; pid < 10 + MANY; pid++)
        LOOK(&f, .pid = pid, .start = pid, .comm = "web");
    end(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 50, .start = 50, .comm = "web");
    end(&f);
    check_waiting(&f, 0, MANY);
    assert_int_equal(restarts(&f, "web"), 1);
    for (uint32_t pid = 10 + MANY - 1; pid >= 10; pid--) {
        begin_with_init(&f);
        LOOK(&f, .pid = 50, .start = 50, .comm = "web");
        TELL(&f, FAILURE, .pid = pid, .start = pid, .comm = "web", .cpu = 1);
        end(&f);
        check_waiting(&f, 0, pid - 10);
    }
    check_group(&f, "web", 1, MANY, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_FAILURE), MANY);
    assert_int_equal(restarts(&f, "web"), 1);
    teardown(&f);
}

/* An empty group waits for the end of its last member, however soon it would be forgotten. */
static void test_group_waits_for_an_end(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    f.forget_ns = 1;
    set_rules(&f, &app_rule, 1);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "solo", .cpu = 100);
    end(&f);
    for (int i = 0; i < 20; i++) {
        cycle_of_init(&f);
        check_group(&f, "solo", 0, 0, 0, 0);
        check_waiting(&f, 0, 1);
    }
    begin_with_init(&f);
    TELL(&f, OOM, .pid = 5, .comm = "solo", .cpu = 107);
    assert_int_equal(exits(&f, "solo", EXIT_REASON_OOM), 1);
    assert_int_equal(group(&f, "solo")->total[CPU], 7);
    assert_int_equal(group(&f, "solo")->known >> (GROUP_COUNTER_EXITED + EXIT_REASON_OOM) & 1, 1);
    end(&f);
    assert_null(find(&f, "solo"));
    teardown(&f);
}

/* A kernel that answered ESRCH once: nothing has ended, and it is a member as before. */
static void test_returned_after_it_left(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    for (uint64_t i = 0; i < 3; i++) {
        for (int missed = 0; missed < 4; missed++) {
            cycle_of_init(&f);
            check_waiting(&f, 0, 1);
        }
        begin_with_init(&f);
        LOOK(&f, .pid = 5, .comm = "web", .cpu = 107 + 7 * i);
        end(&f);
        check_group(&f, "web", 1, 7 * (i + 1), 0, 0);
        check_waiting(&f, 0, 0);
    }
    begin_with_init(&f);
    TELL(&f, KILLED, .pid = 5, .comm = "web", .cpu = 122);
    end(&f);
    check_group(&f, "web", 0, 22, 0, 0);
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(restarts(&f, "web"), 0);
    teardown(&f);
}

/* It was undecided when it ended: it is placed by what there is, and leaves from there. */
static void test_pending_leaves(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 60, .expected = TEXTS);
    end(&f);
    check_waiting(&f, 2, 0);
    begin(&f);
    /* Of one it is told while it is pending: its last figures are held with the others. */
    TELL(&f, TERMINATED, .pid = 6, .start = 9, .comm = "app", .cpu = 64);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 114, 2, 0);
    assert_int_equal(exits(&f, "app", EXIT_REASON_TERMINATED), 1);
    check_waiting(&f, 0, 1);
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .start = 9, .comm = "app", .cpu = 55);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 119, 2, 0);
    assert_int_equal(all_exits(&f, "app"), 2);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Who is excluded is waited for as well, since it must not be taken for somebody new. */
static void test_excluded_leaves(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    RULES(&f, {.name = "-noise", .comm = "noise"});
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "noise", .cpu = 100);
    LOOK(&f, .pid = 6, .comm = "noise", .cpu = 100);
    end(&f);
    assert_int_equal(f.standing, STANDING_EXCLUDED);
    begin(&f);
    TELL(&f, FAILURE, .pid = 6, .comm = "noise", .cpu = 111);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    assert_int_equal(f.table.n_awaited, 1);
    check_waiting(&f, 0, 0);
    begin(&f);
    TELL(&f, FAILURE, .pid = 5, .comm = "noise", .cpu = 111);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    assert_int_equal(f.table.n_awaited, 0);
    assert_int_equal(f.groups.n_order, 1);
    check_group(&f, "init", 1, 0, 0, 0);
    assert_int_equal(all_exits(&f, "init"), 0);
    teardown(&f);
}

/* What was foreseen of it is dropped; what its texts say when they come late does not matter. */
static void test_leave_with_texts_under_way(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .cmdline = "app -n one");
    end(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 2, .expected = TEXTS,
               .changed = true);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n two");
    check_waiting(&f, 0, 1);
    cycle_of_init(&f);
    check_waiting(&f, 0, 1);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n three");
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .start = 9, .comm = "app", .cpu = 9);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app-one", 0, 9, 1, 0);
    assert_int_equal(all_exits(&f, "app-one"), 1);
    check_group(&f, "app-two", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* New rules do not move who is not there any more. */
static void test_new_rules_before_an_end(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    f.forget_ns = 1;
    RULES(&f, {.name = "fixed", .comm = "web"});
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 100);
    end(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 101);
    end(&f);
    RULES(&f, {.name = "others", .comm = "web"});
    for (int i = 0; i < 5; i++) {
        begin_with_init(&f);
        LOOK(&f, .pid = 6, .comm = "web", .cpu = 102);
        end(&f);
        check_waiting(&f, 0, 1);
    }
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .comm = "web", .cpu = 103);
    assert_int_equal(exits(&f, "fixed", EXIT_REASON_SUCCESS), 1);
    assert_int_equal(group(&f, "fixed")->total[CPU], 5);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 102);
    end(&f);
    check_group(&f, "others", 1, 0, 0, 0);
    assert_int_equal(all_exits(&f, "others"), 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_undecided),
        cmocka_unit_test(test_end_under_new_rules),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_end_told_in_time),
        cmocka_unit_test(test_leave_and_exit),
        cmocka_unit_test(test_exit_from_an_empty_group),
        cmocka_unit_test(test_many_leave),
        cmocka_unit_test(test_group_waits_for_an_end),
        cmocka_unit_test(test_returned_after_it_left),
        cmocka_unit_test(test_pending_leaves),
        cmocka_unit_test(test_excluded_leaves),
        cmocka_unit_test(test_leave_with_texts_under_way),
        cmocka_unit_test(test_new_rules_before_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
