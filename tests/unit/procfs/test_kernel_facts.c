/*
 * What the readers take for granted about the kernel, held against the one that runs. Where
 * there is no live procfs, or the kernel is older than a fact, the test is skipped and says so.
 */
#include "procfs/boot_time.h"
#include "procfs/host_read.h"
#include "procfs/probe.h"
#include "procfs/process.h"
#include "procfs/task.h"

#include "model/parts.h"
#include "tree.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

static struct procfs fs;
static struct faults faults;
static struct sample sample;

static void need(bool fact, const char *what)
{
    if (fact)
        return;
    print_message("skipped: %s\n", what);
    skip();
}

static int open_proc(void **state)
{
    (void)state;
    faults = (struct faults){0};
    return procfs_open(&fs, "/proc", (uint32_t)sysconf(_SC_CLK_TCK),
                       (uint32_t)sysconf(_SC_PAGESIZE));
}

static int close_proc(void **state)
{
    (void)state;
    process_end(&fs);
    procfs_close(&fs);
    return 0;
}

static bool kernel_is(int major_wanted, int minor_wanted)
{
    struct utsname u;
    int have_major = 0, have_minor = 0;

    uname(&u);
    sscanf(u.release, "%d.%d", &have_major, &have_minor);
    return have_major > major_wanted || (have_major == major_wanted && have_minor >= minor_wanted);
}

static void need_own_pid(void)
{
    need(fs.live, "/proc is no procfs");
    need(process_begin(&fs, (uint32_t)getpid(), &faults, &sample) == 0,
         "/proc has another pid namespace");
}

static void size_of_fd_is_the_count(void **state)
{
    (void)state;
    need_own_pid();
    need(kernel_is(6, 2), "st_size of fd is the count since 6.2");
    assert_true(fs.fd_count_in_size);
}

static void stat_comes_in_one_read(void **state)
{
    char text[4096], rest[16];
    int fd = open("/proc/self/stat", O_RDONLY);
    ssize_t n;

    (void)state;
    need(fd >= 0, "no /proc/self/stat");
    n = read(fd, text, sizeof(text));
    assert_true(n > 0 && n < (ssize_t)sizeof(text));
    assert_int_equal(text[n - 1], '\n');
    assert_int_equal(read(fd, rest, sizeof(rest)), 0);
    close(fd);
}

