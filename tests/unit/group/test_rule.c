/* Which rule decides, which waits, and what is told of it. */
#include "group/rule.h"

#include "check.h"

#include <stdio.h>

/* ---- rules and processes of tests ---- */

/*
 * A rule as its sections would be: `[group NAME]`, or `[exclude NAME]` with a name that begins
 * with `-`. Globs are parted by blanks, expressions by LF.
 */
struct text {
    const char *name;
    const char *comm, *exe, *user, *unit, *cgroup, *container, *pod, *cmdline;
    bool children;
    enum rule_kernel kernel;
};

static struct rule_patterns words(const char *text, char separator, struct span *items)
{
    struct rule_patterns patterns = {.items = items};
    struct span rest = span_from_str(text ? text : "");

    while (rest.n > 0) {
        const char *end = memchr(rest.p, separator, rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;

        items[patterns.n++] = span_of(rest.p, n);
        rest = span_skip(rest, end ? n + 1 : n);
    }
    return patterns;
}

static int add(struct rules *r, const struct text *t, struct rule_fault *ret_fault)
{
    const char *const globs[] = {t->comm,   t->exe,       t->user, t->unit,
                                 t->cgroup, t->container, t->pod};
    struct span items[RULE_KEY_N][8];
    struct rule_spec text = {.children = t->children, .kernel = t->kernel};

    text.exclude = *t->name == '-';
    text.name = span_from_str(t->name + (text.exclude ? 1 : 0));
    for (size_t key = 0; key < RULE_CMDLINE; key++)
        text.patterns[key] = words(globs[key], ' ', items[key]);
    text.patterns[RULE_CMDLINE] = words(t->cmdline, '\n', items[RULE_CMDLINE]);
    return rules_add(r, &text, ret_fault);
}

static void must_add(struct rules *r, const struct text *t)
{
    struct rule_fault fault;

    if (add(r, t, &fault) != 0)
        fail_msg("%s: %.*s", t->name, (int)fault.part.n, fault.part.p);
}

static void make(struct rules *r, const struct text *texts, size_t n)
{
    rules_init(r);
    for (size_t i = 0; i < n; i++)
        must_add(r, &texts[i]);
}

#define MAKE(r, ...)                            \
    make(r, (const struct text[]){__VA_ARGS__}, \
         sizeof((const struct text[]){__VA_ARGS__}) / sizeof(struct text))

static const struct cgroup_identity service = {.path = {"/system.slice/getty@tty1.service", 32},
                                               .unit = {"getty@tty1.service", 18},
                                               .service = {"getty@.service", 14},
                                               .slice = {"system.slice", 12}};
static const struct cgroup_identity in_pod = {.path = {"/kubepods/pod1/0123456789abcdef", 31},
                                              .container = {"0123456789ab", 12},
                                              .container_id = {"0123456789abcdef", 16},
                                              .pod = {"pod1", 4}};
static const struct cgroup_identity root = {.path = {"/", 1}};
static const struct cgroup_identity nothing;

#define SUBJECT(...) (&(const struct subject){__VA_ARGS__})
#define TEXT(text)   SPAN_LITERAL(text)

/* What comes out: a group's name, `exclude N`, `later N` or `default`. */
static void check_at(const struct rules *r, const struct subject *s, const char *expected, int line)
{
    struct rule_match match;
    char text[64];
    struct buf out;

    buf_init(&out, 4096);
    match = rules_match(r, s, &out);
    if (match.outcome != RULE_GROUP) {
        assert_int_equal(out.len, 0);
        assert_false(match.children);
    }
    snprintf(text, sizeof(text), "%s%zu", match.outcome == RULE_LATER ? "later " : "exclude ",
             match.rule);
    if (match.outcome == RULE_LATER || match.outcome == RULE_EXCLUDE)
        buf_append_str(&out, text);
    if (match.outcome == RULE_DEFAULT)
        buf_append_str(&out, "default");
    if (!span_equal(buf_span(&out), span_from_str(expected)))
        fail_msg("line %d: %.*s, expected %s", line, (int)out.len, out.data, expected);
    buf_deinit(&out);
}

#define CHECK(r, expected, ...) check_at(r, SUBJECT(__VA_ARGS__), expected, __LINE__)

/* ---- what matches ---- */

static void test_no_rules(void **state)
{
    struct rules r;

    (void)state;
    rules_init(&r);
    CHECK(&r, "default", .comm = TEXT("nginx"));
    CHECK(&r, "default", .expected = UINT32_MAX);
    assert_int_equal(rules_needs(&r), 0);
    assert_false(rules_have_children(&r));
    rules_deinit(&r);
}

static void test_first_match_wins(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"web", .comm = "nginx apache2 httpd*"}, {"n-${comm}", .comm = "n*"},
         {"never", .comm = "nginx"});
    CHECK(&r, "web", .comm = TEXT("nginx"));
    CHECK(&r, "web", .comm = TEXT("httpd-worker"));
    CHECK(&r, "n-named", .comm = TEXT("named"));
    CHECK(&r, "default", .comm = TEXT("xnginx"));
    CHECK(&r, "default", .comm = TEXT("Nginx"));
    CHECK(&r, "n-nfsd", .comm = TEXT("nfsd"), .kernel_thread = true);
    CHECK(&r, "default", .comm = TEXT("kthreadd"), .kernel_thread = true);
    rules_deinit(&r);
}

