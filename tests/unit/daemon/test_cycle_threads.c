/*
 * Whole cycles over trees of files in which some groups' threads are read.
 *
 * Linked with --wrap of the allocators and of openat(2): to count what this thread, and not the
 * prober's, asks of them, and to refuse it.
 */
#include "daemon/cycle.h"

#include "comm_rule.h"
#include "host_tree.h"

#define BIT(n) (UINT32_C(1) << (n))

static const uint64_t SECOND = 1000000000u;
static const uint64_t TICK = 10000000u;

/* ---- what is counted and refused ---- */

struct plan {
    bool armed;
    unsigned calls;
    unsigned at; /* of the call that fails, from 1; 0: none */
    unsigned hits;
};

static _Thread_local struct plan heap_plan, open_plan;
static _Thread_local unsigned opened_tasks, opened_status, opened_schedstat;

static bool plan_hits(struct plan *plan)
{
    if (!plan->armed)
        return false;
    plan->calls++;
    plan->hits += plan->calls == plan->at;
    return plan->calls == plan->at;
}

#define WRAP_HEAP(name, parameters, arguments)                         \
    void *__real_##name parameters;                                    \
    void *__wrap_##name parameters;                                    \
    void *__wrap_##name parameters                                     \
    {                                                                  \
        return plan_hits(&heap_plan) ? NULL : __real_##name arguments; \
    }

WRAP_HEAP(malloc, (size_t n), (n))
WRAP_HEAP(calloc, (size_t n, size_t size), (n, size))
WRAP_HEAP(realloc, (void *p, size_t n), (p, n))

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
    opened_tasks += strcmp(name, "task") == 0;
    opened_status += strcmp(name, "status") == 0;
    opened_schedstat += strcmp(name, "schedstat") == 0;
    if (plan_hits(&open_plan)) {
        errno = EMFILE;
        return -1;
    }
    return __real_openat(dir, name, flags);
}

/* ---- the host ---- */

/* A thread; what is left out is 0, or: its process' pid, comm "w". */
struct host_thread {
    unsigned pid, tid;
    const char *comm;
    uint64_t start;
    uint64_t user_ticks, system_ticks;
    unsigned waited_ns, voluntary, involuntary;
};

static void put_thread(struct tree *t, struct host_thread thread)
{
    unsigned tid = thread.tid ? thread.tid : thread.pid;
    struct host_process p = {.pid = thread.pid,
                             .comm = thread.comm ? thread.comm : "w",
                             .start = thread.start,
                             .user_ticks = thread.user_ticks,
                             .system_ticks = thread.system_ticks};
    char name[64];

    snprintf(name, sizeof(name), "task/%u/stat", tid);
    host_tree_stat(t, &p, name, 'S');
    snprintf(name, sizeof(name), "task/%u/status", tid);
    tree_pid(t, thread.pid, name,
             "Name:\tx\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n",
             thread.voluntary, thread.involuntary);
    snprintf(name, sizeof(name), "task/%u/schedstat", tid);
    tree_pid(t, thread.pid, name, "5 %u 1\n", thread.waited_ns);
}

#define THREAD(t, ...) put_thread(t, (struct host_thread){__VA_ARGS__})

