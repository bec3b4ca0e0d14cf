/* When a snapshot is stale: too old, and still so after the grace. */
#include "daemon/freshness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct freshness_limits limits = {.patience_ns = 100, .grace_ns = 20};

static void test_fresh(void **state)
{
    struct freshness f = {0};

    (void)state;
    assert_int_equal(freshness_judge(&f, &limits, 1000, 1000), 1100);
    assert_int_equal(freshness_judge(&f, &limits, 1000, 1099), 1100);
    assert_false(f.stale);
    assert_int_equal(freshness_judge(&f, &limits, 1050, 1100), 1150);
    assert_false(f.stale);
}

static void test_stale_after_the_grace(void **state)
{
    struct freshness f = {0};

    (void)state;
    assert_int_equal(freshness_judge(&f, &limits, 1000, 1100), 1120);
    assert_false(f.stale);
    assert_int_equal(freshness_judge(&f, &limits, 1000, 1119), 1120);
    assert_false(f.stale);
    assert_true(freshness_judge(&f, &limits, 1000, 1120) == UINT64_MAX);
    assert_true(f.stale);
    assert_true(freshness_judge(&f, &limits, 1000, 5000) == UINT64_MAX);
    assert_true(f.stale);
}

/* The grace begins with the first look, not with the time that it was due. */
static void test_stood_still(void **state)
{
    struct freshness f = {0};

    (void)state;
    assert_int_equal(freshness_judge(&f, &limits, 1000, 9000), 9020);
    assert_false(f.stale);
    assert_int_equal(freshness_judge(&f, &limits, 9010, 9012), 9110);
    assert_false(f.stale);
    /* And begins anew. */
    assert_int_equal(freshness_judge(&f, &limits, 9010, 9115), 9135);
    assert_false(f.stale);
}

static void test_fresh_again(void **state)
{
    struct freshness f = {0};

    (void)state;
    freshness_judge(&f, &limits, 1000, 1100);
    freshness_judge(&f, &limits, 1000, 1120);
    assert_true(f.stale);
    assert_int_equal(freshness_judge(&f, &limits, 1130, 1131), 1230);
    assert_false(f.stale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_stale_after_the_grace),
        cmocka_unit_test(test_stood_still),
        cmocka_unit_test(test_fresh_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
