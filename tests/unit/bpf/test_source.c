/*
 * Walks: processes as the kernel that runs counts them, held against what /proc says of the same
 * ones.
 */
#include "source_of_test.h"

#include <sys/vfs.h>

static void this_process(void **state)
{
    struct sample s, proc;

    (void)state;
    assert_int_equal(look_for((uint32_t)getpid(), &s, NULL), 1);
    read_proc(getpid(), &proc);
    assert_null(differs_in_identity(&s, &proc));
    assert_int_equal(s.state, STATE_RUNNING);
    check_span(span_of(s.comm, s.comm_len), "test_source");
    assert_int_equal(s.parent_pid, getppid());
    assert_int_equal(s.uid, geteuid());
    assert_int_equal(s.gauge[GAUGE_THREADS], proc.gauge[GAUGE_THREADS]);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], proc.gauge[GAUGE_OPEN_FDS_LIMIT]);
    assert_true(s.cpu_runtime_ns > 0 && s.cpu_runtime_ns <= proc.cpu_runtime_ns);
}

/* As the directory of its control group has it for a number. */
static void control_group(void **state)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char line[4096], path[8192] = "";
    struct statfs system;
    struct sample s;
    struct task_cgroup cgroup;
    struct stat st;
    FILE *f = fopen("/proc/self/cgroup", "r");

    (void)state;
    live_need(f != NULL, "no /proc/self/cgroup");
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; strncmp(line, "0::", 3) == 0 && i < 2; i++)
            if (statfs(mounts[i], &system) == 0 && system.f_type == 0x63677270)
                snprintf(path, sizeof(path), "%s%s", mounts[i], line + 3);
    }
    fclose(f);
    live_need(path[0] != '\0' && stat(path, &st) == 0, "no hierarchy of version 2");
    assert_int_equal(look_for((uint32_t)getpid(), &s, &cgroup), 1);
    assert_int_equal(cgroup.id, st.st_ino);
    assert_true(cgroup.set != 0);
}

/*
 * What 700 pages of shared memory come to at least. Before 6.2 a task keeps up to 64 pages of each
 * counter back; pages of files on a tmpfs count, too.
 */
static uint64_t least_shared(void)
{
    return (kernel_is(6, 2) ? UINT64_C(700) : 700 - 64) * page_size();
}

static void one_thread(void **state)
{
    pid_t pid = live_spawn(LIVE_STEPS("name=0123456789abcde", "burn=20", "read=409600",
                                      "write=40960", "anon=3000", "shared=700", "open=40", "stop"));
    struct sample s;

    (void)state;
    live_stopped(pid);
    s = check_same(pid);
    check_span(span_of(s.comm, s.comm_len), "0123456789abcde");
    assert_int_equal(s.state, STATE_STOPPED);
    assert_true(s.cpu_runtime_ns > 20000000);
    assert_true(s.counter[COUNTER_SYSCALL_READ_BYTES] >= 409600);
    assert_true(s.counter[COUNTER_SYSCALL_WRITE_BYTES] == 40960);
    assert_true(s.counter[COUNTER_WRITE_SYSCALLS] == 10);
    assert_true(s.gauge[GAUGE_RESIDENT_ANON_BYTES] >= UINT64_C(3000) * page_size());
    assert_true(s.gauge[GAUGE_RESIDENT_SHMEM_BYTES] >= least_shared());
    assert_int_equal(s.gauge[GAUGE_THREADS], 1);
    live_kill(pid);
}

/* A table that was enlarged, and one that is too large to be counted in the kernel. */
static void many_descriptors(void **state)
{
    pid_t some = live_spawn(LIVE_STEPS("open=700", "open_at=901", "stop"));
    pid_t many = live_spawn(LIVE_STEPS("open_at=8100", "open_at=9000", "stop"));
    struct rlimit limit;
    struct sample s;

    (void)state;
    live_stopped(some);
    s = check_same(some);
    assert_in_range(s.gauge[GAUGE_OPEN_FDS], 704, 720);
    live_kill(some);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur <= 9000)
        live_kill(many);
    live_need(limit.rlim_cur > 9000, "the limit of open files is below 9001");
    live_stopped(many);
    assert_int_equal(look_for((uint32_t)many, &s, NULL), 1);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS));
    assert_true(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    live_kill(many);
}

static void many_threads(void **state)
{
    pid_t pid = live_spawn(LIVE_STEPS("burn=5", "threads=20", "anon=100", "stop"));
    struct sample s;

    (void)state;
    live_stopped(pid);
    s = check_same(pid);
    assert_int_equal(s.gauge[GAUGE_THREADS], 21);
    assert_true(s.cpu_runtime_ns > 45000000);
    assert_true(s.counter[COUNTER_SYSCALL_READ_BYTES] >= 20 * 12288);
    assert_int_equal(s.counter[COUNTER_SYSCALL_WRITE_BYTES], 20 * 8192);
    live_kill(pid);
}

