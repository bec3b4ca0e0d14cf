#pragma once
/*
 * cpu_split - CPU time that is known exactly, divided into user and system by figures that are not.
 *
 * The scheduler's sum is in nanoseconds; what of it was in user space the kernel knows by ticks
 * alone, which is how /proc/PID/stat divides it too. The ratio wanders, so either part could fall
 * while the sum rises: none goes below what it was before.
 */
#include <stdint.h>

struct cpu_parts {
    uint64_t user_ns;
    uint64_t system_ns;
};

/*
 * Divides runtime_ns as `ticks` are divided. Neither part is below `before`, and their sum is
 * runtime_ns, unless that is less than the sum before: then it is as before.
 */
struct cpu_parts cpu_split(uint64_t runtime_ns, struct cpu_parts ticks, struct cpu_parts before);
