/* The configuration: what files come to, and for each thing that can be wrong the exact error. */
#include "daemon/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define X10(s)  s s s s s s s s s s
#define X100(s) X10(X10(s))

/*
 * Other builds of inih lack Debian's variables. Set to what those builds have compiled in, just
 * before the parser runs, they make one of them.
 */
int __real_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);
int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);

extern bool ini_use_stack __attribute__((weak));
extern bool ini_allow_multiline __attribute__((weak));
extern bool ini_allow_inline_comments __attribute__((weak));
extern int ini_max_line __attribute__((weak));

static bool plain_inih;

/* An inih that makes of a line something else than we do. */
enum oddity {
    ODD_NOT,
    ODD_DROPS,
    ODD_REPEATS,
    ODD_CUTS_VALUE,
    ODD_CUTS_KEY,
    ODD_OTHER_SECTION,
    ODD_NO_VALUE,
    ODD_TELLS_SECTIONS, /* which is no harm */
};

static enum oddity oddity;
static int odd_result; /* what it returns; 0: what the real one does */

struct odd_handler {
    ini_handler handler;
    void *user;
};

static int odd_take(void *user, const char *section, const char *name, const char *value)
{
    const struct odd_handler *odd = user;

    switch (oddity) {
    case ODD_NOT:
        break;
    case ODD_DROPS:
        return 1;
    case ODD_REPEATS:
        odd->handler(odd->user, section, name, value);
        break;
    case ODD_CUTS_VALUE:
        return odd->handler(odd->user, section, name, value + 1);
    case ODD_CUTS_KEY:
        return odd->handler(odd->user, section, name + 1, value);
    case ODD_OTHER_SECTION:
        return odd->handler(odd->user, "web", name, value);
    case ODD_NO_VALUE:
        return odd->handler(odd->user, section, name, NULL);
    case ODD_TELLS_SECTIONS:
        odd->handler(odd->user, section, NULL, NULL);
        break;
    }
    return odd->handler(odd->user, section, name, value);
}

int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user)
{
    struct odd_handler odd = {handler, user};
    int r;

    if (plain_inih && &ini_use_stack) {
        ini_use_stack = true;
        ini_max_line = 200;
        ini_allow_multiline = true;
        ini_allow_inline_comments = true;
    }
    r = __real_ini_parse_stream(reader, stream, odd_take, &odd);
    return odd_result ? odd_result : r;
}

static bool have_long_lines(void)
{
    return &ini_use_stack && !plain_inih;
}

static int use_plain_inih(void **state)
{
    (void)state;
    plain_inih = true;
    return 0;
}

static int use_own_inih(void **state)
{
    (void)state;
    plain_inih = false;
    return 0;
}

/* A configuration, parsed; flags is ended by an empty entry. */
struct parsed {
    struct config config;
    struct buf error;
    int result;
};

static void parse_with(struct parsed *p, struct span text, struct option_given *given, size_t n)
{
    struct options flags = {.given = given, .n_given = n};

    config_init(&p->config);
    buf_init(&p->error, CONFIG_ERROR_MAX);
    p->result = config_parse(text, "f.ini", &flags, &p->config, &p->error);
    buf_append_char(&p->error, '\0');
}

static void parse(struct parsed *p, const char *text)
{
    parse_with(p, span_from_str(text), NULL, 0);
}

static void drop(struct parsed *p)
{
    config_deinit(&p->config);
    buf_deinit(&p->error);
}

static void check_good(const struct parsed *p)
{
    if (p->result < 0)
        fail_msg("%s", p->error.data);
    assert_string_equal(p->error.data, "");
}

static void check_refused_span(struct span text, const char *error)
{
    struct parsed p;

    parse_with(&p, text, NULL, 0);
    assert_int_equal(p.result, -EINVAL);
    assert_string_equal(p.error.data, error);
    assert_null(p.config.procfs);
    drop(&p);
}

struct row {
    const char *text;
    const char *error;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_refused_span(span_from_str(rows[i].text), rows[i].error);
}

#define CHECK_REFUSED(rows)        check_rows(rows, sizeof(rows) / sizeof((rows)[0]))
#define CHECK_LITERAL(text, error) check_refused_span(SPAN_LITERAL(text), error)

/* The settings as config_print() writes them. */
static char *printed(const struct config *c)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    fclose(out);
    return text;
}

static const char all_defaults[] = "# The settings in effect, of f.ini\n"
                                   "\n"
                                   "[collector]\n"
                                   "source = auto\n"
                                   "procfs = /proc\n"
                                   "interval = 10s\n"
                                   "cpu_budget = 2%\n"
                                   "stale_after = 3\n"
                                   "probe_deadline = 2s\n"
                                   "pss_max_size = 4G\n"
                                   "\n"
                                   "[web]\n"
                                   "listen = 127.0.0.1:19256\n"
                                   "telemetry_path = /metrics\n"
                                   "max_connections = 64\n"
                                   "max_connections_per_address = 16\n"
                                   "request_deadline = 10s\n"
                                   "\n"
                                   "[groups]\n"
                                   "max = 200\n"
                                   "forget = 1h\n"
                                   "compat = none\n"
                                   "\n"
                                   "[threads]\n"
                                   "groups = \n"
                                   "\n"
                                   "[metrics]\n"
                                   "include = \n"
                                   "exclude = \n"
                                   "\n"
                                   "[processes]\n"
                                   "top = 0\n"
                                   "by = cpu\n"
                                   "\n"
                                   "[state]\n"
                                   "file = $RUNTIME_DIRECTORY/state\n"
                                   "\n"
                                   "[log]\n"
                                   "level = info\n"
                                   "format = logfmt\n";

