/*
 * Processes as the kernel that runs counts them, held against what /proc says of the same ones:
 * children that have stopped, of whom nothing changes any more. And those that ended, held against
 * what wait4(2) said.
 */
#include "bpf/source.h"

#include "live.h"
#include "procfs/probe.h"
#include "procfs/process.h"
#include "procfs/task.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define BIT(n) (UINT32_C(1) << (n))

static struct bpf_source source;
static struct procfs fs;
static struct faults faults;
static uint64_t ahead_ns; /* of the clock, as the source is told the time */

static uint32_t page_size(void)
{
    return (uint32_t)sysconf(_SC_PAGESIZE);
}

static int open_both(void **state)
{
    struct task_units units = {(uint32_t)sysconf(_SC_CLK_TCK), page_size()};
    enum programs_failure failure;

    (void)state;
    faults = (struct faults){0};
    ahead_ns = 0;
    assert_int_equal(procfs_open(&fs, "/proc", units.ticks_per_second, units.page_size), 0);
    return bpf_source_open(&source, &units, &failure);
}

static int close_both(void **state)
{
    (void)state;
    bpf_source_close(&source);
    process_end(&fs);
    procfs_close(&fs);
    return 0;
}

/* A whole walk. Returns how often the pid was in it; the last sample of it is stored. */
static unsigned look_for(uint32_t pid, struct sample *ret, struct task_cgroup *ret_cgroup)
{
    unsigned found = 0;
    struct sample s;
    struct task_cgroup cgroup;
    int r;

    bpf_source_drain(&source, live_now_ns() + ahead_ns);
    assert_int_equal(bpf_source_begin(&source), 0);
    while ((r = bpf_source_next(&source, &s, &cgroup)) == 1) {
        assert_true(s.identity.pid > 0);
        if (s.identity.pid != pid)
            continue;
        found++;
        *ret = s;
        *ret_cgroup = cgroup;
    }
    assert_int_equal(r, 0);
    bpf_source_end(&source);
    return found;
}

/* The nanoseconds that the threads there are ran, and how many there are. */
static uint64_t runtime_of_threads(pid_t pid, unsigned *ret_n)
{
    char path[64], name[512];
    uint64_t sum = 0;
    DIR *directory;

    *ret_n = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        unsigned long long ran;
        FILE *f;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s/schedstat", path, entry->d_name);
        f = fopen(name, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%llu", &ran), 1);
        fclose(f);
        sum += ran;
        ++*ret_n;
    }
    closedir(directory);
    return sum;
}

static void read_threads(struct sample *s)
{
    uint64_t sums[THREAD_COUNTER_N] = {0};
    struct thread_sample thread;
    struct task task;

    assert_int_equal(task_open(&fs, &faults, &task), 0);
    while (task_next(&fs, &task, UINT32_MAX, &faults, &thread) == TASK_THREAD)
        for (int i = 0; i < THREAD_COUNTER_N; i++)
            sums[i] += thread.counter[i];
    task_close(&task);
    sample_set_counter(s, COUNTER_RUN_QUEUE_NS, sums[THREAD_RUN_QUEUE_NS]);
    sample_set_counter(s, COUNTER_VOLUNTARY_SWITCHES, sums[THREAD_VOLUNTARY_SWITCHES]);
    sample_set_counter(s, COUNTER_INVOLUNTARY_SWITCHES, sums[THREAD_INVOLUNTARY_SWITCHES]);
}

/* Of an exited leader, a thread's directory. */
static bool has_vsyscall(int directory)
{
    FILE *f = fdopen(openat(directory, "maps", O_RDONLY | O_CLOEXEC), "r");
    bool found = false;
    char line[512];

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        found |= strstr(line, "[vsyscall]") != NULL;
    fclose(f);
    return found;
}

