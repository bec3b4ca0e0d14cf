/*
 * arena - bump memory for things that live and die together.
 *
 * Blocks form a list, the newest first, and only the newest is allocated from. The arena owns
 * them all. After a reset there is at most one block, big enough for what the last round used.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { ARENA_SMALLEST = 4096 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, size_t max)
{
    *a = (struct arena){.max = max};
}

static void arena_free_blocks(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;

        free(a->blocks);
        a->blocks = next;
    }
}

void arena_deinit(struct arena *a)
{
    arena_free_blocks(a);
    *a = (struct arena){.max = a->max};
}

static bool arena_add_block(struct arena *a, size_t size)
{
    struct arena_block *block = malloc(sizeof(*block) + size);

    if (!block)
        return false;
    *block = (struct arena_block){.next = a->blocks, .size = size};
    a->blocks = block;
    return true;
}

void arena_reset(struct arena *a)
{
    size_t used = a->used;

    a->used = 0;
    a->failed = false;
    if (!a->blocks)
        return;
    if (a->blocks->next) {
        /* If the joined block cannot be had, the arena is empty and grows again by need. */
        arena_free_blocks(a);
        (void)arena_add_block(a, used + used / 4);
        return;
    }
    a->blocks->used = 0;
}

void *arena_alloc(struct arena *a, size_t n)
{
    struct arena_block *block = a->blocks;
    size_t size;
    void *p;

    if (a->failed)
        return NULL;
    if (n > a->max - a->used) {
        a->failed = true;
        return NULL;
    }
    n = n ? n : 1;
    n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!block || n > block->size - block->used) {
        size = block ? block->size * 2 : ARENA_SMALLEST;
        if (!arena_add_block(a, size > n ? size : n)) {
            a->failed = true;
            return NULL;
        }
        block = a->blocks;
    }
    p = block->data + block->used;
    block->used += n;
    a->used = a->used + n > a->max ? a->max : a->used + n;
    return p;
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    size_t n;

    if (__builtin_mul_overflow(count, size, &n)) {
        a->failed = true;
        return NULL;
    }
    return arena_alloc(a, n);
}

struct span arena_copy(struct arena *a, struct span s)
{
    char *p = arena_alloc(a, s.n);

    if (!p)
        return span_of(NULL, 0);
    if (s.n)
        memcpy(p, s.p, s.n);
    return span_of(p, s.n);
}

size_t arena_footprint(const struct arena *a)
{
    size_t n = 0;

    for (const struct arena_block *b = a->blocks; b; b = b->next)
        n += sizeof(*b) + b->size;
    return n;
}
