/*
 * ends - one record for each task that has ended.
 *
 * It is taken when the kernel lets go of the task: only then the last time slice is in the sums.
 * What a task is no longer known for by then, its parent and its numbers in other pid namespaces,
 * is noted when it exits, and with it what it used until then, which is nearly all. For the second
 * event comes in whatever context the kernel cleans up, and some kernels run no programs in that of
 * certain tasks: then the reader finds what is left, and takes it.
 *
 * Either the second event or the reader hands over what was noted, never both: whoever deletes the
 * note. The reader says in `taken` beforehand that it may have, so that an end without a note is
 * not thought to be one that was never noted.
 */
#include "bpf/kernel/numbers.h"
#include "bpf/kernel/ring.h"
#include "bpf/kernel/usage.h"
#include "bpf/record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum {
    KERNEL_SIGNAL_GROUP_EXIT = 0x4,
    KERNEL_PF_KTHREAD = 0x200000,
    EXITS_MAX = 8192,
    TAKEN_MAX = 4096,
    VICTIMS_MAX = 1024,
};

ring_t ring SEC(".maps");

/* Records there was no room for, ever. */
__u64 lost_ends = 0;
/* Whether there was ever no room to note an exit. */
__u32 was_full = 0;

/* What was known of tasks at their exit. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, EXITS_MAX);
    __type(key, struct exit_key);
    __type(value, struct exiting);
} exits SEC(".maps");

/* Those whose note the reader took, or is about to; of some the kernel never tells the end. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, TAKEN_MAX);
    __type(key, struct exit_key);
    __type(value, __u32);
} taken SEC(".maps");

/* Pids of tasks that were killed for their memory, until their end. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, VICTIMS_MAX);
    __type(key, __u32);
    __type(value, __u32);
} victims SEC(".maps");

SEC("raw_tp/mark_victim")
int note_victim(struct bpf_raw_tracepoint_args *ctx)
{
    __u32 pid, yes = 1;

    if (bpf_core_field_exists(struct trace_event_raw_mark_victim___from_6_8, uid))
        pid = (__u32)BPF_CORE_READ((const struct task_struct *)ctx->args[0], pid);
    else
        pid = (__u32)ctx->args[0];
    bpf_map_update_elem(&victims, &pid, &yes, BPF_ANY);
    return 0;
}

static __always_inline __u32 flags_at_end(const struct task_struct *task)
{
    __u32 pid = (__u32)task->pid, flags = 0;

    if (task->flags & KERNEL_PF_KTHREAD)
        flags |= TASK_KERNEL_THREAD;
    if (bpf_map_lookup_elem(&victims, &pid))
        flags |= TASK_OOM_VICTIM;
    return flags;
}

static __always_inline void take_thread_end(const struct task_struct *task, __u32 kind, __u32 pid,
                                            struct thread_end *ret)
{
    ret->head.kind = kind;
    ret->head.pid = pid;
    ret->head.process = (__u64)task->signal;
    take_own(task, &ret->own);
    ret->flags = flags_at_end(task);
    ret->reserved = 0;
}

static __always_inline __u32 status_of(const struct task_struct *task)
{
    if (task->signal->flags & KERNEL_SIGNAL_GROUP_EXIT)
        return (__u32)task->signal->group_exit_code;
    return (__u32)task->exit_code;
}

/* But for `usage`. */
static __always_inline void take_process_end(const struct task_struct *task, __u32 pid,
                                             __u32 parent_pid, struct process_end *ret)
{
    take_thread_end(task, RECORD_PROCESS_END, pid, &ret->task);
    ret->start_ns = task->start_boottime;
    ret->cgroup = task->cgroups->dfl_cgrp->kn->id;
    ret->parent_pid = parent_pid;
    ret->uid = task->real_cred->euid.val;
    ret->status = status_of(task);
    ret->reserved = 0;
    take_comm(task, ret->comm);
}

static __always_inline void add_usage(struct task_usage *sum, const struct task_usage *more)
{
    sum->runtime_ns += more->runtime_ns;
    sum->user_ns += more->user_ns;
    sum->system_ns += more->system_ns;
    sum->minor_faults += more->minor_faults;
    sum->major_faults += more->major_faults;
    sum->voluntary_switches += more->voluntary_switches;
    sum->involuntary_switches += more->involuntary_switches;
}

