/* Durations and sizes: what is taken, what is refused and why. */
#include "daemon/quantity.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

typedef int parse_fn(struct span text, uint64_t *ret, const char **ret_reason);
typedef void format_fn(uint64_t value, char dst[static QUANTITY_TEXT_MAX]);

static void check_value(parse_fn *parse, const char *text, uint64_t value)
{
    const char *reason = NULL;
    uint64_t got = 1;
    int r = parse(span_from_str(text), &got, &reason);

    if (r < 0)
        fail_msg("%s: %s", text, reason);
    assert_int_equal(got, value);
}

static void check_refused(parse_fn *parse, const char *text, const char *reason)
{
    const char *got = NULL;
    uint64_t value = 42;

    assert_int_equal(parse(span_from_str(text), &value, &got), -EINVAL);
    assert_string_equal(got, reason);
    assert_int_equal(value, 42);
}

static void check_format(format_fn *format, uint64_t value, const char *text)
{
    char got[QUANTITY_TEXT_MAX];

    format(value, got);
    assert_string_equal(got, text);
}

static void test_durations(void **state)
{
    (void)state;
    check_value(quantity_parse_duration, "500ms", SECOND / 2);
    check_value(quantity_parse_duration, "0s", 0);
    check_value(quantity_parse_duration, "10s", 10 * SECOND);
    check_value(quantity_parse_duration, "010s", 10 * SECOND);
    check_value(quantity_parse_duration, "5m", 300 * SECOND);
    check_value(quantity_parse_duration, "1h", 3600 * SECOND);
    check_value(quantity_parse_duration, "1d", 86400 * SECOND);
    check_value(quantity_parse_duration, "213503d", 213503 * UINT64_C(86400) * SECOND);
    check_value(quantity_parse_duration, "18446744073709ms", 18446744073709 * UINT64_C(1000000));
}

static void test_no_durations(void **state)
{
    static const char unit[] = "is no whole number with one unit: ms, s, m, h or d";
    static const char number[] = "is no duration, such as 10s";

    (void)state;
    check_refused(quantity_parse_duration, "10", "lacks a unit: ms, s, m, h or d");
    check_refused(quantity_parse_duration, "0", "lacks a unit: ms, s, m, h or d");
    check_refused(quantity_parse_duration, "1.5s", "has decimals; take a smaller unit");
    check_refused(quantity_parse_duration, "0.0000001", "has decimals; take a smaller unit");
    check_refused(quantity_parse_duration, "1h30m", unit);
    check_refused(quantity_parse_duration, "10 s", unit);
    check_refused(quantity_parse_duration, "10S", unit);
    check_refused(quantity_parse_duration, "10us", unit);
    check_refused(quantity_parse_duration, "5parsecs", unit);
    check_refused(quantity_parse_duration, "1e308", unit);
    check_refused(quantity_parse_duration, "10s ", unit);
    check_refused(quantity_parse_duration, "", number);
    check_refused(quantity_parse_duration, "s", number);
    check_refused(quantity_parse_duration, "-1s", number);
    check_refused(quantity_parse_duration, "+1s", number);
    check_refused(quantity_parse_duration, " 1s", number);
    check_refused(quantity_parse_duration, "nan", number);
    check_refused(quantity_parse_duration, "213504d", "is too large");
    check_refused(quantity_parse_duration, "18446744073710ms", "is too large");
    check_refused(quantity_parse_duration, "99999999999999999999s", "is too large");
}

static void test_sizes(void **state)
{
    static const char unit[] = "is no whole number with one unit: K, M or G";

    (void)state;
    check_value(quantity_parse_size, "0", 0);
    check_value(quantity_parse_size, "4096", 4096);
    check_value(quantity_parse_size, "64K", 65536);
    check_value(quantity_parse_size, "3M", 3 << 20);
    check_value(quantity_parse_size, "4G", UINT64_C(4) << 30);
    check_value(quantity_parse_size, "18446744073709551615", UINT64_MAX);
    check_refused(quantity_parse_size, "18446744073709551616", "is too large");
    check_refused(quantity_parse_size, "17179869184G", "is too large");
    check_refused(quantity_parse_size, "4k", unit);
    check_refused(quantity_parse_size, "4KiB", unit);
    check_refused(quantity_parse_size, "4T", unit);
    check_refused(quantity_parse_size, "1.5G", "has decimals; take a smaller unit");
    check_refused(quantity_parse_size, "", "is no size, such as 512M");
    check_refused(quantity_parse_size, "-1", "is no size, such as 512M");
}

static void test_format(void **state)
{
    (void)state;
    check_format(quantity_format_duration, 0, "0ms");
    check_format(quantity_format_duration, SECOND / 2, "500ms");
    check_format(quantity_format_duration, 10 * SECOND, "10s");
    check_format(quantity_format_duration, 90 * SECOND, "90s");
    check_format(quantity_format_duration, 3600 * SECOND, "1h");
    check_format(quantity_format_duration, 48 * 3600 * SECOND, "2d");
    check_format(quantity_format_size, 0, "0");
    check_format(quantity_format_size, 1000, "1000");
    check_format(quantity_format_size, 1536, "1536");
    check_format(quantity_format_size, 2048, "2K");
    check_format(quantity_format_size, UINT64_C(4) << 30, "4G");
    check_format(quantity_format_size, UINT64_MAX, "18446744073709551615");
}

static void test_round_trip(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t value = ((uint64_t)(unsigned)rand_r(&seed) << 31 | (unsigned)rand_r(&seed)) >>
                         (rand_r(&seed) % 62);
        char text[QUANTITY_TEXT_MAX];

        quantity_format_size(value, text);
        check_value(quantity_parse_size, text, value);
        value -= value % 1000000;
        quantity_format_duration(value, text);
        check_value(quantity_parse_duration, text, value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),  cmocka_unit_test(test_no_durations),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