static void test_globs(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"one", .comm = "a?c [xy]z [!0-9]q"}, {"two", .comm = "a\\*c *end"});
    CHECK(&r, "one", .comm = TEXT("abc"));
    CHECK(&r, "one", .comm = TEXT("a*c"));
    CHECK(&r, "default", .comm = TEXT("ac"));
    CHECK(&r, "one", .comm = TEXT("xz"));
    CHECK(&r, "default", .comm = TEXT("7q"));
    CHECK(&r, "two", .comm = TEXT("the end"));
    rules_deinit(&r);
}

static void test_each_key(void **state)
{
    static const struct subject s = {.comm = {"c", 1},
                                     .exe = {"/opt/bin/app", 12},
                                     .cmdline = {"app --role=db", 13},
                                     .user = {"alice", 5},
                                     .cgroup = &service};
    static const struct {
        struct text text;
        bool matches;
    } rows[] = {
        {{"g", .exe = "app"}, true},
        {{"g", .exe = "bin"}, false},
        {{"g", .exe = "/opt/*"}, true},
        {{"g", .exe = "/opt"}, false},
        {{"g", .exe = "*/app"}, true},
        {{"g", .exe = "x a[a-z]p"}, true},
        {{"g", .user = "bob alice"}, true},
        {{"g", .user = "ali"}, false},
        {{"g", .unit = "getty@tty1.service"}, true},
        {{"g", .unit = "getty@*.service"}, true},
        {{"g", .unit = "getty@.service"}, false},
        {{"g", .cgroup = "/system.slice/*"}, true},
        {{"g", .cgroup = "/user.slice/*"}, false},
        {{"g", .container = "*"}, false},
        {{"g", .pod = "*"}, false},
        {{"g", .cmdline = "--role=(db|web)$"}, true},
        {{"g", .cmdline = "^--role"}, false},
        {{"g", .cmdline = "none\nno more\nrole"}, true},
        {{"g", .comm = "c", .exe = "app", .user = "alice", .unit = "getty*", .cmdline = "role"},
         true},
        {{"g", .comm = "d", .exe = "app", .user = "alice", .unit = "getty*", .cmdline = "role"},
         false},
        {{"g", .comm = "c", .exe = "app", .user = "alice", .unit = "getty*", .cmdline = "roll"},
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rules r;

        make(&r, &rows[i].text, 1);
        check_at(&r, &s, rows[i].matches ? "g" : "default", (int)i);
        rules_deinit(&r);
    }
}

static void test_containers(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"short", .container = "0123456789ab"}, {"never", .container = "*"});
    CHECK(&r, "short", .cgroup = &in_pod);
    rules_deinit(&r);
    MAKE(&r, {"full-${container}", .container = "0123456789abcdef"});
    CHECK(&r, "full-0123456789ab", .cgroup = &in_pod);
    CHECK(&r, "default", .cgroup = &service);
    rules_deinit(&r);
    MAKE(&r, {"pod-${pod}", .pod = "pod*"});
    CHECK(&r, "pod-pod1", .cgroup = &in_pod);
    CHECK(&r, "default", .cgroup = &root);
    rules_deinit(&r);
}

/* What is not to be had holds no condition. */
static void test_nothing_matches_nothing(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"a", .comm = "*"}, {"b", .exe = "*"}, {"c", .user = "*"}, {"d", .unit = "*"},
         {"e", .cgroup = "*"}, {"f", .container = "*"}, {"g", .pod = "*"}, {"h", .cmdline = "."},
         {"i", .cmdline = "^"});
    CHECK(&r, "default", .comm = TEXT(""));
    CHECK(&r, "default", .cgroup = &nothing);
    rules_deinit(&r);
}

static void test_kernel_threads(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"users-${user}", .user = "*"}, {"exe", .exe = "*"}, {"line", .cmdline = "."},
         {"cgroup-${cgroup}", .cgroup = "*"}, {"unit", .unit = "*"},
         {"k-${comm}", .comm = "kw*", .user = "root"});
    CHECK(&r, "k-kworker", .comm = TEXT("kworker"), .user = TEXT("root"), .cgroup = &root,
          .kernel_thread = true);
    CHECK(&r, "users-root", .comm = TEXT("kworker"), .user = TEXT("root"), .cgroup = &root);
    CHECK(&r, "cgroup-/system.slice/getty@tty1.service", .comm = TEXT("vhost-1"),
          .user = TEXT("root"), .cgroup = &service, .kernel_thread = true);
    CHECK(&r, "default", .comm = TEXT("kthreadd"), .user = TEXT("root"), .cgroup = &root,
          .kernel_thread = true);
    /* Nobody waits for what it never has. */
    CHECK(&r, "k-kworker", .comm = TEXT("kworker"), .user = TEXT("root"), .cgroup = &root,
          .kernel_thread = true,
          .expected = subject_bit(SUBJECT_EXE) | subject_bit(SUBJECT_CMDLINE));
    rules_deinit(&r);
}

