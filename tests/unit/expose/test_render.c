/*
 * Pages of hand-made snapshots. The golden pages are in tests/golden; PROCTALLY_GOLDEN_UPDATE=1
 * rewrites them, and the diff is to be read before it is committed.
 */
#include "base/utf8.h"
#include "expose/openmetrics.h"
#include "expose/render.h"
#include "expose/text.h"
#include "fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
    struct fixture *f = malloc(sizeof(*f));

    fixture_init(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_deinit(*state);
    free(*state);
    return 0;
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t n = 0;

    if (!file || getdelim(&text, &n, '\0', file) < 0)
        fail_msg("cannot read %s", path);
    fclose(file);
    return text;
}

static void write_whole(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        fail_msg("cannot write %s", path);
}

/* The first line that differs says more than two whole pages. */
static void assert_same_lines(const char *got, const char *expected, const char *path)
{
    for (int line = 1; *got || *expected; line++) {
        size_t n = strcspn(got, "\n"), m = strcspn(expected, "\n");

        if (n != m || memcmp(got, expected, n) != 0)
            fail_msg("%s:%d\n got: %.*s\nwant: %.*s", path, line, (int)n, got, (int)m, expected);
        got += n + (got[n] == '\n');
        expected += m + (expected[m] == '\n');
    }
}

static void assert_golden(const struct snapshot *s, enum format format, const char *name)
{
    char *page = fixture_page(s, format, NULL);
    char path[512];
    char *expected;

    snprintf(path, sizeof(path), TESTS_DIR "/golden/%s", name);
    if (getenv("PROCTALLY_GOLDEN_UPDATE"))
        write_whole(path, page);
    expected = read_whole(path);
    assert_same_lines(page, expected, path);
    assert_string_equal(page, expected);
    free(expected);
    free(page);
}

static void golden_of_all_families(void **state)
{
    struct fixture *f = *state;

    assert_golden(&f->snapshot, FORMAT_TEXT, "metrics_all.txt");
    assert_golden(&f->snapshot, FORMAT_OPENMETRICS, "metrics_all.openmetrics.txt");
}

static void golden_of_the_default(void **state)
{
    struct fixture *f = *state;

    selection_default(&f->snapshot.families);
    assert_golden(&f->snapshot, FORMAT_TEXT, "metrics_default.txt");
    assert_golden(&f->snapshot, FORMAT_OPENMETRICS, "metrics_default.openmetrics.txt");
}

static void golden_while_not_up(void **state)
{
    struct fixture *f = *state;

    f->snapshot.up = false;
    assert_golden(&f->snapshot, FORMAT_TEXT, "metrics_down.txt");
    assert_golden(&f->snapshot, FORMAT_OPENMETRICS, "metrics_down.openmetrics.txt");
}

static void assert_page(const struct snapshot *s, enum format format, const char *name,
                        const char *expected)
{
    struct selection only = {0};
    char *page;

    if (!selection_add(&only, span_from_str(name)))
        fail_msg("no family %s", name);
    page = fixture_page(s, format, &only);
    assert_string_equal(page, expected);
    free(page);
}

static void metadata_of_both_formats(void **state)
{
    struct fixture *f = *state;

    f->snapshot.n_groups = 1;
    assert_page(
        &f->snapshot, FORMAT_TEXT, "process_cpu_seconds_total",
        "# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.\n"
        "# TYPE process_cpu_seconds_total counter\n"
        "process_cpu_seconds_total 1.23\n");
    assert_page(&f->snapshot, FORMAT_OPENMETRICS, "process_cpu_seconds",
                "# TYPE process_cpu_seconds counter\n"
                "# UNIT process_cpu_seconds seconds\n"
                "# HELP process_cpu_seconds Total user and system CPU time spent in seconds.\n"
                "process_cpu_seconds_total 1.23\n"
                "# EOF\n");
    assert_page(&f->snapshot, FORMAT_OPENMETRICS, "process_threads",
                "# TYPE process_threads gauge\n"
                "# HELP process_threads Number of OS threads in the process.\n"
                "process_threads 87\n"
                "# EOF\n");
}

