/*
 * The two capabilities are gone, and no others, as /proc tells it.
 *
 * Linked with --wrap of uname(), to be on an older kernel.
 */
#include "daemon/privileges.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

static const uint64_t BOTH = BIT(CAP_BPF) | BIT(CAP_PERFMON);
enum { STATUS_BYTES = 16384 };

static const char *release; /* NULL: as it is */

int __real_uname(struct utsname *ret);
int __wrap_uname(struct utsname *ret);

int __wrap_uname(struct utsname *ret)
{
    int r = __real_uname(ret);

    if (r == 0 && release)
        snprintf(ret->release, sizeof(ret->release), "%s", release);
    return r;
}

struct sets {
    uint64_t inheritable, permitted, effective, bounding, ambient;
};

static uint64_t set_of(const char *status, const char *key)
{
    const char *line = strstr(status, key);

    assert_non_null(line);
    return strtoull(line + strlen(key), NULL, 16);
}

static struct sets own_sets(void)
{
    static char text[STATUS_BYTES];
    FILE *f = fopen("/proc/self/status", "re");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    return (struct sets){set_of(text, "\nCapInh:\t"), set_of(text, "\nCapPrm:\t"),
                         set_of(text, "\nCapEff:\t"), set_of(text, "\nCapBnd:\t"),
                         set_of(text, "\nCapAmb:\t")};
}

static void need_both(void)
{
    if (geteuid() == 0 && (own_sets().effective & BOTH) == BOTH)
        return;
    print_message("needs root with CAP_BPF and CAP_PERFMON\n");
    skip();
}

/* Runs the function in a process of its own: what is given up stays away. */
static void in_child(void (*function)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* In a child, where cmocka's assertions would go on with the parent's tests. */
#define MUST(condition)                                                             \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

static void raise_ambient(void)
{
    static const cap_value_t both[] = {CAP_BPF, CAP_PERFMON};
    cap_t caps = cap_get_proc();

    MUST(caps && cap_set_flag(caps, CAP_EFFECTIVE, 2, both, CAP_SET) == 0);
    MUST(cap_set_flag(caps, CAP_INHERITABLE, 2, both, CAP_SET) == 0);
    MUST(cap_set_proc(caps) == 0);
    cap_free(caps);
    MUST(cap_set_ambient(CAP_BPF, CAP_SET) == 0 && cap_set_ambient(CAP_PERFMON, CAP_SET) == 0);
}

/* ---- root ---- */

static void check_root(void)
{
    struct sets before, after;

    raise_ambient();
    before = own_sets();
    MUST(privileges_to_load());
    MUST(privileges_drop(false) == 0);
    after = own_sets();
    MUST(after.effective == (before.effective & ~BOTH));
    MUST(after.permitted == (before.permitted & ~BOTH));
    MUST(after.inheritable == (before.inheritable & ~BOTH));
    MUST(after.ambient == (before.ambient & ~BOTH) && before.ambient != after.ambient);
    MUST(after.bounding == (before.bounding & ~BOTH));
    /* Again is nothing. */
    MUST(privileges_drop(true) == 0);
    MUST(own_sets().effective == after.effective);
}

static void test_root(void **state)
{
    (void)state;
    need_both();
    in_child(check_root);
}

/* ---- a user that got these two ---- */

static void become_user_with_both(void)
{
    MUST(prctl(PR_SET_KEEPCAPS, 1) == 0);
    MUST(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    raise_ambient();
    /* From root it kept others as permitted, too. */
    {
        static const cap_value_t both[] = {CAP_BPF, CAP_PERFMON};
        cap_t caps = cap_init();

        MUST(caps && cap_set_flag(caps, CAP_EFFECTIVE, 2, both, CAP_SET) == 0);
        MUST(cap_set_flag(caps, CAP_PERMITTED, 2, both, CAP_SET) == 0);
        MUST(cap_set_flag(caps, CAP_INHERITABLE, 2, both, CAP_SET) == 0);
        MUST(cap_set_proc(caps) == 0);
        cap_free(caps);
    }
    MUST(own_sets().effective == BOTH && own_sets().ambient == BOTH);
}

static void check_user(void)
{
    struct sets after;

    become_user_with_both();
    MUST(privileges_to_load());
    MUST(privileges_drop(true) == 0);
    after = own_sets();
    MUST(after.effective == 0 && after.permitted == 0);
    MUST(after.inheritable == 0 && after.ambient == 0);
    MUST(!privileges_to_load());
}

static void check_user_of_old_kernel(void)
{
    struct sets after;

    become_user_with_both();
    MUST(privileges_drop(true) == 0);
    after = own_sets();
    MUST(after.effective == BIT(CAP_BPF) && after.permitted == BIT(CAP_BPF));
    MUST(!privileges_to_load());
    /* What walks no more keeps nothing. */
    MUST(privileges_drop(false) == 0);
    after = own_sets();
    MUST(after.effective == 0 && after.permitted == 0 && after.ambient == 0);
}

static void test_user(void **state)
{
    (void)state;
    need_both();
    release = "6.1.0-50-amd64";
    in_child(check_user);
    release = "5.10.0-33-amd64";
    in_child(check_user_of_old_kernel);
    release = NULL;
}

/* ---- a user without any ---- */

static void check_nothing_to_give_up(void)
{
    MUST(geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);
    MUST(!privileges_to_load());
    MUST(privileges_drop(true) == 0 && privileges_drop(false) == 0);
}

static void test_nothing_to_give_up(void **state)
{
    (void)state;
    in_child(check_nothing_to_give_up);
}

/* ---- kernels ---- */

static void test_releases(void **state)
{
    (void)state;
    assert_true(privileges_walks_take_bpf("4.19.0"));
    assert_true(privileges_walks_take_bpf("5.10.0-33-amd64"));
    assert_true(privileges_walks_take_bpf("5.18.19"));
    assert_false(privileges_walks_take_bpf("5.19.0"));
    assert_false(privileges_walks_take_bpf("5.19"));
    assert_false(privileges_walks_take_bpf("6.0.0"));
    assert_false(privileges_walks_take_bpf("6.18.44-x"));
    assert_false(privileges_walks_take_bpf("10.2-rc1"));
    /* What is not understood is taken for old: a walk that needs it must have it. */
    assert_true(privileges_walks_take_bpf(""));
    assert_true(privileges_walks_take_bpf("x"));
    assert_true(privileges_walks_take_bpf("6"));
    assert_true(privileges_walks_take_bpf("6."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_nothing_to_give_up),
        cmocka_unit_test(test_releases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