static void take_thread(struct tree *t, unsigned pid, unsigned tid)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%u/task/%u", t->root, pid, tid);
    nftw(path, tree_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

struct host_fixture {
    struct tree tree;
    struct cycle cycle;
    struct cycle_time now;
    struct arena arena;
    struct snapshot snapshot;
    uint64_t sequence, served;
};

struct options_of_test {
    const char *threads; /* glob */
    const char *exclude; /* families */
    bool texts;          /* group `late` is told by the command line */
};

static void add_text_rule(struct rules *rules)
{
    struct span comm = SPAN_LITERAL("late*"), cmdline = SPAN_LITERAL("serve");
    struct rule_spec spec = {.name = SPAN_LITERAL("late"),
                             .patterns[RULE_COMM] = {&comm, 1},
                             .patterns[RULE_CMDLINE] = {&cmdline, 1}};
    struct rule_fault fault;

    assert_int_equal(rules_add(rules, &spec, &fault), 0);
}

static int try_configure(struct host_fixture *h, struct options_of_test options)
{
    struct cycle_settings settings = {.groups_max = 100,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = 3600 * SECOND,
                                      .pss_max_bytes = UINT64_MAX};
    struct span star = SPAN_LITERAL("*"), fixed = SPAN_LITERAL("fixed"), wrong;
    bool armed = heap_plan.armed;

    heap_plan.armed = false;
    rules_init(&settings.rules);
    if (options.texts)
        add_text_rule(&settings.rules);
    assert_int_equal(rules_add_comm(&settings.rules, fixed, &fixed, 1, &wrong), 0);
    assert_int_equal(rules_add_comm(&settings.rules, SPAN_LITERAL("${comm}"), &star, 1, &wrong), 0);
    if (options.threads) {
        struct span glob = span_from_str(options.threads);

        assert_int_equal(globs_copy(&settings.threads, &glob, 1), 0);
    }
    selection_default(&settings.families);
    /* The prober's threads would come and go in between. */
    selection_exclude(&settings.families, SPAN_LITERAL("proctally_group_mappings*"));
    if (options.exclude)
        assert_true(selection_exclude(&settings.families, span_from_str(options.exclude)) > 0);
    heap_plan.armed = armed;
    return cycle_configure(&h->cycle, &settings);
}

#define CONFIGURE(h, ...) \
    assert_int_equal(try_configure(h, (struct options_of_test){__VA_ARGS__}), 0)

static void open_at(struct host_fixture *h, enum cycle_mode mode, const char *root)
{
    h->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    h->snapshot = (struct snapshot){0};
    h->sequence = h->served = 0;
    heap_plan = open_plan = (struct plan){0};
    opened_tasks = opened_status = opened_schedstat = 0;
    arena_init(&h->arena, 64 * 1024 * 1024);
    assert_int_equal(cycle_open(&h->cycle, mode, root, &h->now), 0);
}

static void close_all(struct host_fixture *h)
{
    cycle_close(&h->cycle);
    arena_deinit(&h->arena);
}

static void setup(struct host_fixture *h, enum cycle_mode mode)
{
    host_tree_new(&h->tree);
    HOST_PUT(&h->tree, .pid = 1, .comm = "init");
    open_at(h, mode, h->tree.root);
}

static void teardown(struct host_fixture *h)
{
    close_all(h);
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

static const struct snapshot_group *group(const struct host_fixture *h, const char *name)
{
    for (size_t i = 0; i < h->snapshot.n_groups; i++)
        if (span_equal(h->snapshot.groups[i].name, span_from_str(name)))
            return &h->snapshot.groups[i];
    fail_msg("there is no group %s", name);
    return NULL;
}

static uint32_t knows(const struct host_fixture *h, const char *name)
{
    return group(h, name)->values.have_counters & part_counters(PART_TASK);
}

static uint64_t counter(const struct host_fixture *h, const char *name, enum counter field)
{
    const struct group_values *v = &group(h, name)->values;

    if (!(v->have_counters >> field & 1))
        fail_msg("%s does not know counter %d", name, (int)field);
    return v->counter[field];
}

static const struct snapshot_thread *find_thread(const struct host_fixture *h, const char *name,
                                                 const char *comm)
{
    const struct snapshot_group *g = group(h, name);
    char label[128];

    snprintf(label, sizeof(label), "thread=\"%s\"", comm);
    for (size_t i = 0; i < g->n_threads; i++)
        if (span_equal(g->threads[i].label, span_from_str(label)))
            return &g->threads[i];
    return NULL;
}

static const struct thread_values *thread(const struct host_fixture *h, const char *name,
                                          const char *comm)
{
    const struct snapshot_thread *t = find_thread(h, name, comm);

    if (!t)
        fail_msg("%s has no threads %s", name, comm);
    return &t->values;
}

/* What the names of a group come to. */
static uint64_t sum(const struct host_fixture *h, const char *name, enum thread_counter field)
{
    const struct snapshot_group *g = group(h, name);
    uint64_t n = 0;

    for (size_t i = 0; i < g->n_threads; i++)
        n += g->threads[i].values.counter[field];
    return n;
}

/* ---- what is shown ---- */

static void test_once(void **state)
{
    struct host_fixture h;
    const struct thread_values *v;

    (void)state;
    setup(&h, CYCLE_ONCE);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app", .threads = 3);
    THREAD(&h.tree, .pid = 10, .comm = "app", .user_ticks = 5, .waited_ns = 100, .voluntary = 7);
    THREAD(&h.tree, .pid = 10, .tid = 11, .user_ticks = 3, .system_ticks = 1, .involuntary = 20);
    THREAD(&h.tree, .pid = 10, .tid = 12, .user_ticks = 4, .waited_ns = 11, .voluntary = 1);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_RUN_QUEUE_NS), 111);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 8);
    assert_int_equal(counter(&h, "app", COUNTER_INVOLUNTARY_SWITCHES), 20);
    assert_int_equal(group(&h, "app")->n_threads, 2);
    v = thread(&h, "app", "w");
    assert_int_equal(v->threads, 2);
    assert_int_equal(v->have, BIT(THREAD_COUNTER_N) - 1);
    assert_int_equal(v->counter[THREAD_CPU_USER_NS], 7 * TICK);
    assert_int_equal(v->counter[THREAD_CPU_SYSTEM_NS], 1 * TICK);
    assert_int_equal(v->counter[THREAD_RUN_QUEUE_NS], 11);
    assert_int_equal(v->counter[THREAD_VOLUNTARY_SWITCHES], 1);
    assert_int_equal(v->counter[THREAD_INVOLUNTARY_SWITCHES], 20);
    assert_int_equal(thread(&h, "app", "app")->threads, 1);
    assert_int_equal(thread(&h, "app", "app")->counter[THREAD_CPU_USER_NS], 5 * TICK);
    assert_int_equal(group(&h, "app")->values.unread[PART_TASK], 0);
    assert_true(h.snapshot.self.reads_threads);
    assert_int_equal(knows(&h, "init"), 0);
    assert_int_equal(group(&h, "init")->n_threads, 0);
    teardown(&h);
}