/* No HELP has such bytes today; the two formats quote them differently. */
static void help_is_escaped(void **state)
{
    const struct family f = {
        .name = SPAN_LITERAL("a_seconds_total"),
        .unit = SPAN_LITERAL("seconds"),
        .help = SPAN_LITERAL("x\\y \"z\"\n."),
        .type = FAMILY_COUNTER,
    };
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    text_family(&out, &f);
    openmetrics_family(&out, &f);
    buf_append_char(&out, '\0');
    assert_string_equal(out.data, "# HELP a_seconds_total x\\\\y \"z\"\\n.\n"
                                  "# TYPE a_seconds_total counter\n"
                                  "# TYPE a_seconds counter\n"
                                  "# UNIT a_seconds seconds\n"
                                  "# HELP a_seconds x\\\\y \\\"z\\\"\\n.\n");
    buf_deinit(&out);
}

static size_t count_lines_beginning(const char *page, const char *start)
{
    size_t n = 0;

    for (; *page; page += strcspn(page, "\n") + 1)
        n += strncmp(page, start, strlen(start)) == 0;
    return n;
}

static size_t count_samples(const struct snapshot *s, const struct family *f)
{
    struct selection only = {0};
    char *page;
    size_t n;

    selection_add(&only, f->name);
    page = fixture_page(s, FORMAT_TEXT, &only);
    n = count_lines_beginning(page, "proc") + count_lines_beginning(page, "named");
    if (n == 0)
        assert_string_equal(page, "");
    free(page);
    return n;
}

static size_t count_samples_if_read(const struct family *family, const struct wanted *wanted)
{
    struct fixture f;
    size_t n;

    fixture_init(&f);
    fixture_restrict(&f, wanted);
    /* Such a family also shows what others have read. */
    if (family->scope == FAMILY_COMPAT) {
        f.snapshot.families = (struct selection){0};
        selection_add(&f.snapshot.families, family->name);
    }
    n = count_samples(&f.snapshot, family);
    fixture_deinit(&f);
    return n;
}

static struct wanted without(const struct wanted *reads)
{
    return (struct wanted){
        .counters = ~reads->counters,
        .gauges = ~reads->gauges,
        .host_parts = ~reads->host_parts,
        .threads = ~reads->threads,
    };
}

/* What a row says it reads is just what its samples need. */
static void rows_read_what_they_show(void **state)
{
    const struct wanted nothing = {0}, all = {~0u, ~0u, ~0u, ~0u, ~0u};

    (void)state;
    for (const struct family *f = families; f < families + FAMILY_N; f++) {
        struct wanted others = without(&f->reads);
        size_t full = count_samples_if_read(f, &all);
        bool reads_nothing = !memcmp(&f->reads, &nothing, sizeof(nothing));

        if (full == 0 || count_samples_if_read(f, &f->reads) != full)
            fail_msg("%s needs more than it says", f->name.p);
        if (!reads_nothing && count_samples_if_read(f, &others) != 0)
            fail_msg("%s shows what was not read", f->name.p);
    }
}

/* Each single bit of it is needed, too. */
static void rows_read_no_more(void **state)
{
    (void)state;
    for (const struct family *f = families; f < families + FAMILY_N; f++) {
        size_t full = count_samples_if_read(f, &f->reads);

        for (unsigned bit = 0; bit < 160; bit++) {
            struct wanted less = f->reads;
            uint32_t *masks[] = {&less.counters, &less.gauges, &less.host_parts, &less.threads,
                                 &less.parts};
            uint32_t *mask = masks[bit / 32];

            if (!(*mask >> bit % 32 & 1))
                continue;
            *mask &= ~(UINT32_C(1) << bit % 32);
            if (count_samples_if_read(f, &less) >= full)
                fail_msg("%s reads more than it needs", f->name.p);
        }
    }
}

static void assert_no_page(const struct snapshot *s, const char *name, const char *line)
{
    struct selection only = {0};
    char *page;

    selection_add(&only, span_from_str(name));
    page = fixture_page(s, FORMAT_TEXT, &only);
    assert_null(strstr(page, line));
    free(page);
}

