/*
 * cgroups - one entry per path, in memory of its own.
 *
 * Entries hold spans into themselves, so each is allocated alone, together with its path. Slots say
 * where they are, and free ones form a list; the index finds a slot by the path's hash.
 */
#include "group/cgroups.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CGROUPS_SMALLEST = 64,
    /* A number is INDEX_BITS of the slot's index plus one, below the count. */
    INDEX_BITS = 22,
    INDEX_MASK = (1 << INDEX_BITS) - 1,
    SLOTS_MAX = INDEX_MASK, /* as many as there can be processes (PID_MAX_LIMIT), less one */
};

#define NO_SLOT UINT32_MAX

struct cgroups_entry {
    struct cgroup_identity identity; /* of the path below */
    uint64_t hash;
    size_t path_n;
    char path[];
};

void cgroups_init(struct cgroups *c)
{
    *c = (struct cgroups){.first_free = NO_SLOT};
    map_init(&c->by_path);
    map_init(&c->by_id);
}

void cgroups_deinit(struct cgroups *c)
{
    for (uint32_t i = 0; i < c->n_slots; i++)
        free(c->slots[i].entry);
    free(c->slots);
    map_deinit(&c->by_path);
    map_deinit(&c->by_id);
    cgroups_init(c);
}

/* The slot of an entry, NULL if the number is not good. */
static struct cgroups_slot *cgroups_slot(const struct cgroups *c, uint32_t number)
{
    uint32_t index = (number & INDEX_MASK) - 1;

    if (index >= c->n_slots || c->slots[index].number != number || !c->slots[index].entry)
        return NULL;
    return &c->slots[index];
}

static struct cgroups_slot *cgroups_find(const struct cgroups *c, struct span path, uint64_t hash)
{
    for (size_t at = map_first(&c->by_path, hash); at != MAP_END;
         at = map_next(&c->by_path, hash, at)) {
        struct cgroups_slot *slot = &c->slots[c->by_path.slots[at].ref];

        if (span_equal(span_of(slot->entry->path, slot->entry->path_n), path))
            return slot;
    }
    return NULL;
}

static struct cgroups_entry *cgroups_new_entry(struct span path, uint64_t hash)
{
    struct cgroups_entry *entry = malloc(sizeof(*entry) + path.n);

    if (!entry)
        return NULL;
    if (path.n)
        memcpy(entry->path, path.p, path.n);
    entry->hash = hash;
    entry->path_n = path.n;
    cgroup_identify(span_of(entry->path, path.n), &entry->identity);
    return entry;
}

/* Makes room for a slot behind the last one, and makes it free. */
static int cgroups_add_slot(struct cgroups *c)
{
    if (c->n_slots == SLOTS_MAX)
        return -ENOMEM;
    if (c->n_slots == c->capacity) {
        uint32_t capacity = c->capacity ? c->capacity * 2 : CGROUPS_SMALLEST;
        struct cgroups_slot *slots;

        slots = realloc(c->slots, capacity * sizeof(*slots));
        if (!slots)
            return -ENOMEM;
        c->slots = slots;
        c->capacity = capacity;
    }
    c->slots[c->n_slots] = (struct cgroups_slot){.number = c->n_slots + 1, .next_free = NO_SLOT};
    c->first_free = c->n_slots++;
    return 0;
}

static int cgroups_add(struct cgroups *c, struct span path, uint64_t hash,
                       struct cgroups_slot **ret)
{
    struct cgroups_slot *slot;
    uint32_t index;

    if (c->first_free == NO_SLOT) {
        int r = cgroups_add_slot(c);

        if (r < 0)
            return r;
    }
    index = c->first_free;
    slot = &c->slots[index];
    slot->entry = cgroups_new_entry(path, hash);
    if (!slot->entry)
        return -ENOMEM;
    if (map_add(&c->by_path, hash, index) < 0) {
        free(slot->entry);
        slot->entry = NULL;
        return -ENOMEM;
    }
    c->first_free = slot->next_free;
    c->n_entries++;
    *ret = slot;
    return 0;
}

static bool cgroups_is(const struct cgroups *c, uint32_t index, struct span path)
{
    const struct cgroups_entry *entry = index < c->n_slots ? c->slots[index].entry : NULL;

    return entry && span_equal(span_of(entry->path, entry->path_n), path);
}

/* The slot of a path without a mark, made if there is none. */
static int cgroups_take(struct cgroups *c, struct span path, struct cgroups_slot **ret)
{
    uint64_t hash;

    if (cgroups_is(c, c->last, path)) {
        *ret = &c->slots[c->last];
        return 0;
    }
    hash = map_hash_span(path);
    *ret = cgroups_find(c, path, hash);
    return *ret ? 0 : cgroups_add(c, path, hash, ret);
}

int cgroups_enter(struct cgroups *c, struct span path, uint32_t *ret)
{
    struct cgroups_slot *slot;
    int r = cgroups_take(c, cgroup_path(path), &slot);

    if (r < 0)
        return r;
    c->last = (uint32_t)(slot - c->slots);
    slot->kept = c->sweep;
    *ret = slot->number;
    return 0;
}

bool cgroups_keep(struct cgroups *c, uint32_t number)
{
    struct cgroups_slot *slot = cgroups_slot(c, number);

    if (slot)
        slot->kept = c->sweep;
    return slot != NULL;
}

static void cgroups_forget_id(struct cgroups *c, uint32_t index)
{
    struct cgroups_slot *slot = &c->slots[index];

    if (slot->id != 0)
        map_remove(&c->by_id, map_hash_u64(slot->id), index);
    slot->id = 0;
}

void cgroups_set_id(struct cgroups *c, uint32_t number, uint64_t id)
{
    struct cgroups_slot *slot = cgroups_slot(c, number);
    uint32_t index;

    if (!slot || slot->id == id)
        return;
    index = (uint32_t)(slot - c->slots);
    cgroups_forget_id(c, index);
    if (map_add(&c->by_id, map_hash_u64(id), index) == 0)
        slot->id = id;
}

uint32_t cgroups_of_id(struct cgroups *c, uint64_t id)
{
    uint64_t hash = map_hash_u64(id);

    for (size_t at = map_first(&c->by_id, hash); at != MAP_END;
         at = map_next(&c->by_id, hash, at)) {
        struct cgroups_slot *slot = &c->slots[c->by_id.slots[at].ref];

        if (slot->id != id)
            continue;
        slot->kept = c->sweep;
        return slot->number;
    }
    return CGROUPS_NONE;
}

static void cgroups_drop(struct cgroups *c, uint32_t index)
{
    struct cgroups_slot *slot = &c->slots[index];

    cgroups_forget_id(c, index);
    map_remove(&c->by_path, slot->entry->hash, index);
    free(slot->entry);
    slot->entry = NULL;
    slot->number += 1U << INDEX_BITS; /* wraps without touching the index */
    slot->next_free = c->first_free;
    c->first_free = index;
    c->n_entries--;
}

void cgroups_sweep(struct cgroups *c)
{
    for (uint32_t i = 0; i < c->n_slots; i++)
        if (c->slots[i].entry && c->sweep - c->slots[i].kept > 1)
            cgroups_drop(c, i);
    c->sweep++;
}

const struct cgroup_identity *cgroups_identity(const struct cgroups *c, uint32_t number)
{
    const struct cgroups_slot *slot = cgroups_slot(c, number);

    return slot ? &slot->entry->identity : NULL;
}
