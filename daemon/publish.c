/*
 * publish - the current snapshot and its rendered variants.
 *
 * One lock guards the pointers and counts, held for a few instructions only. Rendering happens
 * outside of it, under a lock of its own per slot and kind, so two threads that want the same
 * variant do not both render it.
 *
 * Above it there is the lock of who builds, held from begin to commit or abandon. The collector
 * waits for it; main only tries, so a collector that hangs while it builds does not stop main.
 * Whoever has it finds that nothing is published meanwhile by the other one: main's look at the
 * newest sequence holds until its commit, and no page has counters that were read before those of
 * the page it replaces.
 *
 * References of a slot: one while it is current, one while it is built, one per thread rendering
 * from it. References of a variant: one by its slot, one by a shared response,
 * one per publisher_acquire(). A variant without references goes to the free list with its memory.
 * Clients that hold the variants of many snapshots make that list long; what was not taken from it
 * for a while is given back to the heap.
 */
#include "daemon/publish.h"

#include "daemon/gzip.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    SNAPSHOT_MAX_BYTES = 512 * 1024 * 1024,
    PAGE_MAX_BYTES = 512 * 1024 * 1024,
    /* Free variants beyond these are given back to the heap, */
    FREE_VARIANTS = 2 * VARIANT_N,
    /* as are those that so many snapshots did without. */
    FREE_WINDOW = 8,
    /* Scrapes noted between two cycles. */
    NOTED_SCRAPES = 64,
};

struct slot_state {
    struct slot slot; /* first: slots are handed out by this address */
    unsigned refs;
    struct variant *variants[VARIANT_N];
    pthread_mutex_t rendering[VARIANT_N];
};

struct publisher {
    pthread_mutex_t building;
    pthread_mutex_t lock;
    struct slot_state *slots;
    size_t n_slots;
    struct slot_state *current;
    uint64_t newest;           /* sequence of the last snapshot that was up */
    bool in_demand[VARIANT_N]; /* asked for since the last commit */
    struct variant *free;
    size_t n_free;
    size_t least_free; /* in the current window */
    unsigned window;   /* commits so far */
    struct variant *retired;
    struct gzip *gzip;
    pthread_mutex_t gzip_lock;
    _Atomic uint64_t served;
    uint64_t scrapes[NOTED_SCRAPES]; /* a ring */
    size_t n_scrapes;                /* ever */
    size_t n_scrapes_taken;
};

struct publisher *publisher_new(size_t n_renderers)
{
    struct publisher *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    pthread_mutex_init(&p->building, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->gzip_lock, NULL);
    p->n_slots = n_renderers + 2;
    p->slots = calloc(p->n_slots, sizeof(*p->slots));
    p->gzip = gzip_new();
    if (!p->slots || !p->gzip)
        return publisher_free(p);
    for (size_t i = 0; i < p->n_slots; i++) {
        arena_init(&p->slots[i].slot.arena, SNAPSHOT_MAX_BYTES);
        for (size_t k = 0; k < VARIANT_N; k++)
            pthread_mutex_init(&p->slots[i].rendering[k], NULL);
    }
    return p;
}

static void variants_free(struct variant *v)
{
    while (v) {
        struct variant *next = v->next;

        buf_deinit(&v->bytes);
        free(v);
        v = next;
    }
}

struct publisher *publisher_free(struct publisher *p)
{
    for (size_t i = 0; p->slots && i < p->n_slots; i++) {
        for (size_t k = 0; k < VARIANT_N; k++) {
            variants_free(p->slots[i].variants[k]);
            pthread_mutex_destroy(&p->slots[i].rendering[k]);
        }
        arena_deinit(&p->slots[i].slot.arena);
    }
    free(p->slots);
    variants_free(p->free);
    variants_free(p->retired);
    gzip_free(p->gzip);
    pthread_mutex_destroy(&p->gzip_lock);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->building);
    free(p);
    return NULL;
}

static struct variant *variant_new(struct publisher *p, enum variant_kind kind, uint64_t sequence)
{
    struct variant *v;