/* The process as text tells of it, its threads added up. CPU time is all of those there are. */
static void read_proc(pid_t pid, struct sample *ret)
{
    unsigned n;

    assert_int_equal(process_begin(&fs, (uint32_t)pid, &faults, ret), 0);
    assert_int_equal(process_read(&fs, UINT32_MAX, &faults, ret), 0);
    if (!sample_has_gauge(ret, GAUGE_MAPPINGS)) {
        assert_int_equal(probe_read(&fs, process_memory_dir(&fs), PART_MAPS, ret, NULL), 0);
        /* Which is a line for every process, and a mapping of none. */
        ret->gauge[GAUGE_MAPPINGS] -= has_vsyscall(process_memory_dir(&fs));
    }
    read_threads(ret);
    ret->have_cpu_runtime = true;
    ret->cpu_runtime_ns = runtime_of_threads(pid, &n);
}

/* How far text may be off: from 6.2 to 6.16 it leaves out what CPUs keep for themselves. */
static uint64_t memory_tolerance(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF), batch = 2 * cpus > 32 ? 2 * cpus : 32;

    if (!kernel_is(6, 2) || kernel_is(6, 17))
        return 0;
    return (uint64_t)(batch * cpus) * page_size();
}

static bool is_memory(int gauge)
{
    return gauge == GAUGE_RESIDENT_ANON_BYTES || gauge == GAUGE_RESIDENT_FILE_BYTES ||
           gauge == GAUGE_RESIDENT_SHMEM_BYTES || gauge == GAUGE_SWAP_BYTES ||
           gauge == GAUGE_PEAK_RESIDENT_BYTES;
}

/* What text does not know as the kernel does. */
enum lacks {
    LACKS_NOTHING,
    LACKS_ENDED_THREADS, /* their switches, time in the run queue, and running time */
};

static const char *name_of(const char *field, uint64_t have, uint64_t expected)
{
    static char text[256];

    snprintf(text, sizeof(text), "%s is %llu, in /proc %llu", field, (unsigned long long)have,
             (unsigned long long)expected);
    return text;
}

static const char *differs_in_counters(const struct sample *s, const struct sample *proc,
                                       enum lacks lacks)
{
    const uint32_t of_threads = BIT(COUNTER_RUN_QUEUE_NS) | BIT(COUNTER_VOLUNTARY_SWITCHES) |
                                BIT(COUNTER_INVOLUNTARY_SWITCHES);
    /* Text has these scaled to the running time. */
    const uint32_t of_cpu = BIT(COUNTER_CPU_USER_NS) | BIT(COUNTER_CPU_SYSTEM_NS);

    for (int i = 0; i < COUNTER_N; i++) {
        bool less = lacks == LACKS_ENDED_THREADS && (of_threads >> i & 1);

        if (!sample_has_counter(s, (enum counter)i))
            return name_of(counter_name((enum counter)i), UINT64_MAX, proc->counter[i]);
        if (of_cpu >> i & 1)
            continue;
        if (less ? s->counter[i] < proc->counter[i] : s->counter[i] != proc->counter[i])
            return name_of(counter_name((enum counter)i), s->counter[i], proc->counter[i]);
    }
    if (lacks == LACKS_ENDED_THREADS ? s->cpu_runtime_ns <= proc->cpu_runtime_ns
                                     : s->cpu_runtime_ns != proc->cpu_runtime_ns)
        return name_of("the running time", s->cpu_runtime_ns, proc->cpu_runtime_ns);
    return NULL;
}

static const char *differs_in_gauges(const struct sample *s, const struct sample *proc)
{
    for (int i = 0; i < GAUGE_N; i++) {
        uint64_t tolerance = is_memory(i) ? memory_tolerance() : 0;

        if (i == GAUGE_PROPORTIONAL_BYTES)
            continue;
        if (sample_has_gauge(s, (enum gauge)i) != sample_has_gauge(proc, (enum gauge)i) ||
            s->gauge[i] > proc->gauge[i] + tolerance || s->gauge[i] + tolerance < proc->gauge[i])
            return name_of(gauge_name((enum gauge)i), s->gauge[i], proc->gauge[i]);
    }
    return NULL;
}