static void test_steps(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .comm = "app", .user_ticks = 500, .voluntary = 700);
    THREAD(&h.tree, .pid = 10, .tid = 11, .start = 50, .user_ticks = 300, .voluntary = 100);
    CONFIGURE(&h, .threads = "a*");
    for (unsigned i = 0; i < 4; i++) {
        THREAD(&h.tree, .pid = 10, .tid = 11, .start = 50, .user_ticks = 300 + i,
               .voluntary = 100 + 2 * i);
        must_run(&h);
        assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 2 * i);
        assert_int_equal(thread(&h, "app", "w")->counter[THREAD_CPU_USER_NS], i * TICK);
        assert_int_equal(thread(&h, "app", "app")->counter[THREAD_CPU_USER_NS], 0);
    }
    /* A new thread counts in full, and one that ends takes nothing with it. */
    THREAD(&h.tree, .pid = 10, .tid = 12, .start = 90, .user_ticks = 9, .voluntary = 5);
    take_thread(&h.tree, 10, 11);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 6 + 5);
    assert_int_equal(thread(&h, "app", "w")->counter[THREAD_CPU_USER_NS], (3 + 9) * TICK);
    assert_int_equal(thread(&h, "app", "w")->threads, 1);
    /* So does a new process with all its threads, when the group's series are on the page. */
    HOST_PUT(&h.tree, .pid = 20, .comm = "app", .start = 95);
    THREAD(&h.tree, .pid = 20, .comm = "app", .start = 95, .voluntary = 1000);
    THREAD(&h.tree, .pid = 20, .tid = 21, .start = 95, .voluntary = 500);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 11 + 1500);
    host_tree_take(&h.tree, 20);
    host_tree_take(&h.tree, 10);
    for (int i = 0; i < 4; i++)
        must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 1511);
    assert_int_equal(thread(&h, "app", "w")->threads, 0);
    assert_int_equal(h.cycle.thread_watch.threads.n_used, 0);
    teardown(&h);
}

