/*
 * threads - one array of records with a list of free ones through it, and an index by tid.
 *
 * Cycles count from 2, so that `seen` 0 is a free record. Tids are unique among the living of a
 * pid namespace: few records share one, the present thread and remains of those before it.
 */
#include "track/threads.h"

#include <errno.h>
#include <stdlib.h>

enum {
    THREADS_SMALLEST = 64,
    /* A thread that was not seen is known for so many further cycles. */
    THREADS_REMAINS = 2,
    /* Where fewer than one record in so many is in use, the array is made smaller. */
    THREADS_SPARSE = 8,
};

void threads_init(struct threads *t)
{
    *t = (struct threads){.cycle = 1, .first_free = THREADS_NONE};
    map_init(&t->by_tid);
}

static void threads_clear(struct threads *t)
{
    free(t->threads);
    map_deinit(&t->by_tid);
    t->threads = NULL;
    t->n_threads = t->n_used = t->capacity = 0;
    t->first_free = THREADS_NONE;
}

void threads_deinit(struct threads *t)
{
    threads_clear(t);
}

void threads_begin(struct threads *t, uint64_t tick)
{
    t->cycle++;
    t->tick = tick;
}

void threads_look(struct threads *t, struct process *p)
{
    struct thread_looks *looks = &p->thread_looks;

    t->n_seen = 0;
    if (looks->since != 0)
        return;
    looks->since = t->cycle;
    /* As if one had been seen that begins now: those before it are no news. */
    if (!looks->all_new)
        looks->youngest.start_ticks = looks->youngest_whole.start_ticks = t->tick;
}

void threads_looked(struct threads *t, struct process *p, bool whole)
{
    struct thread_looks *looks = &p->thread_looks;

    if (!whole || t->n_seen == 0)
        return;
    looks->n = t->n_seen;
    looks->youngest_whole = looks->youngest;
}

uint32_t threads_find(const struct threads *t, const struct process *p,
                      const struct thread_sample *s)
{
    uint64_t hash = map_hash_u64(s->tid);

    for (size_t at = map_first(&t->by_tid, hash); at != MAP_END;
         at = map_next(&t->by_tid, hash, at)) {
        uint32_t ref = t->by_tid.slots[at].ref;
        const struct thread *thread = &t->threads[ref];

        /* One from before the process was left for a while is as good as unknown. */
        if (thread->tid == s->tid && thread->start_ticks == s->start_ticks &&
            identity_equal(thread->process, p->identity) && thread->seen >= p->thread_looks.since)
            return ref;
    }
    return THREADS_NONE;
}

bool threads_was_here(const struct threads *t, uint32_t ref)
{
    return t->threads[ref].seen >= t->finished;
}