    pthread_mutex_lock(&p->lock);
    v = p->free;
    if (v) {
        p->free = v->next;
        if (--p->n_free < p->least_free)
            p->least_free = p->n_free;
    }
    pthread_mutex_unlock(&p->lock);
    if (!v) {
        v = calloc(1, sizeof(*v));
        if (!v)
            return NULL;
        buf_init(&v->bytes, PAGE_MAX_BYTES);
    }
    v->kind = kind;
    v->sequence = sequence;
    v->publisher = p;
    v->refs = 1;
    v->detached = false;
    v->response = NULL;
    v->next = NULL;
    return v;
}

/* Drops a reference; the lock is held. Returns the variant if it must be given back to the heap. */
static struct variant *variant_unref(struct publisher *p, struct variant *v)
{
    if (--v->refs > 0)
        return NULL;
    if (p->n_free >= FREE_VARIANTS)
        return v;
    buf_reset(&v->bytes);
    v->next = p->free;
    p->free = v;
    p->n_free++;
    return NULL;
}

void publisher_release(struct publisher *p, struct variant *variant)
{
    struct variant *unwanted;

    pthread_mutex_lock(&p->lock);
    unwanted = variant_unref(p, variant);
    pthread_mutex_unlock(&p->lock);
    variants_free(unwanted);
}

/* Lets go of the variants of a slot that is current no more; the lock is held. */
static struct variant *slot_detach_variants(struct publisher *p, struct slot_state *s)
{
    struct variant *unwanted = NULL;

    for (size_t k = 0; k < VARIANT_N; k++) {
        struct variant *v = s->variants[k];

        s->variants[k] = NULL;
        if (!v)
            continue;
        v->detached = true;
        if (v->response) {
            v->next = p->retired;
            p->retired = v;
            continue;
        }
        v = variant_unref(p, v);
        if (v) {
            v->next = unwanted;
            unwanted = v;
        }
    }
    return unwanted;
}

static void slot_unref(struct publisher *p, struct slot_state *s)
{
    struct variant *unwanted = NULL;

    pthread_mutex_lock(&p->lock);
    if (--s->refs == 0)
        unwanted = slot_detach_variants(p, s);
    pthread_mutex_unlock(&p->lock);
    variants_free(unwanted);
}

/* A free slot; the lock of who builds is held, and is let go if there is none. */
static struct slot *take_slot(struct publisher *p)
{
    struct slot_state *found = NULL;

    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_slots && !found; i++)
        if (p->slots[i].refs == 0)
            found = &p->slots[i];
    if (found)
        found->refs = 1;
    pthread_mutex_unlock(&p->lock);
    if (!found) {
        pthread_mutex_unlock(&p->building);
        return NULL;
    }
    arena_reset(&found->slot.arena);
    return &found->slot;
}

struct slot *publisher_begin(struct publisher *p)
{
    pthread_mutex_lock(&p->building);
    return take_slot(p);
}

struct slot *publisher_begin_stale(struct publisher *p, uint64_t sequence)
{
    bool newest;

    if (pthread_mutex_trylock(&p->building) != 0)
        return NULL;
    pthread_mutex_lock(&p->lock);
    newest = p->newest == sequence;
    pthread_mutex_unlock(&p->lock);
    if (newest)
        return take_slot(p);
    pthread_mutex_unlock(&p->building);
    return NULL;
}

void publisher_abandon(struct publisher *p, struct slot *slot)
{
    slot_unref(p, (struct slot_state *)slot);
    pthread_mutex_unlock(&p->building);
}

static bool kind_is_gzip(enum variant_kind kind)
{
    return kind == VARIANT_TEXT_GZIP || kind == VARIANT_OPENMETRICS_GZIP;
}

static int slot_variant(struct publisher *p, struct slot_state *s, enum variant_kind kind,
                        struct variant **ret);