static const char all_set[] = "[collector]\n"
                              "source = procfs\n"
                              "procfs = /host/a proc\n"
                              "interval = 1500ms\n"
                              "cpu_budget = 15%\n"
                              "stale_after = 5\n"
                              "probe_deadline = 750ms\n"
                              "pss_max_size = 512M\n"
                              "[web]\n"
                              "listen = :9256 [::1]:0 localhost:80\n"
                              "telemetry_path = /a/b\n"
                              "max_connections = 8\n"
                              "max_connections_per_address = 4\n"
                              "request_deadline = 3s\n"
                              "[groups]\n"
                              "max = 7\n"
                              "forget = 2d\n"
                              "compat = process-exporter\n"
                              "[group web-$$${comm}]\n"
                              "comm = nginx* apache2 [ab]? a\\ b \\;c \\\"d\n"
                              "[threads]\n"
                              "groups = web-* a\\ b\n"
                              "[metrics]\n"
                              "include = proctally_group_*\n"
                              "exclude = *_swap_* proctally_group_threads\n"
                              "[processes]\n"
                              "top = 25\n"
                              "by = fds\n"
                              "[group a b]\n"
                              "comm = *\n"
                              "[state]\n"
                              "file = /var/lib/a state\n"
                              "[log]\n"
                              "level = error\n"
                              "format = json\n";

static void test_defaults(void **state)
{
    struct selection families;
    struct parsed p;
    char *text;

    (void)state;
    parse(&p, "");
    check_good(&p);
    assert_string_equal(p.config.file, "f.ini");
    assert_int_equal(p.config.interval_ns, UINT64_C(10000000000));
    assert_int_equal(p.config.cpu_budget_ppm, 20000);
    assert_int_equal(p.config.stale_after, 3);
    assert_int_equal(p.config.probe_deadline_ns, 2000000000);
    assert_int_equal(p.config.pss_max_bytes, UINT64_C(4) << 30);
    assert_int_equal(p.config.rules.n, 0);
    selection_default(&families);
    assert_memory_equal(&p.config.families, &families, sizeof(families));
    text = printed(&p.config);
    assert_string_equal(text, all_defaults);
    free(text);
    drop(&p);
}

