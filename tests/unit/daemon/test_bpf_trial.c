/*
 * What a source has to tell to be believed, with one that lies.
 *
 * Linked with --wrap of what the trial asks of the source.
 */
#include "daemon/bpf_trial.h"

#include "bpf/source.h"
#include "check.h"
#include "daemon/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the source ---- */

/* What the fake one tells. */
static struct {
    unsigned drains_before_end; /* UINT_MAX: never told */
    unsigned untold, children;  /* the first ones that are never told, and how many there were */
    uint32_t status;
    unsigned drains;
    struct process_ended ended[3];
    size_t told;
    bool forgotten; /* all that were told */

    int begin, next; /* errors */
    unsigned walks;
    unsigned walks_before_growth; /* the first ones tell of a process that was smaller */
    struct sample list[3];
    size_t n, at;
    bool walked_to_its_end;
} fake;

static pid_t last_child;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
void __wrap_bpf_source_drain(struct bpf_source *s, uint64_t now_ns);
const struct process_ended *__wrap_bpf_source_ended(struct bpf_source *s, size_t *ret_n);
void __wrap_bpf_source_ends_counted(struct bpf_source *s, size_t n);
int __wrap_bpf_source_begin(struct bpf_source *s);
int __wrap_bpf_source_next(struct bpf_source *s, struct sample *ret,
                           struct task_cgroup *ret_cgroup);
void __wrap_bpf_source_end(struct bpf_source *s);

pid_t __wrap_fork(void)
{
    last_child = __real_fork();
    fake.children++;
    return last_child;
}

void __wrap_bpf_source_drain(struct bpf_source *s, uint64_t now_ns)
{
    (void)s;
    assert_true(now_ns > 0);
    fake.drains++;
}

/* The one that is looked for is between others. */
const struct process_ended *__wrap_bpf_source_ended(struct bpf_source *s, size_t *ret_n)
{
    (void)s;
    fake.ended[0].end.task.head.pid = (uint32_t)last_child + 1;
    fake.ended[1].end.task.head.pid = (uint32_t)last_child;
    fake.ended[1].end.status = fake.status;
    fake.ended[2].end.task.head.pid = (uint32_t)last_child + 2;
    fake.told = fake.children > fake.untold && fake.drains > fake.drains_before_end ? 3 : 1;
    *ret_n = fake.told;
    return fake.ended;
}

void __wrap_bpf_source_ends_counted(struct bpf_source *s, size_t n)
{
    (void)s;
    fake.forgotten = n == fake.told;
}

int __wrap_bpf_source_begin(struct bpf_source *s)
{
    (void)s;
    fake.at = 0;
    fake.walks++;
    return fake.begin;
}

int __wrap_bpf_source_next(struct bpf_source *s, struct sample *ret, struct task_cgroup *ret_cgroup)
{
    (void)s;
    *ret_cgroup = (struct task_cgroup){.id = 1, .set = 1};
    if (fake.at < fake.n) {
        *ret = fake.list[fake.at++];
        if (fake.walks <= fake.walks_before_growth)
            ret->gauge[GAUGE_RESIDENT_ANON_BYTES] /= 4;
        return 1;
    }
    return fake.next;
}

void __wrap_bpf_source_end(struct bpf_source *s)
{
    (void)s;
    fake.walked_to_its_end = true;
}

/* ---- a trial ---- */

struct judged {
    int r;
    struct buf what;
};

static struct judged judge(void)
{
    struct bpf_source source = {0};
    struct judged j;
    struct procfs fs;

    buf_init(&j.what, 4096);
    assert_int_equal(
        procfs_open(&fs, "/proc", (uint32_t)sysconf(_SC_CLK_TCK), (uint32_t)sysconf(_SC_PAGESIZE)),
        0);
    j.r = bpf_trial(&source, &fs, &j.what);
    procfs_close(&fs);
    assert_true(fake.forgotten);
    return j;
}

static void must_pass(void)
{
    struct judged j = judge();

    if (j.r < 0)
        print_error("%.*s\n", (int)j.what.len, j.what.data);
    assert_int_equal(j.r, 0);
    assert_int_equal(j.what.len, 0);
    buf_deinit(&j.what);
}

static void must_fail(int r, const char *what)
{
    struct judged j = judge();

    assert_int_equal(j.r, r);
    buf_append_char(&j.what, '\0');
    if (!strstr(j.what.data, what))
        print_error("%s\n", j.what.data);
    assert_non_null(strstr(j.what.data, what));
    assert_null(strchr(j.what.data, '\n'));
    buf_deinit(&j.what);
}

/* As /proc tells of this process. */
static struct sample own(void)
{
    struct sample s = {.identity.pid = (uint32_t)getpid()};
    FILE *f = fopen("/proc/self/stat", "re");
    unsigned long long start, pages;
    char text[1024];
    const char *p;

    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    p = strrchr(text, ')');
    assert_int_equal(
        sscanf(p + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%llu %*u %llu",
               &start, &pages),
        2);
    s.identity.start_ticks = start;
    sample_set_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, pages * (uint64_t)sysconf(_SC_PAGESIZE));
    sample_set_gauge(&s, GAUGE_RESIDENT_FILE_BYTES, 0);
    sample_set_gauge(&s, GAUGE_RESIDENT_SHMEM_BYTES, 0);
    return s;
}

static int tell_the_truth(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.status = W_EXITCODE(42, 0);
    fake.list[0] = (struct sample){.identity = {.pid = 1, .start_ticks = 3}};
    fake.list[1] = own();
    fake.list[2] = (struct sample){.identity = {.pid = 4194305, .start_ticks = 5}};
    fake.n = 3;
    return 0;
}

