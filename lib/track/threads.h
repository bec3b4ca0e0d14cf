#pragma once
/*
 * threads - the threads that are known, of the processes whose threads are read.
 *
 * A thread is known by its process, its tid and when it started. A cycle is threads_begin(); for
 * each process that is looked at threads_look(), a threads_see() per thread, threads_looked();
 * threads_end(). For one that is not looked at any more, threads_leave(). A cycle that was left has
 * no threads_end(); the next one goes on from where it was.
 *
 * What a total counts for that is seen first: in the first look at a process, nothing, but where
 * threads_are_new() was said before; later, a thread counts in full, since it is new. But the list
 * that the kernel gives may leave out threads while others end (procfs/task.h). So one that began
 * before the first look, or before another that was seen in a look before, was only overlooked, and
 * enters as base; and one that is overlooked goes on from its base for some cycles.
 */
#include "base/map.h"
#include "model/thread.h"
#include "track/delta.h"
#include "track/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread {
    uint32_t tid;
    uint32_t next_free;
    uint64_t start_ticks;
    struct identity process;
    uint64_t seen; /* number of the last cycle it was seen in; 0: the record is free */
    uint32_t have; /* 1 << enum thread_counter that has a base */
    uint32_t name; /* written and read by group/thread_names alone */
    uint64_t highest[THREAD_COUNTER_N];
};

/* Increases since the last look. `known`: 1 << enum thread_counter that has a base now. */
struct thread_delta {
    uint32_t known;
    uint64_t counter[THREAD_COUNTER_N];
};

struct threads {
    uint64_t cycle;         /* counts on in cycles that are left, other than the table's */
    uint64_t finished;      /* the last one that had an end */
    uint64_t tick;          /* when the current one began; 0: not known */
    struct thread *threads; /* in use or free; NULL while there are none */
    size_t n_threads;
    size_t n_used;
    size_t capacity;
    uint32_t first_free;
    struct map by_tid;
    uint64_t steps_back[THREAD_COUNTER_N];

    uint32_t n_seen; /* in the look under way */
};

#define THREADS_NONE UINT32_MAX

void threads_init(struct threads *t);
void threads_deinit(struct threads *t);

/* `tick`: of now, as threads' starts are told; 0: not known. */
void threads_begin(struct threads *t, uint64_t tick);

/* Begins the look at a process. */
void threads_look(struct threads *t, struct process *p);

/* The process began after the last cycle, or all it did since is still to be counted. */
static inline void threads_are_new(struct process *p)
{
    p->thread_looks.all_new = true;
}

/* The record of a thread of the process looked at, or THREADS_NONE. */
uint32_t threads_find(const struct threads *t, const struct process *p,
                      const struct thread_sample *s);

/* Whether the thread of this record was seen in the last cycle that had an end, or since. */
bool threads_was_here(const struct threads *t, uint32_t ref);

/*
 * Takes a thread of the process looked at: finds or makes its record, and says by how much those
 * counters grew. *ret_again: it was seen in this look before. Returns 0 or -ENOMEM (nothing
 * changed). A number is good until threads_end().
 */
int threads_see(struct threads *t, struct process *p, const struct thread_sample *s,
                uint32_t counters, uint32_t *ret_ref, bool *ret_again, struct thread_delta *ret);

/* Ends the look; `whole`: nothing failed on the way. */
void threads_looked(struct threads *t, struct process *p, bool whole);

/* The process is not looked at. The next look is its first. */
static inline void threads_leave(struct process *p)
{
    p->thread_looks = (struct thread_looks){0};
}

/*
 * Ends the cycle: forgets threads that were not seen for long, and gives memory back that was only
 * needed for many more of them. At the same number of threads it leaves the heap alone.
 */
void threads_end(struct threads *t);

/* Drops the bases of these counters (1 << enum thread_counter): nobody wants them any more. */
void threads_forget_counters(struct threads *t, uint32_t counters);

static inline struct thread *threads_thread(const struct threads *t, uint32_t ref)
{
    return &t->threads[ref];
}
