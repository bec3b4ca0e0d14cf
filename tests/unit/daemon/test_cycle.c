/*
 * Whole cycles over trees of files.
 *
 * Linked with --wrap of the allocators, to count the calls of a warm cycle.
 */
#include "daemon/cycle.h"

#include "comm_rule.h"
#include "expose/render.h"
#include "host_tree.h"

#include <sys/resource.h>
#include <time.h>

#define BIT(n) (UINT32_C(1) << (n))

static const uint64_t SECOND = 1000000000u;
static const uint64_t TICK = 10000000u;

static _Atomic bool counting;
static _Atomic size_t heap_calls;

#define WRAP(result, name, parameters, arguments) \
    result __real_##name parameters;              \
    result __wrap_##name parameters;              \
    result __wrap_##name parameters               \
    {                                             \
        heap_calls += counting;                   \
        return __real_##name arguments;           \
    }

WRAP(void *, malloc, (size_t n), (n))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *p, size_t n), (p, n))
WRAP(void, free, (void *p), (p))

struct host_fixture {
    struct tree tree;
    struct cycle cycle;
    struct cycle_time now;
    struct arena arena;
    struct snapshot snapshot;
    uint64_t sequence, served;
};

struct options_of_test {
    const char *include, *exclude;
    uint64_t pss_max_bytes;
    const char *fixed; /* a group of this fixed name, of processes of the same comm */
    size_t top;
    enum top_key top_by;
};

static void configure(struct host_fixture *h, struct options_of_test options)
{
    struct cycle_settings settings = {.groups_max = 100000,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = 3600 * SECOND,
                                      .pss_max_bytes = options.pss_max_bytes ? options.pss_max_bytes
                                                                             : UINT64_MAX,
                                      .top_by = options.top_by,
                                      .top = options.top};
    struct span star = SPAN_LITERAL("*"), wrong;

    rules_init(&settings.rules);
    if (options.fixed) {
        struct span name = span_from_str(options.fixed);

        assert_int_equal(rules_add_comm(&settings.rules, name, &name, 1, &wrong), 0);
    }
    assert_int_equal(rules_add_comm(&settings.rules, SPAN_LITERAL("${comm}"), &star, 1, &wrong), 0);
    selection_default(&settings.families);
    if (options.top > 0)
        selection_turn_on(&settings.families, FAMILY_PROCESS);
    if (options.include)
        assert_true(selection_include(&settings.families, span_from_str(options.include)) > 0);
    if (options.exclude)
        assert_true(selection_exclude(&settings.families, span_from_str(options.exclude)) > 0);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
    assert_null(settings.rules.rules);
}

#define CONFIGURE(h, ...) configure(h, (struct options_of_test){__VA_ARGS__})

/* Over a tree that host_tree_new() began. */
static void setup(struct host_fixture *h, enum cycle_mode mode)
{
    h->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    h->snapshot = (struct snapshot){0};
    h->sequence = h->served = 0;
    arena_init(&h->arena, 64 * 1024 * 1024);
    assert_int_equal(cycle_open(&h->cycle, mode, h->tree.root, &h->now), 0);
    CONFIGURE(h, .include = NULL);
}

static void teardown(struct host_fixture *h)
{
    cycle_close(&h->cycle);
    arena_deinit(&h->arena);
    tree_free(&h->tree);
}

static int run(struct host_fixture *h)
{
    int r;

    h->now.monotonic_ns += 10 * SECOND;
    h->now.boottime_ns += 10 * SECOND;
    h->now.realtime_ns += 10 * SECOND;
    r = cycle_run(&h->cycle, &h->now);
    if (r < 0)
        return r;
    arena_reset(&h->arena);
    return cycle_snapshot(&h->cycle, ++h->sequence, h->served, &h->now, &h->arena, &h->snapshot);
}

/* A cycle whose snapshot is scraped. */
static void must_run(struct host_fixture *h)
{
    assert_int_equal(run(h), 0);
    h->served = h->sequence;
}

/* Until the prober has answered everything: the next cycle shows it. */
static void settle(struct host_fixture *h)
{
    while (cycle_between(&h->cycle, h->now.monotonic_ns) != UINT64_MAX)
        usleep(1000);
}

static void must_run_probed(struct host_fixture *h)
{
    must_run(h);
    settle(h);
    must_run(h);
}

static const struct group_values *group(const struct host_fixture *h, const char *name)
{
    for (size_t i = 0; i < h->snapshot.n_groups; i++)
        if (span_equal(h->snapshot.groups[i].name, span_from_str(name)))
            return &h->snapshot.groups[i].values;
    fail_msg("there is no group %s", name);
    return NULL;
}

