/* limits: one row of the table, whatever the others do. */
#include "procfs/pid_limits.h"

#include "check.h"
#include "model/sample.h"

#include <errno.h>

static int parse(const char *text, uint64_t *ret)
{
    return pid_limits_parse(span_from_str(text), ret);
}

static uint64_t limit(const char *row)
{
    uint64_t value = 0;

    assert_int_equal(parse(row, &value), 0);
    return value;
}

static void among_other_rows(void **state)
{
    (void)state;
    assert_int_equal(
        limit("Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max cpu time              unlimited            unlimited            seconds   \n"
              "Max processes             96365                96365                processes \n"
              "Max open files            1024                 524288               files     \n"
              "Max locked memory         18446744073708503040 18446744073708503040 bytes     \n"),
        1024);
    assert_int_equal(
        limit("Max locked memory18446744073708503040x18446744073708503040bytes\n"
              "Max open files            9007199254740993     9007199254740993     files"),
        9007199254740993);
}

static void without_limit(void **state)
{
    (void)state;
    assert_int_equal(
        limit("Max open files            unlimited            unlimited            files\n"),
        SAMPLE_UNLIMITED);
    assert_int_equal(
        limit("Max open files            -1                   -1                   files\n"),
        SAMPLE_UNLIMITED);
    assert_int_equal(
        limit("Max open files            18446744073708503040 18446744073708503040 files\n"),
        SAMPLE_UNLIMITED);
    assert_int_equal(limit("Max open files            9223372036854775807  1\n"), INT64_MAX);
    assert_int_equal(limit("Max open files            9223372036854775808  1\n"), SAMPLE_UNLIMITED);
}

static void no_limit_known(void **state)
{
    uint64_t value = 5;

    (void)state;
    assert_int_equal(
        parse("Max open files            0                    0                    files\n",
              &value),
        PID_LIMITS_NONE);
    assert_int_equal(parse("Max processes             1                    1\n", &value),
                     PID_LIMITS_NONE);
    assert_int_equal(parse("", &value), PID_LIMITS_NONE);
    assert_int_equal(parse("Max open files            many                 many\n", &value),
                     -EBADMSG);
    assert_int_equal(parse("Max open files            -2                   -2\n", &value),
                     -EBADMSG);
    assert_int_equal(parse("Max open files\n", &value), -EBADMSG);
    assert_int_equal(parse("Max open files            18446744073709551616 1\n", &value), -EBADMSG);
    assert_int_equal(value, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(among_other_rows),
        cmocka_unit_test(without_limit),
        cmocka_unit_test(no_limit_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
