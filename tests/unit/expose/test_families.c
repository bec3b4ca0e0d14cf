/* families.def against the rules for names, so that a bad row fails here and not at a user's. */
#include "expose/families.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOR_EACH_FAMILY(f) for (const struct family *f = families; f < families + FAMILY_N; f++)

/* Tells which row it is before the assertion stops the test. */
static void check(const struct family *f, const char *rule, bool holds)
{
    if (!holds)
        fail_msg("%.*s: %s", (int)f->name.n, f->name.p, rule);
}

static bool ends_with(struct span s, const char *end)
{
    size_t n = strlen(end);

    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Whether the name, cut at its underscores, has this part. */
static bool has_part(struct span name, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= name.n; i++)
        if (memcmp(name.p + i, part, n) == 0 && (i == 0 || name.p[i - 1] == '_') &&
            (i + n == name.n || name.p[i + n] == '_'))
            return true;
    return false;
}

static void names_are_snake_case_under_one_prefix(void **state)
{
    static const char *const prefixes[] = {
        [FAMILY_GROUP] = "proctally_group_",         [FAMILY_PROCESS] = "proctally_process_",
        [FAMILY_HOST] = "proctally_host_",           [FAMILY_SELF] = "proctally_",
        [FAMILY_COMPAT] = "namedprocess_namegroup_",
    };

    (void)state;
    FOR_EACH_FAMILY(f)
    {
        bool standard =
            f->scope == FAMILY_SELF && span_starts_with(f->name, SPAN_LITERAL("process_"));

        check(f, "prefix of its scope",
              standard || span_starts_with(f->name, span_from_str(prefixes[f->scope])));
        for (size_t i = 0; i < f->name.n; i++)
            check(f, "lower case, digits, underscores",
                  islower((unsigned char)f->name.p[i]) || f->name.p[i] == '_');
        check(f, "no doubled underscore", !memmem(f->name.p, f->name.n, "__", 2));
    }
}

static void total_exactly_on_counters(void **state)
{
    (void)state;
    FOR_EACH_FAMILY(f)
    {
        check(f, "_total if and only if a counter",
              ends_with(f->name, "_total") == (f->type == FAMILY_COUNTER));
        check(f, "no _total inside", !has_part(family_openmetrics_name(f), "total"));
    }
}

static void no_suffixes_of_other_types(void **state)
{
    static const char *const suffixes[] = {"_count",   "_sum",    "_bucket",
                                           "_created", "_gcount", "_gsum"};

    (void)state;
    FOR_EACH_FAMILY(f)
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
        check(f, "suffix of another type",
              f->type == FAMILY_COUNTER || !ends_with(f->name, suffixes[i]));
}

static void no_types_or_abbreviations_in_names(void **state)
{
    static const char *const parts[] = {
        "counter", "gauge",        "histogram", "summary",      "untyped",     "s",
        "ms",      "us",           "ns",        "sec",          "b",           "kb",
        "mb",      "gb",           "tb",        "pb",           "m",           "h",
        "d",       "msec",         "minutes",   "hours",        "days",        "bits",
        "percent", "milliseconds", "kilobytes", "microseconds", "nanoseconds", "kibibytes",
    };

    (void)state;
    FOR_EACH_FAMILY(f)
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        check(f, parts[i], !has_part(f->name, parts[i]));
}

static void unit_is_the_suffix(void **state)
{
    static const char *const units[] = {"seconds", "bytes", "ratio"};

    (void)state;
    FOR_EACH_FAMILY(f)
    {
        struct span expected = SPAN_LITERAL("");

        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
            char suffix[16];

            snprintf(suffix, sizeof(suffix), "_%s", units[i]);
            if (ends_with(family_openmetrics_name(f), suffix))
                expected = span_from_str(units[i]);
            else
                check(f, "unit inside of the name, not at its end",
                      !has_part(family_openmetrics_name(f), units[i]));
        }
        check(f, "unit is the end of the name", span_equal(f->unit, expected));
    }
}

static bool is_reserved_label(struct span label)
{
    static const char *const reserved[] = {
        "type", "job", "instance", "service", "cluster", "zone", "env", "le", "quantile",
    };

    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        if (span_equal(label, span_from_str(reserved[i])))
            return true;
    return false;
}

