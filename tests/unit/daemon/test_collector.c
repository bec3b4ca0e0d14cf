/*
 * The thread that runs cycles, over a tree of one process, so that each cycle sees it whole or
 * fails. Everything is waited for, with a deadline.
 *
 * Linked with --wrap of probe_read(), to let it cost, and of what tells of ends, so that some wait;
 * with bpf also of bpf_source_begin(), to fail.
 */
#include "daemon/collector.h"

#include "comm_rule.h"
#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/source.h"
#include "host_tree.h"
#include "page_of_test.h"
#include "procfs/probe.h"

#include <sys/eventfd.h>
#include <time.h>

#ifdef PROCTALLY_WITH_BPF
#include "bpf/source.h"
#endif

static const uint64_t SECOND = 1000000000u;
static const uint64_t MILLISECOND = 1000000u;

struct fixture {
    struct tree tree;
    struct publisher *publisher;
    struct http *http;
    struct collector *collector;
    struct buf page; /* taken last */
};

static _Atomic uint64_t reading_costs_ns; /* of CPU */
static _Atomic unsigned readings;         /* begun */

int __real_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s)
{
    uint64_t until_ns = clock_thread_cpu_ns() + reading_costs_ns;

    readings++;
    while (clock_thread_cpu_ns() < until_ns)
        ;
    return __real_probe_read(fs, dir, part, s);
}

/* A kernel that has ends to tell while `fd` is readable. */
static struct {
    _Atomic int fd;      /* an eventfd, or -1 */
    _Atomic bool no_end; /* of them: it stays readable */
    _Atomic bool full;
    _Atomic unsigned drained;
    _Atomic uint64_t drained_ns; /* what the last one was told */
    _Atomic unsigned paused;
} ends = {.fd = -1};

int __wrap_source_fd(const struct bpf_source *s);
int __wrap_source_fd(const struct bpf_source *s)
{
    (void)s;
    return ends.fd;
}

void __wrap_source_drain(struct bpf_source *s, uint64_t now_ns);
void __wrap_source_drain(struct bpf_source *s, uint64_t now_ns)
{
    eventfd_t n;

    (void)s;
    if (ends.fd >= 0 && !ends.no_end)
        (void)eventfd_read(ends.fd, &n);
    ends.drained_ns = now_ns;
    ends.drained++;
}

bool __wrap_source_is_full(const struct bpf_source *s);
bool __wrap_source_is_full(const struct bpf_source *s)
{
    (void)s;
    return ends.full;
}

void __wrap_source_pause(struct bpf_source *s);
void __wrap_source_pause(struct bpf_source *s)
{
    (void)s;
    ends.paused++;
}

uint64_t __wrap_source_lost(const struct bpf_source *s);
uint64_t __wrap_source_lost(const struct bpf_source *s)
{
    return s ? 77 : 0;
}

static void ends_begin(void)
{
    ends.no_end = ends.full = false;
    ends.drained = ends.paused = 0;
    ends.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(ends.fd >= 0);
}

/* After the collector's stop. */
static void ends_end(void)
{
    close(ends.fd);
    ends.fd = -1;
}

static void pause_shortly(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};

    nanosleep(&pause, NULL);
}

/* `name`: all processes are in a group of this name; NULL: each in one of its comm. */
static void make_settings(struct collector_settings *s, uint64_t interval_ns, const char *name)
{
    struct span star = SPAN_LITERAL("*"), wrong;

    *s = (struct collector_settings){
        .cycle = {.groups_max = 100,
                  .groups_forget_ns = 3600 * SECOND,
                  .probe_deadline_ns = 10 * SECOND,
                  .pss_max_bytes = UINT64_MAX},
        .schedule = {.interval_ns = interval_ns, .cpu_budget_ppm = 20000},
    };
    selection_default(&s->cycle.families);
    rules_init(&s->cycle.rules);
    if (name)
        assert_int_equal(rules_add_comm(&s->cycle.rules, span_from_str(name), &star, 1, &wrong), 0);
}

