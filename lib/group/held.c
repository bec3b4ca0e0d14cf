/* held - what processes used that belong to no group yet. */
#include "group/held.h"

#include <errno.h>
#include <stdlib.h>

#define HELD_NONE UINT32_MAX

enum { HELD_SMALLEST = 16 };

void held_init(struct held *h)
{
    *h = (struct held){.first_free = HELD_NONE};
}

void held_deinit(struct held *h)
{
    free(h->slots);
    held_init(h);
}

static int held_grow(struct held *h)
{
    size_t capacity = h->capacity ? h->capacity * 2 : HELD_SMALLEST;
    struct held_slot *slots = realloc(h->slots, capacity * sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    h->slots = slots;
    h->capacity = capacity;
    return 0;
}

int held_new(struct held *h, uint32_t *ret)
{
    uint32_t ref = h->first_free;

    if (ref != HELD_NONE) {
        h->first_free = h->slots[ref].next_free;
    } else {
        if (h->n == h->capacity && held_grow(h) < 0)
            return -ENOMEM;
        ref = (uint32_t)h->n++;
    }
    h->slots[ref].sum = (struct delta){0};
    h->n_used++;
    *ret = ref;
    return 0;
}

void held_drop(struct held *h, uint32_t ref)
{
    h->slots[ref].next_free = h->first_free;
    h->first_free = ref;
    h->n_used--;
}

void held_trim(struct held *h)
{
    if (h->n_used == 0 && h->capacity > HELD_SMALLEST)
        held_deinit(h);
}

void held_forget(struct held *h, uint32_t counters)
{
    for (size_t i = 0; i < h->n; i++)
        h->slots[i].sum.known &= ~counters;
}

void held_add(struct held *h, uint32_t ref, const struct delta *delta)
{
    struct delta *sum = &h->slots[ref].sum;

    for (uint32_t rest = delta->known; rest; rest &= rest - 1) {
        unsigned field = (unsigned)__builtin_ctz(rest);
        uint64_t before = sum->known >> field & 1 ? sum->counter[field] : 0;

        if (__builtin_add_overflow(before, delta->counter[field], &sum->counter[field]))
            sum->counter[field] = UINT64_MAX;
    }
    sum->known |= delta->known;
}

const struct delta *held_sum(const struct held *h, uint32_t ref)
{
    return &h->slots[ref].sum;
}
