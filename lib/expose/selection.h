#pragma once
/*
 * selection - which families are on, and what that makes the sources read.
 */
#include "base/span.h"
#include "model/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SELECTION_WORDS = 4 };

/* What a family's samples are of. */
enum family_scope {
    FAMILY_GROUP,   /* a sample or more per group */
    FAMILY_PROCESS, /* per process that has series of its own */
    FAMILY_HOST,
    FAMILY_SELF,   /* the daemon; also rendered while there is nothing else */
    FAMILY_COMPAT, /* per group, under the names that process-exporter gives them */
};

/* A bit per row of families.def. All zero is the selection of nothing. */
struct selection {
    uint64_t on[SELECTION_WORDS];
};

/* The families that are on by default: none of the scopes that a setting of their own turns on. */
void selection_default(struct selection *ret);

/* Turns on the families of the scope that are on when it is, or off all of them. */
void selection_turn_on(struct selection *s, enum family_scope scope);
void selection_turn_off(struct selection *s, enum family_scope scope);

/*
 * Turns on (or off) every family whose sample name (with its `_total`) matches the glob. Returns
 * how many rows matched: 0 tells that the glob names nothing.
 */
size_t selection_include(struct selection *s, struct span glob);
size_t selection_exclude(struct selection *s, struct span glob);

bool selection_is_empty(const struct selection *s);

/*
 * Turns on the family of exactly this name, for `name[]=` of a request: the name of its samples
 * or, as OpenMetrics has it, without a counter's `_total`. Returns false, and changes nothing, if
 * there is none. Whether the snapshot has the family is render()'s to see.
 */
bool selection_add(struct selection *s, struct span name);

/*
 * What the sources must read for the families that are on: the fields, the parts those are in,
 * the host's files. PART_STAT is always in it.
 */
void selection_wanted(const struct selection *s, struct wanted *ret);

static inline bool selection_has(const struct selection *s, unsigned family)
{
    return s->on[family / 64] >> (family % 64) & 1;
}
