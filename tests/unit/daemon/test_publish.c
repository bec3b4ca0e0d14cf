/*
 * One snapshot at a time, each variant rendered once, and a life of its own for each.
 *
 * A reader here does what HTTP does, with responses that are counts of references. Linked with
 * --wrap=render, to count the calls. Rounds are bounded, for the thread sanitizer.
 */
#include "page_of_test.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int renders[FORMAT_N];

/* A gate that renderers wait at while it is closed. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
    unsigned waiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void gate_pass(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.closed)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.waiting--;
    pthread_mutex_unlock(&gate.lock);
}

static void gate_wait_for(unsigned n)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting < n)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_set(bool closed)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = closed;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_close(void)
{
    gate_set(true);
}

static void gate_open(void)
{
    gate_set(false);
}

void __real_render(const struct snapshot *s, enum format format, const struct selection *only,
                   struct buf *out);
void __wrap_render(const struct snapshot *s, enum format format, const struct selection *only,
                   struct buf *out);

void __wrap_render(const struct snapshot *s, enum format format, const struct selection *only,
                   struct buf *out)
{
    atomic_fetch_add(&renders[format], 1);
    gate_pass();
    __real_render(s, format, only, out);
}

static void forget_renders(void)
{
    renders[FORMAT_TEXT] = renders[FORMAT_OPENMETRICS] = 0;
}

static struct variant *acquire(struct publisher *p, enum variant_kind kind)
{
    struct variant *v;

    assert_int_equal(publisher_acquire(p, kind, &v), 0);
    return v;
}

static void test_before_the_first(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *v;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(publisher_state(p), PUBLISHER_EMPTY);
    assert_int_equal(publisher_acquire(p, VARIANT_TEXT, &v), -EAGAIN);
    assert_int_equal(publisher_render_some(p, FORMAT_TEXT, NULL, &out), -EAGAIN);
    assert_null(publisher_take_retired(p));
    publisher_withdraw(p);
    publisher_free(p);
}

static void test_variants(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *v[VARIANT_N];

    (void)state;
    assert_true(publish_number(p, 1));
    assert_int_equal(publisher_state(p), PUBLISHER_FRESH);
    for (int kind = 0; kind < VARIANT_N; kind++) {
        v[kind] = acquire(p, (enum variant_kind)kind);
        assert_int_equal(v[kind]->kind, kind);
        assert_int_equal(v[kind]->sequence, 1);
        assert_ptr_equal(v[kind]->publisher, p);
    }
    assert_int_equal(page_number(buf_span(&v[VARIANT_TEXT]->bytes)), 1);
    assert_int_equal(page_number(buf_span(&v[VARIANT_OPENMETRICS]->bytes)), 1);
    assert_null(memmem(v[VARIANT_TEXT]->bytes.data, v[VARIANT_TEXT]->bytes.len, "# EOF\n", 6));
    assert_memory_equal(v[VARIANT_OPENMETRICS]->bytes.data + v[VARIANT_OPENMETRICS]->bytes.len - 6,
                        "# EOF\n", 6);
    for (int kind = 0; kind < VARIANT_N; kind++)
        publisher_release(p, v[kind]);
    publisher_free(p);
}

/* What is compressed is the page itself. */
static void test_gzip(void **state)
{
    static const enum variant_kind pairs[][2] = {{VARIANT_TEXT, VARIANT_TEXT_GZIP},
                                                 {VARIANT_OPENMETRICS, VARIANT_OPENMETRICS_GZIP}};
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    struct publisher *p = publisher_new(1);

    (void)state;
    assert_true(publish_number(p, 1));
    for (int i = 0; i < 2; i++) {
        struct variant *gzip = acquire(p, pairs[i][1]), *plain = acquire(p, pairs[i][0]);
        char *text = malloc(plain->bytes.len);
        size_t n;

        assert_int_equal(libdeflate_gzip_decompress(d, gzip->bytes.data, gzip->bytes.len, text,
                                                    plain->bytes.len, &n),
                         LIBDEFLATE_SUCCESS);
        assert_int_equal(n, plain->bytes.len);
        assert_memory_equal(text, plain->bytes.data, n);
        free(text);
        publisher_release(p, gzip);
        publisher_release(p, plain);
    }
    libdeflate_free_decompressor(d);
    publisher_free(p);
}

