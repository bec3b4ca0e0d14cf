/* arrivals - when scrapes came, and so when the next ones will. */
#include "daemon/arrivals.h"

#include <string.h>

enum {
    MS = 1000000,
    /* Prometheus' shortest sensible period, and the longest that is worth to wait for. */
    PERIOD_MIN_MS = 200,
    PERIOD_MAX_MS = 600000,
    /* How far from its expected time an arrival may be: so much, or a part of the period. */
    TOLERANCE_MS = 250,
    TOLERANCE_PART = 8,
    /* A scraper that restarts is back within these periods, at the same phase. */
    MISSES_MAX = 6,
    /* A cycle may take so much longer than the last ones did, where others want the CPU too. */
    MARGIN_MIN_MS = 50,
    MARGIN_MAX_MS = 100,
};

void arrivals_init(struct arrivals *a)
{
    memset(a, 0, sizeof(*a));
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t tolerance_of(uint64_t period_ns)
{
    uint64_t part = period_ns / TOLERANCE_PART;

    return part < (uint64_t)TOLERANCE_MS * MS ? part : (uint64_t)TOLERANCE_MS * MS;
}

void arrivals_pass(struct arrivals *a, uint64_t now_ns)
{
    for (size_t i = 0; i < ARRIVALS_TRAINS; i++) {
        struct train *t = &a->trains[i];

        while (t->period_ns > 0 && t->expected_ns + tolerance_of(t->period_ns) < now_ns) {
            t->expected_ns += t->period_ns;
            if (++t->missed > MISSES_MAX)
                *t = (struct train){0};
        }
    }
}

/* The train that this arrival belongs to: the one that expects it nearest. */
static struct train *train_of(struct arrivals *a, uint64_t at_ns)
{
    struct train *best = NULL;

    for (size_t i = 0; i < ARRIVALS_TRAINS; i++) {
        struct train *t = &a->trains[i];

        if (t->period_ns == 0 || distance(t->expected_ns, at_ns) > tolerance_of(t->period_ns))
            continue;
        if (!best || distance(t->expected_ns, at_ns) < distance(best->expected_ns, at_ns))
            best = t;
    }
    return best;
}

/*
 * Follows the scraper: a quarter of the error moves the phase, a sixteenth the period, so that
 * jitter is smoothed and drift is not.
 */
static void train_take(struct train *t, uint64_t at_ns)
{
    int64_t error = (int64_t)(at_ns - t->expected_ns);
    uint64_t off = distance(at_ns, t->expected_ns);

    t->jitter_ns = (t->jitter_ns * 7 + off) / 8;
    t->period_ns = (uint64_t)((int64_t)t->period_ns + error / 16);
    t->expected_ns = (uint64_t)((int64_t)t->expected_ns + error / 4) + t->period_ns;
    t->missed = 0;
}

static struct train *train_unused(struct arrivals *a)
{
    struct train *most_missed = &a->trains[0];

    for (size_t i = 0; i < ARRIVALS_TRAINS; i++) {
        if (a->trains[i].period_ns == 0)
            return &a->trains[i];
        if (a->trains[i].missed > most_missed->missed)
            most_missed = &a->trains[i];
    }
    return most_missed->missed > 0 ? most_missed : NULL;
}

static size_t recent_count(const struct arrivals *a)
{
    return a->n_recent < ARRIVALS_RECENT ? a->n_recent : ARRIVALS_RECENT;
}

/* The i-th newest of the arrivals without a train. */
static uint64_t recent(const struct arrivals *a, size_t i)
{
    return a->recent[(a->n_recent - 1 - i) % ARRIVALS_RECENT];
}

static bool recent_near(const struct arrivals *a, uint64_t at_ns, uint64_t tolerance_ns)
{
    for (size_t i = 0; i < recent_count(a); i++)
        if (distance(recent(a, i), at_ns) <= tolerance_ns)
            return true;
    return false;
}

static bool recent_remove(struct arrivals *a, uint64_t at_ns, uint64_t tolerance_ns)
{
    for (size_t i = 0; i < recent_count(a); i++) {
        size_t at = (a->n_recent - 1 - i) % ARRIVALS_RECENT;

        if (distance(a->recent[at], at_ns) > tolerance_ns)
            continue;
        /* The oldest moves into the gap; the order among them does not matter to a search. */
        a->recent[at] = 0;
        return true;
    }
    return false;
}

/* Makes a train if this arrival and two before it lie evenly apart, at the shortest period. */
static bool train_found(struct arrivals *a, uint64_t at_ns)
{
    struct train *t = train_unused(a);

    for (size_t i = 0; t && i < recent_count(a); i++) {
        uint64_t before = recent(a, i), period = at_ns - before;
        uint64_t tolerance = tolerance_of(period) / 2;

        if (before == 0 || period < (uint64_t)PERIOD_MIN_MS * MS ||
            period > (uint64_t)PERIOD_MAX_MS * MS || before < period ||
            !recent_near(a, before - period, tolerance))
            continue;
        *t = (struct train){.period_ns = period, .expected_ns = at_ns + period};
        recent_remove(a, before, 0);
        recent_remove(a, before - period, tolerance);
        return true;
    }
    return false;
}

void arrivals_note(struct arrivals *a, uint64_t at_ns)
{
    struct train *t;

    arrivals_pass(a, at_ns);
    t = train_of(a, at_ns);
    if (t)
        train_take(t, at_ns);
    else if (!train_found(a, at_ns))
        a->recent[a->n_recent++ % ARRIVALS_RECENT] = at_ns;
}

static uint64_t margin_of(const struct train *t)
{
    uint64_t margin = (uint64_t)MARGIN_MIN_MS * MS + 2 * t->jitter_ns;

    return margin < (uint64_t)MARGIN_MAX_MS * MS ? margin : (uint64_t)MARGIN_MAX_MS * MS;
}

/* When the train is expected first at or after this time. */
static uint64_t train_next(const struct train *t, uint64_t from_ns)
{
    if (t->expected_ns >= from_ns)
        return t->expected_ns;
    return t->expected_ns +
           (from_ns - t->expected_ns + t->period_ns - 1) / t->period_ns * t->period_ns;
}

bool arrivals_next(const struct arrivals *a, uint64_t from_ns, uint64_t *ret_expected_ns,
                   uint64_t *ret_margin_ns)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < ARRIVALS_TRAINS; i++) {
        const struct train *t = &a->trains[i];

        if (t->period_ns == 0 || train_next(t, from_ns) >= first)
            continue;
        first = train_next(t, from_ns);
        *ret_margin_ns = margin_of(t);
    }
    if (first == UINT64_MAX)
        return false;
    *ret_expected_ns = first;
    return true;
}