static void test_kernel_key(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"-workers", .comm = "kw*", .kernel = RULE_KERNEL_ONLY},
         {"k-${user}", .user = "root", .kernel = RULE_KERNEL_ONLY},
         {"mine", .comm = "kw*", .kernel = RULE_KERNEL_NONE},
         {"all-${comm}", .kernel = RULE_KERNEL_NONE}, {"rest", .kernel = RULE_KERNEL_ONLY});
    CHECK(&r, "exclude 0", .comm = TEXT("kworker"), .kernel_thread = true);
    CHECK(&r, "mine", .comm = TEXT("kworker"));
    /* Who says that kernel threads are meant may tell them by their user. */
    CHECK(&r, "k-root", .comm = TEXT("kswapd0"), .user = TEXT("root"), .kernel_thread = true);
    CHECK(&r, "rest", .comm = TEXT("kswapd0"), .kernel_thread = true);
    CHECK(&r, "all-sh", .comm = TEXT("sh"), .user = TEXT("root"));
    /* Nobody waits to be told what he is. */
    CHECK(&r, "all-sh", .comm = TEXT("sh"), .expected = UINT32_MAX);
    assert_int_equal(rules_needs(&r), subject_bit(SUBJECT_USER));
    rules_deinit(&r);
    MAKE(&r, {"-kernel-threads", .kernel = RULE_KERNEL_ONLY});
    CHECK(&r, "exclude 0", .comm = TEXT("kthreadd"), .kernel_thread = true);
    CHECK(&r, "default", .comm = TEXT("kthreadd"));
    rules_deinit(&r);
}

/* A number means the user of that number; another glob means names alone. */
static void test_users_by_number(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"thousand", .user = "1000"}, {"alice", .user = "alice"}, {"zero", .user = "00 0"},
         {"some", .user = "10*"}, {"huge", .user = "4294968296 99999999999999999999999"},
         {"number-${user}", .user = "[0-9]*"});
    CHECK(&r, "thousand", .user = TEXT("alice"), .uid = 1000, .have_uid = true);
    CHECK(&r, "thousand", .user = TEXT("1000"), .uid = 1000, .have_uid = true);
    CHECK(&r, "alice", .user = TEXT("alice"), .uid = 1001, .have_uid = true);
    CHECK(&r, "alice", .user = TEXT("alice"), .uid = 1000);
    CHECK(&r, "zero", .user = TEXT("root"), .have_uid = true);
    CHECK(&r, "default", .user = TEXT("bob"), .uid = 1002, .have_uid = true);
    CHECK(&r, "some", .user = TEXT("1002"), .uid = 1002, .have_uid = true);
    CHECK(&r, "number-77", .user = TEXT("77"), .uid = 77, .have_uid = true);
    /* Who is called by a number goes by that as well. */
    CHECK(&r, "thousand", .user = TEXT("1000"), .uid = 5, .have_uid = true);
    rules_deinit(&r);
}

/* The rule asks only what it says, so it takes kernel threads from the default. */
static void test_star_takes_kernel_threads(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"${comm}", .comm = "*"});
    CHECK(&r, "kworker/0:1-events", .comm = TEXT("kworker/0:1-events"), .kernel_thread = true);
    rules_deinit(&r);
}

static void test_exclude(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"good", .comm = "bash", .user = "alice"}, {"-shells", .comm = "*sh"},
         {"-$odd ${name", .cmdline = "--hidden"}, {"rest", .comm = "*", .children = true});
    CHECK(&r, "good", .comm = TEXT("bash"), .user = TEXT("alice"));
    CHECK(&r, "exclude 1", .comm = TEXT("bash"), .user = TEXT("bob"));
    CHECK(&r, "exclude 2", .comm = TEXT("x"), .cmdline = TEXT("x --hidden"));
    CHECK(&r, "rest", .comm = TEXT("x"), .cmdline = TEXT("x"));
    rules_deinit(&r);
}

static void test_children(void **state)
{
    struct rules r;
    struct buf out;

    (void)state;
    MAKE(&r, {"plain", .comm = "a"});
    assert_false(rules_have_children(&r));
    must_add(&r, &(struct text){"tree", .comm = "b", .children = true});
    assert_true(rules_have_children(&r));
    buf_init(&out, 64);
    assert_false(rules_match(&r, SUBJECT(.comm = TEXT("a")), &out).children);
    assert_true(rules_match(&r, SUBJECT(.comm = TEXT("b")), &out).children);
    buf_deinit(&out);
    rules_deinit(&r);
}

