#pragma once
/*
 * host - what one cycle knows of the host as a whole.
 *
 * Counters are totals since boot. A field counts only if its bit is in `have`.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of a `cpu` row of /proc/stat, in its order. */
enum cpu_mode {
    CPU_USER,
    CPU_NICE,
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_GUEST,      /* part of user as the kernel counts */
    CPU_GUEST_NICE, /* part of nice as the kernel counts */
    CPU_MODE_N,
};

/* Vectors of the `softirq` line behind its total, in its order. */
enum softirq {
    SOFTIRQ_HI,
    SOFTIRQ_TIMER,
    SOFTIRQ_NET_TX,
    SOFTIRQ_NET_RX,
    SOFTIRQ_BLOCK,
    SOFTIRQ_IRQ_POLL,
    SOFTIRQ_TASKLET,
    SOFTIRQ_SCHED,
    SOFTIRQ_HRTIMER,
    SOFTIRQ_RCU,
    SOFTIRQ_N,
};

enum host_field {
    HOST_BOOT_TIME_SECONDS, /* /proc/stat btime */
    HOST_CONTEXT_SWITCHES,  /* ctxt */
    HOST_INTERRUPTS,        /* first number of intr */
    HOST_TASKS_CREATED,     /* processes: forks and clones, threads too */
    HOST_PROCESSES_RUNNING, /* procs_running */
    HOST_PROCESSES_BLOCKED, /* procs_blocked */
    HOST_TASKS,             /* /proc/loadavg, behind the slash of the fourth field */
    HOST_PID_MAX,
    HOST_THREADS_MAX,
    HOST_OPEN_FILES,       /* first number of file-nr */
    HOST_OPEN_FILES_LIMIT, /* third number of file-nr */
    HOST_MAX_MAP_COUNT,
    HOST_FIELD_N,
};

/*
 * One `cpu` row, in nanoseconds. `columns` says how many modes the kernel printed. As it is read,
 * user and nice hold the guests' time too; in a snapshot it is taken out (track/host_marks.h).
 */
struct cpu_times {
    uint64_t ns[CPU_MODE_N];
    uint32_t columns;
};

struct cpu_row {
    uint32_t cpu; /* the number in the row's name, never its position */
    struct cpu_times times;
};

struct host {
    uint32_t have; /* 1 << enum host_field */
    uint64_t field[HOST_FIELD_N];
    struct cpu_times cpu; /* the `cpu` line; columns 0 if it was not read */
    uint32_t cpus_online; /* rows of CPUs that there were, wanted or not */
    uint32_t softirqs;    /* how many vectors were read */
    uint64_t softirq[SOFTIRQ_N];
    const struct cpu_row *cpus; /* by rising number; not owned */
    size_t n_cpus;
};

static inline void host_set(struct host *h, enum host_field field, uint64_t value)
{
    h->field[field] = value;
    h->have |= UINT32_C(1) << field;
}

static inline bool host_has(const struct host *h, enum host_field field)
{
    return h->have >> field & 1;
}

/* Label values: "user", "iowait" ...; "hi", "net_rx" ... */
const char *cpu_mode_name(enum cpu_mode mode);
const char *softirq_name(enum softirq vector);
