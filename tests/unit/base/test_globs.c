/* Lists of globs, of which any may match. */
#include "base/globs.h"

#include "check.h"

static void an_empty_list_matches_nothing(void **state)
{
    struct globs g = {0}, copied = {0};

    (void)state;
    assert_false(globs_match(&g, SPAN_LITERAL("")));
    assert_false(globs_match(&g, SPAN_LITERAL("a")));
    assert_int_equal(globs_copy(&copied, NULL, 0), 0);
    assert_false(globs_match(&copied, SPAN_LITERAL("a")));
    globs_deinit(&copied);
    globs_deinit(&g);
}

static void any_may_match(void **state)
{
    struct span patterns[] = {SPAN_LITERAL("web"), SPAN_LITERAL("db-*"), SPAN_LITERAL("")};
    struct globs g;

    (void)state;
    assert_int_equal(globs_copy(&g, patterns, 3), 0);
    assert_true(globs_match(&g, SPAN_LITERAL("web")));
    assert_true(globs_match(&g, SPAN_LITERAL("db-1")));
    assert_true(globs_match(&g, SPAN_LITERAL("")));
    assert_false(globs_match(&g, SPAN_LITERAL("webb")));
    assert_false(globs_match(&g, SPAN_LITERAL("db")));
    globs_deinit(&g);
    assert_int_equal(g.n, 0);
    assert_false(globs_match(&g, SPAN_LITERAL("web")));
}

/* The list outlives what it was made of. */
static void bytes_are_its_own(void **state)
{
    char text[] = "web";
    struct span pattern = span_from_str(text);
    struct globs g;

    (void)state;
    assert_int_equal(globs_copy(&g, &pattern, 1), 0);
    memset(text, 'x', 3);
    assert_true(globs_match(&g, SPAN_LITERAL("web")));
    globs_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_matches_nothing),
        cmocka_unit_test(any_may_match),
        cmocka_unit_test(bytes_are_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