static void put(struct fixture *f, uint64_t ticks)
{
    HOST_PUT(&f->tree, .pid = 42, .comm = "one", .user_ticks = ticks);
}

static void prepare(struct fixture *f)
{
    const char *reason;
    struct address any;
    struct http_settings settings = {.listen = &any,
                                     .n_listen = 1,
                                     .telemetry_path = "/metrics",
                                     .max_connections = 8,
                                     .max_connections_per_address = 8,
                                     .request_deadline_ns = 10 * SECOND};
    struct buf error;

    host_tree_new(&f->tree);
    put(f, 1000);
    buf_init(&f->page, 1 << 20);
    buf_init(&error, 1000);
    assert_int_equal(address_parse(SPAN_LITERAL("127.0.0.1:0"), &any, &reason), 0);
    f->publisher = publisher_new(1);
    assert_int_equal(http_open(&settings, f->publisher, &f->http, &error), 0);
    assert_int_equal(http_serve(f->http, &error), 0);
}

static void start_with(struct fixture *f, uint64_t interval_ns, struct bpf_source *bpf)
{
    struct collector_parts parts = {.procfs = f->tree.root,
                                    .publisher = f->publisher,
                                    .http = f->http,
                                    .state_file = "",
                                    .bpf = bpf,
                                    .source_reason = "test"};
    struct collector_settings settings;
    struct buf error;

    buf_init(&error, 1000);
    make_settings(&settings, interval_ns, NULL);
    assert_int_equal(collector_start(&parts, &settings, &f->collector, &error), 0);
    assert_null(settings.cycle.rules.rules);
    buf_deinit(&error);
}

static void start(struct fixture *f, uint64_t interval_ns)
{
    start_with(f, interval_ns, NULL);
}

static void stop(struct fixture *f)
{
    if (f->collector)
        f->collector = collector_stop(f->collector, 10 * SECOND);
    f->http = http_stop(f->http);
    f->publisher = publisher_free(f->publisher);
    buf_deinit(&f->page);
    tree_free(&f->tree);
}

/* Takes the current page, as a scrape does; its number, or 0 if there is none. */
static uint64_t take(struct fixture *f)
{
    struct variant *v;
    uint64_t number;

    if (publisher_acquire(f->publisher, VARIANT_TEXT, &v) < 0)
        return 0;
    buf_reset(&f->page);
    buf_append_span(&f->page, buf_span(&v->bytes));
    number = v->sequence;
    publisher_release(f->publisher, v);
    publisher_note_served(f->publisher, number);
    return number;
}

/* Waits for a page of a number above this. */
static uint64_t wait_above(struct fixture *f, uint64_t number)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND, now;

    while ((now = take(f)) <= number) {
        if (clock_monotonic_ns() > deadline)
            fail_msg("no snapshot above %lu", number);
        pause_shortly();
    }
    return now;
}

static uint64_t value(const struct fixture *f, const char *sample)
{
    return page_value(buf_span(&f->page), sample);
}

static double interval_shown(const struct fixture *f)
{
    static const char name[] = "\nproctally_collector_interval_seconds ";
    const char *at = memmem(f->page.data, f->page.len, name, strlen(name));

    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

/* Waits until a sample has the value. */
static void wait_value(struct fixture *f, const char *sample, uint64_t expected)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND;

    while (!take(f) || value(f, sample) != expected) {
        if (clock_monotonic_ns() > deadline)
            fail_msg("%s%lu, not %lu", sample, value(f, sample), expected);
        pause_shortly();
    }
}

