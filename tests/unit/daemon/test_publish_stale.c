/* A snapshot, a page in its place, and two threads that put them there. */
#include "daemon/publish.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Fills the slot: a snapshot that is up, or with sequence 0 one that is not. */
static void fill(struct slot *slot, uint64_t sequence, uint64_t snapshots)
{
    slot->snapshot = (struct snapshot){.sequence = sequence, .up = sequence > 0};
    slot->snapshot.self.snapshots = snapshots;
    selection_default(&slot->snapshot.families);
}

static void publish(struct publisher *p, uint64_t sequence)
{
    struct slot *slot = publisher_begin(p);

    assert_non_null(slot);
    fill(slot, sequence, sequence);
    publisher_commit(p, slot, false);
}

static bool replace(struct publisher *p, uint64_t sequence)
{
    struct slot *slot = publisher_begin_stale(p, sequence);

    if (!slot)
        return false;
    fill(slot, 0, sequence);
    publisher_commit(p, slot, false);
    return true;
}

/* The value behind `name` at the beginning of a line of the current page. */
static long long value_of(struct publisher *p, const char *name, uint64_t *ret_sequence)
{
    struct variant *v;
    long long value = -1;
    char line[100];
    const char *at;

    assert_int_equal(publisher_acquire(p, VARIANT_TEXT, &v), 0);
    buf_append_char(&v->bytes, '\0');
    snprintf(line, sizeof(line), "\n%s ", name);
    at = strstr(v->bytes.data, line);
    if (at)
        value = atoll(at + strlen(line));
    v->bytes.len--;
    if (ret_sequence)
        *ret_sequence = v->sequence;
    publisher_release(p, v);
    return value;
}

static void test_states(void **state)
{
    struct publisher *p = publisher_new(1);
    struct variant *v;
    uint64_t sequence;

    (void)state;
    assert_int_equal(publisher_state(p), PUBLISHER_EMPTY);
    assert_int_equal(publisher_acquire(p, VARIANT_TEXT, &v), -EAGAIN);
    publish(p, 1);
    assert_int_equal(publisher_state(p), PUBLISHER_FRESH);
    assert_int_equal(value_of(p, "proctally_up", &sequence), 1);
    assert_int_equal(sequence, 1);
    assert_true(replace(p, 1));
    assert_int_equal(publisher_state(p), PUBLISHER_STALE);
    assert_int_equal(value_of(p, "proctally_up", &sequence), 0);
    /* It must not count as a snapshot that a scraper got. */
    assert_int_equal(sequence, 0);
    /* Again, to bring it up to date. */
    assert_true(replace(p, 1));
    publish(p, 2);
    assert_int_equal(publisher_state(p), PUBLISHER_FRESH);
    assert_int_equal(value_of(p, "proctally_snapshots_total", NULL), 2);
    publisher_withdraw(p);
    publisher_free(p);
}

static void test_newer_is_not_replaced(void **state)
{
    struct publisher *p = publisher_new(1);

    (void)state;
    publish(p, 1);
    publish(p, 2);
    assert_false(replace(p, 1));
    assert_int_equal(publisher_state(p), PUBLISHER_FRESH);
    assert_true(replace(p, 2));
    publisher_withdraw(p);
    publisher_free(p);
}

static void test_one_builds_at_a_time(void **state)
{
    struct publisher *p = publisher_new(1);
    struct slot *slot;

    (void)state;
    publish(p, 1);
    slot = publisher_begin(p);
    assert_non_null(slot);
    assert_null(publisher_begin_stale(p, 1));
    publisher_abandon(p, slot);
    slot = publisher_begin_stale(p, 1);
    assert_non_null(slot);
    publisher_abandon(p, slot);
    /* And the lock is free again. */
    publish(p, 2);
    assert_int_equal(publisher_state(p), PUBLISHER_FRESH);
    publisher_withdraw(p);
    publisher_free(p);
}

enum { ROUNDS = 2000 };

struct race {
    struct publisher *p;
    _Atomic uint64_t published; /* as a collector tells it: after the fact */
    _Atomic uint64_t counter;   /* what pages show; it grows as time goes by */
    atomic_bool done;
    atomic_uint replaced;
};

static uint64_t count(struct race *race)
{
    return atomic_fetch_add(&race->counter, 1) + 1;
}

/* Now and then it takes so long that its snapshot is replaced. */
static void dawdle(struct race *race)
{
    unsigned before = atomic_load(&race->replaced);

    while (atomic_load(&race->replaced) == before)
        sched_yield();
}

static void *collect(void *arg)
{
    struct race *race = arg;

    for (uint64_t i = 2; i <= ROUNDS; i++) {
        struct slot *slot;

        if (i % 100 == 0)
            dawdle(race);
        slot = publisher_begin(race->p);
        if (!slot)
            continue;
        fill(slot, i, count(race));
        publisher_commit(race->p, slot, i % 2);
        atomic_store(&race->published, i);
    }
    return NULL;
}

static void *oversee(void *arg)
{
    struct race *race = arg;

    while (!atomic_load(&race->done)) {
        struct slot *slot = publisher_begin_stale(race->p, atomic_load(&race->published));

        if (!slot)
            continue;
        fill(slot, 0, count(race));
        publisher_commit(race->p, slot, false);
        atomic_fetch_add(&race->replaced, 1);
    }
    return NULL;
}

/* Whoever publishes when: what a reader sees never falls, and the newest snapshot wins. */
static void test_race(void **state)
{
    struct race race = {.p = publisher_new(1)};
    pthread_t collector, overseer;
    long long last = 0;

    (void)state;
    publish(race.p, 1);
    atomic_store(&race.published, 1);
    atomic_store(&race.counter, 1);
    assert_int_equal(pthread_create(&collector, NULL, collect, &race), 0);
    assert_int_equal(pthread_create(&overseer, NULL, oversee, &race), 0);
    while (atomic_load(&race.published) < ROUNDS) {
        long long now = value_of(race.p, "proctally_snapshots_total", NULL);

        assert_true(now >= last);
        last = now;
    }
    pthread_join(collector, NULL);
    atomic_store(&race.done, true);
    pthread_join(overseer, NULL);
    publish(race.p, ROUNDS + 1);
    assert_false(replace(race.p, ROUNDS));
    assert_int_equal(publisher_state(race.p), PUBLISHER_FRESH);
    publisher_withdraw(race.p);
    publisher_free(race.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_newer_is_not_replaced),
        cmocka_unit_test(test_one_builds_at_a_time),
        cmocka_unit_test(test_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