/* ---- names ---- */

static void test_groups_of_expressions(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"app-${app}", .cmdline = "--app=(?<app>\\w+)\n-a (?<app>\\w+)\n^(?:old|new)app"},
         {"${2}/${1}", .cmdline = "^(\\w+) (\\w+)(?: (\\w+))?$"},
         {"third-${3}", .cmdline = "^(\\w+)-(\\w+)(-\\w+)?$"},
         {"empty-${3}", .cmdline = "^(\\w+)-(\\w+)(-\\w+|)$"});
    CHECK(&r, "app-shop", .cmdline = TEXT("java --app=shop"));
    CHECK(&r, "app-shop", .cmdline = TEXT("java -a shop"));
    CHECK(&r, "app-one", .cmdline = TEXT("java -a two --app=one"));
    /* An expression matches that has no such group: the rule does not. */
    CHECK(&r, "default", .cmdline = TEXT("oldapp"));
    CHECK(&r, "two/one", .cmdline = TEXT("one two"));
    CHECK(&r, "third--c", .cmdline = TEXT("a-b-c"));
    CHECK(&r, "empty-", .cmdline = TEXT("a-b"));
    rules_deinit(&r);
}

static void test_place_without_value(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"c-${container}", .comm = "*"}, {"u-${unit}", .comm = "*"}, {"${comm}", .comm = "*"});
    CHECK(&r, "c-0123456789ab", .comm = TEXT("x"), .cgroup = &in_pod);
    CHECK(&r, "u-getty@tty1.service", .comm = TEXT("x"), .cgroup = &service);
    CHECK(&r, "x", .comm = TEXT("x"), .cgroup = &root);
    CHECK(&r, "x", .comm = TEXT("x"));
    rules_deinit(&r);
}

static void test_empty_name(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"${1}", .cmdline = "^x(\\d*)"}, {"second", .cmdline = "^x"});
    CHECK(&r, "7", .cmdline = TEXT("x7"));
    CHECK(&r, "second", .cmdline = TEXT("x"));
    rules_deinit(&r);
}

/* Nobody gets into a group that means something else by choosing a name. */
static void test_reserved_names(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"kernel", .user = "carol"}, {"${comm}", .comm = "*"});
    CHECK(&r, "name/_other", .comm = TEXT("_other"));
    CHECK(&r, "name/_empty", .comm = TEXT("_empty"));
    CHECK(&r, "name/kernel", .comm = TEXT("kernel"));
    CHECK(&r, "name/kernel", .comm = TEXT("kernel"), .kernel_thread = true);
    CHECK(&r, "kernel", .comm = TEXT("x"), .user = TEXT("carol"));
    CHECK(&r, "_others", .comm = TEXT("_others"));
    CHECK(&r, "name/_other", .comm = TEXT("name/_other"));
    rules_deinit(&r);
    MAKE(&r, {"_${1}", .cmdline = "(\\w+)$"});
    CHECK(&r, "name/_other", .cmdline = TEXT("x other"));
    rules_deinit(&r);
}

static void test_fixed_names(void **state)
{
    struct rules r;
    struct buf out;

    (void)state;
    MAKE(&r, {"cost$$", .comm = "a"}, {"${comm}", .comm = "b"}, {"-no", .comm = "c"});
    buf_init(&out, 64);
    assert_true(rules_fixed_name(&r, 0, &out));
    check_span(buf_span(&out), "cost$");
    assert_false(rules_fixed_name(&r, 1, &out));
    assert_false(rules_fixed_name(&r, 2, &out));
    check_span(buf_span(&out), "cost$");
    buf_deinit(&out);
    rules_deinit(&r);
}

/* ---- waiting ---- */

#define EXE     subject_bit(SUBJECT_EXE)
#define CMDLINE subject_bit(SUBJECT_CMDLINE)
#define USER    subject_bit(SUBJECT_USER)
#define CGROUP  subject_bit(SUBJECT_CGROUP)

