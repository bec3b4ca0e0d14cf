#pragma once
/*
 * held - what processes used that belong to no group yet.
 *
 * A process whose rules look at what is still being read waits for that; meanwhile its usage is
 * summed up here, and goes to its group in one piece. References are dense and reused.
 */
#include "track/delta.h"

#include <stddef.h>
#include <stdint.h>

struct held_slot {
    struct delta sum;
    uint32_t next_free;
};

struct held {
    struct held_slot *slots;
    size_t n; /* in use or free */
    size_t n_used;
    size_t capacity;
    uint32_t first_free;
};

void held_init(struct held *h);
void held_deinit(struct held *h);

/* A sum of nothing. Returns 0 or -ENOMEM. */
int held_new(struct held *h, uint32_t *ret);
void held_drop(struct held *h, uint32_t ref);

void held_add(struct held *h, uint32_t ref, const struct delta *delta);

/* Drops these counters (1 << enum counter) of all sums: they are no longer known. */
void held_forget(struct held *h, uint32_t counters);

/* Gives the memory back if nobody waits: thousands do when a daemon starts, and hardly any later.
 */
void held_trim(struct held *h);

/* Good until the next held_new(). */
const struct delta *held_sum(const struct held *h, uint32_t ref);
