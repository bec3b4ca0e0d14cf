#pragma once
/*
 * thread - all that one look at one thread gave.
 *
 * A plain value that a source fills and lib/track consumes. Counters are totals since the thread
 * began; one without its bit in `have` is not known, and holds leftovers.
 */
#include "model/parts.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stdint.h>

enum thread_counter {
    THREAD_CPU_USER_NS,
    THREAD_CPU_SYSTEM_NS,
    THREAD_RUN_QUEUE_NS, /* ready to run, and waiting for a CPU */
    THREAD_VOLUNTARY_SWITCHES,
    THREAD_INVOLUNTARY_SWITCHES,
    THREAD_COUNTER_N,
};

struct thread_sample {
    uint32_t tid;
    uint64_t start_ticks; /* USER_HZ ticks since boot */
    uint8_t comm_len;
    char comm[SAMPLE_COMM_MAX]; /* raw bytes, not terminated */
    uint32_t have;              /* 1 << enum thread_counter */
    uint64_t counter[THREAD_COUNTER_N];
};

static inline void thread_set_counter(struct thread_sample *s, enum thread_counter field,
                                      uint64_t value)
{
    s->counter[field] = value;
    s->have |= UINT32_C(1) << field;
}

/* The counter of the process that the threads' add up to. */
enum counter thread_counter_of_process(enum thread_counter field);

/* The counters of threads that have to be read for what is wanted: 1 << enum thread_counter. */
uint32_t thread_counters_wanted(const struct wanted *wanted);