static uint64_t counter(const struct host_fixture *h, const char *name, unsigned field)
{
    const struct group_values *v = group(h, name);

    if (!(v->have_counters >> field & 1))
        fail_msg("%s does not know counter %u", name, field);
    return v->counter[field];
}

static uint64_t gauge(const struct host_fixture *h, const char *name, unsigned field)
{
    const struct group_values *v = group(h, name);

    if (!(v->have_gauges >> field & 1))
        fail_msg("%s does not know gauge %u", name, field);
    return v->gauge[field];
}

static void test_once(void **state)
{
    struct host_fixture h;
    const struct group_values *v;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init", .parent = 0);
    HOST_PUT(&h.tree, .pid = 4242, .comm = "canary", .user_ticks = 1234, .system_ticks = 567,
             .start = 50000, .read_bytes = 40960, .write_bytes = 81920, .fds = 5);
    setup(&h, CYCLE_ONCE);
    must_run(&h);
    assert_int_equal(h.snapshot.n_groups, 2);
    assert_true(h.snapshot.up);
    assert_int_equal(h.snapshot.sequence, 1);
    assert_int_equal(counter(&h, "canary", COUNTER_CPU_USER_NS), 1234 * TICK);
    assert_int_equal(counter(&h, "canary", COUNTER_CPU_SYSTEM_NS), 567 * TICK);
    assert_int_equal(counter(&h, "canary", COUNTER_STORAGE_READ_BYTES), 40960);
    assert_int_equal(counter(&h, "canary", COUNTER_STORAGE_WRITE_BYTES), 81920);
    assert_int_equal(counter(&h, "canary", COUNTER_MINOR_FAULTS), 100);
    v = group(&h, "canary");
    assert_int_equal(v->processes, 1);
    assert_int_equal(v->state[STATE_SLEEPING], 1);
    assert_int_equal(v->oldest_start_ns, (HOST_TREE_BOOT + 500) * SECOND);
    assert_int_equal(gauge(&h, "canary", GAUGE_THREADS), 1);
    assert_int_equal(gauge(&h, "canary", GAUGE_OPEN_FDS), 5);
    assert_int_equal(gauge(&h, "canary", GAUGE_RESIDENT_ANON_BYTES), 1 << 20);
    assert_int_equal(gauge(&h, "canary", GAUGE_SWAP_BYTES), 16 << 10);
    assert_true(v->worst_fds_ratio == 5.0 / 1024);
    assert_true(v->worst_mappings_ratio == 0);
    for (int part = 0; part < PART_N; part++) {
        assert_int_equal(v->unread[part], 0);
        assert_int_equal(h.snapshot.self.unread_processes[part], 0);
    }
    assert_int_equal(h.snapshot.self.processes, 2);
    teardown(&h);
}

static void test_host_in_the_snapshot(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    assert_int_equal(h.snapshot.host.field[HOST_BOOT_TIME_SECONDS], HOST_TREE_BOOT);
    assert_int_equal(h.snapshot.host.field[HOST_CONTEXT_SWITCHES], 7000);
    assert_int_equal(h.snapshot.host.field[HOST_TASKS], 88);
    assert_int_equal(h.snapshot.host.field[HOST_OPEN_FILES], 1184);
    assert_int_equal(h.snapshot.host.cpu.ns[CPU_USER], 900 * TICK); /* less guest */
    assert_int_equal(h.snapshot.host.cpu.ns[CPU_NICE], 10 * TICK);
    assert_int_equal(h.snapshot.host.n_cpus, 0);
    CONFIGURE(&h, .include = "proctally_host_*");
    must_run(&h);
    assert_int_equal(h.snapshot.host.n_cpus, 2);
    assert_int_equal(h.snapshot.host.cpus[1].cpu, 2);
    assert_int_equal(h.snapshot.host.cpus[1].times.ns[CPU_USER], 350 * TICK);
    assert_true(h.snapshot.host.cpus != h.cycle.host.cpus);
    teardown(&h);
}

/* What was there before the daemon does not count; each step after it does, exactly. */
static void test_daemon_counts_steps(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init");
    setup(&h, CYCLE_DAEMON);
    for (uint64_t i = 0; i < 5; i++) {
        HOST_PUT(&h.tree, .pid = 4242, .comm = "canary", .user_ticks = 1234 + 100 * i,
                 .start = 50000, .read_bytes = 40960 + 4096 * i);
        must_run(&h);
        assert_int_equal(counter(&h, "canary", COUNTER_CPU_USER_NS), 100 * i * TICK);
        assert_int_equal(counter(&h, "canary", COUNTER_STORAGE_READ_BYTES), 4096 * i);
        assert_int_equal(counter(&h, "canary", GROUP_COUNTER_STARTED), 0);
    }
    teardown(&h);
}

