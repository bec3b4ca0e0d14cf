/* Which group a process comes into by its user or its parent, and where there is but one page. */
#include "placing_of_test.h"

static void users_by_name(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "of-${user}", .user = "u1*"}, {.name = "number-${user}", .user = "7*"},
          {.name = "k", .user = "u1*", .comm = "kworker"});
    HOST_PUT(&h->tree, .pid = 2, .comm = "kworker", .kernel_thread = true, .uid = 1003);
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = 1003);
    HOST_PUT(&h->tree, .pid = 11, .comm = "sh", .uid = 77);
    run_all(h);
    CHECK_AT(h, 10, "(pending)");
    run_all(h);
    CHECK_AT(h, 10, "of-u1003");
    CHECK_AT(h, 11, "number-77");
    CHECK_AT(h, 2, "k");
    /* It becomes another user's. */
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = 1004);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "of-u1004");
    /* Nobody asks for names that no rule needs. */
    RULES(h, {.name = "x", .comm = "x"});
    run_all(h);
    CHECK_AT(h, 10, "sh");
}

/* While a name service hangs, the number stands for the name; when it comes, they move. */
static void name_service_that_hangs(void **state)
{
    struct placing_fixture *h = *state;
    unsigned before;

    RULES(h, {.name = "of-${user}", .user = "u1*"});
    hang_add(USERS - 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = USERS - 1);
    PUT_IN(h, "/user.slice/user-1999.slice/session-2.scope", .pid = 11, .comm = "bash");
    HOST_PUT(&h->tree, .pid = 12, .comm = "kworker", .kernel_thread = true);
    h->step_ns = 2 * SECOND;
    for (int i = 0; i < 3; i++) {
        run(h);
        CHECK_AT(h, 10, i < MEMBERSHIP_PATIENCE ? "(pending)" : "sh");
        CHECK_AT(h, 11, i < MEMBERSHIP_PATIENCE ? "(pending)" : "user/1999");
    }
    h->step_ns = 20 * SECOND;
    run(h);
    before = matches;
    run(h);
    assert_int_equal(matches, before);
    hang_end();
    users_wait(h->cycle.placing.users);
    run(h);
    /* Those whose user it is. */
    assert_true(matches > before);
    CHECK_AT(h, 10, "of-u1999");
    CHECK_AT(h, 11, "user/u1999");
}

static void families(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true});
    HOST_PUT(&h->tree, .pid = 10, .comm = "lead");
    put_texts(h, 10, "/bin/lead", "lead -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "child", .parent = 10);
    HOST_PUT(&h->tree, .pid = 12, .comm = "other");
    HOST_PUT(&h->tree, .pid = 13, .comm = "hidden", .parent = 99);
    run_all(h);
    /* This tree lists processes in any order, so who has init for a parent may wait for it. */
    CHECK_AT(h, 11, "(pending)");
    CHECK_AT(h, 13, "(pending)");
    run_all(h);
    CHECK_AT(h, 10, "web-one");
    CHECK_AT(h, 11, "web-one");
    CHECK_AT(h, 12, "other");
    CHECK_AT(h, 13, "hidden");
    /* New ones wait for nobody while its arguments are read by turns. */
    for (unsigned i = 0; i < 20; i++) {
        HOST_PUT(&h->tree, .pid = 20 + i, .comm = "new", .start = 9 + i, .parent = 10);
        run(h);
        CHECK_AT(h, 20 + i, "web-one");
    }
    settle(h, 0);
}

/* One page shows everybody where he belongs. */
static void once(void **state)
{
    struct placing_fixture *h = *state;

    cycle_close(&h->cycle);
    PUT_APP(h, "app -n one", .pid = 10, .user_ticks = 50);
    PUT_IN(h, "/user.slice/user-1003.slice/session-2.scope", .pid = 11, .comm = "bash");
    open_cycle(h, CYCLE_ONCE);
    assert_int_equal(run_until_settled(h), 2);
    CHECK_AT(h, 10, "app-one");
    CHECK_AT(h, 11, "user/u1003");
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 500000000);
    assert_int_equal(total(h, "app-one", STARTED), 1);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Also whose texts come before his parent is looked at. */
static void once_with_families(void **state)
{
    struct placing_fixture *h = *state;

    cycle_close(&h->cycle);
    for (unsigned i = 0; i < 40; i++) {
        HOST_PUT(&h->tree, .pid = 10 + i, .comm = "lead");
        put_texts(h, 10 + i, "/bin/lead", "lead -n one");
        PUT_APP(h, "app", .pid = 100 + i, .parent = 10 + i, .start = 9);
    }
    open_cycle(h, CYCLE_ONCE);
    RULES(h, {.name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true},
          app_rule);
    assert_int_equal(run_until_settled(h), 2);
    for (unsigned i = 0; i < 40; i++)
        CHECK_AT(h, 100 + i, "web-one");
}

/* With somebody who hangs it ends all the same. */
static void once_with_one_that_hangs(void **state)
{
    struct placing_fixture *h = *state;

    cycle_close(&h->cycle);
    PUT_APP(h, "app -n one", .pid = 10);
    hang_part = PART_CMDLINE;
    hang_add(10);
    open_cycle(h, CYCLE_ONCE);
    h->cycle.probe_deadline_ns = h->cycle.probes.deadline_ns = SECOND / 10;
    assert_int_equal(run_until_settled(h), 2);
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.quarantined_processes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(users_by_name), TEST(name_service_that_hangs), TEST(families),
        TEST(once),          TEST(once_with_families),      TEST(once_with_one_that_hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