/* Asked for again, it is the same object; of the next snapshot it is another. */
static void test_rendered_once(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *one, *again, *next;

    (void)state;
    assert_true(publish_number(p, 1));
    one = acquire(p, VARIANT_TEXT);
    again = acquire(p, VARIANT_TEXT);
    assert_ptr_equal(one, again);
    publisher_release(p, again);
    assert_true(publish_number(p, 2));
    next = acquire(p, VARIANT_TEXT);
    assert_ptr_not_equal(one, next);
    assert_int_equal(page_number(buf_span(&next->bytes)), 2);
    publisher_release(p, next);
    publisher_release(p, one);
    publisher_free(p);
}

/* It lives as long as somebody sends it, though its snapshot's slot is built in anew. */
static void test_variant_outlives_its_slot(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *v;

    (void)state;
    assert_true(publish_number(p, 1));
    v = acquire(p, VARIANT_TEXT);
    for (uint64_t i = 2; i < 20; i++)
        assert_true(publish_number(p, i));
    assert_int_equal(v->sequence, 1);
    assert_int_equal(page_number(buf_span(&v->bytes)), 1);
    publisher_withdraw(p);
    assert_int_equal(page_number(buf_span(&v->bytes)), 1);
    publisher_release(p, v);
    publisher_free(p);
}

/* Many slow clients take variants, never slots. */
static void test_variants_take_no_slot(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *v[50];

    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        assert_true(publish_number(p, i + 1));
        v[i] = acquire(p, (enum variant_kind)(i % VARIANT_N));
    }
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(v[i]->sequence, i + 1);
        publisher_release(p, v[i]);
    }
    publisher_free(p);
}

/* An abandoned slot was never to be seen, and is free again. */
static void test_abandoned(void **state)
{
    struct publisher *p = publisher_new(1);
    struct slot *slot;

    (void)state;
    for (int i = 0; i < 10; i++) {
        slot = publisher_begin(p);
        assert_non_null(slot);
        publisher_abandon(p, slot);
    }
    assert_int_equal(publisher_state(p), PUBLISHER_EMPTY);
    assert_true(publish_number(p, 1));
    publisher_free(p);
}

static void *acquire_and_release(void *arg)
{
    struct publisher *p = arg;
    struct variant *v;

    if (publisher_acquire(p, VARIANT_TEXT, &v) == 0)
        publisher_release(p, v);
    return NULL;
}

/* Renderers that do not come to an end hold their slots; the collector does not wait for them. */
static void test_slots_run_out(void **state)
{
    struct publisher *p = publisher_new(1);
    pthread_t renderers[2];

    (void)state;
    gate_close();
    for (unsigned i = 0; i < 3; i++) {
        struct slot *slot = publisher_begin(p);

        assert_non_null(slot);
        slot->snapshot = (struct snapshot){.sequence = i + 1};
        publisher_commit(p, slot, false);
        if (i == 2)
            break;
        assert_int_equal(pthread_create(&renderers[i], NULL, acquire_and_release, p), 0);
        gate_wait_for(i + 1);
    }
    assert_null(publisher_begin(p));
    gate_open();
    for (unsigned i = 0; i < 2; i++)
        pthread_join(renderers[i], NULL);
    assert_true(publish_number(p, 4));
    publisher_free(p);
}

/* The arena of a slot is empty each time, and keeps its memory. */
static void test_arena_is_reset(void **state)
{
    struct publisher *p = publisher_new(1);
    size_t footprint = 0;

    (void)state;
    for (int i = 0; i < 10; i++) {
        struct slot *slot = publisher_begin(p);

        assert_int_equal(slot->arena.used, 0);
        assert_non_null(arena_alloc(&slot->arena, 100000));
        if (i > 0)
            assert_int_equal(arena_footprint(&slot->arena), footprint);
        footprint = arena_footprint(&slot->arena);
        publisher_abandon(p, slot);
    }
    publisher_free(p);
}