static const char *differs_in_identity(const struct sample *s, const struct sample *proc)
{
    if (!identity_equal(s->identity, proc->identity))
        return name_of("the start", s->identity.start_ticks, proc->identity.start_ticks);
    if (s->parent_pid != proc->parent_pid)
        return name_of("the parent", s->parent_pid, proc->parent_pid);
    if (!s->have_uid || !proc->have_uid || s->uid != proc->uid)
        return name_of("the uid", s->uid, proc->uid);
    if (s->state != proc->state)
        return name_of("the state", s->state, proc->state);
    if (s->kernel_thread != proc->kernel_thread || s->exited_leader != proc->exited_leader ||
        s->ending != proc->ending)
        return "another kind of process";
    if (s->comm_len != proc->comm_len || memcmp(s->comm, proc->comm, s->comm_len) != 0)
        return "another comm";
    return NULL;
}

static const char *differs(const struct sample *s, const struct sample *proc, enum lacks lacks)
{
    const char *what = differs_in_identity(s, proc);

    if (!what)
        what = differs_in_counters(s, proc, lacks);
    return what ? what : differs_in_gauges(s, proc);
}

/*
 * Whether the kernel's records and text say the same. A thread that has stopped leaves its CPU a
 * little later, and what ended ones left comes later too; so they are asked until they do.
 */
static bool is_same(pid_t pid, enum lacks lacks, struct sample *ret)
{
    uint64_t begin = live_now_ns();
    struct task_cgroup cgroup;
    struct sample proc;
    const char *what;

    do {
        assert_int_equal(look_for((uint32_t)pid, ret, &cgroup), 1);
        read_proc(pid, &proc);
        what = differs(ret, &proc, lacks);
    } while (what && live_has_time(begin));
    if (what)
        print_message("%s\n", what);
    return !what;
}

static struct sample check_same(pid_t pid)
{
    struct sample s;

    assert_true(is_same(pid, LACKS_NOTHING, &s));
    return s;
}

static void this_process(void **state)
{
    struct sample s, proc;
    struct task_cgroup cgroup;

    (void)state;
    assert_int_equal(look_for((uint32_t)getpid(), &s, &cgroup), 1);
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
    struct task_cgroup cgroup;

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
    assert_int_equal(look_for((uint32_t)many, &s, &cgroup), 1);
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

/* A child that ended, as wait4(2) told of it. */
struct child {
    pid_t pid;
    int status;
    struct rusage usage;
    struct process_end end;
    unsigned told; /* how often */
};

static void reap(struct child *child)
{
    assert_int_equal(wait4(child->pid, &child->status, 0, &child->usage), child->pid);
}

/* The one that this end is of; NULL: it is of another's child. */
static struct child *child_of(struct child *children, size_t n, const struct process_end *end)
{
    if (end->parent_pid != (uint32_t)getpid())
        return NULL;
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)children[i].pid == end->task.head.pid)
            return &children[i];
    /* A try before may have given up waiting for it. */
    if (!live_hides)
        fail_msg("process %u has ended, and was none", end->task.head.pid);
    return NULL;
}

/* Takes what has come. Returns how many of the children were told of in all. */
static size_t take_ends(struct child *children, size_t n)
{
    const struct process_ended *list;
    size_t ended, told = 0;

    bpf_source_drain(&source, live_now_ns());
    list = bpf_source_ended(&source, &ended);
    for (size_t i = 0; i < ended; i++) {
        struct child *child = child_of(children, n, &list[i].end);

        if (!child)
            continue;
        child->end = list[i].end;
        assert_int_equal(++child->told, 1);
    }
    bpf_source_ends_counted(&source, ended);
    for (size_t i = 0; i < n; i++)
        told += children[i].told;
    return told;
}

/* Until each of them was told of. */
static bool await_ends(struct child *children, size_t n)
{
    uint64_t begin = live_now_ns();
    size_t told;

    while ((told = take_ends(children, n)) < n && live_has_time(begin))
        ;
    /* Nobody ends twice. */
    assert_int_equal(take_ends(children, n), told);
    return told == n;
}

/*
 * Until the end of the child was told, and its threads', which may come after it: then it has
 * written so much. Those that wait are joined with them as often as they are asked for.
 */
