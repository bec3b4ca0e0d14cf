/* CPU time that is known exactly, divided: edges by rows, then the promises over random walks. */
#include "track/cpu_split.h"

#include "chance.h"
#include "check.h"

#define MAX UINT64_MAX

static uint64_t sum(struct cpu_parts p)
{
    return p.user_ns + p.system_ns;
}

static void test_edges(void **state)
{
    static const struct {
        uint64_t runtime;
        struct cpu_parts ticks, before, expected;
    } rows[] = {
        /* Nothing, and nothing yet. */
        {0, {0, 0}, {0, 0}, {0, 0}},
        {0, {5, 7}, {0, 0}, {0, 0}},
        /* As the ticks are; what they do not tell is in user space, and so is what is left over. */
        {100, {0, 0}, {0, 0}, {100, 0}},
        {100, {10, 0}, {0, 0}, {100, 0}},
        {100, {0, 10}, {0, 0}, {0, 100}},
        {100, {3, 1}, {0, 0}, {75, 25}},
        {100, {2, 1}, {0, 0}, {67, 33}},
        {1, {1, 1}, {0, 0}, {1, 0}},
        {1, {1, 1000}, {0, 0}, {1, 0}},
        {2, {1, 1}, {0, 0}, {1, 1}},
        /* The same runtime, and less: as it was, whatever the ticks say. */
        {100, {0, 10}, {60, 40}, {60, 40}},
        {99, {0, 10}, {60, 40}, {60, 40}},
        {50, {10, 0}, {60, 40}, {60, 40}},
        {0, {0, 0}, {60, 40}, {60, 40}},
        {60, {1, 1}, {60, 0}, {60, 0}},
        {40, {1, 1}, {0, 40}, {0, 40}},
        /* The ratio wandered: the part that would fall stands, the other has all that is new. */
        {110, {10, 0}, {60, 40}, {70, 40}},
        {110, {0, 10}, {60, 40}, {60, 50}},
        {101, {0, 10}, {60, 40}, {60, 41}},
        {101, {10, 0}, {60, 40}, {61, 40}},
        {101, {0, 0}, {0, 100}, {1, 100}},
        /* It comes back once there is enough. */
        {200, {1, 1}, {60, 40}, {100, 100}},
        {120, {1, 1}, {60, 40}, {60, 60}},
        {119, {1, 1}, {60, 40}, {60, 59}},
        /* Nothing wraps. */
        {MAX, {1, 1}, {0, 0}, {MAX / 2 + 1, MAX / 2}},
        {MAX, {MAX, MAX}, {0, 0}, {MAX / 2 + 1, MAX / 2}},
        {MAX, {MAX, 0}, {0, 0}, {MAX, 0}},
        {MAX, {0, MAX}, {0, 0}, {0, MAX}},
        {MAX, {0, 1}, {MAX, 0}, {MAX, 0}},
        {MAX, {1, 0}, {0, MAX}, {0, MAX}},
        {MAX, {1, 0}, {MAX - 1, 1}, {MAX - 1, 1}},
        {MAX, {1, 0}, {MAX - 2, 1}, {MAX - 1, 1}},
        {MAX, {1, 1}, {MAX, MAX}, {MAX, MAX}},
        {MAX - 1, {1, 1}, {MAX, 1}, {MAX, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cpu_parts got = cpu_split(rows[i].runtime, rows[i].ticks, rows[i].before);

        if (got.user_ns != rows[i].expected.user_ns || got.system_ns != rows[i].expected.system_ns)
            fail_msg("row %zu: user %lu, system %lu", i, got.user_ns, got.system_ns);
    }
}

static void check_step(uint64_t runtime, struct cpu_parts ticks, struct cpu_parts before,
                       struct cpu_parts got)
{
    unsigned __int128 all = (unsigned __int128)ticks.user_ns + ticks.system_ns;
    unsigned __int128 exact = all ? (unsigned __int128)runtime * ticks.system_ns : 0;

    assert_true(got.user_ns >= before.user_ns && got.system_ns >= before.system_ns);
    assert_int_equal(sum(got), runtime > sum(before) ? runtime : sum(before));
    if (runtime <= sum(before)) {
        assert_memory_equal(&got, &before, sizeof(got));
        return;
    }
    /* Where neither part is held back it is as the ticks are, to the nanosecond. */
    if (got.user_ns > before.user_ns && got.system_ns > before.system_ns && all > 0)
        assert_true(got.system_ns * all <= exact &&
                    exact < ((unsigned __int128)got.system_ns + 1) * all);
    /* And only a part that would have fallen is. */
    if (got.system_ns == before.system_ns && all > 0)
        assert_true(exact < ((unsigned __int128)got.system_ns + 1) * all);
}

/* Some nanoseconds, some seconds, or years. */
static uint64_t some(struct chance *c)
{
    return chance_u64(c) >> (4 + chance_below(c, 59));
}

/*
 * A process that runs, in user space and in the kernel by turns of its own, with a runtime that
 * now and then steps back, and ticks that tell of each what they like.
 */
static void test_random_walks(void **state)
{
    struct chance c = chance_of_test();
    unsigned held_back = 0, stepped_back = 0;

    (void)state;
    for (int walk = 0; walk < 500; walk++) {
        struct cpu_parts ticks = {0}, parts = {0};
        uint64_t runtime = 0, scale = 1 + some(&c) % 1000000000;

        for (int step = 0; step < 200; step++) {
            struct cpu_parts before = parts;
            uint64_t back = chance_below(&c, 10) == 0 ? chance_below(&c, scale) : 0;
            uint64_t shown;

            runtime += chance_below(&c, scale);
            ticks.user_ns += chance_below(&c, 3) == 0 ? chance_below(&c, scale) : 0;
            ticks.system_ns += chance_below(&c, 3) == 0 ? chance_below(&c, scale) : 0;
            shown = back < runtime ? runtime - back : 0;
            stepped_back += shown < sum(before);
            parts = cpu_split(shown, ticks, before);
            check_step(shown, ticks, before, parts);
            held_back += parts.user_ns == before.user_ns || parts.system_ns == before.system_ns;
        }
    }
    assert_true(held_back > 0 && stepped_back > 0);
}

/* All numbers there are, not only those that a process may have. */
static void test_random_numbers(void **state)
{
    struct chance c = chance_of_test();

    (void)state;
    for (int i = 0; i < 200000; i++) {
        struct cpu_parts ticks = {some(&c), some(&c)};
        struct cpu_parts before = {some(&c), some(&c)};
        uint64_t runtime = chance_below(&c, 4) ? sum(before) + some(&c) : some(&c);

        check_step(runtime, ticks, before, cpu_split(runtime, ticks, before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_random_walks),
        cmocka_unit_test(test_random_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
