/*
 * process - one process read file by file.
 *
 * Only stat decides whether a process is there. Memory, descriptors and mappings hang on a
 * thread, not on the process: when the main thread has ended and others live on, the leader
 * shows a zombie without memory, and a living thread is asked instead. CPU time, faults and I/O
 * are the sums of the whole process in the leader's files, which stay right.
 */
#include "procfs/process.h"

#include "base/cleanup.h"
#include "procfs/dirents.h"
#include "procfs/pid_cgroup.h"
#include "procfs/pid_fd.h"
#include "procfs/pid_io.h"
#include "procfs/pid_limits.h"
#include "procfs/pid_stat.h"
#include "procfs/pid_status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum {
    /* A tracer can keep any number of ended threads listed; so many are asked, no more. */
    PROCESS_THREADS_ASKED = 64,
};

static bool process_is_gone(int r)
{
    return r == -ENOENT || r == -ESRCH;
}

/* Counts what is a fault of the file and hands on what is our own. */
static int process_settle(struct procfs *fs, struct faults *faults, enum fault_file file, int r)
{
    if (procfs_own_trouble(r))
        return r;
    if (r < 0)
        (void)faults_count(faults, file, fs->process.pid, r);
    return 0;
}

static void process_count_malformed(struct procfs *fs, struct faults *faults, enum fault_file file,
                                    bool malformed)
{
    if (malformed)
        (void)faults_count(faults, file, fs->process.pid, -EBADMSG);
}

static void process_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void process_end(struct procfs *fs)
{
    process_close(&fs->process.thread);
    process_close(&fs->process.dir);
}

int process_memory_dir(const struct procfs *fs)
{
    return fs->process.thread >= 0 ? fs->process.thread : fs->process.dir;
}

static void process_clear(struct sample *s)
{
    s->have_uid = false;
    s->kernel_thread = false;
    s->exited_leader = false;
    s->ending = false;
    s->comm_len = 0;
    s->have_cpu_runtime = false;
    s->have_counters = 0;
    s->have_gauges = 0;
}

static void process_take_comm(struct sample *s, struct span comm)
{
    s->comm_len = (uint8_t)(comm.n < SAMPLE_COMM_MAX ? comm.n : SAMPLE_COMM_MAX);
    memcpy(s->comm, comm.p, s->comm_len);
}

/* What stat says of a thread rather than of the process. */
static void process_take_thread_stat(struct sample *s, const struct pid_stat *stat)
{
    s->state = state_of_letter(stat->state);
    s->ending = stat->exiting || pid_stat_is_dead(stat);
    s->have_gauges &= ~(UINT32_C(1) << GAUGE_VIRTUAL_BYTES);
    if (pid_stat_has(stat, PID_STAT_VIRTUAL_BYTES))
        sample_set_gauge(s, GAUGE_VIRTUAL_BYTES, stat->field[PID_STAT_VIRTUAL_BYTES]);
}

static void process_take_stat(struct sample *s, uint32_t pid, const struct pid_stat *stat)
{
    static const struct {
        enum pid_stat_field from;
        enum counter to;
    } counters[] = {
        {PID_STAT_USER_NS, COUNTER_CPU_USER_NS},
        {PID_STAT_SYSTEM_NS, COUNTER_CPU_SYSTEM_NS},
        {PID_STAT_MINOR_FAULTS, COUNTER_MINOR_FAULTS},
        {PID_STAT_MAJOR_FAULTS, COUNTER_MAJOR_FAULTS},
    };

    s->identity = (struct identity){.pid = pid, .start_ticks = stat->start_ticks};
    s->parent_pid = stat->parent_pid;
    s->kernel_thread = stat->kernel_thread;
    process_take_comm(s, stat->comm);
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
        if (pid_stat_has(stat, counters[i].from))
            sample_set_counter(s, counters[i].to, stat->field[counters[i].from]);
    /* 0 is no number of threads: qemu-user prints it, and the kernel of one that just ended. */
    if (pid_stat_has(stat, PID_STAT_THREADS) && stat->field[PID_STAT_THREADS] > 0)
        sample_set_gauge(s, GAUGE_THREADS, stat->field[PID_STAT_THREADS]);
    process_take_thread_stat(s, stat);
}

/*
 * Asks the thread of that name, relative to task/, whether it lives. 1: it does, and its
 * directory is kept; 0: it does not, or cannot tell; or our own trouble.
 */
static int process_try_thread(struct procfs *fs, int task, uint32_t tid, struct faults *faults,
                              struct sample *s)
{
    cleanup_close int dir = procfs_open_pid(task, tid);
    struct pid_stat stat;
    int r;

    if (dir < 0)
        return process_settle(fs, faults, FAULT_TASK, dir);
    r = pid_stat_read(fs, dir, &stat);
    if (r < 0)
        return process_settle(fs, faults, FAULT_TASK, r);
    if (pid_stat_is_dead(&stat))
        return 0;
    process_take_thread_stat(s, &stat);
    s->exited_leader = true;
    fs->process.thread = take_fd(&dir);
    return 1;
}

