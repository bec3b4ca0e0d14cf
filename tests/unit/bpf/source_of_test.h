#pragma once
/*
 * source_of_test - processes as the kernel that runs counts them, and as /proc tells of them.
 *
 * The two are the same of a child that has stopped, of whom nothing changes any more.
 */
#include "bpf/source.h"

#include "live.h"
#include "procfs/probe.h"
#include "procfs/process.h"
#include "procfs/task.h"

#include <dirent.h>

#define BIT(n) (UINT32_C(1) << (n))

static struct bpf_source source;
static struct procfs fs;
static struct faults faults;
static uint64_t ahead_ns; /* of the clock, as the source is told the time */

static inline uint32_t page_size(void)
{
    return (uint32_t)sysconf(_SC_PAGESIZE);
}

static inline int open_both(void **state)
{
    struct task_units units = {(uint32_t)sysconf(_SC_CLK_TCK), page_size()};
    enum programs_failure failure;

    (void)state;
    faults = (struct faults){0};
    ahead_ns = 0;
    assert_int_equal(procfs_open(&fs, "/proc", units.ticks_per_second, units.page_size), 0);
    return bpf_source_open(&source, &units, &failure);
}

static inline int close_both(void **state)
{
    (void)state;
    bpf_source_close(&source);
    process_end(&fs);
    procfs_close(&fs);
    return 0;
}

/*
 * A whole walk. Returns how often the pid was in it; the last sample of it is stored, or zeros. Its
 * control group too, if that is asked for.
 */
static inline unsigned look_for(uint32_t pid, struct sample *ret, struct task_cgroup *ret_cgroup)
{
    unsigned found = 0;
    struct sample s;
    struct task_cgroup cgroup;
    int r;

    *ret = (struct sample){0};
    bpf_source_drain(&source, live_now_ns() + ahead_ns);
    assert_int_equal(bpf_source_begin(&source), 0);
    while ((r = bpf_source_next(&source, &s, &cgroup)) == 1) {
        assert_true(s.identity.pid > 0);
        if (s.identity.pid != pid)
            continue;
        found++;
        *ret = s;
        if (ret_cgroup)
            *ret_cgroup = cgroup;
    }
    assert_int_equal(r, 0);
    bpf_source_end(&source);
    return found;
}

/* The nanoseconds that the threads there are ran, and how many there are. */
static inline uint64_t runtime_of_threads(pid_t pid, unsigned *ret_n)
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

static inline void read_threads(struct sample *s)
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
static inline bool has_vsyscall(int directory)
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
static inline void read_proc(pid_t pid, struct sample *ret)
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
static inline uint64_t memory_tolerance(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF), batch = 2 * cpus > 32 ? 2 * cpus : 32;

    if (!kernel_is(6, 2) || kernel_is(6, 17))
        return 0;
    return (uint64_t)(batch * cpus) * page_size();
}

static inline bool is_memory(int gauge)
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

static inline const char *name_of(const char *field, uint64_t have, uint64_t expected)
{
    static char text[256];

    snprintf(text, sizeof(text), "%s is %llu, in /proc %llu", field, (unsigned long long)have,
             (unsigned long long)expected);
    return text;
}

static inline const char *differs_in_counters(const struct sample *s, const struct sample *proc,
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

static inline const char *differs_in_gauges(const struct sample *s, const struct sample *proc)
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

static inline const char *differs_in_identity(const struct sample *s, const struct sample *proc)
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

static inline const char *differs(const struct sample *s, const struct sample *proc,
                                  enum lacks lacks)
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
static inline bool is_same(pid_t pid, enum lacks lacks, struct sample *ret)
{
    uint64_t begin = live_now_ns();
    struct sample proc;
    const char *what;

    do {
        assert_int_equal(look_for((uint32_t)pid, ret, NULL), 1);
        read_proc(pid, &proc);
        what = differs(ret, &proc, lacks);
    } while (what && live_has_time(begin));
    if (what)
        print_message("%s\n", what);
    return !what;
}

static inline struct sample check_same(pid_t pid)
{
    struct sample s;

    assert_true(is_same(pid, LACKS_NOTHING, &s));
    return s;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)
