/* What names with places to fill parse to, and what they give. */
#include "group/template.h"

#include "check.h"

static const struct cgroup_identity in_pod = {
    .path = {"/kubepods/pod1/abc", 18},
    .container = {"0123456789ab", 12},
    .container_id = {"0123456789abcdef", 16},
    .pod = {"pod1", 4},
    .unit = {"u@1.service", 11},
    .slice = {"s.slice", 7},
};

/* Fills the template for the subject; NULL: it gives no name. */
static void check_fill(const char *text, const struct subject *s,
                       const struct template_match *match, const char *name)
{
    struct template t;
    struct span wrong;
    struct buf out;

    buf_init(&out, 4096);
    buf_append_str(&out, "before:");
    assert_int_equal(template_parse(span_from_str(text), &t, &wrong), 0);
    if (template_fill(&t, s, match, &out) != (name != NULL))
        fail_msg("%s: %.*s", text, (int)out.len, out.data);
    if (!span_equal(span_skip(buf_span(&out), 7), span_from_str(name ? name : "")))
        fail_msg("%s: %.*s", text, (int)out.len, out.data);
    template_deinit(&t);
    buf_deinit(&out);
}

static void test_comm(void **state)
{
    static const struct {
        const char *text, *comm, *name;
        bool fixed;
    } rows[] = {
        {"web", "nginx", "web", true},
        {"${comm}", "nginx", "nginx", false},
        {"web-${comm}", "nginx", "web-nginx", false},
        {"${comm}${comm}", "a", "aa", false},
        {"a${comm}b${comm}c", "-", "a-b-c", false},
        {"$$", "x", "$", true},
        {"$${comm}", "x", "${comm}", true},
        {"$$${comm}", "x", "$x", false},
        {"100$$-$$", "x", "100$-$", true},
        {"}{", "x", "}{", true},
        {"${comm}}", "x", "x}", false},
        {"${comm}", "", NULL, false},
        {"web-${comm}", "", NULL, false},
        {"web", "", "web", true},
        {"${comm}", "${comm}$", "${comm}$", false}, /* what is filled in is not read again */
        {"gr\xc3\xbc\xc3\x9f", "x", "gr\xc3\xbc\xc3\x9f", true},
    };
    const struct template_match none = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct subject subject = {.comm = span_from_str(rows[i].comm)};
        struct template t;
        struct span wrong;

        assert_int_equal(template_parse(span_from_str(rows[i].text), &t, &wrong), 0);
        assert_int_equal(t.fixed, rows[i].fixed);
        template_deinit(&t);
        check_fill(rows[i].text, &subject, &none, rows[i].name);
    }
}

static void test_places(void **state)
{
    const struct subject s = {.comm = {"c", 1},
                              .exe = {"/opt/bin/app", 12},
                              .cmdline = {"app", 3},
                              .user = {"alice", 5},
                              .cgroup = &in_pod};
    const struct subject bare = {.comm = {"c", 1}};
    const struct template_match none = {0};

    (void)state;
    check_fill("${exe}-${exe_path}", &s, &none, "app-/opt/bin/app");
    check_fill("${user}@${unit}", &s, &none, "alice@u@1.service");
    check_fill("${slice}/${container}/${pod}", &s, &none, "s.slice/0123456789ab/pod1");
    check_fill("${cgroup}", &s, &none, "/kubepods/pod1/abc");
    check_fill("${comm}-${exe}", &bare, &none, NULL);
    check_fill("${pod}", &bare, &none, NULL);
    check_fill("x${user}", &bare, &none, NULL);
}

static void check_state(const char *text, uint32_t expected, bool has_pod, enum place_state places,
                        const char *piece)
{
    const struct template_piece *found = NULL;
    struct cgroup_identity cgroup = in_pod;
    struct subject s = {
        .comm = {"c", 1}, .user = {"u", 1}, .cgroup = &cgroup, .expected = expected};
    struct template t;
    struct span wrong;

    if (!has_pod)
        cgroup.pod.n = 0;
    assert_int_equal(template_parse(span_from_str(text), &t, &wrong), 0);
    assert_int_equal(template_places(&t, &s, &found), places);
    if (piece)
        check_span_at(found->whole, piece, strlen(piece), __FILE__, __LINE__);
    else
        assert_null(found);
    template_deinit(&t);
}

/* What is not to be had outweighs what is still to come. */
static void test_states(void **state)
{
    const uint32_t user = subject_bit(SUBJECT_USER);

    (void)state;
    check_state("web", UINT32_MAX, true, PLACE_KNOWN, NULL);
    check_state("${comm}", UINT32_MAX, true, PLACE_KNOWN, NULL);
    check_state("${1}-${name}", UINT32_MAX, true, PLACE_KNOWN, NULL);
    check_state("${user}-${pod}", 0, true, PLACE_KNOWN, NULL);
    check_state("${user}-${pod}", 0, false, PLACE_NONE, "${pod}");
    check_state("${user}-${pod}", user, true, PLACE_EXPECTED, "${user}");
    check_state("${user}-${pod}", user, false, PLACE_NONE, "${pod}");
    check_state("${pod}-${user}", user, false, PLACE_NONE, "${pod}");
}

static void test_needs(void **state)
{
    static const struct {
        const char *text;
        uint32_t needs;
    } rows[] = {
        {"web", 0},
        {"${comm}${1}", 0},
        {"${exe}", 1 << SUBJECT_EXE},
        {"${exe_path}${user}", 1 << SUBJECT_EXE | 1 << SUBJECT_USER},
        {"${unit}", 1 << SUBJECT_CGROUP},
        {"${slice}", 1 << SUBJECT_CGROUP},
        {"${container}", 1 << SUBJECT_CGROUP},
        {"${pod}", 1 << SUBJECT_CGROUP},
        {"${cgroup}", 1 << SUBJECT_CGROUP},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct template t;
        struct span wrong;

        assert_int_equal(template_parse(span_from_str(rows[i].text), &t, &wrong), 0);
        assert_int_equal(template_needs(&t), rows[i].needs);
        template_deinit(&t);
    }
}

