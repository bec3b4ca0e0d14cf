/*
 * The table against a naive model, over a random life of a small host: births, exits, pids used
 * again, cycles left half way, stat unreadable, processes the kernel denied once or hid for longer,
 * and totals that step back. PROCTALLY_TEST_SEED repeats one run.
 */
#include "track/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum {
    PIDS = 40,
    CYCLES = 400,
    RUNS = 12,
    LIVES_MAX = 20000,
    FIELDS = 2,
};

static const enum counter fields[FIELDS] = {COUNTER_CPU_USER_NS, COUNTER_STORAGE_READ_BYTES};

static const struct wanted wanted = {
    .parts = UINT32_C(1) << PART_STAT | UINT32_C(1) << PART_IO,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS | UINT32_C(1) << COUNTER_STORAGE_READ_BYTES,
};

/* What the model knows of one process, from its birth on. */
struct life {
    struct identity identity;
    uint64_t total[FIELDS]; /* true ones */
    bool alive;
    bool io_refused;

    bool known;      /* the table was shown it */
    bool present;    /* it was there in the last cycle, or in the one that was left since */
    bool seen;       /* in this cycle */
    unsigned missed; /* finished cycles since it was seen */
    bool has_base[FIELDS];
    uint64_t highest[FIELDS];
    uint64_t credited[FIELDS]; /* by the table */
};

struct world {
    uint64_t random;
    uint64_t tick;
    struct table table;
    struct life *lives;
    size_t n_lives;
    struct life *owners[PIDS + 1]; /* by pid: the last one born under it */
    bool clock;                    /* the table is told when cycles begin */
    uint64_t finished_tick;        /* when the last one that was finished did, so told */
    bool first_done;
    uint64_t steps_back[FIELDS];
};

static uint64_t seed;

static uint64_t next_random(struct world *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static uint64_t below(struct world *w, uint64_t n)
{
    return (next_random(w) >> 16) % n;
}

static bool one_in(struct world *w, uint64_t n)
{
    return below(w, n) == 0;
}

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition))                                                                         \
            fail_msg("PROCTALLY_TEST_SEED=%lu: cycle %lu: %s", seed, w->table.cycle, #condition); \
    } while (0)

static struct life *owner_of(struct world *w, uint32_t pid)
{
    struct life *l = w->owners[pid];

    return l && l->alive ? l : NULL;
}

static void bear(struct world *w, uint32_t pid)
{
    struct life *l = &w->lives[w->n_lives++];

    CHECK(w->n_lives < LIVES_MAX);
    w->owners[pid] = l;
    *l = (struct life){.identity = {pid, w->tick}, .alive = true, .io_refused = one_in(w, 4)};
}

/* Time goes by: every process may work, end, be followed by another under its pid. */
static void live(struct world *w)
{
    for (uint32_t pid = 1; pid <= PIDS; pid++) {
        struct life *l = owner_of(w, pid);

        w->tick += 1 + below(w, 3);
        if (l && pid > 1 && one_in(w, 10)) {
            l->alive = false;
            l = NULL;
        }
        if (!l && one_in(w, 3))
            bear(w, pid);
        if (l && one_in(w, 30))
            l->io_refused = !l->io_refused;
        for (int i = 0; l && i < FIELDS; i++)
            l->total[i] += below(w, 100);
    }
}

/* The model's own rule for one total. */
static uint64_t expect(struct world *w, struct life *l, int field, uint64_t total, bool news)
{
    uint64_t increase;

    if (!l->has_base[field]) {
        l->has_base[field] = true;
        l->highest[field] = total;
        return news ? total : 0;
    }
    if (total < l->highest[field]) {
        w->steps_back[field]++;
        return 0;
    }
    increase = total - l->highest[field];
    l->highest[field] = total;
    return increase;
}

static void see(struct world *w, struct life *l)
{
    struct sample s = {.identity = l->identity, .comm_len = 1, .comm = "x"};
    bool news = !l->known && w->first_done && l->identity.start_ticks >= w->finished_tick;
    enum sighting sighting, expected = SIGHTING_KNOWN;
    struct delta delta;
    uint32_t ref;

    for (int i = 0; i < FIELDS; i++) {
        /* A total that is low at first sight makes a low base, which nobody can know. */
        uint64_t glitch = l->has_base[i] && one_in(w, 10) ? below(w, l->total[i] + 1) : 0;

        if (i != 1 || !l->io_refused)
            sample_set_counter(&s, fields[i], l->total[i] - glitch);
    }
    if (!l->known)
        expected = news ? SIGHTING_STARTED : SIGHTING_FOUND;
    else if (!l->present)
        expected = SIGHTING_RETURNED;
    CHECK(table_see(&w->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta) == 0);
    CHECK(sighting == expected);
    for (int i = 0; i < FIELDS; i++) {
        uint64_t increase = 0;

        if (sample_has_counter(&s, fields[i]))
            increase = expect(w, l, i, s.counter[fields[i]], news);
        CHECK(delta.counter[fields[i]] == increase);
        CHECK((delta.known >> fields[i] & 1) == l->has_base[i]);
        l->credited[i] += delta.counter[fields[i]];
    }
    l->known = l->seen = true;
    l->missed = 0;
}