/* Case 13 in the daemon: the pid goes on, the process does not. */
static void test_pid_reuse(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1302, .comm = "same", .start = 10000, .user_ticks = 7000);
    HOST_PUT(&h.tree, .pid = 1303, .comm = "grow", .start = 10000, .user_ticks = 100);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    HOST_PUT(&h.tree, .pid = 1302, .comm = "same", .start = 95000, .user_ticks = 3);
    HOST_PUT(&h.tree, .pid = 1303, .comm = "grow", .start = 10000, .user_ticks = 160);
    must_run(&h);
    assert_int_equal(counter(&h, "same", COUNTER_CPU_USER_NS), 3 * TICK);
    assert_int_equal(counter(&h, "same", GROUP_COUNTER_STARTED), 1);
    assert_int_equal(group(&h, "same")->processes, 1);
    assert_int_equal(group(&h, "same")->oldest_start_ns, (HOST_TREE_BOOT + 950) * SECOND);
    assert_int_equal(counter(&h, "grow", COUNTER_CPU_USER_NS), 60 * TICK);
    must_run(&h);
    assert_int_equal(counter(&h, "same", GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN), 1);
    assert_int_equal(counter(&h, "same", GROUP_COUNTER_RESTARTS), 1);
    teardown(&h);
}

static void test_listing_fails(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init", .user_ticks = 10);
    HOST_PUT(&h.tree, .pid = 2, .comm = "a", .user_ticks = 10);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    host_tree_take(&h.tree, 1);
    host_tree_take(&h.tree, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(&h), -ENODATA);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init", .user_ticks = 15);
    HOST_PUT(&h.tree, .pid = 2, .comm = "a", .user_ticks = 17);
    must_run(&h);
    assert_int_equal(counter(&h, "init", COUNTER_CPU_USER_NS), 5 * TICK);
    assert_int_equal(counter(&h, "a", COUNTER_CPU_USER_NS), 7 * TICK);
    assert_int_equal(counter(&h, "a", GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN), 0);
    assert_int_equal(h.snapshot.self.processes, 2);
    teardown(&h);
}

static void test_root_is_removed(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    tree_free(&h.tree);
    assert_true(run(&h) < 0);
    assert_true(run(&h) < 0);
    teardown(&h);
}

/* Directories, but no stat of a process in any: that is not a host without processes. */
static void test_nobody_is_readable(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    tree_pid(&h.tree, 1, "stat", "%s", "nonsense");
    tree_dir(&h.tree, "2");
    setup(&h, CYCLE_DAEMON);
    assert_int_equal(run(&h), -ENODATA);
    assert_int_equal(h.cycle.faults.count[FAULT_STAT][FAULT_MALFORMED], 1);
    teardown(&h);
}

static void set_descriptors(rlim_t n)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/*
 * Enough descriptors for the ordinary ones, but not for the exited leader among them: the cycle
 * fails as a whole, though it has read some, and nothing is lost or counted twice.
 */
static void test_out_of_descriptors(void **state)
{
    struct host_fixture h;
    struct rlimit before;
    uint64_t ticks = 0;
    int lowest;

    (void)state;
    host_tree_new(&h.tree);
    for (unsigned pid = 1; pid <= 40; pid++)
        HOST_PUT(&h.tree, .pid = pid, .start = pid);
    host_tree_put_exited_leader(&h.tree, (struct host_process){.pid = 500, .comm = "leader"});
    for (unsigned pid = 101; pid <= 140; pid++)
        HOST_PUT(&h.tree, .pid = pid, .start = pid);
    setup(&h, CYCLE_DAEMON);
    /* The prober's descriptors come and go. */
    CONFIGURE(&h, .exclude = "proctally_group_mappings*");
    must_run(&h);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < 3; i++) {
        ticks += 10;
        for (unsigned pid = 1; pid <= 40; pid++)
            HOST_PUT(&h.tree, .pid = pid, .start = pid, .user_ticks = ticks);
        host_tree_take(&h.tree, 101 + (unsigned)i);
        HOST_PUT(&h.tree, .pid = 201 + (unsigned)i, .comm = "new", .start = 9000, .user_ticks = 3);
        lowest = open("/dev/null", O_RDONLY);
        close(lowest);
        set_descriptors((rlim_t)lowest + 2);
        assert_int_equal(run(&h), -EMFILE);
        set_descriptors(before.rlim_cur);
    }
    must_run(&h);
    must_run(&h);
    assert_int_equal(counter(&h, "x", COUNTER_CPU_USER_NS), 40 * 30 * TICK);
    assert_int_equal(group(&h, "x")->processes, 77);
    assert_int_equal(counter(&h, "x", GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN), 3);
    assert_int_equal(counter(&h, "new", COUNTER_CPU_USER_NS), 9 * TICK);
    assert_int_equal(counter(&h, "new", GROUP_COUNTER_STARTED), 3);
    assert_int_equal(group(&h, "leader")->processes, 1);
    assert_int_equal(h.snapshot.self.processes, 81);
    /* Our own trouble is no fault of a file. */
    for (int file = 0; file < FAULT_FILE_N; file++)
        for (int reason = 0; reason < FAULT_REASON_N; reason++)
            assert_int_equal(h.snapshot.self.read_faults[file][reason], 0);
    teardown(&h);
}

