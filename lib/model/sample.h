#pragma once
/*
 * sample - all that one look at one process gave.
 *
 * A plain value that a source fills and the process table consumes. Counters are totals since
 * process start. A field counts only if its bit is in `have_counters` or `have_gauges`: unknown
 * is never zero. Fields without their bit hold leftovers of earlier samples and mean nothing.
 */
#include "model/identity.h"
#include "model/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counter {
#define COUNTER(id, name, part) COUNTER_##id,
#define GAUGE(id, name, part)
#include "model/fields.def"
#undef COUNTER
#undef GAUGE
    COUNTER_N,
};

enum gauge {
#define COUNTER(id, name, part)
#define GAUGE(id, name, part) GAUGE_##id,
#include "model/fields.def"
#undef COUNTER
#undef GAUGE
    GAUGE_N,
};

/* proctally_group_processes_in_state{state} */
enum state {
    STATE_RUNNING,
    STATE_SLEEPING,
    STATE_DISK_SLEEP,
    STATE_STOPPED,
    STATE_ZOMBIE,
    STATE_OTHER, /* idle, parked, tracing stop, dead, and what future kernels show */
    STATE_N,
};

enum {
    /* User processes' comm has at most 15 bytes; the kernel pads workers' names up to 63. */
    SAMPLE_COMM_MAX = 64,
};

#define SAMPLE_UNLIMITED UINT64_MAX

struct sample {
    struct identity identity;
    uint32_t parent_pid;
    uint32_t uid; /* effective; valid if have_uid */
    bool have_uid;
    bool kernel_thread; /* PF_KTHREAD, stat field 9 */
    bool exited_leader; /* the main thread has ended, others live on */
    bool ending;        /* it is a zombie, or about to be one (PF_EXITING) */
    enum state state;
    uint8_t comm_len;
    char comm[SAMPLE_COMM_MAX]; /* raw bytes, not terminated */
    uint32_t have_counters;     /* 1 << enum counter */
    uint32_t have_gauges;       /* 1 << enum gauge */
    uint64_t counter[COUNTER_N];
    uint64_t gauge[GAUGE_N];
    /*
     * CPU time as the scheduler counts it, in ns. Where it is known, the two counters of CPU time
     * only say how it divides.
     */
    bool have_cpu_runtime;
    uint64_t cpu_runtime_ns;
};

static inline void sample_set_counter(struct sample *s, enum counter field, uint64_t value)
{
    s->counter[field] = value;
    s->have_counters |= UINT32_C(1) << field;
}

static inline void sample_set_gauge(struct sample *s, enum gauge field, uint64_t value)
{
    s->gauge[field] = value;
    s->have_gauges |= UINT32_C(1) << field;
}

static inline bool sample_has_counter(const struct sample *s, enum counter field)
{
    return s->have_counters >> field & 1;
}

static inline bool sample_has_gauge(const struct sample *s, enum gauge field)
{
    return s->have_gauges >> field & 1;
}

/* Label values of the tables above, and the part each field is read from. */
const char *counter_name(enum counter field);
const char *gauge_name(enum gauge field);
const char *state_name(enum state state);
enum part counter_part(enum counter field);
enum part gauge_part(enum gauge field);

/* The state that a letter stands for: field 3 of /proc/PID/stat. */
enum state state_of_letter(char letter);

/* The fields that a part holds, as masks of 1 << enum value. */
uint32_t part_counters(enum part part);
uint32_t part_gauges(enum part part);

/* The parts that the wanted ones come to with those of the wanted fields; PART_STAT always is. */
uint32_t parts_wanted(const struct wanted *wanted);

/* The parts of which s lacks at least one wanted field: a mask of 1 << enum part. */
uint32_t sample_lacks(const struct sample *s, const struct wanted *wanted);