/* Where nobody reads PSS, an empty group does not know it to be 0. */
static void compat_shows_what_is_read(void **state)
{
    static const char pss[] = "memtype=\"proportionalResident\"";
    struct fixture *f = *state;

    f->snapshot.groups = &f->groups[2];
    f->snapshot.n_groups = 1;
    assert_page(&f->snapshot, FORMAT_TEXT, "namedprocess_namegroup_memory_bytes",
                "# HELP namedprocess_namegroup_memory_bytes Memory of the group's processes in "
                "bytes (proctally_group_resident_memory_bytes, _virtual_memory_bytes, _swap_bytes "
                "and, where it is on, _proportional_memory_bytes).\n"
                "# TYPE namedprocess_namegroup_memory_bytes gauge\n"
                "namedprocess_namegroup_memory_bytes{groupname=\"kernel\",memtype=\"resident\"} "
                "0\n"
                "namedprocess_namegroup_memory_bytes{groupname=\"kernel\",memtype=\"virtual\"} "
                "0\n"
                "namedprocess_namegroup_memory_bytes{groupname=\"kernel\",memtype=\"swapped\"} "
                "0\n"
                "namedprocess_namegroup_memory_bytes{groupname=\"kernel\",memtype="
                "\"proportionalResident\"} 0\n");
    selection_exclude(&f->snapshot.families,
                      SPAN_LITERAL("proctally_group_proportional_memory_bytes"));
    assert_no_page(&f->snapshot, "namedprocess_namegroup_memory_bytes", pss);
}

/* The longest name, of bytes that are all escaped. */
static void compat_renames_the_longest_label(void **state)
{
    struct fixture *f = *state;
    char name[UTF8_LABEL_MAX], expected[2 * UTF8_LABEL_MAX + 1] = "";
    struct selection only = {0};
    char *page;

    memset(name, '\"', sizeof(name));
    for (size_t i = 0; i < sizeof(name); i++)
        strcat(expected, "\\\"");
    f->groups[0].label = snapshot_label(&f->arena, span_of(name, sizeof(name)));
    f->snapshot.n_groups = 1;
    selection_add(&only, SPAN_LITERAL("namedprocess_namegroup_num_procs"));
    page = fixture_page(&f->snapshot, FORMAT_TEXT, &only);
    assert_non_null(strstr(page, expected));
    assert_non_null(strstr(page, "num_procs{groupname=\"\\"));
    free(page);
}

static void unknown_values_are_absent(void **state)
{
    struct fixture *f = *state;
    struct group_values *v = &f->groups[0].values;

    f->snapshot.n_groups = 1;
    v->have_counters = 0;
    v->have_gauges = 0;
    v->oldest_start_ns = 0;
    v->worst_fds_ratio = -1;
    f->snapshot.self.have_process = 0;
    f->snapshot.self.snapshot_time_ns = 0;
    f->snapshot.self.interval_ns = 0;
    f->snapshot.host = (struct host){0};
    for (const struct family *family = families; family < families + FAMILY_N; family++)
        if (family->scope == FAMILY_HOST)
            assert_int_equal(count_samples(&f->snapshot, family), 0);
    assert_int_equal(count_samples(&f->snapshot, fixture_family("process_open_fds")), 0);
    assert_int_equal(count_samples(&f->snapshot, fixture_family("process_start_time_seconds")), 0);
    assert_int_equal(
        count_samples(&f->snapshot, fixture_family("proctally_snapshot_timestamp_seconds")), 0);
    assert_int_equal(
        count_samples(&f->snapshot, fixture_family("proctally_collector_interval_seconds")), 0);
    assert_int_equal(count_samples(&f->snapshot, fixture_family("proctally_group_started_total")),
                     0);
    assert_int_equal(count_samples(&f->snapshot, fixture_family("proctally_group_exited_total")),
                     0);
    assert_int_equal(
        count_samples(&f->snapshot, fixture_family("proctally_group_oldest_start_time_seconds")),
        0);
    assert_int_equal(count_samples(&f->snapshot, fixture_family("proctally_group_processes")), 1);
}

