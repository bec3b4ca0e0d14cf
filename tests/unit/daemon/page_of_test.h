#pragma once
/* page_of_test - a small snapshot by hand, and its number read back out of a page. */
#include "check.h"
#include "daemon/publish.h"

/* Publishes a snapshot of that number, with a group in it. False: every slot is in use. */
static inline bool publish_number(struct publisher *p, uint64_t number)
{
    struct slot *slot = publisher_begin(p);
    struct snapshot *s;

    if (!slot)
        return false;
    s = &slot->snapshot;
    *s = (struct snapshot){.sequence = number, .up = true};
    s->self = (struct self){.version = "0",
                            .revision = "r",
                            .libmicrohttpd_version = "0",
                            .source = "procfs",
                            .source_reason = "test",
                            .snapshots = number};
    selection_default(&s->families);
    s->n_groups = 1;
    s->groups = arena_alloc_array(&slot->arena, 1, sizeof(*s->groups));
    assert_non_null(s->groups);
    memset(s->groups, 0, sizeof(*s->groups));
    s->groups[0].name = arena_copy(&slot->arena, SPAN_LITERAL("a group"));
    s->groups[0].label = snapshot_label(&slot->arena, s->groups[0].name);
    s->groups[0].values.processes = number;
    publisher_commit(p, slot, true);
    return true;
}

/* The value of the first sample that begins so; UINT64_MAX if there is none. */
static inline uint64_t page_value(struct span page, const char *sample)
{
    const char *at = page.n ? memmem(page.p, page.n, sample, strlen(sample)) : NULL;

    return at ? strtoull(at + strlen(sample), NULL, 10) : UINT64_MAX;
}

/* The number of the snapshot that the page shows, the same at its begin and its end. */
static inline uint64_t page_number(struct span page)
{
    uint64_t number = page_value(page, "\nproctally_group_processes{group=\"a group\"} ");

    return page_value(page, "\nproctally_snapshots_total ") == number ? number : UINT64_MAX;
}
