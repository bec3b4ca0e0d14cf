#pragma once
/*
 * table - the processes that are known, over the cycles.
 *
 * The table is keyed by identity. A cycle is table_begin(), one table_see() per process that was
 * read (or table_see_unread() where its stat was there but unreadable), table_end(). Processes
 * not seen by then have ended; table_ended() walks them. A cycle that cannot be finished is left
 * by table_abort(): nobody ends, and the next one goes on from there.
 *
 * A process that ended leaves its bases behind for a cycle: should it turn out to live (a kernel
 * that answered ESRCH once), it goes on from them and is credited nothing twice. (Of thousands
 * that end at once, not all do.) One that was away for longer is known no more, unless its end is
 * awaited: where the kernel tells of each, its last totals come some time after it was seen for the
 * last time, with table_see_end(). Where start times can be compared to the cycles', what is new
 * but older than the last cycle was only hidden (by a mount option, a privilege, an error), and
 * enters as base: what it used is not of this moment.
 *
 * Records are referred to by number. A number is good as long as the process is present, and
 * through the cycle in which it ended; a pointer only until the next table_see().
 */
#include "base/map.h"
#include "model/sample.h"
#include "track/delta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gauges of files that are not read in every cycle, kept in between. */
struct kept_gauges {
    uint32_t asked; /* 1 << enum gauge that was read, or tried to, since it is wanted */
    uint32_t have;  /* and is known */
    uint64_t open_fds_limit;
    uint64_t mappings;
    uint64_t proportional_bytes;
};

/* What is under way with files that are read apart, late; daemon/probes.h. */
struct probing {
    uint32_t due;     /* parts that are to be asked for: 1 << enum part */
    uint32_t asked;   /* those that were, without an answer yet */
    bool answered;    /* ever */
    bool once;        /* some of the due parts are so for the only time */
    bool quarantined; /* it did not answer in time: nothing is asked any more */
};

/* What is read of a process for its grouping alone; written and read by daemon/placing alone. */
struct origin {
    uint32_t cgroup; /* number of its control group there; 0: not known */
    uint32_t uid;    /* effective */
    bool have_uid;
    bool ending;             /* as of the last look */
    bool texts_decide;       /* where it belongs turns on its exe or cmdline */
    bool cgroup_is_root;     /* the last reading said so, which is not believed at once */
    uint8_t cgroup_readings; /* tried, counted up to 2 */
    uint64_t known_since;    /* number of the cycle */
    uint64_t cgroup_due_ns;  /* monotonic: when to read it again */
    uint64_t cgroup_set;     /* where it was when it was read, as a number; 0: not known */
    uint64_t texts_hash;     /* of those that came last */
    uint32_t unread;         /* texts that could not be read: 1 << enum part */
};

/* Where a process counts. */
enum standing {
    STANDING_NONE,    /* nowhere yet */
    STANDING_PENDING, /* what decides is not known yet */
    STANDING_MEMBER,
    STANDING_EXCLUDED,
};

/* What rules said of a process. */
struct decision {
    uint8_t standing; /* enum standing; of a decision: NONE is none, and PENDING does not occur */
    bool leads;       /* its descendants follow it, where no rule is theirs */
    bool follows;     /* it is where its parent's rule led it */
    bool provisional; /* by what there was when it had waited for long enough */
    uint32_t group;   /* of a member: its number */
    uint32_t rules;   /* which rules said so, by number */
};

/* Written and read by lib/group alone; all zero: new. */
struct membership {
    struct decision now;
    struct decision next; /* is carried out at the next look; standing NONE: there is none */
    uint32_t held;        /* of STANDING_PENDING: what it used so far, see group/held.h */
    uint32_t unmatched;   /* number of the rules that, asked with all values, take it nowhere */
    uint8_t waited;       /* looks that left it undecided, in a row */
    bool undecided;       /* what it belongs to is to be decided, or anew */
    bool start_due;       /* its start is to be counted where it will be */
    bool leaving;         /* it is not there any more, and its group waits for its end */
};

/* Which of two threads began later: tids are given out in rising order, but for their start over.
 */
struct thread_age {
    uint64_t start_ticks;
    uint32_t tid;
};

