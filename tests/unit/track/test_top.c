/*
 * Which processes are the top ones: by hand, and held against a model that sorts everybody. Linked
 * with --wrap for the heap's functions: only top_configure() may call them. PROCTALLY_TEST_SEED
 * repeats the random lives.
 */
#include "track/top.h"

#include "chance.h"
#include "check.h"

#include <errno.h>

enum { PIDS = 60, CYCLES = 300, RUNS = 20, N_MAX = 12 };

static unsigned heap_calls;
static unsigned refused_call; /* the number of the call that gets nothing; 0: none */

#define WRAP(name, parameters, arguments) \
    void *__real_##name parameters;       \
    void *__wrap_##name parameters;       \
    void *__wrap_##name parameters        \
    {                                     \
        if (++heap_calls == refused_call) \
            return NULL;                  \
        return __real_##name arguments;   \
    }

WRAP(malloc, (size_t n), (n))
WRAP(calloc, (size_t n, size_t size), (n, size))
WRAP(realloc, (void *p, size_t n), (p, n))

/* ---- by hand ---- */

struct offer {
    uint32_t pid;
    uint64_t score;
    uint64_t start;
};

static void run(struct top *t, const struct offer *offers, size_t n)
{
    top_begin(t);
    for (size_t i = 0; i < n; i++) {
        struct sample s = {.identity = {offers[i].pid, offers[i].start}};

        sample_set_gauge(&s, GAUGE_THREADS, offers[i].pid);
        top_offer(t, offers[i].pid + 1000, &s, offers[i].score);
    }
    top_end(t);
}

#define RUN(t, ...)                               \
    run((t), (const struct offer[]){__VA_ARGS__}, \
        sizeof((const struct offer[]){__VA_ARGS__}) / sizeof(struct offer))

/* The pids that have rows, each with what was offered of it. */
static void check_rows(const struct top *t, const uint32_t *pids, size_t n)
{
    assert_int_equal(t->n_order, n);
    for (size_t i = 0; i < n; i++) {
        const struct top_row *row = top_row(t, i);

        assert_int_equal(row->rank.identity.pid, pids[i]);
        assert_int_equal(row->ref, pids[i] + 1000);
        assert_int_equal(row->sample.gauge[GAUGE_THREADS], pids[i]);
    }
}

#define CHECK_ROWS(t, ...)                           \
    check_rows((t), (const uint32_t[]){__VA_ARGS__}, \
               sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void test_the_first_ones_by_pid(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 2), 0);
    RUN(&t, {7, 10, 0}, {3, 50, 0}, {9, 40, 0}, {1, 30, 0}, {4, 20, 0});
    CHECK_ROWS(&t, 3, 9);
    top_deinit(&t);
}

/* In at rank n, out below rank 2n. */
static void test_hysteresis(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 2), 0);
    RUN(&t, {1, 50, 0}, {2, 40, 0}, {3, 30, 0}, {4, 20, 0}, {5, 10, 0});
    CHECK_ROWS(&t, 1, 2);
    /* 1 is third and 2 fourth: they stay, and 5 was never near. */
    RUN(&t, {1, 30, 0}, {2, 20, 0}, {3, 50, 0}, {4, 40, 0}, {5, 10, 0});
    CHECK_ROWS(&t, 1, 2, 3, 4);
    /* 2 falls to the fifth place. */
    RUN(&t, {1, 30, 0}, {2, 9, 0}, {3, 50, 0}, {4, 40, 0}, {5, 10, 0});
    CHECK_ROWS(&t, 1, 3, 4);
    /* At its old place it does not come back. */
    RUN(&t, {1, 20, 0}, {2, 30, 0}, {3, 50, 0}, {4, 40, 0}, {5, 10, 0});
    CHECK_ROWS(&t, 1, 3, 4);
    RUN(&t, {1, 20, 0}, {2, 45, 0}, {3, 50, 0}, {4, 40, 0}, {5, 10, 0});
    CHECK_ROWS(&t, 1, 2, 3, 4);
    top_deinit(&t);
}

