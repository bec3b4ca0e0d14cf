#pragma once
/*
 * group_values - what one group shows in one snapshot: plain numbers, ready to be rendered.
 *
 * Counters never fall over a group's life and begin at 0. A number is known only if its bit is in
 * `have_counters` or `have_gauges`; an empty group knows that its sums are 0.
 */
#include "model/sample.h"

#include <stdbool.h>
#include <stdint.h>

/* proctally_group_exited_total{reason}. The procfs source knows only that they ended. */
enum exit_reason {
    EXIT_REASON_SUCCESS,
    EXIT_REASON_FAILURE,
    EXIT_REASON_TERMINATED,
    EXIT_REASON_KILLED,
    EXIT_REASON_CRASHED,
    EXIT_REASON_OOM,
    EXIT_REASON_UNKNOWN,
    EXIT_REASON_N,
};

/* A group's counters: those of its processes first, under the same numbers, then its own. */
enum group_counter {
    GROUP_COUNTER_STARTED = COUNTER_N,
    GROUP_COUNTER_RESTARTS,
    GROUP_COUNTER_EXITED, /* the first of EXIT_REASON_N */
    GROUP_COUNTER_N = GROUP_COUNTER_EXITED + EXIT_REASON_N,
};

struct group_values {
    uint32_t have_counters; /* 1 << enum group_counter */
    uint32_t have_gauges;   /* 1 << enum gauge */
    uint64_t counter[GROUP_COUNTER_N];
    /* Sums over members, but GAUGE_PEAK_RESIDENT_BYTES: the largest; GAUGE_OPEN_FDS_LIMIT: unused.
     */
    uint64_t gauge[GAUGE_N];

    uint64_t processes;
    uint64_t state[STATE_N];
    uint64_t zombie_children; /* zombies whose parent is a member */
    uint64_t unread[PART_N];  /* members that lack a wanted field of the part */

    /* Start of the oldest and the newest member, ns since the epoch; 0: not known, or no member. */
    uint64_t oldest_start_ns;
    uint64_t newest_start_ns;

    /* The member nearest to its limit; negative: none is known. */
    double worst_fds_ratio;
    double worst_mappings_ratio;
};

/* Label values, such as "crashed". */
const char *exit_reason_name(enum exit_reason reason);