static void test_stat_unreadable_for_a_while(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init");
    HOST_PUT(&h.tree, .pid = 7, .comm = "a", .user_ticks = 100);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    tree_pid(&h.tree, 7, "stat", "%s", "7 (a) S");
    must_run(&h);
    assert_int_equal(group(&h, "a")->processes, 1);
    assert_int_equal(group(&h, "a")->unread[PART_STAT], 1);
    assert_int_equal(h.snapshot.self.unread_processes[PART_STAT], 1);
    assert_int_equal(h.snapshot.self.processes, 2);
    assert_int_equal(h.snapshot.self.read_faults[FAULT_STAT][FAULT_MALFORMED], 1);
    HOST_PUT(&h.tree, .pid = 7, .comm = "a", .user_ticks = 130);
    must_run(&h);
    assert_int_equal(counter(&h, "a", COUNTER_CPU_USER_NS), 30 * TICK);
    assert_int_equal(counter(&h, "a", GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN), 0);
    assert_int_equal(group(&h, "a")->unread[PART_STAT], 0);
    teardown(&h);
}

/* A family that was off is like one that nobody read: no burst, and first at 0. */
static void test_family_off_and_on(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .read_bytes = 1000);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .read_bytes = 1500, .user_ticks = 1);
    must_run(&h);
    assert_int_equal(counter(&h, "a", COUNTER_STORAGE_READ_BYTES), 500);
    CONFIGURE(&h, .exclude = "proctally_group_storage_*");
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .read_bytes = 900000, .user_ticks = 2);
    must_run(&h);
    assert_false(group(&h, "a")->have_counters & BIT(COUNTER_STORAGE_READ_BYTES));
    assert_int_equal(group(&h, "a")->unread[PART_IO], 0);
    CONFIGURE(&h, .include = NULL);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .read_bytes = 900100, .user_ticks = 3);
    must_run(&h);
    assert_int_equal(counter(&h, "a", COUNTER_STORAGE_READ_BYTES), 0);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .read_bytes = 900107, .user_ticks = 4);
    must_run(&h);
    assert_int_equal(counter(&h, "a", COUNTER_STORAGE_READ_BYTES), 7);
    /* The others went on all the time. */
    assert_int_equal(counter(&h, "a", COUNTER_CPU_USER_NS), 4 * TICK);
    teardown(&h);
}

/* A family turned on is first at 0 too, even in a group that stood at 0 unseen. */
static void test_family_turned_on(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init");
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .exclude = "proctally_group_storage_*", .fixed = "web");
    must_run(&h);
    must_run(&h);
    CONFIGURE(&h, .fixed = "web");
    HOST_PUT(&h.tree, .pid = 2, .comm = "web", .start = 90, .read_bytes = 5000);
    must_run(&h);
    assert_int_equal(counter(&h, "web", COUNTER_STORAGE_READ_BYTES), 0);
    must_run(&h);
    assert_int_equal(counter(&h, "web", COUNTER_STORAGE_READ_BYTES), 5000);
    teardown(&h);
}

static void test_pss_of_the_large_is_not_read(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .resident_kb = 1024, .pss_kb = 700);
    HOST_PUT(&h.tree, .pid = 2, .resident_kb = 4096, .pss_kb = 3000); /* just as much */
    HOST_PUT(&h.tree, .pid = 3, .resident_kb = 4100, .pss_kb = 4000);
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .include = "proctally_group_proportional_memory_bytes",
              .pss_max_bytes = 4096 << 10);
    must_run_probed(&h);
    assert_int_equal(gauge(&h, "x", GAUGE_PROPORTIONAL_BYTES), 3700 << 10);
    assert_int_equal(group(&h, "x")->unread[PART_SMAPS], 1);
    assert_int_equal(h.snapshot.self.unread_processes[PART_SMAPS], 1);
    teardown(&h);
}