/* Idle ones do not come, and do not have to go. */
static void test_nothing_is_no_rank(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 3), 0);
    RUN(&t, {1, 0, 0}, {2, 5, 0}, {3, 0, 0});
    CHECK_ROWS(&t, 2);
    RUN(&t, {1, 0, 0}, {2, 0, 0}, {3, 7, 0});
    CHECK_ROWS(&t, 2, 3);
    top_deinit(&t);
}

static void test_equals(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 1), 0);
    /* The oldest, whoever comes first. */
    RUN(&t, {1, 5, 30}, {2, 5, 10}, {3, 5, 20});
    CHECK_ROWS(&t, 2);
    /* Who has a row is before older ones. */
    RUN(&t, {1, 5, 30}, {2, 5, 10}, {9, 5, 1}, {8, 5, 2});
    CHECK_ROWS(&t, 2);
    top_deinit(&t);
}

/* A row is of a process, not of its pid. */
static void test_pid_used_again(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 1), 0);
    RUN(&t, {1, 50, 10}, {2, 40, 0});
    CHECK_ROWS(&t, 1);
    RUN(&t, {1, 40, 99}, {2, 50, 0});
    CHECK_ROWS(&t, 2);
    top_deinit(&t);
}

static void test_a_cycle_that_was_left(void **state)
{
    struct sample s = {.identity = {2, 0}};
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 1), 0);
    RUN(&t, {1, 50, 0}, {2, 40, 0});
    top_begin(&t);
    top_offer(&t, 1002, &s, 99);
    RUN(&t, {1, 40, 0}, {2, 50, 0});
    CHECK_ROWS(&t, 1, 2);
    top_deinit(&t);
}

static void test_off_and_on(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    RUN(&t, {1, 50, 0});
    assert_int_equal(t.n_order, 0);
    assert_int_equal(top_configure(&t, TOP_CPU, 1), 0);
    RUN(&t, {1, 50, 0}, {2, 40, 0});
    CHECK_ROWS(&t, 1);
    /* By another figure those that have rows keep them by the same rule. */
    assert_int_equal(top_configure(&t, TOP_FDS, 1), 0);
    RUN(&t, {1, 8, 0}, {2, 9, 0});
    CHECK_ROWS(&t, 1, 2);
    assert_int_equal(top_configure(&t, TOP_FDS, 3), 0);
    RUN(&t, {1, 8, 0}, {2, 9, 0}, {3, 7, 0}, {4, 6, 0});
    CHECK_ROWS(&t, 1, 2, 3);
    assert_int_equal(top_configure(&t, TOP_FDS, 0), 0);
    RUN(&t, {1, 50, 0});
    assert_int_equal(t.n_order, 0);
    top_deinit(&t);
}

/* Whatever is refused, all goes on as it was. */
static void test_no_memory(void **state)
{
    struct top t;

    (void)state;
    top_init(&t);
    assert_int_equal(top_configure(&t, TOP_CPU, 1), 0);
    RUN(&t, {1, 50, 0}, {2, 40, 0});
    for (unsigned call = 1; call <= 3; call++) {
        refused_call = heap_calls + call;
        assert_int_equal(top_configure(&t, TOP_FDS, 5), -ENOMEM);
        refused_call = 0;
        assert_int_equal(t.key, TOP_CPU);
        RUN(&t, {1, 40, 0}, {2, 50, 0}, {3, 30, 0});
        CHECK_ROWS(&t, 1, 2);
    }
    top_deinit(&t);
}

/* ---- the figure ---- */

