/* Values, of files and of flags: which are taken, and for each that is not the exact error. */
#include "config_of_test.h"

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
        char text[64];
        struct parsed p;

        snprintf(text, sizeof(text), "[collector]\nsource = %s\n", names[i]);
        parse_good(&p, text);
        assert_int_equal(p.config.source, i);
        check_prints(&p.config, text);
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
    parse_good(&p, "[web]\nmax_connections = 8\n");
    assert_int_equal(p.config.max_connections_per_address, 8);
    drop(&p);
    parse_good(&p, "[web]\nmax_connections = 8\nmax_connections_per_address = 8\n");
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
        parse_good(&p, text);
        drop(&p);
    }
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

    (void)state;
    parse_with(&p, SPAN_LITERAL("[log]\nlevel = warn\nformat = json\n[web]\nlisten = :7 :8 :9\n"),
               given, 4);
    check_good(&p);
    assert_int_equal(p.config.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(p.config.log_format, LOG_FORMAT_JSON);
    check_prints(&p.config, "\nlisten = :1 [::1]:2\n");
    check_prints(&p.config, "\nprocfs = /host/proc\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_source), cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_connections),  cmocka_unit_test(test_telemetry_path),
        cmocka_unit_test(test_flags_win),    cmocka_unit_test(test_bad_flags),
    };
    int failed = cmocka_run_group_tests_name("config, values", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed +
           cmocka_run_group_tests_name("config, values, plain inih", tests, use_plain_inih, NULL);
}
