/*
 * Regular expressions: what they find, what a search may cost, and that it costs no memory. What
 * holds of a search holds of both of PCRE2's engines; `(*NO_JIT)` in front asks for the
 * interpreter.
 */
#include "group/regex.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NO_JIT "(*NO_JIT)"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_HEAP_CALLS false
static unsigned heap_calls, failing_call;
#else
#define COUNTS_HEAP_CALLS true
/* failing_call: the one that fails, counted from 1; 0: none. */
static unsigned heap_calls, failing_call;

void *__libc_malloc(size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_calloc(size_t n, size_t size);

/* Those of the library are counted as well. */
void *malloc(size_t n)
{
    return ++heap_calls == failing_call ? NULL : __libc_malloc(n);
}

void *realloc(void *p, size_t n)
{
    return ++heap_calls == failing_call ? NULL : __libc_realloc(p, n);
}

void *calloc(size_t n, size_t size)
{
    return ++heap_calls == failing_call ? NULL : __libc_calloc(n, size);
}
#endif

static struct regex *compile(const char *text)
{
    struct regex_fault fault;
    struct regex *re;

    if (regex_new(span_from_str(text), &re, &fault) != 0)
        fail_msg("%s: %s at %zu", text, fault.reason, fault.at);
    return re;
}

/* ---- what is found ---- */

/* One expression, one search, and the group that is asked for; NULL: it has no value. */
struct row {
    const char *text, *subject;
    enum regex_result result;
    const char *group, *value;
};

static void check_row(const struct row *row, const char *text, struct regex_matcher *m)
{
    struct span subject = span_from_str(row->subject), value = {0};
    struct regex *re = compile(text);
    bool set;

    if (regex_match(re, m, subject) != row->result)
        fail_msg("%s: %s", text, row->subject);
    if (row->group) {
        set = regex_group(re, m, subject, span_from_str(row->group), &value);
        if (set != (row->value != NULL) || (set && !span_equal(value, span_from_str(row->value))))
            fail_msg("%s: %s: %s is %.*s", text, row->subject, row->group, (int)value.n, value.p);
    }
    regex_free(re);
}

static void check_rows(const struct row *rows, size_t n)
{
    struct regex_matcher *m;
    char text[256];

    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < n; i++) {
        check_row(&rows[i], rows[i].text, m);
        snprintf(text, sizeof(text), NO_JIT "%s", rows[i].text);
        check_row(&rows[i], text, m);
    }
    regex_matcher_free(m);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(*(rows)))