/* Where no group's threads are read, nothing of them can be unread or step back. */
static void threads_that_nobody_reads(void **state)
{
    const struct family *unread = fixture_family("proctally_unread_processes");
    const struct family *steps = fixture_family("proctally_steps_back_total");
    struct fixture *f = *state;
    size_t unread_n = count_samples(&f->snapshot, unread);
    size_t steps_n = count_samples(&f->snapshot, steps);

    f->snapshot.self.reads_threads = false;
    assert_int_equal(count_samples(&f->snapshot, unread), unread_n - 1);
    assert_int_equal(count_samples(&f->snapshot, steps), steps_n - 3);
}

/* A name shows what is known of it, and its group all names. */
static void names_of_threads(void **state)
{
    struct fixture *f = *state;

    assert_page(
        &f->snapshot, FORMAT_TEXT, "proctally_group_thread_run_queue_seconds_total",
        "# HELP proctally_group_thread_run_queue_seconds_total Time in seconds that threads "
        "of this name were ready to run and waited for a CPU; only of groups whose threads "
        "are read.\n"
        "# TYPE proctally_group_thread_run_queue_seconds_total counter\n"
        "proctally_group_thread_run_queue_seconds_total{group=\"nginx.service\","
        "thread=\"_other\"} 1.125\n");
    f->threads[1].values.have = 0;
    assert_page(
        &f->snapshot, FORMAT_TEXT, "proctally_group_threads_by_name",
        "# HELP proctally_group_threads_by_name Threads of the group by their name; only of "
        "groups whose threads are read, and beyond 50 names of a group as _other.\n"
        "# TYPE proctally_group_threads_by_name gauge\n"
        "proctally_group_threads_by_name{group=\"nginx.service\",thread=\"_other\"} 5\n"
        "proctally_group_threads_by_name{group=\"nginx.service\","
        "thread=\"say \\\"\xc3\xbc\\\"\\\\\"} 6\n");
}

static void ratios_that_are_no_numbers_are_absent(void **state)
{
    static const double bad[] = {-1, -0.001, NAN, INFINITY, -INFINITY};
    const struct family *family = fixture_family("proctally_group_open_fds_limit_ratio");
    struct fixture *f = *state;

    f->snapshot.n_groups = 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f->groups[0].values.worst_fds_ratio = bad[i];
        assert_int_equal(count_samples(&f->snapshot, family), 0);
    }
    f->groups[0].values.worst_fds_ratio = 0;
    assert_int_equal(count_samples(&f->snapshot, family), 1);
}

/* Columns that were not printed are not shown, whatever lies there. */
static void columns_that_old_kernels_lack(void **state)
{
    struct fixture *f = *state;
    struct cpu_times *t = &f->snapshot.host.cpu;

    t->columns = CPU_IDLE + 1;
    t->ns[CPU_USER] = 5000000000;
    assert_int_equal(
        count_samples(&f->snapshot, fixture_family("proctally_host_cpu_seconds_total")), 4);
    t->columns = 1;
    assert_page(&f->snapshot, FORMAT_TEXT, "proctally_host_cpu_seconds_total",
                "# HELP proctally_host_cpu_seconds_total CPU time of the host by mode in seconds, "
                "over all CPUs; time in guests is taken out of user and nice, so that the modes "
                "add up.\n"
                "# TYPE proctally_host_cpu_seconds_total counter\n"
                "proctally_host_cpu_seconds_total{mode=\"user\"} 5\n");
}

static void not_up_shows_self_families_alone(void **state)
{
    struct fixture *f = *state;
    char *page;

    f->snapshot.up = false;
    page = fixture_page(&f->snapshot, FORMAT_TEXT, NULL);
    assert_int_equal(count_lines_beginning(page, "proctally_up 0\n"), 1);
    assert_int_equal(count_lines_beginning(page, "proctally_group_"), 0);
    assert_int_equal(count_lines_beginning(page, "proctally_host_"), 0);
    assert_int_equal(count_lines_beginning(page, "process_threads 87\n"), 1);
    free(page);
}

