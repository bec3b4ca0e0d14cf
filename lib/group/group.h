#pragma once
/*
 * group - the groups, their members of the current cycle, and totals that never fall.
 *
 * A cycle is groups_begin(); groups_place() (of membership.h) and groups_add() for each process the
 * table saw; groups_place_ended() and groups_exit() for each that ended; groups_end(). A cycle that
 * was left ends with nothing: the next groups_begin() drops what it gathered, while totals keep
 * what was added.
 *
 * Groups are referred to by number. Fixed names have their groups from groups_set_rules() on, and
 * keep them as long as the rules name them. Others come with their first member and leave when
 * they were empty for `forget`; at most `max` of them exist, what comes beyond goes to `_other`.
 */
#include "base/buf.h"
#include "base/globs.h"
#include "base/map.h"
#include "base/utf8.h"
#include "group/group_values.h"
#include "group/held.h"
#include "group/rule.h"
#include "track/delta.h"
#include "track/table.h"
#include "track/threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How far a counter series of a group is on its way to the page. rate() and increase() ignore the
 * first sample of a series, so it appears at 0, and what it counted follows when that 0 was
 * scraped, or after a minute.
 */
struct group_series {
    uint64_t shown_in;    /* sequence of the snapshot that held the 0; 0: not on the page yet */
    uint64_t shown_at_ns; /* monotonic */
    bool released;
};

/* Where sums over members stop. */
#define GROUP_SUM_MAX ((uint64_t)INT64_MAX)

struct group {
    bool used;
    bool fixed;
    bool had_members; /* ever */
    bool threads;     /* its members' threads are read */
    uint16_t name_len;
    char name[UTF8_LABEL_MAX]; /* a valid label value */

    uint64_t total[GROUP_COUNTER_N];
    uint32_t known; /* 1 << enum group_counter that some member ever had */
    struct group_series series[GROUP_COUNTER_N];

    /* Of the current cycle. */
    uint64_t members;
    uint64_t veterans; /* members that did not start since the last cycle */
    uint64_t gauge[GAUGE_N];
    uint32_t have_gauges;
    uint64_t state[STATE_N];
    uint64_t zombie_children;
    uint64_t unread[PART_N];
    double worst_fds_ratio;
    double worst_mappings_ratio;
    struct identity oldest;
    struct identity newest;

    struct identity oldest_before; /* of the last finished cycle; pid 0: none */
    bool oldest_ended;
    bool restart_due;
    uint64_t empty_since_ns; /* monotonic; 0: has members */
    uint32_t claims;         /* decisions to come here that are not carried out yet */
    uint32_t leading_rules;  /* number of the rules that last led a member's descendants here */
};

/* Which totals are shown, and when. */
enum groups_mode {
    GROUPS_FIRST_AT_ZERO, /* as struct group_series says */
    GROUPS_AT_ONCE,       /* in full from the start (--once) */
};

struct groups {
    enum groups_mode mode;
    struct rules rules;
    uint32_t rules_number; /* of the current rules, from 1 */
    bool rules_lead;       /* some rule of them has its members' descendants follow */
    size_t max;            /* groups that are neither fixed nor `_other` */
    uint64_t forget_ns;
    struct globs threads; /* names of groups whose members' threads are read */
    bool tasks_known;     /* what else only threads know, each process' sample holds */

    struct group *groups;
    size_t n_groups; /* in use or free */
    size_t capacity;
    size_t n_counted; /* those that count against max */
    uint32_t *order;  /* numbers of the used ones, by name */
    size_t n_order;
    struct map by_name;
    struct held held;
    struct buf name;     /* of the process being placed */
    uint64_t n_pending;  /* processes of the current cycle that are in no group yet */
    uint64_t n_excluded; /* and those that a rule keeps out */
    uint64_t other_assignments;
    uint64_t
        searches_given_up; /* of command lines, by earlier rules; see groups_searches_given_up() */
};