/* A thread that is given another name used what it did under the old one. */
static void test_renamed_thread(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .comm = "app", .user_ticks = 5);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    must_run(&h);
    THREAD(&h.tree, .pid = 10, .comm = "main", .user_ticks = 8);
    must_run(&h);
    assert_int_equal(thread(&h, "app", "app")->counter[THREAD_CPU_USER_NS], 3 * TICK);
    assert_int_equal(thread(&h, "app", "app")->threads, 0);
    assert_int_equal(thread(&h, "app", "main")->counter[THREAD_CPU_USER_NS], 0);
    assert_int_equal(thread(&h, "app", "main")->have, BIT(THREAD_COUNTER_N) - 1);
    assert_int_equal(thread(&h, "app", "main")->threads, 1);
    THREAD(&h.tree, .pid = 10, .comm = "main", .user_ticks = 9);
    must_run(&h);
    assert_int_equal(thread(&h, "app", "main")->counter[THREAD_CPU_USER_NS], 1 * TICK);
    assert_int_equal(thread(&h, "app", "app")->counter[THREAD_CPU_USER_NS], 3 * TICK);
    teardown(&h);
}

/* A process that moves: what it used up to then stays where it was. */
static void test_moves(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "a1");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    HOST_PUT(&h.tree, .pid = 20, .comm = "a1");
    THREAD(&h.tree, .pid = 20, .voluntary = 100);
    HOST_PUT(&h.tree, .pid = 30, .comm = "c");
    THREAD(&h.tree, .pid = 30, .voluntary = 100);
    CONFIGURE(&h, .threads = "a*");
    must_run(&h);
    must_run(&h);
    /* From a listed group to another, and to one that is not listed; and into one. */
    HOST_PUT(&h.tree, .pid = 10, .comm = "a2");
    THREAD(&h.tree, .pid = 10, .voluntary = 103);
    THREAD(&h.tree, .pid = 10, .tid = 11, .start = 90, .voluntary = 20);
    HOST_PUT(&h.tree, .pid = 20, .comm = "b");
    THREAD(&h.tree, .pid = 20, .voluntary = 107);
    HOST_PUT(&h.tree, .pid = 30, .comm = "a3");
    THREAD(&h.tree, .pid = 30, .voluntary = 190);
    must_run(&h);
    assert_int_equal(counter(&h, "a1", COUNTER_VOLUNTARY_SWITCHES), 3 + 20 + 7);
    assert_int_equal(sum(&h, "a1", THREAD_VOLUNTARY_SWITCHES), 3 + 20 + 7);
    assert_int_equal(counter(&h, "a2", COUNTER_VOLUNTARY_SWITCHES), 0);
    assert_int_equal(counter(&h, "a3", COUNTER_VOLUNTARY_SWITCHES), 0);
    assert_int_equal(thread(&h, "a1", "w")->threads, 0);
    assert_int_equal(thread(&h, "a2", "w")->threads, 2);
    assert_int_equal(knows(&h, "b"), 0);
    assert_int_equal(group(&h, "b")->n_threads, 0);
    must_run(&h);
    THREAD(&h.tree, .pid = 10, .voluntary = 104);
    THREAD(&h.tree, .pid = 20, .voluntary = 300);
    THREAD(&h.tree, .pid = 30, .voluntary = 192);
    must_run(&h);
    assert_int_equal(counter(&h, "a1", COUNTER_VOLUNTARY_SWITCHES), 30);
    assert_int_equal(counter(&h, "a2", COUNTER_VOLUNTARY_SWITCHES), 1);
    assert_int_equal(counter(&h, "a3", COUNTER_VOLUNTARY_SWITCHES), 2);
    /* Back: what it used elsewhere is not known here. */
    HOST_PUT(&h.tree, .pid = 20, .comm = "a1");
    THREAD(&h.tree, .pid = 20, .voluntary = 400);
    must_run(&h);
    THREAD(&h.tree, .pid = 20, .voluntary = 401);
    must_run(&h);
    assert_int_equal(counter(&h, "a1", COUNTER_VOLUNTARY_SWITCHES), 31);
    teardown(&h);
}