/* The bytes of a kind: rendered, or compressed from the plain variant of the same format. */
static int variant_fill(struct publisher *p, struct slot_state *s, struct variant *v)
{
    bool openmetrics = v->kind == VARIANT_OPENMETRICS || v->kind == VARIANT_OPENMETRICS_GZIP;
    struct variant *plain;
    int r;

    if (!kind_is_gzip(v->kind)) {
        render(&s->slot.snapshot, openmetrics ? FORMAT_OPENMETRICS : FORMAT_TEXT, NULL, &v->bytes);
        return buf_failed(&v->bytes) ? -ENOMEM : 0;
    }
    r = slot_variant(p, s, openmetrics ? VARIANT_OPENMETRICS : VARIANT_TEXT, &plain);
    if (r < 0)
        return r;
    pthread_mutex_lock(&p->gzip_lock);
    gzip_append(p->gzip, buf_span(&plain->bytes), &v->bytes);
    pthread_mutex_unlock(&p->gzip_lock);
    publisher_release(p, plain);
    return buf_failed(&v->bytes) ? -ENOMEM : 0;
}

/* The variant if the slot has it already, with a reference for the caller. */
static struct variant *slot_rendered(struct publisher *p, struct slot_state *s,
                                     enum variant_kind kind)
{
    struct variant *v;

    pthread_mutex_lock(&p->lock);
    v = s->variants[kind];
    if (v)
        v->refs++;
    pthread_mutex_unlock(&p->lock);
    return v;
}

static int slot_render(struct publisher *p, struct slot_state *s, enum variant_kind kind,
                       struct variant **ret)
{
    struct variant *v = variant_new(p, kind, s->slot.snapshot.sequence);
    int r;

    if (!v)
        return -ENOMEM;
    r = variant_fill(p, s, v);
    if (r < 0) {
        publisher_release(p, v);
        return r;
    }
    pthread_mutex_lock(&p->lock);
    v->refs++;
    s->variants[kind] = v;
    pthread_mutex_unlock(&p->lock);
    *ret = v;
    return 0;
}

/* The variant of a slot that the caller holds, rendered if need be, with a reference. */
static int slot_variant(struct publisher *p, struct slot_state *s, enum variant_kind kind,
                        struct variant **ret)
{
    int r = 0;

    pthread_mutex_lock(&s->rendering[kind]);
    *ret = slot_rendered(p, s, kind);
    if (!*ret)
        r = slot_render(p, s, kind, ret);
    pthread_mutex_unlock(&s->rendering[kind]);
    return r;
}

/* Renders what the last scrapes asked for, so that the next ones need not wait for it. */
static void slot_render_in_demand(struct publisher *p, struct slot_state *s)
{
    bool in_demand[VARIANT_N];

    pthread_mutex_lock(&p->lock);
    memcpy(in_demand, p->in_demand, sizeof(in_demand));
    memset(p->in_demand, 0, sizeof(p->in_demand));
    pthread_mutex_unlock(&p->lock);
    for (size_t k = 0; k < VARIANT_N; k++) {
        struct variant *v;

        /* If it fails here, whoever asks for it tries again and tells. */
        if (in_demand[k] && slot_variant(p, s, (enum variant_kind)k, &v) == 0)
            publisher_release(p, v);
    }
}

/* Takes out what was free all through the window, when it is over; the lock is held. */
static struct variant *take_unwanted(struct publisher *p)
{
    struct variant *unwanted = NULL;

    if (++p->window < FREE_WINDOW)
        return NULL;
    for (size_t n = p->least_free; n > 0; n--) {
        struct variant *v = p->free;

        p->free = v->next;
        p->n_free--;
        v->next = unwanted;
        unwanted = v;
    }
    p->least_free = p->n_free;
    p->window = 0;
    return unwanted;
}

void publisher_commit(struct publisher *p, struct slot *slot, bool scrape_expected)
{
    struct slot_state *s = (struct slot_state *)slot;
    struct variant *unwanted;
    struct slot_state *old;

    if (scrape_expected)
        slot_render_in_demand(p, s);
    pthread_mutex_lock(&p->lock);
    old = p->current;
    p->current = s;
    if (slot->snapshot.up)
        p->newest = slot->snapshot.sequence;
    unwanted = take_unwanted(p);
    pthread_mutex_unlock(&p->lock);
    variants_free(unwanted);
    if (old)
        slot_unref(p, old);
    pthread_mutex_unlock(&p->building);
}