/* `only` narrows what is on, and never turns a family on. */
static void only_what_is_on_and_asked_for(void **state)
{
    struct fixture *f = *state;
    struct selection nothing = {0};
    struct selection only = {0};
    char *page;

    selection_default(&f->snapshot.families);
    selection_add(&only, SPAN_LITERAL("proctally_up"));
    selection_add(&only, SPAN_LITERAL("proctally_group_mappings"));
    page = fixture_page(&f->snapshot, FORMAT_TEXT, &only);
    assert_int_equal(count_lines_beginning(page, "# TYPE"), 1);
    assert_int_equal(count_lines_beginning(page, "proctally_up 1\n"), 1);
    free(page);
    page = fixture_page(&f->snapshot, FORMAT_OPENMETRICS, &nothing);
    assert_string_equal(page, "# EOF\n");
    free(page);
}

static void page_without_groups(void **state)
{
    struct fixture *f = *state;
    char *page;

    f->snapshot.groups = NULL;
    f->snapshot.n_groups = 0;
    page = fixture_page(&f->snapshot, FORMAT_TEXT, NULL);
    assert_int_equal(count_lines_beginning(page, "proctally_group_"), 0);
    assert_int_equal(count_lines_beginning(page, "# HELP proctally_group_"), 0);
    free(page);
}

/* Whatever the room, a page that did not fit whole says so. */
static void too_small_a_buffer_latches(void **state)
{
    struct fixture *f = *state;
    char *page = fixture_page(&f->snapshot, FORMAT_OPENMETRICS, NULL);
    size_t whole = strlen(page);
    struct buf out;

    for (size_t max = 1; max < whole; max += 97) {
        buf_init(&out, max);
        render(&f->snapshot, FORMAT_OPENMETRICS, NULL, &out);
        assert_true(buf_failed(&out));
        buf_deinit(&out);
    }
    free(page);
}

/* Appends the label names of a sample line to ret, by commas. */
static void label_names(const char *line, char *ret)
{
    size_t n = strcspn(line, "{ ");

    *ret = '\0';
    if (line[n] != '{')
        return;
    for (line += n + 1;; line++) {
        n = strcspn(line, "=");
        strncat(ret, line, n);
        for (line += n + 2; *line != '"'; line++)
            line += *line == '\\';
        if (*++line != ',')
            return;
        strcat(ret, ",");
    }
}

static void labels_are_those_of_the_row(void **state)
{
    struct fixture *f = *state;

    for (const struct family *family = families; family < families + FAMILY_N; family++) {
        struct selection only = {0};
        char *page;

        selection_add(&only, family->name);
        page = fixture_page(&f->snapshot, FORMAT_TEXT, &only);
        for (char *line = page; *line; line += strcspn(line, "\n") + 1) {
            char names[256];

            if (*line == '#')
                continue;
            label_names(line, names);
            if (strcmp(names, family->labels) != 0)
                fail_msg("%s has labels %s", family->name.p, names);
        }
        free(page);
    }
}

static void content_types(void **state)
{
    (void)state;
    assert_string_equal(format_content_type(FORMAT_TEXT),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(format_content_type(FORMAT_OPENMETRICS),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(golden_of_all_families),
        TEST(golden_of_the_default),
        TEST(golden_while_not_up),
        TEST(metadata_of_both_formats),
        cmocka_unit_test(help_is_escaped),
        TEST(rows_read_what_they_show),
        TEST(rows_read_no_more),
        TEST(compat_shows_what_is_read),
        TEST(compat_renames_the_longest_label),
        TEST(unknown_values_are_absent),
        TEST(threads_that_nobody_reads),
        TEST(names_of_threads),
        TEST(ratios_that_are_no_numbers_are_absent),
        TEST(columns_that_old_kernels_lack),
        TEST(not_up_shows_self_families_alone),
        TEST(only_what_is_on_and_asked_for),
        TEST(page_without_groups),
        TEST(too_small_a_buffer_latches),
        TEST(labels_are_those_of_the_row),
        TEST(content_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