/* Groups of an expression: unset there is no name, empty there is. */
static void test_groups(void **state)
{
    static const struct {
        const char *text, *regex, *subject, *name;
    } rows[] = {
        {"app-${app}", "--app=(?<app>\\w*)", "x --app=shop", "app-shop"},
        {"app-${1}", "--app=(?<app>\\w*)", "x --app=shop", "app-shop"},
        {"app-${app}", "--app=(?<app>\\w*)", "x --app=", "app-"},
        {"${app}", "--app=(?<app>\\w*)", "x --app=", NULL},
        {"${2}-${1}", "(a)(b)?", "ab", "b-a"},
        {"${2}-${1}", "(a)(b)?", "a", NULL},
        {"${other}", "(a)", "a", NULL},
        {"${3}", "(a)(b)", "ab", NULL},
    };
    struct regex_matcher *m;

    (void)state;
    assert_int_equal(regex_matcher_new(&m), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct template_match match = {.matcher = m, .subject = span_from_str(rows[i].subject)};
        const struct subject nobody = {0};
        struct regex_fault fault;
        struct regex *re;

        assert_int_equal(regex_new(span_from_str(rows[i].regex), &re, &fault), 0);
        match.regex = re;
        assert_int_equal(regex_match(re, m, match.subject), REGEX_YES);
        check_fill(rows[i].text, &nobody, &match, rows[i].name);
        regex_free(re);
    }
    check_fill("${1}", &(struct subject){0}, &(struct template_match){0}, NULL);
    regex_matcher_free(m);
}

/* No name is longer than any label, however long what fills it is. */
static void test_long_values(void **state)
{
    static char comm[TEMPLATE_NAME_MAX * 2];
    const struct template_match none = {0};
    struct subject s = {.comm = {comm, sizeof(comm)}};
    struct template t;
    struct span wrong;
    struct buf out;

    (void)state;
    memset(comm, 'x', sizeof(comm));
    buf_init(&out, TEMPLATE_NAME_MAX);
    assert_int_equal(template_parse(SPAN_LITERAL("a${comm}b"), &t, &wrong), 0);
    assert_true(template_fill(&t, &s, &none, &out));
    assert_false(buf_failed(&out));
    assert_int_equal(out.len, TEMPLATE_NAME_MAX);
    assert_memory_equal(out.data, "axxx", 4);
    assert_int_equal(out.data[TEMPLATE_NAME_MAX - 1], 'x');
    template_deinit(&t);
    buf_deinit(&out);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text;
        int error;
        const char *wrong;
    } rows[] = {
        {"", TEMPLATE_E_EMPTY, ""},
        {"a-${}-b", TEMPLATE_E_UNKNOWN, "${}"},
        {"${comm }", TEMPLATE_E_UNKNOWN, "${comm }"},
        {"${0}", TEMPLATE_E_UNKNOWN, "${0}"},
        {"${01}", TEMPLATE_E_UNKNOWN, "${01}"},
        {"${100}", TEMPLATE_E_UNKNOWN, "${100}"},
        {"${1a}", TEMPLATE_E_UNKNOWN, "${1a}"},
        {"${a-b}", TEMPLATE_E_UNKNOWN, "${a-b}"},
        {"${abcdefghijabcdefghijabcdefghijabc}", TEMPLATE_E_UNKNOWN,
         "${abcdefghijabcdefghijabcdefghijabc}"},
        {"${comm}${x y}${y}", TEMPLATE_E_UNKNOWN, "${x y}"},
        {"ab${comm", TEMPLATE_E_UNCLOSED, "${comm"},
        {"${", TEMPLATE_E_UNCLOSED, "${"},
        {"$", TEMPLATE_E_STRAY, "$"},
        {"cost$", TEMPLATE_E_STRAY, "$"},
        {"a$comm", TEMPLATE_E_STRAY, "$comm"},
        {"$$$", TEMPLATE_E_STRAY, "$"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct span wrong = {0}, text = span_from_str(rows[i].text);
        struct template t;

        if (template_parse(text, &t, &wrong) != rows[i].error)
            fail_msg("%s", rows[i].text);
        if (!span_equal(wrong, span_from_str(rows[i].wrong)))
            fail_msg("%s: %.*s", rows[i].text, (int)wrong.n, wrong.p);
        /* A part of the caller's text, so that its place can be shown. */
        assert_true(wrong.p >= text.p && wrong.p + wrong.n <= text.p + text.n);
    }
}

/* What is no place may be a group: the rule knows. */
static void test_possible_groups(void **state)
{
    static const char *const texts[] = {"${COMM}",
                                        "${x}",
                                        "${1}",
                                        "${99}",
                                        "${_}",
                                        "${a1_}",
                                        "${abcdefghijabcdefghijabcdefghijab}"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct template t;
        struct span wrong;

        assert_int_equal(template_parse(span_from_str(texts[i]), &t, &wrong), 0);
        assert_int_equal(t.n_pieces, 1);
        assert_int_equal(t.pieces[0].kind, TEMPLATE_GROUP);
        assert_false(t.fixed);
        template_deinit(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comm),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_states), cmocka_unit_test(test_needs),
        cmocka_unit_test(test_groups), cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_possible_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
