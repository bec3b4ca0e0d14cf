/* Values as text: edges, exactness, and doubles against printf's own search. */
#include "expose/number.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The text in a heap block of just NUMBER_MAX, so that a sanitizer sees any byte too many. */
#define WRITTEN(function, value)                       \
    ({                                                 \
        static char written[NUMBER_MAX + 1];           \
        char *at = malloc(NUMBER_MAX);                 \
        size_t n = (size_t)(function(at, value) - at); \
        memcpy(written, at, n);                        \
        written[n] = '\0';                             \
        free(at);                                      \
        written;                                       \
    })

static void integers(void **state)
{
    (void)state;
    assert_string_equal(WRITTEN(number_u64, 0), "0");
    assert_string_equal(WRITTEN(number_u64, 7), "7");
    assert_string_equal(WRITTEN(number_u64, UINT64_C(1) << 53), "9007199254740992");
    assert_string_equal(WRITTEN(number_u64, UINT64_MAX), "18446744073709551615");
}

static void integers_around_every_length(void **state)
{
    uint64_t power = 1;
    char expected[32];

    (void)state;
    for (int digits = 1; digits <= 20; digits++, power *= 10) {
        for (uint64_t value = power - 1; value != power + 2; value++) {
            snprintf(expected, sizeof(expected), "%" PRIu64, value);
            assert_string_equal(WRITTEN(number_u64, value), expected);
        }
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        snprintf(expected, sizeof(expected), "%" PRIu64, UINT64_C(1) << bit);
        assert_string_equal(WRITTEN(number_u64, UINT64_C(1) << bit), expected);
    }
}

static void seconds(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "0.000000001"},
        {10, "0.00000001"},
        {999999999, "0.999999999"},
        {1000000000, "1"},
        {1000000001, "1.000000001"},
        {1500000000, "1.5"},
        {10010000000, "10.01"},
        {100000000000, "100"},
        {UINT64_C(1700000500) * 1000000000, "1700000500"},
        {1700001000123456789, "1700001000.123456789"},
        {UINT64_MAX, "18446744073.709551615"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(WRITTEN(number_seconds, rows[i].ns), rows[i].text);
}

static void doubles(void **state)
{
    const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {10, "10"},
        {0.5, "0.5"},
        {0.1, "0.1"},
        {1.0 / 1024, "0.0009765625"},
        {1.0 / 8192, "0.0001220703125"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {0.1 + 0.2, "0.30000000000000004"},
        {0.0001, "0.0001"},
        {123456.789, "123456.789"},
        {9007199254740992.0, "9007199254740992"},
        {1 - DBL_EPSILON / 2, "0.9999999999999999"},
        {1 + DBL_EPSILON, "1.0000000000000002"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {DBL_TRUE_MIN, "4.94065645841247e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {10.0 / 1073741816, NULL},
        {nextafter(0.0001, 0), NULL},
        {nextafter(0.001, 0), NULL},
        {nextafter(0.01, 0), NULL},
        {nextafter(1e15, 0), NULL},
        {1e15, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *text = WRITTEN(number_double, rows[i].value);

        if (rows[i].text)
            assert_string_equal(text, rows[i].text);
        assert_true(strtod(text, NULL) == rows[i].value);
    }
}

static void assert_as_printf(double value)
{
    char expected[64];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(expected, sizeof(expected), "%.*g", digits, value);
        if (strtod(expected, NULL) == value)
            break;
    }
    assert_string_equal(WRITTEN(number_double, value), expected);
}

/* Values whose text in %g has no exponent whatever the precision. */
static double random_double(unsigned kind)
{
    uint64_t bits = random_u64();
    double value;

    if (kind == 0)
        return (double)(bits % 100000) / (double)(bits >> 32 | 1);
    if (kind == 1)
        return (double)(bits >> 11) / 9007199254740992.0;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | (1010 + random_u64() % 62) << 52;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void doubles_as_printf_finds_them(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        double value = random_double(i % 3);

        if (value >= 0.0001 && value < 1e15)
            assert_as_printf(value);
    }
    for (unsigned limit = 1; limit < 1500; limit++)
        for (unsigned used = 1; used <= limit; used += 1 + limit / 40)
            assert_as_printf((double)used / limit);
}

static void point_of_the_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    assert_string_equal(WRITTEN(number_double, 0.5), "0.5");
    assert_string_equal(WRITTEN(number_double, DBL_MIN), "2.2250738585072014e-308");
    assert_string_equal(WRITTEN(number_double, 1e300), "1e+300");
    assert_string_equal(WRITTEN(number_seconds, 1500000000), "1.5");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_around_every_length),
        cmocka_unit_test(seconds),
        cmocka_unit_test(doubles),
        cmocka_unit_test(doubles_as_printf_finds_them),
        cmocka_unit_test(point_of_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
