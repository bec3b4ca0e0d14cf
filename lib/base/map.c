/*
 * map - linear probing with backward-shift deletion, so there are no tombstones and a lookup
 * ends at the first free slot. At most three quarters of the slots are used.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

enum { MAP_SMALLEST = 16 };

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_deinit(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

static void map_clear_slots(struct map_slot *slots, size_t size)
{
    for (size_t i = 0; i < size; i++)
        slots[i].ref = MAP_FREE;
}

void map_reset(struct map *m)
{
    map_clear_slots(m->slots, m->size);
    m->count = 0;
}

static void map_put(struct map *m, uint64_t hash, uint32_t ref)
{
    size_t at = hash & (m->size - 1);

    while (m->slots[at].ref != MAP_FREE)
        at = (at + 1) & (m->size - 1);
    m->slots[at] = (struct map_slot){hash, ref};
}

static int map_grow(struct map *m)
{
    struct map grown = {.size = m->size ? m->size * 2 : MAP_SMALLEST, .count = m->count};

    grown.slots = malloc(grown.size * sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    map_clear_slots(grown.slots, grown.size);
    for (size_t i = 0; i < m->size; i++)
        if (m->slots[i].ref != MAP_FREE)
            map_put(&grown, m->slots[i].hash, m->slots[i].ref);
    free(m->slots);
    *m = grown;
    return 0;
}

int map_add(struct map *m, uint64_t hash, uint32_t ref)
{
    if (m->count + 1 > m->size / 4 * 3) {
        int r = map_grow(m);

        if (r < 0)
            return r;
    }
    map_put(m, hash, ref);
    m->count++;
    return 0;
}

static size_t map_candidate(const struct map *m, uint64_t hash, size_t at)
{
    for (; m->slots[at].ref != MAP_FREE; at = (at + 1) & (m->size - 1))
        if (m->slots[at].hash == hash)
            return at;
    return MAP_END;
}

size_t map_first(const struct map *m, uint64_t hash)
{
    return m->size ? map_candidate(m, hash, hash & (m->size - 1)) : MAP_END;
}

size_t map_next(const struct map *m, uint64_t hash, size_t at)
{
    return map_candidate(m, hash, (at + 1) & (m->size - 1));
}

/*
 * Frees the slot and closes the gap: an entry further on moves in if its home does not lie
 * between the gap and where it stands now.
 */
static void map_close_gap(struct map *m, size_t gap)
{
    size_t mask = m->size - 1;

    for (size_t at = (gap + 1) & mask; m->slots[at].ref != MAP_FREE; at = (at + 1) & mask) {
        size_t home = m->slots[at].hash & mask;

        if (((at - home) & mask) >= ((at - gap) & mask)) {
            m->slots[gap] = m->slots[at];
            gap = at;
        }
    }
    m->slots[gap].ref = MAP_FREE;
}

bool map_remove(struct map *m, uint64_t hash, uint32_t ref)
{
    for (size_t at = map_first(m, hash); at != MAP_END; at = map_next(m, hash, at)) {
        if (m->slots[at].ref != ref)
            continue;
        map_close_gap(m, at);
        m->count--;
        return true;
    }
    return false;
}

uint64_t map_hash_u64(uint64_t key)
{
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdULL;
    key ^= key >> 33;
    key *= 0xc4ceb9fe1a85ec53ULL;
    return key ^ key >> 33;
}

/* FNV-1a, mixed once more since its low bits alone choose the slot. */
uint64_t map_hash_span(struct span key)
{
    uint64_t hash = 0xcbf29ce484222325ULL;

    for (size_t i = 0; i < key.n; i++)
        hash = (hash ^ (unsigned char)key.p[i]) * 0x100000001b3ULL;
    return map_hash_u64(hash);
}