static bool await_end_of_threads(struct child *child, uint64_t written)
{
    uint64_t begin = live_now_ns(), have = 0;
    const struct process_ended *list;
    size_t n;

    do {
        bpf_source_drain(&source, live_now_ns());
        list = bpf_source_ended(&source, &n);
        for (size_t i = 0; i < n; i++)
            if (child_of(child, 1, &list[i].end)) {
                child->end = list[i].end;
                have = child->end.task.own.io[TASK_IO_WRITE_CHARS];
            }
        assert_true(have <= written);
    } while (have < written && live_has_time(begin));
    bpf_source_ends_counted(&source, n);
    return have == written;
}

static uint64_t ns_of(const struct rusage *usage)
{
    return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

enum { SHORT_LIVED = 500 };

static pid_t spawn_short_lived(size_t i)
{
    static const char *const ends[] = {"exit=0", "exit=3", "signal=15", "signal=9", "signal=11"};

    return live_spawn(LIVE_STEPS("burn=2", "read=4096", ends[i % 5]));
}

static void check_status(size_t i, const struct child *child)
{
    static const int statuses[] = {0, 3 << 8, SIGTERM, SIGKILL, SIGSEGV};

    assert_int_equal(child->status, statuses[i % 5]);
    assert_int_equal(child->end.status, child->status);
}

/* Some of them at a time, and some are told of while others begin. */
static void run_short_lived(struct child *children, size_t n)
{
    enum { AT_A_TIME = 8 };

    for (size_t i = 0; i < n + AT_A_TIME; i++) {
        if (i < n)
            children[i].pid = spawn_short_lived(i);
        if (i >= AT_A_TIME)
            reap(&children[i - AT_A_TIME]);
        if (i < n && i % 30 == 29)
            take_ends(children, i + 1);
    }
}

static void check_short_lived(size_t i, const struct child *child)
{
    const struct process_end *end = &child->end;

    check_status(i, child);
    assert_true(end->usage.runtime_ns > 2000000);
    assert_true(end->task.own.io[TASK_IO_READ_CHARS] > 4096);
    assert_int_equal(end->usage.minor_faults, child->usage.ru_minflt);
    assert_int_equal(end->uid, geteuid());
    check_span(span_of(end->comm, strnlen(end->comm, sizeof(end->comm))), "bpf_child");
}

/* All at once, or what is likely to come whole. */
static size_t short_lived_of_a_try(void)
{
    return live_hides ? SHORT_LIVED / 10 : SHORT_LIVED;
}

/* As a divisor. An end that comes upon a hidden thread is told as it was known at the exit. */
static uint64_t short_at_most(void)
{
    return live_hides ? 10 : 50;
}

/* Processes that no walk sees: each is told of once, with all it used. */
static bool try_short_lived(void)
{
    static struct child children[SHORT_LIVED];
    size_t n = short_lived_of_a_try();
    struct rusage before, after;
    uint64_t runtime = 0, used, lost = bpf_source_lost(&source);

    memset(children, 0, sizeof(children));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &before), 0);
    run_short_lived(children, n);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &after), 0);
    if (!await_ends(children, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        check_short_lived(i, &children[i]);
        runtime += children[i].end.usage.runtime_ns;
    }
    used = ns_of(&after) - ns_of(&before);
    print_message("running time %.3f s, by getrusage %.3f s\n", (double)runtime * 1e-9,
                  (double)used * 1e-9);
    assert_in_range(runtime, used - used / short_at_most(), used + used / 50);
    assert_true(live_hides || bpf_source_lost(&source) == lost);
    return true;
}

static void short_lived(void **state)
{
    (void)state;
    for (size_t n = 0; n < SHORT_LIVED; n += short_lived_of_a_try())
        live_run(try_short_lived, open_both, close_both);
}

static void check_last(const struct sample *last, const struct sample *before,
                       const struct child *child)
{
    uint64_t used = ns_of(&child->usage);

    assert_true(identity_equal(last->identity, before->identity));
    assert_int_equal(last->uid, before->uid);
    for (int i = 0; i < COUNTER_N; i++) {
        /* Nothing is read or written on the way out. */
        if (counter_part((enum counter)i) == PART_IO)
            assert_int_equal(last->counter[i], before->counter[i]);
        assert_true(last->counter[i] >= before->counter[i]);
    }
    assert_int_equal(last->counter[COUNTER_MINOR_FAULTS], child->usage.ru_minflt);
    assert_int_equal(last->counter[COUNTER_MAJOR_FAULTS], child->usage.ru_majflt);
    assert_true(last->cpu_runtime_ns >= before->cpu_runtime_ns);
    assert_in_range(last->cpu_runtime_ns, used - used / short_at_most(), used + used / 50);
}