/* What the last scrapes took is rendered at the commit already, what nobody took is not. */
static void test_demand(void **state)
{
    struct publisher *p = publisher_new(1);

    (void)state;
    forget_renders();
    assert_true(publish_number(p, 1));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 0);
    publisher_release(p, acquire(p, VARIANT_OPENMETRICS_GZIP));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 1);
    assert_true(publish_number(p, 2));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 2);
    publisher_release(p, acquire(p, VARIANT_OPENMETRICS));
    publisher_release(p, acquire(p, VARIANT_OPENMETRICS_GZIP));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 2);
    assert_true(publish_number(p, 3));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 3);
    assert_true(publish_number(p, 4));
    assert_int_equal(renders[FORMAT_OPENMETRICS], 3);
    assert_int_equal(renders[FORMAT_TEXT], 0);
    publisher_free(p);
}

static void test_render_some(void **state)
{
    struct publisher *p = publisher_new(1);
    struct selection only = {0};
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    assert_true(publish_number(p, 7));
    assert_true(selection_add(&only, SPAN_LITERAL("proctally_up")));
    assert_int_equal(publisher_render_some(p, FORMAT_TEXT, &only, &out), 0);
    assert_int_equal(page_value(buf_span(&out), "\nproctally_up "), 1);
    assert_int_equal(page_value(buf_span(&out), "\nproctally_snapshots_total "), UINT64_MAX);
    buf_deinit(&out);
    buf_init(&out, 10);
    assert_int_equal(publisher_render_some(p, FORMAT_TEXT, &only, &out), -ENOMEM);
    buf_deinit(&out);
    /* It took no slot with it. */
    for (uint64_t i = 8; i < 12; i++)
        assert_true(publish_number(p, i));
    publisher_free(p);
}

static void test_served(void **state)
{
    struct publisher *p = publisher_new(1);

    (void)state;
    assert_int_equal(publisher_served(p), 0);
    publisher_note_served(p, 5);
    publisher_note_served(p, 3);
    assert_int_equal(publisher_served(p), 5);
    publisher_note_served(p, 6);
    assert_int_equal(publisher_served(p), 6);
    publisher_free(p);
}

/* A response as HTTP has it: freed with its last reference, which gives the variant back. */
struct response {
    atomic_uint refs;
    struct variant *variant;
};

static atomic_int responses;