static int threads_grow(struct threads *t)
{
    size_t capacity = t->capacity ? t->capacity * 2 : THREADS_SMALLEST;
    struct thread *threads;

    if (capacity >= THREADS_NONE)
        return -ENOMEM;
    threads = realloc(t->threads, capacity * sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    t->threads = threads;
    t->capacity = capacity;
    return 0;
}

/* A record for a new thread, indexed, without bases. */
static int threads_add(struct threads *t, const struct process *p, const struct thread_sample *s,
                       uint32_t *ret)
{
    uint32_t ref = t->first_free;
    int r;

    if (ref == THREADS_NONE) {
        if (t->n_threads == t->capacity) {
            r = threads_grow(t);
            if (r < 0)
                return r;
        }
        ref = (uint32_t)t->n_threads;
    }
    r = map_add(&t->by_tid, map_hash_u64(s->tid), ref);
    if (r < 0)
        return r;
    if (ref == t->n_threads)
        t->n_threads++;
    else
        t->first_free = t->threads[ref].next_free;
    t->n_used++;
    t->threads[ref] =
        (struct thread){.tid = s->tid, .start_ticks = s->start_ticks, .process = p->identity};
    *ret = ref;
    return 0;
}

/*
 * Whether another thread may have taken the leader's place: one that executes a program ends all
 * others, and takes over the leader's tid and start, while its own totals stay.
 */
static bool threads_leader_changed(const struct process *p, const struct thread_sample *s)
{
    return s->tid == p->identity.pid && p->thread_looks.n > 1 && p->renamed && !p->kernel_thread;
}

static bool threads_is_younger(const struct thread_sample *s, struct thread_age than)
{
    return s->start_ticks != than.start_ticks ? s->start_ticks > than.start_ticks
                                              : s->tid > than.tid;
}

static enum first_total threads_first(const struct thread_looks *looks,
                                      const struct thread_sample *s)
{
    if (looks->n == 0)
        return looks->all_new ? FIRST_TOTAL_COUNTS : FIRST_TOTAL_IS_BASE;
    return threads_is_younger(s, looks->youngest_whole) ? FIRST_TOTAL_COUNTS : FIRST_TOTAL_IS_BASE;
}

static void threads_take(struct threads *t, struct thread *thread, const struct thread_sample *s,
                         uint32_t counters, enum first_total first, struct thread_delta *ret)
{
    for (unsigned i = 0; i < THREAD_COUNTER_N; i++) {
        ret->counter[i] = 0;
        if (!(counters & s->have & UINT32_C(1) << i))
            continue;
        ret->counter[i] = delta_step(&thread->highest[i], thread->have >> i & 1, s->counter[i],
                                     first, &t->steps_back[i]);
        thread->have |= UINT32_C(1) << i;
    }
    ret->known = thread->have & counters;
}

int threads_see(struct threads *t, struct process *p, const struct thread_sample *s,
                uint32_t counters, uint32_t *ret_ref, bool *ret_again, struct thread_delta *ret)
{
    uint32_t ref = threads_find(t, p, s);
    enum first_total first = FIRST_TOTAL_IS_BASE;
    struct thread *thread;

    if (ref == THREADS_NONE) {
        int r = threads_add(t, p, s, &ref);

        if (r < 0)
            return r;
        first = threads_first(&p->thread_looks, s);
    }
    thread = &t->threads[ref];
    *ret_again = thread->seen == t->cycle;
    if (!*ret_again && threads_leader_changed(p, s))
        thread->have = 0;
    thread->seen = t->cycle;
    threads_take(t, thread, s, counters, first, ret);
    t->n_seen += !*ret_again;
    if (threads_is_younger(s, p->thread_looks.youngest))
        p->thread_looks.youngest =
            (struct thread_age){.start_ticks = s->start_ticks, .tid = s->tid};
    *ret_ref = ref;
    return 0;
}

static void threads_drop(struct threads *t, uint32_t ref)
{
    struct thread *thread = &t->threads[ref];

    map_remove(&t->by_tid, map_hash_u64(thread->tid), ref);
    thread->seen = 0;
    thread->next_free = t->first_free;
    t->first_free = ref;
    t->n_used--;
}

/* Moves the records in use into an array twice as large as they need. Without memory, it waits. */
static void threads_shrink(struct threads *t)
{
    struct threads small;
    size_t capacity = THREADS_SMALLEST;

    while (capacity < 2 * t->n_used)
        capacity *= 2;
    small = *t;
    small.threads = malloc(capacity * sizeof(*small.threads));
    small.n_threads = 0;
    small.capacity = capacity;
    small.first_free = THREADS_NONE;
    map_init(&small.by_tid);
    for (size_t i = 0; small.threads && i < t->n_threads; i++) {
        if (t->threads[i].seen == 0)
            continue;
        if (map_add(&small.by_tid, map_hash_u64(t->threads[i].tid), (uint32_t)small.n_threads) < 0)
            break;
        small.threads[small.n_threads++] = t->threads[i];
    }
    if (!small.threads || small.n_threads < t->n_used) {
        threads_clear(&small);
        return;
    }
    threads_clear(t);
    *t = small;
}

void threads_end(struct threads *t)
{
    t->finished = t->cycle;
    for (uint32_t ref = 0; ref < t->n_threads; ref++)
        if (t->threads[ref].seen != 0 && t->threads[ref].seen + THREADS_REMAINS < t->cycle)
            threads_drop(t, ref);
    if (t->n_used == 0 && t->capacity > 0)
        threads_clear(t);
    else if (t->capacity > THREADS_SMALLEST && t->n_used < t->capacity / THREADS_SPARSE)
        threads_shrink(t);
}

void threads_forget_counters(struct threads *t, uint32_t counters)
{
    for (size_t i = 0; i < t->n_threads; i++)
        t->threads[i].have &= ~counters;
}