static __always_inline struct exit_key key_of(const struct task_struct *task)
{
    __u64 whose = task->group_leader == task ? (__u64)task->signal : (__u64)task;

    return (struct exit_key){.whose = whose, .start_ns = task->start_boottime};
}

/* Its number, if it was its process' leader when it exited, and another thread has done an exec. */
static __always_inline __u32 replaced_leader(const struct task_struct *task)
{
    struct exit_key key = {.whose = (__u64)task->signal, .start_ns = task->start_boottime};
    const struct exiting *noted = bpf_map_lookup_elem(&exits, &key);
    __u32 pid;

    if (!noted || noted->noted != (__u64)task)
        return 0;
    pid = noted->end.task.head.pid;
    bpf_map_delete_elem(&exits, &key);
    return pid;
}

/*
 * Returns whether there is something to hand over. Unless there was no room to note its exit, it
 * exited before anyone asked: of a thread, that is too early to matter. Its parent may be gone by
 * now: then nobody has its number.
 */
static __always_inline bool take_unnoted(const struct task_struct *task, struct process_end *ret)
{
    bool leads = task->group_leader == task;
    __u32 pid = leads ? 0 : replaced_leader(task);

    if (pid == 0 && (namespaced || (!leads && !was_full)))
        return false;
    if (leads)
        take_process_end(task, (__u32)task->tgid, (__u32)task->real_parent->tgid, ret);
    else
        take_thread_end(task, RECORD_THREAD_END, pid ? pid : (__u32)task->tgid, &ret->task);
    return true;
}

/* Brings what was noted at the exit up to date. */
static __always_inline void take_last(const struct task_struct *task, struct process_end *ret)
{
    ret->task.flags |= flags_at_end(task);
    take_own(task, &ret->task.own);
    if (ret->task.head.kind != RECORD_PROCESS_END)
        return;
    ret->status = status_of(task);
    take_ended(task->signal, &ret->usage);
}

static __always_inline void hand_over(const struct process_end *end)
{
    __u64 size = end->task.head.kind == RECORD_PROCESS_END ? sizeof(*end) : sizeof(end->task);

    if (ring_add(end, size) != 0)
        __sync_fetch_and_add(&lost_ends, 1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(note_exit, struct task_struct *task)
{
    struct exiting exiting = {.exit_ns = bpf_ktime_get_ns(), .noted = (__u64)task};
    struct process_end *end = &exiting.end;
    __u32 pid = process_number_of(task);
    struct exit_key key = key_of(task);
    struct task_usage own;

    if (pid == 0)
        return 0;
    if (task->group_leader == task) {
        take_process_end(task, pid, process_number_of(task->real_parent), end);
        take_ended(task->signal, &end->usage);
        take_usage(task, &own);
        add_usage(&end->usage, &own);
    } else {
        take_thread_end(task, RECORD_THREAD_END, pid, &end->task);
    }
    if (bpf_map_update_elem(&exits, &key, &exiting, BPF_ANY) != 0)
        was_full = 1;
    return 0;
}

/* Whether the reader took the note; it is told once. */
static __always_inline bool was_taken(const struct exit_key *key)
{
    if (!bpf_map_lookup_elem(&taken, key))
        return false;
    bpf_map_delete_elem(&taken, key);
    return true;
}

/*
 * Takes the note of a task's exit away. Returns whether it is ours. A note that changes hands while
 * it is copied, or that some kernels do not let go of for the moment, is left to the reader.
 */
static __always_inline bool take_note(const struct task_struct *task, const struct exit_key *key,
                                      const struct exiting *noted, struct process_end *ret)
{
    *ret = noted->end;
    if (noted->noted != (__u64)task)
        return false;
    if (bpf_map_delete_elem(&exits, key) == 0)
        return true;
    (void)was_taken(key);
    return false;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(note_end, struct task_struct *task)
{
    struct exit_key key = key_of(task);
    __u32 pid = (__u32)task->pid;
    const struct exiting *noted = bpf_map_lookup_elem(&exits, &key);
    struct process_end end = {};

    if (noted ? !take_note(task, &key, noted, &end) : was_taken(&key) || !take_unnoted(task, &end))
        return 0;
    take_last(task, &end);
    bpf_map_delete_elem(&victims, &pid);
    hand_over(&end);
    return 0;
}