static void test_later(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"py-${1}", .comm = "python*", .cmdline = "(\\w+)\\.py"},
         {"alice", .user = "alice", .exe = "/opt/*"}, {"c-${container}", .comm = "srv"},
         {"last", .comm = "*"});
    /* Conditions that fail already are not waited behind. */
    CHECK(&r, "last", .comm = TEXT("bash"), .user = TEXT("bob"), .expected = EXE | CMDLINE);
    CHECK(&r, "last", .comm = TEXT("bash"), .exe = TEXT("/bin/bash"), .expected = USER | CMDLINE);
    CHECK(&r, "later 0", .comm = TEXT("python3"), .user = TEXT("bob"), .expected = EXE | CMDLINE);
    CHECK(&r, "later 1", .comm = TEXT("bash"), .user = TEXT("alice"), .expected = EXE);
    CHECK(&r, "later 1", .comm = TEXT("bash"), .exe = TEXT("/opt/x"), .expected = USER);
    CHECK(&r, "later 1", .comm = TEXT("bash"), .expected = USER | EXE);
    /* A name waits for what it is filled from. */
    CHECK(&r, "later 2", .comm = TEXT("srv"), .expected = CGROUP);
    CHECK(&r, "last", .comm = TEXT("srv"), .cgroup = &root);
    /* It has come, or never will. */
    CHECK(&r, "py-run", .comm = TEXT("python3"), .cmdline = TEXT("python3 run.py"),
          .expected = EXE | USER | CGROUP);
    CHECK(&r, "last", .comm = TEXT("python3"), .cmdline = TEXT("python3"), .user = TEXT("bob"));
    CHECK(&r, "last", .comm = TEXT("python3"));
    rules_deinit(&r);
}

/* A name that cannot be is no reason to wait for a condition, and the reverse. */
static void test_later_names(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"${container}-${1}", .cmdline = "--role=(\\w+)"}, {"rest", .comm = "*"});
    CHECK(&r, "rest", .comm = TEXT("x"), .cgroup = &root, .expected = CMDLINE);
    CHECK(&r, "rest", .comm = TEXT("x"), .cmdline = TEXT("x"), .expected = CGROUP);
    CHECK(&r, "later 0", .comm = TEXT("x"), .cmdline = TEXT("x --role=db"), .expected = CGROUP);
    CHECK(&r, "later 0", .comm = TEXT("x"), .cgroup = &in_pod, .expected = CMDLINE);
    CHECK(&r, "0123456789ab-db", .comm = TEXT("x"), .cgroup = &in_pod,
          .cmdline = TEXT("x --role=db"));
    rules_deinit(&r);
}

static void test_exclusion_waits(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"-hidden", .cmdline = "--hidden"}, {"rest", .comm = "*"});
    CHECK(&r, "later 0", .comm = TEXT("x"), .expected = CMDLINE);
    CHECK(&r, "exclude 0", .comm = TEXT("x"), .cmdline = TEXT("x --hidden"));
    CHECK(&r, "rest", .comm = TEXT("x"), .cmdline = TEXT("x"));
    rules_deinit(&r);
}

static void test_needs(void **state)
{
    static const struct {
        struct text text;
        uint32_t needs;
    } rows[] = {
        {{"g", .comm = "a"}, 0},
        {{"${comm}", .comm = "a"}, 0},
        {{"g", .exe = "a"}, 1 << SUBJECT_EXE},
        {{"g", .user = "a"}, 1 << SUBJECT_USER},
        {{"g", .unit = "a"}, 1 << SUBJECT_CGROUP},
        {{"g", .cgroup = "a"}, 1 << SUBJECT_CGROUP},
        {{"g", .container = "a"}, 1 << SUBJECT_CGROUP},
        {{"g", .pod = "a"}, 1 << SUBJECT_CGROUP},
        {{"g", .cmdline = "a"}, 1 << SUBJECT_CMDLINE},
        {{"${exe}-${user}", .comm = "a"}, 1 << SUBJECT_EXE | 1 << SUBJECT_USER},
        {{"-g", .exe = "a", .cmdline = "b"}, 1 << SUBJECT_EXE | 1 << SUBJECT_CMDLINE},
    };
    struct rules all;
    uint32_t sum = 0;

    (void)state;
    rules_init(&all);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rules r;

        make(&r, &rows[i].text, 1);
        assert_int_equal(rules_needs(&r), rows[i].needs);
        rules_deinit(&r);
        must_add(&all, &rows[i].text);
        sum |= rows[i].needs;
        assert_int_equal(rules_needs(&all), sum);
    }
    rules_deinit(&all);
}

/* ---- odd command lines, and costly ones ---- */

static void test_invalid_utf8(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"app-${1}", .cmdline = "^/opt/(\\w+) "}, {"raw-${comm}", .comm = "*"});
    CHECK(&r, "app-app", .cmdline = TEXT("/opt/app \xff\xfe\x80"));
    CHECK(&r, "raw-\xff\xfe", .comm = TEXT("\xff\xfe"), .cmdline = TEXT("\xff"));
    rules_deinit(&r);
}

