#pragma once
/*
 * pid_smaps - /proc/PID/smaps_rollup (4.14), memory with shared pages divided among their users.
 *
 * The kernel walks all page tables under the target's memory lock for it: half a millisecond per
 * 64 MiB, and the target may wait. Needs the right to ptrace; -ESRCH for kernel threads and
 * zombies.
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

enum pid_smaps_field {
    PID_SMAPS_PSS_BYTES,      /* Pss */
    PID_SMAPS_SWAP_PSS_BYTES, /* SwapPss */
    PID_SMAPS_FIELD_N,
};

struct pid_smaps {
    uint32_t have; /* 1 << enum pid_smaps_field */
    uint64_t field[PID_SMAPS_FIELD_N];
    bool malformed; /* a wanted key's value is no number in range; it was left out */
};

/* Any text parses; what it lacks has no bit. */
void pid_smaps_parse(struct span text, struct pid_smaps *ret);

/* Reads and parses `smaps_rollup` in `dir`. */
int pid_smaps_read(struct procfs *fs, int dir, struct pid_smaps *ret);

static inline bool pid_smaps_has(const struct pid_smaps *s, enum pid_smaps_field field)
{
    return s->have >> field & 1;
}
