/* The threads of a process: which are there, which are skipped, and what counts as a fault. */
#include "procfs/process.h"
#include "procfs/task.h"

#include "inject.h"
#include "tree.h"

#include <sys/resource.h>

#define BIT(n) (UINT32_C(1) << (n))

static const uint32_t all = BIT(THREAD_COUNTER_N) - 1;

enum { PID = 10 };

struct fixture {
    struct tree tree;
    struct procfs fs;
    struct faults faults;
    struct sample process;
    struct task task;
    struct thread_sample sample;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    tree_new(&f->tree);
    tree_pid(&f->tree, PID, "stat", "%s",
             "10 (app) S 7 0 0 0 -1 0 1 0 2 0 3 4 0 0 20 0 2 0 5000 8192 5 0\n");
    assert_int_equal(procfs_open(&f->fs, f->tree.root, 100, 4096), 0);
    memset(&f->sample, 0xff, sizeof(f->sample));
    f->task.fd = -1;
    inject_read = inject_getdents = (struct inject){0};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    task_close(&f->task);
    process_end(&f->fs);
    procfs_close(&f->fs);
    tree_free(&f->tree);
    free(f);
    return 0;
}

static void write_thread(struct fixture *f, unsigned tid, const char *comm)
{
    char name[64];

    snprintf(name, sizeof(name), "task/%u/stat", tid);
    tree_pid(&f->tree, PID, name, "%u (%s) S 7 0 0 0 -1 0 1 0 2 0 %u 40 0 0 20 0 2 0 %u 8192 5 0\n",
             tid, comm, 100 * tid, 5000 + tid);
    snprintf(name, sizeof(name), "task/%u/status", tid);
    tree_pid(&f->tree, PID, name,
             "Name:\tx\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n",
             1000 + tid, 2000 + tid);
    snprintf(name, sizeof(name), "task/%u/schedstat", tid);
    tree_pid(&f->tree, PID, name, "9 %u 1\n", 3000 + tid);
}

static void begin(struct fixture *f)
{
    assert_int_equal(process_begin(&f->fs, PID, &f->faults, &f->process), 0);
    assert_int_equal(task_open(&f->fs, &f->faults, &f->task), 0);
}

/* How many threads there are; the last one is in the sample. `end` is what ended it. */
static unsigned count(struct fixture *f, uint32_t counters, int end)
{
    unsigned n = 0;
    int r;

    begin(f);
    while ((r = task_next(&f->fs, &f->task, counters, &f->faults, &f->sample)) == TASK_THREAD)
        n++;
    assert_int_equal(r, end);
    task_close(&f->task);
    return n;
}

static uint64_t faults_in_all(const struct fixture *f)
{
    uint64_t n = 0;

    for (int i = 0; i < FAULT_FILE_N; i++)
        for (int j = 0; j < FAULT_REASON_N; j++)
            n += f->faults.count[i][j];
    return n;
}

static void all_of_one_thread(void **state)
{
    struct fixture *f = *state;

    write_thread(f, PID, "a) (b");
    begin(f);
    assert_int_equal(task_next(&f->fs, &f->task, all, &f->faults, &f->sample), TASK_THREAD);
    assert_int_equal(f->sample.tid, PID);
    assert_int_equal(f->sample.start_ticks, 5000 + PID);
    check_span(span_of(f->sample.comm, f->sample.comm_len), "a) (b");
    assert_int_equal(f->sample.have, all);
    assert_int_equal(f->sample.counter[THREAD_CPU_USER_NS], 100 * PID * UINT64_C(10000000));
    assert_int_equal(f->sample.counter[THREAD_CPU_SYSTEM_NS], 40 * UINT64_C(10000000));
    assert_int_equal(f->sample.counter[THREAD_VOLUNTARY_SWITCHES], 1000 + PID);
    assert_int_equal(f->sample.counter[THREAD_INVOLUNTARY_SWITCHES], 2000 + PID);
    assert_int_equal(f->sample.counter[THREAD_RUN_QUEUE_NS], 3000 + PID);
    assert_int_equal(task_next(&f->fs, &f->task, all, &f->faults, &f->sample), TASK_END);
    assert_int_equal(faults_in_all(f), 0);
}

/* Files that are not asked for are not opened: one that cannot be read is no fault then. */
static void what_is_not_wanted_is_not_read(void **state)
{
    struct fixture *f = *state;

    write_thread(f, PID, "x");
    tree_pid(&f->tree, PID, "task/10/schedstat", "%s", "nonsense\n");
    assert_int_equal(count(f, all & ~BIT(THREAD_RUN_QUEUE_NS), TASK_END), 1);
    assert_int_equal(f->sample.have, all & ~BIT(THREAD_RUN_QUEUE_NS));
    assert_int_equal(faults_in_all(f), 0);
    tree_pid(&f->tree, PID, "task/10/status", "%s", "voluntary_ctxt_switches: x\n");
    assert_int_equal(count(f, BIT(THREAD_CPU_USER_NS), TASK_END), 1);
    assert_int_equal(f->sample.have, BIT(THREAD_CPU_USER_NS) | BIT(THREAD_CPU_SYSTEM_NS));
    assert_int_equal(faults_in_all(f), 0);
}

