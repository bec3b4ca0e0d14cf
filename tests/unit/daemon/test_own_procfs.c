/* Which procfs is the own one: the live one, of this pid namespace. */
#include "daemon/own_procfs.h"

#include "check.h"
#include "tree.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_own(const char *path)
{
    struct procfs fs;
    bool own;

    assert_int_equal(procfs_open(&fs, path, 100, 4096), 0);
    own = own_procfs(&fs);
    procfs_close(&fs);
    return own;
}

static bool is_home(const char *status)
{
    struct span text = check_copy(span_from_str(status));
    bool home = own_procfs_is_home(text, 42);

    free((char *)text.p);
    return home;
}

static void test_numbers(void **state)
{
    (void)state;
    assert_true(is_home("Name:\tx\nPid:\t42\nNSpid:\t42\nNSpgid:\t42\t1\n"));
    assert_true(is_home("NSpid:\t42"));
    /* Of a namespace within that of the mount, by whatever number there. */
    assert_false(is_home("Name:\tx\nNSpid:\t42\t7\n"));
    assert_false(is_home("Name:\tx\nNSpid:\t42\t42\n"));
    assert_false(is_home("NSpid:\t7\n"));
    assert_false(is_home("NSpid:\t\n"));
    assert_false(is_home("NSpid:\n"));
    assert_false(is_home("NSpid:\t-42\n"));
    /* Nobody is in another one where there are none. */
    assert_true(is_home("Name:\tx\nPid:\t42\n"));
    assert_true(is_home(""));
}

static void test_own(void **state)
{
    (void)state;
    assert_true(is_own("/proc"));
    assert_false(is_own("/"));
}

static void test_tree_of_files(void **state)
{
    char pid[16];
    struct tree t;

    (void)state;
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    tree_new(&t);
    tree_dir(&t, "1");
    tree_text(&t, "1/stat", "1 (x) S\n");
    tree_link(&t, "self", pid);
    assert_false(is_own(t.root));
    tree_free(&t);
}

/* The mount of the namespace above knows a process of one within by another number. */
static void test_mount_of_another_namespace(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        pid_t within;

        if (unshare(CLONE_NEWPID) < 0)
            _exit(77);
        within = fork();
        if (within == 0)
            _exit(is_own("/proc") ? 1 : 0);
        _exit(waitpid(within, &status, 0) == within && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == W_EXITCODE(77, 0)) {
        print_message("no pid namespace can be made here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_tree_of_files),
        cmocka_unit_test(test_mount_of_another_namespace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
