/* What good files come to, and what is printed of them. */
#include "config_of_test.h"

static void test_defaults(void **state)
{
    struct selection families;
    struct parsed p;

    (void)state;
    parse_good(&p, "");
    assert_string_equal(p.config.file, "f.ini");
    assert_int_equal(p.config.interval_ns, UINT64_C(10000000000));
    assert_int_equal(p.config.cpu_budget_ppm, 20000);
    assert_int_equal(p.config.stale_after, 3);
    assert_int_equal(p.config.probe_deadline_ns, 2000000000);
    assert_int_equal(p.config.pss_max_bytes, UINT64_C(4) << 30);
    assert_int_equal(p.config.rules.n, 0);
    selection_default(&families);
    assert_memory_equal(&p.config.families, &families, sizeof(families));
    check_printed(&p.config, all_defaults);
    drop(&p);
}

static void test_everything_set(void **state)
{
    const struct config *c;
    struct parsed p;

    (void)state;
    parse_good(&p, all_set);
    c = &p.config;
    assert_int_equal(c->source, CONFIG_SOURCE_PROCFS);
    assert_string_equal(c->procfs, "/host/a proc");
    assert_int_equal(c->interval_ns, 1500000000);
    assert_int_equal(c->cpu_budget_ppm, 150000);
    assert_int_equal(c->stale_after, 5);
    assert_int_equal(c->probe_deadline_ns, 750000000);
    assert_int_equal(c->pss_max_bytes, 512 << 20);
    assert_int_equal(c->listen.n, 3);
    assert_true(c->listen.items[0].both_families);
    assert_int_equal(address_port(&c->listen.items[2]), 80);
    assert_string_equal(c->telemetry_path, "/a/b");
    assert_int_equal(c->max_connections, 8);
    assert_int_equal(c->max_connections_per_address, 4);
    assert_int_equal(c->request_deadline_ns, 3000000000);
    assert_int_equal(c->groups_max, 7);
    assert_int_equal(c->groups_forget_ns, UINT64_C(172800000000000));
    assert_int_equal(c->compat, CONFIG_COMPAT_PROCESS_EXPORTER);
    assert_int_equal(c->top, 25);
    assert_int_equal(c->top_by, TOP_FDS);
    assert_int_equal(c->threads.n, 2);
    assert_string_equal(c->threads.items[0], "web-*");
    assert_string_equal(c->threads.items[1], "a\\ b");
    assert_string_equal(c->state_file, "/var/lib/a state");
    assert_int_equal(c->log_level, LOG_LEVEL_ERROR);
    assert_int_equal(c->log_format, LOG_FORMAT_JSON);
    drop(&p);
}

static void test_families(void **state)
{
    struct selection expected;
    struct parsed p;

    (void)state;
    parse_good(&p, all_set);
    selection_default(&expected);
    selection_turn_on(&expected, FAMILY_PROCESS);
    selection_turn_on(&expected, FAMILY_COMPAT);
    selection_include(&expected, SPAN_LITERAL("proctally_group_*"));
    selection_exclude(&expected, SPAN_LITERAL("*_swap_*"));
    selection_exclude(&expected, SPAN_LITERAL("proctally_group_threads"));
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    /* Little is not nothing. */
    parse_good(&p, "[metrics]\nexclude = proctally_[!u]* process_*\n");
    expected = (struct selection){0};
    assert_true(selection_is_empty(&expected));
    assert_int_equal(selection_include(&expected, SPAN_LITERAL("proctally_u*")), 2);
    assert_false(selection_is_empty(&expected));
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
}

/* Families of processes are there with `top` and those of compat with that, and only then. */
static void test_families_of_other_settings(void **state)
{
    struct selection expected;
    struct parsed p;

    (void)state;
    parse_good(&p, "[metrics]\ninclude = *\n");
    selection_default(&expected);
    selection_include(&expected, SPAN_LITERAL("*"));
    selection_turn_off(&expected, FAMILY_PROCESS);
    selection_turn_off(&expected, FAMILY_COMPAT);
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    parse_good(&p, "[metrics]\nexclude = proctally_process_swap_bytes\n[processes]\ntop = 1\n");
    selection_default(&expected);
    selection_turn_on(&expected, FAMILY_PROCESS);
    selection_exclude(&expected, SPAN_LITERAL("proctally_process_swap_bytes"));
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    parse_good(&p, "[groups]\ncompat = process-exporter\n[metrics]\nexclude = proctally_*\n");
    selection_default(&expected);
    selection_exclude(&expected, SPAN_LITERAL("proctally_*"));
    selection_turn_on(&expected, FAMILY_COMPAT);
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
}

/* What is printed loads to the same, and prints the same. */
static void check_round_trip(const char *text)
{
    struct parsed one, two;
    char *first, *second;

    parse_good(&one, text);
    first = printed(&one.config);
    parse_good(&two, first);
    second = printed(&two.config);
    assert_string_equal(first, second);
    assert_memory_equal(&one.config.families, &two.config.families, sizeof(struct selection));
    free(first);
    free(second);
    drop(&one);
    drop(&two);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip("");
    check_round_trip("[state]\nfile =\n");
    check_round_trip(all_set);
    check_round_trip(all_keys);
}

static void test_failure_leaves_all_as_it_was(void **state)
{
    struct options none = {0};
    struct parsed p;
    struct config before;

    (void)state;
    parse_good(&p, all_set);
    before = p.config;
    buf_reset(&p.error);
    assert_int_equal(config_parse(SPAN_LITERAL("[log]\nlevel = warn\n[group x]\ncomm = x\n[bad]\n"),
                                  "f.ini", &none, &p.config, &p.error),
                     -EINVAL);
    assert_memory_equal(&before, &p.config, sizeof(before));
    assert_int_equal(config_parse(SPAN_LITERAL(""), "f.ini", &none, &p.config, &p.error), 0);
    check_printed(&p.config, all_defaults);
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),   cmocka_unit_test(test_everything_set),
        cmocka_unit_test(test_families),   cmocka_unit_test(test_families_of_other_settings),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_failure_leaves_all_as_it_was),
    };
    int failed = cmocka_run_group_tests_name("config", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed + cmocka_run_group_tests_name("config, plain inih", tests, use_plain_inih, NULL);
}
