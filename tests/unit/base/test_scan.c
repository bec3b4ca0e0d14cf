/* Tokens: lines, words, and numbers at the edges of what fits. */
#include "base/scan.h"

#include "check.h"

static void lines(void **state)
{
    struct span rest = SPAN_LITERAL("a\n\nb\0c\nlast"), line;

    (void)state;
    assert_true(scan_line(&rest, &line));
    check_span(line, "a");
    assert_true(scan_line(&rest, &line));
    check_span(line, "");
    assert_true(scan_line(&rest, &line));
    check_span(line, "b\0c");
    assert_true(scan_line(&rest, &line));
    check_span(line, "last");
    assert_false(scan_line(&rest, &line));
    rest = SPAN_LITERAL("a\n");
    assert_true(scan_line(&rest, &line));
    assert_false(scan_line(&rest, &line));
    rest = span_of(NULL, 0);
    assert_false(scan_line(&rest, &line));
}

static void words(void **state)
{
    struct span rest = SPAN_LITERAL(" \ta  b\tc\nd ");

    (void)state;
    check_span(scan_word(&rest), "a");
    check_span(scan_word(&rest), "b");
    check_span(scan_word(&rest), "c\nd");
    check_span(scan_word(&rest), "");
    check_span(scan_word(&rest), "");
    rest = SPAN_LITERAL("keyword");
    assert_false(scan_literal(&rest, SPAN_LITERAL("keyx")));
    assert_true(scan_literal(&rest, SPAN_LITERAL("key")));
    check_span(rest, "word");
}

static void unsigned_edges(void **state)
{
    static const struct {
        const char *text;
        int r;
        uint64_t value;
        const char *rest;
    } rows[] = {
        {"0", 0, 0, ""},
        {" \t 7", 0, 7, ""},
        {"12x", 0, 12, "x"},
        {"00000000000000000000000000012", 0, 12, ""},
        {"9999999999999999999", 0, 9999999999999999999u, ""},
        {"18446744073709551615", 0, UINT64_MAX, ""},
        {"18446744073709551616", -ERANGE, 0, ""},
        {"18446744073709551620", -ERANGE, 0, ""},
        {"99999999999999999999", -ERANGE, 0, ""},
        {"184467440737095516150", -ERANGE, 0, ""},
        {"", -EINVAL, 0, ""},
        {"  ", -EINVAL, 0, ""},
        {"x1", -EINVAL, 0, ""},
        {"-1", -EINVAL, 0, ""},
        {"+1", -EINVAL, 0, ""},
        {"\n1", -EINVAL, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct span copy = check_copy(span_from_str(rows[i].text)), rest = copy;
        uint64_t value = 77;

        assert_int_equal(scan_u64(&rest, &value), rows[i].r);
        if (rows[i].r == 0) {
            assert_int_equal(value, rows[i].value);
            assert_int_equal(rest.n, strlen(rows[i].rest));
        } else {
            assert_int_equal(value, 77);
            assert_int_equal(rest.n, copy.n);
        }
        free((void *)copy.p);
    }
}

static int whole_i64(const char *text, int64_t *ret)
{
    struct span rest = span_from_str(text);

    return scan_i64(&rest, ret);
}

static void signed_edges(void **state)
{
    int64_t value = 77;

    (void)state;
    assert_int_equal(whole_i64("-9223372036854775809", &value), -ERANGE);
    assert_int_equal(whole_i64("9223372036854775808", &value), -ERANGE);
    assert_int_equal(whole_i64("- 1", &value), -EINVAL);
    assert_int_equal(whole_i64("--1", &value), -EINVAL);
    assert_int_equal(whole_i64("-", &value), -EINVAL);
    assert_int_equal(value, 77);
    assert_int_equal(whole_i64("-9223372036854775808", &value), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(whole_i64("9223372036854775807", &value), 0);
    assert_true(value == INT64_MAX);
    assert_int_equal(whole_i64(" -0", &value), 0);
    assert_int_equal(value, 0);
}

static void whole_numbers(void **state)
{
    uint64_t value = 77;

    (void)state;
    assert_int_equal(scan_whole_u64(SPAN_LITERAL(" 1"), &value), -EINVAL);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL("1 "), &value), -EINVAL);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL("1\n"), &value), -EINVAL);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL("1\0"), &value), -EINVAL);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL(""), &value), -EINVAL);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL("18446744073709551616"), &value), -ERANGE);
    assert_int_equal(value, 77);
    assert_int_equal(scan_whole_u64(SPAN_LITERAL("18446744073709551615"), &value), 0);
    assert_int_equal(value, UINT64_MAX);
}

/* Every number of digits, and every byte that may stand behind them or instead of one. */
static void eight_at_once(void **state)
{
    (void)state;
    for (unsigned digits = 0; digits <= 8; digits++)
        for (unsigned other = 0; other < 256; other++) {
            char text[8] = "90817263";
            uint64_t value = 7, expected = 0;

            if (other >= '0' && other <= '9')
                continue;
            for (unsigned i = digits; i < 8; i++)
                text[i] = i == digits ? (char)other : (char)(other + i);
            for (unsigned i = 0; i < digits; i++)
                expected = expected * 10 + (uint64_t)(text[i] - '0');
            if (scan_eight(text, &value) != digits || (digits > 0 && value != expected))
                fail_msg("%u digits, then %u: %lu", digits, other, value);
        }
}

/* Of a text of this length, with a newline there and others behind it, in memory of its own. */
static size_t newline_in(size_t length, size_t first)
{
    char *text = malloc(length + 1);
    size_t at;

    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = i >= first && (i - first) % 3 == 0 ? '\n' : (char)(i * 37 + 11);
    for (size_t i = 0; i < length && i < first; i++)
        if (text[i] == '\n')
            text[i] = '\v';
    at = scan_newline(span_of(text, length));
    free(text);
    return at;
}

static void newlines(void **state)
{
    (void)state;
    for (size_t length = 0; length <= 70; length++)
        for (size_t first = 0; first <= length; first++)
            if (newline_in(length, first) != first)
                fail_msg("newline %zu of %zu", first, length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),          cmocka_unit_test(words),
        cmocka_unit_test(unsigned_edges), cmocka_unit_test(signed_edges),
        cmocka_unit_test(whole_numbers),  cmocka_unit_test(eight_at_once),
        cmocka_unit_test(newlines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
