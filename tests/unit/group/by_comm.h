#pragma once
/* by_comm - a decision by comm alone, where a test is about something else. */
#include "group/membership.h"

static inline int place_by_comm(struct groups *g, struct process *p, enum sighting sighting,
                                const struct delta *delta)
{
    const struct subject subject = {.comm = span_of(p->comm, p->comm_len),
                                    .kernel_thread = p->kernel_thread};
    const struct kin kin = {0};

    if (p->renamed)
        groups_changed(g, p);
    return groups_place(g, p, sighting, delta, groups_must_decide(g, p, sighting) ? &subject : NULL,
                        &kin);
}