static void test_scores(void **state)
{
    struct delta delta = {.known = UINT32_MAX};
    struct sample s = {.have_counters = UINT32_MAX, .have_gauges = UINT32_MAX};

    (void)state;
    for (unsigned i = 0; i < COUNTER_N; i++) {
        s.counter[i] = UINT64_C(1) << (20 + i);
        delta.counter[i] = UINT64_C(1) << i;
    }
    for (unsigned i = 0; i < GAUGE_N; i++)
        s.gauge[i] = UINT64_C(1) << i;
    assert_int_equal(top_score(TOP_CPU, &s, SIGHTING_KNOWN, &delta),
                     1u << COUNTER_CPU_USER_NS | 1u << COUNTER_CPU_SYSTEM_NS);
    assert_int_equal(top_score(TOP_IO, &s, SIGHTING_RETURNED, &delta),
                     1u << COUNTER_STORAGE_READ_BYTES | 1u << COUNTER_STORAGE_WRITE_BYTES);
    assert_int_equal(top_score(TOP_MEMORY, &s, SIGHTING_KNOWN, &delta),
                     1u << GAUGE_RESIDENT_ANON_BYTES | 1u << GAUGE_RESIDENT_FILE_BYTES |
                         1u << GAUGE_RESIDENT_SHMEM_BYTES);
    assert_int_equal(top_score(TOP_FDS, &s, SIGHTING_KNOWN, &delta), 1u << GAUGE_OPEN_FDS);
    /* Of one that was found, all it ever used. */
    assert_int_equal(top_score(TOP_CPU, &s, SIGHTING_FOUND, &delta),
                     (1u << COUNTER_CPU_USER_NS | 1u << COUNTER_CPU_SYSTEM_NS) << 20);
    assert_int_equal(top_score(TOP_CPU, &s, SIGHTING_STARTED, &delta),
                     1u << COUNTER_CPU_USER_NS | 1u << COUNTER_CPU_SYSTEM_NS);
    /* What is not known is not counted. */
    s.have_counters = UINT32_C(1) << COUNTER_CPU_SYSTEM_NS;
    s.have_gauges = 0;
    assert_int_equal(top_score(TOP_CPU, &s, SIGHTING_KNOWN, &delta), 1u << COUNTER_CPU_SYSTEM_NS);
    assert_int_equal(top_score(TOP_IO, &s, SIGHTING_FOUND, &delta), 0);
    assert_int_equal(top_score(TOP_FDS, &s, SIGHTING_KNOWN, &delta), 0);
    s.have_counters = UINT32_MAX;
    delta.counter[COUNTER_CPU_USER_NS] = UINT64_MAX;
    assert_true(top_score(TOP_CPU, &s, SIGHTING_KNOWN, &delta) == UINT64_MAX);
}

static void test_wants(void **state)
{
    struct wanted w = {.gauges = UINT32_C(1) << GAUGE_MAPPINGS};

    (void)state;
    top_want(TOP_IO, &w);
    assert_int_equal(w.counters,
                     1u << COUNTER_STORAGE_READ_BYTES | 1u << COUNTER_STORAGE_WRITE_BYTES);
    assert_int_equal(w.gauges, 1u << GAUGE_MAPPINGS);
    assert_int_equal(w.parts, part_bit(PART_STAT) | part_bit(PART_IO) | part_bit(PART_MAPS));
    top_want(TOP_FDS, &w);
    assert_int_equal(w.gauges, 1u << GAUGE_MAPPINGS | 1u << GAUGE_OPEN_FDS);
    assert_true(w.parts & part_bit(PART_FD));
}

/* ---- random lives ---- */

struct life {
    uint64_t start, score;
    bool alive;
    bool has_row;
};

static bool before(const struct life *lives, uint32_t a, uint32_t b)
{
    if (lives[a].score != lives[b].score)
        return lives[a].score > lives[b].score;
    if (lives[a].has_row != lives[b].has_row)
        return lives[a].has_row;
    return lives[a].start != lives[b].start ? lives[a].start < lives[b].start : a < b;
}

/* The rank of a pid among all, from 1, by looking at everybody. */
static size_t rank_of(const struct life *lives, uint32_t pid)
{
    size_t rank = 1;

    for (uint32_t i = 0; i < PIDS; i++)
        rank += lives[i].alive && i != pid && before(lives, i, pid);
    return rank;
}