static void test_search(void **state)
{
    static const struct row rows[] = {
        {"worker", "nginx: worker process", REGEX_YES, NULL, NULL},
        {"^worker", "nginx: worker process", REGEX_NO, NULL, NULL},
        {"process$", "nginx: worker process", REGEX_YES, NULL, NULL},
        {"^$", "", REGEX_YES, NULL, NULL},
        {"", "x", REGEX_YES, NULL, NULL},
        {"Worker", "nginx: worker process", REGEX_NO, NULL, NULL},
        {"(?i)WORKER", "nginx: worker process", REGEX_YES, NULL, NULL},
        {"a.b", "a\nb", REGEX_NO, NULL, NULL},
        {"^\\S*java -jar (\\S+)", "/s\xc3\xb6ren/java -jar \xc3\xa4.jar", REGEX_YES, "1",
         "\xc3\xa4.jar"},
        {"^\\D+1\\W+2$",
         "\xc3\xa4"
         "1\xe2\x82\xac 2",
         REGEX_YES, NULL, NULL},
        {"(?s)a.b", "a\nb", REGEX_YES, NULL, NULL},
        {"(?<!no)thing", "nothing", REGEX_NO, NULL, NULL},
        {"^gr.n$", "gr\xc3\xbcn", REGEX_YES, NULL, NULL},
        {"(?i)^GR\xc3\x9cN$", "gr\xc3\xbcn", REGEX_YES, NULL, NULL},
        {"[\xc3\xa4\xc3\xb6\xc3\xbc]", "gr\xc3\xbcn", REGEX_YES, NULL, NULL},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_groups(void **state)
{
    static const struct row rows[] = {
        {"--(\\w+)=(\\w+)", "x --role=db", REGEX_YES, "1", "role"},
        {"--(\\w+)=(\\w+)", "x --role=db", REGEX_YES, "2", "db"},
        {"--(\\w+)=(\\w+)", "x --role=db", REGEX_YES, "3", NULL},
        {"--(\\w+)=(\\w+)", "x --role=db", REGEX_YES, "0", NULL},
        {"--(\\w+)=(\\w+)", "x --role=db", REGEX_YES, "role", NULL},
        {"--(?<key>\\w+)=(?P<value>\\w+)", "x --role=db", REGEX_YES, "value", "db"},
        {"--(?'key'\\w+)", "x --role=db", REGEX_YES, "key", "role"},
        {"--(?<key>\\w+)=", "x --role=db", REGEX_YES, "1", "role"},
        {"(a)|(b)", "b", REGEX_YES, "1", NULL},
        {"(a)|(b)", "b", REGEX_YES, "2", "b"},
        {"x(-\\d+)?", "x", REGEX_YES, "1", NULL},
        {"x(-\\d+|)", "x", REGEX_YES, "1", ""},
        {"(?J)a(?<n>1)|b(?<n>2)", "b2", REGEX_YES, "n", "2"},
        {"(?J)a(?<n>1)|b(?<n>2)", "a1", REGEX_YES, "n", "1"},
        {"(?|a(1)|b(2))", "b2", REGEX_YES, "1", "2"},
        {"a\\Kb", "ab", REGEX_YES, "1", NULL},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_has_group(void **state)
{
    struct regex *re = compile("(?<one>a)(b)(?:c)");

    (void)state;
    assert_true(regex_has_group(re, SPAN_LITERAL("one")));
    assert_true(regex_has_group(re, SPAN_LITERAL("1")));
    assert_true(regex_has_group(re, SPAN_LITERAL("2")));
    assert_false(regex_has_group(re, SPAN_LITERAL("3")));
    assert_false(regex_has_group(re, SPAN_LITERAL("0")));
    assert_false(regex_has_group(re, SPAN_LITERAL("100")));
    assert_false(regex_has_group(re, SPAN_LITERAL("on")));
    assert_false(regex_has_group(re, SPAN_LITERAL("ones")));
    assert_false(regex_has_group(re, SPAN_LITERAL("")));
    regex_free(re);
}

static void test_group_names(void **state)
{
    struct regex *re = compile("(?<b>a)(?<a>b)");
    struct span name;

    (void)state;
    assert_true(regex_group_name(re, 0, &name));
    check_span(name, "a");
    assert_true(regex_group_name(re, 1, &name));
    check_span(name, "b");
    assert_false(regex_group_name(re, 2, &name));
    regex_free(re);
}

/* What is no UTF-8 matches nothing, and hides nothing else. */
static void test_invalid_utf8(void **state)
{
    static const struct row rows[] = {
        {"app", "\xff\xfe\x80 app", REGEX_YES, NULL, NULL},
        {"(\\w+)$", "/opt/app \xff\xfe\x80 tail", REGEX_YES, "1", "tail"},
        {"a.b",
         "a\xff"
         "b",
         REGEX_NO, NULL, NULL},
        {"a.*b",
         "a\xff"
         "b",
         REGEX_NO, NULL, NULL},
        {"[^x]", "\xff\xfe", REGEX_NO, NULL, NULL},
        {"^b",
         "\xff"
         "b",
         REGEX_NO, NULL, NULL},
        {"(x+)", "\xc3x\xe2\x82xx", REGEX_YES, "1", "x"},
        {"(..)",
         "a\xf0\x9f\x98"
         "bc",
         REGEX_YES, "1", "bc"},
        {"^x?$", "\xff", REGEX_NO, NULL, NULL},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_nul_is_a_byte(void **state)
{
    struct span subject = SPAN_LITERAL("a\0b"), value;
    struct regex *re = compile("a(.)b");
    struct regex_matcher *m;

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    assert_int_equal(regex_match(re, m, subject), REGEX_YES);
    assert_true(regex_group(re, m, subject, SPAN_LITERAL("1"), &value));
    assert_ptr_equal(value.p, subject.p + 1);
    assert_int_equal(value.n, 1);
    assert_int_equal(regex_match(re, m, span_of(NULL, 0)), REGEX_NO);
    regex_matcher_free(m);
    regex_free(re);
}

/* ---- what is refused ---- */

static void test_errors(void **state)
{
    static const struct {
        struct span text;
        size_t at;
        const char *reason;
    } rows[] = {
        {SPAN_LITERAL("(unclosed"), 9, "missing closing parenthesis"},
        {SPAN_LITERAL("ab)"), 2, "unmatched closing parenthesis"},
        {SPAN_LITERAL("[z-a]"), 3, "range out of order in character class"},
        {SPAN_LITERAL("*a"), 0, "quantifier does not follow a repeatable item"},
        {SPAN_LITERAL("a\\"), 2, "\\ at end of pattern"},
        {SPAN_LITERAL("a\\C"), 3, "using \\C is disabled by the application"},
        {SPAN_LITERAL("a\xff"), 1, "UTF-8 error: illegal byte (0xfe or 0xff)"},
        {SPAN_LITERAL("(?<user"), 7, "syntax error in subpattern name (missing terminator?)"},
        {SPAN_LITERAL("((a{1,99}){1,99}){1,99}"), 23, "regular expression is too large"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct regex_fault fault = {0};
        struct regex *re;

        assert_int_equal(regex_new(rows[i].text, &re, &fault), REGEX_E_SYNTAX);
        if (fault.at != rows[i].at || strcmp(fault.reason, rows[i].reason) != 0)
            fail_msg("%.*s: %s at %zu", (int)rows[i].text.n, rows[i].text.p, fault.reason,
                     fault.at);
    }
}

static void test_too_many_groups(void **state)
{
    char text[3 * (REGEX_GROUPS_MAX + 1)];
    struct regex_fault fault;
    struct regex *re;

    (void)state;
    for (int i = 0; i <= REGEX_GROUPS_MAX; i++)
        memcpy(text + 3 * (size_t)i, "(a)", 3);
    assert_int_equal(regex_new(span_of(text, sizeof(text)), &re, &fault), REGEX_E_SYNTAX);
    assert_string_equal(fault.reason, "more than 99 groups");
    assert_int_equal(regex_new(span_of(text, sizeof(text) - 3), &re, &fault), 0);
    assert_true(regex_has_group(re, SPAN_LITERAL("99")));
    regex_free(re);
}

/* ---- what it may cost ---- */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum { LONGEST = 128 * 1024 };

static char longest[LONGEST];

/* The pattern over and over. */
static struct span fill(const char *pattern)
{
    size_t n = strlen(pattern);

    for (size_t i = 0; i < LONGEST; i++)
        longest[i] = pattern[i % n];
    return span_of(longest, LONGEST);
}

/*
 * Costly ones, over the longest command line that is read. Some take hours without a limit; some
 * stay below PCRE2's own at each starting point.
 */
static const struct {
    const char *text, *subject;
} costly[] = {
    {"(a+)+$", "a"},
    {"(a+)+$", "aaaaaaaaaaaaa!"},
    {"(a|aa)+$", "aaaaaaaaaaaaa!"},
    {"(?:a|a)*[bc]", "a"},
    {"^(?:.*a){12}[^a]", "a"},
    {"(?:.*.*)*[xy]", "a"},
    {"a.*b.*c.*[de]", "abc"},
    {"a[^b]*[bc]", "a"},
    {"(\\w+) .*\\1[!?]", "aaaa bbbb "},
    {"(?:(?=(a+))a)+[b]", "a"},
    {"(?<x>a(?&x)?)+[bc]", "a"},
    {"(?:\\S+ )*--none", "-x "},
    {"\\w{1000}[!?]", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaa"},
};

static void check_cost(const char *text, const char *pattern, struct regex_matcher *m)
{
    struct span subject = fill(pattern);
    struct regex *re = compile(text);
    double took, before = cpu_seconds();

    (void)regex_match(re, m, subject);
    took = cpu_seconds() - before;
    /* Measured: at most 0.03 s. */
    if (took > 1)
        fail_msg("%s over %s: %g s", text, pattern, took);
    regex_free(re);
}

static void test_cost(void **state)
{
    struct regex_matcher *m;
    char text[256];

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < sizeof(costly) / sizeof(*costly); i++) {
        check_cost(costly[i].text, costly[i].subject, m);
        snprintf(text, sizeof(text), NO_JIT "%s", costly[i].text);
        check_cost(text, costly[i].subject, m);
    }
    regex_matcher_free(m);
}

/* What is given up tells so, and the next search is not worse for it. */
static void test_limit(void **state)
{
    static const char *const texts[] = {"(a+)+$", NO_JIT "(a+)+$"};
    struct regex_matcher *m;

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < 2; i++) {
        struct regex *re = compile(texts[i]);

        for (int k = 0; k < 3; k++) {
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")),
                             REGEX_LIMIT);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaa")), REGEX_YES);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("bbbb")), REGEX_NO);
        }
        regex_free(re);
    }
    regex_matcher_free(m);
}

/* Many that are dear leave little for each further one of the round, and ordinary ones enough. */
static void test_rounds(void **state)
{
    static const char *const texts[] = {"(a+)+$", NO_JIT "(a+)+$"};
    struct regex_matcher *m;

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < 2; i++) {
        struct regex *re = compile(texts[i]);

        for (int round = 0; round < 3; round++) {
            regex_matcher_begin(m);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaaaaaaaaaaa!")), REGEX_NO);
            for (int k = 0; k < 30; k++)
                (void)regex_match(re, m, SPAN_LITERAL("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaaaaaaaaaaa!")), REGEX_LIMIT);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaaaaaa!")), REGEX_NO);
            for (int k = 0; k < 3000; k++)
                (void)regex_match(re, m, SPAN_LITERAL("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaaaaaaaa!")), REGEX_LIMIT);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("aaaa")), REGEX_YES);
            assert_int_equal(regex_match(re, m, SPAN_LITERAL("bbbb")), REGEX_NO);
        }
        regex_free(re);
    }
    regex_matcher_free(m);
}