#define A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A search that is given up is no match, and is told of once. */
static void test_limit(void **state)
{
    static const struct span hard = SPAN_LITERAL(A32 "!");
    struct rules r;
    size_t rule = 99;

    (void)state;
    MAKE(&r, {"good", .cmdline = "^z"}, {"bad", .cmdline = "(a+)+$\n^(b|bb)+c"},
         {"worse", .cmdline = "(a|aa)+$"}, {"rest", .comm = "*"});
    assert_false(rules_tell_limit(&r, &rule));
    CHECK(&r, "bad", .comm = TEXT("x"), .cmdline = TEXT("aaa"));
    assert_int_equal(rules_limit_reached(&r), 0);
    CHECK(&r, "rest", .comm = TEXT("x"), .cmdline = hard);
    assert_int_equal(rules_limit_reached(&r), 2);
    assert_true(rules_tell_limit(&r, &rule));
    assert_int_equal(rule, 1);
    assert_true(rules_tell_limit(&r, &rule));
    assert_int_equal(rule, 2);
    assert_false(rules_tell_limit(&r, &rule));
    CHECK(&r, "rest", .comm = TEXT("x"), .cmdline = hard);
    assert_int_equal(rules_limit_reached(&r), 4);
    assert_int_equal(r.rules[1].limit_reached, 2);
    assert_false(rules_tell_limit(&r, &rule));
    rules_deinit(&r);
}

/* One expression that is given up leaves the others their say. */
static void test_limit_of_one_expression(void **state)
{
    struct rules r;

    (void)state;
    MAKE(&r, {"g-${1}", .cmdline = "(a+)+$\n(!)$"});
    CHECK(&r, "g-!", .cmdline = TEXT(A32 "!"));
    assert_int_equal(rules_limit_reached(&r), 1);
    rules_deinit(&r);
}

/* ---- what is refused ---- */

static void test_errors(void **state)
{
    static const struct {
        struct text text;
        int error;
        const char *part;
    } rows[] = {
        {{"ok-${no pe}-x", .comm = "b"}, TEMPLATE_E_UNKNOWN, "${no pe}"},
        {{"", .comm = "b"}, TEMPLATE_E_EMPTY, ""},
        {{"a$b", .comm = "b"}, TEMPLATE_E_STRAY, "$b"},
        {{"a${b", .comm = "b"}, TEMPLATE_E_UNCLOSED, "${b"},
        {{"_other", .comm = "b"}, RULE_E_RESERVED, "_other"},
        {{"_empty", .comm = "b"}, RULE_E_RESERVED, "_empty"},
        {{"x${nope}", .comm = "b"}, RULE_E_GROUP, "${nope}"},
        {{"x${1}", .comm = "b"}, RULE_E_GROUP, "${1}"},
        {{"x${2}", .cmdline = "(a)"}, RULE_E_GROUP, "${2}"},
        {{"${a}${b}", .cmdline = "(?<a>a)\n(?<c>b)"}, RULE_E_GROUP, "${b}"},
        {{.name = "x"}, RULE_E_NO_CONDITION, "x"},
        {{.name = "-x"}, RULE_E_NO_CONDITION, "x"},
        {{"x", .comm = "a [b"}, RULE_E_GLOB, "[b"},
        {{"x", .pod = "\\"}, RULE_E_GLOB, "\\"},
        {{"x", .cmdline = "a\n(b"}, RULE_E_REGEX, "(b"},
        {{"x", .cmdline = "(?<user>b)"}, RULE_E_SHADOWED, "(?<user>b)"},
        {{"-x", .cmdline = "(?<exe_path>b)"}, RULE_E_SHADOWED, "(?<exe_path>b)"},
    };
    struct rules r;

    (void)state;
    MAKE(&r, {"good", .comm = "a"});
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rule_fault fault = {0};

        assert_int_equal(add(&r, &rows[i].text, &fault), rows[i].error);
        check_span_at(fault.part, rows[i].part, strlen(rows[i].part), __FILE__, __LINE__);
        assert_int_equal(r.n_rules, 1);
    }
    CHECK(&r, "default", .comm = TEXT("b"));
    rules_deinit(&r);
}

static void test_faults_tell_where(void **state)
{
    struct rule_fault fault = {0};
    struct rules r;

    (void)state;
    rules_init(&r);
    assert_int_equal(add(&r, &(struct text){"x", .cmdline = "a\n(b"}, &fault), RULE_E_REGEX);
    assert_int_equal(fault.key, RULE_CMDLINE);
    assert_int_equal(fault.item, 1);
    assert_int_equal(fault.regex.at, 2);
    assert_string_equal(fault.regex.reason, "missing closing parenthesis");
    assert_int_equal(add(&r, &(struct text){"x", .comm = "a", .unit = "b c [d"}, &fault),
                     RULE_E_GLOB);
    assert_int_equal(fault.key, RULE_UNIT);
    assert_int_equal(fault.item, 2);
    assert_int_equal(add(&r, &(struct text){"x", .cmdline = "(?<slice>a)"}, &fault),
                     RULE_E_SHADOWED);
    assert_int_equal(fault.place, PLACE_SLICE);
    rules_deinit(&r);
}

