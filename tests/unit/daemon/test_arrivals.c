/* Scrapes that come, and those that are expected. */
#include "daemon/arrivals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint64_t S = 1000000000, MS = 1000000;

/* n arrivals, `period` apart, the first at `first`; returns the time of the last. */
static uint64_t come(struct arrivals *a, uint64_t first, uint64_t period, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        arrivals_note(a, first + i * period);
    return first + (n - 1) * period;
}

static void check_next(const struct arrivals *a, uint64_t from, uint64_t expected, uint64_t within)
{
    uint64_t at, margin;

    assert_true(arrivals_next(a, from, &at, &margin));
    if (at + within < expected || at > expected + within)
        fail_msg("expected at %lu, not at %lu", expected, at);
    assert_in_range(margin, 50 * MS, 100 * MS);
}

static void check_no_next(const struct arrivals *a, uint64_t from)
{
    uint64_t at, margin;

    assert_false(arrivals_next(a, from, &at, &margin));
}

static void test_two_are_no_train(void **state)
{
    struct arrivals a;

    (void)state;
    arrivals_init(&a);
    check_no_next(&a, 0);
    come(&a, 100 * S, 15 * S, 2);
    check_no_next(&a, 116 * S);
}

static void test_three_are_a_train(void **state)
{
    struct arrivals a;
    uint64_t last;

    (void)state;
    arrivals_init(&a);
    last = come(&a, 100 * S, 15 * S, 3);
    check_next(&a, last + 1, last + 15 * S, 0);
    /* Also far ahead, on the same phase. */
    check_next(&a, last + 100 * S, last + 105 * S, 0);
}

static void test_phase_follows(void **state)
{
    struct arrivals a;
    uint64_t last;

    (void)state;
    arrivals_init(&a);
    last = come(&a, 100 * S, 15 * S, 3);
    /* A clock that is slow by a thousandth. */
    last = come(&a, last + 15015 * MS, 15015 * MS, 40);
    check_next(&a, last + 1, last + 15015 * MS, 10 * MS);
}

static void test_two_scrapers_of_one_period(void **state)
{
    struct arrivals a;

    (void)state;
    arrivals_init(&a);
    for (unsigned i = 0; i < 5; i++) {
        arrivals_note(&a, (100 + 15 * i) * S);
        arrivals_note(&a, (100 + 15 * i) * S + 4 * S);
    }
    check_next(&a, 165 * S, 175 * S, MS);
    check_next(&a, 176 * S, 179 * S, MS);
    check_next(&a, 180 * S, 190 * S, MS);
}

static void test_two_periods(void **state)
{
    struct arrivals a;

    (void)state;
    arrivals_init(&a);
    for (uint64_t t = 100; t < 400; t++) {
        if ((t - 100) % 15 == 0)
            arrivals_note(&a, t * S);
        if ((t - 107) % 60 == 0)
            arrivals_note(&a, t * S);
    }
    check_next(&a, 400 * S, 400 * S, MS);
    check_next(&a, 401 * S, 407 * S, MS);
}

static void test_a_person_is_not_expected(void **state)
{
    static const uint64_t times[] = {100, 101, 107, 130, 131, 190, 300, 301, 420};
    struct arrivals a;

    (void)state;
    arrivals_init(&a);
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        arrivals_note(&a, times[i] * S + i * 137 * MS);
    check_no_next(&a, 421 * S);
}

static void test_same_phase_after_a_pause(void **state)
{
    struct arrivals a;
    uint64_t last;

    (void)state;
    arrivals_init(&a);
    last = come(&a, 100 * S, 15 * S, 5);
    /* Away for three periods, as in a restart. */
    arrivals_note(&a, last + 60 * S);
    check_next(&a, last + 61 * S, last + 75 * S, MS);
}

static void test_gone_for_good(void **state)
{
    struct arrivals a;
    uint64_t last;

    (void)state;
    arrivals_init(&a);
    last = come(&a, 100 * S, 15 * S, 5);
    arrivals_pass(&a, last + 15 * 6 * S);
    check_next(&a, last + 15 * 6 * S, last + 15 * 6 * S, 0);
    arrivals_pass(&a, last + 15 * 8 * S);
    check_no_next(&a, last + 15 * 8 * S);
}

/* More scrapers than there is room for: no harm, and those that come stay. */
static void test_many_scrapers(void **state)
{
    struct arrivals a;

    (void)state;
    arrivals_init(&a);
    for (uint64_t round = 0; round < 30; round++)
        for (uint64_t i = 0; i < 40; i++)
            arrivals_note(&a, 100 * S + round * 60 * S + i * 1500 * MS);
    check_next(&a, 1900 * S, 1900 * S, 3 * S);
}

/* Any times whatever, rising or not: nothing but valid expectations comes out. */
static void test_random_times(void **state)
{
    struct arrivals a;
    uint64_t now = 100 * S, at, margin;

    (void)state;
    srand(7);
    arrivals_init(&a);
    for (unsigned i = 0; i < 200000; i++) {
        now += (uint64_t)rand() % (3 * S);
        if (rand() % 50 == 0)
            now += (uint64_t)rand() * 1000;
        arrivals_note(&a, rand() % 20 ? now : now - (uint64_t)rand() % S);
        if (!arrivals_next(&a, now, &at, &margin))
            continue;
        assert_true(at >= now);
        assert_in_range(margin, 50 * MS, 100 * MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_are_no_train),
        cmocka_unit_test(test_three_are_a_train),
        cmocka_unit_test(test_phase_follows),
        cmocka_unit_test(test_two_scrapers_of_one_period),
        cmocka_unit_test(test_two_periods),
        cmocka_unit_test(test_a_person_is_not_expected),
        cmocka_unit_test(test_same_phase_after_a_pause),
        cmocka_unit_test(test_gone_for_good),
        cmocka_unit_test(test_many_scrapers),
        cmocka_unit_test(test_random_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