static void test_first_snapshot_comes_at_once(void **state)
{
    struct fixture f;
    uint64_t number;

    (void)state;
    prepare(&f);
    start(&f, 3600 * SECOND);
    number = wait_above(&f, 0);
    assert_int_equal(number, 1);
    assert_int_equal(value(&f, "\nproctally_up "), 1);
    assert_int_equal(value(&f, "\nproctally_snapshots_total "), 1);
    assert_int_equal(value(&f, "\nproctally_processes "), 1);
    assert_int_equal(value(&f, "\nproctally_group_processes{group=\"one\"} "), 1);
    assert_int_equal(value(&f, "\nproctally_config_last_reload_successful "), 1);
    assert_int_not_equal(page_value(buf_span(&f.page), "source=\"procfs\",reason=\"test\"} "), 0);
    stop(&f);
}

static void test_cycles_go_on(void **state)
{
    struct fixture f;
    uint64_t number;

    (void)state;
    prepare(&f);
    start(&f, 5 * MILLISECOND);
    number = wait_above(&f, 0);
    put(&f, 1300);
    wait_value(&f, "\nproctally_group_cpu_seconds_total{group=\"one\",mode=\"user\"} ", 3);
    assert_true(wait_above(&f, number + 5) > number + 5);
    stop(&f);
}

/* The last page stays, failures are counted, and nothing is lost when it works again. */
static void test_failing_and_recovery(void **state)
{
    static const char failures[] = "\nproctally_snapshot_failures_total{reason=\"procfs\"} ";
    uint64_t deadline = clock_monotonic_ns() + 30 * SECOND, ticks = 1000, number;
    struct fixture f;

    (void)state;
    prepare(&f);
    start(&f, 2 * MILLISECOND);
    number = wait_above(&f, 0);
    do {
        assert_true(clock_monotonic_ns() < deadline);
        host_tree_take(&f.tree, 42);
        for (int i = 0; i < 50; i++)
            pause_shortly();
        assert_int_equal(publisher_state(f.publisher), PUBLISHER_FRESH);
        assert_true(take(&f) > 0);
        assert_int_equal(value(&f, "\nproctally_up "), 1);
        ticks += 100;
        put(&f, ticks);
        number = wait_above(&f, number);
    } while (value(&f, failures) == 0);
    wait_value(&f, "\nproctally_group_cpu_seconds_total{group=\"one\",mode=\"user\"} ",
               (ticks - 1000) / 100);
    /* A process whose host could not be read has not ended. */
    assert_int_equal(value(&f, "\nproctally_group_exited_total{group=\"one\",reason=\"unknown\"} "),
                     0);
    assert_int_equal(value(&f, "\nproctally_group_started_total{group=\"one\"} "), 0);
    stop(&f);
}

/* Before the first success there is no page, and it comes when the host can be read. */
static void test_first_cycles_fail(void **state)
{
    struct fixture f;

    (void)state;
    prepare(&f);
    host_tree_take(&f.tree, 42);
    start(&f, 2 * MILLISECOND);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(publisher_state(f.publisher), PUBLISHER_EMPTY);
        pause_shortly();
    }
    put(&f, 5000);
    wait_above(&f, wait_above(&f, 0) + 2);
    assert_int_equal(value(&f, "\nproctally_group_processes{group=\"one\"} "), 1);
    assert_int_equal(value(&f, "\nproctally_group_cpu_seconds_total{group=\"one\",mode=\"user\"} "),
                     0);
    stop(&f);
}

/* New settings do not wait for the interval. */
static void test_settings_take_effect_at_once(void **state)
{
    struct collector_settings settings;
    struct fixture f;

    (void)state;
    prepare(&f);
    start(&f, 3600 * SECOND);
    assert_int_equal(wait_above(&f, 0), 1);
    make_settings(&settings, 3600 * SECOND, "all");
    assert_int_equal(
        selection_exclude(&settings.cycle.families, SPAN_LITERAL("proctally_processes")), 1);
    collector_configure(f.collector, &settings);
    assert_null(settings.cycle.rules.rules);
    assert_int_equal(wait_above(&f, 1), 2);
    assert_int_equal(value(&f, "\nproctally_group_processes{group=\"all\"} "), 1);
    assert_int_equal(value(&f, "\nproctally_group_processes{group=\"one\"} "), 0);
    assert_int_equal(value(&f, "\nproctally_processes "), UINT64_MAX);
    /* And a shorter interval is in effect from then on. */
    make_settings(&settings, 2 * MILLISECOND, "all");
    collector_configure(f.collector, &settings);
    wait_above(&f, 6);
    stop(&f);
}