/* Nor of one whose size is not known: it may be the largest. Its size is read for that alone. */
static void test_pss_of_unknown_size(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .pss_kb = 700);
    HOST_PUT(&h.tree, .pid = 2, .pss_kb = 3000);
    assert_int_equal(unlink(tree_path(&h.tree, "2/status")), 0);
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .include = "proctally_group_proportional_memory_bytes",
              .exclude = "proctally_group_[rs][ew]*_bytes");
    assert_false(h.cycle.wanted.gauges & BIT(GAUGE_RESIDENT_ANON_BYTES));
    must_run_probed(&h);
    assert_int_equal(gauge(&h, "x", GAUGE_PROPORTIONAL_BYTES), 700 << 10);
    teardown(&h);
}

static void test_ratios(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .fds = 5, .fds_limit = "10", .mappings = 30);
    HOST_PUT(&h.tree, .pid = 2, .fds = 6, .fds_limit = "unlimited", .mappings = 31);
    setup(&h, CYCLE_DAEMON);
    must_run_probed(&h);
    assert_true(group(&h, "x")->worst_fds_ratio == 0.5);
    assert_true(group(&h, "x")->worst_mappings_ratio == 31.0 / 100);
    assert_int_equal(unlink(tree_path(&h.tree, "sys/vm/max_map_count")), 0);
    must_run(&h);
    assert_true(group(&h, "x")->worst_mappings_ratio < 0);
    teardown(&h);
}

static void test_zombies(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    /* Parents may be listed before or after, and may be gone. */
    HOST_PUT(&h.tree, .pid = 11, .comm = "child", .state = 'Z', .parent = 50);
    HOST_PUT(&h.tree, .pid = 50, .comm = "lazy");
    HOST_PUT(&h.tree, .pid = 90, .comm = "child", .state = 'Z', .parent = 50);
    HOST_PUT(&h.tree, .pid = 91, .comm = "child", .state = 'Z', .parent = 77);
    HOST_PUT(&h.tree, .pid = 92, .comm = "child", .parent = 50);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    assert_int_equal(group(&h, "lazy")->zombie_children, 2);
    assert_int_equal(group(&h, "child")->zombie_children, 0);
    assert_int_equal(group(&h, "child")->state[STATE_ZOMBIE], 3);
    host_tree_take(&h.tree, 11);
    host_tree_take(&h.tree, 90);
    must_run(&h);
    assert_int_equal(group(&h, "lazy")->zombie_children, 0);
    teardown(&h);
}

static void write_boot_time(struct host_fixture *h, unsigned seconds)
{
    char text[64];

    snprintf(text, sizeof(text), "cpu  1 1 1 1\nctxt 1\nbtime %u\n", seconds);
    tree_text(&h->tree, "stat", text);
}

/* Times of start move when the clock was set, and not otherwise. */
static void test_boot_time(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .start = 100);
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    write_boot_time(&h, HOST_TREE_BOOT + 7);
    must_run(&h);
    assert_int_equal(group(&h, "x")->oldest_start_ns, (HOST_TREE_BOOT + 1) * SECOND);
    assert_int_equal(h.snapshot.host.field[HOST_BOOT_TIME_SECONDS], HOST_TREE_BOOT);
    h.now.clock_was_set = true;
    must_run(&h);
    assert_int_equal(group(&h, "x")->oldest_start_ns, (HOST_TREE_BOOT + 8) * SECOND);
    assert_int_equal(h.snapshot.host.field[HOST_BOOT_TIME_SECONDS], HOST_TREE_BOOT + 7);
    teardown(&h);
}

/* Our own clock says nothing of the host whose files these are. */
static void test_no_boot_time(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .start = 100);
    tree_text(&h.tree, "stat", "cpu  1 1 1 1\nctxt 1\n");
    setup(&h, CYCLE_DAEMON);
    must_run(&h);
    assert_int_equal(group(&h, "x")->oldest_start_ns, 0);
    assert_false(host_has(&h.snapshot.host, HOST_BOOT_TIME_SECONDS));
    write_boot_time(&h, HOST_TREE_BOOT);
    must_run(&h);
    assert_int_equal(group(&h, "x")->oldest_start_ns, (HOST_TREE_BOOT + 1) * SECOND);
    teardown(&h);
}

static void render_page(const struct snapshot *s, struct buf *page)
{
    buf_reset(page);
    render(s, FORMAT_TEXT, NULL, page);
    assert_false(buf_failed(page));
}

