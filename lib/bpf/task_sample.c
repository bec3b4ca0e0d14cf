/* task_sample - what the kernel told of a process, as a sample. */
#include "bpf/task_sample.h"

#include "bpf/usage.h"

#include <string.h>

static uint64_t ticks_of(uint64_t ns, uint32_t per_second)
{
    return ns / (1000000000u / per_second);
}

static void set_comm(struct sample *s, const char comm[TASK_COMM_SIZE])
{
    s->comm_len = (uint8_t)strnlen(comm, TASK_COMM_SIZE);
    memcpy(s->comm, comm, s->comm_len);
}

static void set_usage(struct sample *s, const struct task_usage *usage)
{
    s->have_cpu_runtime = true;
    s->cpu_runtime_ns = usage->runtime_ns;
    sample_set_counter(s, COUNTER_CPU_USER_NS, usage->user_ns);
    sample_set_counter(s, COUNTER_CPU_SYSTEM_NS, usage->system_ns);
    sample_set_counter(s, COUNTER_MINOR_FAULTS, usage->minor_faults);
    sample_set_counter(s, COUNTER_MAJOR_FAULTS, usage->major_faults);
    sample_set_counter(s, COUNTER_VOLUNTARY_SWITCHES, usage->voluntary_switches);
    sample_set_counter(s, COUNTER_INVOLUNTARY_SWITCHES, usage->involuntary_switches);
}

static void set_own(struct sample *s, const struct task_own *own)
{
    static const enum counter counters[TASK_IO_N] = {
        [TASK_IO_READ_CHARS] = COUNTER_SYSCALL_READ_BYTES,
        [TASK_IO_WRITE_CHARS] = COUNTER_SYSCALL_WRITE_BYTES,
        [TASK_IO_READ_SYSCALLS] = COUNTER_READ_SYSCALLS,
        [TASK_IO_WRITE_SYSCALLS] = COUNTER_WRITE_SYSCALLS,
        [TASK_IO_READ_BYTES] = COUNTER_STORAGE_READ_BYTES,
        [TASK_IO_WRITE_BYTES] = COUNTER_STORAGE_WRITE_BYTES,
        [TASK_IO_CANCELLED_WRITE_BYTES] = COUNTER_CANCELLED_WRITE_BYTES,
    };

    sample_set_counter(s, COUNTER_RUN_QUEUE_NS, own->run_queue_ns);
    for (size_t i = 0; i < TASK_IO_N; i++)
        sample_set_counter(s, counters[i], own->io[i]);
}

static void clear(struct sample *s)
{
    s->have_counters = s->have_gauges = 0;
    s->exited_leader = s->kernel_thread = s->ending = false;
}

/* Without an address space there is nothing in it, and that is known. */
static void set_memory(struct sample *s, const struct process_record *r, uint64_t page_size)
{
    bool has = r->flags & TASK_HAS_MEMORY;

    sample_set_gauge(s, GAUGE_VIRTUAL_BYTES, has ? r->virtual_pages * page_size : 0);
    sample_set_gauge(s, GAUGE_MAPPINGS, has ? r->mappings : 0);
    if (!has)
        sample_set_gauge(s, GAUGE_PROPORTIONAL_BYTES, 0);
    if (has && !(r->flags & TASK_MEMORY_KNOWN))
        return;
    sample_set_gauge(s, GAUGE_RESIDENT_ANON_BYTES, has ? r->anon_pages * page_size : 0);
    sample_set_gauge(s, GAUGE_RESIDENT_FILE_BYTES, has ? r->file_pages * page_size : 0);
    sample_set_gauge(s, GAUGE_RESIDENT_SHMEM_BYTES, has ? r->shmem_pages * page_size : 0);
    sample_set_gauge(s, GAUGE_SWAP_BYTES, has ? r->swap_pages * page_size : 0);
    sample_set_gauge(s, GAUGE_PEAK_RESIDENT_BYTES, has ? r->peak_pages * page_size : 0);
}

static void set_gauges(struct sample *s, const struct process_record *r, bool leader_lives,
                       uint64_t page_size)
{
    if (r->threads > 0)
        sample_set_gauge(s, GAUGE_THREADS, r->threads);
    sample_set_gauge(s, GAUGE_OPEN_FDS_LIMIT, r->open_fds_limit);
    /* Of an exited leader whose threads were all missed, neither is known. */
    if (!leader_lives && !s->exited_leader && r->threads > 1)
        return;
    set_memory(s, r, page_size);
    if (!(r->flags & TASK_HAS_FILES))
        sample_set_gauge(s, GAUGE_OPEN_FDS, 0);
    else if (r->flags & TASK_FDS_COUNTED)
        sample_set_gauge(s, GAUGE_OPEN_FDS, r->open_fds);
}

void task_sample(const struct look *look, const struct task_own *ended,
                 const struct task_units *units, struct sample *ret)
{
    const struct process_record *r = &look->record;
    struct task_own own = look->own;

    if (ended)
        task_own_add(&own, ended);
    clear(ret);
    ret->identity = (struct identity){
        .pid = r->task.head.pid, .start_ticks = ticks_of(r->start_ns, units->ticks_per_second)};
    ret->parent_pid = r->parent_pid;
    ret->uid = r->uid;
    ret->have_uid = true;
    ret->kernel_thread = r->flags & TASK_KERNEL_THREAD;
    ret->exited_leader = look->has_stand_in;
    ret->ending = r->flags & (TASK_EXITING | TASK_DEAD);
    ret->state = state_of_letter((char)r->state);
    set_comm(ret, r->comm);
    set_usage(ret, &look->usage);
    set_own(ret, &own);
    set_gauges(ret, r, !(r->flags & TASK_DEAD), units->page_size);
}

void task_sample_end(const struct process_ended *end, const struct task_units *units,
                     struct sample *ret)
{
    const struct process_end *e = &end->end;

    clear(ret);
    ret->identity = (struct identity){
        .pid = e->task.head.pid, .start_ticks = ticks_of(e->start_ns, units->ticks_per_second)};
    ret->parent_pid = e->parent_pid;
    ret->uid = e->uid;
    ret->have_uid = true;
    ret->kernel_thread = e->task.flags & TASK_KERNEL_THREAD;
    ret->ending = true;
    ret->state = STATE_ZOMBIE;
    set_comm(ret, e->comm);
    set_usage(ret, &e->usage);
    set_own(ret, &e->task.own);
}
