#pragma once
/*
 * freshness - whether the snapshot on the page has got too old. A plain value without a clock: all
 * times are nanoseconds of a monotonic clock, given by the caller.
 */
#include <stdbool.h>
#include <stdint.h>

/* How old a snapshot may be, and how long what seems too old is watched before it is judged. */
struct freshness_limits {
    uint64_t patience_ns;
    uint64_t grace_ns;
};

struct freshness {
    uint64_t suspected_ns; /* since when it seems too old; 0: it does not */
    bool stale;
};

/*
 * Judges a snapshot published at published_ns. One that is too old is stale only if it is still
 * the newest after the grace: a process or a host that stood still for a while finds everything
 * old when it goes on, its collector must have had the time for a cycle. Returns when to judge
 * again at the latest.
 */
uint64_t freshness_judge(struct freshness *f, const struct freshness_limits *limits,
                         uint64_t published_ns, uint64_t now_ns);
