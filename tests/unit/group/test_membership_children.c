/* Whom a rule with `children` takes, and how they wait for their parents. */
#include "membership_cycles.h"

static void test_descendants_follow(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule, {.name = "own", .comm = "own"});
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    LOOK(&f, .pid = 7, .comm = "grand", .parent = 6);
    LOOK(&f, .pid = 8, .comm = "own", .parent = 6);
    LOOK(&f, .pid = 9, .comm = "below", .parent = 8);
    LOOK(&f, .pid = 20, .comm = "child", .parent = 1);
    end(&f);
    check_group(&f, "web", 3, 0, 0, 0);
    check_group(&f, "own", 1, 0, 0, 0);
    /* Whom a rule takes leads nobody, unless it says so. */
    check_group(&f, "below", 1, 0, 0, 0);
    check_group(&f, "child", 1, 0, 0, 0);
    /* For their life: the leader is gone, and they have another parent and other names. */
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "renamed", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "grand", .parent = 6);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 7);
    end(&f);
    check_group(&f, "web", 3, 0, 1, 1);
    /* A rule takes one, and gives it back to its parent's. */
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "own", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "own", .parent = 6);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 7);
    end(&f);
    check_group(&f, "web", 1, 0, 1, 1);
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "free", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "own", .parent = 30);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 1);
    end(&f);
    check_group(&f, "free", 1, 0, 0, 0);
    begin_with_init(&f);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 1);
    LOOK(&f, .pid = 31, .start = 6, .comm = "x", .parent = 30);
    end(&f);
    check_group(&f, "web", 2, 0, 2, 1);
    teardown(&f);
}

/* The parent is behind its child in the list, or waits itself. */
static void test_children_wait_for_their_parent(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    LOOK(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    check_group(&f, "web-one", 3, 0, 0, 0);
    /* While its parent is read again, a new one waits; if that takes long, as it is now. */
    for (int i = 0; i < 3; i++) {
        begin_with_init(&f);
        LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS, .changed = true);
        (void)TRY_LOOK(&f, .pid = 7, .start = 9, .comm = "child", .parent = 5);
        end(&f);
        assert_int_equal(f.standing, i < MEMBERSHIP_PATIENCE ? STANDING_PENDING : STANDING_MEMBER);
    }
    check_group(&f, "web-one", 2, 0, 1, 2);
    teardown(&f);
}

/* Texts of a child may come before those of its parent, also when it waited as long as it does. */
static void test_texts_of_a_child_first(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    for (int i = 0; i < MEMBERSHIP_PATIENCE; i++) {
        begin_with_init(&f);
        LOOK_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
        if (i == 0) /* in the midst of a cycle */
            FORESEE_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
        LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
        end(&f);
        FORESEE_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    }
    FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    end(&f);
    check_group(&f, "web-one", 2, 0, 0, 0);
    teardown(&f);
}

