#pragma once
/*
 * take_bpf - processes of a cycle, as the kernel counts them.
 *
 * Text is read of those alone of which something else is due: what the prober reads, control groups
 * that are new, and the little that the kernel's programs could not tell.
 */
#include "daemon/cycle.h"

#ifdef PROCTALLY_WITH_BPF

/*
 * Reads and counts all processes. Returns 0, -EMFILE, -ENFILE or -ENOMEM; or -EPROTO if the source
 * failed, which is no fault of the cycle: another one has to be taken.
 */
int take_bpf_processes(struct cycle *c);

/*
 * Counts what ended since the last cycle: last totals of those that were seen, and all that others
 * did that came and went. After the processes of the cycle were taken, since parents and control
 * groups of the latter may be as new as they were. Returns 0 or -ENOMEM, and what was not counted
 * stays for the next cycle.
 */
int take_bpf_ends(struct cycle *c);

#else

/* Without it there is never such a source. */
static inline int take_bpf_processes(struct cycle *c)
{
    (void)c;
    return 0;
}

static inline int take_bpf_ends(struct cycle *c)
{
    (void)c;
    return 0;
}

#endif
