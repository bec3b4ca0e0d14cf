#pragma once
/*
 * agreement - what the control groups of all a group's members have in common.
 */
#include "base/span.h"
#include "group/cgroup_identity.h"

/* All zero: of nobody. Spans are those of the identities, and as valid. */
struct agreement {
    const struct cgroup_identity *last; /* whoever was added last */
    struct span unit;                   /* empty: they have none, or not the same */
    struct span container;
    struct span pod;
};

/*
 * Adds a member's. Who has none does not agree with who has one; but NULL, of whom nothing is
 * known, changes nothing.
 */
void agreement_add(struct agreement *a, const struct cgroup_identity *identity);