/* Ordinary expressions get through the longest command line. */
static void test_long_subjects(void **state)
{
    static const struct {
        const char *text, *subject;
        enum regex_result result;
    } rows[] = {
        {"-Dname=(\\S+)", "-Da.b=c ", REGEX_NO},
        {"(?:^|/)(python|perl)[0-9.]* +(\\S+)", "/usr/lib/a.jar:", REGEX_NO},
        {"^\\S*java .*-Dname=(\\S+) .*Main$", "java -Dfile=x y ", REGEX_NO},
        {"java .*x", "java x ", REGEX_YES},
        {"zzz|yyy", "abc ", REGEX_NO},
    };
    struct regex_matcher *m;

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct regex *re = compile(rows[i].text);

        if (regex_match(re, m, fill(rows[i].subject)) != rows[i].result)
            fail_msg("%s", rows[i].text);
        regex_free(re);
    }
    regex_matcher_free(m);
}

static void test_searches_take_no_memory(void **state)
{
    struct regex_matcher *m;
    unsigned before;

    (void)state;
    if (!COUNTS_HEAP_CALLS)
        skip();
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < 2 * (sizeof(costly) / sizeof(*costly)); i++) {
        char text[256];
        struct regex *re;

        snprintf(text, sizeof(text), "%s%s", i % 2 ? NO_JIT : "", costly[i / 2].text);
        re = compile(text);
        before = heap_calls;
        (void)regex_match(re, m, fill(costly[i / 2].subject));
        if (heap_calls != before)
            fail_msg("%s: %u calls", text, heap_calls - before);
        regex_free(re);
    }
    regex_matcher_free(m);
}

