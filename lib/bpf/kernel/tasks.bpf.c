/*
 * tasks - one record for each task there is: a walk over all, by reading a file.
 *
 * The kernel may visit a task twice when its buffer is full, so nothing is added up here. Pointers
 * of a task may change while they are followed; a read through one that is no more gives 0, and
 * what hangs on it is not believed if the task has let go of it meanwhile.
 */
#include "bpf/kernel/ahead.h"
#include "bpf/kernel/files.h"
#include "bpf/kernel/memory.h"
#include "bpf/kernel/numbers.h"
#include "bpf/kernel/usage.h"
#include "bpf/record.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool namespaced = false;
__u64 reader_namespace = 0;
__u32 reader_level = 0;
const volatile __u32 n_cpus = 0;
__u64 cpu_offsets[CPUS_MAX] = {};

enum {
    KERNEL_PF_EXITING = 0x4,
    KERNEL_PF_KTHREAD = 0x200000,
    KERNEL_RLIMIT_NOFILE = 7,
    KERNEL_EXIT_DEAD = 0x10,
    /* Bits of a task's state that are shown as letters, and of those that are shown as others. */
    KERNEL_TASK_REPORT = 0x7f,
    KERNEL_TASK_UNINTERRUPTIBLE = 0x2,
    KERNEL_TASK_IDLE = 0x402,
    KERNEL_TASK_RTLOCK_WAIT = 0x1000, /* from 5.16 on; before, of 0x800, this is no state */
    KERNEL_TASK_FROZEN = 0x8000,      /* from 6.1 on */
};

static __always_inline __u64 state_bits(const struct task_struct *task)
{
    const struct task_struct___before_5_14 *old = (const void *)task;

    if (bpf_core_field_exists(old->state))
        return (__u64)BPF_CORE_READ(old, state);
    return task->__state;
}

/* As /proc/PID/stat shows it. */
static __always_inline __u32 state_letter(const struct task_struct *task)
{
    __u64 state = state_bits(task), shown = (state | (__u32)task->exit_state) & KERNEL_TASK_REPORT;

    if ((state & KERNEL_TASK_IDLE) == KERNEL_TASK_IDLE)
        return 'I';
    if (state & (KERNEL_TASK_RTLOCK_WAIT | KERNEL_TASK_FROZEN))
        shown |= KERNEL_TASK_UNINTERRUPTIBLE;
    if (shown & 0x40)
        return 'P';
    if (shown & 0x20)
        return 'Z';
    if (shown & 0x10)
        return 'X';
    if (shown & 0x08)
        return 't';
    if (shown & 0x04)
        return 'T';
    if (shown & 0x02)
        return 'D';
    return shown & 0x01 ? 'S' : 'R';
}

static __always_inline __u32 flags_of(const struct task_struct *task)
{
    __u32 flags = 0;

    if (task->flags & KERNEL_PF_KTHREAD)
        flags |= TASK_KERNEL_THREAD;
    if (task->flags & KERNEL_PF_EXITING)
        flags |= TASK_EXITING;
    if (task->exit_state)
        flags |= TASK_DEAD;
    return flags;
}

/* Where a process' memory and descriptors are; they may change hands while they are looked at. */
struct holdings {
    const struct mm_struct *mm;
    const struct files_struct *files;
    struct open_files open;
};

/* A kernel thread may borrow an address space, but has none. */
static __always_inline bool has_memory(const struct task_struct *task, const struct mm_struct *mm)
{
    return mm && !(task->flags & KERNEL_PF_KTHREAD);
}

static __always_inline void take_memory(const struct task_struct *task, const struct mm_struct *mm,
                                        struct process_record *ret)
{
    if (!has_memory(task, mm))
        return;
    if (take_counters(mm, ret))
        ret->flags |= TASK_MEMORY_KNOWN;
    if (task->mm == mm)
        ret->flags |= TASK_HAS_MEMORY;
}

