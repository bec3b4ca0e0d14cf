#pragma once
/*
 * config_of_test - configurations parsed, refused and printed, and texts of all keys.
 *
 * All cases are run with the inih that is there, and with one that has no more than others have.
 */
#include "daemon/config.h"

#include "check.h"
#include "inih_of_test.h"

#include <errno.h>
#include <stdio.h>

#define X10(s)  s s s s s s s s s s
#define X100(s) X10(X10(s))

/* A configuration, parsed; flags is ended by an empty entry. */
struct parsed {
    struct config config;
    struct buf error;
    int result;
};

static inline void parse_with(struct parsed *p, struct span text, struct option_given *given,
                              size_t n)
{
    struct options flags = {.given = given, .n_given = n};

    config_init(&p->config);
    buf_init(&p->error, CONFIG_ERROR_MAX);
    p->result = config_parse(text, "f.ini", &flags, &p->config, &p->error);
    buf_append_char(&p->error, '\0');
}

static inline void parse(struct parsed *p, const char *text)
{
    parse_with(p, span_from_str(text), NULL, 0);
}

static inline void drop(struct parsed *p)
{
    config_deinit(&p->config);
    buf_deinit(&p->error);
}

static inline void check_good(const struct parsed *p)
{
    if (p->result < 0)
        fail_msg("%s", p->error.data);
    assert_string_equal(p->error.data, "");
}

static inline void parse_good(struct parsed *p, const char *text)
{
    parse(p, text);
    check_good(p);
}

static inline void check_refused_span(struct span text, const char *error)
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

static inline void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_refused_span(span_from_str(rows[i].text), rows[i].error);
}

#define CHECK_REFUSED(rows)        check_rows(rows, sizeof(rows) / sizeof((rows)[0]))
#define CHECK_LITERAL(text, error) check_refused_span(SPAN_LITERAL(text), error)

/* The settings as config_print() writes them. */
static inline char *printed(const struct config *c)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    fclose(out);
    return text;
}

static inline void check_printed(const struct config *c, const char *expected)
{
    char *text = printed(c);

    assert_string_equal(text, expected);
    free(text);
}

/* That it begins so. */
static inline void check_printed_from(const struct config *c, const char *start)
{
    char *text = printed(c);

    if (strncmp(text, start, strlen(start)) != 0)
        fail_msg("%s\ndoes not begin with %s", text, start);
    free(text);
}

/* That this is somewhere in it. */
static inline void check_prints(const struct config *c, const char *part)
{
    char *text = printed(c);

    if (!strstr(text, part))
        fail_msg("%s\nlacks %s", text, part);
    free(text);
}

/* What is printed of an empty file. */
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

/* Every setting is another than its default. */
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

/* Every key of a rule. */
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