/* Each allocation fails once. Without memory for machine code there is none. */
static void test_out_of_memory(void **state)
{
    struct regex_fault fault;
    struct regex_matcher *m;
    struct regex *re;
    unsigned failures = 0;
    int r, made = 0;

    (void)state;
    if (!COUNTS_HEAP_CALLS)
        skip();
    do {
        heap_calls = 0;
        failing_call = ++failures;
        r = regex_new(SPAN_LITERAL("(?<name>a)(b|c)+"), &re, &fault);
        failing_call = 0;
        assert_true(r == 0 || r == -ENOMEM);
        if (r == 0)
            regex_free(re);
    } while (heap_calls >= failures);
    assert_true(failures > 2);
    for (failures = 1; made < 2; failures++) {
        heap_calls = 0;
        failing_call = failures;
        r = regex_matcher_new(&m);
        failing_call = 0;
        assert_true(r == 0 || r == -ENOMEM);
        made = r < 0 ? 0 : made + 1;
        if (r == 0)
            regex_matcher_free(m);
    }
    assert_true(failures > 4);
}

/* ---- without memory that can be executed ---- */

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

enum { CHILD_GOOD = 10, CHILD_BAD, CHILD_CANNOT };

static int search_without_machine_code(void)
{
    struct regex_fault fault;
    struct regex_matcher *m;
    struct regex *re;

    /* As MemoryDenyWriteExecute= does it. */
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
        return CHILD_CANNOT;
    if (regex_matcher_new(&m) < 0 || regex_new(SPAN_LITERAL("b(.)d"), &re, &fault) != 0 ||
        regex_is_compiled(re) || regex_match(re, m, SPAN_LITERAL("abcd")) != REGEX_YES ||
        regex_match(re, m, SPAN_LITERAL("abcc")) != REGEX_NO)
        return CHILD_BAD;
    regex_free(re);
    regex_matcher_free(m);
    return CHILD_GOOD;
}

/* In a program of its own: this one has such memory already. */
static void test_machine_code_forbidden(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "test_regex", "without-machine-code", (char *)NULL);
        _exit(CHILD_BAD);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_CANNOT) {
        print_message("the kernel knows no PR_SET_MDWE\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), CHILD_GOOD);
}

static void test_interpreter_on_request(void **state)
{
    struct regex *re = compile(NO_JIT "a");

    (void)state;
    assert_false(regex_is_compiled(re));
    regex_free(re);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_has_group),
        cmocka_unit_test(test_group_names),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_nul_is_a_byte),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_too_many_groups),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_long_subjects),
        cmocka_unit_test(test_searches_take_no_memory),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_machine_code_forbidden),
        cmocka_unit_test(test_interpreter_on_request),
    };

    (void)argv;
    if (argc > 1)
        return search_without_machine_code();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
