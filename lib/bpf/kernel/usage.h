#pragma once
/* usage - what a task did, taken as it stands. The task is the caller's, and stays. */
#include "bpf/kernel/types.h"
#include "bpf/record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Of the process' threads that have ended. To be read before any thread's own. */
static __always_inline void take_ended(const struct signal_struct *signal, struct task_usage *ret)
{
    ret->runtime_ns = signal->sum_sched_runtime;
    ret->user_ns = signal->utime;
    ret->system_ns = signal->stime;
    ret->minor_faults = signal->min_flt;
    ret->major_faults = signal->maj_flt;
    ret->voluntary_switches = signal->nvcsw;
    ret->involuntary_switches = signal->nivcsw;
}

static __always_inline void take_usage(const struct task_struct *task, struct task_usage *ret)
{
    ret->runtime_ns = task->se.sum_exec_runtime;
    ret->user_ns = task->utime;
    ret->system_ns = task->stime;
    ret->minor_faults = task->min_flt;
    ret->major_faults = task->maj_flt;
    ret->voluntary_switches = task->nvcsw;
    ret->involuntary_switches = task->nivcsw;
}

/* The kernel adds I/O of reaped children to the process' sum, so each task's own is taken. */
static __always_inline void take_own(const struct task_struct *task, struct task_own *ret)
{
    ret->run_queue_ns = task->sched_info.run_delay;
    ret->io[TASK_IO_READ_CHARS] = task->ioac.rchar;
    ret->io[TASK_IO_WRITE_CHARS] = task->ioac.wchar;
    ret->io[TASK_IO_READ_SYSCALLS] = task->ioac.syscr;
    ret->io[TASK_IO_WRITE_SYSCALLS] = task->ioac.syscw;
    ret->io[TASK_IO_READ_BYTES] = task->ioac.read_bytes;
    ret->io[TASK_IO_WRITE_BYTES] = task->ioac.write_bytes;
    ret->io[TASK_IO_CANCELLED_WRITE_BYTES] = task->ioac.cancelled_write_bytes;
}

/* In two loads: a call that copies would take longer than both. */
static __always_inline void take_comm(const struct task_struct *task, char ret[TASK_COMM_SIZE])
{
    const __u64 *from = (const __u64 *)task->comm;
    __u64 *to = (__u64 *)ret;

    to[0] = from[0];
    to[1] = from[1];
}