/* The page tells the interval in effect: the configured one, or what the budget allows. */
static void test_interval_is_shown(void **state)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND, number;
    struct collector_settings settings;
    struct fixture f;

    (void)state;
    prepare(&f);
    start(&f, 3600 * SECOND);
    number = wait_above(&f, 0);
    assert_true(interval_shown(&f) == 3600);
    make_settings(&settings, 50 * MILLISECOND, NULL);
    settings.schedule.cpu_budget_ppm = 200; /* 10 us of these 50 ms */
    collector_configure(f.collector, &settings);
    do {
        assert_true(clock_monotonic_ns() < deadline);
        number = wait_above(&f, number);
    } while (interval_shown(&f) <= 0.05);
    stop(&f);
}

/*
 * What the prober uses is in the budget: a fifth of a second every 16 cycles, and the interval
 * grows beyond one. But for what it read of those that were there at first.
 */
static void test_prober_is_in_the_budget(void **state)
{
    uint64_t deadline = clock_monotonic_ns() + 30 * SECOND, number;
    struct fixture f;

    (void)state;
    reading_costs_ns = SECOND / 5;
    readings = 0;
    prepare(&f);
    start(&f, 50 * MILLISECOND);
    number = wait_above(&f, 0);
    while (readings == 0 || number < 5) {
        number = wait_above(&f, number);
        assert_true(readings > 1 || interval_shown(&f) < 1);
    }
    while (interval_shown(&f) <= 1) {
        assert_true(clock_monotonic_ns() < deadline);
        number = wait_above(&f, number);
    }
    assert_true(readings > 1);
    reading_costs_ns = 0;
    stop(&f);
}

/* Settings that come faster than cycles: the last ones win, and none leaks. */
static void test_settings_replaced(void **state)
{
    struct fixture f;

    (void)state;
    prepare(&f);
    start(&f, 3600 * SECOND);
    for (int i = 0; i < 200; i++) {
        struct collector_settings settings;
        char name[16];

        snprintf(name, sizeof(name), "g%d", i);
        make_settings(&settings, 3600 * SECOND, name);
        collector_configure(f.collector, &settings);
    }
    wait_value(&f, "\nproctally_group_processes{group=\"g199\"} ", 1);
    /* The stop finds settings that nobody took. */
    for (int i = 0; i < 3; i++) {
        struct collector_settings settings;

        make_settings(&settings, 3600 * SECOND, "last");
        collector_configure(f.collector, &settings);
    }
    stop(&f);
}

static void test_reload_is_shown(void **state)
{
    struct collector_settings settings;
    struct fixture f;
    uint64_t before;

    (void)state;
    prepare(&f);
    start(&f, 2 * MILLISECOND);
    wait_above(&f, 0);
    before = value(&f, "\nproctally_config_last_reload_success_timestamp_seconds ");
    assert_true(before > 1700000000);
    collector_note_reload(f.collector, false);
    wait_value(&f, "\nproctally_config_last_reload_successful ", 0);
    assert_int_equal(value(&f, "\nproctally_config_last_reload_success_timestamp_seconds "),
                     before);
    collector_note_reload(f.collector, true);
    make_settings(&settings, 2 * MILLISECOND, NULL);
    collector_configure(f.collector, &settings);
    wait_value(&f, "\nproctally_config_last_reload_successful ", 1);
    assert_in_range(value(&f, "\nproctally_config_last_reload_success_timestamp_seconds "), before,
                    before + 3600);
    stop(&f);
}

