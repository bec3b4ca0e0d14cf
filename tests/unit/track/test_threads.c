/*
 * Threads over cycles. A look is LOOK(), SEE() per thread, looked(); the counter is user CPU time,
 * or voluntary switches where a second one is needed.
 *
 * Linked with --wrap of the allocators, to count their calls and to refuse them.
 */
#include "track/threads.h"

#include "chance.h"
#include "check.h"

#include <errno.h>

#define BIT(n) (UINT32_C(1) << (n))

static const uint32_t all = BIT(THREAD_COUNTER_N) - 1;

static bool no_memory;
static size_t heap_calls;

#define WRAP(name, parameters, arguments)                  \
    void *__real_##name parameters;                        \
    void *__wrap_##name parameters;                        \
    void *__wrap_##name parameters                         \
    {                                                      \
        heap_calls++;                                      \
        return no_memory ? NULL : __real_##name arguments; \
    }

WRAP(malloc, (size_t n), (n))
WRAP(realloc, (void *p, size_t n), (p, n))

struct fixture {
    struct threads threads;
    struct process process;
    uint64_t tick; /* 0: nobody knows the time */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    threads_init(&f->threads);
    f->process.identity = (struct identity){.pid = 100, .start_ticks = 5000};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    threads_deinit(&f->threads);
    free(f);
    return 0;
}

static struct thread_sample sample(uint32_t tid, uint64_t start, uint64_t cpu)
{
    struct thread_sample s = {.tid = tid, .start_ticks = start};

    thread_set_counter(&s, THREAD_CPU_USER_NS, cpu);
    return s;
}

static uint64_t see_in(struct fixture *f, struct process *p, uint32_t tid, uint64_t start,
                       uint64_t cpu)
{
    struct thread_sample s = sample(tid, start, cpu);
    struct thread_delta delta;
    uint32_t ref;
    bool again;

    assert_int_equal(threads_see(&f->threads, p, &s, all, &ref, &again, &delta), 0);
    assert_false(again);
    assert_int_equal(threads_thread(&f->threads, ref)->tid, tid);
    assert_int_equal(delta.known, BIT(THREAD_CPU_USER_NS));
    return delta.counter[THREAD_CPU_USER_NS];
}

static uint64_t see(struct fixture *f, uint32_t tid, uint64_t start, uint64_t cpu)
{
    return see_in(f, &f->process, tid, start, cpu);
}

static void look(struct fixture *f, enum first_total first)
{
    threads_begin(&f->threads, f->tick);
    if (first == FIRST_TOTAL_COUNTS)
        threads_are_new(&f->process);
    threads_look(&f->threads, &f->process);
}

static void looked(struct fixture *f)
{
    threads_looked(&f->threads, &f->process, true);
    threads_end(&f->threads);
}

/* A cycle in which nobody is seen. */
static void pass(struct fixture *f)
{
    look(f, FIRST_TOTAL_IS_BASE);
    threads_looked(&f->threads, &f->process, false);
    threads_end(&f->threads);
}

static void what_was_there_is_base(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 70), 0);
    assert_int_equal(see(f, 101, 5001, 80), 0);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 75), 5);
    assert_int_equal(see(f, 101, 5001, 80), 0);
    /* New since. */
    assert_int_equal(see(f, 102, 9000, 3), 3);
    looked(f);
}

static void a_new_process_counts_whole(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    assert_int_equal(see(f, 101, 5001, 80), 80);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 71), 1);
    assert_int_equal(see(f, 101, 5001, 82), 2);
    looked(f);
}

/* The list leaves one out; later it is there, and is no news. */
static void overlooked_in_the_first_look(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 70), 0);
    assert_int_equal(see(f, 105, 6000, 1), 0);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 5001, 800000), 0);
    /* In the same tick, but before it, or after. */
    assert_int_equal(see(f, 104, 6000, 700000), 0);
    assert_int_equal(see(f, 106, 6000, 7), 7);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 5001, 800002), 2);
    looked(f);
}

/* Even the youngest of all is no news, where the time is known. */
static void overlooked_though_the_youngest(void **state)
{
    struct fixture *f = *state;

    f->tick = 8000;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 70), 0);
    looked(f);
    f->tick = 9000;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 7999, 800000), 0);
    assert_int_equal(see(f, 102, 8000, 3), 3);
    looked(f);
    /* Of a new process all is news. */
    threads_leave(&f->process);
    f->tick = 9500;
    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 7999, 9), 9);
    looked(f);
}

