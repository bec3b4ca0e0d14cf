#pragma once
/* state_host - a host whose daemons come and go, and what each of them shows. */
#include "daemon/state_file.h"

#include "comm_rule.h"
#include "host_tree.h"

static const uint64_t SECOND = 1000000000u;
static const uint64_t TICK = 10000000u;

/* A host, and the daemons that come and go on it. */
struct host_fixture {
    struct tree tree;
    char file[512];
    struct cycle_time now;
    struct arena arena;
    /* Of the daemon that runs. */
    struct cycle cycle;
    struct state_file state;
    uint64_t sequence;
    struct snapshot snapshot;
};

static inline void boot(struct host_fixture *h, const char *id)
{
    tree_text(&h->tree, "sys/kernel/random/boot_id", id);
}

static inline void setup(struct host_fixture *h)
{
    *h = (struct host_fixture){.now = {.monotonic_ns = 100 * SECOND,
                                       .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                       .boottime_ns = 5000 * SECOND}};
    host_tree_new(&h->tree);
    boot(h, "6d3d5df4-31e1-4a44-8b0c-0c0ffeec0ffe\n");
    HOST_PUT(&h->tree, .pid = 1, .comm = "init", .start = 3);
    snprintf(h->file, sizeof(h->file), "%s/state", h->tree.root);
    arena_init(&h->arena, 64 * 1024 * 1024);
}

static inline void teardown(struct host_fixture *h)
{
    arena_deinit(&h->arena);
    tree_free(&h->tree);
}

static inline void start_with(struct host_fixture *h, const char *file)
{
    struct cycle_settings settings = {
        .groups_max = 1000, .groups_forget_ns = 3600 * SECOND, .probe_deadline_ns = 3600 * SECOND};
    struct span star = SPAN_LITERAL("*"), app = SPAN_LITERAL("app"),
                line = SPAN_LITERAL("-n (\\w+)"), wrong;
    struct rule_spec spec = {.name = SPAN_LITERAL("app-${1}"),
                             .patterns = {[RULE_COMM] = {&app, 1}, [RULE_CMDLINE] = {&line, 1}}};
    struct rule_fault fault;

    rules_init(&settings.rules);
    assert_int_equal(rules_add(&settings.rules, &spec, &fault), 0);
    assert_int_equal(rules_add_comm(&settings.rules, SPAN_LITERAL("${comm}"), &star, 1, &wrong), 0);
    selection_default(&settings.families);
    assert_int_equal(cycle_open(&h->cycle, CYCLE_DAEMON, h->tree.root, &h->now), 0);
    state_file_open(&h->state, file, &h->cycle);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
    h->sequence = 0;
}

static inline void start(struct host_fixture *h)
{
    start_with(h, h->file);
}

static inline void stop(struct host_fixture *h)
{
    state_file_close(&h->state);
    cycle_close(&h->cycle);
}

/* A cycle whose snapshot is scraped, and the write of its state. */
static inline void run(struct host_fixture *h)
{
    h->now.monotonic_ns += 10 * SECOND;
    h->now.boottime_ns += 10 * SECOND;
    h->now.realtime_ns += 10 * SECOND;
    assert_int_equal(cycle_run(&h->cycle, &h->now), 0);
    arena_reset(&h->arena);
    assert_int_equal(
        cycle_snapshot(&h->cycle, h->sequence + 1, h->sequence, &h->now, &h->arena, &h->snapshot),
        0);
    h->sequence++;
    state_file_write(&h->state, &h->cycle);
}

/* What the page shows of user CPU time, in ticks; UINT64_MAX: there is no such group. */
static inline uint64_t cpu(const struct host_fixture *h, const char *name)
{
    for (size_t i = 0; i < h->snapshot.n_groups; i++)
        if (span_equal(h->snapshot.groups[i].name, span_from_str(name)))
            return h->snapshot.groups[i].values.counter[COUNTER_CPU_USER_NS] / TICK;
    return UINT64_MAX;
}

/* A daemon that has seen `web` use 50 ticks, and is gone. */
static inline void leave_state(struct host_fixture *h)
{
    start(h);
    for (uint64_t i = 0; i < 3; i++) {
        HOST_PUT(&h->tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1000 + 25 * i);
        run(h);
    }
    assert_int_equal(cpu(h, "web"), 50);
    stop(h);
}

/* What the next daemon shows first. */
static inline uint64_t cpu_of_next(struct host_fixture *h)
{
    uint64_t shown;

    start(h);
    run(h);
    shown = cpu(h, "web");
    stop(h);
    return shown;
}
