#pragma once
/*
 * placing_of_test - whole cycles over trees of files, with the real prober and real rules.
 *
 * For tests linked with --wrap of probe_read(), to let reads hang, fail and be counted; of
 * process_read_cgroup() and rules_match(), to count; of users_look(), for users of our own; and of
 * prober_ask(), to refuse.
 */
#include "daemon/cycle.h"

#include "hang.h"
#include "host_tree.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>

#define STARTED GROUP_COUNTER_STARTED
#define EXITED  (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN)

static const uint64_t SECOND = 1000000000u;
static const uint64_t DEADLINE = 15000000000u;

enum { PIDS = 256, USERS = 2000 };

/* ---- what is counted, and what fails ---- */

static _Atomic unsigned reads[PIDS][PART_N];
static _Atomic enum part hang_part;  /* PART_N: none */
static _Atomic enum part error_part; /* PART_N: none */
static _Atomic int error;

int __real_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t)
{
    int r = part == error_part ? error : __real_probe_read(fs, dir, part, s, t);

    reads[s->identity.pid % PIDS][part]++;
    /* What was read before an exec may come after it. */
    if (hang_part == part)
        hang_here(s->identity.pid);
    return r;
}

static unsigned cgroup_reads[PIDS];

int __real_process_read_cgroup(struct procfs *fs, struct faults *faults, const struct sample *s,
                               struct span *ret_path);
int __wrap_process_read_cgroup(struct procfs *fs, struct faults *faults, const struct sample *s,
                               struct span *ret_path);
int __wrap_process_read_cgroup(struct procfs *fs, struct faults *faults, const struct sample *s,
                               struct span *ret_path)
{
    cgroup_reads[s->identity.pid % PIDS]++;
    return __real_process_read_cgroup(fs, faults, s, ret_path);
}

static unsigned matches; /* how often rules were asked */

struct rule_match __real_rules_match(const struct rules *r, const struct subject *s,
                                     struct buf *out_name);
struct rule_match __wrap_rules_match(const struct rules *r, const struct subject *s,
                                     struct buf *out_name);
struct rule_match __wrap_rules_match(const struct rules *r, const struct subject *s,
                                     struct buf *out_name)
{
    matches++;
    return __real_rules_match(r, s, out_name);
}

static int ask_error; /* 0: as it comes */

int __real_prober_ask(struct prober *p, const struct probe_request *request, int dir);
int __wrap_prober_ask(struct prober *p, const struct probe_request *request, int dir);
int __wrap_prober_ask(struct prober *p, const struct probe_request *request, int dir)
{
    return ask_error ? ask_error : __real_prober_ask(p, request, dir);
}

/* Users have the names `uN`; below 1000 they have none, and look-ups of 1999 hang. */
int __wrap_users_look(uint32_t uid, char *room, size_t n, const char **ret);
int __wrap_users_look(uint32_t uid, char *room, size_t n, const char **ret)
{
    if (uid == USERS - 1)
        hang_here(uid);
    snprintf(room, n, "u%u", uid);
    *ret = uid < 1000 ? NULL : room;
    return 0;
}

/* ---- the fixture ---- */

struct placing_fixture {
    struct tree tree;
    struct cycle cycle;
    struct cycle_time now;
    uint64_t step_ns;
};

/* A name that begins with `-` excludes. */
struct rule_text {
    const char *name, *comm, *exe, *user, *unit, *cmdline;
    bool children;
};

static inline void add_rule(struct rules *rules, const struct rule_text *t)
{
    const char *const texts[RULE_KEY_N] = {[RULE_COMM] = t->comm,
                                           [RULE_EXE] = t->exe,
                                           [RULE_USER] = t->user,
                                           [RULE_UNIT] = t->unit,
                                           [RULE_CMDLINE] = t->cmdline};
    struct rule_spec spec = {.exclude = *t->name == '-', .children = t->children};
    struct span items[RULE_KEY_N];
    struct rule_fault fault;

    spec.name = span_from_str(t->name + spec.exclude);
    for (size_t key = 0; key < RULE_KEY_N; key++) {
        items[key] = span_from_str(texts[key] ? texts[key] : "");
        spec.patterns[key] = (struct rule_patterns){&items[key], texts[key] ? 1 : 0};
    }
    assert_int_equal(rules_add(rules, &spec, &fault), 0);
}

static inline void set_rules(struct placing_fixture *h, const struct rule_text *texts, size_t n)
{
    struct cycle_settings settings = {.groups_max = 100,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = DEADLINE,
                                      .pss_max_bytes = 64 << 20};

    rules_init(&settings.rules);
    for (size_t i = 0; i < n; i++)
        add_rule(&settings.rules, &texts[i]);
    selection_default(&settings.families);
    /* Nothing but texts is read by the prober. */
    assert_true(selection_exclude(&settings.families, SPAN_LITERAL("proctally_group_mapping*")) >
                0);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
}

#define RULES(h, ...)                               \
    set_rules(h, (struct rule_text[]){__VA_ARGS__}, \
              sizeof((struct rule_text[]){__VA_ARGS__}) / sizeof(struct rule_text))

static const struct rule_text app_rule = {
    .name = "app-${1}", .comm = "app", .cmdline = "-n (\\w+)"};

