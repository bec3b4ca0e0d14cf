#pragma once
/*
 * top - which processes have series of their own: the first few by one figure.
 *
 * A cycle is top_begin(), one top_offer() for each process that may have a row, top_end(). Who is
 * among the first n gets a row, and keeps it while it is among the first 2n, so that who wavers
 * about rank n does not come and go: there are at most 2n rows. Who has nothing of the figure does
 * not come, however few others there are. Of equals, those that have rows come first, then the
 * older ones, so an order once found stays.
 *
 * A cycle that was left ends with no rows; the next one goes on from the last that was finished.
 * Memory is taken by top_configure() alone.
 */
#include "model/sample.h"
#include "track/delta.h"
#include "track/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What processes are ranked by; in the order of options.def. */
enum top_key {
    TOP_CPU,    /* CPU time since the last look */
    TOP_MEMORY, /* resident memory */
    TOP_IO,     /* bytes from and to storage since the last look */
    TOP_FDS,    /* open descriptors */
};

struct top_rank {
    uint64_t score;
    bool held; /* has a row since an earlier cycle */
    struct identity identity;
};

struct top_row {
    struct top_rank rank;
    uint32_t ref; /* of the process table, in the cycle of the offer */
    struct sample sample;
};

struct top {
    enum top_key key;
    size_t n;              /* 0: off */
    struct top_row *rows;  /* the best 2n of the cycle so far, where there was room */
    uint32_t *order;       /* numbers of rows: while they are offered a heap with the last on top */
    size_t n_order;        /* after top_end(): those that stay, by pid */
    struct identity *held; /* who had a row when the last cycle was finished, by pid */
    size_t n_held;
};

void top_init(struct top *t);
void top_deinit(struct top *t);

/*
 * Sets the rank and what it goes by, between two cycles. With another rank nobody has a row, until
 * the next cycle. Returns 0, or -ENOMEM and nothing changed.
 */
int top_configure(struct top *t, enum top_key key, size_t n);

/* Adds what has to be read to rank by the key. */
void top_want(enum top_key key, struct wanted *wanted);

/*
 * The figure of a process that the table saw so. What it used before the first look at it counts,
 * as nothing else is known of it: in the daemon's first cycle, all go by that.
 */
uint64_t top_score(enum top_key key, const struct sample *s, enum sighting sighting,
                   const struct delta *delta);

void top_begin(struct top *t);

/* The sample is copied if the process may get a row. */
void top_offer(struct top *t, uint32_t ref, const struct sample *s, uint64_t score);

void top_end(struct top *t);

/* Of a finished cycle, by pid: i is below n_order. Good until the next top_begin(). */
static inline const struct top_row *top_row(const struct top *t, size_t i)
{
    return &t->rows[t->order[i]];
}