/* What the looks at a process' threads left; track/threads.h. */
struct thread_looks {
    uint64_t since; /* number of the cycle of the first look; 0: they are not looked at */
    uint32_t n;     /* threads of the last whole look; 0: there was none */
    bool all_new;   /* what is found in the first one counts in full */
    struct thread_age youngest;       /* of all that were seen */
    struct thread_age youngest_whole; /* of those up to the last whole look */
};

struct process {
    struct identity identity;
    uint32_t parent_pid;
    enum state state;
    bool kernel_thread;
    uint8_t comm_len;
    char comm[SAMPLE_COMM_MAX];
    uint64_t seen;      /* number of the last cycle it was seen in; 0: the record is free */
    uint64_t started;   /* number of the cycle it was new in; 0: nobody knows when it started */
    bool unread;        /* in that cycle its stat could not be read */
    bool awaited;       /* it is not there any more, and its end has not been told yet */
    bool end_told;      /* its last totals are counted */
    uint8_t end_reason; /* then: what the caller says of it */
    uint64_t awaited_since_ns; /* monotonic */
    bool renamed;              /* its comm is another than at the look before: an exec, a prctl */
    uint32_t next_free;        /* of a free record */
    struct bases bases;
    struct kept_gauges kept;
    /* Written and read by daemon/probes alone. */
    struct probing probing;
    struct origin origin;
    struct membership membership;
    /* Written and read by track/threads alone. */
    struct thread_looks thread_looks;
};

/* How the table knew the process of a sample. */
enum sighting {
    SIGHTING_STARTED,  /* new since the last cycle: everything it used counts */
    SIGHTING_FOUND,    /* older than that, and was hidden: what it used before does not count */
    SIGHTING_KNOWN,    /* seen in an earlier cycle */
    SIGHTING_RETURNED, /* taken for ended a cycle ago, but alive */
};

/* What the totals of processes count for that were there before the table. */
enum table_mode {
    TABLE_SINCE_FIRST_CYCLE, /* nothing: a restart must not look like a burst */
    TABLE_SINCE_START,       /* in full: one look, totals since process start (--once) */
};

struct table {
    enum table_mode mode;
    /* Processes that started before this tick are no news. 0: all after the first cycle are. */
    uint64_t first_tick;
    uint64_t began_tick; /* of the current or last cycle, as table_begin() was told */
    uint64_t cycle;      /* number of the current or last cycle */
    bool first_done;
    struct process *processes;
    size_t n_processes; /* records in use or free */
    size_t capacity;
    size_t n_present; /* seen in the current or last cycle */
    size_t n_awaited;
    uint32_t first_free;
    uint32_t last; /* record that was seen last; only where to look first */
    struct map by_pid;
    uint64_t steps_back[COUNTER_N];
    /* Of table_resume(), in order, until the first cycle has ended. */
    struct identity *news;
    size_t n_news;
};

#define TABLE_NONE UINT32_MAX

/*
 * An empty table. first_tick: the tick (USER_HZ since boot) of the daemon's first cycle where the
 * procfs is this kernel's own, else 0.
 */
void table_init(struct table *t, enum table_mode mode, uint64_t first_tick);
void table_deinit(struct table *t);

/*
 * Goes on where an earlier daemon's table ended, before the first cycle: that one's cycles took
 * none of what started at first_tick or later, so all of it is news from the first cycle on, and so
 * are the n processes `news`, which it saw and counted nowhere. What else is older is not, as if
 * the first cycle were done. Returns 0 or -ENOMEM (nothing changed).
 */
int table_resume(struct table *t, uint64_t first_tick, const struct identity *news, size_t n);

/*
 * Begins a cycle. tick: no process that started before it can be there and be missed. In USER_HZ
 * since boot, of the clock that start times are of; 0 if there is none.
 */
void table_begin(struct table *t, uint64_t tick);

/* The record of this identity, TABLE_NONE if there is none. */
uint32_t table_find(const struct table *t, struct identity identity);

/* The record of the youngest present process with this pid, TABLE_NONE if there is none. */
uint32_t table_find_pid(const struct table *t, uint32_t pid);

/*
 * The record of the parent of a process that started at this tick: the youngest with this pid that
 * is not younger, and is present, was in the last cycle, or is awaited. TABLE_NONE: not known, or
 * not yet.
 */