static void own_numbers(void **state)
{
    struct rlimit limit;
    struct rusage usage;
    uint64_t user_ns;

    (void)state;
    need_own_pid();
    assert_int_equal(process_read(&fs, UINT32_MAX, &faults, &sample), 0);
    assert_int_equal(sample.identity.pid, getpid());
    assert_int_equal(sample.parent_pid, getppid());
    check_span(span_of(sample.comm, sample.comm_len), "test_kernel_fac");
    assert_int_equal(sample.state, STATE_RUNNING);
    assert_true(sample.have_uid);
    assert_int_equal(sample.uid, geteuid());
    assert_int_equal(sample.gauge[GAUGE_THREADS], 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(sample.gauge[GAUGE_OPEN_FDS_LIMIT], limit.rlim_cur);
    assert_true(sample.gauge[GAUGE_VIRTUAL_BYTES] > sample.gauge[GAUGE_RESIDENT_FILE_BYTES]);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    user_ns =
        (uint64_t)usage.ru_utime.tv_sec * 1000000000u + (uint64_t)usage.ru_utime.tv_usec * 1000u;
    assert_true(sample.counter[COUNTER_CPU_USER_NS] <= user_ns + 20000000);
    assert_true(sample.counter[COUNTER_MINOR_FAULTS] <= (uint64_t)usage.ru_minflt);
}

/* An mmap that is touched shows as anonymous memory, to the page. */
static void touched_memory(void **state)
{
    enum { SIZE = 64 << 20 };
    uint64_t before, after;
    char *p;

    (void)state;
    need_own_pid();
    need(kernel_is(4, 5), "RssAnon since 4.5");
    assert_int_equal(process_read(&fs, part_bit(PART_STATUS), &faults, &sample), 0);
    before = sample.gauge[GAUGE_RESIDENT_ANON_BYTES];
    p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    memset(p, 1, SIZE);
    assert_int_equal(process_begin(&fs, (uint32_t)getpid(), &faults, &sample), 0);
    assert_int_equal(process_read(&fs, part_bit(PART_STATUS), &faults, &sample), 0);
    after = sample.gauge[GAUGE_RESIDENT_ANON_BYTES];
    munmap(p, SIZE);
    /* The kernel's counters lag by up to 64 pages per thread, or a batch per CPU since 6.2. */
    assert_in_range(after - before, SIZE - (16 << 20), SIZE + (16 << 20));
}

static void a_kernel_thread(void **state)
{
    (void)state;
    need(fs.live, "/proc is no procfs");
    need(process_begin(&fs, 2, &faults, &sample) == 0 && sample.kernel_thread,
         "no kernel thread is seen");
    assert_int_equal(process_read(&fs, UINT32_MAX & ~part_bit(PART_IO), &faults, &sample), 0);
    check_span(span_of(sample.comm, sample.comm_len), "kthreadd");
    assert_int_equal(sample.gauge[GAUGE_VIRTUAL_BYTES], 0);
    assert_int_equal(sample.gauge[GAUGE_RESIDENT_ANON_BYTES], 0);
    assert_int_equal(sample.gauge[GAUGE_PROPORTIONAL_BYTES], 0);
    assert_true(sample_has_gauge(&sample, GAUGE_MAPPINGS));
}

static void a_zombie(void **state)
{
    pid_t child;
    siginfo_t info;

    (void)state;
    need_own_pid();
    child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_begin(&fs, (uint32_t)child, &faults, &sample), 0);
    assert_int_equal(process_read(&fs, UINT32_MAX & ~part_bit(PART_IO), &faults, &sample), 0);
    assert_int_equal(sample.state, STATE_ZOMBIE);
    assert_false(sample.exited_leader);
    assert_int_equal(sample.gauge[GAUGE_RESIDENT_ANON_BYTES], 0);
    assert_true(sample_has_gauge(&sample, GAUGE_RESIDENT_ANON_BYTES));
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* The directory is held; what was in it is not, and no successor's either. */
    sample.have_counters = 0;
    assert_int_equal(process_read(&fs, part_bit(PART_IO), &faults, &sample), 0);
    assert_int_equal(sample.have_counters, 0);
    assert_int_equal(process_begin(&fs, (uint32_t)child, &faults, &sample), PROCESS_GONE);
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void leave_threads_behind(void)
{
    pthread_t thread;

    /* Should the test fail, nobody else ends it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
            _exit(1);
    pthread_exit(NULL);
}

static void an_exited_leader(void **state)
{
    const struct timespec pause_time = {0, 10000000};
    pid_t child;
    int r = -1;

    (void)state;
    need_own_pid();
    child = fork();
    if (child == 0)
        leave_threads_behind();
    /* Until the threads that were left have gone to sleep. */
    for (int i = 0; i < 500 && !(r == 0 && sample.exited_leader && sample.state == STATE_SLEEPING);
         i++) {
        nanosleep(&pause_time, NULL);
        r = process_begin(&fs, (uint32_t)child, &faults, &sample);
    }
    assert_int_equal(r, 0);
    assert_true(sample.exited_leader);
    assert_int_equal(process_read(&fs, part_bit(PART_STATUS) | part_bit(PART_FD), &faults, &sample),
                     0);
    assert_int_equal(probe_read(&fs, process_memory_dir(&fs), PART_MAPS, &sample, NULL), 0);
    assert_int_equal(sample.state, STATE_SLEEPING);
    assert_int_equal(sample.identity.pid, child);
    assert_int_equal(sample.gauge[GAUGE_THREADS], 3);
    assert_true(sample.gauge[GAUGE_VIRTUAL_BYTES] > 0);
    assert_true(sample.gauge[GAUGE_RESIDENT_ANON_BYTES] > 0);
    assert_true(sample.gauge[GAUGE_OPEN_FDS] > 0);
    assert_true(sample.gauge[GAUGE_MAPPINGS] > 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A process' switches are the sums over its threads: here there is one. */
static void threads_add_up(void **state)
{
    const struct timespec pause_time = {0, 1000000};
    uint64_t voluntary = 0, involuntary = 0;
    struct thread_sample s;
    struct rusage before, after;
    struct task task;
    unsigned n = 0;

    (void)state;
    need_own_pid();
    for (int i = 0; i < 5; i++)
        nanosleep(&pause_time, NULL);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(task_open(&fs, &faults, &task), 0);
    for (; task_next(&fs, &task, UINT32_MAX, &faults, &s) == TASK_THREAD; n++) {
        assert_int_equal(s.tid, getpid());
        assert_int_equal(s.start_ticks, sample.identity.start_ticks);
        check_span(span_of(s.comm, s.comm_len), "test_kernel_fac");
        voluntary += s.counter[THREAD_VOLUNTARY_SWITCHES];
        involuntary += s.counter[THREAD_INVOLUNTARY_SWITCHES];
    }
    task_close(&task);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(n, 1);
    assert_int_equal(s.have | 1u << THREAD_RUN_QUEUE_NS, (1u << THREAD_COUNTER_N) - 1);
    assert_true((uint64_t)before.ru_nvcsw >= 5);
    assert_in_range(voluntary, (uint64_t)before.ru_nvcsw, (uint64_t)after.ru_nvcsw);
    assert_in_range(involuntary, (uint64_t)before.ru_nivcsw, (uint64_t)after.ru_nivcsw);
}

static void the_host(void **state)
{
    struct boot_time boot = {0};
    struct timespec up, now;
    struct host h;

    (void)state;
    need(fs.live, "/proc is no procfs");
    assert_int_equal(host_read(&fs, UINT32_MAX, &faults, &h), 0);
    assert_true(host_has(&h, HOST_BOOT_TIME_SECONDS));
    assert_true(host_has(&h, HOST_PID_MAX));
    assert_in_range(h.field[HOST_TASKS], 1, 5000000);
    assert_int_equal(h.cpu.columns, CPU_MODE_N);
    assert_int_equal(h.softirqs, SOFTIRQ_N);
    assert_int_equal(h.n_cpus, sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(boot_time_read(&boot, &fs), 0);
    clock_gettime(CLOCK_BOOTTIME, &up);
    clock_gettime(CLOCK_REALTIME, &now);
    assert_in_range(boot.seconds, (uint64_t)(now.tv_sec - up.tv_sec) - 2,
                    (uint64_t)(now.tv_sec - up.tv_sec) + 2);
}

/* Start time and boot time together give when this test began. */
static void own_start(void **state)
{
    struct boot_time boot = {0};
    uint64_t start;

    (void)state;
    need_own_pid();
    assert_int_equal(boot_time_read(&boot, &fs), 0);
    start = boot.seconds + sample.identity.start_ticks / fs.ticks_per_second;
    assert_in_range(start, (uint64_t)time(NULL) - 300, (uint64_t)time(NULL) + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_proc, close_proc)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(size_of_fd_is_the_count),
        TEST(stat_comes_in_one_read),
        TEST(own_numbers),
        TEST(touched_memory),
        TEST(a_kernel_thread),
        TEST(a_zombie),
        TEST(an_exited_leader),
        TEST(threads_add_up),
        TEST(the_host),
        TEST(own_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
