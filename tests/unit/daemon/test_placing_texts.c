/* Which group a process comes into by its texts: when they are read, waited for, and missed. */
#include "placing_of_test.h"

static void texts_decide(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    PUT_APP(h, "app -n one", .pid = 10, .start = 9, .user_ticks = 50);
    HOST_PUT(&h->tree, .pid = 11, .comm = "sh", .start = 9);
    put_texts(h, 11, "/bin/sh", "sh -n one");
    run_all(h);
    CHECK_AT(h, 10, "(pending)");
    CHECK_AT(h, 11, "sh");
    assert_int_equal(h->cycle.groups.n_pending, 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9, .user_ticks = 70);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 700000000);
    assert_int_equal(total(h, "app-one", STARTED), 1);
    /* In its second cycle as well; and of nobody whose group does not turn on it. */
    assert_int_equal(reads[10][PART_CMDLINE], 2);
    assert_int_equal(reads[10][PART_EXE], 0);
    assert_int_equal(reads[11][PART_CMDLINE], 0);
}

/* Once in 16 cycles, and rules are asked only when it is another. */
static void texts_by_turns(void **state)
{
    struct placing_fixture *h = *state;
    unsigned before;

    run_all(h);
    PUT_APP(h, "app -n one", .pid = 10, .start = 9);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    before = matches;
    reads[10][PART_CMDLINE] = 0;
    for (int i = 0; i < 64; i++)
        run_all(h);
    assert_int_equal(reads[10][PART_CMDLINE], 4);
    assert_int_equal(matches, before);
    put_texts(h, 10, "/bin/app", "app -n two");
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-two");
    assert_int_equal(matches, before + 1);
    /* A place that does not turn on them does so again after an exec. */
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .start = 9);
    run_all(h);
    CHECK_AT(h, 10, "sh");
    reads[10][PART_CMDLINE] = 0;
    for (int i = 0; i < 20; i++)
        run_all(h);
    assert_int_equal(reads[10][PART_CMDLINE], 0);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    run_all(h);
    CHECK_AT(h, 10, "sh");
    run_all(h);
    CHECK_AT(h, 10, "app-two");
}

/* What was under way when the process did its exec is of the one before, and is read again. */
static void text_from_before_an_exec(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "java-${1}", .comm = "java", .cmdline = "-n (\\w+)"});
    run_all(h);
    PUT_APP(h, "app -n one", .pid = 10, .start = 9);
    hang_part = PART_CMDLINE;
    hang_add(10);
    run(h);
    settle(h, 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "java", .start = 9);
    put_texts(h, 10, "/bin/java", "java -n two");
    h->step_ns = SECOND;
    run(h);
    CHECK_AT(h, 10, "(pending)");
    hang_end();
    settle(h, 0);
    run_all(h);
    CHECK_AT(h, 10, "java-two");
    assert_int_equal(total(h, "java-two", STARTED), 1);
    for (size_t i = 0; i < h->cycle.groups.n_order; i++)
        assert_int_equal(h->cycle.groups.groups[h->cycle.groups.order[i]].claims, 0);
}

/* A new one is grouped by what is known after two cycles at most, and does not wait for ever. */
static void who_hangs_is_grouped(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "exe-${exe}", .exe = "/opt/*"});
    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/opt/app", "app -n one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    h->step_ns = SECOND;
    for (int i = 0; i < MEMBERSHIP_PATIENCE; i++) {
        run(h);
        HANG_WAIT(hang_count(&hang_now) == 1);
        CHECK_AT(h, 10, "(pending)");
    }
    run(h);
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.quarantined_processes, 0);
    /* When it is given up, its program is known. */
    h->step_ns = 20 * SECOND;
    for (int i = 0; i < 200 && h->cycle.quarantined_processes == 0; i++)
        run(h);
    run(h);
    assert_int_equal(h->cycle.quarantined_processes, 1);
    CHECK_AT(h, 10, "exe-app");
    assert_int_equal(h->cycle.groups.n_pending, 0);
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 1);
    assert_int_equal(h->cycle.unread_processes[PART_EXE], 0);
    assert_int_equal(total(h, "app", STARTED), 1);
}

