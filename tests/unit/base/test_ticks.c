/* Clock ticks into nanoseconds, for rates that divide a second and that do not. */
#include "base/ticks.h"

#include "check.h"

static uint64_t ns(uint64_t ticks, uint32_t per_second)
{
    uint64_t value = 0;

    assert_true(ticks_to_ns(ticks, per_second, &value));
    return value;
}

static void usual_rates(void **state)
{
    (void)state;
    assert_int_equal(ns(0, 100), 0);
    assert_int_equal(ns(1, 100), 10000000);
    assert_int_equal(ns(1234, 100), 12340000000);
    assert_int_equal(ns(3, 1000), 3000000);
    assert_int_equal(ns(7, 250), 28000000);
}

static void rates_that_do_not_divide(void **state)
{
    (void)state;
    /* No precision is lost to a rounded length of one tick. */
    assert_int_equal(ns(1024, 1024), 1000000000);
    assert_int_equal(ns(1, 1024), 976562);
    assert_int_equal(ns(1024ull * 1000000000, 1024), 1000000000000000000);
    assert_int_equal(ns(300, 300), 1000000000);
}

static void never_near_the_top(void **state)
{
    uint64_t value = 5;

    (void)state;
    assert_int_equal(ns(922337203685, 100), 9223372036850000000);
    assert_false(ticks_to_ns(922337203686, 100, &value));
    assert_false(ticks_to_ns(INT64_MAX, 100, &value));
    assert_false(ticks_to_ns(UINT64_MAX, 1, &value));
    assert_false(ticks_to_ns(UINT64_MAX, 1024, &value));
    assert_int_equal(value, 5);
}

static void since_the_epoch(void **state)
{
    uint64_t value = 5;

    (void)state;
    assert_true(ticks_since_epoch(1700000000, 50000, 100, &value));
    assert_int_equal(value, 1700000500000000000);
    assert_true(ticks_since_epoch(0, 1, 100, &value));
    assert_int_equal(value, 10000000);
    /* What a kernel cannot mean is not shown, rather than shown wrapped. */
    value = 5;
    assert_false(ticks_since_epoch(9223372037, 0, 100, &value));
    assert_false(ticks_since_epoch(UINT64_MAX, 0, 100, &value));
    assert_false(ticks_since_epoch(1700000000, UINT64_MAX, 100, &value));
    assert_false(ticks_since_epoch(9223372036, 100, 100, &value));
    assert_int_equal(value, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_rates),
        cmocka_unit_test(rates_that_do_not_divide),
        cmocka_unit_test(never_near_the_top),
        cmocka_unit_test(since_the_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
