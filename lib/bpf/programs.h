#pragma once
/*
 * programs - the programs in the kernel: loaded, attached, asked.
 *
 * One value per process, used by one thread at a time. To load takes CAP_BPF and CAP_PERFMON, to
 * begin a walk CAP_BPF below 5.19 and nothing from then on; what is loaded stays until
 * programs_free(), whatever is dropped meanwhile.
 */
#include "bpf/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct programs;

/* Why there are none. */
enum programs_failure {
    PROGRAMS_NO_BTF,  /* the kernel does not describe its structures (CONFIG_DEBUG_INFO_BTF) */
    PROGRAMS_DENIED,  /* bpf(2) is not permitted: capabilities, seccomp, lockdown */
    PROGRAMS_REFUSED, /* the kernel is too old, or lacks what they need */
    PROGRAMS_NO_MEMORY,
};

/*
 * Loads the programs and begins to note ends. Returns 0, or a negative errno with the reason in
 * *ret_failure.
 */
int programs_load(struct programs **ret, enum programs_failure *ret_failure);
void programs_free(struct programs *p);

/*
 * Whether programs that are loaded from now on, by anyone in this process, may cast (kernel/cast.h)
 * where the kernel lets them, as they do unless told otherwise. Those that do not tell the same and
 * take longer: for tests.
 */
void programs_use_casts(bool use);

/*
 * Begins to note ends of tasks, and control groups that are made; or goes on after
 * programs_pause(). Returns 0 or a negative errno.
 */
int programs_resume(struct programs *p);

/* Notes nothing more until programs_resume(); all stays loaded. What was noted can be drained. */
void programs_pause(struct programs *p);

/*
 * Begins a walk over all tasks of the caller's pid namespace. Returns a descriptor to read records
 * from (record.h) up to its end, or a negative errno.
 */
int programs_walk(struct programs *p);

/* How large reads of a walk are best, in bytes: what the kernel hands out at once. */
enum { PROGRAMS_READ_SIZE = 32 * 1024 };

/*
 * Hands all that was noted so far to the function, in the order it came in. Bytes are good until it
 * returns.
 */
typedef void programs_record_function(void *arg, const void *bytes, size_t n);
void programs_drain(struct programs *p, programs_record_function *function, void *arg);

/* Who is asked of tasks that exited, and given those that are over, as they were at their exit. */
struct programs_sweeper {
    bool (*is_over)(void *arg, const struct process_end *end);
    void (*take)(void *arg, const struct process_end *end);
    void *arg;
};

/*
 * Goes through the tasks that exited before `before_ns` (monotonic), and whose end was not told
 * since. One that is over is given to the sweeper, unless it was told meanwhile: its end is not
 * told any more. One that is not is asked about again, not before as much time has passed again.
 * Does nothing where the kernel does not let us (5.10 without CAP_BPF).
 */
void programs_sweep(struct programs *p, uint64_t now_ns, uint64_t before_ns,
                    const struct programs_sweeper *sweeper);

/* A descriptor that polls readable when it is time to drain. */
int programs_ring_fd(const struct programs *p);

/* Ends that there was no room for, ever. */
uint64_t programs_lost(const struct programs *p);

/* Version of the library that loads them, as it calls itself; static. */
const char *programs_library_version(void);