/* What it has when it stops is what its end tells. */
static bool try_end_of_threads(void)
{
    struct child child = {.pid = live_spawn(LIVE_STEPS("threads=10", "ended=7", "stop", "exit=3"))};
    struct task_units units = source.units;
    struct sample before, last;

    live_stopped(child.pid);
    if (!is_same(child.pid, LACKS_ENDED_THREADS, &before)) {
        live_kill(child.pid);
        return false;
    }
    live_go_on(child.pid);
    reap(&child);
    if (!await_end_of_threads(&child, 17 * 8192))
        return false;
    task_sample_end(&(struct process_ended){child.end}, &units, &last);
    check_last(&last, &before, &child);
    assert_int_equal(child.status, 3 << 8);
    assert_int_equal(child.end.status, child.status);
    return true;
}

static void the_end_of_threads(void **state)
{
    (void)state;
    live_run(try_end_of_threads, open_both, close_both);
}

/* Its leader ended long before it did. */
static bool try_end_of_an_exited_leader(void)
{
    struct child child = {
        .pid = live_spawn(LIVE_STEPS("read=40960", "threads=3", "leave", "write=4096", "exit=3"))};

    reap(&child);
    if (!await_end_of_threads(&child, 3 * 8192 + 4096))
        return false;
    assert_int_equal(child.status, 3 << 8);
    assert_int_equal(child.end.status, child.status);
    assert_true(child.end.task.own.io[TASK_IO_READ_CHARS] >= 40960 + 3 * 12288);
    assert_int_equal(child.end.usage.minor_faults, child.usage.ru_minflt);
    return true;
}

static void the_end_of_an_exited_leader(void **state)
{
    (void)state;
    live_run(try_end_of_an_exited_leader, open_both, close_both);
}

/* As long as the process is there: what it wrote, in all. */
static uint64_t written_by_living(struct child *child)
{
    const struct process_ended *list;
    struct task_cgroup cgroup;
    struct sample s;
    size_t n;

    assert_int_equal(look_for((uint32_t)child->pid, &s, &cgroup), 1);
    list = bpf_source_ended(&source, &n);
    for (size_t i = 0; i < n; i++)
        assert_null(child_of(child, 1, &list[i].end));
    bpf_source_ends_counted(&source, n);
    return s.counter[COUNTER_SYSCALL_WRITE_BYTES];
}

/* A thread takes the place of its leader, who is waited for by nobody and ends as a thread does. */
static bool try_exec_from_a_thread(void)
{
    struct child child = {
        .pid = live_spawn(LIVE_STEPS("write=8192", "exec", "write=4096", "stop", "exit=3"))};
    uint64_t begin = live_now_ns(), written;

    live_stopped(child.pid);
    do {
        written = written_by_living(&child);
        assert_true(written == 4096 || written == 8192 + 4096);
    } while (written == 4096 && live_has_time(begin));
    if (written == 4096) {
        live_kill(child.pid);
        return false;
    }
    live_go_on(child.pid);
    reap(&child);
    if (!await_ends(&child, 1))
        return false;
    assert_int_equal(child.end.task.own.io[TASK_IO_WRITE_CHARS], 8192 + 4096);
    assert_int_equal(child.end.status, 3 << 8);
    return true;
}

static void an_exec_from_a_thread(void **state)
{
    (void)state;
    live_run(try_exec_from_a_thread, open_both, close_both);
}

static size_t count_ended_of(struct bpf_source *s, uint32_t parent_pid)
{
    const struct process_ended *list;
    size_t n, ended = 0;

    bpf_source_drain(s, live_now_ns());
    list = bpf_source_ended(s, &n);
    for (size_t i = 0; i < n; i++)
        ended += list[i].end.parent_pid == parent_pid;
    bpf_source_ends_counted(s, n);
    return ended;
}