static void test_stop_while_waiting(void **state)
{
    struct fixture f;
    uint64_t began;

    (void)state;
    prepare(&f);
    start(&f, 3600 * SECOND);
    wait_above(&f, 0);
    began = clock_monotonic_ns();
    f.collector = collector_stop(f.collector, 10 * SECOND);
    assert_true(clock_monotonic_ns() - began < 5 * SECOND);
    /* The last page is still there for those who ask until HTTP ends. */
    assert_int_equal(publisher_state(f.publisher), PUBLISHER_FRESH);
    stop(&f);
}

/* At whatever moment of a cycle the stop comes, the first one included. */
static void test_stop_within_a_cycle(void **state)
{
    struct fixture f;

    (void)state;
    prepare(&f);
    for (unsigned pid = 100; pid < 300; pid++)
        HOST_PUT(&f.tree, .pid = pid);
    for (long i = 0; i < 20; i++) {
        struct timespec moment = {.tv_nsec = i * 500000};
        uint64_t began;

        start(&f, MILLISECOND);
        nanosleep(&moment, NULL);
        began = clock_monotonic_ns();
        f.collector = collector_stop(f.collector, 10 * SECOND);
        assert_true(clock_monotonic_ns() - began < 5 * SECOND);
    }
    stop(&f);
}

/* Waits until ends were taken more often than this. */
static void wait_drained(unsigned above)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND;

    while (ends.drained <= above) {
        if (clock_monotonic_ns() > deadline)
            fail_msg("ends are not taken");
        pause_shortly();
    }
}

/* Ends are taken as they come, and when a cycle begins; it is no reason for one that they do. */
static void test_ends_are_taken(void **state)
{
    uint64_t before_ns = clock_monotonic_ns();
    struct fixture f;

    (void)state;
    ends_begin();
    prepare(&f);
    start(&f, 3600 * SECOND);
    assert_int_equal(wait_above(&f, 0), 1);
    assert_true(ends.drained > 0);
    for (int i = 0; i < 30; i++) {
        unsigned drained = ends.drained;

        assert_int_equal(eventfd_write(ends.fd, 1), 0);
        wait_drained(drained);
        assert_in_range(ends.drained_ns, before_ns, clock_monotonic_ns());
    }
    assert_int_equal(take(&f), 1);
    stop(&f);
    ends_end();
}

/* So many wait that they are counted at once, though the next cycle is far. */
static void test_many_ends_bring_a_cycle(void **state)
{
    struct fixture f;

    (void)state;
    ends_begin();
    prepare(&f);
    start(&f, 3600 * SECOND);
    assert_int_equal(wait_above(&f, 0), 1);
    for (uint64_t i = 1; i < 6; i++) {
        ends.full = true;
        assert_int_equal(eventfd_write(ends.fd, 1), 0);
        assert_int_equal(wait_above(&f, i), i + 1);
        /* Counted, they do not wait any more. */
        ends.full = false;
        put(&f, 1000 + 100 * i);
    }
    ends.full = true;
    assert_int_equal(eventfd_write(ends.fd, 1), 0);
    wait_above(&f, 6);
    assert_int_equal(value(&f, "\nproctally_group_cpu_seconds_total{group=\"one\",mode=\"user\"} "),
                     5);
    stop(&f);
    ends_end();
}

/* However fast they come, there is time for settings, though not in the budget, and for the stop.
 */
