#pragma once
/*
 * task_sample - what the kernel told of a process, as a sample.
 *
 * The CPU time is the scheduler's sum, in `cpu_runtime_ns`; how it divides into user and system
 * the process table decides, for that must not fall either. Every other field that could be read
 * has its bit. Lacking are open descriptors of more than some thousands, counters of memory on more
 * than 1024 CPUs, and what no walk can know: PSS, and all text.
 */
#include "bpf/ends.h"
#include "bpf/gather.h"
#include "bpf/record.h"
#include "model/sample.h"

struct task_units {
    uint32_t ticks_per_second; /* USER_HZ */
    uint32_t page_size;
};

/* `ended`: what threads did that have ended, or NULL. */
void task_sample(const struct look *look, const struct task_own *ended,
                 const struct task_units *units, struct sample *ret);

/* Of a process that has ended: its last totals, and no gauges. */
void task_sample_end(const struct process_ended *end, const struct task_units *units,
                     struct sample *ret);