static void response_unref(struct response *r)
{
    if (atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    publisher_release(r->variant->publisher, r->variant);
    free(r);
    atomic_fetch_sub(&responses, 1);
}

/* As http.c: the shared response, or one that becomes it. */
static struct response *response_of(struct publisher *p, struct variant *v, bool *ret_own)
{
    struct response *r = publisher_response(p, v);

    *ret_own = false;
    if (r)
        return r;
    r = calloc(1, sizeof(*r));
    r->refs = 1;
    r->variant = v;
    atomic_fetch_add(&responses, 1);
    *ret_own = !publisher_share_response(p, v, r);
    return r;
}

static void destroy_retired(struct publisher *p)
{
    struct variant *v;

    while ((v = publisher_take_retired(p))) {
        response_unref(v->response);
        publisher_release(p, v);
    }
}

/* Queues the response of the current variant; the caller unrefs it when it was sent. */
static struct response *queue(struct publisher *p, enum variant_kind kind)
{
    struct response *r;
    struct variant *v;
    bool own;

    if (publisher_acquire(p, kind, &v) < 0)
        return NULL;
    r = response_of(p, v, &own);
    atomic_fetch_add(&r->refs, 1);
    if (own)
        response_unref(r);
    publisher_release(p, v);
    return r;
}

static void test_response_is_shared(void **state)
{
    struct publisher *p = publisher_new(1);
    struct response *one, *two;

    (void)state;
    assert_true(publish_number(p, 1));
    one = queue(p, VARIANT_TEXT);
    two = queue(p, VARIANT_TEXT);
    assert_ptr_equal(one, two);
    assert_int_equal(responses, 1);
    response_unref(one);
    response_unref(two);
    /* The publisher holds it for the next client. */
    assert_int_equal(responses, 1);
    assert_null(publisher_take_retired(p));
    assert_true(publish_number(p, 2));
    destroy_retired(p);
    assert_int_equal(responses, 0);
    publisher_free(p);
}

/* Still being sent when its snapshot is gone: destroyed with the last byte, not before. */
static void test_retired_while_sent(void **state)
{
    struct publisher *p = publisher_new(1);
    struct response *slow;

    (void)state;
    assert_true(publish_number(p, 1));
    slow = queue(p, VARIANT_TEXT);
    assert_true(publish_number(p, 2));
    destroy_retired(p);
    assert_int_equal(responses, 1);
    assert_int_equal(page_number(buf_span(&slow->variant->bytes)), 1);
    assert_null(publisher_take_retired(p));
    response_unref(slow);
    assert_int_equal(responses, 0);
    publisher_free(p);
}

/* Somebody has the variant in hand and is about to queue its response: it must not go. */
static void test_not_retired_while_in_hand(void **state)
{
    struct publisher *p = publisher_new(1);
    struct response *r;
    struct variant *v;
    bool own;

    (void)state;
    assert_true(publish_number(p, 1));
    response_unref(queue(p, VARIANT_TEXT));
    v = acquire(p, VARIANT_TEXT);
    r = response_of(p, v, &own);
    assert_false(own);
    assert_true(publish_number(p, 2));
    assert_null(publisher_take_retired(p));
    assert_int_equal(r->refs, 1);
    publisher_release(p, v);
    destroy_retired(p);
    assert_int_equal(responses, 0);
    publisher_free(p);
}

/* Made too late to be shared, or by the second of two: it is the maker's alone. */
static void test_response_not_shared(void **state)
{
    struct publisher *p = publisher_new(1);
    struct response late = {.refs = 1}, first = {.refs = 1}, second = {.refs = 1};
    struct variant *v;

    (void)state;
    assert_true(publish_number(p, 1));
    v = acquire(p, VARIANT_TEXT);
    assert_true(publish_number(p, 2));
    assert_false(publisher_share_response(p, v, &late));
    assert_null(publisher_response(p, v));
    publisher_release(p, v);
    publisher_release(p, v);
    assert_null(publisher_take_retired(p));
    v = acquire(p, VARIANT_TEXT);
    assert_true(publisher_share_response(p, v, &first));
    assert_false(publisher_share_response(p, v, &second));
    assert_ptr_equal(publisher_response(p, v), &first);
    publisher_release(p, v); /* of the second response */
    publisher_release(p, v); /* of the first */
    publisher_release(p, v); /* our own */
    publisher_free(p);
}

static void test_withdraw(void **state)
{
    struct publisher *p = publisher_new(1);
    struct response *slow;

    (void)state;
    assert_true(publish_number(p, 1));
    response_unref(queue(p, VARIANT_TEXT));
    slow = queue(p, VARIANT_OPENMETRICS);
    publisher_withdraw(p);
    assert_int_equal(publisher_state(p), PUBLISHER_EMPTY);
    destroy_retired(p);
    assert_int_equal(responses, 1);
    response_unref(slow);
    assert_int_equal(responses, 0);
    publisher_free(p);
}

enum {
    READERS = 4,
    ROUNDS = 300,
    SCRAPES = 3000,
};

struct race {
    struct publisher *publisher;
    pthread_barrier_t barrier;
    struct variant *got[READERS];
    enum variant_kind kind;
    atomic_int done;
    atomic_int failures;
};

struct reader {
    struct race *race;
    unsigned number;
    pthread_t thread;
};

static void *acquire_together(void *arg)
{
    struct reader *r = arg;
    struct race *race = r->race;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&race->barrier);
        if (publisher_acquire(race->publisher, race->kind, &race->got[r->number]) < 0)
            atomic_fetch_add(&race->failures, 1);
        pthread_barrier_wait(&race->barrier);
    }
    return NULL;
}

static void start_readers(struct race *race, struct reader readers[static READERS],
                          void *(*run)(void *))
{
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.race = race, .number = i};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, run, &readers[i]), 0);
    }
}

static void join_readers(struct reader readers[static READERS])
{
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
}

