#pragma once
/*
 * arena - bump memory for things that live and die together, such as one snapshot.
 *
 * Nothing is freed singly: arena_reset() drops all and keeps the memory for the next round. The
 * memory handed out is not cleared. What does not fit the maximum, or cannot be allocated,
 * latches: arena_alloc() returns NULL from then on, and arena_failed() tells until the reset.
 * Pointers stay valid until the reset (blocks are added, never moved); the reset joins the blocks
 * into one, so a warm arena allocates from the heap no more.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used;                /* of all blocks, since the reset */
    size_t max;
    bool failed;
};

/* An empty arena for at most max bytes. Allocates nothing. */
void arena_init(struct arena *a, size_t max);
void arena_deinit(struct arena *a);
void arena_reset(struct arena *a);

/* n bytes aligned for any type, not cleared, or NULL when latched. n of 0 is served as 1. */
void *arena_alloc(struct arena *a, size_t n);

/* Room for an array; NULL also when the product overflows. */
void *arena_alloc_array(struct arena *a, size_t count, size_t size);

/* A copy of s; on failure an empty span, and the arena is latched. */
struct span arena_copy(struct arena *a, struct span s);

/* Bytes of heap that the arena holds, used or not. */
size_t arena_footprint(const struct arena *a);

static inline bool arena_failed(const struct arena *a)
{
    return a->failed;
}