static bool starts_with_label(const char *labels, const char *label)
{
    return strcspn(labels, ",") == strlen(label) && strncmp(labels, label, strlen(label)) == 0;
}

static void no_reserved_labels(void **state)
{
    (void)state;
    FOR_EACH_FAMILY(f)
    {
        char *labels = strdup(f->labels);
        char *rest = labels;

        for (char *label; (label = strsep(&rest, ",")) && *f->labels;) {
            check(f, label, !is_reserved_label(span_from_str(label)));
            check(f, "label in lower case", islower((unsigned char)*label));
        }
        free(labels);
        check(f, "groups' families have label group first",
              (f->scope == FAMILY_GROUP) == starts_with_label(f->labels, "group"));
        check(f, "compatible families have groupname first",
              (f->scope == FAMILY_COMPAT) == starts_with_label(f->labels, "groupname"));
        check(f, "processes' families have pid, comm and group first",
              (f->scope == FAMILY_PROCESS) == (strncmp(f->labels, "pid,comm,group", 14) == 0));
    }
}

static void help_is_a_sentence(void **state)
{
    (void)state;
    FOR_EACH_FAMILY(f)
    {
        check(f, "help ends with a period", ends_with(f->help, "."));
        check(f, "help begins like a sentence",
              isupper((unsigned char)*f->help.p) || isdigit((unsigned char)*f->help.p));
        check(f, "help is one line", !memchr(f->help.p, '\n', f->help.n));
        check(f, "help is one sentence", !memmem(f->help.p, f->help.n, ". ", 2));
    }
}

/* All names that OpenMetrics reserves for a family: its own and its samples'. */
static size_t reserved_names(const struct family *f, char names[3][128])
{
    struct span name = family_openmetrics_name(f);
    const char *suffixes[] = {"", "_total", "_created"};
    size_t n = f->type == FAMILY_COUNTER ? 3 : 1;

    for (size_t i = 0; i < n; i++)
        snprintf(names[i], 128, "%.*s%s", (int)name.n, name.p, suffixes[i]);
    return n;
}

static void names_do_not_clash(void **state)
{
    static char all[3 * FAMILY_N][128];
    size_t n = 0;

    (void)state;
    FOR_EACH_FAMILY(f)
    {
        char names[3][128];
        size_t n_names = reserved_names(f, names);

        for (size_t i = 0; i < n_names; i++) {
            for (size_t j = 0; j < n; j++)
                check(f, all[j], strcmp(all[j], names[i]) != 0);
        }
        for (size_t i = 0; i < n_names; i++)
            strcpy(all[n++], names[i]);
    }
}

/* The strings that every client library gives these, so that no tool sees two versions. */
static void standard_families_have_the_standard_help(void **state)
{
    static const char *const rows[][2] = {
        {"process_cpu_seconds_total", "Total user and system CPU time spent in seconds."},
        {"process_open_fds", "Number of open file descriptors."},
        {"process_max_fds", "Maximum number of open file descriptors."},
        {"process_virtual_memory_bytes", "Virtual memory size in bytes."},
        {"process_virtual_memory_max_bytes",
         "Maximum amount of virtual memory available in bytes."},
        {"process_resident_memory_bytes", "Resident memory size in bytes."},
        {"process_start_time_seconds", "Start time of the process since unix epoch in seconds."},
        {"process_threads", "Number of OS threads in the process."},
    };
    size_t found = 0;

    (void)state;
    FOR_EACH_FAMILY(f)
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (span_equal(f->name, span_from_str(rows[i][0]))) {
            check(f, rows[i][1], span_equal(f->help, span_from_str(rows[i][1])));
            found++;
        }
    assert_int_equal(found, sizeof(rows) / sizeof(*rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_snake_case_under_one_prefix),
        cmocka_unit_test(total_exactly_on_counters),
        cmocka_unit_test(no_suffixes_of_other_types),
        cmocka_unit_test(no_types_or_abbreviations_in_names),
        cmocka_unit_test(unit_is_the_suffix),
        cmocka_unit_test(no_reserved_labels),
        cmocka_unit_test(help_is_a_sentence),
        cmocka_unit_test(names_do_not_clash),
        cmocka_unit_test(standard_families_have_the_standard_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