/* No group. */
#define GROUP_NONE UINT32_MAX

void groups_init(struct groups *g, enum groups_mode mode);
void groups_deinit(struct groups *g);

/*
 * Takes over the rules (rules->rules is NULL afterwards) and makes the groups with fixed names.
 * Groups of earlier rules keep their totals; members are placed anew at their next
 * groups_place(). Returns 0 or -ENOMEM; some fixed groups may lack then and come with their
 * first member.
 */
int groups_set_rules(struct groups *g, struct rules *rules, size_t max, uint64_t forget_ns);

/*
 * Takes over the names of groups whose members' threads are read (*names is empty afterwards). What
 * others had of threads is dropped; it begins at 0 again. Cannot fail.
 */
void groups_set_threads(struct groups *g, struct globs *names);

/*
 * Whether samples hold the counters of PART_TASK, of every process: then threads add nothing to
 * their group. Otherwise groups whose threads are not read show none. Totals stay.
 */
void groups_know_tasks(struct groups *g, bool known);

/*
 * Makes the group of this name, a valid label value that no group has yet, whatever `max` says: for
 * group_state.h. Returns 0 or -ENOMEM.
 */
int groups_restore(struct groups *g, struct span name, uint32_t *ret);

void groups_begin(struct groups *g);

/*
 * The group of this name, made if there is room; beyond max it is `_other`. The name is made a
 * label value; names that are equal as such are one group. For membership.h. Returns 0 or -ENOMEM.
 */
int groups_get(struct groups *g, struct span raw, bool fixed, uint32_t *ret);
bool group_is_other(const struct group *group);
void group_take_delta(struct group *group, const struct delta *delta);

/*
 * Counts a process in, after groups_place(). `lacks` is sample_lacks(); max_map_count is 0 if it is
 * not known.
 */
void groups_add(struct groups *g, const struct process *p, const struct sample *s,
                enum sighting sighting, uint32_t lacks, uint64_t max_map_count);

/*
 * Adds what a member's thread used: the counters of the process that only its threads know
 * (PART_TASK), which are known of the group from then on.
 */
void groups_take_thread(struct groups *g, uint32_t group, const struct thread_delta *delta);

/* A member that was added lacks these parts too. */
void groups_lack(struct groups *g, const struct process *p, uint32_t parts);

/* A known process is there, but its stat could not be read. */
void groups_add_unread(struct groups *g, const struct process *p);

/* A process whose parent is p is a zombie. */
void groups_add_zombie_child(struct groups *g, const struct process *parent);

/* Ends a cycle: counts restarts, forgets groups long empty. now_ns is monotonic, not 0. */
void groups_end(struct groups *g, uint64_t now_ns);

/* When a snapshot is taken of the groups, and what became of earlier ones. */
struct groups_moment {
    uint64_t sequence;        /* of the snapshot being taken */
    uint64_t served_sequence; /* the newest one that a scraper got */
    uint64_t now_ns;          /* monotonic */
    /* To turn start ticks into times; have_boot_time false leaves starts out. */
    bool have_boot_time;
    uint64_t boot_time_seconds;
    uint32_t ticks_per_second;
};

/* What a series shows of its total, and how far that brings it. */
uint64_t group_series_value(struct group_series *series, uint64_t total,
                            const struct groups_moment *moment);

/* What the group shows in the snapshot of this moment. */
void groups_values(struct groups *g, uint32_t group, const struct groups_moment *moment,
                   struct group_values *ret);

/*
 * Drops the totals of these process counters (1 << enum counter): their families were turned off or
 * on. They begin at 0 again.
 */
void groups_forget_counters(struct groups *g, uint32_t counters);

/* Searches of command lines that were given up, by the rules of now and all before them. */
uint64_t groups_searches_given_up(const struct groups *g);

static inline struct span group_name(const struct groups *g, uint32_t group)
{
    return span_of(g->groups[group].name, g->groups[group].name_len);
}
