#pragma once
/*
 * pid_status - /proc/PID/status, the memory by kind and the user.
 *
 * The Vm and Rss keys are there only for a process with an address space: not for kernel threads
 * and zombies. Reduced kernels leave out more.
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

enum pid_status_field {
    PID_STATUS_UID,            /* Uid, second number: the effective one */
    PID_STATUS_PEAK_BYTES,     /* VmHWM */
    PID_STATUS_RESIDENT_BYTES, /* VmRSS */
    PID_STATUS_ANON_BYTES,     /* RssAnon, 4.5 */
    PID_STATUS_FILE_BYTES,     /* RssFile, 4.5 */
    PID_STATUS_SHMEM_BYTES,    /* RssShmem, 4.5 */
    PID_STATUS_SWAP_BYTES,     /* VmSwap, 2.6.34 */
    PID_STATUS_THREADS,        /* Threads */
    PID_STATUS_FIELD_N,
};

struct pid_status {
    uint32_t have; /* 1 << enum pid_status_field */
    uint64_t field[PID_STATUS_FIELD_N];
    bool malformed; /* a wanted key's value is no number in range; it was left out */
};

/*
 * Any text parses; what it lacks has no bit. The number of threads, which comes far behind all
 * else, is looked for only if it is wanted.
 */
void pid_status_parse(struct span text, bool threads, struct pid_status *ret);

/* Reads and parses `status` in `dir`, a process's directory or one of its threads'. */
int pid_status_read(struct procfs *fs, int dir, bool threads, struct pid_status *ret);

static inline bool pid_status_has(const struct pid_status *s, enum pid_status_field field)
{
    return s->have >> field & 1;
}
