/* Which group a process comes into by its control group, and when that is read. */
#include "placing_of_test.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void default_groups(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "-nobody", .comm = "nobody"});
    put_cgroup(h, 1, "/init.scope");
    PUT_IN(h, "/", .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    PUT_IN(h, "/system.slice/system-sshd.slice/sshd@7-1.service", .pid = 10, .comm = "sshd");
    PUT_IN(h, "/system.slice/docker-" DIGITS ".scope", .pid = 11, .comm = "app");
    PUT_IN(h, "/user.slice/user-1003.slice/session-2.scope", .pid = 12, .comm = "bash", .uid = 0);
    PUT_IN(h, "/user.slice/user-7.slice/session-2.scope", .pid = 13, .comm = "bash");
    HOST_PUT(&h->tree, .pid = 14, .comm = "loose");
    run_all(h);
    CHECK_AT(h, 1, "init");
    CHECK_AT(h, 2, "kernel");
    CHECK_AT(h, 10, "sshd@.service");
    CHECK_AT(h, 11, "container/0123456789ab");
    CHECK_AT(h, 12, "(pending)");
    CHECK_AT(h, 14, "loose");
    assert_int_equal(h->cycle.groups.n_pending, 2);
    run_all(h);
    CHECK_AT(h, 12, "user/u1003");
    CHECK_AT(h, 13, "user/7");
    assert_int_equal(h->cycle.groups.n_pending, 0);
    assert_int_equal(h->cycle.faults.count[FAULT_CGROUP][FAULT_READ], 0);
}

/* At first sight, in the next cycle, once within half a minute, and then every half minute. */
static void control_groups_by_turns(void **state)
{
    static const unsigned first_turns[] = {1, 1, 2, 3};
    static const unsigned pids[] = {16, 20, 25, 31};
    struct placing_fixture *h = *state;

    for (size_t i = 0; i < 4; i++)
        PUT_IN(h, "/a.service", .pid = pids[i], .comm = "x");
    for (unsigned cycle = 0; cycle < 12; cycle++) {
        run(h);
        for (size_t i = 0; i < 4; i++) {
            unsigned third = 1 + first_turns[i];
            unsigned expected = 1 + (cycle >= 1) + (cycle >= third ? 1 + (cycle - third) / 3 : 0);

            assert_int_equal(cgroup_reads[pids[i]], expected);
        }
    }
    /* And when the comm changes, whatever the turn. */
    for (size_t i = 0; i < 4; i++) {
        HOST_PUT(&h->tree, .pid = pids[i], .comm = "y");
        cgroup_reads[pids[i]] = 0;
    }
    run(h);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cgroup_reads[pids[i]], 1);
}

/* Services are forked first and moved afterwards. */
static void moved_after_the_fork(void **state)
{
    struct placing_fixture *h = *state;

    run(h);
    PUT_IN(h, "/", .pid = 10, .comm = "(web)", .start = 9, .user_ticks = 100);
    run(h);
    CHECK_AT(h, 10, "(web)");
    PUT_IN(h, "/system.slice/web.service", .pid = 10, .comm = "web", .start = 9, .user_ticks = 300);
    run(h);
    CHECK_AT(h, 10, "web.service");
    HOST_PUT(&h->tree, .pid = 10, .comm = "web", .start = 9, .user_ticks = 400);
    run(h);
    /* What spans the move belongs to where it was. */
    assert_int_equal(total(h, "(web)", COUNTER_CPU_USER_NS), 3 * SECOND);
    assert_int_equal(total(h, "(web)", STARTED), 1);
    assert_int_equal(total(h, "web.service", COUNTER_CPU_USER_NS), 1 * SECOND);
    assert_int_equal(total(h, "web.service", STARTED), 0);
    /* Without a file, what was known holds. */
    assert_int_equal(unlink(tree_path(&h->tree, "10/cgroup")), 0);
    for (int i = 0; i < 5; i++)
        run(h);
    CHECK_AT(h, 10, "web.service");
}

/* Version 1 shows the root for who is ending, and so does nobody else for long. */
static void ending_in_version_1(void **state)
{
    struct placing_fixture *h = *state;

    for (unsigned pid = 10; pid < 14; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = "web");
        put_cgroup_1(h, pid, "/web.service");
    }
    run(h);
    /* A zombie; its memory is being freed; it began to end since its stat was read; it was moved.
     */
    HOST_PUT(&h->tree, .pid = 10, .comm = "web", .state = 'Z');
    HOST_PUT(&h->tree, .pid = 11, .comm = "web", .state = 'D', .exiting = true);
    for (unsigned pid = 10; pid < 14; pid++)
        put_cgroup_1(h, pid, "/");
    run(h);
    for (unsigned pid = 10; pid < 14; pid++)
        CHECK_AT(h, pid, "web.service");
    HOST_PUT(&h->tree, .pid = 12, .comm = "web", .state = 'Z');
    cgroup_reads[13] = 0;
    run(h);
    assert_int_equal(cgroup_reads[13], 1);
    for (unsigned pid = 10; pid < 13; pid++)
        CHECK_AT(h, pid, "web.service");
    CHECK_AT(h, 13, "web");
    for (int i = 0; i < 5; i++)
        run(h);
    CHECK_AT(h, 10, "web.service");
    CHECK_AT(h, 13, "web");
    put_cgroup_1(h, 13, "/other.service");
    for (int i = 0; i < 4; i++)
        run(h);
    CHECK_AT(h, 13, "other.service");
    /* One that is found as a zombie has none. */
    HOST_PUT(&h->tree, .pid = 20, .comm = "late", .state = 'Z');
    put_cgroup_1(h, 20, "/");
    run(h);
    CHECK_AT(h, 20, "late");
}

/* Control groups that nobody is in any more take no memory. */
static void control_groups_are_forgotten(void **state)
{
    struct placing_fixture *h = *state;

    put_cgroup(h, 1, "/init.scope");
    for (unsigned i = 0; i < 50; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/run-%u.scope", i);
        PUT_IN(h, path, .pid = 10, .comm = "x", .start = 9 + i);
        run(h);
        assert_true(h->cycle.placing.cgroups.n_entries <= 4);
        assert_non_null(cgroups_identity(&h->cycle.placing.cgroups, process(h, 1)->origin.cgroup));
    }
    /* Of one whose stat is unreadable it is kept. */
    tree_text(&h->tree, "10/stat", "nonsense");
    for (int i = 0; i < 5; i++)
        run(h);
    assert_non_null(cgroups_identity(&h->cycle.placing.cgroups, process(h, 10)->origin.cgroup));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(default_groups),      TEST(control_groups_by_turns),      TEST(moved_after_the_fork),
        TEST(ending_in_version_1), TEST(control_groups_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
