#pragma once
/*
 * tid_schedstat - /proc/PID/task/TID/schedstat, how long one thread ran and how long it waited.
 *
 * Three numbers: nanoseconds on a CPU, nanoseconds ready to run and waiting for one, and how often
 * it got one. A kernel that keeps no account writes three zeros.
 */
#include "procfs/procfs.h"

#include <stdint.h>

/* The thread never got a CPU, or the kernel does not count: nothing is known. */
enum { TID_SCHEDSTAT_UNKNOWN = 1 };

/*
 * Parses the one line into the time spent waiting for a CPU. Returns 0, TID_SCHEDSTAT_UNKNOWN, or
 * -EBADMSG.
 */
int tid_schedstat_parse(struct span text, uint64_t *ret_run_queue_ns);

/* Reads and parses `schedstat` in `dir`, a thread's directory. */
int tid_schedstat_read(struct procfs *fs, int dir, uint64_t *ret_run_queue_ns);