static __always_inline void take_files(const struct task_struct *task,
                                       const struct holdings *holdings, struct process_record *ret)
{
    if (!holdings->files)
        return;
    if (count_files(&holdings->open, &ret->open_fds))
        ret->flags |= TASK_FDS_COUNTED;
    if (task->files == holdings->files)
        ret->flags |= TASK_HAS_FILES;
}

/*
 * What lies in structures of their own, each of which the processor has to wait for. None of these
 * reads needs what another one brings, so all are waited for at once, if nothing comes between.
 */
static __always_inline void take_far(const struct task_struct *task, struct holdings *ret_holdings,
                                     struct process_record *ret)
{
    const struct mm_struct *mm = task->mm;
    const struct files_struct *files = task->files;
    const struct cgroup *cgroup = task->cgroups->dfl_cgrp;

    ret->parent_pid = process_number_of(task->real_parent);
    ret->uid = task->real_cred->euid.val;
    ret->threads = (__u32)task->signal->nr_threads;
    ret->open_fds_limit = task->signal->rlim[KERNEL_RLIMIT_NOFILE].rlim_cur;
    if (has_memory(task, mm)) {
        ret->virtual_pages = mm->total_vm;
        ret->mappings = (__u32)mm->map_count;
    }
    ret_holdings->mm = mm;
    ret_holdings->files = files;
    ret_holdings->open = open_files_of(files);
    ret->cgroup_set = (__u64)task->cgroups;
    ret->cgroup = cgroup->kn->id;
}

static __always_inline void take_thread(const struct task_struct *task, __u32 kind,
                                        struct thread_record *ret)
{
    ret->head.kind = kind;
    ret->head.pid = process_number_of(task);
    ret->head.process = (__u64)task->signal;
    take_ended(task->signal, &ret->ended);
    take_usage(task, &ret->usage);
    take_own(task, &ret->own);
    ret->memory = (__u64)task->mm;
}

static __always_inline void take_process(const struct task_struct *task, __u32 kind,
                                         struct process_record *ret)
{
    struct holdings holdings;

    if (kind == RECORD_PROCESS)
        look_ahead(task);
    take_far(task, &holdings, ret);
    take_thread(task, kind, &ret->task);
    ret->start_ns = task->start_boottime;
    ret->state = state_letter(task);
    ret->flags = flags_of(task);
    take_comm(task, ret->comm);
    take_memory(task, holdings.mm, ret);
    take_files(task, &holdings, ret);
}

/* The reader's namespace is that of the task that reads. */
static __always_inline void learn_namespace(void)
{
    struct task_struct *reader = (struct task_struct *)bpf_get_current_task();
    struct pid *pid = BPF_CORE_READ(reader, thread_pid);
    __u32 level = BPF_CORE_READ(pid, level);
    struct pid_namespace *ns = NULL;

    bpf_probe_read_kernel(&ns, sizeof(ns),
                          (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                              level * bpf_core_type_size(struct upid) +
                              bpf_core_field_offset(struct upid, ns));
    reader_level = level;
    reader_namespace = (__u64)ns;
}

/*
 * Whether it was let go of, by now: then what it used may have been in the sums of its process
 * already. To be asked when all is taken.
 */
static __always_inline bool is_gone(const struct task_struct *task)
{
    asm volatile("" ::: "memory");
    return task->exit_state == KERNEL_EXIT_DEAD;
}

SEC("iter/task")
int walk_tasks(struct bpf_iter__task *ctx)
{
    struct seq_file *seq = ctx->meta->seq;
    const struct task_struct *task = ctx->task;
    struct process_record record = {};

    if (!task)
        return 0;
    if (namespaced && reader_namespace == 0)
        learn_namespace();
    if (task->group_leader == task || task->group_leader->exit_state) {
        take_process(task, task->group_leader == task ? RECORD_PROCESS : RECORD_STAND_IN, &record);
        if (!is_gone(task))
            bpf_seq_write(seq, &record, sizeof(record));
    } else {
        take_thread(task, RECORD_THREAD, &record.task);
        if (!is_gone(task))
            bpf_seq_write(seq, &record.task, sizeof(record.task));
    }
    return 0;
}