static inline void open_cycle(struct placing_fixture *h, enum cycle_mode mode)
{
    h->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    assert_int_equal(cycle_open(&h->cycle, mode, h->tree.root, &h->now), 0);
    set_rules(h, &app_rule, 1);
}

static inline void put_texts(struct placing_fixture *h, unsigned pid, const char *exe,
                             const char *cmdline)
{
    char name[32];

    snprintf(name, sizeof(name), "%u/exe", pid);
    (void)unlink(tree_path(&h->tree, name));
    if (exe)
        tree_link(&h->tree, name, exe);
    tree_pid(&h->tree, pid, "cmdline", "%s", cmdline);
}

/* One that app_rule is about. */
static inline void put_app(struct placing_fixture *h, const char *cmdline, struct host_process p)
{
    p.comm = "app";
    host_tree_put(&h->tree, p);
    put_texts(h, p.pid, "/bin/app", cmdline);
}

#define PUT_APP(h, cmdline, ...) put_app(h, cmdline, (struct host_process){__VA_ARGS__})

static inline int setup(void **state)
{
    struct placing_fixture *h = calloc(1, sizeof(*h));

    memset(reads, 0, sizeof(reads));
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    hang_part = error_part = PART_N;
    ask_error = error = 0;
    matches = 0;
    hang_begin();
    host_tree_new(&h->tree);
    h->step_ns = 10 * SECOND;
    HOST_PUT(&h->tree, .pid = 1, .comm = "init");
    put_texts(h, 1, "/sbin/init", "init");
    open_cycle(h, CYCLE_DAEMON);
    *state = h;
    return 0;
}

static inline int teardown(void **state)
{
    struct placing_fixture *h = *state;

    hang_end();
    cycle_close(&h->cycle);
    HANG_WAIT(hang_count(&hang_now) == 0);
    tree_free(&h->tree);
    free(h);
    return 0;
}

static inline void run(struct placing_fixture *h)
{
    h->now.monotonic_ns += h->step_ns;
    h->now.boottime_ns += h->step_ns;
    h->now.realtime_ns += h->step_ns;
    assert_int_equal(cycle_run(&h->cycle, &h->now), 0);
}

/* Until nothing is under way, or those that hang are all that is. */
static inline void settle(struct placing_fixture *h, unsigned hanging)
{
    uint64_t expected = hanging ? h->now.monotonic_ns + DEADLINE : UINT64_MAX;
    unsigned held = 0, enough = hanging ? 50 : 2;

    for (int i = 0; i < 20000 && held < enough; i++) {
        uint64_t again = cycle_between(&h->cycle, h->now.monotonic_ns);

        held = again == expected && hang_count(&hang_now) >= hanging ? held + 1 : 0;
        usleep(1000);
    }
    assert_int_equal(held, enough);
}

/* A cycle, and then all the time that the prober and the resolver need. */
static inline void run_all(struct placing_fixture *h)
{
    run(h);
    settle(h, 0);
    users_wait(h->cycle.placing.users);
}

/* Cycles as of a daemon that makes one page; how many. */
static inline unsigned run_until_settled(struct placing_fixture *h)
{
    unsigned runs = 1;

    for (run(h); cycle_is_to_settle(&h->cycle, runs); runs++)
        run(h);
    return runs;
}

static inline const struct process *process(const struct placing_fixture *h, unsigned pid)
{
    uint32_t ref = table_find_pid(&h->cycle.table, pid);

    assert_int_not_equal(ref, TABLE_NONE);
    return table_process(&h->cycle.table, ref);
}

static inline void check_at(const struct placing_fixture *h, unsigned pid, const char *expected,
                            const char *file, int line)
{
    const struct membership *m = &process(h, pid)->membership;
    struct span name = m->now.standing == STANDING_PENDING ? SPAN_LITERAL("(pending)")
                       : m->now.standing == STANDING_EXCLUDED
                           ? SPAN_LITERAL("(excluded)")
                           : group_name(&h->cycle.groups, m->now.group);

    check_span_at(name, expected, strlen(expected), file, line);
}

#define CHECK_AT(h, pid, name) check_at(h, pid, name, __FILE__, __LINE__)

static inline uint64_t total(const struct placing_fixture *h, const char *name, unsigned counter)
{
    for (size_t i = 0; i < h->cycle.groups.n_order; i++) {
        uint32_t group = h->cycle.groups.order[i];

        if (span_equal(group_name(&h->cycle.groups, group), span_from_str(name)))
            return h->cycle.groups.groups[group].total[counter];
    }
    fail_msg("there is no group %s", name);
    return 0;
}

static inline void put_cgroup(struct placing_fixture *h, unsigned pid, const char *path)
{
    tree_pid(&h->tree, pid, "cgroup", "0::%s\n", path);
}

static inline void put_in(struct placing_fixture *h, const char *path, struct host_process p)
{
    host_tree_put(&h->tree, p);
    put_cgroup(h, p.pid, path);
}

#define PUT_IN(h, path, ...) put_in(h, path, (struct host_process){__VA_ARGS__})

/* As version 1 shows it, with the root for all hierarchies but one. */
static inline void put_cgroup_1(struct placing_fixture *h, unsigned pid, const char *path)
{
    tree_pid(&h->tree, pid, "cgroup", "3:cpu:/\n2:memory:/\n1:name=systemd:%s\n0::/\n", path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
