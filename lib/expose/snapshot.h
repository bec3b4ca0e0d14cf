#pragma once
/*
 * snapshot - the immutable values of one cycle.
 *
 * Built by the collector in an arena and never changed after: renderers on other threads read it
 * without a lock. Everything it points to lives in that arena or for ever.
 */
#include "base/arena.h"
#include "base/span.h"
#include "expose/selection.h"
#include "group/group_values.h"
#include "group/thread_values.h"
#include "model/host.h"
#include "model/self.h"

#include <stddef.h>
#include <stdint.h>

/* A group's threads of one name. */
struct snapshot_thread {
    struct span label;        /* `thread="..."`, escaped */
    struct span label_user;   /* the same and `,mode="user"` */
    struct span label_system; /* or `,mode="system"` */
    struct thread_values values;
};

struct snapshot_group {
    struct span name;  /* valid UTF-8 */
    struct span label; /* the same as `group="..."`, escaped for both text formats */
    struct span info;  /* `unit="...",container="...",pod="..."`, likewise; empty: nobody asks */
    struct group_values values;
    struct snapshot_thread *threads; /* in the order they are shown */
    size_t n_threads;                /* 0 where threads are not read */
};

/* A process that has series of its own. Counters are totals since its start. */
struct snapshot_process {
    struct span labels;     /* `pid="...",comm="...",group="..."`, escaped for both text formats */
    uint64_t start_ns;      /* since the epoch; 0: not known */
    uint32_t have_counters; /* 1 << enum counter */
    uint32_t have_gauges;   /* 1 << enum gauge */
    uint64_t counter[COUNTER_N];
    uint64_t gauge[GAUGE_N];
};

struct snapshot {
    uint64_t sequence; /* 1 for the first one published */
    bool up;           /* proctally_up; false: the self families alone */
    struct selection families;
    struct host host;
    struct self self;
    struct snapshot_group *groups; /* in the order they are shown */
    size_t n_groups;
    struct snapshot_process *processes; /* in the order they are shown */
    size_t n_processes;
};

/*
 * A group's label as snapshot_group wants it: `group="name"`, escaped, allocated in the arena. An
 * empty span if the arena is latched.
 */
struct span snapshot_label(struct arena *a, struct span name);

/* What members have in common, as snapshot_group wants it; the values are valid UTF-8. */
struct span snapshot_group_info(struct arena *a, struct span unit, struct span container,
                                struct span pod);

/* The labels of a process as snapshot_process wants them; comm and group are valid UTF-8. */
struct span snapshot_process_labels(struct arena *a, uint32_t pid, struct span comm,
                                    struct span group);

/* The same of threads of this name: all labels of *ret, empty if the arena is latched. */
void snapshot_thread_labels(struct arena *a, struct span name, struct snapshot_thread *ret);
