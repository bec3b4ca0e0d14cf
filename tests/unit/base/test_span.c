/* Spans: views that may be empty, and hold any byte. */
#include "check.h"

static void equality(void **state)
{
    (void)state;
    assert_true(span_equal(SPAN_LITERAL("a\0b"), SPAN_LITERAL("a\0b")));
    assert_false(span_equal(SPAN_LITERAL("a\0b"), SPAN_LITERAL("a\0c")));
    assert_false(span_equal(SPAN_LITERAL("a"), SPAN_LITERAL("ab")));
    assert_true(span_equal(span_of(NULL, 0), SPAN_LITERAL("")));
}

static void prefixes(void **state)
{
    (void)state;
    assert_true(span_starts_with(SPAN_LITERAL("abc"), SPAN_LITERAL("ab")));
    assert_true(span_starts_with(SPAN_LITERAL("abc"), SPAN_LITERAL("")));
    assert_true(span_starts_with(span_of(NULL, 0), span_of(NULL, 0)));
    assert_false(span_starts_with(SPAN_LITERAL("ab"), SPAN_LITERAL("abc")));
    assert_false(span_starts_with(SPAN_LITERAL("xbc"), SPAN_LITERAL("ab")));
}

static void trimming(void **state)
{
    (void)state;
    check_span(span_trim(SPAN_LITERAL(" \t a b\t ")), "a b");
    check_span(span_trim(SPAN_LITERAL(" \t ")), "");
    check_span(span_trim(SPAN_LITERAL("")), "");
    check_span(span_trim(SPAN_LITERAL("\n a\n")), "\n a\n");
    check_span(span_skip(SPAN_LITERAL("abc"), 2), "c");
    check_span(span_from_str("abc"), "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(trimming),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
