/* compat - the label changes, and what nobody reads is not known, in empty groups neither. */
#include "expose/compat.h"

#include "base/utf8.h"
#include "expose/emit.h"

#include <assert.h>

static const struct span our_label = SPAN_LITERAL("group=");
static const struct span their_label = SPAN_LITERAL("groupname=");

enum { LABEL_MAX = 2 * UTF8_LABEL_MAX + 32 };

/* `groupname="..."` out of `group="..."`. */
static struct span rename_label(char dst[static LABEL_MAX], struct span label)
{
    struct span value = span_skip(label, our_label.n);

    /* Empty if the arena had no room; such a snapshot is not rendered. */
    if (label.n < our_label.n)
        return NO_LABEL;
    assert(their_label.n + value.n <= LABEL_MAX);
    memcpy(dst, their_label.p, their_label.n);
    memcpy(dst + their_label.n, value.p, value.n);
    return span_of(dst, their_label.n + value.n);
}

void compat_family(struct page *p, const struct snapshot *s, const struct family *f)
{
    struct wanted wanted;

    selection_wanted(&s->families, &wanted);
    for (size_t i = 0; i < s->n_groups; i++) {
        struct snapshot_group g = s->groups[i];
        char label[LABEL_MAX];

        g.label = rename_label(label, g.label);
        g.values.have_gauges &= wanted.gauges;
        f->emit.group(p, &g, f->field);
    }
}

static void state(struct page *p, const struct snapshot_group *g, unsigned slot, const char *name,
                  uint64_t processes)
{
    page_u64(p, g->label, page_label(p, slot, "state", name), processes);
}

void compat_states(struct page *p, const struct snapshot_group *g, unsigned field)
{
    const uint64_t *n = g->values.state;

    (void)field;
    state(p, g, 0, "Running", n[STATE_RUNNING]);
    state(p, g, 1, "Sleeping", n[STATE_SLEEPING]);
    state(p, g, 2, "Waiting", n[STATE_DISK_SLEEP]);
    state(p, g, 3, "Zombie", n[STATE_ZOMBIE]);
    state(p, g, 4, "Other", n[STATE_STOPPED] + n[STATE_OTHER]);
}

/* The sum of these gauges (1 << enum gauge), if all are known. */
static void memory(struct page *p, const struct snapshot_group *g, unsigned slot, const char *name,
                   uint32_t gauges)
{
    uint64_t sum = 0;

    if ((g->values.have_gauges & gauges) != gauges)
        return;
    for (uint32_t left = gauges; left; left &= left - 1)
        if (__builtin_add_overflow(sum, g->values.gauge[__builtin_ctz(left)], &sum))
            sum = UINT64_MAX;
    page_u64(p, g->label, page_label(p, slot, "memtype", name), sum);
}

#define BIT(n) (UINT32_C(1) << (n))

void compat_memory(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    memory(p, g, 0, "resident",
           BIT(GAUGE_RESIDENT_ANON_BYTES) | BIT(GAUGE_RESIDENT_FILE_BYTES) |
               BIT(GAUGE_RESIDENT_SHMEM_BYTES));
    memory(p, g, 1, "virtual", BIT(GAUGE_VIRTUAL_BYTES));
    memory(p, g, 2, "swapped", BIT(GAUGE_SWAP_BYTES));
    memory(p, g, 3, "proportionalResident", BIT(GAUGE_PROPORTIONAL_BYTES));
}
