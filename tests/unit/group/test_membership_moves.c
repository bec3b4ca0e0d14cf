/* Moves between groups, exclusion, new rules, and texts that are lost. */
#include "membership_cycles.h"

static void test_place_is_kept_while_waiting(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 1, .expected = TEXTS);
    end(&f);
    for (uint64_t i = 2; i < 8; i++) {
        begin_with_init(&f);
        LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = i, .expected = TEXTS);
        end(&f);
        check_group(&f, "sh", 1, i, 1, 0);
    }
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 8, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 0, 8, 1, 0);
    check_group(&f, "app-one", 1, 0, 0, 0);
    teardown(&f);
}

static void test_exclusion(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "-noise", .comm = "sh", .cmdline = "^noise"}, {.name = "sh", .comm = "sh"});
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 100, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "noise");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 200, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.n_excluded, 1);
    check_group(&f, "sh", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    /* It is included: without a start, and without what it used so far. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "quiet");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 300, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 1, 0, 0, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 301, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 1, 1, 0, 0);
    /* And excluded, which is no end; nor is its end one. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "noise");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 310, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 0, 10, 0, 0);
    cycle_of_init(&f);
    check_group(&f, "sh", 0, 10, 0, 0);
    teardown(&f);
}

static void test_new_rules_while_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    RULES(&f, {.name = "new-${1}", .comm = "app", .cmdline = "-n (\\w+)"});
    /* One has its texts before it is looked at. */
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n two");
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 3, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_group(&f, "new-two", 1, 4, 1, 0);
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "new-one", 1, 5, 1, 0);
    teardown(&f);
}

/* Who hangs, or is a zombie, keeps the place that turned on its arguments. */
static void test_lost_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "-noise", .comm = "sh", .cmdline = "noise"});
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .cmdline = "noise");
    end(&f);
    for (int i = 0; i < 4; i++) {
        if (i == 1) /* The same ones again. */
            RULES(&f, app_rule, {.name = "-noise", .comm = "sh", .cmdline = "noise"});
        begin_with_init(&f);
        LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .changed = i == 2);
        LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .lost = TEXTS, .changed = i == 2);
        assert_int_equal(f.standing, STANDING_EXCLUDED);
        /* Who has no place yet does without. */
        LOOK(&f, .pid = 7, .start = 9, .comm = "app", .lost = TEXTS);
        end(&f);
        check_group(&f, "app-one", 1, 0, 1, 0);
        check_group(&f, "app", 1, 0, 1, 0);
    }
    /* Rules that need no text have it moved. */
    RULES(&f, {.name = "new", .comm = "app"});
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .lost = TEXTS);
    end(&f);
    check_group(&f, "new", 1, 0, 0, 0);
    check_group(&f, "sh", 1, 0, 0, 0);
    teardown(&f);
}

/* What else is expected is waited for. */
static void test_lost_and_expected(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "hers", .user = "alice"}, app_rule);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one", .user = "bob");
    end(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .changed = true, .lost = TEXTS,
               .expected = BIT(SUBJECT_USER));
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .user = "alice");
    end(&f);
    check_group(&f, "app-one", 0, 0, 1, 0);
    check_group(&f, "hers", 1, 0, 0, 0);
    teardown(&f);
}

static void test_who_is_ending_stays(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app");
    check_waiting(&f, 0, 1);
    groups_stay(&f.groups, known(&f, (struct who){.pid = 5, .start = 9}));
    check_waiting(&f, 0, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app");
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place_is_kept_while_waiting),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_new_rules_while_pending),
        cmocka_unit_test(test_lost_texts),
        cmocka_unit_test(test_lost_and_expected),
        cmocka_unit_test(test_who_is_ending_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