/* A snapshot is rendered while later cycles run. */
static void test_snapshot_stands_alone(void **state)
{
    struct snapshot first = {.self = {.version = "",
                                      .revision = "",
                                      .libmicrohttpd_version = "",
                                      .source = "",
                                      .source_reason = ""}};
    struct buf before, after;
    struct host_fixture h;
    struct arena arena;

    (void)state;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    arena_init(&arena, 1 << 20);
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a");
    HOST_PUT(&h.tree, .pid = 2, .comm = "b");
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .include = "*");
    assert_int_equal(cycle_run(&h.cycle, &h.now), 0);
    assert_int_equal(cycle_snapshot(&h.cycle, 1, 0, &h.now, &arena, &first), 0);
    render_page(&first, &before);
    for (unsigned pid = 3; pid < 100; pid++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "c%u", pid);
        HOST_PUT(&h.tree, .pid = pid, .comm = comm);
    }
    CONFIGURE(&h, .exclude = "proctally_group_*");
    must_run(&h);
    cycle_close(&h.cycle);
    render_page(&first, &after);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    arena_deinit(&arena);
    arena_deinit(&h.arena);
    tree_free(&h.tree);
    buf_deinit(&before);
    buf_deinit(&after);
}

static void test_snapshot_without_room(void **state)
{
    struct host_fixture h;
    struct arena small;

    (void)state;
    host_tree_new(&h.tree);
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .user_ticks = 5);
    setup(&h, CYCLE_DAEMON);
    arena_init(&small, 16);
    assert_int_equal(cycle_run(&h.cycle, &h.now), 0);
    assert_int_equal(cycle_snapshot(&h.cycle, 1, 0, &h.now, &small, &h.snapshot), -ENOMEM);
    arena_deinit(&small);
    /* The next one shows all that was counted. */
    HOST_PUT(&h.tree, .pid = 1, .comm = "a", .user_ticks = 8);
    must_run(&h);
    must_run(&h);
    assert_int_equal(counter(&h, "a", COUNTER_CPU_USER_NS), 3 * TICK);
    teardown(&h);
}

static void test_no_such_root(void **state)
{
    struct cycle_time now = {.monotonic_ns = 1};
    struct cycle c;

    (void)state;
    assert_int_equal(cycle_open(&c, CYCLE_DAEMON, "/nonexistent/proc", &now), -ENOENT);
    assert_int_equal(cycle_open(&c, CYCLE_DAEMON, "/dev/null", &now), -ENOTDIR);
}

/* The real /proc: ourselves, exactly once, and nobody is new in the first cycle. */
static void test_live_proc(void **state)
{
    struct host_fixture h = {.now = {.monotonic_ns = SECOND, .realtime_ns = 1800000000 * SECOND}};
    uint64_t processes = 0;
    struct timespec t;

    (void)state;
    clock_gettime(CLOCK_BOOTTIME, &t);
    h.now.boottime_ns = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
    arena_init(&h.arena, 64 * 1024 * 1024);
    assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, "/proc", &h.now), 0);
    CONFIGURE(&h, .include = "*");
    must_run(&h);
    for (size_t i = 0; i < h.snapshot.n_groups; i++) {
        processes += h.snapshot.groups[i].values.processes;
        assert_int_equal(h.snapshot.groups[i].values.counter[GROUP_COUNTER_STARTED], 0);
    }
    assert_int_equal(processes, h.snapshot.self.processes);
    assert_true(group(&h, "test_cycle")->processes >= 1);
    cycle_close(&h.cycle);
    arena_deinit(&h.arena);
}

/* The row of the process with these labels but for the group, which is that of its comm. */
static const struct snapshot_process *row(const struct host_fixture *h, unsigned pid,
                                          const char *comm)
{
    char labels[256];

    snprintf(labels, sizeof(labels), "pid=\"%u\",comm=\"%s\",group=\"%s\"", pid, comm, comm);
    for (size_t i = 0; i < h->snapshot.n_processes; i++)
        if (span_equal(h->snapshot.processes[i].labels, span_from_str(labels)))
            return &h->snapshot.processes[i];
    return NULL;
}

static void put_worker(struct host_fixture *h, unsigned pid, uint64_t ticks)
{
    HOST_PUT(&h->tree, .pid = pid, .comm = "w", .user_ticks = ticks, .start = 100 * pid, .fds = pid,
             .read_bytes = 4096 * pid);
}

static void test_top_of_a_first_cycle(void **state)
{
    const struct snapshot_process *r;
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    setup(&h, CYCLE_DAEMON);
    put_worker(&h, 1, 700);
    put_worker(&h, 2, 900);
    put_worker(&h, 3, 800);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 0);
    CONFIGURE(&h, .top = 1);
    cycle_close(&h.cycle);
    assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
    CONFIGURE(&h, .top = 1);
    /* By what they used before, since nothing else is known; and in full, from the start. */
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 1);
    r = row(&h, 2, "w");
    assert_non_null(r);
    assert_int_equal(r->counter[COUNTER_CPU_USER_NS], 900 * TICK);
    assert_int_equal(r->counter[COUNTER_STORAGE_READ_BYTES], 8192);
    assert_int_equal(r->gauge[GAUGE_OPEN_FDS], 2);
    assert_int_equal(r->start_ns, (HOST_TREE_BOOT + 2) * SECOND);
    assert_int_equal(counter(&h, "w", COUNTER_CPU_USER_NS), 0);
    teardown(&h);
}