uint32_t table_find_parent(const struct table *t, uint32_t pid, uint64_t start_ticks);

/* Whether the process, ref as table_find() said, is new, or its comm changed: an exec, a prctl. */
bool table_is_news(const struct table *t, uint32_t ref, const struct sample *s);

/*
 * Which of the wanted parts of this process to read in this cycle. All of them, but `limits`,
 * `maps` and `smaps` only when they were not read yet, when it is news, and by turns: they cost
 * much and change slowly.
 */
uint32_t table_parts_due(const struct table *t, uint32_t ref, bool news, const struct sample *s,
                         const struct wanted *wanted);

/*
 * Takes a sample of the current cycle, of which `parts_read` were read: finds or makes its record
 * and says by how much its wanted counters grew. Gauges that were not due are filled into the
 * sample from the record. Returns 0 or -ENOMEM (nothing changed).
 */
int table_see(struct table *t, struct sample *s, uint32_t parts_read, const struct wanted *wanted,
              uint32_t *ret_ref, enum sighting *ret_sighting, struct delta *ret);

/*
 * Takes the last totals of a process that no cycle saw, its end being known, as table_see() takes a
 * sample. Ends may be told long after: so it is news if it started at tick `told_since` or later,
 * the begin of a cycle since which all ends are told and all that is there is seen.
 */
int table_see_passed(struct table *t, struct sample *s, uint64_t told_since,
                     const struct wanted *wanted, uint32_t *ret_ref, enum sighting *ret_sighting,
                     struct delta *ret);

/*
 * Takes back that table_see() just saw the process so, whose delta nobody can count: the next
 * cycle, after table_abort(), sees all of it again. The number is no longer good.
 */
void table_unsee(struct table *t, uint32_t ref, enum sighting sighting, const struct delta *delta);

/*
 * Takes kept gauges that were read apart from the sample, of the parts `parts_read`; unknown ones
 * are no longer known. Of s only the identity and those gauges mean anything. Returns the record,
 * or TABLE_NONE if there is no such process any more.
 */
uint32_t table_keep_late(struct table *t, struct sample *s, uint32_t parts_read,
                         const struct wanted *wanted);

/* Fills the kept gauges into a sample that table_see() took, as of now. */
void table_fill(struct table *t, uint32_t ref, struct sample *s, const struct wanted *wanted);

/*
 * Takes the last totals of a process that has a record, its end being known: by how much its
 * wanted counters grew. False, and nothing changed, if they were taken before.
 */
bool table_see_end(struct table *t, uint32_t ref, struct sample *s, const struct wanted *wanted,
                   struct delta *ret);

/* Keeps the record of a process that table_next_ended() gave until table_forget(). */
void table_await_end(struct table *t, uint32_t ref, uint64_t now_ns);

/* Walks the records that are kept so: *at begins at 0. Returns TABLE_NONE at the end. */
uint32_t table_next_awaited(const struct table *t, size_t *at);

/* Drops a record: of one that is not there any more, or that table_see() just made of one. */
void table_forget(struct table *t, uint32_t ref);

/*
 * The process with this pid is there, but who it is could not be read: the youngest that is known
 * under it has not ended. Returns its record, or TABLE_NONE.
 */
uint32_t table_see_unread(struct table *t, uint32_t pid);

/* Ends the cycle: what was not seen has ended, and old remains are dropped. */
void table_end(struct table *t);

/* Leaves the cycle unfinished. */
void table_abort(struct table *t);

/*
 * Walks the processes that ended in the cycle that table_end() closed: *at begins at 0. Just before
 * table_end(), when all that is there was seen, it walks the same ones. Returns a record, or
 * TABLE_NONE at the end.
 */
uint32_t table_next_ended(const struct table *t, size_t *at);

/* Drops the bases of these counters (1 << enum counter): their families were turned off. */
void table_forget_counters(struct table *t, uint32_t counters);

static inline struct process *table_process(const struct table *t, uint32_t ref)
{
    return &t->processes[ref];
}

/*
 * Whether the process, seen in the current cycle, started since the last one that was finished:
 * a cycle that was left may have seen it too.
 */
static inline bool process_is_new(const struct process *p)
{
    return p->started != 0 && p->started == p->seen;
}