/* Children count for themselves, and not once more for who reaped them. */
static bool try_io_of_reaped_children(void)
{
    pid_t pid = live_spawn(LIVE_STEPS("forks=50", "write=8192", "stop"));
    uint64_t begin = live_now_ns();
    struct task_cgroup cgroup;
    struct sample s;
    size_t ended;

    live_stopped(pid);
    ended = count_ended_of(&source, (uint32_t)pid);
    assert_int_equal(look_for((uint32_t)pid, &s, &cgroup), 1);
    assert_int_equal(s.counter[COUNTER_SYSCALL_WRITE_BYTES], 8192);
    while (ended < 50 && live_has_time(begin))
        ended += count_ended_of(&source, (uint32_t)pid);
    assert_true(ended <= 50);
    live_kill(pid);
    return ended == 50;
}

static void io_of_reaped_children(void **state)
{
    (void)state;
    live_run(try_io_of_reaped_children, open_both, close_both);
}

/* What a sweep is told of a child, and how often it asks about it. */
struct asked {
    uint32_t pid;
    bool is_there;
    unsigned times;
};

static bool answer(void *arg, struct identity identity)
{
    struct asked *asked = arg;

    if (identity.pid != asked->pid)
        return true;
    asked->times++;
    return asked->is_there;
}

/* At so many seconds from now; returns whether the child's end waits. */
static bool sweep_at(uint64_t now_ns, unsigned seconds, struct asked *asked, struct child *child)
{
    const struct process_ended *list;
    bool waits = false;
    size_t n;

    bpf_source_drain(&source, now_ns + seconds * UINT64_C(1000000000));
    bpf_source_sweep(&source, answer, asked);
    list = bpf_source_ended(&source, &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].end.task.head.pid == asked->pid) {
            child->end = list[i].end;
            waits = true;
        }
    bpf_source_ends_counted(&source, n);
    return waits;
}

/* As long as it is not reaped, there is no end of it, and what was known at its exit is kept. */
static void check_sweeps(uint64_t begin, struct child *child)
{
    struct asked asked = {.pid = (uint32_t)child->pid, .is_there = true};
    uint64_t now = live_now_ns();

    /* It exited after that, or just before. */
    assert_false(sweep_at(begin, 0, &asked, child));
    assert_false(sweep_at(begin, 1, &asked, child));
    assert_int_equal(asked.times, 0);
    assert_false(sweep_at(now, 2, &asked, child));
    assert_int_equal(asked.times, 1);
    /* Who asked waits as long as before. */
    asked.is_there = false;
    assert_false(sweep_at(now, 2, &asked, child));
    assert_false(sweep_at(now, 3, &asked, child));
    assert_int_equal(asked.times, 1);
    assert_true(sweep_at(now, 4, &asked, child));
    assert_int_equal(asked.times, 2);
    assert_false(sweep_at(now, 9, &asked, child));
    assert_int_equal(asked.times, 2);
}

/* Whoever was counted by his exit is not told of once more. */
static bool try_sweep(void)
{
    uint64_t begin = live_now_ns();
    enum programs_failure failure;
    struct bpf_source witness;
    struct child child = {0};
    siginfo_t info;
    size_t told = 0;

    assert_int_equal(bpf_source_open(&witness, &source.units, &failure), 0);
    child.pid = live_spawn(LIVE_STEPS("burn=5", "write=8192", "exit=5"));
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    check_sweeps(begin, &child);
    reap(&child);
    assert_int_equal(child.end.parent_pid, getpid());
    assert_int_equal(child.end.status, child.status);
    assert_int_equal(child.end.task.own.io[TASK_IO_WRITE_CHARS], 8192);
    assert_in_range(child.end.usage.runtime_ns, 5000000, ns_of(&child.usage) + 1000);
    begin = live_now_ns();
    while (told == 0 && live_has_time(begin))
        told += count_ended_of(&witness, (uint32_t)getpid());
    assert_int_equal(count_ended_of(&source, (uint32_t)getpid()), 0);
    bpf_source_close(&witness);
    return told == 1;
}

