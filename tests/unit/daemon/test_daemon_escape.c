/* Bytes that must not reach a terminal as they are. */
#include "daemon/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_escaped(struct span raw, const char *expected)
{
    struct buf b;

    buf_init(&b, 1 << 16);
    escape_append(&b, raw);
    buf_append_char(&b, '\0');
    assert_string_equal(b.data, expected);
    buf_deinit(&b);
}

static void check_quoted(struct span raw, size_t max, const char *expected)
{
    struct buf b;

    buf_init(&b, 1 << 16);
    escape_append_quoted(&b, raw, max);
    buf_append_char(&b, '\0');
    assert_string_equal(b.data, expected);
    buf_deinit(&b);
}

static void test_escape(void **state)
{
    (void)state;
    check_escaped(SPAN_LITERAL(""), "");
    check_escaped(SPAN_LITERAL("plain text / \xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7"),
                  "plain text / \xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7");
    check_escaped(SPAN_LITERAL("a\"b\\c\b\f\n\r\t"), "a\\\"b\\\\c\\b\\f\\n\\r\\t");
    check_escaped(SPAN_LITERAL("\0\x1b[31m\x7f"), "\\u0000\\u001b[31m\\u007f");
    /* C1, in UTF-8 and as the raw byte */
    check_escaped(SPAN_LITERAL("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"),
                  "\\u0080\\u009b\\u009f\xc2\xa0");
    check_escaped(SPAN_LITERAL("\x9b"), "\\ufffd");
    /* cut, overlong, surrogate */
    check_escaped(SPAN_LITERAL("\xe2\x82"), "\\ufffd\\ufffd");
    check_escaped(SPAN_LITERAL("\xc0\xaf"), "\\ufffd\\ufffd");
    check_escaped(SPAN_LITERAL("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");
}

static void test_quoted(void **state)
{
    (void)state;
    check_quoted(SPAN_LITERAL(""), 4, "\"\"");
    check_quoted(SPAN_LITERAL("abcd"), 4, "\"abcd\"");
    check_quoted(SPAN_LITERAL("abcde"), 4, "\"abcd...\"");
    /* a character is shown whole or not at all */
    check_quoted(SPAN_LITERAL("abc\xe2\x82\xac"
                              "d"),
                 4, "\"abc\xe2\x82\xac...\"");
    check_quoted(SPAN_LITERAL("\"\n"), 4, "\"\\\"\\n\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_quoted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
