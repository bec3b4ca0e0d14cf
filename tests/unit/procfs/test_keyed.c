/* `Key: number` lines: which are taken, and which only look like it. */
#include "procfs/keyed.h"

#include "check.h"

enum { A, B, C, N };

static const struct keyed_row rows[N] = {
    [A] = KEYED_ROW("Alpha:", 0, 1),
    [B] = KEYED_ROW("Beta:", 0, 1024),
    [C] = KEYED_ROW("Gamma:", 1, 1),
};

static uint64_t values[N];

static struct keyed parse(const char *text)
{
    struct span copy = check_copy(span_from_str(text));
    struct keyed found;

    memset(values, 0xee, sizeof(values));
    found = keyed_parse(copy, rows, N, values);
    free((void *)copy.p);
    return found;
}

static void all_rows(void **state)
{
    struct keyed found = parse("Alpha:\t1\nBeta:\t   2 kB\nGamma:\t3\t4\t5\n");

    (void)state;
    assert_int_equal(found.have, 7);
    assert_false(found.malformed);
    assert_int_equal(values[A], 1);
    assert_int_equal(values[B], 2048);
    assert_int_equal(values[C], 4);
}

static void any_order_and_strangers(void **state)
{
    struct keyed found = parse("x\n\nGamma: 8 9\nAlphabet: 7\nAlpha 6\n Alpha: 5\n:\nAl\nAlpha:4");

    (void)state;
    assert_int_equal(found.have, 1 << A | 1 << C);
    assert_false(found.malformed);
    assert_int_equal(values[A], 4);
    assert_int_equal(values[C], 9);
    assert_int_equal(values[B], 0xeeeeeeeeeeeeeeee);
}

static void first_wins(void **state)
{
    (void)state;
    assert_int_equal(parse("Alpha: 1\nAlpha: 2\nBeta: 1\nAlpha: 3\n").have, 3);
    assert_int_equal(values[A], 1);
    /* Also if the first is bad: which one is meant cannot be known. */
    assert_int_equal(parse("Alpha: x\nAlpha: 2\n").have, 0);
}

static void bad_numbers(void **state)
{
    static const char *const bad[] = {
        "Alpha:",
        "Alpha: ",
        "Alpha: abc",
        "Alpha: 12x",
        "Alpha: -1",
        "Alpha: +1",
        "Alpha: 0x1",
        "Alpha: 1,0",
        "Alpha: 9223372036854775808",
        "Gamma: 1",
        "Gamma: 1 x2",
        "Alpha: 18446744073709551615",
        "Alpha: 99999999999999999999999",
        "Beta: 9007199254740992 kB",
        "Beta: 18014398509481985 kB",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct keyed found = parse(bad[i]);

        assert_int_equal(found.have, 0);
        assert_true(found.malformed);
    }
    assert_int_equal(parse("Alpha: 9223372036854775807").have, 1);
    assert_int_equal(values[A], INT64_MAX);
}

static void one_bad_row_costs_itself(void **state)
{
    struct keyed found = parse("Alpha: x\nBeta: 1 kB\n");

    (void)state;
    assert_int_equal(found.have, 1 << B);
    assert_true(found.malformed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows),
        cmocka_unit_test(any_order_and_strangers),
        cmocka_unit_test(first_wins),
        cmocka_unit_test(bad_numbers),
        cmocka_unit_test(one_bad_row_costs_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
