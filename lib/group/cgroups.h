#pragma once
/*
 * cgroups - the control groups that processes are in, each identified once.
 *
 * Thousands of processes share some hundreds of paths. A path has a number, which processes keep,
 * and an identity, which never moves while the number is good.
 *
 * Entries live as long as somebody says so: each cycle, cgroups_keep() for every process that has
 * a number, and cgroups_sweep() at its end. What was kept neither in that cycle nor in the one
 * before is dropped: so the number of a process that ended is good in the cycle that finds it
 * ended, and in the next, should it turn out to live. A cycle that was left sweeps nothing.
 *
 * A number is an index and a count of how often the index was given away, so one that outlived its
 * entry is told from the entry that came after it: it is just not known any more.
 */
#include "base/map.h"
#include "base/span.h"
#include "group/cgroup_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUPS_NONE 0 /* no number */

struct cgroups_entry;

struct cgroups_slot {
    struct cgroups_entry *entry; /* NULL: free */
    uint32_t number;             /* of the entry, or of the next one */
    uint32_t kept;               /* the sweep before which it was kept last */
    uint32_t next_free;          /* of a free slot */
    uint64_t id;                 /* the kernel's number of it; 0: not known */
};

struct cgroups {
    struct cgroups_slot *slots;
    uint32_t n_slots; /* in use or free */
    uint32_t capacity;
    uint32_t first_free;
    uint32_t last;  /* index of the slot that was entered last; most often the next one's, too */
    uint32_t sweep; /* counts sweeps */
    size_t n_entries;
    struct map by_path;
    struct map by_id;
};

void cgroups_init(struct cgroups *c);
void cgroups_deinit(struct cgroups *c);

/*
 * The number of this path, never CGROUPS_NONE, as if kept. The path is one of /proc/PID/cgroup; a
 * mark " (deleted)" makes no difference. It is copied, and one that is known takes no memory.
 * Returns 0 or -ENOMEM.
 */
int cgroups_enter(struct cgroups *c, struct span path, uint32_t *ret);

/* Keeps the entry for this cycle and the next. False: the number is not good (any more). */
bool cgroups_keep(struct cgroups *c, uint32_t number);

/*
 * The kernel's own number of a control group, for cgroups_of_id(). One that had another one before
 * (it was removed and made again) has this one now. Without memory it just is not known.
 */
void cgroups_set_id(struct cgroups *c, uint32_t number, uint64_t id);

/* The number of the entry with this id, as if kept; CGROUPS_NONE if none is known. */
uint32_t cgroups_of_id(struct cgroups *c, uint64_t id);

/* Ends a cycle: drops what nobody kept. */
void cgroups_sweep(struct cgroups *c);

/* NULL: the number is CGROUPS_NONE, or not good any more. */
const struct cgroup_identity *cgroups_identity(const struct cgroups *c, uint32_t number);
