#pragma once
/*
 * publish - the current snapshot and its rendered variants, handed from the collector to HTTP.
 *
 * The collector builds a snapshot in a slot and publishes it by exchanging a pointer. A variant
 * (format and encoding) is rendered at most once per snapshot, by whoever needs it first: the
 * collector for those that were asked for since the last snapshot, else the thread that asks.
 * Readers never wait for a cycle, and the collector never waits for a reader.
 *
 * A variant owns its bytes. Whoever sends them holds the variant and not the snapshot, so a slow
 * client keeps some kilobytes alive and never a slot. Slots are the published one, the one being
 * built, and one per thread that may be rendering; if none is free, the cycle publishes nothing.
 *
 * Two threads build: the collector, and main, which puts a page of the daemon's own families in
 * place of a snapshot that got too old. One builds at a time, so that whatever was read after
 * publisher_begin() is on the page before anything that was read later.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "expose/render.h"
#include "expose/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum variant_kind {
    VARIANT_TEXT,
    VARIANT_TEXT_GZIP,
    VARIANT_OPENMETRICS,
    VARIANT_OPENMETRICS_GZIP,
    VARIANT_N,
};

struct variant {
    struct buf bytes;
    enum variant_kind kind;
    uint64_t sequence; /* of the snapshot it shows */
    struct publisher *publisher;
    /* The rest belongs to publish and is guarded by its lock. */
    unsigned refs;
    bool detached;  /* its snapshot is no longer the current one */
    void *response; /* what HTTP made of it, to be shared by all connections */
    struct variant *next;
};

struct slot {
    struct arena arena;
    struct snapshot snapshot;
};

struct publisher;

/* For n_renderers threads that may call publisher_acquire(). NULL when out of memory. */
struct publisher *publisher_new(size_t n_renderers);

/* Nobody uses it any more, and every response was destroyed: see publisher_withdraw(). */
struct publisher *publisher_free(struct publisher *p);

/*
 * A free slot to build the next snapshot in, its arena empty; NULL if every slot is in use. The
 * collector gives it back by publisher_commit() or publisher_abandon(), soon. Waits while main
 * has one.
 */
struct slot *publisher_begin(struct publisher *p);
void publisher_abandon(struct publisher *p, struct slot *slot);

/*
 * The same for main, to replace the snapshot of this sequence by one that is not up and whose
 * sequence is 0. Does not wait: NULL also if the collector is building, or has published since.
 */
struct slot *publisher_begin_stale(struct publisher *p, uint64_t sequence);

/*
 * Makes the snapshot of the slot the current one. If a scrape is expected to see it, the variants
 * that were asked for since the last such commit are rendered before.
 */
void publisher_commit(struct publisher *p, struct slot *slot, bool scrape_expected);

enum publisher_state {
    PUBLISHER_EMPTY, /* there was no snapshot yet */
    PUBLISHER_STALE, /* it was replaced by one that is not up */
    PUBLISHER_FRESH,
};

enum publisher_state publisher_state(struct publisher *p);

/*
 * The variant of the current snapshot, rendered if need be; to be given back by
 * publisher_release(). Returns 0, -EAGAIN before the first snapshot, or -ENOMEM.
 */
int publisher_acquire(struct publisher *p, enum variant_kind kind, struct variant **ret);
void publisher_release(struct publisher *p, struct variant *variant);

/*
 * Renders the families of `only` out of the current snapshot into out: a page for one request.
 * Returns 0, -EAGAIN before the first snapshot, or -ENOMEM.
 */
int publisher_render_some(struct publisher *p, enum format format, const struct selection *only,
                          struct buf *out);

/*
 * Shares a response that HTTP made of the variant, which gets a reference for it: the response
 * must release it when it is freed. False if the variant is no longer current: the response is
 * then the caller's alone.
 */
bool publisher_share_response(struct publisher *p, struct variant *variant, void *response);

/* The shared response of an acquired variant; NULL if there is none yet. */
void *publisher_response(struct publisher *p, struct variant *variant);

/*
 * Takes a variant that is no longer current, and that nobody is about to send, out of the
 * publisher; NULL if there is none. The caller destroys its response, then releases it.
 */
struct variant *publisher_take_retired(struct publisher *p);

/*
 * Lets go of the current snapshot, so that all its variants can be taken by
 * publisher_take_retired(): for the end, when neither collector nor listeners run any more.
 */
void publisher_withdraw(struct publisher *p);

/*
 * Notes that a scrape came in, at this time of the monotonic clock. publisher_take_scrapes() hands
 * those noted since its last call to the collector, at most n (the oldest are dropped if there are
 * more), and says how many.
 */
void publisher_note_scrape(struct publisher *p, uint64_t at_ns);
size_t publisher_take_scrapes(struct publisher *p, uint64_t *ret_at_ns, size_t n);

/* Notes that a scraper got the whole snapshot of this sequence; the newest one that any got. */
void publisher_note_served(struct publisher *p, uint64_t sequence);
uint64_t publisher_served(struct publisher *p);