static void test_everything_set(void **state)
{
    const struct config *c;
    struct parsed p;

    (void)state;
    parse(&p, all_set);
    check_good(&p);
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

static void test_groups(void **state)
{
    static const char *const globs[] = {"nginx*", "apache2", "[ab]?", "a\\ b", "\\;c", "\\\"d"};
    const struct config_rule *g;
    struct parsed p;

    (void)state;
    parse(&p, all_set);
    check_good(&p);
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

static const char all_keys[] = "[exclude tests]\n"
                               "cmdline = --test (a|b)   c$\n"
                               "cmdline = ^\\;x \\# y\\\\z = 1\n"
                               "[group ${user}-${role}]\n"
                               "cmdline = --role=(?<role>\\w+)\n"
                               "children = yes\n"
                               "pod = a-*\n"
                               "container = 0123456789ab db*\n"
                               "cgroup = /a/* /b\n"
                               "unit = getty@*.service\n"
                               "user = alice 1000\n"
                               "exe = app /opt/*\n"
                               "kernel = no\n"
                               "comm = a b\n"
                               "[exclude ${odd]\n"
                               "exe = x\n"
                               "kernel = any\n"
                               "[exclude kernel-threads]\n"
                               "kernel = yes\n"
                               "[group tests]\n"
                               "unit = t*\n"
                               "children = no\n";

static void test_rules(void **state)
{
    const struct config_rule *r;
    struct parsed p;
    char *text;

    (void)state;
    parse(&p, all_keys);
    check_good(&p);
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
    text = printed(&p.config);
    assert_non_null(strstr(text, "\n[exclude tests]\n"
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
                                 "children = no\n"));
    free(text);
    drop(&p);
}

static void test_families(void **state)
{
    struct selection expected;
    struct parsed p;

    (void)state;
    parse(&p, all_set);
    check_good(&p);
    selection_default(&expected);
    selection_turn_on(&expected, FAMILY_PROCESS);
    selection_turn_on(&expected, FAMILY_COMPAT);
    selection_include(&expected, SPAN_LITERAL("proctally_group_*"));
    selection_exclude(&expected, SPAN_LITERAL("*_swap_*"));
    selection_exclude(&expected, SPAN_LITERAL("proctally_group_threads"));
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    /* Little is not nothing. */
    parse(&p, "[metrics]\nexclude = proctally_[!u]* process_*\n");
    check_good(&p);
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
    parse(&p, "[metrics]\ninclude = *\n");
    check_good(&p);
    selection_default(&expected);
    selection_include(&expected, SPAN_LITERAL("*"));
    selection_turn_off(&expected, FAMILY_PROCESS);
    selection_turn_off(&expected, FAMILY_COMPAT);
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    parse(&p, "[metrics]\nexclude = proctally_process_swap_bytes\n[processes]\ntop = 1\n");
    check_good(&p);
    selection_default(&expected);
    selection_turn_on(&expected, FAMILY_PROCESS);
    selection_exclude(&expected, SPAN_LITERAL("proctally_process_swap_bytes"));
    assert_memory_equal(&p.config.families, &expected, sizeof(expected));
    drop(&p);
    parse(&p, "[groups]\ncompat = process-exporter\n[metrics]\nexclude = proctally_*\n");
    check_good(&p);
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

    parse(&one, text);
    check_good(&one);
    first = printed(&one.config);
    parse(&two, first);
    check_good(&two);
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

/* Forms of a file that mean the same as the plain one. */
static void test_accepted_forms(void **state)
{
    static const char *const texts[] = {
        "[log]\nlevel = warn\n",
        "\xef\xbb\xbf[log]\nlevel = warn\n",
        "[log]\r\nlevel = warn\r\n",
        "[log]\nlevel = warn",
        "[log]\nlevel=warn\n",
        "[log]\t\nlevel\t=\twarn\t \n",
        "\n  \n\t\n# x\n; y\n  # z\n[log] \n#level = info\nlevel = warn\n\n",
        "[log]\n# \xc3\xa4 = ; [\nlevel = warn\n",
        "# " X100("0123456789") "0 level = x\n[log]\nlevel = warn\n",
    };
    struct parsed p;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse(&p, texts[i]);
        check_good(&p);
        assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
        drop(&p);
    }
    parse(&p, "\xef\xbb\xbf");
    check_good(&p);
    drop(&p);
}

static void test_bad_bytes(void **state)
{
    (void)state;
    CHECK_LITERAL("\xef\xbb\xbf\xef\xbb\xbf[log]\n",
                  "f.ini:1: a byte order mark, and not the first one of the file");
    CHECK_LITERAL("[log]\n\xef\xbb\xbflevel = warn\n",
                  "f.ini:2: [log]: a byte order mark, and not the first one of the file");
    CHECK_LITERAL("\xff\xfe[\0l\0", "f.ini:1: is UTF-16; it must be UTF-8");
    CHECK_LITERAL("\xfe\xff\0[\0l", "f.ini:1: is UTF-16; it must be UTF-8");
    CHECK_LITERAL("[\0l\0o\0g\0]\0\n\0", "f.ini:1: control character 0x00");
    CHECK_LITERAL("[log]\nlevel = warn\0\n", "f.ini:2: [log] level: control character 0x00");
    CHECK_LITERAL("[log]\rlevel = warn\r", "f.ini:1: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("[log]\r\nlevel = warn\r",
                  "f.ini:2: [log]: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("[log]\r\r\n", "f.ini:1: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("# \x1b[31m\n", "f.ini:1: control character 0x1b");
    CHECK_LITERAL("[log]\nlevel = \x7f\n", "f.ini:2: [log] level: control character 0x7f");
    CHECK_LITERAL("[log]\nlevel = \xff\xfe\x80\n", "f.ini:2: [log] level: byte 0xff is no UTF-8");
    CHECK_LITERAL("[log]\v\n", "f.ini:1: control character 0x0b");
}

static void test_bad_lines(void **state)
{
    static const struct row rows[] = {
        {"level = warn\n", "f.ini:1: level: stands before the first section"},
        {"[log]\njust\x01word\n", "f.ini:2: [log]: control character 0x01"},
        {"[log]\nle\xffvel = warn\n", "f.ini:2: [log]: byte 0xff is no UTF-8"},
        {"[log]\njustaword\n", "f.ini:2: [log]: this line is no \"key = value\""},
        {"[log]\nlevel: warn\n", "f.ini:2: [log]: this line is no \"key = value\": a \":\" comes "
                                 "before any \"=\""},
        {"[log]\n = warn\n",
         "f.ini:2: [log]: is indented; a value cannot be continued on another line"},
        {"[log]\n= warn\n", "f.ini:2: [log]: the key before the \"=\" is missing"},
        {"[log]\n=\n", "f.ini:2: [log]: the key before the \"=\" is missing"},
        {"[log]\nlevel =\n", "f.ini:2: [log] level: needs a value"},
        {"[log]\nlevel = \t \n", "f.ini:2: [log] level: needs a value"},
        {"[log]\nlevel = warn\n  format = json\n",
         "f.ini:3: [log]: is indented; a value cannot be continued on another line"},
        {"[log]\n\tlevel = warn\n",
         "f.ini:2: [log]: is indented; a value cannot be continued on another line"},
        {" [log]\n", "f.ini:1: is indented; a value cannot be continued on another line"},
        {"[log]\nlevel = warn ; loud\n",
         "f.ini:2: [log] level: \" ;\" begins no comment here; those have "
         "lines of their own (where one is meant, write \\;)"},
        {"[log]\nlevel = warn\t# loud\n",
         "f.ini:2: [log] level: \" #\" begins no comment here; those "
         "have lines of their own (where one is meant, write \\#)"},
        {"[log] ; loud\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[group a ;b]\n", "f.ini:1: [group a ;b]: \" ;\" begins no comment here; those have lines "
                           "of their own (where one is meant, write \\;)"},
        {"[group a]\ncomm = ^db ;x\n",
         "f.ini:2: [group a] comm: \" ;\" begins no comment here; those "
         "have lines of their own (where one is meant, write \\;)"},
        {"[group a]\ncomm =;x\n", "f.ini:2: [group a] comm: \" ;\" begins no comment here; those "
                                  "have lines of their own (where one is meant, write \\;)"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_bad_sections(void **state)
{
    static const struct row rows[] = {
        {"[nonsense]\n", "f.ini:1: [nonsense]: unknown section"},
        {"[nonsense]\na = 1\n", "f.ini:1: [nonsense]: unknown section"},
        {"[]\n", "f.ini:1: []: unknown section"},
        {"[ log]\n", "f.ini:1: [ log]: unknown section"},
        {"[Log]\n", "f.ini:1: [Log]: unknown section"},
        {"[lo]\n", "f.ini:1: [lo]: unknown section"},
        {"[group]\n", "f.ini:1: [group]: lacks its name: [group NAME]"},
        {"[group ]\n", "f.ini:1: [group ]: lacks its name: [group NAME]"},
        {"[groupa]\n", "f.ini:1: [groupa]: unknown section"},
        {"[log\nlevel = warn\n", "f.ini:1: this section lacks its ]"},
        {"[web]\n[log\n", "f.ini:2: this section lacks its ]"},
        {"[log]]\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[log]level = warn\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[log]\n[web]\n[log]\nlevel = warn\n", "f.ini:3: [log]: is repeated, first in line 1"},
        {"[log]\n[log]\n", "f.ini:2: [log]: is repeated, first in line 1"},
        /* cut at 49 bytes it would be one that is */
        {"[group " X10("0123") "012]\ncomm = a\n[group " X10("0123") "0123]\ncomm = b\n",
         "f.ini:3: the section's name is longer than 49 bytes"},
        {"[" X10("ssssssss") "]\n", "f.ini:1: the section's name is longer than 49 bytes"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_bad_keys(void **state)
{
    static const struct row rows[] = {
        {"[log]\nno_such_key = 1\n", "f.ini:2: [log] no_such_key: unknown key"},
        {"[log]\nlisten = :1\n", "f.ini:2: [log] listen: unknown key"},
        {"[log]\nLevel = warn\n", "f.ini:2: [log] Level: unknown key"},
        {"[log]\nlevel x = warn\n", "f.ini:2: [log] level x: unknown key"},
        {"[group a]\nlevel = warn\n", "f.ini:2: [group a] level: unknown key"},
        {"[log]\nlevel = warn\nformat = json\nlevel = info\n",
         "f.ini:4: [log] level: is repeated, first in line 2"},
        {"[log]\nlevel = warn\nlevel = warn\n",
         "f.ini:3: [log] level: is repeated, first in line 2"},
        {"[group a]\ncomm = a\ncomm = b\n",
         "f.ini:3: [group a] comm: is repeated, first in line 2"},
        {"[log]\nlevel" X10("zzzzz") "tail = 1\n",
         "f.ini:2: [log]: the key is longer than 49 bytes"},
        {"[log]\n" X10("kkkkkkkk") " = 1\n", "f.ini:2: [log]: the key is longer than 49 bytes"},
    };

    (void)state;
    CHECK_REFUSED(rows);
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

static void test_every_source(void **state)
{
    static const char *const names[] = {
        [CONFIG_SOURCE_AUTO] = "auto",
        [CONFIG_SOURCE_PROCFS] = "procfs",
#ifdef PROCTALLY_WITH_BPF
        [CONFIG_SOURCE_BPF] = "bpf",
#endif
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[64], *again;
        struct parsed p;

        snprintf(text, sizeof(text), "[collector]\nsource = %s\n", names[i]);
        parse(&p, text);
        check_good(&p);
        assert_int_equal(p.config.source, i);
        again = printed(&p.config);
        assert_non_null(strstr(again, text));
        free(again);
        drop(&p);
    }
}

static void test_bad_values(void **state)
{
    static const struct row rows[] = {
        {"[log]\nlevel = loud\n",
         "f.ini:2: [log] level: \"loud\" is none of debug|info|warn|error"},
        {"[log]\nlevel = INFO\n",
         "f.ini:2: [log] level: \"INFO\" is none of debug|info|warn|error"},
        {"[log]\nlevel = debug|info\n",
         "f.ini:2: [log] level: \"debug|info\" is none of debug|info|warn|error"},
        {"[log]\nlevel = \"info\"\n",
         "f.ini:2: [log] level: \"\\\"info\\\"\" is none of debug|info|warn|error"},
#ifndef PROCTALLY_WITH_BPF
        {"[collector]\nsource = bpf\n",
         "f.ini:2: [collector] source: \"bpf\" cannot be had: this build has no bpf source"},
#endif
        {"[collector]\nsource = proc\n",
         "f.ini:2: [collector] source: \"proc\" is none of auto|procfs|bpf"},
        {"[groups]\ncompat = yes\n",
         "f.ini:2: [groups] compat: \"yes\" is none of none|process-exporter"},
        {"[processes]\nby = rss\n",
         "f.ini:2: [processes] by: \"rss\" is none of cpu|memory|io|fds"},
        {"[processes]\ntop = 1001\n", "f.ini:2: [processes] top: \"1001\" is not within 0..1000"},
        {"[log]\nformat = bpf\n", "f.ini:2: [log] format: \"bpf\" is none of logfmt|json"},
        {"[state]\nfile = state\n",
         "f.ini:2: [state] file: \"state\" is neither an absolute path nor below "
         "$RUNTIME_DIRECTORY"},
        {"[state]\nfile = $RUNTIME_DIRECTORY/../state\n",
         "f.ini:2: [state] file: \"$RUNTIME_DIRECTORY/../state\" is not below "
         "$RUNTIME_DIRECTORY, for there is a .. in it"},
        {"[state]\nfile = $RUNTIME_DIRECTORY/a/..\n",
         "f.ini:2: [state] file: \"$RUNTIME_DIRECTORY/a/..\" is not below "
         "$RUNTIME_DIRECTORY, for there is a .. in it"},
        {"[state]\nfile = $RUNTIME_DIRECTORY/\n",
         "f.ini:2: [state] file: \"$RUNTIME_DIRECTORY/\" names no file, since it ends in /"},
        {"[state]\nfile = /run/x/\n",
         "f.ini:2: [state] file: \"/run/x/\" names no file, since it ends in /"},
        {"[state]\nfile = $RUNTIME_DIRECTORYstate\n",
         "f.ini:2: [state] file: \"$RUNTIME_DIRECTORYstate\" is neither an absolute path nor below "
         "$RUNTIME_DIRECTORY"},
        {"[collector]\nprocfs = proc\n",
         "f.ini:2: [collector] procfs: \"proc\" is no absolute path"},
        {"[collector]\ninterval = 10\n",
         "f.ini:2: [collector] interval: \"10\" lacks a unit: ms, s, m, h or d"},
        {"[collector]\ninterval = 99ms\n",
         "f.ini:2: [collector] interval: \"99ms\" is not within 100ms..1h"},
        {"[collector]\ninterval = 61m\n",
         "f.ini:2: [collector] interval: \"61m\" is not within 100ms..1h"},
        {"[collector]\ninterval = 0s\n",
         "f.ini:2: [collector] interval: \"0s\" is not within 100ms..1h"},
        {"[collector]\ninterval = -1s\n",
         "f.ini:2: [collector] interval: \"-1s\" is no duration, such as 10s"},
        {"[collector]\ninterval = 99999999999999999999s\n",
         "f.ini:2: [collector] interval: \"99999999999999999999s\" is too large"},
        {"[collector]\ncpu_budget = 2\n", "f.ini:2: [collector] cpu_budget: \"2\" lacks its %"},
        {"[collector]\ncpu_budget = 0%\n",
         "f.ini:2: [collector] cpu_budget: \"0%\" is not within 1%..100%"},
        {"[collector]\nstale_after = 0\n",
         "f.ini:2: [collector] stale_after: \"0\" is not within 1..100"},
        {"[collector]\nstale_after = 101\n",
         "f.ini:2: [collector] stale_after: \"101\" is not within 1..100"},
        {"[collector]\npss_max_size = 16385G\n",
         "f.ini:2: [collector] pss_max_size: \"16385G\" is not within 0..16384G"},
        {"[groups]\nmax = 0\n", "f.ini:2: [groups] max: \"0\" is not within 1..100000"},
        {"[groups]\nmax = 100001\n", "f.ini:2: [groups] max: \"100001\" is not within 1..100000"},
        {"[groups]\nmax = 2 0\n", "f.ini:2: [groups] max: \"2 0\" is no whole number"},
        {"[groups]\nmax = 99999999999999999999\n",
         "f.ini:2: [groups] max: \"99999999999999999999\" is too large"},
        {"[groups]\nforget = 0s\n", "f.ini:2: [groups] forget: \"0s\" is not within 1s..365d"},
        {"[metrics]\ninclude = proctally_up nothing_*\n",
         "f.ini:2: [metrics] include: \"nothing_*\" matches no metric"},
        {"[metrics]\nexclude = proctally_upp\n",
         "f.ini:2: [metrics] exclude: \"proctally_upp\" matches no metric"},
        {"[threads]\ngroups = web [\n",
         "f.ini:2: [threads] groups: \"[\" is no glob: a [ is not closed, or a \\ is last"},
        {"[metrics]\nexclude = [\n",
         "f.ini:2: [metrics] exclude: \"[\" is no glob: a [ is not closed, or a \\ is last"},
        {"[metrics]\n\nexclude = *\n", "f.ini:3: [metrics] exclude: leaves no metric at all"},
        {"[metrics]\nexclude = proctally_* process_*\ninclude = *\n[log]\nlevel = info\n",
         "f.ini:2: [metrics] exclude: leaves no metric at all"},
        {"[metrics]\nexclude = *_[s-r]*\n",
         "f.ini:2: [metrics] exclude: \"*_[s-r]*\" has a range in [ ] that runs backwards, so "
         "nothing is in it"},
        {"[web]\nlisten = :99999\n", "f.ini:2: [web] listen: \":99999\" has a port above 65535"},
        {"[web]\nlisten = :1 127.0.0.1:\n",
         "f.ini:2: [web] listen: \"127.0.0.1:\" lacks the port behind its colon"},
        {"[web]\nlisten = :1 :2 :1\n", "f.ini:2: [web] listen: \":1\" is named twice"},
        {"[web]\nlisten = " X10(":0 ") ":0 :0 :0 :0 :0 :0 :0\n",
         "f.ini:2: [web] listen: \":0\" is one address too many"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void check_telemetry_path(const char *path, const char *what)
{
    char text[512], error[512];

    snprintf(text, sizeof(text), "[web]\ntelemetry_path = %s\n", path);
    snprintf(error, sizeof(error), "f.ini:2: [web] telemetry_path: \"%s\" %s", path, what);
    check_refused_span(span_from_str(text), error);
}

/* Those of one address are some of all: by default they follow, said otherwise it is an error. */
static void test_connections(void **state)
{
    static const struct row rows[] = {
        {"[web]\nmax_connections_per_address = 9\nmax_connections = 8\n[log]\nlevel = warn\n",
         "f.ini:2: [web] max_connections_per_address: is more than max_connections, 8"},
        {"[web]\nmax_connections = 8\n\nmax_connections_per_address = 16\n",
         "f.ini:4: [web] max_connections_per_address: is more than max_connections, 8"},
        {"[web]\nmax_connections_per_address = 65\n",
         "f.ini:2: [web] max_connections_per_address: is more than max_connections, 64"},
    };
    struct parsed p;

    (void)state;
    CHECK_REFUSED(rows);
    parse(&p, "[web]\nmax_connections = 8\n");
    check_good(&p);
    assert_int_equal(p.config.max_connections_per_address, 8);
    drop(&p);
    parse(&p, "[web]\nmax_connections = 8\nmax_connections_per_address = 8\n");
    check_good(&p);
    drop(&p);
}

static void test_telemetry_path(void **state)
{
    static const char taken[] = "is the path of something else: take none of /, /-/ and /api/";
    static const char *const good[] = {"/m", "/probe/metrics", "/.well-known/x", "/apis", "/-x"};
    char text[128];
    struct parsed p;

    (void)state;
    check_telemetry_path("metrics", "does not begin with /");
    check_telemetry_path("/", taken);
    check_telemetry_path("/-/ready", taken);
    check_telemetry_path("/-", taken);
    check_telemetry_path("/api/v1", taken);
    check_telemetry_path("/api", taken);
    check_telemetry_path("/a?b", "has bytes other than letters, digits, and -._~/");
    check_telemetry_path("/a b", "has bytes other than letters, digits, and -._~/");
    check_telemetry_path("/%6d", "has bytes other than letters, digits, and -._~/");
    check_telemetry_path("//a", "has a segment that is empty or dots alone");
    check_telemetry_path("/a/", "has a segment that is empty or dots alone");
    check_telemetry_path("/a/../b", "has a segment that is empty or dots alone");
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(text, sizeof(text), "[web]\ntelemetry_path = %s\n", good[i]);
        parse(&p, text);
        check_good(&p);
        drop(&p);
    }
}

/* The tail of a long line must never become a setting of its own. */
static void test_long_lines(void **state)
{
    static const char value[] = "[group a]\ncomm = " X100("0123") "\n[log]\nlevel = warn\n";
    static const char inject[] =
        "[group a]\ncomm = " X10("0123456789") X10("01234567") "012=level = error\n[log]\n";
    struct parsed p;

    (void)state;
    if (!have_long_lines()) {
        check_refused_span(span_from_str(value),
                           "f.ini:2: [group a] comm: this line is longer than "
                           "the INI library takes, 198 bytes");
        check_refused_span(span_from_str(inject), "f.ini:2: [group a] comm: this line is longer "
                                                  "than the INI library takes, 198 bytes");
        return;
    }
    parse(&p, value);
    check_good(&p);
    assert_int_equal(strlen(p.config.rules.items[0].patterns[RULE_COMM].items[0]), 400);
    assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
    drop(&p);
    parse(&p, inject);
    check_good(&p);
    assert_int_equal(p.config.rules.items[0].patterns[RULE_COMM].n, 3);
    assert_int_equal(p.config.log_level, LOG_LEVEL_INFO);
    drop(&p);
}

/* A line of every length around both libraries' limits, each ending in what could be a pair. */
static void test_every_length(void **state)
{
    size_t longest = have_long_lines() ? 65534 : 198;
    struct buf text;
    struct parsed p;

    (void)state;
    buf_init(&text, 1 << 20);
    for (size_t n = longest - 20; n < longest + 20; n++) {
        buf_reset(&text);
        buf_append_str(&text, "[collector]\nprocfs = /");
        while (text.len < strlen("[collector]\n") + n - 8)
            buf_append_char(&text, text.len % 4000 ? 'x' : '/');
        buf_append_str(&text, " max = 3\n[groups]\nmax = 5\n");
        parse_with(&p, buf_span(&text), NULL, 0);
        if (n > longest) {
            assert_int_equal(p.result, -EINVAL);
            assert_non_null(
                strstr(p.error.data, "f.ini:2: [collector] procfs: this line is longer"));
        } else if (n < 4096) {
            check_good(&p);
            assert_int_equal(p.config.groups_max, 5);
            assert_int_equal(strlen(p.config.procfs), n - strlen("procfs = "));
        } else {
            assert_non_null(strstr(p.error.data, "is too long"));
        }
        drop(&p);
    }
    buf_deinit(&text);
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

/* A wrong value is quoted, but not at any length. */
static void test_errors_are_short(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "[log]\nlevel = " X10("01234567") "89\n");
    assert_string_equal(p.error.data,
                        "f.ini:2: [log] level: \"" X10("01234567") "...\" is none of "
                                                                   "debug|info|warn|error");
    drop(&p);
}

/* What inih hands back is taken only if it is what we read on the line. */
static void test_odd_inih(void **state)
{
    static const char text[] = "[log]\nlevel = warn\nformat = json\n";
    struct parsed p;

    (void)state;
    for (oddity = ODD_DROPS; oddity <= ODD_NO_VALUE; oddity++) {
        parse(&p, text);
        assert_int_equal(p.result, -EINVAL);
        assert_string_equal(p.error.data, "f.ini:2: [log] level: the INI library reads this line "
                                          "as something else");
        drop(&p);
    }
    oddity = ODD_DROPS;
    check_refused_span(SPAN_LITERAL("[log]\nlevel = warn"),
                       "f.ini:2: [log] level: the INI library reads this line as something else");
    oddity = ODD_TELLS_SECTIONS;
    parse(&p, text);
    check_good(&p);
    assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
    drop(&p);
    oddity = ODD_NOT;
    odd_result = 3;
    check_refused_span(span_from_str(text), "f.ini:3: [log] format: the INI library refuses the "
                                            "file");
    odd_result = -2;
    parse(&p, text);
    assert_int_equal(p.result, -ENOMEM);
    drop(&p);
    odd_result = 0;
}

static void test_flags_win(void **state)
{
    struct option_given given[] = {
        {OPTION_LOG_LEVEL, "debug"},
        {OPTION_WEB_LISTEN, ":1"},
        {OPTION_WEB_LISTEN, "[::1]:2"},
        {OPTION_COLLECTOR_PROCFS, "/host/proc"},
    };
    struct parsed p;
    char *text;

    (void)state;
    parse_with(&p, SPAN_LITERAL("[log]\nlevel = warn\nformat = json\n[web]\nlisten = :7 :8 :9\n"),
               given, 4);
    check_good(&p);
    assert_int_equal(p.config.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(p.config.log_format, LOG_FORMAT_JSON);
    text = printed(&p.config);
    assert_non_null(strstr(text, "\nlisten = :1 [::1]:2\n"));
    assert_non_null(strstr(text, "\nprocfs = /host/proc\n"));
    free(text);
    drop(&p);
}

static void check_flag_refused(enum option_id option, const char *value, const char *error)
{
    struct option_given given = {option, value};
    struct parsed p;

    parse_with(&p, SPAN_LITERAL(""), &given, 1);
    assert_int_equal(p.result, -EINVAL);
    assert_string_equal(p.error.data, error);
    drop(&p);
}

/* Flags can say nothing that a file could not: else it could not be printed. */
static void test_bad_flags(void **state)
{
    (void)state;
    check_flag_refused(OPTION_COLLECTOR_INTERVAL, "10",
                       "--collector.interval: \"10\" lacks a unit: ms, s, m, h or d");
#ifndef PROCTALLY_WITH_BPF
    check_flag_refused(OPTION_COLLECTOR_SOURCE, "bpf",
                       "--collector.source: \"bpf\" cannot be had: "
                       "this build has no bpf source");
#endif
    check_flag_refused(OPTION_WEB_LISTEN, ":99999",
                       "--web.listen-address: \":99999\" has a port above 65535");
    check_flag_refused(OPTION_COLLECTOR_PROCFS, "/a\nb", "--path.procfs: control character 0x0a");
    check_flag_refused(OPTION_COLLECTOR_PROCFS, "/a\xff", "--path.procfs: byte 0xff is no UTF-8");
    check_flag_refused(
        OPTION_COLLECTOR_PROCFS, "/a ;b",
        "--path.procfs: \" ;\" begins no comment here; those have lines of their own "
        "(where one is meant, write \\;)");
    check_flag_refused(OPTION_COLLECTOR_PROCFS, " ", "--path.procfs: needs a value");
}

static void test_failure_leaves_all_as_it_was(void **state)
{
    struct options none = {0};
    struct parsed p;
    struct config before;
    char *text;

    (void)state;
    parse(&p, all_set);
    check_good(&p);
    before = p.config;
    buf_reset(&p.error);
    assert_int_equal(config_parse(SPAN_LITERAL("[log]\nlevel = warn\n[group x]\ncomm = x\n[bad]\n"),
                                  "f.ini", &none, &p.config, &p.error),
                     -EINVAL);
    assert_memory_equal(&before, &p.config, sizeof(before));
    assert_int_equal(config_parse(SPAN_LITERAL(""), "f.ini", &none, &p.config, &p.error), 0);
    text = printed(&p.config);
    assert_string_equal(text, all_defaults);
    free(text);
    drop(&p);
}

/* ---- files ---- */

struct folder {
    char path[64];
    char file[128];
};

static void folder_open(struct folder *f)
{
    snprintf(f->path, sizeof(f->path), "/tmp/test_config.XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->file, sizeof(f->file), "%s/x.ini", f->path);
}

static void folder_close(struct folder *f)
{
    unlink(f->file);
    assert_int_equal(rmdir(f->path), 0);
}

static void write_file(const char *file, struct span text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.p, text.n), text.n);
    close(fd);
}

static void check_file_refused(const char *file, int result, const char *what)
{
    struct options flags = {.config_file = file};
    struct config c;
    struct buf error;
    char expected[512];

    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    alarm(10);
    assert_int_equal(config_load(&flags, &c, &error), result);
    alarm(0);
    buf_append_char(&error, '\0');
    snprintf(expected, sizeof(expected), "%s%s", file, what);
    assert_string_equal(error.data, expected);
    buf_deinit(&error);
}

static void test_file(void **state)
{
    struct options flags = {0};
    struct folder folder;
    struct config c;
    struct buf error;
    char *text;

    (void)state;
    folder_open(&folder);
    flags.config_file = folder.file;
    write_file(folder.file, span_from_str(all_set));
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_load(&flags, &c, &error), 0);
    assert_string_equal(c.file, folder.file);
    assert_int_equal(c.groups_max, 7);
    text = printed(&c);
    assert_true(strncmp(text, "# The settings in effect, of /tmp/test_config.", 46) == 0);
    free(text);

    write_file(folder.file, SPAN_LITERAL(""));
    assert_int_equal(config_load(&flags, &c, &error), 0);
    assert_int_equal(c.groups_max, 200);
    config_deinit(&c);
    buf_deinit(&error);
    folder_close(&folder);
}

static void test_no_file(void **state)
{
    struct options flags = {0};
    struct config c;
    struct buf error;
    char *text;

    (void)state;
    if (access(CONFIG_DEFAULT_FILE, F_OK) == 0)
        skip();
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_load(&flags, &c, &error), 0);
    assert_null(c.file);
    text = printed(&c);
    assert_true(strncmp(text, "# The settings in effect, of defaults and flags alone\n", 54) == 0);
    free(text);
    config_deinit(&c);
    buf_deinit(&error);
}

static void test_bad_files(void **state)
{
    struct folder folder;

    (void)state;
    folder_open(&folder);
    check_file_refused(folder.path, -EISDIR, ": Is a directory");
    check_file_refused(folder.file, -ENOENT, ": No such file or directory");
    check_file_refused("/dev/zero", -EINVAL, ": is no regular file");
    check_file_refused("/dev/null", -EINVAL, ": is no regular file");
    assert_int_equal(symlink("x.ini", folder.file), 0);
    check_file_refused(folder.file, -ELOOP, ": Too many levels of symbolic links");
    unlink(folder.file);
    assert_int_equal(mkfifo(folder.file, 0600), 0);
    check_file_refused(folder.file, -EINVAL, ": is no regular file");
    unlink(folder.file);
    write_file(folder.file, SPAN_LITERAL("[log]\nlevel = loud\n"));
    check_file_refused(folder.file, -EINVAL,
                       ":2: [log] level: \"loud\" is none of debug|info|warn|error");
    chmod(folder.file, 0);
    if (geteuid() != 0)
        check_file_refused(folder.file, -EACCES, ": Permission denied");
    folder_close(&folder);
}

static void test_file_name_is_escaped(void **state)
{
    struct options flags = {.config_file = "/no\x1b[31m\nsuch"};
    struct config c;
    struct buf error;

    (void)state;
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_load(&flags, &c, &error), -ENOENT);
    buf_append_char(&error, '\0');
    assert_string_equal(error.data, "/no\\u001b[31m\\nsuch: No such file or directory");
    buf_deinit(&error);
}

static void test_file_size(void **state)
{
    static char text[CONFIG_FILE_MAX + 1];
    struct options flags = {0};
    struct folder folder;
    struct config c;
    struct buf error;

    (void)state;
    folder_open(&folder);
    flags.config_file = folder.file;
    memset(text, '\n', sizeof(text));
    write_file(folder.file, span_of(text, CONFIG_FILE_MAX));
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_load(&flags, &c, &error), 0);
    config_deinit(&c);
    buf_deinit(&error);
    write_file(folder.file, span_of(text, CONFIG_FILE_MAX + 1));
    check_file_refused(folder.file, -EINVAL, ": is larger than 1 MiB");
    folder_close(&folder);
}

/* ---- what is shipped ---- */

/* Reads config/proctallyd.ini; with `uncomment`, its `#key = value` lines count. */
static void read_sample(struct buf *ret, bool uncomment)
{
    FILE *f = fopen(TESTS_DIR "/../config/proctallyd.ini", "re");
    char line[1024];

    assert_non_null(f);
    buf_init(ret, CONFIG_FILE_MAX);
    while (fgets(line, sizeof(line), f)) {
        bool setting = line[0] == '#' && line[1] != ' ' && line[1] != '\n' && line[1] != '#';

        buf_append_str(ret, uncomment && setting ? line + 1 : line);
    }
    fclose(f);
}

/* As it is shipped it changes nothing, and what it shows as defaults are the defaults. */
static void test_sample(void **state)
{
    char setting[256], *text;
    struct buf sample;
    struct parsed p;

    (void)state;
    for (int uncomment = 0; uncomment < 2; uncomment++) {
        read_sample(&sample, uncomment);
        parse_with(&p, buf_span(&sample), NULL, 0);
        check_good(&p);
        assert_int_equal(p.config.rules.n > 0, uncomment);
        text = printed(&p.config);
        assert_true(strncmp(text, all_defaults, strlen(all_defaults)) == 0);
        free(text);
        drop(&p);
        buf_append_char(&sample, '\0');
        for (size_t i = 0; i < OPTION_N && uncomment; i++) {
            snprintf(setting, sizeof(setting), "\n%s =%s%s\n", option_specs[i].key,
                     *option_specs[i].initial ? " " : "", option_specs[i].initial);
            if (!strstr(sample.data, setting))
                fail_msg("the sample lacks%s", setting);
        }
        buf_deinit(&sample);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything_set),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_families_of_other_settings),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_accepted_forms),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_bad_sections),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_bad_groups),
        cmocka_unit_test(test_bad_exclusions),
        cmocka_unit_test(test_bad_expressions),
        cmocka_unit_test(test_too_many_expressions),
        cmocka_unit_test(test_every_source),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_connections),
        cmocka_unit_test(test_telemetry_path),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_errors_are_short),
        cmocka_unit_test(test_odd_inih),
        cmocka_unit_test(test_flags_win),
        cmocka_unit_test(test_bad_flags),
        cmocka_unit_test(test_failure_leaves_all_as_it_was),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_file_name_is_escaped),
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_sample),
    };
    int failed = cmocka_run_group_tests_name("config", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed + cmocka_run_group_tests_name("config, plain inih", tests, use_plain_inih, NULL);
}