static void test_check_name(void **state)
{
    struct span wrong;

    (void)state;
    assert_int_equal(rule_check_name(TEXT("web"), &wrong), 0);
    assert_int_equal(rule_check_name(TEXT("kernel"), &wrong), 0);
    assert_int_equal(rule_check_name(TEXT("${whatever}"), &wrong), 0);
    assert_int_equal(rule_check_name(TEXT("_other"), &wrong), RULE_E_RESERVED);
    check_span(wrong, "_other");
    assert_int_equal(rule_check_name(TEXT("a$"), &wrong), TEMPLATE_E_STRAY);
    check_span(wrong, "$");
}

/* What the rules keep is their own. */
static void test_arguments_are_copied(void **state)
{
    char name[] = "g-${comm}", glob[] = "ab*", regex[] = "(c)";
    struct text text = {name, .comm = glob, .cmdline = regex};
    struct rules r;

    (void)state;
    rules_init(&r);
    must_add(&r, &text);
    memset(name, '#', sizeof(name));
    memset(glob, '#', sizeof(glob));
    memset(regex, '#', sizeof(regex));
    CHECK(&r, "g-abc", .comm = TEXT("abc"), .cmdline = TEXT("c"));
    rules_deinit(&r);
}

static void test_many_rules(void **state)
{
    struct rules r;

    (void)state;
    rules_init(&r);
    for (int i = 0; i < 1000; i++) {
        char name[32], glob[32];

        snprintf(name, sizeof(name), "g%d", i);
        snprintf(glob, sizeof(glob), "c%d", i);
        must_add(&r, &(struct text){name, .comm = glob});
    }
    CHECK(&r, "g0", .comm = TEXT("c0"));
    CHECK(&r, "g999", .comm = TEXT("c999"));
    CHECK(&r, "default", .comm = TEXT("c1000"));
    rules_deinit(&r);
}

/* ---- explaining ---- */

struct told {
    struct rule_explanation all[8];
    char name[8][64];
    size_t n;
};

static void take(const struct rule_explanation *e, void *arg)
{
    struct told *told = arg;

    assert_true(told->n < 8);
    assert_int_equal(e->rule, told->n);
    if (e->name.n > 0)
        memcpy(told->name[told->n], e->name.p, e->name.n);
    told->all[told->n++] = *e;
}

static struct rule_match explain(const struct rules *r, const struct subject *s, struct told *told)
{
    struct rule_match match;
    struct buf scratch;

    *told = (struct told){0};
    buf_init(&scratch, 4096);
    match = rules_explain(r, s, &scratch, take, told);
    buf_deinit(&scratch);
    return match;
}

static void check_finding(const struct told *told, size_t rule, enum rule_key key,
                          enum rule_finding_kind kind, const char *value, const char *pattern)
{
    const struct rule_finding *finding = &told->all[rule].findings[key];

    assert_int_equal(finding->kind, kind);
    check_span_at(finding->value, value, strlen(value), __FILE__, __LINE__);
    check_span_at(finding->pattern, pattern, strlen(pattern), __FILE__, __LINE__);
}

static void test_explain(void **state)
{
    const struct subject s = {.comm = {"java", 4},
                              .exe = {"/opt/jdk/java", 13},
                              .cmdline = {"java --role=db", 14},
                              .user = {"alice", 5},
                              .cgroup = &service};
    struct rules r;
    struct told told;
    struct rule_match match;

    (void)state;
    MAKE(&r, {"a", .comm = "b* c*", .exe = "java", .pod = "*", .cmdline = "x\nrole"},
         {"-b", .user = "bob"}, {"c-${container}", .comm = "java"},
         {"d-${1}", .cmdline = "^(x)?java\nnope"},
         {"e-${1}", .unit = "x* getty*", .cmdline = "no\n--role=(\\w+)", .children = true},
         {"never", .comm = "*"});
    match = explain(&r, &s, &told);
    assert_int_equal(match.outcome, RULE_GROUP);
    assert_int_equal(match.rule, 4);
    assert_true(match.children);
    assert_int_equal(told.n, 5);

    assert_int_equal(told.all[0].verdict, VERDICT_PASSED_OVER);
    check_finding(&told, 0, RULE_COMM, FINDING_FAILS, "java", "");
    check_finding(&told, 0, RULE_EXE, FINDING_HOLDS, "/opt/jdk/java", "java");
    check_finding(&told, 0, RULE_USER, FINDING_NOT_ASKED, "", "");
    check_finding(&told, 0, RULE_POD, FINDING_NO_VALUE, "", "");
    check_finding(&told, 0, RULE_CMDLINE, FINDING_HOLDS, "java --role=db", "role");

    assert_int_equal(told.all[1].verdict, VERDICT_PASSED_OVER);
    check_finding(&told, 1, RULE_USER, FINDING_FAILS, "alice", "");

    assert_int_equal(told.all[2].verdict, VERDICT_PASSED_OVER);
    check_finding(&told, 2, RULE_COMM, FINDING_HOLDS, "java", "java");
    check_span(told.all[2].place, "${container}");

    assert_int_equal(told.all[3].verdict, VERDICT_PASSED_OVER);
    check_finding(&told, 3, RULE_CMDLINE, FINDING_NO_GROUP, "java --role=db", "^(x)?java");

    assert_int_equal(told.all[4].verdict, VERDICT_GROUP);
    check_finding(&told, 4, RULE_UNIT, FINDING_HOLDS, "getty@tty1.service", "getty*");
    check_finding(&told, 4, RULE_CMDLINE, FINDING_HOLDS, "java --role=db", "--role=(\\w+)");
    assert_string_equal(told.name[4], "e-db");
    rules_deinit(&r);
}

