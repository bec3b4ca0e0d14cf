/*
 * top - the selection, in memory that was taken before.
 *
 * A heap keeps the best 2n of what was offered: its top is the last of them by rank, which the next
 * better one replaces. So most processes cost one comparison. At the end it is sorted in place;
 * qsort() would take memory.
 */
#include "track/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) (UINT32_C(1) << (n))

/* Fields whose sum is the figure. */
static const struct {
    uint32_t counters;
    uint32_t gauges;
} fields[] = {
    [TOP_CPU] = {.counters = BIT(COUNTER_CPU_USER_NS) | BIT(COUNTER_CPU_SYSTEM_NS)},
    [TOP_MEMORY] = {.gauges = BIT(GAUGE_RESIDENT_ANON_BYTES) | BIT(GAUGE_RESIDENT_FILE_BYTES) |
                              BIT(GAUGE_RESIDENT_SHMEM_BYTES)},
    [TOP_IO] = {.counters = BIT(COUNTER_STORAGE_READ_BYTES) | BIT(COUNTER_STORAGE_WRITE_BYTES)},
    [TOP_FDS] = {.gauges = BIT(GAUGE_OPEN_FDS)},
};

void top_init(struct top *t)
{
    *t = (struct top){.n = 0};
}

void top_deinit(struct top *t)
{
    free(t->rows);
    free(t->order);
    free(t->held);
    top_init(t);
}

int top_configure(struct top *t, enum top_key key, size_t n)
{
    struct top made = {.key = key, .n = n};

    if (n == t->n) {
        t->key = key;
        return 0;
    }
    if (n > 0) {
        made.rows = calloc(2 * n, sizeof(*made.rows));
        made.order = calloc(2 * n, sizeof(*made.order));
        made.held = calloc(2 * n, sizeof(*made.held));
        if (!made.rows || !made.order || !made.held) {
            top_deinit(&made);
            return -ENOMEM;
        }
    }
    top_deinit(t);
    *t = made;
    return 0;
}

void top_want(enum top_key key, struct wanted *wanted)
{
    wanted->counters |= fields[key].counters;
    wanted->gauges |= fields[key].gauges;
    wanted->parts = parts_wanted(wanted);
}

static void add_saturating(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

uint64_t top_score(enum top_key key, const struct sample *s, enum sighting sighting,
                   const struct delta *delta)
{
    const uint64_t *counter = sighting == SIGHTING_FOUND ? s->counter : delta->counter;
    uint64_t score = 0;

    for (uint32_t left = fields[key].counters & s->have_counters; left; left &= left - 1)
        add_saturating(&score, counter[__builtin_ctz(left)]);
    for (uint32_t left = fields[key].gauges & s->have_gauges; left; left &= left - 1)
        add_saturating(&score, s->gauge[__builtin_ctz(left)]);
    return score;
}

static int compare_pids(struct identity a, struct identity b)
{
    if (a.pid != b.pid)
        return a.pid < b.pid ? -1 : 1;
    return (a.start_ticks > b.start_ticks) - (a.start_ticks < b.start_ticks);
}

static bool older(struct identity a, struct identity b)
{
    return a.start_ticks != b.start_ticks ? a.start_ticks < b.start_ticks : a.pid < b.pid;
}

static bool first_by_rank(const struct top_rank *a, const struct top_rank *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    if (a->held != b->held)
        return a->held;
    return older(a->identity, b->identity);
}

static bool first_by_pid(const struct top_rank *a, const struct top_rank *b)
{
    return compare_pids(a->identity, b->identity) < 0;
}

/* ---- the heap ---- */

typedef bool comes_first(const struct top_rank *a, const struct top_rank *b);

static bool is_first(const struct top *t, comes_first *first, size_t i, size_t j)
{
    return first(&t->rows[t->order[i]].rank, &t->rows[t->order[j]].rank);
}

static void swap(struct top *t, size_t i, size_t j)
{
    uint32_t row = t->order[i];

    t->order[i] = t->order[j];
    t->order[j] = row;
}

/* Moves the row at i up to where it belongs, in the heap above it. */
static void sift_up(struct top *t, comes_first *first, size_t i)
{
    for (; i > 0 && is_first(t, first, (i - 1) / 2, i); i = (i - 1) / 2)
        swap(t, i, (i - 1) / 2);
}

/* Moves the row at i down to where it belongs, in a heap of n. */
static void sift_down(struct top *t, comes_first *first, size_t i, size_t n)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= n)
            return;
        if (child + 1 < n && is_first(t, first, child, child + 1))
            child++;
        if (!is_first(t, first, i, child))
            return;
        swap(t, i, child);
        i = child;
    }
}

/* Sorts a heap of n, the first one first. */
static void sort_heap(struct top *t, comes_first *first, size_t n)
{
    for (; n > 1; n--) {
        swap(t, 0, n - 1);
        sift_down(t, first, 0, n - 1);
    }
}

static void sort(struct top *t, comes_first *first, size_t n)
{
    for (size_t i = n / 2; i > 0; i--)
        sift_down(t, first, i - 1, n);
    sort_heap(t, first, n);
}

/* ---- a cycle ---- */

void top_begin(struct top *t)
{
    t->n_order = 0;
}

static bool is_held(const struct top *t, struct identity identity)
{
    size_t low = 0, high = t->n_held;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_pids(t->held[middle], identity);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void put_row(struct top_row *row, const struct top_rank *rank, uint32_t ref,
                    const struct sample *s)
{
    row->rank = *rank;
    row->ref = ref;
    row->sample = *s;
}

void top_offer(struct top *t, uint32_t ref, const struct sample *s, uint64_t score)
{
    bool full = t->n_order == 2 * t->n;
    struct top_row *last = full && t->n > 0 ? &t->rows[t->order[0]] : NULL;
    struct top_rank rank = {.score = score, .identity = s->identity};

    if (t->n == 0 || (last && score < last->rank.score))
        return;
    rank.held = is_held(t, s->identity);
    if (score == 0 && !rank.held)
        return;
    if (!last) {
        put_row(&t->rows[t->n_order], &rank, ref, s);
        t->order[t->n_order] = (uint32_t)t->n_order;
        sift_up(t, first_by_rank, t->n_order++);
    } else if (first_by_rank(&rank, &last->rank)) {
        put_row(last, &rank, ref, s);
        sift_down(t, first_by_rank, 0, t->n_order);
    }
}

void top_end(struct top *t)
{
    size_t n = 0;

    sort_heap(t, first_by_rank, t->n_order);
    for (size_t i = 0; i < t->n_order; i++)
        if (i < t->n || top_row(t, i)->rank.held)
            t->order[n++] = t->order[i];
    t->n_order = n;
    sort(t, first_by_pid, n);
    for (size_t i = 0; i < n; i++)
        t->held[i] = top_row(t, i)->rank.identity;
    t->n_held = n;
}
