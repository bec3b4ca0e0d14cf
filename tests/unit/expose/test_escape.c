/* What is escaped, and the labels built with it. */
#include "expose/escape.h"
#include "expose/page.h"
#include "expose/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_span(struct span s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.p, expected, s.n);
}

static void quoted(void **state)
{
    char dst[64];
    struct span all = SPAN_LITERAL("a\\b\"c\nd\xc3\xbc\t{}");

    (void)state;
    assert_span(span_of(dst, escape_quoted(dst, all)), "a\\\\b\\\"c\\nd\xc3\xbc\t{}");
    assert_span(span_of(dst, escape_quoted(dst, SPAN_LITERAL(""))), "");
    assert_span(span_of(dst, escape_quoted(dst, SPAN_LITERAL("\\n"))), "\\\\n");
}

static void help_keeps_quotes(void **state)
{
    char dst[64];

    (void)state;
    assert_span(span_of(dst, escape_help(dst, SPAN_LITERAL("a\\b\"c\nd"))), "a\\\\b\"c\\nd");
}

static void label_of_a_group(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, 4096);
    assert_span(snapshot_label(&arena, SPAN_LITERAL("a\"b")), "group=\"a\\\"b\"");
    assert_span(snapshot_label(&arena, SPAN_LITERAL("")), "group=\"\"");
    arena_deinit(&arena);
}

static void label_without_memory(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, 4);
    assert_int_equal(snapshot_label(&arena, SPAN_LITERAL("abc")).n, 0);
    assert_true(arena_failed(&arena));
    arena_deinit(&arena);
}

static void sets(void **state)
{
    struct label_set set = {.n = 0};

    (void)state;
    label_set_add(&set, "a", SPAN_LITERAL("x\"y"));
    label_set_add(&set, "b", SPAN_LITERAL(""));
    assert_span(label_set_span(&set), "a=\"x\\\"y\",b=\"\"");
}

static void set_leaves_out_what_does_not_fit(void **state)
{
    struct label_set set = {.n = 0};
    char value[sizeof(set.text)];

    (void)state;
    memset(value, '"', sizeof(value));
    label_set_add(&set, "a", span_of(value, (sizeof(set.text) - 5) / 2));
    assert_int_equal(set.n, 4 + (sizeof(set.text) - 5) / 2 * 2);
    label_set_add(&set, "b", span_of(value, 100));
    assert_int_equal(set.n, 4 + (sizeof(set.text) - 5) / 2 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quoted),
        cmocka_unit_test(help_keeps_quotes),
        cmocka_unit_test(label_of_a_group),
        cmocka_unit_test(label_without_memory),
        cmocka_unit_test(sets),
        cmocka_unit_test(set_leaves_out_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
