#pragma once
/*
 * pid_stat - /proc/PID/stat, the one file that every process has.
 *
 * Numbers in brackets are the fields of proc(5).
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

enum pid_stat_field {
    PID_STAT_MINOR_FAULTS,  /* (10) minflt */
    PID_STAT_MAJOR_FAULTS,  /* (12) majflt */
    PID_STAT_USER_NS,       /* (14) utime */
    PID_STAT_SYSTEM_NS,     /* (15) stime */
    PID_STAT_THREADS,       /* (20) num_threads; 0 where the kernel could not tell */
    PID_STAT_VIRTUAL_BYTES, /* (23) vsize; 0 without an address space */
    PID_STAT_FIELD_N,
};

struct pid_stat {
    struct span comm;     /* (2) without its parentheses; any bytes; points into the text */
    char state;           /* (3) */
    uint32_t parent_pid;  /* (4) ppid; 0 for the first, and for those of another namespace */
    bool kernel_thread;   /* (9) flags has PF_KTHREAD */
    bool exiting;         /* (9) flags has PF_EXITING */
    uint64_t start_ticks; /* (22) starttime, ticks since boot */
    uint32_t have;        /* 1 << enum pid_stat_field */
    uint64_t field[PID_STAT_FIELD_N];
    bool malformed; /* a field was left out for its number is none, or 2^63 or more */
};

/*
 * Parses a whole record. comm runs from the first `(` to the last `)`. Fields behind the 24th may
 * be there or not (44 in 2.6.33, 52 since 3.5). Returns 0; or -EBADMSG, and *ret means nothing,
 * if the record is cut before the 24th field, or its state, ppid or starttime is no number in
 * range.
 */
int pid_stat_parse(struct span text, uint32_t ticks_per_second, struct pid_stat *ret);

/*
 * Reads and parses `stat` in `dir`, a process's directory or one of its threads'. Also -ESRCH
 * if the file is empty: that is what is left of a process between its end and its last look-up.
 */
int pid_stat_read(struct procfs *fs, int dir, struct pid_stat *ret);

static inline bool pid_stat_has(const struct pid_stat *s, enum pid_stat_field field)
{
    return s->have >> field & 1;
}

/* Whether the state says that this thread has ended: Z, X and, of 2.6.33 to 3.13, x. */
static inline bool pid_stat_is_dead(const struct pid_stat *s)
{
    return s->state == 'Z' || s->state == 'X' || s->state == 'x';
}