static void test_truth(void **state)
{
    (void)state;
    must_pass();
    assert_true(fake.walked_to_its_end);
    /* The kernel takes its time. */
    tell_the_truth(NULL);
    fake.drains_before_end = 20;
    must_pass();
    assert_int_equal(fake.drains, 21);
}

/* As the daemon has it: the kernel waits for its children. */
static void test_ignored_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    must_pass();
    signal(SIGCHLD, SIG_DFL);
}

static void test_end_is_not_told(void **state)
{
    uint64_t begin_ns = clock_monotonic_ns(), ns;

    (void)state;
    fake.drains_before_end = UINT32_MAX;
    must_fail(-EPROTO, "the end of a child is not told");
    ns = clock_monotonic_ns() - begin_ns;
    assert_true(ns >= 4000000000u && ns < 20000000000u);
    assert_int_equal(fake.children, 2);
}

/* Of one the kernel may not tell. */
static void test_one_end_is_not_told(void **state)
{
    (void)state;
    fake.untold = 1;
    must_pass();
    assert_int_equal(fake.children, 2);
}

static void test_other_status(void **state)
{
    (void)state;
    fake.status = 0;
    must_fail(-EPROTO, "0x0 in place of 0x2a00");
    fake.status = SIGKILL;
    must_fail(-EPROTO, "0x9 in place of 0x2a00");
}

static void test_walks(void **state)
{
    (void)state;
    fake.begin = -EPERM;
    must_fail(-EPERM, "cannot walk to this process: Operation not permitted");
    tell_the_truth(NULL);
    fake.next = -EBADMSG;
    must_fail(-EBADMSG, "cannot walk to this process: Bad message");
    assert_true(fake.walked_to_its_end);
    tell_the_truth(NULL);
    fake.n = 1;
    must_fail(-EPROTO, "a walk tells of this process 0 times");
    tell_the_truth(NULL);
    fake.list[2] = fake.list[1];
    must_fail(-EPROTO, "a walk tells of this process 2 times");
}

static void test_start(void **state)
{
    (void)state;
    fake.list[1].identity.start_ticks++;
    must_fail(-EPROTO, "time namespace");
    fake.list[1].identity.start_ticks -= 2;
    must_fail(-EPROTO, "time namespace");
}

static void test_memory(void **state)
{
    (void)state;
    fake.list[1].gauge[GAUGE_RESIDENT_ANON_BYTES] += UINT64_C(1) << 30;
    must_fail(-EPROTO, "bytes of memory");
    fake.list[1].gauge[GAUGE_RESIDENT_ANON_BYTES] = 0;
    must_fail(-EPROTO, " 0 bytes of memory");
    /* On more CPUs than it adds up it says nothing, and that is no lie. */
    fake.list[1].have_gauges = 0;
    must_pass();
}

/* ---- the comparison ---- */

static struct sample of(uint64_t start, uint64_t anon, uint64_t file, uint64_t shmem)
{
    struct sample s = {.identity = {.pid = 1, .start_ticks = start}};

    sample_set_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, anon);
    sample_set_gauge(&s, GAUGE_RESIDENT_FILE_BYTES, file);
    sample_set_gauge(&s, GAUGE_RESIDENT_SHMEM_BYTES, shmem);
    return s;
}

static bool agree(struct sample walked, struct sample read, uint64_t slack)
{
    struct buf what;
    bool agrees;

    buf_init(&what, 4096);
    agrees = bpf_trial_agrees(&walked, &read, slack, &what);
    assert_int_equal(agrees, what.len == 0);
    buf_deinit(&what);
    return agrees;
}

static void test_comparison(void **state)
{
    (void)state;
    assert_true(agree(of(7, 100, 20, 3), of(7, 100, 20, 3), 0));
    /* The sum counts: kinds are told apart by older kernels in other ways. */
    assert_true(agree(of(7, 100, 20, 3), of(7, 3, 100, 20), 0));
    assert_false(agree(of(8, 100, 20, 3), of(7, 100, 20, 3), 0));
    assert_true(agree(of(7, 110, 0, 0), of(7, 100, 0, 0), 10));
    assert_true(agree(of(7, 90, 0, 0), of(7, 100, 0, 0), 10));
    assert_false(agree(of(7, 111, 0, 0), of(7, 100, 0, 0), 10));
    assert_false(agree(of(7, 89, 0, 0), of(7, 100, 0, 0), 10));
    /* None is never right, however little there is. */
    assert_false(agree(of(7, 0, 0, 0), of(7, 5, 0, 0), 10));
}

/* Its own memory grows while it walks: what was told is what it had, but once it has enough. */
static void test_grows_meanwhile(void **state)
{
    (void)state;
    fake.walks_before_growth = 2;
    must_pass();
    assert_int_equal(fake.walks, 3);
    tell_the_truth(NULL);
    fake.walks_before_growth = 3;
    must_fail(-EPROTO, "bytes of memory");
    assert_int_equal(fake.walks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_truth, tell_the_truth),
        cmocka_unit_test_setup(test_ignored_children, tell_the_truth),
        cmocka_unit_test_setup(test_end_is_not_told, tell_the_truth),
        cmocka_unit_test_setup(test_one_end_is_not_told, tell_the_truth),
        cmocka_unit_test_setup(test_other_status, tell_the_truth),
        cmocka_unit_test_setup(test_walks, tell_the_truth),
        cmocka_unit_test_setup(test_start, tell_the_truth),
        cmocka_unit_test_setup(test_memory, tell_the_truth),
        cmocka_unit_test_setup(test_grows_meanwhile, tell_the_truth),
        cmocka_unit_test(test_comparison),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