/* One that had a place by its arguments keeps it, also under new rules that look at them. */
static void who_hangs_keeps_its_place(void **state)
{
    struct placing_fixture *h = *state;

    PUT_APP(h, "app -n one", .pid = 10);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    for (int i = 0; i < 200 && h->cycle.quarantined_processes == 0; i++) {
        run(h);
        usleep(1000);
    }
    assert_int_equal(h->cycle.quarantined_processes, 1);
    CHECK_AT(h, 10, "app-one");
    RULES(h, {.name = "first", .comm = "first"}, app_rule);
    run(h);
    run(h);
    CHECK_AT(h, 10, "app-one");
    /* A new one under its pid is another. */
    hang_end();
    host_tree_take(&h->tree, 10);
    PUT_APP(h, "app -n two", .pid = 10, .start = 9);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-two");
    RULES(h, {.name = "all", .comm = "*"});
    run(h);
    CHECK_AT(h, 10, "all");
}

/* A zombie has no arguments any more, and no program. */
static void zombies_stay(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "-noise", .comm = "noise", .exe = "/bin/noise"});
    PUT_APP(h, "app -n one", .pid = 10);
    HOST_PUT(&h->tree, .pid = 11, .comm = "noise");
    put_texts(h, 11, "/bin/noise", "noise");
    /* Of this one the last reading was as of a zombie, just before it is seen as one. */
    PUT_APP(h, "app -n one", .pid = 12, .start = 9);
    run_all(h);
    run(h);
    put_texts(h, 12, NULL, "");
    while (reads[12][PART_CMDLINE] < 2)
        run_all(h);
    assert_int_equal(process(h, 12)->membership.next.standing, STANDING_MEMBER);
    for (unsigned pid = 10; pid < 13; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = pid == 11 ? "noise" : "app", .state = 'Z',
                 .start = pid == 12 ? 9 : 0);
        put_texts(h, pid, NULL, "");
    }
    /* A new one has a place by what there is. */
    HOST_PUT(&h->tree, .pid = 13, .comm = "app", .start = 9, .state = 'Z');
    memset(reads, 0, sizeof(reads));
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            RULES(h, app_rule, {.name = "-noise", .comm = "noise", .exe = "/bin/noise"});
        run_all(h);
        CHECK_AT(h, 10, "app-one");
        CHECK_AT(h, 11, "(excluded)");
        CHECK_AT(h, 12, "app-one");
        CHECK_AT(h, 13, "app");
    }
    for (unsigned pid = 10; pid < 14; pid++)
        assert_int_equal(reads[pid][PART_CMDLINE], 0);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Without descriptors for the prober a process is not kept waiting, and moves later. */
static void no_descriptor_for_texts(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    PUT_APP(h, "app -n one", .pid = 10, .start = 9);
    ask_error = -EMFILE;
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        run(h);
        CHECK_AT(h, 10, i < MEMBERSHIP_PATIENCE ? "(pending)" : "app");
    }
    ask_error = 0;
    settle(h, 0);
    run(h);
    CHECK_AT(h, 10, "app-one");
}

/* Too many hang: new ones do without, until there are threads again. */
static void no_prober_for_texts(void **state)
{
    struct placing_fixture *h = *state;

    hang_part = PART_CMDLINE;
    for (unsigned pid = 10; pid < 10 + PROBER_THREADS_MAX; pid++) {
        PUT_APP(h, "app -n one", .pid = pid);
        hang_add(pid);
    }
    for (int i = 0; i < 200 && !probes_are_off(&h->cycle.probes); i++) {
        run(h);
        usleep(5000);
        (void)cycle_between(&h->cycle, h->now.monotonic_ns);
    }
    assert_true(probes_are_off(&h->cycle.probes));
    PUT_APP(h, "app -n two", .pid = 100, .start = 9);
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        run(h);
        CHECK_AT(h, 100, i < MEMBERSHIP_PATIENCE ? "(pending)" : "app");
    }
    assert_int_equal(h->cycle.quarantined_processes, PROBER_THREADS_MAX);
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], PROBER_THREADS_MAX + 1);
    hang_end();
    hang_part = PART_N;
    HANG_WAIT(!probes_are_off(&h->cycle.probes));
    run_all(h);
    run_all(h);
    CHECK_AT(h, 100, "app-two");
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], PROBER_THREADS_MAX);
}

