#pragma once
/*
 * group_state - the groups' totals as bytes, for a daemon that comes after this one.
 *
 * Kept is what the page must not lose over a restart: names, totals, which series show their
 * amount, by which member a restart of the group is told, and who was pending and so is in no
 * total. Members and gauges are not: the next cycle finds them.
 *
 * Counters go by their names, so that a version that knows more of them, or fewer, reads these
 * bytes too. Numbers are in the byte order of the host, which they never leave.
 */
#include "base/buf.h"
#include "base/span.h"
#include "group/group.h"
#include "track/table.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* More groups than any configuration allows. */
    GROUP_STATE_MAX = 128 * 1024,
    /* What those beyond used so far is lost over a restart. */
    GROUP_STATE_PENDING_MAX = 64 * 1024,
};

/* What the totals hold. */
struct group_state {
    uint64_t first_tick; /* none of what started at this tick or later is in them */
    uint32_t counters;   /* 1 << enum counter that was wanted */
    /* Processes that are not in them though they started before; the decoder's is to be freed. */
    struct identity *pending;
    size_t n_pending;
};

/*
 * Appends the state to out; call it when a snapshot was taken, see group_series. The pending ones
 * are those of the table; those of *state are not looked at.
 */
void group_state_encode(const struct groups *g, const struct table *t,
                        const struct group_state *state, struct buf *out);

/*
 * Makes the groups of the state in *g, which was inited and has none yet; groups_set_rules() comes
 * after it. The bytes may be anything: -EBADMSG if they are no state, -ENOMEM; *g has no groups
 * then, and *ret is untouched. A total above GROUP_SUM_MAX costs only itself: it is 0.
 */
int group_state_decode(struct span bytes, struct groups *g, struct group_state *ret);

/*
 * Ends the oldest member of each group of a decoded state that the table does not know: it ended
 * while nobody looked. Once, between table_end() and groups_end() of the first cycle.
 */
void group_state_end_missing(struct groups *g, const struct table *t);
