#pragma once
/*
 * parts - what a cycle is asked to read, and what a process can lack.
 *
 * A part is one source file of a process as metrics name it (label `part`). Which parts are
 * wanted follows from the families that are on; see families.def.
 */
#include <stdint.h>

enum part {
    PART_STAT,
    PART_STATUS,
    PART_IO,
    PART_FD,
    PART_LIMITS,
    PART_EXE,
    PART_CMDLINE,
    PART_MAPS,
    PART_SMAPS,
    PART_TASK, /* stat, status and schedstat of each thread */
    PART_N,
};

/* Files of the host, each wanted or not. */
enum host_part {
    HOST_PART_STAT,          /* /proc/stat */
    HOST_PART_CPUS,          /* its per-CPU rows too */
    HOST_PART_LOADAVG,       /* /proc/loadavg */
    HOST_PART_PID_MAX,       /* /proc/sys/kernel/pid_max */
    HOST_PART_THREADS_MAX,   /* /proc/sys/kernel/threads-max */
    HOST_PART_FILE_NR,       /* /proc/sys/fs/file-nr */
    HOST_PART_MAX_MAP_COUNT, /* /proc/sys/vm/max_map_count */
    HOST_PART_N,
};

/* What the enabled families need, as masks of 1 << enum value. */
struct wanted {
    uint32_t parts;      /* enum part */
    uint32_t counters;   /* enum counter */
    uint32_t gauges;     /* enum gauge */
    uint32_t host_parts; /* enum host_part */
    uint32_t threads;    /* enum thread_counter, by the names of threads */
};

/* The label value of a part, such as "smaps". */
const char *part_name(enum part part);

static inline uint32_t part_bit(enum part part)
{
    return UINT32_C(1) << part;
}

static inline uint32_t host_part_bit(enum host_part part)
{
    return UINT32_C(1) << part;
}