/* It could not be read this once: no reason to be somewhere else. */
static void text_that_cannot_be_read(void **state)
{
    struct placing_fixture *h = *state;

    PUT_APP(h, "app -n one", .pid = 10, .start = 9);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    error_part = PART_CMDLINE;
    error = -EIO;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 1);
    error_part = PART_N;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 0);
}

static void ends_undecided(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    PUT_APP(h, "app -n one", .pid = 10, .start = 9, .user_ticks = 50);
    PUT_APP(h, "app -n one", .pid = 11, .start = 9, .user_ticks = 7);
    ask_error = -EMFILE;
    run(h);
    host_tree_take(&h->tree, 10);
    ask_error = 0;
    settle(h, 0);
    host_tree_take(&h->tree, 11);
    run(h);
    assert_int_equal(total(h, "app", COUNTER_CPU_USER_NS), 500000000);
    assert_int_equal(total(h, "app", STARTED), 1);
    assert_int_equal(total(h, "app", EXITED), 1);
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 70000000);
    assert_int_equal(total(h, "app-one", EXITED), 1);
}

/* New rules that need no text, and again such that do. */
static void new_rules(void **state)
{
    struct placing_fixture *h = *state;

    PUT_APP(h, "app -n one", .pid = 10);
    hang_part = PART_CMDLINE;
    hang_add(10);
    run(h);
    CHECK_AT(h, 10, "(pending)");
    RULES(h, {.name = "plain", .comm = "app"});
    run(h);
    CHECK_AT(h, 10, "plain");
    hang_end();
    settle(h, 0);
    hang_part = PART_N;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "plain");
    assert_int_equal(reads[10][PART_CMDLINE], 1);
    RULES(h, {.name = "by-${exe}", .comm = "app"});
    run_all(h);
    CHECK_AT(h, 10, "plain");
    run_all(h);
    CHECK_AT(h, 10, "by-app");
    assert_int_equal(reads[10][PART_CMDLINE], 1);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Searches that cost too much are counted, also over new rules, and told once per rule. */
static void searches_given_up(void **state)
{
    struct placing_fixture *h = *state;
    char line[4000];
    size_t rule;

    memset(line, 'a', sizeof(line));
    memcpy(line + sizeof(line) - 2, "!", 2);
    RULES(h, {.name = "slow", .comm = "app", .cmdline = "(a+)+$"}, app_rule);
    PUT_APP(h, line, .pid = 10);
    PUT_APP(h, line, .pid = 11);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app");
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    assert_true(rules_tell_limit(&h->cycle.groups.rules, &rule));
    assert_int_equal(rule, 0);
    assert_false(rules_tell_limit(&h->cycle.groups.rules, &rule));
    for (int i = 0; i < 20; i++)
        run_all(h);
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    RULES(h, app_rule, {.name = "slow", .comm = "app", .cmdline = "(a+)+$"});
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    run_all(h);
    run_all(h);
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 4);
    assert_true(rules_tell_limit(&h->cycle.groups.rules, &rule));
    assert_int_equal(rule, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(texts_decide),
        TEST(texts_by_turns),
        TEST(text_from_before_an_exec),
        TEST(who_hangs_is_grouped),
        TEST(who_hangs_keeps_its_place),
        TEST(zombies_stay),
        TEST(no_descriptor_for_texts),
        TEST(no_prober_for_texts),
        TEST(text_that_cannot_be_read),
        TEST(ends_undecided),
        TEST(new_rules),
        TEST(searches_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
