#pragma once
/*
 * host_marks - the host's counters, held so that none falls and none jumps.
 *
 * /proc/stat's idle and iowait step back by themselves, and guest time is taken out of user by a
 * subtraction of two sums. A step back adds 0, and the highest value seen stays the base.
 *
 * Idle and iowait of a CPU may begin anew when it comes back from being offline: its idle time is
 * lower by more than three seconds then. In the CPU's own row that shows, and Prometheus takes it
 * for the reset it is. A CPU that left is remembered, for what else may be a little lower when it
 * is back.
 *
 * The host's sums must not fall with one CPU's; and while a CPU is offline, they have its idle time
 * from another account of the kernel's, which may be hours away either way. So where these fall by
 * more than three seconds, or rise by more than the time that passed can give, that step adds 0,
 * and they go on from there.
 *
 * Counts of 32 bits that the kernel lets wrap around go on beyond.
 */
#include "base/buf.h"
#include "base/span.h"
#include "model/host.h"

#include <stddef.h>
#include <stdint.h>

/* What a counter stands at. */
struct mark {
    uint64_t base; /* in the kernel's count: the highest since it went on last */
    uint64_t shown;
};

struct cpu_mark {
    uint32_t cpu;
    uint32_t columns; /* known ones */
    struct mark mode[CPU_MODE_N];
};

struct host_marks {
    struct mark field[HOST_FIELD_N];
    struct mark softirq[SOFTIRQ_N];
    struct cpu_mark cpu;
    uint32_t cpus_online; /* when `cpu` was held last, and when that was; 0: no clock */
    uint64_t held_ns;
    struct cpu_mark *cpus; /* by rising number, all that ever were */
    size_t n_cpus, capacity;
    struct cpu_row *rows; /* what is shown */
    size_t rows_capacity;
};

void host_marks_init(struct host_marks *m);
void host_marks_deinit(struct host_marks *m);

/*
 * Takes guest out of user and guest_nice out of nice, and puts what it stands at in the place of
 * every counter of h. now_ns: when h was read, monotonic; 0 if it is not of the running kernel, so
 * that no clock says by how much it may rise. h->cpus points into m afterwards, valid until the
 * next call. Returns 0 or -ENOMEM (h has no per-CPU rows then, all else is held).
 */
int host_marks_hold(struct host_marks *m, struct host *h, uint64_t now_ns);

/*
 * Appends the marks to out for a daemon that comes after this one, so that what stepped back, or
 * went on from elsewhere, does not fall over a restart. Rows of CPUs are not in it: they show what
 * the kernel has, but for little steps.
 */
void host_marks_encode(const struct host_marks *m, struct buf *out);

/*
 * Takes such marks off the front of *bytes, which may be anything: *ret, inited, goes on from them.
 * Returns 0, or -EBADMSG (nothing was taken) if they are none. Those of a version that knows other
 * counters are passed over.
 */
int host_marks_decode(struct span *bytes, struct host_marks *ret);