/* Looks for a living thread of an exited leader; without one the sample stays as stat gave it. */
static int process_find_thread(struct procfs *fs, struct faults *faults, struct sample *s)
{
    cleanup_close int task = openat(fs->process.dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent64 *entry;
    struct dirents d;
    uint32_t tid;
    int asked = 0;
    int r;

    if (task < 0)
        return process_settle(fs, faults, FAULT_TASK, -errno);
    d = dirents_of(task, fs->block, PROCFS_BLOCK_SIZE);
    while (asked < PROCESS_THREADS_ASKED && (r = dirents_next(&d, &entry)) != 0) {
        if (r < 0)
            return process_settle(fs, faults, FAULT_TASK, r);
        if (!procfs_parse_pid(entry->d_name, &tid) || tid == fs->process.pid)
            continue;
        r = process_try_thread(fs, task, tid, faults, s);
        if (r != 0)
            return r < 0 ? r : 0;
        asked++;
    }
    return 0;
}

/*
 * Whether stat alone tells that there is no address space: nothing virtual, and of a kind that
 * has none. Reduced kernels print 0 for everybody.
 */
static bool process_has_no_memory(const struct sample *s, const struct pid_stat *stat)
{
    return (stat->kernel_thread || pid_stat_is_dead(stat)) &&
           sample_has_gauge(s, GAUGE_VIRTUAL_BYTES) && s->gauge[GAUGE_VIRTUAL_BYTES] == 0;
}

static int process_open(struct procfs *fs, uint32_t pid, struct pid_stat *ret)
{
    process_end(fs);
    fs->process.pid = pid;
    fs->process.memory_unknown = false;
    fs->process.dir = procfs_open_pid(fs->root, pid);
    /* A file or link with a number for a name is no process. */
    if (fs->process.dir == -ENOTDIR || fs->process.dir == -ELOOP)
        return -ESRCH;
    if (fs->process.dir < 0)
        return fs->process.dir;
    return pid_stat_read(fs, fs->process.dir, ret);
}

static bool process_is_exited_leader(const struct sample *s, const struct pid_stat *stat)
{
    return pid_stat_is_dead(stat) && sample_has_gauge(s, GAUGE_THREADS) &&
           s->gauge[GAUGE_THREADS] > 1;
}

int process_begin(struct procfs *fs, uint32_t pid, struct faults *faults, struct sample *ret)
{
    struct pid_stat stat;
    int r;

    process_clear(ret);
    r = process_open(fs, pid, &stat);
    if (process_is_gone(r))
        return PROCESS_GONE;
    if (r < 0) {
        r = process_settle(fs, faults, FAULT_STAT, r);
        return r < 0 ? r : PROCESS_UNREADABLE;
    }
    process_count_malformed(fs, faults, FAULT_STAT, stat.malformed);
    process_take_stat(ret, pid, &stat);
    if (process_is_exited_leader(ret, &stat)) {
        r = process_find_thread(fs, faults, ret);
        fs->process.memory_unknown = !ret->exited_leader;
    }
    fs->process.no_memory =
        !ret->exited_leader && !fs->process.memory_unknown && process_has_no_memory(ret, &stat);
    return r;
}

static void process_take_status(struct sample *s, const struct pid_status *status)
{
    static const struct {
        enum pid_status_field from;
        enum gauge to;
    } gauges[] = {
        {PID_STATUS_ANON_BYTES, GAUGE_RESIDENT_ANON_BYTES},
        {PID_STATUS_FILE_BYTES, GAUGE_RESIDENT_FILE_BYTES},
        {PID_STATUS_SHMEM_BYTES, GAUGE_RESIDENT_SHMEM_BYTES},
        {PID_STATUS_SWAP_BYTES, GAUGE_SWAP_BYTES},
        {PID_STATUS_PEAK_BYTES, GAUGE_PEAK_RESIDENT_BYTES},
    };

    for (size_t i = 0; i < sizeof(gauges) / sizeof(*gauges); i++)
        if (pid_status_has(status, gauges[i].from))
            sample_set_gauge(s, gauges[i].to, status->field[gauges[i].from]);
    if (pid_status_has(status, PID_STATUS_UID)) {
        s->uid = (uint32_t)status->field[PID_STATUS_UID];
        s->have_uid = true;
    }
    if (!sample_has_gauge(s, GAUGE_THREADS) && pid_status_has(status, PID_STATUS_THREADS) &&
        status->field[PID_STATUS_THREADS] > 0)
        sample_set_gauge(s, GAUGE_THREADS, status->field[PID_STATUS_THREADS]);
}

/* A process without an address space occupies none, and that is known. */
static void process_take_no_memory(struct sample *s)
{
    sample_set_gauge(s, GAUGE_RESIDENT_ANON_BYTES, 0);
    sample_set_gauge(s, GAUGE_RESIDENT_FILE_BYTES, 0);
    sample_set_gauge(s, GAUGE_RESIDENT_SHMEM_BYTES, 0);
    sample_set_gauge(s, GAUGE_SWAP_BYTES, 0);
    sample_set_gauge(s, GAUGE_PEAK_RESIDENT_BYTES, 0);
}

/* What probe.h would read of it, and is 0. */
static void process_take_no_mappings(struct sample *s, uint32_t parts)
{
    if (parts & part_bit(PART_MAPS))
        sample_set_gauge(s, GAUGE_MAPPINGS, 0);
    if (parts & part_bit(PART_SMAPS))
        sample_set_gauge(s, GAUGE_PROPORTIONAL_BYTES, 0);
}

static int process_read_status(struct procfs *fs, struct faults *faults, struct sample *s)
{
    struct pid_status status;
    int r;

    r = pid_status_read(fs, process_memory_dir(fs), !sample_has_gauge(s, GAUGE_THREADS), &status);
    if (r < 0)
        return process_settle(fs, faults, FAULT_STATUS, r);
    process_count_malformed(fs, faults, FAULT_STATUS, status.malformed);
    process_take_status(s, &status);
    fs->process.no_memory =
        !fs->process.memory_unknown && !pid_status_has(&status, PID_STATUS_RESIDENT_BYTES) &&
        sample_has_gauge(s, GAUGE_VIRTUAL_BYTES) && s->gauge[GAUGE_VIRTUAL_BYTES] == 0;
    if (fs->process.no_memory)
        process_take_no_memory(s);
    return 0;
}

static int process_read_io(struct procfs *fs, struct faults *faults, struct sample *s)
{
    static const enum counter counters[PID_IO_FIELD_N] = {
        [PID_IO_READ_CHARS] = COUNTER_SYSCALL_READ_BYTES,
        [PID_IO_WRITE_CHARS] = COUNTER_SYSCALL_WRITE_BYTES,
        [PID_IO_READ_SYSCALLS] = COUNTER_READ_SYSCALLS,
        [PID_IO_WRITE_SYSCALLS] = COUNTER_WRITE_SYSCALLS,
        [PID_IO_READ_BYTES] = COUNTER_STORAGE_READ_BYTES,
        [PID_IO_WRITE_BYTES] = COUNTER_STORAGE_WRITE_BYTES,
        [PID_IO_CANCELLED_WRITE_BYTES] = COUNTER_CANCELLED_WRITE_BYTES,
    };
    struct pid_io io;
    int r;

    r = pid_io_read(fs, fs->process.dir, &io);
    if (r < 0)
        return process_settle(fs, faults, FAULT_IO, r);
    process_count_malformed(fs, faults, FAULT_IO, io.malformed);
    for (int i = 0; i < PID_IO_FIELD_N; i++)
        if (pid_io_has(&io, (enum pid_io_field)i))
            sample_set_counter(s, counters[i], io.field[i]);
    return 0;
}

static int process_read_fd(struct procfs *fs, struct faults *faults, struct sample *s)
{
    uint64_t count;
    int r;

    r = pid_fd_count(fs, process_memory_dir(fs), &count);
    if (r == 0)
        sample_set_gauge(s, GAUGE_OPEN_FDS, count);
    return process_settle(fs, faults, FAULT_FD, r);
}

static int process_read_limits(struct procfs *fs, struct faults *faults, struct sample *s)
{
    uint64_t limit;
    int r;

    r = pid_limits_read(fs, fs->process.dir, &limit);
    if (r == 0)
        sample_set_gauge(s, GAUGE_OPEN_FDS_LIMIT, limit);
    return process_settle(fs, faults, FAULT_LIMITS, r);
}

int process_read(struct procfs *fs, uint32_t parts, struct faults *faults, struct sample *s)
{
    static const struct {
        enum part part;
        int (*read)(struct procfs *fs, struct faults *faults, struct sample *s);
    } readers[] = {
        /* First: it tells whether there is an address space. */
        {PART_STATUS, process_read_status},
        {PART_IO, process_read_io},
        {PART_FD, process_read_fd},
        {PART_LIMITS, process_read_limits},
    };
    int r;

    if (!sample_has_gauge(s, GAUGE_THREADS))
        parts |= part_bit(PART_STATUS);
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        if (!(parts & part_bit(readers[i].part)))
            continue;
        r = readers[i].read(fs, faults, s);
        if (r < 0)
            return r;
    }
    if (fs->process.no_memory)
        process_take_no_mappings(s, parts);
    return 0;
}

int process_read_cgroup(struct procfs *fs, struct faults *faults, const struct sample *s,
                        struct span *ret_path)
{
    struct span path;
    int r;

    r = pid_cgroup_read(fs, process_memory_dir(fs), &path);
    if (r < 0) {
        r = process_settle(fs, faults, FAULT_CGROUP, r);
        return r < 0 ? r : PROCESS_NO_CGROUP;
    }
    if (r == PID_CGROUP_NONE || (s->ending && pid_cgroup_is_root(path)))
        return PROCESS_NO_CGROUP;
    *ret_path = path;
    return 0;
}
