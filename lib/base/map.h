#pragma once
/*
 * map - an open-addressing index from a 64-bit hash to a 32-bit reference.
 *
 * The map keeps hashes and references, never the things: the caller holds those in an array and
 * compares. Several entries may share a hash, so a lookup walks the candidates:
 *
 *     for (size_t at = map_first(m, hash); at != MAP_END; at = map_next(m, hash, at))
 *         if (same(things[m->slots[at].ref], key)) ...
 *
 * Adding or removing moves entries: positions are good until the next change.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t hash;
    uint32_t ref; /* MAP_FREE: no entry */
};

struct map {
    struct map_slot *slots;
    size_t size; /* a power of two, or 0 before the first add */
    size_t count;
};

#define MAP_FREE UINT32_MAX
#define MAP_END  SIZE_MAX

void map_init(struct map *m);
void map_deinit(struct map *m);

/* Removes all entries; the memory stays. */
void map_reset(struct map *m);

/* Adds an entry; ref may be any value but MAP_FREE. Returns 0 or -ENOMEM (nothing added). */
int map_add(struct map *m, uint64_t hash, uint32_t ref);

/* Removes the entry of this hash and reference; false if there is none. */
bool map_remove(struct map *m, uint64_t hash, uint32_t ref);

size_t map_first(const struct map *m, uint64_t hash);
size_t map_next(const struct map *m, uint64_t hash, size_t at);

/* Well mixed hashes for the two kinds of keys in use. */
uint64_t map_hash_u64(uint64_t key);
uint64_t map_hash_span(struct span key);
