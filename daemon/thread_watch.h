#pragma once
/*
 * thread_watch - reads the threads of processes whose group is listed for it, and counts them.
 *
 * A part of the cycle: thread_watch_begin(), thread_watch_take() for each process that was placed
 * into its group and added to it, thread_watch_end() after groups_end(). A cycle that is left has
 * no end, and nothing is lost or counted twice by that. Where no group is listed, or no family
 * wants threads, nothing below task/ is opened.
 */
#include "base/arena.h"
#include "expose/snapshot.h"
#include "group/group.h"
#include "group/thread_names.h"
#include "model/faults.h"
#include "procfs/procfs.h"
#include "track/threads.h"

#include <stdbool.h>
#include <stdint.h>

/* What is borrowed: the cycle's. */
struct thread_watch_parts {
    struct procfs *procfs;
    struct groups *groups;
    struct faults *faults;
};

struct thread_watch {
    struct thread_watch_parts parts;
    struct threads threads;
    struct thread_names names;
    bool wanted;       /* some family shows threads */
    uint32_t counters; /* of them, 1 << enum thread_counter */
    uint32_t by_name;  /* those shown by name */
};

void thread_watch_init(struct thread_watch *w, const struct thread_watch_parts *parts);
void thread_watch_deinit(struct thread_watch *w);

/* Between two cycles: what the families want. Counters that are new begin at 0. */
void thread_watch_configure(struct thread_watch *w, const struct wanted *wanted);

/* `tick`: when the cycle began, in ticks since boot; 0: not known. */
void thread_watch_begin(struct thread_watch *w, uint64_t tick);

/* Whether thread_watch_take() will read the process: if not, the procfs need not have it begun. */
bool thread_watch_looks(const struct thread_watch *w, const struct process *p,
                        struct decision before);

/*
 * Reads the threads of the process that the procfs has begun and that was placed, if its group is
 * listed, or the one it was in `before`: that is where counts what was used up to now (standing
 * NONE: the process was not there). All of one that is new counts, also when it was pending for a
 * while. Returns 0, or -EMFILE, -ENFILE, -ENOMEM. *ret_lacks: part_bit(PART_TASK) if some of what
 * is wanted could not be read, else 0.
 */
int thread_watch_take(struct thread_watch *w, struct process *p, struct decision before,
                      uint32_t *ret_lacks);

/* now_ns is monotonic, not 0. */
void thread_watch_end(struct thread_watch *w, uint64_t now_ns);

/* Whether threads of any group are read. */
bool thread_watch_reads(const struct thread_watch *w);

/* Adds the threads of a group to its row of a snapshot. Returns 0 or -ENOMEM. */
int thread_watch_snapshot(struct thread_watch *w, uint32_t group,
                          const struct groups_moment *moment, struct arena *arena,
                          struct snapshot_group *ret);

/* Adds the steps back of threads to those of processes. */
void thread_watch_add_steps_back(const struct thread_watch *w, uint64_t counts[static COUNTER_N]);