static void many_threads(void **state)
{
    struct fixture *f = *state;

    for (unsigned tid = PID; tid < PID + 300; tid++) {
        char name[64];

        snprintf(name, sizeof(name), "task/%u/stat", tid);
        tree_pid(&f->tree, PID, name, "%u (w) S 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 4096 0 0\n",
                 tid);
    }
    assert_int_equal(count(f, BIT(THREAD_CPU_USER_NS), TASK_END), 300);
    assert_int_equal(faults_in_all(f), 0);
}

/* Its directory or its stat are gone, or empty: it has ended meanwhile. */
static void a_thread_that_vanished(void **state)
{
    struct fixture *f = *state;

    tree_dir(&f->tree, "10/task");
    tree_dir(&f->tree, "10/task/11");
    write_thread(f, 12, "x");
    tree_pid(&f->tree, PID, "task/13/stat", "%s", "");
    tree_dir(&f->tree, "10/task/nobody");
    write_thread(f, 14, "x");
    assert_int_equal(count(f, all, TASK_END), 2);
    inject_read = (struct inject){.name = "12/stat", .error = ESRCH, .times = 1};
    assert_int_equal(count(f, all, TASK_END), 1);
    assert_int_equal(f->sample.tid, 14);
    assert_int_equal(faults_in_all(f), 0);
}

/* Without a file a thread is there all the same; one that is refused or no text is counted. */
static void files_that_are_missing(void **state)
{
    struct fixture *f = *state;

    write_thread(f, PID, "x");
    assert_int_equal(unlink(tree_path(&f->tree, "10/task/10/schedstat")), 0);
    assert_int_equal(count(f, all, TASK_END), 1);
    assert_int_equal(f->sample.have, all & ~BIT(THREAD_RUN_QUEUE_NS));
    assert_int_equal(faults_in_all(f), 0);
    inject_read = (struct inject){.name = "10/status", .error = EACCES, .times = 1};
    assert_int_equal(count(f, all, TASK_END), 1);
    assert_int_equal(f->sample.have, BIT(THREAD_CPU_USER_NS) | BIT(THREAD_CPU_SYSTEM_NS));
    assert_int_equal(f->faults.count[FAULT_TASK][FAULT_PERMISSION], 1);
    tree_pid(&f->tree, PID, "task/10/schedstat", "%s", "1 2\n");
    assert_int_equal(count(f, all, TASK_END), 1);
    assert_int_equal(f->faults.count[FAULT_TASK][FAULT_MALFORMED], 1);
    tree_pid(&f->tree, PID, "task/10/stat", "%s", "10 (x) S");
    assert_int_equal(count(f, all, TASK_END), 0);
    assert_int_equal(f->faults.count[FAULT_TASK][FAULT_MALFORMED], 2);
    assert_int_equal(faults_in_all(f), 3);
}

static void a_list_that_cannot_be_read(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(process_begin(&f->fs, PID, &f->faults, &f->process), 0);
    assert_int_equal(task_open(&f->fs, &f->faults, &f->task), TASK_UNREADABLE);
    task_close(&f->task);
    assert_int_equal(faults_in_all(f), 0);
    write_thread(f, PID, "x");
    inject_getdents = (struct inject){.name = "task", .error = EIO, .times = 1};
    assert_int_equal(count(f, all, TASK_UNREADABLE), 0);
    assert_int_equal(f->faults.count[FAULT_TASK][FAULT_READ], 1);
    /* The process has ended meanwhile. */
    inject_getdents = (struct inject){.name = "task", .error = ENOENT, .times = 1};
    assert_int_equal(count(f, all, TASK_UNREADABLE), 0);
    assert_int_equal(faults_in_all(f), 1);
}

/* No descriptor left: that fails the cycle and is no fault of the process. */
static void our_own_trouble(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, none;
    int lowest;

    write_thread(f, PID, "x");
    begin(f);
    lowest = open("/dev/null", O_RDONLY);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 2; more++) {
        none = before;
        none.rlim_cur = (rlim_t)(lowest + more);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(task_next(&f->fs, &f->task, all, &f->faults, &f->sample), -EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        task_close(&f->task);
        begin(f);
    }
    assert_int_equal(faults_in_all(f), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_of_one_thread),      TEST(what_is_not_wanted_is_not_read),
        TEST(many_threads),           TEST(a_thread_that_vanished),
        TEST(files_that_are_missing), TEST(a_list_that_cannot_be_read),
        TEST(our_own_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