/*
 * Who waits for a group is new all the time: what its threads did meanwhile counts when it has one.
 * Of one that was there before anybody looked it does not.
 */
static void test_pending(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 20, .comm = "late-old");
    tree_pid(&h.tree, 20, "cmdline", "%s", "serve");
    THREAD(&h.tree, .pid = 20, .voluntary = 1000);
    CONFIGURE(&h, .threads = "late", .texts = true);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(run(&h), 0);
        if (i == 0)
            assert_int_equal(h.snapshot.self.pending_processes, 1);
        while (cycle_between(&h.cycle, h.now.monotonic_ns) != UINT64_MAX)
            usleep(1000);
    }
    assert_int_equal(h.snapshot.self.pending_processes, 0);
    must_run(&h);
    must_run(&h);
    assert_int_equal(counter(&h, "late", COUNTER_VOLUNTARY_SWITCHES), 0);
    HOST_PUT(&h.tree, .pid = 10, .comm = "late", .start = 90);
    tree_pid(&h.tree, 10, "cmdline", "%s", "serve");
    THREAD(&h.tree, .pid = 10, .start = 90, .voluntary = 100);
    must_run(&h);
    assert_int_equal(h.snapshot.self.pending_processes, 1);
    assert_int_equal(counter(&h, "late", COUNTER_VOLUNTARY_SWITCHES), 0);
    while (cycle_between(&h.cycle, h.now.monotonic_ns) != UINT64_MAX)
        usleep(1000);
    THREAD(&h.tree, .pid = 10, .start = 90, .voluntary = 130);
    must_run(&h);
    assert_int_equal(h.snapshot.self.pending_processes, 0);
    assert_int_equal(counter(&h, "late", COUNTER_VOLUNTARY_SWITCHES), 130);
    assert_int_equal(sum(&h, "late", THREAD_VOLUNTARY_SWITCHES), 130);
    teardown(&h);
}

static void test_unread(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    HOST_PUT(&h.tree, .pid = 20, .comm = "app");
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    assert_int_equal(group(&h, "app")->values.unread[PART_TASK], 1);
    assert_int_equal(h.snapshot.self.unread_processes[PART_TASK], 1);
    assert_int_equal(knows(&h, "app"), part_counters(PART_TASK));
    assert_int_equal(group(&h, "init")->values.unread[PART_TASK], 0);
    /* What no thread of a process has is not read of it; others are summed. */
    THREAD(&h.tree, .pid = 20, .voluntary = 100);
    assert_int_equal(unlink(tree_path(&h.tree, "20/task/20/schedstat")), 0);
    must_run(&h);
    assert_int_equal(group(&h, "app")->values.unread[PART_TASK], 1);
    THREAD(&h.tree, .pid = 20, .voluntary = 100);
    tree_pid(&h.tree, 20, "task/20/stat", "%s", "20 (w) S");
    must_run(&h);
    assert_int_equal(group(&h, "app")->values.unread[PART_TASK], 1);
    assert_int_equal(h.snapshot.self.read_faults[FAULT_TASK][FAULT_MALFORMED], 1);
    THREAD(&h.tree, .pid = 20, .voluntary = 100);
    must_run(&h);
    assert_int_equal(group(&h, "app")->values.unread[PART_TASK], 0);
    teardown(&h);
}

