#pragma once
/*
 * tid_status - /proc/PID/task/TID/status, the context switches of one thread.
 *
 * The process' own status has the same keys, but of its main thread alone; pid_status reads what is
 * the process' there, and needs not look that far down.
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

enum tid_status_field {
    TID_STATUS_VOLUNTARY_SWITCHES,   /* voluntary_ctxt_switches: it had to wait */
    TID_STATUS_INVOLUNTARY_SWITCHES, /* nonvoluntary_ctxt_switches: it could have gone on */
    TID_STATUS_FIELD_N,
};

struct tid_status {
    uint32_t have; /* 1 << enum tid_status_field */
    uint64_t field[TID_STATUS_FIELD_N];
    bool malformed; /* a wanted key's value is no number in range; it was left out */
};

/* Any text parses; what it lacks has no bit. */
void tid_status_parse(struct span text, struct tid_status *ret);

/* Reads and parses `status` in `dir`, a thread's directory. */
int tid_status_read(struct procfs *fs, int dir, struct tid_status *ret);

static inline bool tid_status_has(const struct tid_status *s, enum tid_status_field field)
{
    return s->have >> field & 1;
}