/* The I/O of threads that have ended comes of their records; /proc/PID/io has it, too. */
static bool try_ended_threads(void)
{
    pid_t pid = live_spawn(LIVE_STEPS("threads=3", "ended=15", "stop"));
    struct sample s;
    bool same;

    live_stopped(pid);
    same = is_same(pid, LACKS_ENDED_THREADS, &s);
    if (same) {
        assert_int_equal(s.gauge[GAUGE_THREADS], 4);
        assert_true(s.cpu_runtime_ns > 36000000);
        assert_int_equal(s.counter[COUNTER_SYSCALL_WRITE_BYTES], 18 * 8192);
    }
    live_kill(pid);
    return same;
}

static void ended_threads(void **state)
{
    (void)state;
    live_run(try_ended_threads, open_both, close_both);
}

static pid_t highest_pid(void)
{
    FILE *f = fopen("/proc/sys/kernel/pid_max", "r");
    pid_t highest = 0;

    live_need(f && fscanf(f, "%d", &highest) == 1, "no pid_max");
    fclose(f);
    return highest;
}

static bool has_threads_before(pid_t pid)
{
    char path[64];
    bool all = true;
    DIR *directory;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        all &= entry->d_name[0] == '.' || atoi(entry->d_name) <= pid;
    closedir(directory);
    return all;
}

/*
 * A child that has stopped, and whose threads have lower numbers than itself: they get the next
 * ones, it the highest that is free.
 */
static pid_t spawn_behind(const char *const *steps)
{
    pid_t highest = highest_pid(), pid = -1;

    /* Many in a row may be taken. */
    for (pid_t down = 1; pid < 0 && down < highest / 2; down += down < 100 ? 1 : 97) {
        pid = live_spawn_at(highest - down, steps);
        live_need(pid > 0 || errno == EEXIST, "no pid can be chosen");
    }
    live_need(pid > 0, "no high pid is free");
    live_stopped(pid);
    if (!has_threads_before(pid)) {
        live_kill(pid);
        live_need(false, "the next pids are higher than those that are free");
    }
    return pid;
}

static bool try_threads_before_their_leader(void)
{
    pid_t pid = spawn_behind(LIVE_STEPS("threads=10", "ended=5", "stop"));
    struct sample s;
    bool same;

    same = is_same(pid, LACKS_ENDED_THREADS, &s);
    if (same) {
        assert_int_equal(s.gauge[GAUGE_THREADS], 11);
        assert_int_equal(s.counter[COUNTER_SYSCALL_WRITE_BYTES], 15 * 8192);
    }
    live_kill(pid);
    return same;
}

static void threads_before_their_leader(void **state)
{
    (void)state;
    live_run(try_threads_before_their_leader, open_both, close_both);
}

static void check_exited_leader(pid_t pid)
{
    struct sample s;

    live_stopped(pid);
    s = check_same(pid);
    assert_true(s.exited_leader);
    assert_false(s.ending);
    assert_int_equal(s.state, STATE_STOPPED);
    assert_int_equal(s.gauge[GAUGE_THREADS], 5);
    assert_true(s.gauge[GAUGE_RESIDENT_ANON_BYTES] >= UINT64_C(500) * page_size());
    assert_true(s.gauge[GAUGE_OPEN_FDS] >= 9);
    live_kill(pid);
}

static void exited_leader(void **state)
{
    (void)state;
    check_exited_leader(live_spawn(LIVE_STEPS("anon=500", "open=9", "threads=3", "leave", "stop")));
}

static void exited_leader_behind_its_threads(void **state)
{
    (void)state;
    check_exited_leader(
        spawn_behind(LIVE_STEPS("anon=500", "open=9", "threads=3", "leave", "stop")));
}

static void zombie(void **state)
{
    pid_t pid = live_spawn(LIVE_STEPS("anon=500", "open=9", "read=40960", "exit=5"));
    siginfo_t info;
    struct sample s;

    (void)state;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    s = check_same(pid);
    assert_int_equal(s.state, STATE_ZOMBIE);
    assert_true(s.ending);
    assert_false(s.exited_leader);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS], 0);
    assert_int_equal(s.gauge[GAUGE_THREADS], 1);
    for (int i = 0; i < GAUGE_N; i++)
        if (is_memory(i) || i == GAUGE_VIRTUAL_BYTES || i == GAUGE_MAPPINGS) {
            assert_true(sample_has_gauge(&s, (enum gauge)i));
            assert_int_equal(s.gauge[i], 0);
        }
    assert_int_equal(WEXITSTATUS(live_reap(pid)), 5);
}

