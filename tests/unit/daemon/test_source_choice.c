/*
 * Which source is taken, why, and what is told of it; with a loader that does as the test likes.
 *
 * Linked with --wrap of the loader, the trial, the privileges and the look at the procfs.
 */
#include "daemon/source_choice.h"

#include "check.h"
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the log ---- */

static int log_end;

static void log_begin(void)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    log_end = ends[0];
    log_init(ends[1], NULL);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
}

/* What was logged since. */
static const char *log_text(void)
{
    static char text[1 << 14];
    ssize_t n = read(log_end, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void test_names(void **state)
{
    (void)state;
    for (enum source_reason r = 0; r < SOURCE_REASON_N; r++) {
        const char *name = source_reason_name(r);

        assert_non_null(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (enum source_reason other = 0; other < r; other++)
            assert_string_not_equal(name, source_reason_name(other));
    }
}

#ifdef PROCTALLY_WITH_BPF

#include "bpf/source.h"
#include "daemon/bpf_trial.h"
#include "daemon/own_procfs.h"
#include "daemon/privileges.h"

/* ---- the world ---- */

static struct {
    bool own, may_load;
    int open, trial, drop; /* errors */
    enum programs_failure failure;

    char calls[8]; /* in their order: o(pen) c(lose) t(rial), d(rop), w: drop of who walks */
    struct bpf_source *opened;
} world;

static void note(char call)
{
    size_t n = strlen(world.calls);

    assert_true(n < sizeof(world.calls) - 1);
    world.calls[n] = call;
}

bool __wrap_own_procfs(struct procfs *fs);
bool __wrap_privileges_to_load(void);
int __wrap_privileges_drop(bool walks);
int __wrap_bpf_source_open(struct bpf_source *ret, const struct task_units *units,
                           enum programs_failure *ret_failure);
void __wrap_bpf_source_close(struct bpf_source *s);
int __wrap_bpf_trial(struct bpf_source *source, struct procfs *fs, struct buf *what);

bool __wrap_own_procfs(struct procfs *fs)
{
    assert_true(fs->root >= 0);
    return world.own;
}

bool __wrap_privileges_to_load(void)
{
    return world.may_load;
}

int __wrap_privileges_drop(bool walks)
{
    note(walks ? 'w' : 'd');
    return world.drop;
}

int __wrap_bpf_source_open(struct bpf_source *ret, const struct task_units *units,
                           enum programs_failure *ret_failure)
{
    note('o');
    assert_int_equal(units->ticks_per_second, sysconf(_SC_CLK_TCK));
    assert_int_equal(units->page_size, sysconf(_SC_PAGESIZE));
    if (world.open < 0)
        *ret_failure = world.failure;
    else
        world.opened = ret;
    return world.open;
}

void __wrap_bpf_source_close(struct bpf_source *s)
{
    note('c');
    assert_ptr_equal(s, world.opened);
    world.opened = NULL;
}

int __wrap_bpf_trial(struct bpf_source *source, struct procfs *fs, struct buf *what)
{
    note('t');
    assert_ptr_equal(source, world.opened);
    assert_true(fs->live);
    if (world.trial < 0)
        buf_append_str(what, "it lies");
    return world.trial;
}

static int best_world(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.own = world.may_load = true;
    log_begin();
    return 0;
}

static int end_world(void **state)
{
    (void)state;
    assert_null(world.opened);
    log_deinit();
    close(log_end);
    return 0;
}

/* ---- choices ---- */

/* Chooses, and gives the source back. The calls up to then must be these. */
static void check_choice(enum config_source source, const char *name, enum source_reason reason,
                         const char *calls)
{
    struct config c = {.source = source, .procfs = (char *)"/proc"};
    struct source_choice choice;
    struct buf error;

    buf_init(&error, 4096);
    assert_int_equal(source_choice_make(&choice, &c, &error), 0);
    assert_int_equal(error.len, 0);
    assert_string_equal(source_choice_name(&choice), name);
    assert_string_equal(source_reason_name(choice.reason), source_reason_name(reason));
    assert_ptr_equal(choice.bpf, world.opened);
    assert_string_equal(world.calls, calls);
    source_choice_deinit(&choice);
    source_choice_deinit(&choice);
    assert_null(world.opened);
    memset(world.calls, 0, sizeof(world.calls));
    buf_deinit(&error);
}

/* What `auto` falls back for, in one line; and the error for who asked for it. */
static void check_refusal(enum source_reason reason, int r, const char *why, const char *calls)
{
    struct config c = {.source = CONFIG_SOURCE_BPF, .procfs = (char *)"/proc"};
    struct source_choice choice;
    const char *line;
    char start[128];
    struct buf error;

    check_choice(CONFIG_SOURCE_AUTO, "procfs", reason, calls);
    line = log_text();
    snprintf(start, sizeof(start),
             "level=info msg=\"the source bpf cannot be had, procfs is taken\" reason=%s error=",
             source_reason_name(reason));
    assert_int_equal(strncmp(line, start, strlen(start)), 0);
    if (!strstr(line, why))
        print_error("%s", line);
    assert_non_null(strstr(line, why));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);

    buf_init(&error, 4096);
    assert_int_equal(source_choice_make(&choice, &c, &error), r);
    buf_append_char(&error, '\0');
    assert_string_equal(world.calls, calls);
    memset(world.calls, 0, sizeof(world.calls));
    assert_int_equal(strncmp(error.data, "the source bpf cannot be had: ", 30), 0);
    assert_non_null(strstr(error.data, why));
    assert_null(strchr(error.data, '\n'));
    assert_string_equal(log_text(), "");
    buf_deinit(&error);
}

static void test_best(void **state)
{
    (void)state;
    /* Tried as it will be used: without what loading took. */
    check_choice(CONFIG_SOURCE_AUTO, "bpf", SOURCE_SELF_TEST_PASSED, "owt");
    check_choice(CONFIG_SOURCE_BPF, "bpf", SOURCE_CONFIGURED, "owt");
    assert_string_equal(log_text(), "");
}

static void test_procfs_is_asked_for(void **state)
{
    (void)state;
    check_choice(CONFIG_SOURCE_PROCFS, "procfs", SOURCE_CONFIGURED, "d");
    assert_string_equal(log_text(), "");
}

static void test_foreign_procfs(void **state)
{
    (void)state;
    world.own = false;
    check_refusal(SOURCE_FOREIGN_PROCFS, -EXDEV, "/proc is no procfs of this process'", "d");
}

static void test_no_procfs(void **state)
{
    struct config c = {.source = CONFIG_SOURCE_AUTO, .procfs = (char *)"/nonexistent/proc"};
    struct source_choice choice;
    struct buf error;

    (void)state;
    buf_init(&error, 4096);
    assert_int_equal(source_choice_make(&choice, &c, &error), 0);
    assert_null(choice.bpf);
    assert_int_equal(choice.reason, SOURCE_FOREIGN_PROCFS);
    c.source = CONFIG_SOURCE_BPF;
    assert_int_equal(source_choice_make(&choice, &c, &error), -ENOENT);
    buf_append_char(&error, '\0');
    assert_string_equal(error.data, "the source bpf cannot be had: cannot read /nonexistent/proc: "
                                    "No such file or directory");
    assert_string_equal(world.calls, "dd");
    buf_deinit(&error);
}

static void test_no_capabilities(void **state)
{
    (void)state;
    world.may_load = false;
    check_refusal(SOURCE_NOT_PERMITTED, -EPERM, "CAP_BPF and CAP_PERFMON", "d");
}

/* Where there are few, those of the cycle and of clients come first. */
static void test_few_descriptors(void **state)
{
    struct rlimit before, few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){.rlim_cur = 63, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    check_refusal(SOURCE_REFUSED, -EMFILE, "RLIMIT_NOFILE allows 63 descriptors", "d");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void test_loader_fails(void **state)
{
    static const struct {
        enum programs_failure failure;
        int error;
        enum source_reason reason;
        const char *why;
    } rows[] = {
        {PROGRAMS_DENIED, -EPERM, SOURCE_NOT_PERMITTED, "seccomp"},
        {PROGRAMS_NO_BTF, -ENOENT, SOURCE_NO_BTF, "/sys/kernel/btf/vmlinux"},
        {PROGRAMS_REFUSED, -EINVAL, SOURCE_REFUSED, "Invalid argument"},
        {PROGRAMS_NO_MEMORY, -ENOMEM, SOURCE_NO_MEMORY, "memory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        world.open = rows[i].error;
        world.failure = rows[i].failure;
        check_refusal(rows[i].reason, rows[i].error, rows[i].why, "od");
    }
}

static void test_trial_fails(void **state)
{
    (void)state;
    world.trial = -EPROTO;
    check_refusal(SOURCE_SELF_TEST_FAILED, -EPROTO, "it lies", "owtc");
}

static void test_privileges_that_stay(void **state)
{
    (void)state;
    world.drop = -EPERM;
    check_choice(CONFIG_SOURCE_AUTO, "bpf", SOURCE_SELF_TEST_PASSED, "owt");
    assert_string_equal(log_text(), "level=warn msg=\"cannot give up CAP_BPF and CAP_PERFMON\" "
                                    "error=\"Operation not permitted\"\n");
}

static void test_one_look(void **state)
{
    struct config c = {.source = CONFIG_SOURCE_AUTO};

    (void)state;
    assert_int_equal(source_choice_of_one_look(&c), SOURCE_NOT_NEEDED);
    c.source = CONFIG_SOURCE_BPF;
    assert_int_equal(source_choice_of_one_look(&c), SOURCE_NOT_NEEDED);
    c.source = CONFIG_SOURCE_PROCFS;
    assert_int_equal(source_choice_of_one_look(&c), SOURCE_CONFIGURED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_best, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_procfs_is_asked_for, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_foreign_procfs, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_no_procfs, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_no_capabilities, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_few_descriptors, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_loader_fails, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_trial_fails, best_world, end_world),
        cmocka_unit_test_setup_teardown(test_privileges_that_stay, best_world, end_world),
        cmocka_unit_test(test_one_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_not_built(void **state)
{
    struct config c = {.source = CONFIG_SOURCE_AUTO, .procfs = (char *)"/proc"};
    struct source_choice choice;
    struct buf error;

    (void)state;
    log_begin();
    buf_init(&error, 4096);
    assert_int_equal(source_choice_make(&choice, &c, &error), 0);
    assert_null(choice.bpf);
    assert_int_equal(choice.reason, SOURCE_NOT_BUILT);
    assert_int_equal(source_choice_of_one_look(&c), SOURCE_NOT_BUILT);
    assert_string_equal(source_choice_name(&choice), "procfs");
    c.source = CONFIG_SOURCE_PROCFS;
    assert_int_equal(source_choice_make(&choice, &c, &error), 0);
    assert_int_equal(choice.reason, SOURCE_CONFIGURED);
    assert_int_equal(source_choice_of_one_look(&c), SOURCE_CONFIGURED);
    source_choice_deinit(&choice);
    assert_string_equal(log_text(), "");
    buf_deinit(&error);
    log_deinit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_not_built),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