void publisher_withdraw(struct publisher *p)
{
    struct slot_state *old;

    pthread_mutex_lock(&p->lock);
    old = p->current;
    p->current = NULL;
    pthread_mutex_unlock(&p->lock);
    if (old)
        slot_unref(p, old);
}

enum publisher_state publisher_state(struct publisher *p)
{
    enum publisher_state state = PUBLISHER_EMPTY;

    pthread_mutex_lock(&p->lock);
    if (p->current)
        state = p->current->slot.snapshot.up ? PUBLISHER_FRESH : PUBLISHER_STALE;
    pthread_mutex_unlock(&p->lock);
    return state;
}

static struct slot_state *current_slot(struct publisher *p)
{
    struct slot_state *s;

    pthread_mutex_lock(&p->lock);
    s = p->current;
    if (s)
        s->refs++;
    pthread_mutex_unlock(&p->lock);
    return s;
}

static void note_demand(struct publisher *p, enum variant_kind kind)
{
    pthread_mutex_lock(&p->lock);
    p->in_demand[kind] = true;
    pthread_mutex_unlock(&p->lock);
}

int publisher_render_some(struct publisher *p, enum format format, const struct selection *only,
                          struct buf *out)
{
    struct slot_state *s = current_slot(p);

    if (!s)
        return -EAGAIN;
    render(&s->slot.snapshot, format, only, out);
    slot_unref(p, s);
    return buf_failed(out) ? -ENOMEM : 0;
}

int publisher_acquire(struct publisher *p, enum variant_kind kind, struct variant **ret)
{
    struct slot_state *s = current_slot(p);
    int r;

    if (!s)
        return -EAGAIN;
    note_demand(p, kind);
    r = slot_variant(p, s, kind, ret);
    slot_unref(p, s);
    return r;
}

bool publisher_share_response(struct publisher *p, struct variant *variant, void *response)
{
    bool shared;

    pthread_mutex_lock(&p->lock);
    shared = !variant->detached && !variant->response;
    if (shared)
        variant->response = response;
    variant->refs++;
    pthread_mutex_unlock(&p->lock);
    return shared;
}

void *publisher_response(struct publisher *p, struct variant *variant)
{
    void *response;

    pthread_mutex_lock(&p->lock);
    response = variant->response;
    pthread_mutex_unlock(&p->lock);
    return response;
}

struct variant *publisher_take_retired(struct publisher *p)
{
    struct variant *taken = NULL;

    pthread_mutex_lock(&p->lock);
    for (struct variant **at = &p->retired; *at && !taken; at = &(*at)->next)
        /* Two references are the former slot's and the response's: nobody has it in hand. */
        if ((*at)->refs == 2) {
            taken = *at;
            *at = taken->next;
            taken->next = NULL;
            break;
        }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void publisher_note_served(struct publisher *p, uint64_t sequence)
{
    uint64_t before = atomic_load_explicit(&p->served, memory_order_relaxed);

    while (before < sequence &&
           !atomic_compare_exchange_weak_explicit(&p->served, &before, sequence,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

uint64_t publisher_served(struct publisher *p)
{
    return atomic_load_explicit(&p->served, memory_order_relaxed);
}

void publisher_note_scrape(struct publisher *p, uint64_t at_ns)
{
    pthread_mutex_lock(&p->lock);
    p->scrapes[p->n_scrapes++ % NOTED_SCRAPES] = at_ns;
    if (p->n_scrapes - p->n_scrapes_taken > NOTED_SCRAPES)
        p->n_scrapes_taken = p->n_scrapes - NOTED_SCRAPES;
    pthread_mutex_unlock(&p->lock);
}

size_t publisher_take_scrapes(struct publisher *p, uint64_t *ret_at_ns, size_t n)
{
    size_t taken = 0;

    pthread_mutex_lock(&p->lock);
    if (p->n_scrapes - p->n_scrapes_taken > n)
        p->n_scrapes_taken = p->n_scrapes - n;
    while (p->n_scrapes_taken < p->n_scrapes)
        ret_at_ns[taken++] = p->scrapes[p->n_scrapes_taken++ % NOTED_SCRAPES];
    pthread_mutex_unlock(&p->lock);
    return taken;
}