static void overlooked_later(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    assert_int_equal(see(f, 101, 5001, 80), 80);
    looked(f);
    for (int i = 0; i < 2; i++) {
        look(f, FIRST_TOTAL_IS_BASE);
        assert_int_equal(see(f, 100, 5000, 70), 0);
        looked(f);
    }
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 5001, 95), 15);
    looked(f);
    assert_int_equal(f->threads.n_used, 2);
}

/* One that was seen in a look that failed in its midst is no news after it, if given up since. */
static void overlooked_after_half_a_look(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 103, 6000, 30), 30);
    threads_looked(&f->threads, &f->process, false);
    for (int i = 0; i < 4; i++) {
        look(f, FIRST_TOTAL_IS_BASE);
        /* Older, but new all the same: nobody came so far. */
        assert_int_equal(see(f, 102, 5900, 80), i == 0 ? 80 : 0);
        looked(f);
    }
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 103, 6000, 95), 0);
    looked(f);
}

/* Its record was given up: it may not be credited twice, though it is the youngest. */
static void overlooked_for_long(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    assert_int_equal(see(f, 101, 5001, 80), 80);
    looked(f);
    for (int i = 0; i < 3; i++) {
        look(f, FIRST_TOTAL_IS_BASE);
        assert_int_equal(see(f, 100, 5000, 70), 0);
        looked(f);
    }
    assert_int_equal(f->threads.n_used, 1);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 5001, 95), 0);
    looked(f);
}

static void a_tid_goes_on(void **state)
{
    struct process other = {.identity = {.pid = 7, .start_ticks = 5000}};
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 101, 5001, 80), 80);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 101, 7000, 30), 30);
    threads_looked(&f->threads, &f->process, true);
    threads_look(&f->threads, &other);
    assert_int_equal(see_in(f, &other, 101, 7000, 40), 0);
    looked(f);
    assert_int_equal(f->threads.n_used, 3);
}

static void steps_back(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 60), 0);
    looked(f);
    assert_int_equal(f->threads.steps_back[THREAD_CPU_USER_NS], 1);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 72), 2);
    looked(f);
    assert_int_equal(f->threads.steps_back[THREAD_CPU_USER_NS], 1);
}

/* What could not be read at first, or was not wanted, is base when it is there. */
static void a_counter_comes_later(void **state)
{
    struct thread_sample s = sample(100, 5000, 70);
    struct fixture *f = *state;
    struct thread_delta delta;
    uint32_t ref;
    bool again;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
    thread_set_counter(&s, THREAD_VOLUNTARY_SWITCHES, 5000);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(
        threads_see(&f->threads, &f->process, &s, BIT(THREAD_CPU_USER_NS), &ref, &again, &delta),
        0);
    assert_int_equal(delta.known, BIT(THREAD_CPU_USER_NS));
    looked(f);
    for (int i = 0; i < 2; i++) {
        look(f, FIRST_TOTAL_IS_BASE);
        assert_int_equal(threads_see(&f->threads, &f->process, &s, all, &ref, &again, &delta), 0);
        assert_int_equal(delta.known, BIT(THREAD_CPU_USER_NS) | BIT(THREAD_VOLUNTARY_SWITCHES));
        assert_int_equal(delta.counter[THREAD_VOLUNTARY_SWITCHES], i == 0 ? 0 : 11);
        looked(f);
        s.counter[THREAD_VOLUNTARY_SWITCHES] += 11;
    }
    threads_forget_counters(&f->threads, BIT(THREAD_VOLUNTARY_SWITCHES));
    s.counter[THREAD_VOLUNTARY_SWITCHES] += 90000;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(threads_see(&f->threads, &f->process, &s, all, &ref, &again, &delta), 0);
    assert_int_equal(delta.counter[THREAD_VOLUNTARY_SWITCHES], 0);
    looked(f);
}

/* Its group was not listed for a while: all of that is not counted. */
static void left_and_looked_at_again(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
    threads_begin(&f->threads, f->tick);
    threads_leave(&f->process);
    threads_end(&f->threads);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 90), 0);
    assert_int_equal(see(f, 101, 9000, 90), 0);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 91), 1);
    assert_int_equal(see(f, 101, 9000, 92), 2);
    looked(f);
}