static void test_top_by_what_was_used_since(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .top = 1);
    for (unsigned pid = 1; pid <= 4; pid++)
        put_worker(&h, pid, 1000 * pid);
    must_run(&h);
    assert_non_null(row(&h, 4, "w"));
    /* 1 now uses the most, 4 is second and stays; nobody else comes. */
    put_worker(&h, 1, 1000 + 50);
    put_worker(&h, 4, 4000 + 40);
    put_worker(&h, 3, 3000 + 30);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 2);
    assert_non_null(row(&h, 1, "w"));
    assert_non_null(row(&h, 4, "w"));
    /* 4 is third: out. */
    put_worker(&h, 1, 1050 + 50);
    put_worker(&h, 2, 2000 + 60);
    put_worker(&h, 4, 4040 + 40);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 2);
    assert_null(row(&h, 4, "w"));
    /* One that ended has no row, one whose total stepped back keeps the highest. */
    host_tree_take(&h.tree, 2);
    put_worker(&h, 1, 900);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 1);
    assert_int_equal(row(&h, 1, "w")->counter[COUNTER_CPU_USER_NS], 1100 * TICK);
    teardown(&h);
}

/* What has to be read to rank them is read, whether it is shown or not. */
static void test_top_by_what_is_not_shown(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    put_worker(&h, 3, 0);
    put_worker(&h, 9, 0);
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .exclude = "*_fds*", .top = 1, .top_by = TOP_FDS);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 1);
    assert_non_null(row(&h, 9, "w"));
    CONFIGURE(&h, .exclude = "*_fds*", .top = 2, .top_by = TOP_IO);
    must_run(&h);
    /* Nothing was read from storage meanwhile. */
    assert_int_equal(h.snapshot.n_processes, 0);
    CONFIGURE(&h, .top = 2, .top_by = TOP_MEMORY);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 2);
    CONFIGURE(&h, .top = 0);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 0);
    teardown(&h);
}

/* Who is in no group has no row, whatever it uses, and nobody else loses one for it. */
static void test_top_without_the_excluded(void **state)
{
    struct host_fixture h;
    uint32_t ref;

    (void)state;
    host_tree_new(&h.tree);
    put_worker(&h, 1, 100);
    put_worker(&h, 2, 900);
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .top = 1);
    must_run(&h);
    assert_non_null(row(&h, 2, "w"));
    ref = table_find_pid(&h.cycle.table, 2);
    table_process(&h.cycle.table, ref)->membership.now.standing = STANDING_EXCLUDED;
    put_worker(&h, 1, 101);
    put_worker(&h, 2, 990);
    must_run(&h);
    assert_int_equal(h.snapshot.n_processes, 1);
    assert_non_null(row(&h, 1, "w"));
    teardown(&h);
}

/* A process of which a part is not readable has what is known, and nothing else. */
static void test_top_with_unknown_parts(void **state)
{
    const struct snapshot_process *r;
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    put_worker(&h, 5, 70);
    tree_pid(&h.tree, 5, "io", "nonsense\n");
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .top = 3);
    must_run(&h);
    r = row(&h, 5, "w");
    assert_non_null(r);
    assert_int_equal(r->have_counters & part_counters(PART_IO), 0);
    assert_true(r->have_counters & BIT(COUNTER_CPU_USER_NS));
    teardown(&h);
}

/* Once warm, cycles over the same processes leave the heap alone. */
static void test_warm_cycles_allocate_nothing(void **state)
{
    struct host_fixture h;

    (void)state;
    host_tree_new(&h.tree);
    for (unsigned pid = 1; pid <= 150; pid++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "c%u", pid % 60);
        HOST_PUT(&h.tree, .pid = pid, .comm = comm, .fds = 2, .mappings = 3,
                 .state = pid % 10 ? 'S' : 'Z', .parent = 5);
    }
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .include = "*", .pss_max_bytes = UINT64_MAX, .top = 20, .top_by = TOP_MEMORY);
    for (int i = 0; i < 20; i++)
        must_run_probed(&h);
    heap_calls = 0;
    counting = true;
    for (int i = 0; i < 40; i++)
        must_run_probed(&h);
    counting = false;
    assert_int_equal(heap_calls, 0);
    assert_int_equal(h.snapshot.n_processes, 20);
    teardown(&h);
}

