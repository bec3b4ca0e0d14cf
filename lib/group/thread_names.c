/*
 * thread_names - one array for all groups, and its order by group and name.
 *
 * The order is the index as well: a group's names stand together in it, and few groups have any.
 */
#include "group/thread_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD_NAMES_SMALLEST = 16 };

static const struct span other_name = SPAN_LITERAL("_other");
/* A thread may call itself nothing, and an empty label value is no label. */
static const struct span empty_name = SPAN_LITERAL("_empty");

void thread_names_init(struct thread_names *n)
{
    *n = (struct thread_names){0};
}

void thread_names_deinit(struct thread_names *n)
{
    free(n->names);
    free(n->order);
    *n = (struct thread_names){0};
}

void thread_names_begin(struct thread_names *n)
{
    for (size_t i = 0; i < n->n_order; i++)
        n->names[n->order[i]].threads = 0;
}

static int compare(const struct thread_names *n, uint32_t number, uint32_t group, struct span name)
{
    uint32_t other = n->names[number].group;

    return other != group ? (other > group) - (other < group)
                          : span_compare(thread_names_name(n, number), name);
}

/* Where in the order a name stands, or would. */
static size_t position(const struct thread_names *n, uint32_t group, struct span name)
{
    size_t low = 0, high = n->n_order;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(n, n->order[middle], group, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool stands_at(const struct thread_names *n, size_t at, uint32_t group, struct span name)
{
    return at < n->n_order && compare(n, n->order[at], group, name) == 0;
}

size_t thread_names_of(const struct thread_names *n, uint32_t group, size_t *ret)
{
    /* No name is empty. */
    size_t first = position(n, group, span_of("", 0));

    *ret = first;
    return position(n, group + 1, span_of("", 0)) - first;
}

static bool is_full(const struct thread_names *n, uint32_t group)
{
    size_t first, count = thread_names_of(n, group, &first);

    return count - stands_at(n, position(n, group, other_name), group, other_name) >=
           THREAD_NAMES_MAX;
}

static int grow(struct thread_names *n)
{
    size_t capacity = n->capacity ? n->capacity * 2 : THREAD_NAMES_SMALLEST;
    struct thread_name *names = realloc(n->names, capacity * sizeof(*names));
    uint32_t *order;

    if (!names)
        return -ENOMEM;
    n->names = names;
    order = realloc(n->order, capacity * sizeof(*order));
    if (!order)
        return -ENOMEM;
    n->order = order;
    n->capacity = capacity;
    return 0;
}

static int free_number(struct thread_names *n, uint32_t *ret)
{
    for (uint32_t i = 0; n->n_order < n->n_names && i < n->n_names; i++)
        if (!n->names[i].used) {
            *ret = i;
            return 0;
        }
    if (n->n_names == n->capacity) {
        int r = grow(n);

        if (r < 0)
            return r;
    }
    *ret = (uint32_t)n->n_names++;
    return 0;
}

static int make(struct thread_names *n, uint32_t group, struct span name, size_t at, uint32_t *ret)
{
    int r = free_number(n, ret);

    if (r < 0)
        return r;
    n->names[*ret] =
        (struct thread_name){.used = true, .group = group, .name_len = (uint8_t)name.n};
    memcpy(n->names[*ret].name, name.p, name.n);
    memmove(&n->order[at + 1], &n->order[at], (n->n_order - at) * sizeof(*n->order));
    n->order[at] = *ret;
    n->n_order++;
    return 0;
}

int thread_names_get(struct thread_names *n, uint32_t group, struct span comm, uint32_t likely,
                     uint32_t *ret)
{
    char label[UTF8_LABEL_MAX];
    struct span name = span_of(label, utf8_label(label, comm));
    size_t at;

    if (name.n == 0)
        name = empty_name;
    if (likely != THREAD_NAME_NONE && compare(n, likely, group, name) == 0) {
        *ret = likely;
        return 0;
    }
    at = position(n, group, name);
    if (!stands_at(n, at, group, name) && is_full(n, group)) {
        name = other_name;
        at = position(n, group, name);
    }
    if (!stands_at(n, at, group, name))
        return make(n, group, name, at, ret);
    *ret = n->order[at];
    return 0;
}

void thread_names_take(struct thread_names *n, uint32_t number, const struct thread_delta *delta)
{
    struct thread_name *name = &n->names[number];

    for (uint32_t rest = delta->known; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);

        if (__builtin_add_overflow(name->total[i], delta->counter[i], &name->total[i]))
            name->total[i] = UINT64_MAX;
    }
    name->known |= delta->known;
}

static bool leaves(struct thread_name *name, const struct groups *g, uint64_t now_ns)
{
    const struct group *group = &g->groups[name->group];

    if (!group->used || !group->threads)
        return true;
    if (name->threads > 0)
        name->empty_since_ns = 0;
    else if (name->empty_since_ns == 0 || name->empty_since_ns > now_ns)
        name->empty_since_ns = now_ns;
    else
        return now_ns - name->empty_since_ns >= g->forget_ns;
    return false;
}

void thread_names_end(struct thread_names *n, const struct groups *g, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n_order; i++) {
        struct thread_name *name = &n->names[n->order[i]];

        if (leaves(name, g, now_ns))
            name->used = false;
        else
            n->order[kept++] = n->order[i];
    }
    n->n_order = kept;
    if (kept == 0 && n->names)
        thread_names_deinit(n);
}

void thread_names_forget_counters(struct thread_names *n, uint32_t counters)
{
    for (size_t i = 0; i < n->n_order; i++) {
        struct thread_name *name = &n->names[n->order[i]];

        name->known &= ~counters;
        for (uint32_t rest = counters; rest; rest &= rest - 1) {
            unsigned field = (unsigned)__builtin_ctz(rest);

            name->total[field] = 0;
            name->series[field] = (struct group_series){0};
        }
    }
}

void thread_names_values(struct thread_names *n, uint32_t number, enum groups_mode mode,
                         const struct groups_moment *moment, struct thread_values *ret)
{
    struct thread_name *name = &n->names[number];

    ret->threads = name->threads;
    ret->have = name->known;
    for (uint32_t rest = name->known; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);

        ret->counter[i] = mode == GROUPS_AT_ONCE
                              ? name->total[i]
                              : group_series_value(&name->series[i], name->total[i], moment);
    }
}
