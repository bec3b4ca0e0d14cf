#pragma once
/*
 * ahead - the processor is sent for what the next tasks will be looked at for.
 *
 * A walk over many tasks is spent waiting for memory: each has some thirty lines of it, and a line
 * tells where others are. So each task has a few loaded of the task after it, and of the one after
 * that, whose results nobody waits for. They are found by the list of processes, in order of their
 * start; a walk goes by number, which is the same until numbers begin anew. Where it is not, and
 * where a neighbour ends meanwhile, something is loaded in vain: nothing is believed of it.
 *
 * Which lines, and that it pays, is measured (tests/bench/bench_sources); more of them keep the
 * processor from what it needs first.
 */
#include "bpf/kernel/cast.h"
#include "bpf/kernel/types.h"

#ifdef KERNEL_CASTS

/* Has it loaded, though it is not used. */
#define TOUCH(field) asm volatile("" : : "r"(field))

static __always_inline const struct task_struct *process_after(const struct task_struct *task)
{
    return CAST(struct task_struct,
                (const char *)task->tasks.next - bpf_core_field_offset(struct task_struct, tasks));
}

/* Of the leader of a process: no other task is in the list. */
static __always_inline void look_ahead(const struct task_struct *task)
{
    const struct task_struct *next = process_after(task), *second = process_after(next);

    /* The kernel's own way to the next task. */
    TOUCH(next->thread_pid->level);
    TOUCH(next->thread_pid->tasks[0].first);
    TOUCH(next->thread_pid->numbers[0].nr);
    /* Where the parts on each CPU are. */
    TOUCH(next->mm->rss_stat[MM_FILE].counters);
    TOUCH(next->mm->rss_stat[MM_SHMEM].counters);
    /* Where all that is, of the one that will be next then. */
    TOUCH(second->tasks.next);
    TOUCH(second->thread_pid);
    TOUCH(second->flags);
    TOUCH(second->signal);
    TOUCH(second->mm);
}

#else

static __always_inline void look_ahead(const struct task_struct *task)
{
    (void)task;
}

#endif
