/* Shell patterns, and the one that would take for ever elsewhere. */
#include "base/glob.h"

#include "chance.h"
#include "check.h"

static bool match(const char *pattern, const char *subject)
{
    struct span p = check_copy(span_from_str(pattern)), s = check_copy(span_from_str(subject));
    bool matched = glob_match(p, s);

    free((void *)p.p);
    free((void *)s.p);
    return matched;
}

static void table(void **state)
{
    static const struct {
        const char *pattern;
        const char *subject;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "a/b.c", true},
        {"**", "x", true},
        {"?", "", false},
        {"?", "x", true},
        {"?", "xy", false},
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abc", "ab", false},
        {"a*c", "ac", true},
        {"a*c", "abbc", true},
        {"a*c", "abcb", false},
        {"a*b*c", "aXbYc", true},
        {"a*b*c", "acb", false},
        {"*.service", "x.service", true},
        {"*a*a*", "ba", false},
        {"*ab", "aab", true},
        {"*aab", "aaab", true},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[!abc]", "d", true},
        {"[^abc]", "b", false},
        {"[a-c]x", "bx", true},
        {"[a-c]", "-", false},
        {"[a-]", "-", true},
        {"[]a]", "]", true},
        {"[!]a]", "]", false},
        {"[]-a]", "^", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"[]", "[]", true},
        {"a[", "a[", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"\\?x", "?x", true},
        {"\\", "\\", true},
        {"\\\\", "\\", true},
        {"a\\bc", "abc", true},
        {"/usr/*/x", "/usr/a/b/x", true},
        {"*", ".hidden", true},
        {"[\xc0-\xff]", "\xe9", true},
        {"[a-z]", "\xe9", false},
        {"postgres*", "postgres: writer", true},
        {"*x", "xxxxy", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (match(rows[i].pattern, rows[i].subject) != rows[i].matches)
            fail_msg("%s on %s", rows[i].pattern, rows[i].subject);
}

static void well_formed(void **state)
{
    static const struct {
        const char *pattern;
        int outcome;
    } rows[] = {
        {"", 0},
        {"a*b?", 0},
        {"[a-z]", 0},
        {"[", GLOB_E_UNFINISHED},
        {"[a", GLOB_E_UNFINISHED},
        {"[]", GLOB_E_UNFINISHED},
        {"[]]", 0},
        {"[!]", GLOB_E_UNFINISHED},
        {"[!]]", 0},
        {"\\", GLOB_E_UNFINISHED},
        {"a\\", GLOB_E_UNFINISHED},
        {"\\\\", 0},
        {"\\[", 0},
        {"x[a]y[", GLOB_E_UNFINISHED},
        {"[z-a]", GLOB_E_REVERSED},
        {"x[!z-a]*", GLOB_E_REVERSED},
        {"[a-cz-y]", GLOB_E_REVERSED},
        {"[b-a", GLOB_E_UNFINISHED},
        {"[a-a]", 0},
        {"[z-]", 0},
        {"[!z-]", 0},
        {"[-a]", 0},
        {"[]-a]", 0},
        {"[a-]-]", 0},
        {"\\[z-a]", 0},
        {"[b-a][", GLOB_E_REVERSED},
        {"[\xff-\xc0]", GLOB_E_REVERSED},
        {"[\xc0-\xff]", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (glob_check(span_from_str(rows[i].pattern)) != rows[i].outcome)
            fail_msg("%s", rows[i].pattern);
}

/* By trying everything: right, and only fit for short ones. */
static bool slow_match(struct span p, struct span s)
{
    if (p.n == 0)
        return s.n == 0;
    if (*p.p == '*')
        return slow_match(span_skip(p, 1), s) || (s.n > 0 && slow_match(p, span_skip(s, 1)));
    if (s.n == 0)
        return false;
    return (*p.p == '?' || *p.p == *s.p) && slow_match(span_skip(p, 1), span_skip(s, 1));
}

static void random_against_trying_all(void **state)
{
    struct chance chance = chance_of_test();

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char pattern[9], subject[13];
        struct span p = span_of(pattern, chance_below(&chance, sizeof(pattern)));
        struct span s = span_of(subject, chance_below(&chance, sizeof(subject)));

        for (size_t k = 0; k < p.n; k++)
            pattern[k] = "ab*?"[chance_below(&chance, 4)];
        for (size_t k = 0; k < s.n; k++)
            subject[k] = "ab"[chance_below(&chance, 2)];
        if (glob_match(p, s) != slow_match(p, s))
            fail_msg("%.*s on %.*s", (int)p.n, p.p, (int)s.n, s.p);
    }
}

static void never_explodes(void **state)
{
    char pattern[512], subject[4096];
    double began;

    (void)state;
    for (size_t i = 0; i < sizeof(pattern) - 1; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[sizeof(pattern) - 1] = 'b';
    memset(subject, 'a', sizeof(subject));
    began = chance_seconds();
    for (int i = 0; i < 10; i++)
        assert_false(
            glob_match(span_of(pattern, sizeof(pattern)), span_of(subject, sizeof(subject))));
    assert_true(chance_seconds() - began < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(well_formed),
        cmocka_unit_test(random_against_trying_all),
        cmocka_unit_test(never_explodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