/* Cycles that fail in the midst of a look: who was counted is, who was not will be. */
static void cycles_that_are_left(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    threads_looked(&f->threads, &f->process, false);
    for (int i = 0; i < 5; i++)
        threads_begin(&f->threads, f->tick);
    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 72), 2);
    assert_int_equal(see(f, 101, 5001, 30), 30);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 102, 5002, 4), 4);
    threads_looked(&f->threads, &f->process, false);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 102, 5002, 5), 1);
    assert_int_equal(see(f, 101, 5001, 37), 7);
    looked(f);
}

static void listed_twice(void **state)
{
    struct thread_sample s = sample(100, 5000, 70);
    struct fixture *f = *state;
    struct thread_delta delta;
    uint32_t ref;
    bool again;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    assert_int_equal(threads_see(&f->threads, &f->process, &s, all, &ref, &again, &delta), 0);
    assert_true(again);
    assert_int_equal(delta.counter[THREAD_CPU_USER_NS], 0);
    looked(f);
    assert_int_equal(f->process.thread_looks.n, 1);
}

static void who_was_here(void **state)
{
    struct thread_sample s = sample(100, 5000, 1);
    struct fixture *f = *state;
    uint32_t ref;

    threads_begin(&f->threads, f->tick);
    assert_int_equal(threads_find(&f->threads, &f->process, &s), THREADS_NONE);
    threads_are_new(&f->process);
    threads_look(&f->threads, &f->process);
    (void)see(f, 100, 5000, 1);
    looked(f);
    look(f, FIRST_TOTAL_IS_BASE);
    ref = threads_find(&f->threads, &f->process, &s);
    assert_true(threads_was_here(&f->threads, ref));
    threads_looked(&f->threads, &f->process, false);
    threads_end(&f->threads);
    threads_begin(&f->threads, f->tick);
    assert_int_equal(threads_find(&f->threads, &f->process, &s), ref);
    assert_false(threads_was_here(&f->threads, ref));
}

/*
 * A thread that is not the leader executes a program: the others are gone, and it is the leader
 * now, with the leader's start and its own totals.
 */
static void a_thread_takes_the_leaders_place(void **state)
{
    struct fixture *f = *state;

    look(f, FIRST_TOTAL_COUNTS);
    assert_int_equal(see(f, 100, 5000, 5), 5);
    assert_int_equal(see(f, 101, 5001, 800), 800);
    looked(f);
    f->process.renamed = true;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 810), 0);
    looked(f);
    f->process.renamed = false;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 813), 3);
    looked(f);
    /* With a leader alone there is nobody else. */
    f->process.renamed = true;
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 815), 2);
    looked(f);
    assert_int_equal(f->threads.steps_back[THREAD_CPU_USER_NS], 0);
}

static void without_memory(void **state)
{
    struct thread_sample s = sample(100, 5000, 70);
    struct fixture *f = *state;
    struct thread_delta delta;
    uint32_t ref;
    bool again;

    look(f, FIRST_TOTAL_COUNTS);
    no_memory = true;
    assert_int_equal(threads_see(&f->threads, &f->process, &s, all, &ref, &again, &delta), -ENOMEM);
    no_memory = false;
    assert_int_equal(f->threads.n_used, 0);
    assert_int_equal(see(f, 100, 5000, 70), 70);
    looked(f);
}

enum { STORM = 20000 };

/*
 * A storm: each cycle, all threads but one are others than before. What is kept is bounded by what
 * is there and was there just before; when it is over, the memory goes.
 */