static void see_unread(struct world *w, uint32_t pid)
{
    struct life *kept = NULL;
    uint32_t ref = table_see_unread(&w->table, pid);

    for (size_t i = 0; i < w->n_lives; i++)
        if (w->lives[i].present && w->lives[i].identity.pid == pid)
            kept = &w->lives[i]; /* the youngest: lives are in order of birth */
    CHECK((ref == TABLE_NONE) == (kept == NULL));
    if (!kept)
        return;
    CHECK(identity_equal(table_process(&w->table, ref)->identity, kept->identity));
    kept->seen = true;
    kept->missed = 0;
}

/* Who is not seen in two cycles is forgotten. */
static void miss(struct life *l)
{
    if (!l->known || l->seen || ++l->missed < 2)
        return;
    l->known = false;
    memset(l->has_base, 0, sizeof(l->has_base));
}

/* Looks at some pid of the cycle. */
static void look(struct world *w, uint32_t pid)
{
    struct life *l = owner_of(w, pid);

    if (!l)
        return;
    if (l->known && !l->present && one_in(w, 2))
        see(w, l);
    else if (one_in(w, 20))
        see_unread(w, pid);
    else if (!one_in(w, 40))
        see(w, l);
}

static void shuffle(struct world *w, uint32_t pids[static PIDS])
{
    for (uint32_t i = 0; i < PIDS; i++)
        pids[i] = i + 1;
    for (uint32_t i = PIDS - 1; i > 0; i--) {
        uint32_t k = (uint32_t)below(w, i + 1), pid = pids[i];

        pids[i] = pids[k];
        pids[k] = pid;
    }
}

static void check_ended(struct world *w)
{
    size_t expected = 0, got = 0;
    uint32_t ref;

    for (size_t i = 0; i < w->n_lives; i++)
        expected += w->lives[i].present && !w->lives[i].seen;
    for (size_t at = 0; (ref = table_next_ended(&w->table, &at)) != TABLE_NONE; got++) {
        struct life *l = NULL;

        for (size_t i = 0; i < w->n_lives; i++)
            if (identity_equal(w->lives[i].identity, table_process(&w->table, ref)->identity))
                l = &w->lives[i];
        CHECK(l && l->present && !l->seen);
    }
    CHECK(got == expected);
}

static void check_present(struct world *w)
{
    size_t present = 0;

    for (size_t i = 0; i < w->n_lives; i++) {
        const struct life *l = &w->lives[i];
        uint32_t ref;

        if (!l->seen)
            continue;
        present++;
        ref = table_find(&w->table, l->identity);
        CHECK(ref != TABLE_NONE);
        CHECK(table_process(&w->table, ref)->seen == w->table.cycle);
    }
    CHECK(w->table.n_present == present);
}

static void check_sums(struct world *w)
{
    for (int i = 0; i < FIELDS; i++) {
        /* Without a clock, who was hidden for long is credited again. */
        for (size_t k = 0; w->clock && k < w->n_lives; k++)
            CHECK(w->lives[k].credited[i] <= w->lives[k].total[i]);
        CHECK(w->steps_back[i] == w->table.steps_back[fields[i]]);
    }
}

static void run_cycle(struct world *w)
{
    bool left = one_in(w, 8);
    uint32_t pids[PIDS], reached = left ? (uint32_t)below(w, PIDS) : PIDS;

    shuffle(w, pids);
    table_begin(&w->table, w->clock ? w->tick : 0);
    for (uint32_t i = 0; i < reached; i++)
        look(w, pids[i]);
    if (left) {
        table_abort(&w->table);
    } else {
        table_end(&w->table);
        w->first_done = true;
        w->finished_tick = w->clock ? w->tick : 0;
        check_ended(w);
        check_present(w);
        for (size_t i = 0; i < w->n_lives; i++)
            miss(&w->lives[i]);
    }
    for (size_t i = 0; i < w->n_lives; i++) {
        struct life *l = &w->lives[i];

        l->present = l->seen || (left && l->present);
        l->seen = false;
    }
    check_sums(w);
}

static void run_world(uint64_t of)
{
    struct world world = {.random = of * 0x9e3779b97f4a7c15u + 1, .clock = of % 2}, *w = &world;

    seed = of;
    w->lives = calloc(LIVES_MAX, sizeof(*w->lives));
    assert_non_null(w->lives);
    table_init(&w->table, TABLE_SINCE_FIRST_CYCLE, 0);
    bear(w, 1);
    for (int i = 0; i < CYCLES; i++) {
        live(w);
        run_cycle(w);
        /* Nobody is kept but those present and remains of two cycles, a reused pid each. */
        CHECK(w->table.n_processes <= (size_t)PIDS * 4);
    }
    table_deinit(&w->table);
    free(w->lives);
}

static void test_random_lives(void **state)
{
    const char *given = getenv("PROCTALLY_TEST_SEED");

    (void)state;
    if (given) {
        run_world(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < RUNS; i++)
        run_world(i < RUNS / 2 ? i : (uint64_t)time(NULL) * RUNS + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
