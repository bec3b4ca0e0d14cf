#pragma once
/*
 * delta - what a process used between two looks, out of totals that may misbehave.
 *
 * A difference has another type than a total, so the two cannot be mixed up. Per counter and
 * process there is a base: the highest total ever seen. Sums over threads tear and clocks are
 * scaled, so a total may step back; that adds 0, keeps the base and is counted. A base rises
 * only, so nothing underflows and nothing is credited twice.
 */
#include "model/sample.h"

#include <stdbool.h>
#include <stdint.h>

/* Increases since the last look, per counter. `known`: 1 << enum counter that has a base now. */
struct delta {
    uint32_t known;
    uint64_t counter[COUNTER_N];
};

/* The bases of one process. `have`: 1 << enum counter that has one. */
struct bases {
    uint32_t have;
    bool split; /* user and system CPU time were divided out of their sum at some look */
    uint64_t highest[COUNTER_N];
};

/* What a total counts for that is seen for the first time. */
enum first_total {
    FIRST_TOTAL_IS_BASE, /* it was used before anyone looked: adds 0 */
    FIRST_TOTAL_COUNTS,  /* the process is new: adds in full */
};

/*
 * The increase of one total, and its base moved up. has_base: *base is one; else it is set, and
 * `first` says what the total counts for. A step back adds 1 to *steps_back.
 */
static inline uint64_t delta_step(uint64_t *base, bool has_base, uint64_t total,
                                  enum first_total first, uint64_t *steps_back)
{
    uint64_t before = *base;

    if (!has_base) {
        *base = total;
        return first == FIRST_TOTAL_COUNTS ? total : 0;
    }
    if (total < before) {
        (*steps_back)++;
        return 0;
    }
    *base = total;
    return total - before;
}

/*
 * Takes the totals of s that `counters` (1 << enum counter) names. Fields that s lacks leave their
 * base alone and add 0. Every step back adds 1 to its field of `steps_back`.
 */
void delta_take(struct bases *bases, const struct sample *s, uint32_t counters,
                enum first_total first, uint64_t steps_back[static COUNTER_N], struct delta *ret);