/* All that /proc knows for kernel threads are, and no others. */
static void kernel_threads(void **state)
{
    struct sample s, proc;
    struct task_cgroup cgroup;
    size_t seen = 0;
    int r;

    (void)state;
    live_need(process_begin(&fs, 2, &faults, &proc) == 0 && proc.kernel_thread,
              "no kernel thread is seen");
    assert_int_equal(look_for(2, &s, &cgroup), 1);
    check_span(span_of(s.comm, s.comm_len), "kthreadd");
    bpf_source_drain(&source, live_now_ns());
    assert_int_equal(bpf_source_begin(&source), 0);
    while ((r = bpf_source_next(&source, &s, &cgroup)) == 1) {
        if (process_begin(&fs, s.identity.pid, &faults, &proc) != 0 ||
            !identity_equal(s.identity, proc.identity))
            continue;
        assert_int_equal(s.kernel_thread, proc.kernel_thread);
        if (!s.kernel_thread)
            continue;
        seen++;
        assert_int_equal(s.uid, 0);
        for (int i = 0; i < GAUGE_N; i++)
            if (is_memory(i) || i == GAUGE_VIRTUAL_BYTES || i == GAUGE_MAPPINGS) {
                assert_true(sample_has_gauge(&s, (enum gauge)i));
                assert_int_equal(s.gauge[i], 0);
            }
    }
    assert_int_equal(r, 0);
    assert_true(seen > 5);
}

/*
 * Everybody that there is before and after a walk is in it. Process 1 may be hidden from programs:
 * some virtual machines keep their supervisor to themselves.
 */
static void nobody_is_left_out(void **state)
{
    static bool there[1 << 22];
    const uint32_t *pids;
    struct sample s;
    struct task_cgroup cgroup;
    size_t n;
    int r;

    (void)state;
    memset(there, 0, sizeof(there));
    assert_int_equal(procfs_list(&fs, &pids, &n), 0);
    for (size_t i = 0; i < n; i++)
        if (pids[i] > 1 && pids[i] < sizeof(there))
            there[pids[i]] = true;
    assert_int_equal(bpf_source_begin(&source), 0);
    while ((r = bpf_source_next(&source, &s, &cgroup)) == 1)
        if (s.identity.pid < sizeof(there))
            there[s.identity.pid] = false;
    assert_int_equal(r, 0);
    bpf_source_end(&source);
    assert_int_equal(procfs_list(&fs, &pids, &n), 0);
    for (size_t i = 0; i < n; i++)
        if (pids[i] < sizeof(there) && there[pids[i]])
            fail_msg("process %u was left out", pids[i]);
}

static void walks_keep_nothing(void **state)
{
    unsigned before = live_descriptors();
    struct sample s;
    struct task_cgroup cgroup;

    (void)state;
    for (int i = 0; i < 200; i++) {
        if (i % 4 != 0) {
            assert_int_equal(look_for((uint32_t)getpid(), &s, &cgroup), 1);
            assert_int_equal(live_descriptors(), before);
            continue;
        }
        /* Given up in the middle, and begun anew without an end. */
        assert_int_equal(bpf_source_begin(&source), 0);
        assert_int_equal(bpf_source_next(&source, &s, &cgroup), 1);
        assert_int_equal(live_descriptors(), before + 1);
        if (i % 8 == 0)
            bpf_source_end(&source);
    }
    bpf_source_end(&source);
    bpf_source_end(&source);
    assert_int_equal(live_descriptors(), before);
}

static void closed_without_an_end(void **state)
{
    unsigned before = live_descriptors();
    struct bpf_source other;
    enum programs_failure failure;

    (void)state;
    assert_int_equal(bpf_source_open(&other, &source.units, &failure), 0);
    assert_int_equal(bpf_source_begin(&other), 0);
    bpf_source_close(&other);
    bpf_source_close(&other);
    assert_int_equal(live_descriptors(), before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(this_process),
        TEST(control_group),
        TEST(one_thread),
        TEST(many_descriptors),
        TEST(many_threads),
        TEST(ended_threads),
        TEST(threads_before_their_leader),
        TEST(exited_leader),
        TEST(exited_leader_behind_its_threads),
        TEST(zombie),
        TEST(kernel_threads),
        TEST(nobody_is_left_out),
        TEST(walks_keep_nothing),
        TEST(closed_without_an_end),
    };
    int r;

    return live_refuses(argc, argv, &r) ? r : cmocka_run_group_tests(tests, NULL, NULL);
}