/* A group that nobody belongs to knows that its threads use nothing, if it is listed. */
static void test_fixed_group(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    CONFIGURE(&h, .threads = NULL);
    must_run(&h);
    assert_int_equal(knows(&h, "fixed"), 0);
    CONFIGURE(&h, .threads = "f*");
    must_run(&h);
    assert_int_equal(knows(&h, "fixed"), part_counters(PART_TASK));
    HOST_PUT(&h.tree, .pid = 10, .comm = "fixed", .start = 90);
    THREAD(&h.tree, .pid = 10, .start = 90, .voluntary = 100);
    must_run(&h);
    assert_int_equal(counter(&h, "fixed", COUNTER_VOLUNTARY_SWITCHES), 100);
    teardown(&h);
}

static void test_steps_back(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .waited_ns = 100);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    THREAD(&h.tree, .pid = 10, .waited_ns = 90);
    must_run(&h);
    THREAD(&h.tree, .pid = 10, .waited_ns = 101);
    must_run(&h);
    assert_int_equal(h.snapshot.self.steps_back[COUNTER_RUN_QUEUE_NS], 1);
    assert_int_equal(counter(&h, "app", COUNTER_RUN_QUEUE_NS), 1);
    teardown(&h);
}

/* ---- what is read ---- */

/* Off, which is the default: of nobody's threads anything is opened but an exited leader's. */
static void test_off(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    CONFIGURE(&h, .threads = NULL);
    for (int i = 0; i < 20; i++)
        must_run(&h);
    assert_int_equal(opened_tasks, 0);
    assert_int_equal(opened_schedstat, 0);
    assert_false(h.snapshot.self.reads_threads);
    host_tree_put_exited_leader(&h.tree, (struct host_process){.pid = 500, .comm = "leader"});
    must_run(&h);
    assert_int_equal(opened_tasks, 1);
    /* Of a listed group alone. */
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    assert_int_equal(opened_tasks, 3);
    assert_int_equal(opened_schedstat, 1);
    teardown(&h);
}

/* A file that no family needs is not opened; without any family, no thread is. */
static void test_families(void **state)
{
    struct host_fixture h;
    unsigned status;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    CONFIGURE(&h, .threads = "app", .exclude = "*switches*");
    must_run(&h);
    status = opened_status;
    assert_int_equal(status, 2); /* of two processes */
    assert_int_equal(opened_schedstat, 1);
    CONFIGURE(&h, .threads = "app", .exclude = "proctally_group_*thread*");
    must_run(&h);
    assert_int_equal(opened_status, status + 3);
    assert_int_equal(opened_schedstat, 2);
    CONFIGURE(&h, .threads = "app", .exclude = "proctally_group_*");
    opened_tasks = 0;
    must_run(&h);
    assert_int_equal(opened_tasks, 0);
    assert_false(h.snapshot.self.reads_threads);
    /* On again: no burst, and first at 0. */
    THREAD(&h.tree, .pid = 10, .voluntary = 90000);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 0);
    THREAD(&h.tree, .pid = 10, .voluntary = 90002);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 2);
    assert_int_equal(sum(&h, "app", THREAD_VOLUNTARY_SWITCHES), 2);
    teardown(&h);
}

