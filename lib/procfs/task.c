/*
 * task - threads read through directories of their own.
 *
 * A thread is there if its directory and its stat are; every other file only clears its bits.
 */
#include "procfs/task.h"

#include "base/cleanup.h"
#include "procfs/pid_stat.h"
#include "procfs/tid_schedstat.h"
#include "procfs/tid_status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum { TASK_SKIPPED = 3 };

static const uint32_t switches =
    UINT32_C(1) << THREAD_VOLUNTARY_SWITCHES | UINT32_C(1) << THREAD_INVOLUNTARY_SWITCHES;

/* Hands on what is our own trouble, and counts what is the file's: that comes to `outcome`. */
static int task_settle(struct procfs *fs, struct faults *faults, int r, int outcome)
{
    if (procfs_own_trouble(r))
        return r;
    (void)faults_count(faults, FAULT_TASK, fs->process.pid, r);
    return outcome;
}

int task_open(struct procfs *fs, struct faults *faults, struct task *ret)
{
    ret->fd = openat(fs->process.dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->fd < 0)
        return task_settle(fs, faults, -errno, TASK_UNREADABLE);
    ret->entries = dirents_of(ret->fd, fs->block, PROCFS_BLOCK_SIZE);
    return 0;
}

void task_close(struct task *task)
{
    if (task->fd >= 0)
        close(task->fd);
    task->fd = -1;
}

static void task_take_stat(struct thread_sample *s, uint32_t tid, const struct pid_stat *stat)
{
    s->tid = tid;
    s->start_ticks = stat->start_ticks;
    s->comm_len = (uint8_t)(stat->comm.n < SAMPLE_COMM_MAX ? stat->comm.n : SAMPLE_COMM_MAX);
    memcpy(s->comm, stat->comm.p, s->comm_len);
    s->have = 0;
    if (pid_stat_has(stat, PID_STAT_USER_NS))
        thread_set_counter(s, THREAD_CPU_USER_NS, stat->field[PID_STAT_USER_NS]);
    if (pid_stat_has(stat, PID_STAT_SYSTEM_NS))
        thread_set_counter(s, THREAD_CPU_SYSTEM_NS, stat->field[PID_STAT_SYSTEM_NS]);
}

static int task_read_stat(struct procfs *fs, int dir, uint32_t tid, struct faults *faults,
                          struct thread_sample *ret)
{
    struct pid_stat stat;
    int r = pid_stat_read(fs, dir, &stat);

    if (r < 0)
        return task_settle(fs, faults, r, TASK_SKIPPED);
    if (stat.malformed)
        (void)faults_count(faults, FAULT_TASK, fs->process.pid, -EBADMSG);
    task_take_stat(ret, tid, &stat);
    return TASK_THREAD;
}

static int task_read_status(struct procfs *fs, int dir, struct faults *faults,
                            struct thread_sample *s)
{
    struct tid_status status;
    int r = tid_status_read(fs, dir, &status);

    if (r < 0)
        return task_settle(fs, faults, r, TASK_THREAD);
    if (status.malformed)
        (void)faults_count(faults, FAULT_TASK, fs->process.pid, -EBADMSG);
    if (tid_status_has(&status, TID_STATUS_VOLUNTARY_SWITCHES))
        thread_set_counter(s, THREAD_VOLUNTARY_SWITCHES,
                           status.field[TID_STATUS_VOLUNTARY_SWITCHES]);
    if (tid_status_has(&status, TID_STATUS_INVOLUNTARY_SWITCHES))
        thread_set_counter(s, THREAD_INVOLUNTARY_SWITCHES,
                           status.field[TID_STATUS_INVOLUNTARY_SWITCHES]);
    return TASK_THREAD;
}

static int task_read_schedstat(struct procfs *fs, int dir, struct faults *faults,
                               struct thread_sample *s)
{
    uint64_t run_queue_ns;
    int r = tid_schedstat_read(fs, dir, &run_queue_ns);

    if (r < 0)
        return task_settle(fs, faults, r, TASK_THREAD);
    if (r == 0)
        thread_set_counter(s, THREAD_RUN_QUEUE_NS, run_queue_ns);
    return TASK_THREAD;
}

/* TASK_THREAD, TASK_SKIPPED, or our own trouble. */
static int task_read_thread(struct procfs *fs, int task, uint32_t tid, uint32_t counters,
                            struct faults *faults, struct thread_sample *ret)
{
    cleanup_close int dir = procfs_open_pid(task, tid);
    int r;

    if (dir < 0)
        return task_settle(fs, faults, dir, TASK_SKIPPED);
    r = task_read_stat(fs, dir, tid, faults, ret);
    if (r == TASK_THREAD && (counters & switches))
        r = task_read_status(fs, dir, faults, ret);
    if (r == TASK_THREAD && (counters & UINT32_C(1) << THREAD_RUN_QUEUE_NS))
        r = task_read_schedstat(fs, dir, faults, ret);
    return r;
}

int task_next(struct procfs *fs, struct task *task, uint32_t counters, struct faults *faults,
              struct thread_sample *ret)
{
    const struct dirent64 *entry;
    uint32_t tid;
    int r;

    while ((r = dirents_next(&task->entries, &entry)) > 0) {
        if (!procfs_parse_pid(entry->d_name, &tid))
            continue;
        r = task_read_thread(fs, task->fd, tid, counters, faults, ret);
        if (r != TASK_SKIPPED)
            return r;
    }
    return r < 0 ? task_settle(fs, faults, r, TASK_UNREADABLE) : TASK_END;
}