static void counted_by_their_exit(void **state)
{
    (void)state;
    live_run(try_sweep, open_both, close_both);
}

/* The witness knows when a record would have come. */
static bool try_pause(struct bpf_source *witness, struct child children[3])
{
    uint64_t begin;
    size_t n;

    children[0].pid = live_spawn(LIVE_STEPS("ended=2", "exit=0"));
    reap(&children[0]);
    if (!await_ends(children, 1))
        return false;
    bpf_source_pause(&source);
    /* What ended threads left is gone with it. */
    assert_int_equal(source.accounts.n_used, 0);
    children[1].pid = live_spawn(LIVE_STEPS("exit=0"));
    reap(&children[1]);
    begin = live_now_ns();
    for (n = 0; n < 2 && live_has_time(begin);)
        n += count_ended_of(witness, (uint32_t)getpid());
    bpf_source_drain(&source, live_now_ns());
    assert_int_equal(ends_waiting(&source.ends), 0);
    assert_int_equal(bpf_source_resume(&source), 0);
    children[2].pid = live_spawn(LIVE_STEPS("exit=0"));
    reap(&children[2]);
    begin = live_now_ns();
    while (take_ends(children, 3) < 2 && live_has_time(begin))
        ;
    assert_int_equal(children[1].told, 0);
    return n == 2 && children[2].told == 1;
}

static bool try_paused_and_resumed(void)
{
    struct child children[3] = {{0}};
    enum programs_failure failure;
    struct bpf_source witness;
    bool came;

    assert_int_equal(bpf_source_open(&witness, &source.units, &failure), 0);
    came = try_pause(&witness, children);
    bpf_source_close(&witness);
    return came;
}

static void paused_and_resumed(void **state)
{
    (void)state;
    live_run(try_paused_and_resumed, open_both, close_both);
}

/*
 * A walk that was given up says nothing of those it did not come to, however long ago the last
 * whole one was. Of whom that sees nothing for long, nothing is kept.
 */
static bool try_given_up(void)
{
    pid_t pid = live_spawn(LIVE_STEPS("ended=3", "stop"));
    struct thread_end nobody = {.head = {RECORD_THREAD_END, UINT32_MAX, UINT64_MAX}};
    uint64_t lost = bpf_source_lost(&source);
    struct task_cgroup cgroup;
    struct sample s;
    size_t used;
    bool same;

    live_stopped(pid);
    same = is_same(pid, LACKS_ENDED_THREADS, &s);
    assert_int_equal(accounts_add(&source.accounts, &nobody, live_now_ns()), 0);
    ahead_ns = UINT64_C(3600) * 1000000000;
    bpf_source_drain(&source, live_now_ns() + ahead_ns);
    used = source.accounts.n_used;
    assert_int_equal(bpf_source_begin(&source), 0);
    assert_int_equal(bpf_source_next(&source, &s, &cgroup), 1);
    bpf_source_end(&source);
    assert_int_equal(source.accounts.n_used, used);
    assert_int_equal(bpf_source_lost(&source), lost);
    same = same && is_same(pid, LACKS_ENDED_THREADS, &s);
    live_kill(pid);
    assert_true(!same || bpf_source_lost(&source) > lost);
    assert_true(!same || !accounts_look(&source.accounts, UINT64_MAX, UINT32_MAX, 0));
    return same;
}

static void given_up_walks_drop_nothing(void **state)
{
    (void)state;
    live_run(try_given_up, open_both, close_both);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

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
        TEST(short_lived),
        TEST(the_end_of_threads),
        TEST(the_end_of_an_exited_leader),
        TEST(an_exec_from_a_thread),
        TEST(io_of_reaped_children),
        TEST(counted_by_their_exit),
        TEST(paused_and_resumed),
        TEST(given_up_walks_drop_nothing),
        TEST(walks_keep_nothing),
        TEST(closed_without_an_end),
    };

    int r;

    return live_refuses(argc, argv, &r) ? r : cmocka_run_group_tests(tests, NULL, NULL);
}
