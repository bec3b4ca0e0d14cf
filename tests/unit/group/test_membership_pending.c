/* Processes whose place waits for their texts or names, and what is foreseen of them. */
#include "membership_cycles.h"

static void test_pending_is_counted_whole(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 100, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.standing, STANDING_PENDING);
    assert_int_equal(f.groups.n_pending, 1);
    assert_null(find(&f, "app"));
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    check_waiting(&f, 1, 1);
    check_group(&f, "app-one", 0, 0, 0, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 130, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 130, 1, 0);
    assert_int_equal(group(&f, "app-one")->total[READ], 130);
    assert_int_equal(f.groups.n_pending, 0);
    check_waiting(&f, 0, 0);
    cycle_of_init(&f);
    check_group(&f, "app-one", 0, 130, 1, 1);
    teardown(&f);
}

/* Who was there before the daemon: no start, and nothing from before. */
static void test_pending_that_was_found(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK_LATER(&f, .pid = 5, .comm = "app", .cpu = 1000, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 5, .comm = "app", .cpu = 1007, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 7, 0, 0);
    teardown(&f);
}

/* After so many looks it is decided by what there is; and moves when more is known. */
static void test_patience(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    for (uint64_t i = 0; i < 4; i++) {
        begin_with_init(&f);
        (void)TRY_LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 10 * (i + 1),
                       .expected = TEXTS);
        end(&f);
        assert_int_equal(f.standing, i < MEMBERSHIP_PATIENCE ? STANDING_PENDING : STANDING_MEMBER);
    }
    check_group(&f, "app", 1, 40, 1, 0);
    check_waiting(&f, 0, 0);
    /* It is asked about at each look until then. */
    assert_false(groups_is_decided(&f.groups, known(&f, (struct who){.pid = 5, .start = 9})));
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 45, .expected = TEXTS);
    end(&f);
    check_group(&f, "app", 0, 45, 1, 0);
    check_group(&f, "app-one", 1, 0, 0, 0);
    teardown(&f);
}

/* And if what it waited for is lost then, by what else is known by then. */
static void test_patience_and_loss(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "exe-${exe}", .exe = "/opt/*"});
    cycle_of_init(&f);
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        begin_with_init(&f);
        (void)TRY_LOOK(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS);
        end(&f);
    }
    check_group(&f, "app", 1, 0, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .exe = "/opt/app",
            .lost = BIT(SUBJECT_CMDLINE));
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS);
    end(&f);
    check_group(&f, "exe-app", 1, 0, 0, 0);
    /* That is for good. */
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .changed = true);
    end(&f);
    check_group(&f, "exe-app", 1, 0, 0, 0);
    teardown(&f);
}

/* A user whose name takes long is a number in the meantime, and the process moves afterwards. */
static void test_name_that_comes_late(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "hers", .user = "alice"});
    cycle_of_init(&f);
    for (int i = 0; i < 3; i++) {
        begin_with_init(&f);
        (void)TRY_LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .expected = BIT(SUBJECT_USER));
        end(&f);
    }
    check_group(&f, "sh", 1, 0, 1, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .user = "alice");
    end(&f);
    check_group(&f, "sh", 0, 0, 1, 0);
    check_group(&f, "hers", 1, 0, 0, 0);
    teardown(&f);
}

static void test_default_waits_for_the_name(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    set_rules(&f, NULL, 0);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    LOOK_LATER(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .session = "alice");
    LOOK_LATER(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    check_group(&f, "user/alice", 1, 0, 1, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .session = "alice");
    LOOK(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    check_group(&f, "user/1000", 1, 0, 1, 0);
    teardown(&f);
}

/* What was foreseen of what was before an exec is not carried out. */
static void test_change_drops_what_was_foreseen(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "other-${1}", .comm = "other", .cmdline = "-n (\\w+)"});
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "other", .cpu = 2, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "other", .cmdline = "other -n two");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "other", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "other-two", 1, 4, 1, 0);
    /* And so of one that has a place, which it keeps until more is known. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "other", .cmdline = "other -n three");
    check_waiting(&f, 0, 1);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS);
    end(&f);
    check_waiting(&f, 0, 0);
    check_group(&f, "other-two", 1, 5, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n four");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 7, .expected = TEXTS);
    end(&f);
    check_group(&f, "other-two", 0, 7, 1, 0);
    check_group(&f, "app-four", 1, 0, 0, 0);
    check_group(&f, "other-three", 0, 0, 0, 0);
    teardown(&f);
}

/* What was foreseen twice holds as of the second time; if that is not enough, not at all. */
static void test_foreseen_again(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "app-${1}-${user}", .cmdline = "-n (\\w+)"});
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .expected = TEXTS, .user = "a");
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .cmdline = "-n one", .user = "a");
    FORESEE(&f, .pid = 5, .start = 9, .cmdline = "-n two", .user = "a");
    check_waiting(&f, 1, 1);
    FORESEE_LATER(&f, .pid = 5, .start = 9, .cmdline = "-n three", .expected = BIT(SUBJECT_USER));
    check_waiting(&f, 1, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .cmdline = "-n three", .user = "b");
    end(&f);
    check_group(&f, "app-three-b", 1, 0, 1, 0);
    teardown(&f);
}

/* An empty group that somebody is about to enter is not forgotten. */
static void test_claimed_group_stays(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.forget_ns = 1;
    set_rules(&f, &app_rule, 1);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    for (int i = 0; i < 5; i++) {
        /* Its stat is unreadable for a while. */
        begin_with_init(&f);
        assert_int_not_equal(table_see_unread(&f.table, 5), TABLE_NONE);
        end(&f);
        check_group(&f, "app-one", 0, 0, 0, 0);
    }
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    for (int i = 0; i < 3; i++) {
        cycle_of_init(&f);
    }
    assert_null(find(&f, "app-one"));
    teardown(&f);
}

/* Decided only as the name is counted as `_other`. */
static void test_pending_beyond_the_maximum(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.max = 1;
    set_rules(&f, &app_rule, 1);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 3, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.other_assignments, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.other_assignments, 1);
    check_group(&f, "_other", 1, 4, 1, 0);
    teardown(&f);
}

static void test_family_turned_off_while_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    table_forget_counters(&f.table, BIT(READ));
    groups_forget_counters(&f.groups, BIT(READ));
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 60, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 60, 1, 0);
    assert_int_equal(group(&f, "app-one")->total[READ], 0);
    teardown(&f);
}

/* A counter that was never readable is not known, pending or not. */
static void test_what_is_known_of_the_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS, .refused = true);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .refused = true);
    end(&f);
    assert_int_equal(group(&f, "app-one")->known & (BIT(CPU) | BIT(READ)), BIT(CPU));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_is_counted_whole),
        cmocka_unit_test(test_pending_that_was_found),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_patience_and_loss),
        cmocka_unit_test(test_name_that_comes_late),
        cmocka_unit_test(test_default_waits_for_the_name),
        cmocka_unit_test(test_change_drops_what_was_foreseen),
        cmocka_unit_test(test_foreseen_again),
        cmocka_unit_test(test_claimed_group_stays),
        cmocka_unit_test(test_pending_beyond_the_maximum),
        cmocka_unit_test(test_family_turned_off_while_pending),
        cmocka_unit_test(test_what_is_known_of_the_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
