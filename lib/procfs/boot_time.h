#pragma once
/*
 * boot_time - when the host was booted, by its wall clock; read once and kept.
 *
 * /proc/stat costs the kernel milliseconds on large machines, and the time of boot changes only
 * when the wall clock is set. Whoever is told of that calls boot_time_forget().
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts zeroed. 0 seconds is a valid time: what a board without a clock says. */
struct boot_time {
    bool known;
    uint64_t seconds; /* since the epoch; valid if known */
};

/*
 * Reads the time of boot unless it is known. Returns 0, and b->known is set; -ENODATA if
 * /proc/stat has no btime line or its value is no number, -ENOENT without the file, or another
 * negative errno: *b is untouched then and the next call tries again.
 */
int boot_time_read(struct boot_time *b, struct procfs *fs);

static inline void boot_time_forget(struct boot_time *b)
{
    b->known = false;
}
