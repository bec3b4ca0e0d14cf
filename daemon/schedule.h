#pragma once
/*
 * schedule - when the next cycle is to begin.
 *
 * Every `interval` there is a cycle, whoever looks. Beside these, cycles are added that end just
 * before the scrapes which are expected, so that a steady scraper always gets a snapshot of the
 * same small age. Added cycles cost at most `cpu_budget` of one CPU on average; where a cycle
 * costs more than the budget allows at all, the interval itself grows to what it does allow.
 *
 * A plain value without a clock: all times are given, in nanoseconds of a monotonic clock, and
 * what the next cycle will take is guessed from the last ones.
 */
#include "daemon/arrivals.h"

#include <stdbool.h>
#include <stdint.h>

struct schedule_settings {
    uint64_t interval_ns;
    uint32_t cpu_budget_ppm; /* millionths of one CPU */
};

enum { SCHEDULE_CYCLES = 8 };

struct schedule {
    struct schedule_settings settings;
    /*
     * What the last cycles took: time until the snapshot was out, and CPU time, of all threads and
     * since the cycle before. A ring.
     */
    uint64_t duration_ns[SCHEDULE_CYCLES];
    uint64_t cpu_ns[SCHEDULE_CYCLES];
    uint64_t n_cycles;
    uint64_t planned_ns; /* of the next one on the interval's grid */
    uint64_t begun_ns;   /* of the last one */
    uint64_t aimed_ns;   /* the scrape that the last added cycle was for */
    /* CPU time that added cycles may cost by now. */
    int64_t credit_ns;
    uint64_t credited_ns; /* until when it was counted */
};

struct schedule_next {
    uint64_t begin_ns;
    uint64_t scrape_ns; /* when the scrape is expected that it is for; 0: it is for none */
};

/* The first cycle is due at once. */
void schedule_init(struct schedule *s, const struct schedule_settings *settings, uint64_t now_ns);

/* Other settings. The planned cycle stays, or comes sooner if the interval got shorter. */
void schedule_configure(struct schedule *s, const struct schedule_settings *settings);

/* Notes a cycle that was run; scrape_ns is what schedule_next() said of it. */
void schedule_note(struct schedule *s, uint64_t begun_ns, uint64_t duration_ns, uint64_t cpu_ns,
                   uint64_t scrape_ns);

/* The next cycle, never before now. */
struct schedule_next schedule_next(const struct schedule *s, const struct arrivals *a,
                                   uint64_t now_ns);

/* The interval in effect: the configured one, or what the budget allows if that is more. */
uint64_t schedule_effective_interval(const struct schedule *s);
