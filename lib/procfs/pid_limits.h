#pragma once
/*
 * pid_limits - /proc/PID/limits: how many descriptors the process may open.
 */
#include "procfs/procfs.h"

#include <stdint.h>

/* Outcomes other than 0 and errors. */
enum {
    PID_LIMITS_NONE = 1, /* there is no such row, or the limit is 0 and no ratio to it exists */
};

/*
 * Takes the soft limit of the row `Max open files`. `unlimited`, -1 and anything from 2^63 on
 * give SAMPLE_UNLIMITED. Returns 0, PID_LIMITS_NONE, or -EBADMSG if the row's value is no number.
 */
int pid_limits_parse(struct span text, uint64_t *ret_open_files);

/* Reads and parses `limits` in `dir`. */
int pid_limits_read(struct procfs *fs, int dir, uint64_t *ret_open_files);