static void test_ends_without_end(void **state)
{
    struct collector_settings settings;
    struct fixture f;
    uint64_t began;

    (void)state;
    ends_begin();
    ends.no_end = true;
    assert_int_equal(eventfd_write(ends.fd, 1), 0);
    prepare(&f);
    start(&f, 3600 * SECOND);
    assert_int_equal(wait_above(&f, 0), 1);
    wait_drained(ends.drained + 10);
    for (uint64_t i = 1; i < 4; i++) {
        make_settings(&settings, 3600 * SECOND, "all");
        collector_configure(f.collector, &settings);
        wait_above(&f, i);
        assert_int_equal(value(&f, "\nproctally_group_processes{group=\"all\"} "), 1);
    }
    began = clock_monotonic_ns();
    f.collector = collector_stop(f.collector, 10 * SECOND);
    assert_null(f.collector);
    assert_true(clock_monotonic_ns() - began < 5 * SECOND);
    stop(&f);
    ends_end();
}

#ifdef PROCTALLY_WITH_BPF

static _Atomic unsigned walks;

int __wrap_bpf_source_begin(struct bpf_source *s);
int __wrap_bpf_source_begin(struct bpf_source *s)
{
    (void)s;
    walks++;
    return -EPERM;
}

/* A source that fails is left for good, and the page says so; what it lost it has lost. */
static void test_source_that_fails(void **state)
{
    struct bpf_source source = {.units = {100, 4096}, .fd = -1};
    struct fixture f;
    uint64_t number;

    (void)state;
    walks = 0;
    ends_begin();
    accounts_init(&source.accounts);
    ends_init(&source.ends, &source.accounts);
    prepare(&f);
    start_with(&f, 2 * MILLISECOND, &source);
    number = wait_above(&f, 0);
    assert_int_equal(page_value(buf_span(&f.page), "source=\"procfs\",reason=\"lost\"} "), 1);
    assert_int_equal(value(&f, "\nproctally_group_processes{group=\"one\"} "), 1);
    assert_int_equal(value(&f, "\nproctally_lost_end_records_total "), 77);
    wait_above(&f, number + 3);
    assert_int_equal(page_value(buf_span(&f.page), "source=\"procfs\",reason=\"lost\"} "), 1);
    assert_int_equal(walks, 1);
    assert_int_equal(ends.paused, 1);
    stop(&f);
    ends_end();
    ends_deinit(&source.ends);
    accounts_deinit(&source.accounts);
}

#endif

static void test_no_such_procfs(void **state)
{
    struct collector_parts parts = {.procfs = "/nonexistent/proc", .source_reason = "test"};
    struct collector *collector = NULL;
    struct collector_settings settings;
    struct buf error;

    (void)state;
    buf_init(&error, 1000);
    make_settings(&settings, SECOND, "all");
    assert_int_equal(collector_start(&parts, &settings, &collector, &error), -ENOENT);
    assert_null(collector);
    check_span(buf_span(&error), "cannot read /nonexistent/proc: No such file or directory");
    /* They stayed with us. */
    assert_int_equal(settings.cycle.rules.n_rules, 1);
    cycle_settings_deinit(&settings.cycle);
    buf_deinit(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_snapshot_comes_at_once),
        cmocka_unit_test(test_cycles_go_on),
        cmocka_unit_test(test_failing_and_recovery),
        cmocka_unit_test(test_first_cycles_fail),
        cmocka_unit_test(test_settings_take_effect_at_once),
        cmocka_unit_test(test_interval_is_shown),
        cmocka_unit_test(test_prober_is_in_the_budget),
        cmocka_unit_test(test_settings_replaced),
        cmocka_unit_test(test_reload_is_shown),
        cmocka_unit_test(test_stop_while_waiting),
        cmocka_unit_test(test_stop_within_a_cycle),
        cmocka_unit_test(test_ends_are_taken),
        cmocka_unit_test(test_many_ends_bring_a_cycle),
        cmocka_unit_test(test_ends_without_end),
#ifdef PROCTALLY_WITH_BPF
        cmocka_unit_test(test_source_that_fails),
#endif
        cmocka_unit_test(test_no_such_procfs),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int failed;

    log_init(null, clock_realtime_ns);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    log_deinit();
    close(null);
    return failed;
}