/* All want the same variant at the same time: all get one, and it is the same. */
static void test_rendered_once_for_many(void **state)
{
    struct race race = {.publisher = publisher_new(READERS)};
    struct reader readers[READERS];

    (void)state;
    pthread_barrier_init(&race.barrier, NULL, READERS + 1);
    start_readers(&race, readers, acquire_together);
    for (int i = 0; i < ROUNDS; i++) {
        struct variant *plain;

        race.kind = (enum variant_kind)(i % VARIANT_N);
        forget_renders();
        assert_true(publish_number(race.publisher, (uint64_t)i + 1));
        pthread_barrier_wait(&race.barrier);
        pthread_barrier_wait(&race.barrier);
        for (int k = 0; k < READERS; k++) {
            assert_ptr_equal(race.got[k], race.got[0]);
            assert_int_equal(race.got[k]->sequence, i + 1);
            publisher_release(race.publisher, race.got[k]);
        }
        plain = acquire(race.publisher, VARIANT_TEXT);
        assert_int_equal(page_number(buf_span(&plain->bytes)), i + 1);
        publisher_release(race.publisher, plain);
        assert_int_equal(renders[FORMAT_TEXT], 1);
        assert_true(renders[FORMAT_OPENMETRICS] <= 1);
        /* Of the next round nothing is in demand, so that the readers have to render it. */
        assert_true(publish_number(race.publisher, (uint64_t)i + 1));
    }
    join_readers(readers);
    assert_int_equal(race.failures, 0);
    pthread_barrier_destroy(&race.barrier);
    publisher_free(race.publisher);
}

/* As a listener's thread: several connections, some slower than snapshots come. */
static void *scrape(void *arg)
{
    struct reader *r = arg;
    struct race *race = r->race;
    struct response *sending[4] = {0};
    uint64_t random = r->number + 88172645463325252u, newest = 0;

    for (int i = 0; i < SCRAPES; i++) {
        struct response **slot;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        slot = &sending[random % 4];
        if (*slot) {
            struct variant *v = (*slot)->variant;

            if (v->kind == VARIANT_TEXT && page_number(buf_span(&v->bytes)) != v->sequence)
                atomic_fetch_add(&race->failures, 1);
            publisher_note_served(race->publisher, v->sequence);
            response_unref(*slot);
        }
        destroy_retired(race->publisher);
        *slot = queue(race->publisher, (enum variant_kind)(random / 4 % VARIANT_N));
        /* Snapshots only ever get newer. */
        if (*slot && (*slot)->variant->sequence < newest)
            atomic_fetch_add(&race->failures, 1);
        newest = *slot ? (*slot)->variant->sequence : newest;
    }
    for (int i = 0; i < 4; i++)
        if (sending[i])
            response_unref(sending[i]);
    atomic_fetch_add(&race->done, 1);
    return NULL;
}

static void test_collector_and_readers(void **state)
{
    struct race race = {.publisher = publisher_new(READERS)};
    struct reader readers[READERS];
    uint64_t number = 0;

    (void)state;
    start_readers(&race, readers, scrape);
    while (atomic_load(&race.done) < READERS)
        /* A slot per reader, the current one and this: there is always one. */
        assert_true(publish_number(race.publisher, ++number));
    join_readers(readers);
    assert_int_equal(race.failures, 0);
    assert_true(publisher_served(race.publisher) <= number);
    publisher_withdraw(race.publisher);
    destroy_retired(race.publisher);
    assert_int_equal(responses, 0);
    publisher_free(race.publisher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_rendered_once),
        cmocka_unit_test(test_variant_outlives_its_slot),
        cmocka_unit_test(test_variants_take_no_slot),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_slots_run_out),
        cmocka_unit_test(test_arena_is_reset),
        cmocka_unit_test(test_demand),
        cmocka_unit_test(test_render_some),
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_response_is_shared),
        cmocka_unit_test(test_retired_while_sent),
        cmocka_unit_test(test_not_retired_while_in_hand),
        cmocka_unit_test(test_response_not_shared),
        cmocka_unit_test(test_withdraw),
        cmocka_unit_test(test_rendered_once_for_many),
        cmocka_unit_test(test_collector_and_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