/* Who waits longer than anybody has to is decided, and follows when his parent does. */
static void test_descendants_seen_first(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    for (int i = 0; i < MEMBERSHIP_PATIENCE + 2; i++) {
        bool late = i < MEMBERSHIP_PATIENCE;

        begin_with_init(&f);
        look(&f, (struct who){.pid = 3, .comm = "grand", .start = 4, .parent = 4},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        look(&f, (struct who){.pid = 4, .comm = "child", .start = 3, .parent = 5},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        look(&f, (struct who){.pid = 5, .comm = "lead", .start = 2, .expected = TEXTS},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        end(&f);
        if (i == MEMBERSHIP_PATIENCE - 1)
            FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
        if (i == MEMBERSHIP_PATIENCE)
            check_group(&f, "grand", 1, 0, 0, 0);
    }
    check_group(&f, "grand", 0, 0, 0, 0);
    check_group(&f, "web-one", 3, 0, 0, 0);
    teardown(&f);
}

/* A parent that nobody can see is waited for once. */
static void test_hidden_parent(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    check_group(&f, "child", 1, 0, 0, 0);
    teardown(&f);
}

static void test_parents_that_lead_nobody(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "-out", .comm = "out"}, lead_rule);
    begin_with_init(&f);
    LOOK(&f, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    LOOK(&f, .pid = 3, .comm = "worker", .kernel_thread = true, .parent = 2);
    LOOK(&f, .pid = 5, .comm = "out", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    end(&f);
    check_group(&f, "child", 1, 0, 0, 0);
    check_group(&f, "kernel", 2, 0, 0, 0);
    teardown(&f);
}

/* It ends with its child, before either is decided. */
static void test_family_that_ended(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 9, .parent = 1);
    LOOK_LATER(&f, .pid = 4, .comm = "grand", .start = 11, .parent = 6, .cpu = 7);
    end(&f);
    /* The child between them was seen in no cycle; of another family it was. */
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 9, .parent = 1);
    LOOK_LATER(&f, .pid = 7, .comm = "child", .start = 13, .parent = 8, .cpu = 30);
    LOOK(&f, .pid = 8, .comm = "lead", .start = 12, .parent = 1);
    end(&f);
    check_group(&f, "grand", 0, 7, 1, 1);
    cycle_of_init(&f);
    check_group(&f, "web", 0, 30, 3, 3);
    teardown(&f);
}

/* Fixed names lead as long as a rule has them; other groups once a leader came into them. */
static void test_followers_under_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule,
          {.name = "t-${1}", .comm = "other", .cmdline = "-n (\\w+)", .children = true});
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    LOOK(&f, .pid = 7, .comm = "other", .parent = 1, .cmdline = "-n a");
    LOOK(&f, .pid = 8, .comm = "child", .parent = 7);
    LOOK(&f, .pid = 9, .comm = "other", .parent = 1, .cmdline = "-n b");
    LOOK(&f, .pid = 10, .comm = "child", .parent = 9);
    end(&f);
    check_group(&f, "web", 2, 0, 0, 0);
    check_group(&f, "t-a", 2, 0, 0, 0);
    /* All are orphans; of one group the leader is alive, and behind them in the list. */
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 8, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 10, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "other", .parent = 1);
    end(&f);
    RULES(&f, lead_rule,
          {.name = "t-${1}", .comm = "other", .cmdline = "-n (\\w+)", .children = true});
    for (int i = 0; i < 3; i++) {
        begin_with_init(&f);
        LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
        (void)TRY_LOOK(&f, .pid = 8, .comm = "child", .parent = 1);
        (void)TRY_LOOK(&f, .pid = 10, .comm = "child", .parent = 1);
        if (i == 0)
            LOOK_LATER(&f, .pid = 7, .comm = "other", .parent = 1, .expected = TEXTS);
        else
            LOOK(&f, .pid = 7, .comm = "other", .parent = 1, .expected = TEXTS);
        end(&f);
        if (i == 0)
            FORESEE(&f, .pid = 7, .comm = "other", .parent = 1, .cmdline = "-n a");
    }
    check_group(&f, "web", 1, 0, 0, 1);
    check_group(&f, "t-a", 2, 0, 0, 0);
    check_group(&f, "t-b", 0, 0, 0, 1);
    check_group(&f, "child", 1, 0, 0, 0);
    /* No rule leads any more. */
    RULES(&f, {.name = "web", .comm = "lead"});
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 8, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 10, .comm = "child", .parent = 1);
    end(&f);
    check_group(&f, "child", 3, 0, 0, 0);
    teardown(&f);
}

/* Who leads by texts that are lost leads on. */
static void test_leader_with_lost_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .cmdline = "-n one");
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    end(&f);
    RULES(&f, leads_rule);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "lead", .lost = TEXTS);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 7, .start = 9, .comm = "child", .parent = 5);
    end(&f);
    check_group(&f, "web-one", 3, 0, 1, 0);
    teardown(&f);
}

/* It was asked with its texts, which are not there at the next look. */
static void test_unmatched_is_remembered(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule, app_rule);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .parent = 7, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 7, .start = 8, .comm = "lead", .expected = TEXTS);
    end(&f);
    FORESEE_LATER(&f, .pid = 6, .start = 9, .comm = "app", .parent = 7, .cmdline = "nothing");
    FORESEE(&f, .pid = 7, .start = 8, .comm = "lead", .cmdline = "-n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .parent = 7, .expected = TEXTS);
    LOOK(&f, .pid = 7, .start = 8, .comm = "lead", .expected = TEXTS);
    end(&f);
    check_group(&f, "web-one", 2, 0, 2, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descendants_follow),
        cmocka_unit_test(test_children_wait_for_their_parent),
        cmocka_unit_test(test_texts_of_a_child_first),
        cmocka_unit_test(test_descendants_seen_first),
        cmocka_unit_test(test_hidden_parent),
        cmocka_unit_test(test_parents_that_lead_nobody),
        cmocka_unit_test(test_family_that_ended),
        cmocka_unit_test(test_followers_under_new_rules),
        cmocka_unit_test(test_leader_with_lost_texts),
        cmocka_unit_test(test_unmatched_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
