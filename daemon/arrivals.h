#pragma once
/*
 * arrivals - when scrapes came, and so when the next ones will.
 *
 * Scrapers come at a period of their own and keep their phase, also over their own restarts. The
 * pattern is learnt from times alone, not from addresses: a pair of servers may share one, and one
 * server may come from many. Each regular scraper is a *train*: a period and the time it is
 * expected next. A train is found when three arrivals lie evenly apart, follows its scraper's
 * drift, and is dropped when it failed to come for some periods. Arrivals that fit no train (a
 * person with curl, a scraper whose period wanders) are remembered for a while and expected never.
 *
 * A plain value without a clock: all times are given, in nanoseconds of a monotonic clock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARRIVALS_TRAINS = 8,
    ARRIVALS_RECENT = 32,
};

struct train {
    uint64_t period_ns; /* 0: unused */
    uint64_t expected_ns;
    uint64_t jitter_ns; /* mean distance of arrivals from where they were expected */
    unsigned missed;    /* in a row */
};

struct arrivals {
    struct train trains[ARRIVALS_TRAINS];
    uint64_t recent[ARRIVALS_RECENT]; /* those of no train, a ring */
    size_t n_recent;                  /* ever */
};

/* No arrival yet. */
void arrivals_init(struct arrivals *a);

/* Notes a scrape at this time; times must not fall. */
void arrivals_note(struct arrivals *a, uint64_t at_ns);

/* Moves expectations that were disappointed by this time on to the next period. */
void arrivals_pass(struct arrivals *a, uint64_t now_ns);

/*
 * The first expected arrival at or after this time, in *ret_expected_ns, and how far ahead of it
 * a snapshot should be ready, in *ret_margin_ns. False if no scraper is known.
 */
bool arrivals_next(const struct arrivals *a, uint64_t from_ns, uint64_t *ret_expected_ns,
                   uint64_t *ret_margin_ns);
