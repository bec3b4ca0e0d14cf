/* Groups and excluded processes: what they come to, and for each fault the exact error. */
#include "config_of_test.h"

static void test_groups(void **state)
{
    static const char *const globs[] = {"nginx*", "apache2", "[ab]?", "a\\ b", "\\;c", "\\\"d"};
    const struct config_rule *g;
    struct parsed p;

    (void)state;
    parse_good(&p, all_set);
    assert_int_equal(p.config.rules.n, 2);
    g = &p.config.rules.items[0];
    assert_string_equal(g->name, "web-$$${comm}");
    assert_int_equal(g->line, 19);
    assert_int_equal(g->patterns[RULE_COMM].n, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(g->patterns[RULE_COMM].items[i], globs[i]);
    assert_string_equal(p.config.rules.items[1].name, "a b");
    assert_string_equal(p.config.rules.items[1].patterns[RULE_COMM].items[0], "*");
    drop(&p);
}

static void test_rules(void **state)
{
    const struct config_rule *r;
    struct parsed p;

    (void)state;
    parse_good(&p, all_keys);
    assert_int_equal(p.config.rules.n, 5);
    r = p.config.rules.items;
    assert_true(r[0].exclude);
    assert_string_equal(r[0].name, "tests");
    assert_int_equal(r[0].patterns[RULE_CMDLINE].n, 2);
    assert_string_equal(r[0].patterns[RULE_CMDLINE].items[0], "--test (a|b)   c$");
    assert_string_equal(r[0].patterns[RULE_CMDLINE].items[1], "^\\;x \\# y\\\\z = 1");
    assert_false(r[1].exclude);
    assert_int_equal(r[1].children, 1);
    assert_string_equal(r[1].patterns[RULE_CONTAINER].items[1], "db*");
    assert_string_equal(r[1].patterns[RULE_POD].items[0], "a-*");
    assert_int_equal(r[1].kernel, RULE_KERNEL_NONE);
    assert_string_equal(r[2].name, "${odd");
    assert_int_equal(r[2].kernel, RULE_KERNEL_ANY);
    assert_int_equal(r[3].kernel, RULE_KERNEL_ONLY);
    assert_int_equal(r[4].children, 0);
    assert_int_equal(r[4].line, 20);
    check_prints(&p.config, "\n[exclude tests]\n"
                            "cmdline = --test (a|b)   c$\n"
                            "cmdline = ^\\;x \\# y\\\\z = 1\n"
                            "\n[group ${user}-${role}]\n"
                            "comm = a b\n"
                            "exe = app /opt/*\n"
                            "user = alice 1000\n"
                            "unit = getty@*.service\n"
                            "cgroup = /a/* /b\n"
                            "container = 0123456789ab db*\n"
                            "pod = a-*\n"
                            "cmdline = --role=(?<role>\\w+)\n"
                            "kernel = no\n"
                            "children = yes\n"
                            "\n[exclude ${odd]\n"
                            "exe = x\n"
                            "\n[exclude kernel-threads]\n"
                            "kernel = yes\n"
                            "\n[group tests]\n"
                            "unit = t*\n"
                            "children = no\n");
    drop(&p);
}

#define NEEDS                                                                                 \
    "names no processes: it needs comm, exe, user, unit, cgroup, container, pod, cmdline or " \
    "kernel"
#define TAKEN \
    "is taken: _other is the group of what exceeds max, _empty of processes without a name"
#define NO_VARIABLE                                                                          \
    "is no variable, nor a group of an expression of cmdline; variables are ${comm} ${exe} " \
    "${exe_path} ${user} ${unit} ${slice} ${container} ${pod} ${cgroup}"

static void test_bad_groups(void **state)
{
    static const struct row rows[] = {
        {"[group a]\n", "f.ini:1: [group a]: " NEEDS},
        {"[log]\n[group a]\n\n[web]\n", "f.ini:2: [group a]: " NEEDS},
        {"[exclude a]\n", "f.ini:1: [exclude a]: " NEEDS},
        {"[group a]\nchildren = yes\n", "f.ini:1: [group a]: " NEEDS},
        {"[group a]\n[group b]\ncomm = b\n", "f.ini:1: [group a]: " NEEDS},
        {"[group a]\ncomm =\n", "f.ini:2: [group a] comm: needs a value"},
        {"[group a]\ncomm = a\n[log]\n[group a]\ncomm = b\n",
         "f.ini:4: [group a]: is repeated, first in line 1"},
        {"[group a]\ncomm = a\n[group \t a ]\ncomm = b\n",
         "f.ini:3: [group \t a ]: is repeated, first in line 1"},
        {"[group _other]\ncomm = a\n", "f.ini:1: [group _other]: \"_other\" " TAKEN},
        {"[group _empty]\ncomm = a\n", "f.ini:1: [group _empty]: \"_empty\" " TAKEN},
        {"[group ${p d}]\n", "f.ini:1: [group ${p d}]: \"${p d}\" " NO_VARIABLE},
        {"[group ${0}]\n", "f.ini:1: [group ${0}]: \"${0}\" " NO_VARIABLE},
        {"[group ${pid}]\ncomm = a\n", "f.ini:1: [group ${pid}]: \"${pid}\" " NO_VARIABLE},
        {"[log]\n[group ${1}]\ncomm = a\n[web]\n", "f.ini:2: [group ${1}]: \"${1}\" " NO_VARIABLE},
        {"[group a-${2}]\ncmdline = (a)\ncmdline = (b)\n",
         "f.ini:1: [group a-${2}]: \"${2}\" " NO_VARIABLE},
        {"[group ${cmdline}]\ncmdline = a\n",
         "f.ini:1: [group ${cmdline}]: \"${cmdline}\" " NO_VARIABLE},
        {"[group a${comm]\n", "f.ini:1: [group a${comm]: \"${comm\" lacks its }"},
        {"[group a$b]\n", "f.ini:1: [group a$b]: \"$b\" is neither ${...} nor $$, a dollar"},
        {"[group a$]\n", "f.ini:1: [group a$]: \"$\" is neither ${...} nor $$, a dollar"},
        {"[group a]\ncomm = a [b\n",
         "f.ini:2: [group a] comm: \"[b\" is no glob: a [ is not closed, or a \\ is last"},
        {"[group a]\ncomm = a [z-a]\n",
         "f.ini:2: [group a] comm: \"[z-a]\" has a range in [ ] that runs backwards, so nothing is "
         "in it"},
        {"[group a]\ncomm = a\\ \n",
         "f.ini:2: [group a] comm: \"a\\\\\" is no glob: a [ is not closed, or a \\ is last"},
        {"[group a]\ncomm = x \"two words\"\n",
         "f.ini:2: [group a] comm: \"\\\"two\" begins with a quote, which means nothing here; put "
         "\\ before a blank, or before a quote that is meant"},
        {"[group a]\ncomm = '*'\n",
         "f.ini:2: [group a] comm: \"'*'\" begins with a quote, which means nothing here; put \\ "
         "before a blank, or before a quote that is meant"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_bad_exclusions(void **state)
{
    static const struct row rows[] = {
        {"[exclude]\n", "f.ini:1: [exclude]: lacks its name: [exclude NAME]"},
        {"[exclude \t]\n", "f.ini:1: [exclude \t]: lacks its name: [exclude NAME]"},
        {"[excluded a]\n", "f.ini:1: [excluded a]: unknown section"},
        {"[exclude a]\nchildren = yes\n", "f.ini:2: [exclude a] children: unknown key"},
        {"[exclude a]\ncomm = [\n",
         "f.ini:2: [exclude a] comm: \"[\" is no glob: a [ is not closed, or a \\ is last"},
        {"[exclude a]\ncomm = a\n[group a]\ncomm = b\n[exclude a]\ncomm = c\n",
         "f.ini:5: [exclude a]: is repeated, first in line 1"},
        {"[exclude a]\nexe = a\nexe = b\n",
         "f.ini:3: [exclude a] exe: is repeated, first in line 2"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

/* An expression may hold anything, but what the file itself may not. */
static void test_bad_expressions(void **state)
{
    static const struct row rows[] = {
        {"[group a]\ncmdline =\n", "f.ini:2: [group a] cmdline: needs a value"},
        {"[group a]\ncmdline = ^(unclosed\n",
         "f.ini:2: [group a] cmdline: \"^(unclosed\" is no regular expression: missing closing "
         "parenthesis, behind 10 bytes"},
        {"[group a]\ncmdline = a\ncmdline = x [z-a]\n",
         "f.ini:3: [group a] cmdline: \"x [z-a]\" is no regular expression: range out of order in "
         "character class, behind 5 bytes"},
        {"[exclude a]\ncmdline = *\n",
         "f.ini:2: [exclude a] cmdline: \"*\" is no regular expression: quantifier does not follow "
         "a repeatable item, behind 0 bytes"},
        {"[group a]\ncmdline = (?<user>x)\n",
         "f.ini:2: [group a] cmdline: \"(?<user>x)\" has a group named user, but ${user} is "
         "something else; take another name"},
        {"[group a]\ncmdline = a ;b\n",
         "f.ini:2: [group a] cmdline: \" ;\" begins no comment here; those have lines of their own "
         "(where one is meant, write \\;)"},
        {"[group a]\ncmdline = ((a{1,99}){1,99}){1,99}\n",
         "f.ini:2: [group a] cmdline: \"((a{1,99}){1,99}){1,99}\" is no regular expression: "
         "regular "
         "expression is too large, behind 23 bytes"},
        {"[group a]\nkernel = any\n", "f.ini:1: [group a]: " NEEDS},
        {"[exclude a]\nkernel = any\nchildren = yes\n",
         "f.ini:3: [exclude a] children: unknown key"},
        {"[group a]\nkernel = maybe\n",
         "f.ini:2: [group a] kernel: \"maybe\" is none of any|yes|no"},
        {"[group a]\nkernel = yes\nkernel = yes\n",
         "f.ini:3: [group a] kernel: is repeated, first in line 2"},
        {"[group a]\nchildren = maybe\n",
         "f.ini:2: [group a] children: \"maybe\" is none of no|yes"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_too_many_expressions(void **state)
{
    struct buf text;
    struct parsed p;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_append_str(&text, "[group a]\n");
    for (int i = 0; i < CONFIG_PATTERNS_MAX; i++)
        buf_printf(&text, "cmdline = x%d\n", i);
    parse_with(&p, buf_span(&text), NULL, 0);
    check_good(&p);
    assert_int_equal(p.config.rules.items[0].patterns[RULE_CMDLINE].n, CONFIG_PATTERNS_MAX);
    drop(&p);
    buf_append_str(&text, "cmdline = y\n");
    check_refused_span(buf_span(&text),
                       "f.ini:102: [group a] cmdline: \"y\" is one expression too many");
    buf_deinit(&text);
    if (have_long_lines())
        check_refused_span(SPAN_LITERAL("[group a]\ncmdline = " X100("()")),
                           "f.ini:2: [group a] cmdline: \"" X10(
                               "()()()()") "...\" is no regular "
                                           "expression: more than 99 groups, behind 200 bytes");
}

static void test_many_groups(void **state)
{
    struct buf text;
    struct parsed p;

    (void)state;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < CONFIG_RULES_MAX; i++)
        buf_printf(&text, "[group g%d]\ncomm = c%d\n", i, i);
    parse_with(&p, buf_span(&text), NULL, 0);
    check_good(&p);
    assert_int_equal(p.config.rules.n, CONFIG_RULES_MAX);
    assert_string_equal(p.config.rules.items[999].name, "g999");
    assert_string_equal(p.config.rules.items[999].patterns[RULE_COMM].items[0], "c999");
    drop(&p);
    buf_append_str(&text, "[group more]\n");
    check_refused_span(
        buf_span(&text),
        "f.ini:2001: [group more]: is one section too many of groups and excluded processes");
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),          cmocka_unit_test(test_rules),
        cmocka_unit_test(test_bad_groups),      cmocka_unit_test(test_bad_exclusions),
        cmocka_unit_test(test_bad_expressions), cmocka_unit_test(test_too_many_expressions),
        cmocka_unit_test(test_many_groups),
    };
    int failed = cmocka_run_group_tests_name("config, rules", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed +
           cmocka_run_group_tests_name("config, rules, plain inih", tests, use_plain_inih, NULL);
}