static void test_explain_waiting(void **state)
{
    struct rules r;
    struct told told;
    struct rule_match match;

    (void)state;
    MAKE(&r, {"a", .comm = "x", .exe = "y"}, {"${user}", .comm = "j*", .cmdline = "y"},
         {"never", .comm = "*"});
    match = explain(&r, SUBJECT(.comm = TEXT("java"), .expected = EXE | CMDLINE | USER), &told);
    assert_int_equal(match.outcome, RULE_LATER);
    assert_int_equal(match.rule, 1);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.all[0].verdict, VERDICT_PASSED_OVER);
    check_finding(&told, 0, RULE_EXE, FINDING_EXPECTED, "", "");
    assert_int_equal(told.all[1].verdict, VERDICT_LATER);
    check_finding(&told, 1, RULE_CMDLINE, FINDING_EXPECTED, "", "");
    check_span(told.all[1].place, "${user}");
    rules_deinit(&r);
}

static void test_explain_limit(void **state)
{
    struct rules r;
    struct told told;

    (void)state;
    MAKE(&r, {"a", .cmdline = "(a+)+$"}, {"-b", .cmdline = "a"});
    assert_int_equal(explain(&r, SUBJECT(.cmdline = TEXT(A32 "!")), &told).outcome, RULE_EXCLUDE);
    check_finding(&told, 0, RULE_CMDLINE, FINDING_LIMIT, A32 "!", "(a+)+$");
    assert_int_equal(told.all[1].verdict, VERDICT_EXCLUDE);
    rules_deinit(&r);
}

static void test_explain_kernel_threads(void **state)
{
    struct rules r;
    struct told told;

    (void)state;
    MAKE(&r, {"a", .user = "root"}, {"b", .user = "root", .comm = "k*"});
    assert_int_equal(
        explain(&r, SUBJECT(.comm = TEXT("kswapd0"), .user = TEXT("root"), .kernel_thread = true),
                &told)
            .outcome,
        RULE_GROUP);
    assert_true(told.all[0].not_kernel_threads);
    assert_int_equal(told.all[0].kernel, FINDING_NOT_ASKED);
    assert_int_equal(told.all[0].verdict, VERDICT_PASSED_OVER);
    assert_false(told.all[1].not_kernel_threads);
    assert_string_equal(told.name[1], "b");
    rules_deinit(&r);
    MAKE(&r, {"a", .user = "root", .kernel = RULE_KERNEL_NONE},
         {"b", .user = "root", .kernel = RULE_KERNEL_ONLY});
    explain(&r, SUBJECT(.comm = TEXT("kswapd0"), .user = TEXT("root"), .kernel_thread = true),
            &told);
    assert_int_equal(told.all[0].kernel, FINDING_FAILS);
    assert_int_equal(told.all[0].findings[RULE_USER].kind, FINDING_HOLDS);
    assert_false(told.all[0].not_kernel_threads);
    assert_int_equal(told.all[0].verdict, VERDICT_PASSED_OVER);
    assert_int_equal(told.all[1].kernel, FINDING_HOLDS);
    assert_int_equal(told.all[1].verdict, VERDICT_GROUP);
    rules_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_rules),
        cmocka_unit_test(test_first_match_wins),
        cmocka_unit_test(test_globs),
        cmocka_unit_test(test_each_key),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_nothing_matches_nothing),
        cmocka_unit_test(test_kernel_threads),
        cmocka_unit_test(test_kernel_key),
        cmocka_unit_test(test_users_by_number),
        cmocka_unit_test(test_star_takes_kernel_threads),
        cmocka_unit_test(test_exclude),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_groups_of_expressions),
        cmocka_unit_test(test_place_without_value),
        cmocka_unit_test(test_empty_name),
        cmocka_unit_test(test_reserved_names),
        cmocka_unit_test(test_fixed_names),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_later_names),
        cmocka_unit_test(test_exclusion_waits),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_limit_of_one_expression),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_faults_tell_where),
        cmocka_unit_test(test_check_name),
        cmocka_unit_test(test_arguments_are_copied),
        cmocka_unit_test(test_many_rules),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_explain_waiting),
        cmocka_unit_test(test_explain_limit),
        cmocka_unit_test(test_explain_kernel_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
