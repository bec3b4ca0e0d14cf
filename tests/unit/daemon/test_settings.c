/* A configuration as the collector gets it. */
#include "daemon/settings.h"

#include "check.h"

#include <errno.h>

static void parse(const char *text, struct config *ret)
{
    struct options flags;
    struct buf error;

    options_init(&flags);
    buf_init(&error, CONFIG_ERROR_MAX);
    config_init(ret);
    if (config_parse(span_from_str(text), "test.ini", &flags, ret, &error) != 0)
        fail_msg("%.*s", (int)error.len, error.data);
    buf_deinit(&error);
    options_deinit(&flags);
}

/* expected: NULL if no rule takes it. */
static void check_group(const struct rules *rules, const char *comm, bool kernel_thread,
                        const char *expected)
{
    struct subject subject = {.comm = span_from_str(comm), .kernel_thread = kernel_thread};
    struct buf name;

    buf_init(&name, 1024);
    if (expected) {
        assert_int_equal(rules_match(rules, &subject, &name).outcome, RULE_GROUP);
        check_span_at(buf_span(&name), expected, strlen(expected), __FILE__, __LINE__);
    } else {
        assert_int_equal(rules_match(rules, &subject, &name).outcome, RULE_DEFAULT);
    }
    buf_deinit(&name);
}

static void test_defaults(void **state)
{
    struct collector_settings s;
    struct selection selection;
    struct config c;
    struct buf error;

    (void)state;
    buf_init(&error, CONFIG_ERROR_MAX);
    parse("", &c);
    assert_int_equal(settings_make(&c, &s, &error), 0);
    config_deinit(&c);
    selection_default(&selection);
    assert_memory_equal(&s.cycle.families, &selection, sizeof(selection));
    assert_int_equal(s.cycle.rules.n_rules, 0);
    assert_int_equal(s.cycle.top, 0);
    assert_int_equal(s.cycle.threads.n, 0);
    assert_int_equal(s.cycle.groups_max, 200);
    assert_int_equal(s.cycle.groups_forget_ns, 3600000000000);
    assert_int_equal(s.cycle.probe_deadline_ns, 2000000000);
    assert_int_equal(s.cycle.pss_max_bytes, UINT64_C(4) << 30);
    assert_int_equal(s.schedule.interval_ns, 10000000000);
    assert_int_equal(error.len, 0);
    cycle_settings_deinit(&s.cycle);
    buf_deinit(&error);
}

/* The result lives on its own, and rules are in the file's order. */
static void test_everything(void **state)
{
    struct collector_settings s;
    struct config c;
    struct buf error;

    (void)state;
    buf_init(&error, CONFIG_ERROR_MAX);
    parse("[collector]\ninterval = 2s\nprobe_deadline = 3s\npss_max_size = 1M\n[groups]\nmax = "
          "7\nforget = 5m\n"
          "[group web]\ncomm = nginx httpd*\n[group n-${comm}]\ncomm = n*\n"
          "[metrics]\nexclude = proctally_host_*\n[processes]\ntop = 9\nby = io\n"
          "[threads]\ngroups = web n-*\n",
          &c);
    assert_int_equal(settings_make(&c, &s, &error), 0);
    config_deinit(&c);
    assert_int_equal(s.schedule.interval_ns, 2000000000);
    assert_int_equal(s.cycle.probe_deadline_ns, 3000000000);
    assert_int_equal(s.cycle.pss_max_bytes, 1 << 20);
    assert_int_equal(s.cycle.groups_max, 7);
    assert_int_equal(s.cycle.groups_forget_ns, 300000000000);
    assert_int_equal(s.cycle.top, 9);
    assert_int_equal(s.cycle.top_by, TOP_IO);
    assert_int_equal(s.cycle.rules.n_rules, 2);
    assert_true(s.cycle.rules.rules[0].name.fixed);
    assert_false(s.cycle.rules.rules[1].name.fixed);
    check_group(&s.cycle.rules, "nginx", false, "web");
    check_group(&s.cycle.rules, "httpd-2", false, "web");
    check_group(&s.cycle.rules, "named", false, "n-named");
    check_group(&s.cycle.rules, "bash", false, NULL);
    check_group(&s.cycle.rules, "kworker", true, NULL);
    assert_true(globs_match(&s.cycle.threads, SPAN_LITERAL("web")));
    assert_true(globs_match(&s.cycle.threads, SPAN_LITERAL("n-named")));
    assert_false(globs_match(&s.cycle.threads, SPAN_LITERAL("bash")));
    cycle_settings_deinit(&s.cycle);
    buf_deinit(&error);
}

/* The parser refuses such a name; should one get through, nothing is made and nothing leaks. */
static void test_wrong_name(void **state)
{
    struct collector_settings s;
    struct config c;
    struct buf error;

    (void)state;
    buf_init(&error, CONFIG_ERROR_MAX);
    parse("[group good]\ncomm = a\n[group bad]\ncomm = b\n", &c);
    memcpy(c.rules.items[1].name, "b$d", 3);
    assert_int_equal(settings_make(&c, &s, &error), -EINVAL);
    assert_non_null(memmem(error.data, error.len, ":3: [group b$d]: ", 17));
    assert_non_null(memmem(error.data, error.len, "\"$d\"", 4));
    config_deinit(&c);
    buf_deinit(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_wrong_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