/* Reloads in mid-life: no burst where threads come on, no gap where they stay. */
static void test_reloads(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    CONFIGURE(&h, .threads = NULL);
    must_run(&h);
    must_run(&h);
    CONFIGURE(&h, .threads = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 5000);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 0);
    for (unsigned i = 1; i < 5; i++) {
        CONFIGURE(&h, .threads = i % 2 ? "a*" : "app");
        THREAD(&h.tree, .pid = 10, .voluntary = 5000 + i);
        must_run(&h);
        assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), i);
        assert_int_equal(sum(&h, "app", THREAD_VOLUNTARY_SWITCHES), i);
    }
    CONFIGURE(&h, .threads = "init");
    must_run(&h);
    assert_int_equal(knows(&h, "app"), 0);
    assert_int_equal(group(&h, "app")->n_threads, 0);
    THREAD(&h.tree, .pid = 10, .voluntary = 7000);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 0);
    THREAD(&h.tree, .pid = 10, .voluntary = 7004);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 4);
    teardown(&h);
}

/* A daemon that comes after goes on with the groups' totals; names begin anew. */
static void test_resume(void **state)
{
    struct host_fixture h;
    struct buf bytes;

    (void)state;
    buf_init(&bytes, 1 << 20);
    setup(&h, CYCLE_DAEMON);
    HOST_PUT(&h.tree, .pid = 10, .comm = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 100);
    CONFIGURE(&h, .threads = "app");
    must_run(&h);
    THREAD(&h.tree, .pid = 10, .voluntary = 130);
    must_run(&h);
    cycle_encode(&h.cycle, &bytes);
    cycle_close(&h.cycle);
    assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
    assert_int_equal(cycle_resume(&h.cycle, buf_span(&bytes)), 0);
    CONFIGURE(&h, .threads = "app");
    THREAD(&h.tree, .pid = 10, .voluntary = 500);
    HOST_PUT(&h.tree, .pid = 20, .comm = "app", .start = 95);
    THREAD(&h.tree, .pid = 20, .start = 95, .voluntary = 7);
    must_run(&h);
    assert_int_equal(counter(&h, "app", COUNTER_VOLUNTARY_SWITCHES), 30 + 7);
    assert_int_equal(sum(&h, "app", THREAD_VOLUNTARY_SWITCHES), 0);
    must_run(&h);
    assert_int_equal(sum(&h, "app", THREAD_VOLUNTARY_SWITCHES), 7);
    buf_deinit(&bytes);
    teardown(&h);
}

/* ---- what fails ---- */

enum { STAGES = 4 };

static struct tree stages[STAGES];
static int roots[STAGES];

/*
 * A life in four stages: threads that go on, come, end, get names, and a process that moves. New
 * names and threads come in every stage, for something to be allocated.
 */
static void put_stage(struct tree *t, unsigned stage)
{
    char comm[16];

    host_tree_new(t);
    HOST_PUT(t, .pid = 1, .comm = "init");
    HOST_PUT(t, .pid = 10, .comm = "app", .start = 10);
    for (unsigned i = 0; i < 30 + 30 * stage; i++) {
        snprintf(comm, sizeof(comm), "w%u", i % (7 + 12 * stage));
        if (stage < 2 || i != 5)
            THREAD(t, .pid = 10, .tid = 10 + i, .comm = comm, .start = i < 30 ? 10 : 9000 + i,
                   .user_ticks = i + stage, .voluntary = 3 * i + 100 * stage, .waited_ns = stage);
    }
    HOST_PUT(t, .pid = 200, .comm = stage < 2 ? "app" : "app2", .start = 20);
    THREAD(t, .pid = 200, .start = 20, .voluntary = 50 + stage);
    if (stage == 0)
        return;
    HOST_PUT(t, .pid = 300, .comm = "new", .start = 8000);
    THREAD(t, .pid = 300, .start = 8000, .comm = "new", .voluntary = 900 + stage);
    THREAD(t, .pid = 300, .tid = 301, .start = 8000, .voluntary = 40 + stage);
}

static int make_stages(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STAGES; i++) {
        put_stage(&stages[i], i);
        roots[i] = open(stages[i].root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(roots[i] >= 0);
    }
    return 0;
}

static int free_stages(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STAGES; i++) {
        close(roots[i]);
        tree_free(&stages[i]);
    }
    return 0;
}

