#pragma once
/*
 * clock - the only reader of clocks. All times are nanoseconds; everything else gets them as
 * values.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Since the epoch; jumps when the clock is set. */
uint64_t clock_realtime_ns(void);
/* Since some point in the past; never jumps, stands still in suspend. */
uint64_t clock_monotonic_ns(void);
/* Since boot, suspend included: the clock of stat field 22. */
uint64_t clock_boottime_ns(void);
/* CPU time of this process, all threads. */
uint64_t clock_process_cpu_ns(void);

/* CPU time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);

/* The clock of the calling thread's CPU time, for others to look at as long as it lives. */
clockid_t clock_of_thread(void);
uint64_t clock_other_cpu_ns(clockid_t of_thread);

/*
 * A descriptor by which clock_was_set() tells whether the wall clock was set, or -errno. A kernel
 * without it (-EINVAL) leaves times of start where they were first seen.
 */
int clock_watch_open(void);

/* Whether the wall clock was set since the last call, or since the watch was opened. */
bool clock_was_set(int watch);
