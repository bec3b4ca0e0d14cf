#pragma once
/*
 * numbers - pids as the reader's pid namespace has them.
 *
 * In the first one a task carries its number itself, until the end. In another, `namespaced`, it
 * has one for each level above its own, as long as it has not ended.
 */
#include "bpf/kernel/cast.h"
#include "bpf/kernel/types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

/* Set before the programs are loaded. */
extern const volatile bool namespaced;
/* The reader's namespace, set by the first walk; 0 before. */
extern __u64 reader_namespace;
extern __u32 reader_level;

static __always_inline __u32 number_of_pid(const struct pid *pid)
{
    __u32 level = reader_level;
    const struct upid *upid;

    if (!pid || READ_FIELD(pid, level) < level)
        return 0;
    upid = CAST(struct upid, (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                                 level * bpf_core_type_size(struct upid));
    return (__u64)READ_FIELD(upid, ns) == reader_namespace ? (__u32)READ_FIELD(upid, nr) : 0;
}

/* The number of the task's process, which has not ended; 0: it is not of this namespace. */
static __always_inline __u32 process_number_of(const struct task_struct *task)
{
    const struct task_struct *leader = task->group_leader;

    if (!namespaced)
        return (__u32)task->tgid;
    return number_of_pid(READ_FIELD(leader, thread_pid));
}