/* Who has a row now, by the words of the design. */
static void expect(const struct life *lives, size_t n, bool ret[static PIDS])
{
    for (uint32_t i = 0; i < PIDS; i++) {
        size_t rank = rank_of(lives, i);

        ret[i] =
            lives[i].alive && (lives[i].has_row ? rank <= 2 * n : rank <= n && lives[i].score > 0);
    }
}

static void live(struct chance *chance, struct life *lives, uint64_t tick)
{
    /* Few values, so that there are many equals; or many. */
    size_t values = chance_below(chance, 4) == 0 ? 1000 : 1 + chance_below(chance, 6);

    for (uint32_t i = 0; i < PIDS; i++) {
        if (chance_below(chance, 12) == 0)
            lives[i] = (struct life){.start = tick, .alive = chance_below(chance, 8) > 0};
        if (chance_below(chance, 3) == 0)
            lives[i].score = chance_below(chance, values);
    }
}

static void offer_all(struct chance *chance, struct top *t, const struct life *lives, size_t n)
{
    uint32_t first = (uint32_t)chance_below(chance, PIDS);
    /* Without a divisor in common with PIDS: every pid once, in another order. */
    uint32_t step = (uint32_t[]){1, 7, 11, 59}[chance_below(chance, 4)];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t pid = (first + i * step) % PIDS;
        struct sample s = {.identity = {pid, lives[pid].start}};

        if (lives[pid].alive)
            top_offer(t, pid, &s, lives[pid].score);
    }
}

static void check_against(const struct top *t, struct life *lives, size_t n)
{
    bool expected[PIDS];
    size_t rows = 0, at = 0;

    expect(lives, n, expected);
    for (uint32_t i = 0; i < PIDS; i++)
        rows += expected[i];
    assert_true(rows <= 2 * n);
    assert_int_equal(t->n_order, rows);
    for (uint32_t i = 0; i < PIDS; i++) {
        lives[i].has_row = expected[i];
        if (!expected[i])
            continue;
        assert_int_equal(top_row(t, at)->rank.identity.pid, i);
        assert_int_equal(top_row(t, at)->ref, i);
        at++;
    }
}

static void configure(struct top *t, struct life *lives, size_t n)
{
    size_t before_n = t->n;

    assert_int_equal(top_configure(t, TOP_CPU, n), 0);
    for (uint32_t i = 0; i < PIDS && n != before_n; i++)
        lives[i].has_row = false;
}

static void run_world(struct chance *chance)
{
    struct life lives[PIDS] = {0};
    struct top t;

    top_init(&t);
    configure(&t, lives, chance_below(chance, N_MAX + 1));
    for (uint64_t tick = 1; tick <= CYCLES; tick++) {
        unsigned calls = heap_calls;

        live(chance, lives, tick);
        top_begin(&t);
        if (chance_below(chance, 8) == 0) {
            offer_all(chance, &t, lives, chance_below(chance, PIDS));
            top_begin(&t);
        }
        offer_all(chance, &t, lives, PIDS);
        top_end(&t);
        assert_int_equal(heap_calls, calls);
        check_against(&t, lives, t.n);
        if (chance_below(chance, 40) == 0)
            configure(&t, lives, chance_below(chance, N_MAX + 1));
    }
    top_deinit(&t);
}

static void test_random_lives(void **state)
{
    struct chance chance = chance_of_test();

    (void)state;
    for (int i = 0; i < RUNS; i++)
        run_world(&chance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_ones_by_pid),
        cmocka_unit_test(test_hysteresis),
        cmocka_unit_test(test_nothing_is_no_rank),
        cmocka_unit_test(test_equals),
        cmocka_unit_test(test_pid_used_again),
        cmocka_unit_test(test_a_cycle_that_was_left),
        cmocka_unit_test(test_off_and_on),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_random_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