static void a_storm(void **state)
{
    struct fixture *f = *state;
    size_t before;

    for (uint64_t cycle = 0; cycle < 12; cycle++) {
        look(f, FIRST_TOTAL_COUNTS);
        assert_int_equal(see(f, 100, 5000, 70 + cycle), cycle ? 1 : 70);
        for (uint32_t i = 0; i < STORM; i++)
            assert_int_equal(see(f, (uint32_t)(1000 + (cycle * STORM + i) % 100000),
                                 6000 + 1000 * cycle + i / 100, 5),
                             5);
        looked(f);
        assert_true(f->threads.n_used <= 3 * STORM + 1);
        assert_true(f->threads.capacity <= 131072);
    }
    before = heap_calls;
    assert_int_equal(f->threads.by_tid.count, f->threads.n_used);
    no_memory = true;
    for (int i = 0; i < 4; i++) {
        look(f, FIRST_TOTAL_IS_BASE);
        (void)see(f, 100, 5000, 90);
        looked(f);
    }
    /* There was none to make it smaller with. */
    no_memory = false;
    assert_true(f->threads.capacity > 64);
    assert_true(heap_calls > before);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 97), 7);
    looked(f);
    assert_int_equal(f->threads.capacity, 64);
    assert_int_equal(f->threads.n_used, 1);
    assert_true(f->threads.by_tid.size <= 64);
    look(f, FIRST_TOTAL_IS_BASE);
    assert_int_equal(see(f, 100, 5000, 99), 2);
    looked(f);
    for (int i = 0; i < 3; i++)
        pass(f);
    assert_null(f->threads.threads);
    assert_null(f->threads.by_tid.slots);
}

/* Threads come and go, but as many as before: the heap is left alone. */
static void a_steady_number_allocates_nothing(void **state)
{
    struct fixture *f = *state;
    size_t warm = 0;

    for (uint64_t cycle = 0; cycle < 40; cycle++) {
        look(f, FIRST_TOTAL_IS_BASE);
        for (uint32_t i = 0; i < 300; i++) {
            bool comes = i % 10 == 0;

            (void)see(f, comes ? (uint32_t)(1000 + 300 * cycle + i) : 100 + i,
                      comes ? 6000 + cycle : 5000, cycle);
        }
        looked(f);
        if (cycle == 10)
            warm = heap_calls;
    }
    assert_int_equal(heap_calls, warm);
}

enum { POOL = 40 };

struct simulated {
    bool alive;
    uint32_t tid;
    uint64_t start;
    uint64_t used;       /* since it began */
    uint64_t not_before; /* of it, before the first look at the process */
    uint64_t credited;
    uint64_t last_seen;
    uint64_t seen_at;
};

/*
 * Whatever is overlooked, comes, goes and is left in the midst: nobody is credited more than he
 * used since the first look, and between two looks in a row just what he used.
 */
static void random_lives(void **state)
{
    struct chance chance = chance_of_test();
    struct simulated pool[POOL] = {0};
    struct fixture *f = *state;
    uint32_t tid = 200;

    for (uint64_t now = 5000; now < 25000; now++) {
        bool whole = chance_below(&chance, 10) != 0;

        for (size_t i = 0; i < POOL; i++) {
            struct simulated *s = &pool[i];

            if (chance_below(&chance, s->alive ? 30 : 10) == 0)
                *s = (struct simulated){.alive = !s->alive, .tid = tid++, .start = now / 3};
            s->used += chance_below(&chance, 1000);
            if (now < 5010)
                s->not_before = s->used;
        }
        if (now < 5010)
            continue;
        f->tick = now / 3;
        look(f, FIRST_TOTAL_IS_BASE);
        for (size_t i = 0; i < POOL; i++) {
            struct simulated *s = &pool[i];
            uint64_t credit;

            if (!s->alive || chance_below(&chance, 5) == 0)
                continue;
            if (!whole && chance_below(&chance, POOL) == 0)
                break;
            credit = see(f, s->tid, s->start, s->used);
            if (s->seen_at + 1 == now)
                assert_int_equal(credit, s->used - s->last_seen);
            s->credited += credit;
            s->last_seen = s->used;
            s->seen_at = now;
            assert_true(s->credited <= s->last_seen - s->not_before);
        }
        threads_looked(&f->threads, &f->process, whole);
        if (whole)
            threads_end(&f->threads);
        assert_true(f->threads.n_used <= 4 * POOL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_there_is_base),
        TEST(a_new_process_counts_whole),
        TEST(overlooked_in_the_first_look),
        TEST(overlooked_though_the_youngest),
        TEST(overlooked_later),
        TEST(overlooked_after_half_a_look),
        TEST(overlooked_for_long),
        TEST(a_tid_goes_on),
        TEST(steps_back),
        TEST(a_counter_comes_later),
        TEST(left_and_looked_at_again),
        TEST(cycles_that_are_left),
        TEST(listed_twice),
        TEST(who_was_here),
        TEST(a_thread_takes_the_leaders_place),
        TEST(without_memory),
        TEST(a_storm),
        TEST(a_steady_number_allocates_nothing),
        TEST(random_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
