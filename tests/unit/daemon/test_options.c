/* The command line: exact names, values, what excludes what; and the table behind it. */
#include "daemon/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 16 };

/* Parses "one two three"; an argument cannot hold a blank. */
struct parsed {
    char text[512];
    char *argv[ARGUMENTS_MAX];
    struct options options;
    struct buf error;
    int result;
};

static void parse(struct parsed *p, const char *line)
{
    int argc = 0;

    snprintf(p->text, sizeof(p->text), "proctallyd %s", line);
    for (char *word = strtok(p->text, " "); word; word = strtok(NULL, " "))
        p->argv[argc++] = word;
    p->argv[argc] = NULL;
    options_init(&p->options);
    buf_init(&p->error, 4096);
    p->result = options_parse(argc, p->argv, &p->options, &p->error);
    buf_append_char(&p->error, '\0');
}

static void drop(struct parsed *p)
{
    options_deinit(&p->options);
    buf_deinit(&p->error);
}

static void check_refused(const char *line, const char *error)
{
    struct parsed p;

    parse(&p, line);
    assert_int_equal(p.result, -EINVAL);
    assert_string_equal(p.error.data, error);
    assert_null(p.options.given);
    drop(&p);
}

static void test_nothing(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "");
    assert_int_equal(p.result, 0);
    assert_null(p.options.config_file);
    assert_int_equal(p.options.n_given, 0);
    assert_null(p.options.explain);
    assert_false(p.options.once || p.options.check_config || p.options.healthcheck ||
                 p.options.help || p.options.version);
    drop(&p);
}

static void test_both_forms(void **state)
{
    static const char *const lines[] = {
        "--config.file=/a --log.level=warn --web.listen-address=:1 --web.listen-address=:2 --once",
        "--config.file /a --log.level warn --web.listen-address :1 --web.listen-address :2 --once",
    };
    struct parsed p;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        parse(&p, lines[i]);
        assert_int_equal(p.result, 0);
        assert_string_equal(p.options.config_file, "/a");
        assert_true(p.options.once);
        assert_int_equal(p.options.n_given, 3);
        assert_int_equal(p.options.given[0].option, OPTION_LOG_LEVEL);
        assert_string_equal(p.options.given[0].text, "warn");
        assert_int_equal(p.options.given[2].option, OPTION_WEB_LISTEN);
        assert_string_equal(p.options.given[2].text, ":2");
        drop(&p);
    }
}

static void test_every_flag(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "--config.file=x --web.listen-address=x --web.telemetry-path=x --path.procfs=x "
              "--collector.source=x --collector.interval=x --log.level=x --log.format=x "
              "--check-config");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.options.n_given, 7);
    assert_true(p.options.check_config);
    drop(&p);
    parse(&p, "--web.listen-address=x --healthcheck");
    assert_int_equal(p.result, 0);
    assert_true(p.options.healthcheck);
    drop(&p);
    parse(&p, "--explain 4194304 --path.procfs=x");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.options.explain_pid, 4194304);
    drop(&p);
}

static void test_values(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "--path.procfs=--x=y --config.file -");
    assert_int_equal(p.result, 0);
    assert_string_equal(p.options.given[0].text, "--x=y");
    assert_string_equal(p.options.config_file, "-");
    drop(&p);
}

static void test_help_ends_parsing(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "--help --nonsense");
    assert_int_equal(p.result, 0);
    assert_true(p.options.help);
    drop(&p);
    parse(&p, "-h nonsense");
    assert_int_equal(p.result, 0);
    assert_true(p.options.help);
    drop(&p);
    parse(&p, "--version --once --check-config");
    assert_int_equal(p.result, 0);
    assert_true(p.options.version);
    drop(&p);
    check_refused("--nonsense --help", "\"--nonsense\" is an unknown flag (see --help)");
}