/* Rules over all that is known, so that texts are read by turns, and names and groups looked up. */
static void add_rules_of_all_kinds(struct rules *rules)
{
    struct span comm = SPAN_LITERAL("c1*"), exe = SPAN_LITERAL("/bin/c2*"),
                cmdline = SPAN_LITERAL("-n (\\d+)"), user = SPAN_LITERAL("nobody"),
                noise = SPAN_LITERAL("c30");
    const struct rule_spec specs[] = {
        {.exclude = true, .name = noise, .patterns = {[RULE_COMM] = {&noise, 1}}},
        {.name = SPAN_LITERAL("${user}"), .patterns = {[RULE_USER] = {&user, 1}}},
        {.name = SPAN_LITERAL("e-${exe}"), .patterns = {[RULE_EXE] = {&exe, 1}}},
        {.name = SPAN_LITERAL("n-${1}"),
         .children = true,
         .patterns = {[RULE_COMM] = {&comm, 1}, [RULE_CMDLINE] = {&cmdline, 1}}},
    };
    struct rule_fault fault;

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        assert_int_equal(rules_add(rules, &specs[i], &fault), 0);
}

static void configure_rules(struct host_fixture *h)
{
    struct cycle_settings settings = {.groups_max = 1000,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = 3600 * SECOND,
                                      .pss_max_bytes = UINT64_MAX};

    rules_init(&settings.rules);
    add_rules_of_all_kinds(&settings.rules);
    selection_default(&settings.families);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
}

static void put_for_rules(struct tree *t, unsigned pid)
{
    char comm[16], name[32], exe[32];

    snprintf(comm, sizeof(comm), "c%u", pid % 40);
    HOST_PUT(t, .pid = pid, .comm = comm, .parent = pid % 7 + 1);
    snprintf(name, sizeof(name), "%u/exe", pid);
    snprintf(exe, sizeof(exe), "/bin/%s", comm);
    tree_link(t, name, exe);
    tree_pid(t, pid, "cmdline", "%s -n %u", comm, pid % 5);
    tree_pid(t, pid, "cgroup", "0::/system.slice/s%u.service\n", pid % 9);
}

static void test_warm_cycles_with_rules(void **state)
{
    struct host_fixture h;
    uint64_t members = 0;

    (void)state;
    host_tree_new(&h.tree);
    for (unsigned pid = 1; pid <= 150; pid++)
        put_for_rules(&h.tree, pid);
    setup(&h, CYCLE_DAEMON);
    configure_rules(&h);
    for (int i = 0; i < 20; i++)
        must_run_probed(&h);
    heap_calls = 0;
    counting = true;
    for (int i = 0; i < 40; i++)
        must_run_probed(&h);
    counting = false;
    assert_int_equal(heap_calls, 0);
    for (size_t i = 0; i < h.snapshot.n_groups; i++)
        members += h.snapshot.groups[i].values.processes;
    assert_int_equal(h.snapshot.self.pending_processes, 0);
    assert_true(h.snapshot.self.excluded_processes > 0);
    assert_int_equal(members + h.snapshot.self.excluded_processes, 150);
    assert_int_equal(group(&h, "e-c20")->processes, 4);
    assert_true(group(&h, "s1.service")->processes > 0);
    teardown(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_host_in_the_snapshot),
        cmocka_unit_test(test_daemon_counts_steps),
        cmocka_unit_test(test_pid_reuse),
        cmocka_unit_test(test_listing_fails),
        cmocka_unit_test(test_root_is_removed),
        cmocka_unit_test(test_nobody_is_readable),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_stat_unreadable_for_a_while),
        cmocka_unit_test(test_family_off_and_on),
        cmocka_unit_test(test_family_turned_on),
        cmocka_unit_test(test_pss_of_the_large_is_not_read),
        cmocka_unit_test(test_pss_of_unknown_size),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_zombies),
        cmocka_unit_test(test_boot_time),
        cmocka_unit_test(test_no_boot_time),
        cmocka_unit_test(test_snapshot_stands_alone),
        cmocka_unit_test(test_snapshot_without_room),
        cmocka_unit_test(test_no_such_root),
        cmocka_unit_test(test_live_proc),
        cmocka_unit_test(test_top_of_a_first_cycle),
        cmocka_unit_test(test_top_by_what_was_used_since),
        cmocka_unit_test(test_top_by_what_is_not_shown),
        cmocka_unit_test(test_top_without_the_excluded),
        cmocka_unit_test(test_top_with_unknown_parts),
        cmocka_unit_test(test_warm_cycles_allocate_nothing),
        cmocka_unit_test(test_warm_cycles_with_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