/* The same root, with other files in it. */
static void enter(struct host_fixture *h, unsigned stage)
{
    int root = h->cycle.procfs.root;

    assert_int_equal(dup3(roots[stage], root, O_CLOEXEC), root);
}

/* The life with one thing refused in stages 1 to 3. Says what the groups come to in the end. */
static void live(struct host_fixture *h, struct plan *plan, unsigned at, unsigned *ret_hits)
{
    open_at(h, CYCLE_DAEMON, stages[0].root);
    CONFIGURE(h, .threads = "[an]*");
    must_run(h);
    must_run(h);
    *plan = (struct plan){.at = at};
    for (unsigned stage = 1; stage < STAGES; stage++) {
        int r = -1;

        enter(h, stage);
        for (int i = 0; i < 3 && r < 0; i++) {
            plan->armed = true;
            r = run(h);
            plan->armed = false;
        }
        assert_int_equal(r, 0);
        h->served = h->sequence;
    }
    for (int i = 0; i < 3; i++)
        must_run(h);
    *ret_hits = plan->hits;
}

/* Everything that threads come to is the same, and so are their names. */
static void same_end(const struct host_fixture *h, const struct host_fixture *twin, unsigned at)
{
    static const char *const names[] = {"app", "app2", "new"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct snapshot_group *a = group(h, names[i]), *b = group(twin, names[i]);

        for (enum counter k = COUNTER_RUN_QUEUE_NS; k <= COUNTER_INVOLUNTARY_SWITCHES; k++)
            if (counter(h, names[i], k) != counter(twin, names[i], k))
                fail_msg("refused %u: %s has %llu of counter %d, not %llu", at, names[i],
                         (unsigned long long)counter(h, names[i], k), (int)k,
                         (unsigned long long)counter(twin, names[i], k));
        assert_int_equal(a->n_threads, b->n_threads);
        for (size_t k = 0; k < a->n_threads; k++) {
            assert_true(span_equal(a->threads[k].label, b->threads[k].label));
            assert_int_equal(a->threads[k].values.threads, b->threads[k].values.threads);
        }
        for (enum thread_counter k = 0; k < THREAD_COUNTER_N; k++)
            assert_int_equal(sum(h, names[i], k), sum(twin, names[i], k));
    }
}

static void test_refused(struct plan *plan, unsigned least)
{
    struct host_fixture twin, h;
    unsigned hits = 1, at = 1;

    live(&twin, plan, 0, &hits);
    /* 30 threads from the start, then 30 more of three times as many switches, and so on. */
    assert_true(counter(&twin, "app", COUNTER_VOLUNTARY_SWITCHES) > 10000);
    for (hits = 1; hits > 0; at += 1 + at / 100) {
        live(&h, plan, at, &hits);
        same_end(&h, &twin, at);
        close_all(&h);
    }
    print_message("up to call %u\n", at);
    assert_true(at > least);
    close_all(&twin);
}

static void test_no_memory(void **state)
{
    (void)state;
    test_refused(&heap_plan, 8);
}

static void test_no_descriptors(void **state)
{
    (void)state;
    test_refused(&open_plan, 500);
}

/* Once warm, cycles over the same threads leave the heap alone. */
static void test_warm(void **state)
{
    struct host_fixture h;

    (void)state;
    open_at(&h, CYCLE_DAEMON, stages[1].root);
    CONFIGURE(&h, .threads = "*");
    for (int i = 0; i < 5; i++)
        must_run(&h);
    heap_plan = (struct plan){.armed = true};
    for (int i = 0; i < 20; i++)
        must_run(&h);
    assert_int_equal(heap_plan.calls, 0);
    heap_plan.armed = false;
    close_all(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_renamed_thread),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_fixed_group),
        cmocka_unit_test(test_steps_back),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_reloads),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_warm),
    };

    return cmocka_run_group_tests(tests, make_stages, free_stages);
}