static void test_refused(void **state)
{
    static const char *const no_pids[] = {"0",   "-1",  "+1",         "x",
                                          "12x", "1.5", "2147483648", "99999999999999999999"};
    static const char *const others[] = {"--explain=1 --once", "--check-config --explain=1",
                                         "--explain=1 --healthcheck"};

    (void)state;
    check_refused("--log.leve=info", "\"--log.leve\" is an unknown flag (see --help)");
    check_refused("--log.levels=info", "\"--log.levels\" is an unknown flag (see --help)");
    check_refused("--LOG.LEVEL=info", "\"--LOG.LEVEL\" is an unknown flag (see --help)");
    check_refused("--no-once", "\"--no-once\" is an unknown flag (see --help)");
    check_refused("-log.level=info", "\"-log.level\" is an unknown flag (see --help)");
    check_refused("-once", "\"-once\" is an unknown flag (see --help)");
    check_refused("-hx", "\"-hx\" is an unknown flag (see --help)");
    check_refused("-v", "\"-v\" is an unknown flag (see --help)");
    check_refused("-h=1", "\"-h\" is an unknown flag (see --help)");
    check_refused("--", "\"--\" is an unknown flag (see --help)");
    check_refused("--=x", "\"--\" is an unknown flag (see --help)");
    check_refused("-", "\"-\" is no flag, and there are no other arguments (see --help)");
    check_refused("stray", "\"stray\" is no flag, and there are no other arguments (see --help)");
    check_refused("--once stray",
                  "\"stray\" is no flag, and there are no other arguments (see --help)");
    check_refused("--log.level", "\"--log.level\" needs a value (see --help)");
    check_refused("--log.level=", "\"--log.level\" needs a value (see --help)");
    check_refused("--log.level --once", "\"--log.level\" needs a value (see --help)");
    check_refused("--config.file", "\"--config.file\" needs a value (see --help)");
    check_refused("--once=yes", "\"--once\" takes no value (see --help)");
    check_refused("--help=", "\"--help\" takes no value (see --help)");
    check_refused("--log.level=info --log.level=info",
                  "\"--log.level\" is given twice (see --help)");
    check_refused("--config.file=a --config.file=a",
                  "\"--config.file\" is given twice (see --help)");
    check_refused("--once --check-config",
                  "\"--once\" and --check-config exclude each other (see --help)");
    check_refused("--healthcheck --once",
                  "\"--healthcheck\" excludes --once and --check-config (see --help)");
    check_refused("--check-config --healthcheck",
                  "\"--healthcheck\" excludes --once and --check-config (see --help)");
    check_refused("--explain", "\"--explain\" needs a value (see --help)");
    check_refused("--explain=1 --explain=1", "\"--explain\" is given twice (see --help)");
    for (size_t i = 0; i < sizeof(no_pids) / sizeof(*no_pids); i++) {
        char line[64], error[64];

        snprintf(line, sizeof(line), "--explain=%s", no_pids[i]);
        snprintf(error, sizeof(error), "\"%s\" is no process' number (see --help)", no_pids[i]);
        check_refused(line, error);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        check_refused(others[i], "\"--explain\" excludes --once, --check-config and --healthcheck "
                                 "(see --help)");
    check_refused("--\x1b[31m\n=x", "\"--\\u001b[31m\\n\" is an unknown flag (see --help)");
}

static void test_empty_argument(void **state)
{
    char name[] = "proctallyd", empty[] = "";
    char *argv[] = {name, empty, NULL};
    struct options options;
    struct buf error;

    (void)state;
    options_init(&options);
    buf_init(&error, 4096);
    assert_int_equal(options_parse(2, argv, &options, &error), -EINVAL);
    assert_int_equal(options_parse(0, argv, &options, &error), 0);
    options_deinit(&options);
    buf_deinit(&error);
}

/* Sections are kept together, and keys are not repeated: the file's parser relies on it. */
static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTION_N; i++) {
        const struct option_spec *a = &option_specs[i];

        assert_non_null(a->section);
        assert_non_null(a->initial);
        assert_true(a->low <= a->high);
        for (size_t k = 0; k < i; k++) {
            const struct option_spec *b = &option_specs[k];

            assert_false(strcmp(a->section, b->section) == 0 && strcmp(a->key, b->key) == 0);
            assert_false(a->flag && b->flag && strcmp(a->flag, b->flag) == 0);
            if (strcmp(a->section, b->section) == 0)
                assert_string_equal(a->section, option_specs[i - 1].section);
        }
    }
}

static void test_help_names_every_flag(void **state)
{
    char *text = NULL, flag[64];
    size_t n;
    FILE *out = open_memstream(&text, &n);

    (void)state;
    options_help(out);
    fclose(out);
    for (size_t i = 0; i < OPTION_N; i++) {
        snprintf(flag, sizeof(flag), "  --%s=%s ", option_specs[i].flag, option_specs[i].value);
        assert_true(!option_specs[i].flag || strstr(text, flag));
    }
    assert_non_null(strstr(text, "  -h, --help "));
    assert_non_null(strstr(text, "[127.0.0.1:19256]\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 110);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_both_forms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_every_flag),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_help_ends_parsing),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_empty_argument),
        cmocka_unit_test(test_help_names_every_flag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
