#pragma once
/*
 * thread_names - what the threads of a group used, by their names, in totals that never fall.
 *
 * A cycle is thread_names_begin(), for each thread thread_names_get(), thread_names_take() and
 * thread_names_count(), and thread_names_end() after groups_end(). A cycle that was left ends with
 * nothing: totals keep what was added.
 *
 * Names are referred to by number, good as long as a thread has the name, and through the cycle in
 * which the last one was counted. A group has THREAD_NAMES_MAX of them and `_other`, to which
 * threads belong as long as there is no room for their own. A name without threads leaves after
 * the time that an empty group does, and all of them with their group, or when its threads are no
 * longer read.
 */
#include "base/span.h"
#include "group/group.h"
#include "group/thread_values.h"
#include "track/threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THREAD_NAMES_MAX = 50,
    /* Of every byte of a comm, U+FFFD may be left. */
    THREAD_NAME_SIZE = 3 * SAMPLE_COMM_MAX,
};

struct thread_name {
    bool used;
    uint8_t name_len;
    uint32_t group;
    char name[THREAD_NAME_SIZE]; /* a valid label value */
    uint64_t threads;            /* of the current cycle */
    uint64_t empty_since_ns;     /* monotonic; 0: has threads */
    uint32_t known;              /* 1 << enum thread_counter that some thread ever had */
    uint64_t total[THREAD_COUNTER_N];
    struct group_series series[THREAD_COUNTER_N];
};

struct thread_names {
    struct thread_name *names; /* in use or free; NULL while there are none */
    size_t n_names;
    size_t capacity;
    uint32_t *order; /* numbers of the used ones, by group and name */
    size_t n_order;
};

#define THREAD_NAME_NONE UINT32_MAX

void thread_names_init(struct thread_names *n);
void thread_names_deinit(struct thread_names *n);

void thread_names_begin(struct thread_names *n);

/*
 * The name of a thread with this comm in the group, made if there is room, else `_other`. `likely`:
 * a name it may be, such as the thread's last one, or THREAD_NAME_NONE. Returns 0 or -ENOMEM.
 */
int thread_names_get(struct thread_names *n, uint32_t group, struct span comm, uint32_t likely,
                     uint32_t *ret);

/* Adds what a thread used while it had the name. */
void thread_names_take(struct thread_names *n, uint32_t name, const struct thread_delta *delta);

/* A thread that is there has the name. */
static inline void thread_names_count(struct thread_names *n, uint32_t name)
{
    n->names[name].threads++;
}

/* Ends a cycle: names of groups that are no more, or are long empty, leave. now_ns is not 0. */
void thread_names_end(struct thread_names *n, const struct groups *g, uint64_t now_ns);

/* Drops the totals of these counters (1 << enum thread_counter). They begin at 0 again. */
void thread_names_forget_counters(struct thread_names *n, uint32_t counters);

/* The names of a group in their order: `order` from *ret on. Returns how many. */
size_t thread_names_of(const struct thread_names *n, uint32_t group, size_t *ret);

/* What the name shows in the snapshot of this moment; mode as of its group. */
void thread_names_values(struct thread_names *n, uint32_t name, enum groups_mode mode,
                         const struct groups_moment *moment, struct thread_values *ret);

static inline struct span thread_names_name(const struct thread_names *n, uint32_t name)
{
    return span_of(n->names[name].name, n->names[name].name_len);
}
