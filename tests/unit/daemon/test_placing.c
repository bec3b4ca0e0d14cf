/*
 * Which group a process of a tree comes into, when it is asked for what, and what moves it.
 *
 * Whole cycles over trees of files, with the real prober and real rules. Linked with --wrap of
 * probe_read(), to let reads hang, fail and be counted; of process_read_cgroup() and rules_match(),
 * to count; of users_look(), for users of our own; and of prober_ask(), to refuse.
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

static void add_rule(struct rules *rules, const struct rule_text *t)
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

static void set_rules(struct placing_fixture *h, const struct rule_text *texts, size_t n)
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

static void open_cycle(struct placing_fixture *h, enum cycle_mode mode)
{
    h->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    assert_int_equal(cycle_open(&h->cycle, mode, h->tree.root, &h->now), 0);
    set_rules(h, &app_rule, 1);
}

static void put_texts(struct placing_fixture *h, unsigned pid, const char *exe, const char *cmdline)
{
    char name[32];

    snprintf(name, sizeof(name), "%u/exe", pid);
    (void)unlink(tree_path(&h->tree, name));
    if (exe)
        tree_link(&h->tree, name, exe);
    tree_pid(&h->tree, pid, "cmdline", "%s", cmdline);
}

static int setup(void **state)
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

static int teardown(void **state)
{
    struct placing_fixture *h = *state;

    hang_end();
    cycle_close(&h->cycle);
    HANG_WAIT(hang_count(&hang_now) == 0);
    tree_free(&h->tree);
    free(h);
    return 0;
}

static void run(struct placing_fixture *h)
{
    h->now.monotonic_ns += h->step_ns;
    h->now.boottime_ns += h->step_ns;
    h->now.realtime_ns += h->step_ns;
    assert_int_equal(cycle_run(&h->cycle, &h->now), 0);
}

/* Until nothing is under way, or those that hang are all that is. */
static void settle(struct placing_fixture *h, unsigned hanging)
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
static void run_all(struct placing_fixture *h)
{
    run(h);
    settle(h, 0);
    users_wait(h->cycle.placing.users);
}

static const struct process *process(const struct placing_fixture *h, unsigned pid)
{
    uint32_t ref = table_find_pid(&h->cycle.table, pid);

    assert_int_not_equal(ref, TABLE_NONE);
    return table_process(&h->cycle.table, ref);
}

static void check_at(const struct placing_fixture *h, unsigned pid, const char *expected,
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

static uint64_t total(const struct placing_fixture *h, const char *name, unsigned counter)
{
    for (size_t i = 0; i < h->cycle.groups.n_order; i++) {
        uint32_t group = h->cycle.groups.order[i];

        if (span_equal(group_name(&h->cycle.groups, group), span_from_str(name)))
            return h->cycle.groups.groups[group].total[counter];
    }
    fail_msg("there is no group %s", name);
    return 0;
}

static void put_cgroup(struct placing_fixture *h, unsigned pid, const char *path)
{
    tree_pid(&h->tree, pid, "cgroup", "0::%s\n", path);
}

/* As version 1 shows it, with the root for all hierarchies but one. */
static void put_cgroup_1(struct placing_fixture *h, unsigned pid, const char *path)
{
    tree_pid(&h->tree, pid, "cgroup", "3:cpu:/\n2:memory:/\n1:name=systemd:%s\n0::/\n", path);
}

/* ---- control groups ---- */

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void default_groups(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "-nobody", .comm = "nobody"});
    put_cgroup(h, 1, "/init.scope");
    HOST_PUT(&h->tree, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    put_cgroup(h, 2, "/");
    HOST_PUT(&h->tree, .pid = 10, .comm = "sshd");
    put_cgroup(h, 10, "/system.slice/system-sshd.slice/sshd@7-1.service");
    HOST_PUT(&h->tree, .pid = 11, .comm = "app");
    put_cgroup(h, 11, "/system.slice/docker-" DIGITS ".scope");
    HOST_PUT(&h->tree, .pid = 12, .comm = "bash", .uid = 0);
    put_cgroup(h, 12, "/user.slice/user-1003.slice/session-2.scope");
    HOST_PUT(&h->tree, .pid = 13, .comm = "bash");
    put_cgroup(h, 13, "/user.slice/user-7.slice/session-2.scope");
    HOST_PUT(&h->tree, .pid = 14, .comm = "loose");
    run_all(h);
    CHECK_AT(h, 1, "init");
    CHECK_AT(h, 2, "kernel");
    CHECK_AT(h, 10, "sshd@.service");
    CHECK_AT(h, 11, "container/0123456789ab");
    CHECK_AT(h, 12, "(pending)");
    CHECK_AT(h, 14, "loose");
    assert_int_equal(h->cycle.groups.n_pending, 2);
    run_all(h);
    CHECK_AT(h, 12, "user/u1003");
    CHECK_AT(h, 13, "user/7");
    assert_int_equal(h->cycle.groups.n_pending, 0);
    assert_int_equal(h->cycle.faults.count[FAULT_CGROUP][FAULT_READ], 0);
}

/* At first sight, in the next cycle, once within half a minute, and then every half minute. */
static void control_groups_by_turns(void **state)
{
    static const unsigned first_turns[] = {1, 1, 2, 3};
    static const unsigned pids[] = {16, 20, 25, 31};
    struct placing_fixture *h = *state;

    for (size_t i = 0; i < 4; i++) {
        HOST_PUT(&h->tree, .pid = pids[i], .comm = "x");
        put_cgroup(h, pids[i], "/a.service");
    }
    for (unsigned cycle = 0; cycle < 12; cycle++) {
        run(h);
        for (size_t i = 0; i < 4; i++) {
            unsigned third = 1 + first_turns[i];
            unsigned expected = 1 + (cycle >= 1) + (cycle >= third ? 1 + (cycle - third) / 3 : 0);

            assert_int_equal(cgroup_reads[pids[i]], expected);
        }
    }
    /* And when the comm changes, whatever the turn. */
    for (size_t i = 0; i < 4; i++) {
        HOST_PUT(&h->tree, .pid = pids[i], .comm = "y");
        cgroup_reads[pids[i]] = 0;
    }
    run(h);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cgroup_reads[pids[i]], 1);
}

/* Services are forked first and moved afterwards. */
static void moved_after_the_fork(void **state)
{
    struct placing_fixture *h = *state;

    run(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "(web)", .start = 9, .user_ticks = 100);
    put_cgroup(h, 10, "/");
    run(h);
    CHECK_AT(h, 10, "(web)");
    HOST_PUT(&h->tree, .pid = 10, .comm = "web", .start = 9, .user_ticks = 300);
    put_cgroup(h, 10, "/system.slice/web.service");
    run(h);
    CHECK_AT(h, 10, "web.service");
    HOST_PUT(&h->tree, .pid = 10, .comm = "web", .start = 9, .user_ticks = 400);
    run(h);
    /* What spans the move belongs to where it was. */
    assert_int_equal(total(h, "(web)", COUNTER_CPU_USER_NS), 3 * SECOND);
    assert_int_equal(total(h, "(web)", STARTED), 1);
    assert_int_equal(total(h, "web.service", COUNTER_CPU_USER_NS), 1 * SECOND);
    assert_int_equal(total(h, "web.service", STARTED), 0);
    /* Without a file, what was known holds. */
    assert_int_equal(unlink(tree_path(&h->tree, "10/cgroup")), 0);
    for (int i = 0; i < 5; i++)
        run(h);
    CHECK_AT(h, 10, "web.service");
}

/* Version 1 shows the root for who is ending, and so does nobody else for long. */
static void ending_in_version_1(void **state)
{
    struct placing_fixture *h = *state;

    for (unsigned pid = 10; pid < 14; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = "web");
        put_cgroup_1(h, pid, "/web.service");
    }
    run(h);
    /* A zombie; its memory is being freed; it began to end since its stat was read; it was moved.
     */
    HOST_PUT(&h->tree, .pid = 10, .comm = "web", .state = 'Z');
    HOST_PUT(&h->tree, .pid = 11, .comm = "web", .state = 'D', .exiting = true);
    for (unsigned pid = 10; pid < 14; pid++)
        put_cgroup_1(h, pid, "/");
    run(h);
    for (unsigned pid = 10; pid < 14; pid++)
        CHECK_AT(h, pid, "web.service");
    HOST_PUT(&h->tree, .pid = 12, .comm = "web", .state = 'Z');
    cgroup_reads[13] = 0;
    run(h);
    assert_int_equal(cgroup_reads[13], 1);
    for (unsigned pid = 10; pid < 13; pid++)
        CHECK_AT(h, pid, "web.service");
    CHECK_AT(h, 13, "web");
    for (int i = 0; i < 5; i++)
        run(h);
    CHECK_AT(h, 10, "web.service");
    CHECK_AT(h, 13, "web");
    put_cgroup_1(h, 13, "/other.service");
    for (int i = 0; i < 4; i++)
        run(h);
    CHECK_AT(h, 13, "other.service");
    /* One that is found as a zombie has none. */
    HOST_PUT(&h->tree, .pid = 20, .comm = "late", .state = 'Z');
    put_cgroup_1(h, 20, "/");
    run(h);
    CHECK_AT(h, 20, "late");
}

/* ---- texts ---- */

static void texts_decide(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9, .user_ticks = 50);
    put_texts(h, 10, "/bin/app", "app -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "sh", .start = 9);
    put_texts(h, 11, "/bin/sh", "sh -n one");
    run_all(h);
    CHECK_AT(h, 10, "(pending)");
    CHECK_AT(h, 11, "sh");
    assert_int_equal(h->cycle.groups.n_pending, 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9, .user_ticks = 70);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 700000000);
    assert_int_equal(total(h, "app-one", STARTED), 1);
    /* In its second cycle as well; and of nobody whose group does not turn on it. */
    assert_int_equal(reads[10][PART_CMDLINE], 2);
    assert_int_equal(reads[10][PART_EXE], 0);
    assert_int_equal(reads[11][PART_CMDLINE], 0);
}

/* Once in 16 cycles, and rules are asked only when it is another. */
static void texts_by_turns(void **state)
{
    struct placing_fixture *h = *state;
    unsigned before;

    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/bin/app", "app -n one");
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    before = matches;
    reads[10][PART_CMDLINE] = 0;
    for (int i = 0; i < 64; i++)
        run_all(h);
    assert_int_equal(reads[10][PART_CMDLINE], 4);
    assert_int_equal(matches, before);
    put_texts(h, 10, "/bin/app", "app -n two");
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-two");
    assert_int_equal(matches, before + 1);
    /* A place that does not turn on them does so again after an exec. */
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .start = 9);
    run_all(h);
    CHECK_AT(h, 10, "sh");
    reads[10][PART_CMDLINE] = 0;
    for (int i = 0; i < 20; i++)
        run_all(h);
    assert_int_equal(reads[10][PART_CMDLINE], 0);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    run_all(h);
    CHECK_AT(h, 10, "sh");
    run_all(h);
    CHECK_AT(h, 10, "app-two");
}

/* What was under way when the process did its exec is of the one before, and is read again. */
static void text_from_before_an_exec(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "java-${1}", .comm = "java", .cmdline = "-n (\\w+)"});
    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/bin/app", "app -n one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    run(h);
    settle(h, 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "java", .start = 9);
    put_texts(h, 10, "/bin/java", "java -n two");
    h->step_ns = SECOND;
    run(h);
    CHECK_AT(h, 10, "(pending)");
    hang_end();
    settle(h, 0);
    run_all(h);
    CHECK_AT(h, 10, "java-two");
    assert_int_equal(total(h, "java-two", STARTED), 1);
    for (size_t i = 0; i < h->cycle.groups.n_order; i++)
        assert_int_equal(h->cycle.groups.groups[h->cycle.groups.order[i]].claims, 0);
}

/* A new one is grouped by what is known after two cycles at most, and does not wait for ever. */
static void who_hangs_is_grouped(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "exe-${exe}", .exe = "/opt/*"});
    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/opt/app", "app -n one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    h->step_ns = SECOND;
    for (int i = 0; i < MEMBERSHIP_PATIENCE; i++) {
        run(h);
        HANG_WAIT(hang_count(&hang_now) == 1);
        CHECK_AT(h, 10, "(pending)");
    }
    run(h);
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.quarantined_processes, 0);
    /* When it is given up, its program is known. */
    h->step_ns = 20 * SECOND;
    for (int i = 0; i < 200 && h->cycle.quarantined_processes == 0; i++)
        run(h);
    run(h);
    assert_int_equal(h->cycle.quarantined_processes, 1);
    CHECK_AT(h, 10, "exe-app");
    assert_int_equal(h->cycle.groups.n_pending, 0);
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 1);
    assert_int_equal(h->cycle.unread_processes[PART_EXE], 0);
    assert_int_equal(total(h, "app", STARTED), 1);
}

/* One that had a place by its arguments keeps it, also under new rules that look at them. */
static void who_hangs_keeps_its_place(void **state)
{
    struct placing_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 10, .comm = "app");
    put_texts(h, 10, "/bin/app", "app -n one");
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    for (int i = 0; i < 200 && h->cycle.quarantined_processes == 0; i++) {
        run(h);
        usleep(1000);
    }
    assert_int_equal(h->cycle.quarantined_processes, 1);
    CHECK_AT(h, 10, "app-one");
    RULES(h, {.name = "first", .comm = "first"}, app_rule);
    run(h);
    run(h);
    CHECK_AT(h, 10, "app-one");
    /* A new one under its pid is another. */
    hang_end();
    host_tree_take(&h->tree, 10);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/bin/app", "app -n two");
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-two");
    RULES(h, {.name = "all", .comm = "*"});
    run(h);
    CHECK_AT(h, 10, "all");
}

/* A zombie has no arguments any more, and no program. */
static void zombies_stay(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, app_rule, {.name = "-noise", .comm = "noise", .exe = "/bin/noise"});
    HOST_PUT(&h->tree, .pid = 10, .comm = "app");
    put_texts(h, 10, "/bin/app", "app -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "noise");
    put_texts(h, 11, "/bin/noise", "noise");
    /* Of this one the last reading was as of a zombie, just before it is seen as one. */
    HOST_PUT(&h->tree, .pid = 12, .comm = "app", .start = 9);
    put_texts(h, 12, "/bin/app", "app -n one");
    run_all(h);
    run(h);
    put_texts(h, 12, NULL, "");
    while (reads[12][PART_CMDLINE] < 2)
        run_all(h);
    assert_int_equal(process(h, 12)->membership.next.standing, STANDING_MEMBER);
    for (unsigned pid = 10; pid < 13; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = pid == 11 ? "noise" : "app", .state = 'Z',
                 .start = pid == 12 ? 9 : 0);
        put_texts(h, pid, NULL, "");
    }
    /* A new one has a place by what there is. */
    HOST_PUT(&h->tree, .pid = 13, .comm = "app", .start = 9, .state = 'Z');
    memset(reads, 0, sizeof(reads));
    for (int i = 0; i < 20; i++) {
        if (i == 10)
            RULES(h, app_rule, {.name = "-noise", .comm = "noise", .exe = "/bin/noise"});
        run_all(h);
        CHECK_AT(h, 10, "app-one");
        CHECK_AT(h, 11, "(excluded)");
        CHECK_AT(h, 12, "app-one");
        CHECK_AT(h, 13, "app");
    }
    for (unsigned pid = 10; pid < 14; pid++)
        assert_int_equal(reads[pid][PART_CMDLINE], 0);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Without descriptors for the prober a process is not kept waiting, and moves later. */
static void no_descriptor_for_texts(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/bin/app", "app -n one");
    ask_error = -EMFILE;
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        run(h);
        CHECK_AT(h, 10, i < MEMBERSHIP_PATIENCE ? "(pending)" : "app");
    }
    ask_error = 0;
    settle(h, 0);
    run(h);
    CHECK_AT(h, 10, "app-one");
}

/* Too many hang: new ones do without, until there are threads again. */
static void no_prober_for_texts(void **state)
{
    struct placing_fixture *h = *state;

    hang_part = PART_CMDLINE;
    for (unsigned pid = 10; pid < 10 + PROBER_THREADS_MAX; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = "app");
        put_texts(h, pid, "/bin/app", "app -n one");
        hang_add(pid);
    }
    for (int i = 0; i < 200 && !probes_are_off(&h->cycle.probes); i++) {
        run(h);
        usleep(5000);
        (void)cycle_between(&h->cycle, h->now.monotonic_ns);
    }
    assert_true(probes_are_off(&h->cycle.probes));
    HOST_PUT(&h->tree, .pid = 100, .comm = "app", .start = 9);
    put_texts(h, 100, "/bin/app", "app -n two");
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        run(h);
        CHECK_AT(h, 100, i < MEMBERSHIP_PATIENCE ? "(pending)" : "app");
    }
    assert_int_equal(h->cycle.quarantined_processes, PROBER_THREADS_MAX);
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], PROBER_THREADS_MAX + 1);
    hang_end();
    hang_part = PART_N;
    HANG_WAIT(!probes_are_off(&h->cycle.probes));
    run_all(h);
    run_all(h);
    CHECK_AT(h, 100, "app-two");
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], PROBER_THREADS_MAX);
}

/* It could not be read this once: no reason to be somewhere else. */
static void text_that_cannot_be_read(void **state)
{
    struct placing_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9);
    put_texts(h, 10, "/bin/app", "app -n one");
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app-one");
    error_part = PART_CMDLINE;
    error = -EIO;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 1);
    error_part = PART_N;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "app-one");
    assert_int_equal(h->cycle.unread_processes[PART_CMDLINE], 0);
}

static void ends_undecided(void **state)
{
    struct placing_fixture *h = *state;

    run_all(h);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .start = 9, .user_ticks = 50);
    put_texts(h, 10, "/bin/app", "app -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "app", .start = 9, .user_ticks = 7);
    put_texts(h, 11, "/bin/app", "app -n one");
    ask_error = -EMFILE;
    run(h);
    host_tree_take(&h->tree, 10);
    ask_error = 0;
    settle(h, 0);
    host_tree_take(&h->tree, 11);
    run(h);
    assert_int_equal(total(h, "app", COUNTER_CPU_USER_NS), 500000000);
    assert_int_equal(total(h, "app", STARTED), 1);
    assert_int_equal(total(h, "app", EXITED), 1);
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 70000000);
    assert_int_equal(total(h, "app-one", EXITED), 1);
}

/* New rules that need no text, and again such that do. */
static void new_rules(void **state)
{
    struct placing_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 10, .comm = "app");
    put_texts(h, 10, "/bin/app", "app -n one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    run(h);
    CHECK_AT(h, 10, "(pending)");
    RULES(h, {.name = "plain", .comm = "app"});
    run(h);
    CHECK_AT(h, 10, "plain");
    hang_end();
    settle(h, 0);
    hang_part = PART_N;
    for (int i = 0; i < 17; i++)
        run_all(h);
    CHECK_AT(h, 10, "plain");
    assert_int_equal(reads[10][PART_CMDLINE], 1);
    RULES(h, {.name = "by-${exe}", .comm = "app"});
    run_all(h);
    CHECK_AT(h, 10, "plain");
    run_all(h);
    CHECK_AT(h, 10, "by-app");
    assert_int_equal(reads[10][PART_CMDLINE], 1);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Searches that cost too much are counted, also over new rules, and told once per rule. */
static void searches_given_up(void **state)
{
    struct placing_fixture *h = *state;
    char line[4000];
    size_t rule;

    memset(line, 'a', sizeof(line));
    memcpy(line + sizeof(line) - 2, "!", 2);
    RULES(h, {.name = "slow", .comm = "app", .cmdline = "(a+)+$"}, app_rule);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app");
    put_texts(h, 10, "/bin/app", line);
    HOST_PUT(&h->tree, .pid = 11, .comm = "app");
    put_texts(h, 11, "/bin/app", line);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "app");
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    assert_true(rules_tell_limit(&h->cycle.groups.rules, &rule));
    assert_int_equal(rule, 0);
    assert_false(rules_tell_limit(&h->cycle.groups.rules, &rule));
    for (int i = 0; i < 20; i++)
        run_all(h);
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    RULES(h, app_rule, {.name = "slow", .comm = "app", .cmdline = "(a+)+$"});
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 2);
    run_all(h);
    run_all(h);
    assert_int_equal(groups_searches_given_up(&h->cycle.groups), 4);
    assert_true(rules_tell_limit(&h->cycle.groups.rules, &rule));
    assert_int_equal(rule, 1);
}

/* ---- users ---- */

static void users_by_name(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "of-${user}", .user = "u1*"}, {.name = "number-${user}", .user = "7*"},
          {.name = "k", .user = "u1*", .comm = "kworker"});
    HOST_PUT(&h->tree, .pid = 2, .comm = "kworker", .kernel_thread = true, .uid = 1003);
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = 1003);
    HOST_PUT(&h->tree, .pid = 11, .comm = "sh", .uid = 77);
    run_all(h);
    CHECK_AT(h, 10, "(pending)");
    run_all(h);
    CHECK_AT(h, 10, "of-u1003");
    CHECK_AT(h, 11, "number-77");
    CHECK_AT(h, 2, "k");
    /* It becomes another user's. */
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = 1004);
    run_all(h);
    run_all(h);
    CHECK_AT(h, 10, "of-u1004");
    /* Nobody asks for names that no rule needs. */
    RULES(h, {.name = "x", .comm = "x"});
    run_all(h);
    CHECK_AT(h, 10, "sh");
}

/* While a name service hangs, the number stands for the name; when it comes, they move. */
static void name_service_that_hangs(void **state)
{
    struct placing_fixture *h = *state;
    unsigned before;

    RULES(h, {.name = "of-${user}", .user = "u1*"});
    hang_add(USERS - 1);
    HOST_PUT(&h->tree, .pid = 10, .comm = "sh", .uid = USERS - 1);
    HOST_PUT(&h->tree, .pid = 11, .comm = "bash");
    put_cgroup(h, 11, "/user.slice/user-1999.slice/session-2.scope");
    HOST_PUT(&h->tree, .pid = 12, .comm = "kworker", .kernel_thread = true);
    h->step_ns = 2 * SECOND;
    for (int i = 0; i < 3; i++) {
        run(h);
        CHECK_AT(h, 10, i < MEMBERSHIP_PATIENCE ? "(pending)" : "sh");
        CHECK_AT(h, 11, i < MEMBERSHIP_PATIENCE ? "(pending)" : "user/1999");
    }
    h->step_ns = 20 * SECOND;
    run(h);
    before = matches;
    run(h);
    assert_int_equal(matches, before);
    hang_end();
    users_wait(h->cycle.placing.users);
    run(h);
    /* Those whose user it is. */
    assert_true(matches > before);
    CHECK_AT(h, 10, "of-u1999");
    CHECK_AT(h, 11, "user/u1999");
}

/* ---- the rest ---- */

static void families(void **state)
{
    struct placing_fixture *h = *state;

    RULES(h, {.name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true});
    HOST_PUT(&h->tree, .pid = 10, .comm = "lead");
    put_texts(h, 10, "/bin/lead", "lead -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "child", .parent = 10);
    HOST_PUT(&h->tree, .pid = 12, .comm = "other");
    HOST_PUT(&h->tree, .pid = 13, .comm = "hidden", .parent = 99);
    run_all(h);
    /* This tree lists processes in any order, so who has init for a parent may wait for it. */
    CHECK_AT(h, 11, "(pending)");
    CHECK_AT(h, 13, "(pending)");
    run_all(h);
    CHECK_AT(h, 10, "web-one");
    CHECK_AT(h, 11, "web-one");
    CHECK_AT(h, 12, "other");
    CHECK_AT(h, 13, "hidden");
    /* New ones wait for nobody while its arguments are read by turns. */
    for (unsigned i = 0; i < 20; i++) {
        HOST_PUT(&h->tree, .pid = 20 + i, .comm = "new", .start = 9 + i, .parent = 10);
        run(h);
        CHECK_AT(h, 20 + i, "web-one");
    }
    settle(h, 0);
}

/* One page shows everybody where he belongs. */
static void once(void **state)
{
    struct placing_fixture *h = *state;
    unsigned runs = 1;

    cycle_close(&h->cycle);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app", .user_ticks = 50);
    put_texts(h, 10, "/bin/app", "app -n one");
    HOST_PUT(&h->tree, .pid = 11, .comm = "bash");
    put_cgroup(h, 11, "/user.slice/user-1003.slice/session-2.scope");
    open_cycle(h, CYCLE_ONCE);
    for (run(h); cycle_is_to_settle(&h->cycle, runs); runs++)
        run(h);
    assert_int_equal(runs, 2);
    CHECK_AT(h, 10, "app-one");
    CHECK_AT(h, 11, "user/u1003");
    assert_int_equal(total(h, "app-one", COUNTER_CPU_USER_NS), 500000000);
    assert_int_equal(total(h, "app-one", STARTED), 1);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* Also whose texts come before his parent is looked at. */
static void once_with_families(void **state)
{
    struct placing_fixture *h = *state;
    unsigned runs = 1;

    cycle_close(&h->cycle);
    for (unsigned i = 0; i < 40; i++) {
        HOST_PUT(&h->tree, .pid = 10 + i, .comm = "lead");
        put_texts(h, 10 + i, "/bin/lead", "lead -n one");
        HOST_PUT(&h->tree, .pid = 100 + i, .comm = "app", .parent = 10 + i, .start = 9);
        put_texts(h, 100 + i, "/bin/app", "app");
    }
    open_cycle(h, CYCLE_ONCE);
    RULES(h, {.name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true},
          app_rule);
    for (run(h); cycle_is_to_settle(&h->cycle, runs); runs++)
        run(h);
    for (unsigned i = 0; i < 40; i++)
        CHECK_AT(h, 100 + i, "web-one");
    assert_int_equal(runs, 2);
}

/* With somebody who hangs it ends all the same. */
static void once_with_one_that_hangs(void **state)
{
    struct placing_fixture *h = *state;
    unsigned runs = 1;

    cycle_close(&h->cycle);
    HOST_PUT(&h->tree, .pid = 10, .comm = "app");
    put_texts(h, 10, "/bin/app", "app -n one");
    hang_part = PART_CMDLINE;
    hang_add(10);
    open_cycle(h, CYCLE_ONCE);
    h->cycle.probe_deadline_ns = h->cycle.probes.deadline_ns = SECOND / 10;
    for (run(h); cycle_is_to_settle(&h->cycle, runs); runs++)
        run(h);
    assert_int_equal(runs, 2);
    CHECK_AT(h, 10, "app");
    assert_int_equal(h->cycle.quarantined_processes, 1);
}

/* Control groups that nobody is in any more take no memory. */
static void control_groups_are_forgotten(void **state)
{
    struct placing_fixture *h = *state;

    put_cgroup(h, 1, "/init.scope");
    for (unsigned i = 0; i < 50; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/run-%u.scope", i);
        HOST_PUT(&h->tree, .pid = 10, .comm = "x", .start = 9 + i);
        put_cgroup(h, 10, path);
        run(h);
        assert_true(h->cycle.placing.cgroups.n_entries <= 4);
        assert_non_null(cgroups_identity(&h->cycle.placing.cgroups, process(h, 1)->origin.cgroup));
    }
    /* Of one whose stat is unreadable it is kept. */
    tree_text(&h->tree, "10/stat", "nonsense");
    for (int i = 0; i < 5; i++)
        run(h);
    assert_non_null(cgroups_identity(&h->cycle.placing.cgroups, process(h, 10)->origin.cgroup));
}

/* ---- control groups by number ---- */

enum { SECONDS_OF_A_LONG_TURN = 1800 };

/* What a kernel that counts would bring of the process with this record. */
static struct placing_read look_by(struct placing_fixture *h, unsigned pid, uint32_t ref,
                                   struct placing_numbers numbers)
{
    struct placing *p = &h->cycle.placing;
    struct placing_read read;
    struct sample s;

    if (!placing_is_due(p, ref, ref == TABLE_NONE, numbers, &read))
        return read;
    assert_int_equal(process_begin(&h->cycle.procfs, pid, &h->cycle.faults, &s), 0);
    assert_int_equal(placing_read(p, &s, numbers, &read), 0);
    process_end(&h->cycle.procfs);
    return read;
}

#define LOOK_BY(h, pid, ...) \
    look_by(h, pid, table_find_pid(&(h)->cycle.table, pid), (struct placing_numbers){__VA_ARGS__})

static void check_path(const struct placing_fixture *h, struct placing_read read, const char *path,
                       int line)
{
    const struct cgroup_identity *id = cgroups_identity(&h->cycle.placing.cgroups, read.cgroup);

    assert_int_equal(read.cgroup == CGROUPS_NONE, path == NULL);
    if (path)
        check_span_at(id ? id->path : SPAN_LITERAL("none"), path, strlen(path), __FILE__, line);
}

#define CHECK_PATH(h, read, path) check_path(h, read, path, __LINE__)

/* Whatever the process: who is where somebody was before needs no text. */
static void ids_need_no_text(void **state)
{
    struct placing_fixture *h = *state;
    struct placing_read read;

    h->cycle.placing.ids_tell = true;
    for (unsigned pid = 10; pid < 14; pid++) {
        HOST_PUT(&h->tree, .pid = pid, .comm = "x");
        put_cgroup(h, pid, pid < 13 ? "/a.service" : "/b.service");
    }
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    read = LOOK_BY(h, 10, .id = 5, .set = 77);
    assert_int_equal(cgroup_reads[10], 1);
    assert_true(read.due);
    assert_int_equal(read.set, 77);
    CHECK_PATH(h, read, "/a.service");
    for (int i = 0; i < 3; i++)
        for (unsigned pid = 10; pid < 13; pid++) {
            read = LOOK_BY(h, pid, .id = 5, .set = 78 + pid);
            assert_true(read.due);
            assert_false(read.is_root);
            assert_int_equal(read.set, 78 + pid);
            CHECK_PATH(h, read, "/a.service");
        }
    assert_int_equal(cgroup_reads[10], 1);
    assert_int_equal(cgroup_reads[11] + cgroup_reads[12], 0);
    /* A new one is read, once. */
    for (int i = 0; i < 3; i++)
        CHECK_PATH(h, LOOK_BY(h, 13, .id = 6, .set = 77), "/b.service");
    assert_int_equal(cgroup_reads[13], 1);
    /* Who was moved is where his number says, at once. */
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 6, .set = 77), "/b.service");
    assert_int_equal(cgroup_reads[10], 1);
    /* Without a number it is as ever. */
    CHECK_PATH(h, LOOK_BY(h, 10, .set = 77), "/a.service");
    assert_int_equal(cgroup_reads[10], 2);
}

/* Where there are other hierarchies, the number of one tells nothing. */
static void ids_among_other_hierarchies(void **state)
{
    struct placing_fixture *h = *state;

    assert_false(h->cycle.placing.ids_tell); /* a tree of files is no host of ours */
    HOST_PUT(&h->tree, .pid = 10, .comm = "x");
    HOST_PUT(&h->tree, .pid = 11, .comm = "x");
    put_cgroup_1(h, 10, "/a.service");
    put_cgroup_1(h, 11, "/b.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 1, .set = 77), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 1, .set = 78), "/b.service");
    assert_int_equal(cgroup_reads[10], 1);
    assert_int_equal(cgroup_reads[11], 1);
}

/* An id lives as long as somebody is there, and its path may come again with another. */
static void ids_are_forgotten(void **state)
{
    struct placing_fixture *h = *state;

    h->cycle.placing.ids_tell = true;
    HOST_PUT(&h->tree, .pid = 10, .comm = "x");
    put_cgroup(h, 10, "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    assert_int_equal(cgroup_reads[10], 1);
    for (int i = 0; i < 3; i++)
        placing_end(&h->cycle.placing);
    assert_int_equal(h->cycle.placing.cgroups.n_entries, 0);
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 9), "/a.service");
    assert_int_equal(cgroup_reads[10], 3);
    assert_int_equal(h->cycle.placing.cgroups.n_entries, 1);
    assert_int_equal(cgroups_of_id(&h->cycle.placing.cgroups, 5), CGROUPS_NONE);
    /* Where the text is not to be had, its id is of nobody. */
    assert_int_equal(unlink(tree_path(&h->tree, "10/cgroup")), 0);
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 11), NULL);
    assert_int_equal(cgroups_of_id(&h->cycle.placing.cgroups, 11), CGROUPS_NONE);
}

/* Process 10 of a cycle in which the kernel says these numbers of it. */
static void look_in_a_cycle(struct placing_fixture *h, struct placing_numbers numbers)
{
    struct sample s = {.identity = {10, 0}, .parent_pid = 1, .comm_len = 1, .comm = "x"};
    struct placing_read read = look_by(h, 10, table_find(&h->cycle.table, s.identity), numbers);
    enum sighting sighting;
    struct delta delta;
    uint32_t ref, texts;

    assert_int_equal(table_see(&h->cycle.table, &s, 0, &h->cycle.wanted, &ref, &sighting, &delta),
                     0);
    assert_int_equal(placing_place(&h->cycle.placing, table_process(&h->cycle.table, ref), sighting,
                                   &delta, &s, &read, &texts),
                     0);
}

/* Such cycles, a minute each, until the text is read; how many it took. */
static unsigned cycles_to_a_reading(struct placing_fixture *h, uint64_t set)
{
    unsigned before = cgroup_reads[10], n = 0;

    do {
        h->now.monotonic_ns += 60 * SECOND;
        table_begin(&h->cycle.table, 0);
        groups_begin(&h->cycle.groups);
        placing_begin(&h->cycle.placing, h->now.monotonic_ns, DEADLINE);
        look_in_a_cycle(h, (struct placing_numbers){.id = 3, .set = set});
        table_end(&h->cycle.table);
        placing_end(&h->cycle.placing);
    } while (++n < 1000 && cgroup_reads[10] == before);
    return n;
}

/*
 * Who is known not to have been moved is read at first sight and in the next cycle as ever, and
 * then twice an hour, in case its number was given again; who was moved is read at once.
 */
static void sets_tell_of_moves(void **state)
{
    struct placing_fixture *h = *state;
    unsigned first;

    HOST_PUT(&h->tree, .pid = 10, .comm = "x");
    put_cgroup_1(h, 10, "/a.service");
    assert_int_equal(cycles_to_a_reading(h, 7), 1);
    assert_int_equal(cycles_to_a_reading(h, 7), 1);
    /* Those that came in one cycle are not read again in one. */
    first = cycles_to_a_reading(h, 7);
    assert_int_equal(first, SECONDS_OF_A_LONG_TURN / 60 * (10 % 16 + 1) / 16 + 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cycles_to_a_reading(h, 7), SECONDS_OF_A_LONG_TURN / 60);
    put_cgroup_1(h, 10, "/b.service");
    assert_int_equal(cycles_to_a_reading(h, 8), 1);
    CHECK_AT(h, 10, "b.service");
    assert_int_equal(cycles_to_a_reading(h, 8), SECONDS_OF_A_LONG_TURN / 60);
    /* Not known any more, it is news as well, and then as without one. */
    assert_int_equal(cycles_to_a_reading(h, 0), 1);
    assert_int_equal(cycles_to_a_reading(h, 0), 1);
    assert_int_equal(cycles_to_a_reading(h, 9), 1);
    assert_int_equal(cycles_to_a_reading(h, 9), SECONDS_OF_A_LONG_TURN / 60);
}

/* Of who is gone: where its number says, else where its parent is, else nobody knows. */
static void recalled(void **state)
{
    struct placing_fixture *h = *state;
    struct placing *p = &h->cycle.placing;
    struct sample s = {.identity = {500, 9000}, .parent_pid = 10};
    struct placing_read read;

    p->ids_tell = true;
    HOST_PUT(&h->tree, .pid = 10, .comm = "parent", .start = 100);
    put_cgroup(h, 10, "/parent.service");
    HOST_PUT(&h->tree, .pid = 11, .comm = "other", .start = 100);
    put_cgroup(h, 11, "/other.service");
    HOST_PUT(&h->tree, .pid = 12, .comm = "nowhere", .start = 100);
    run(h);
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 5), "/other.service");
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/other.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 99}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/parent.service");
    placing_recall(p, &s, (struct placing_numbers){0}, &read);
    CHECK_PATH(h, read, "/parent.service");
    /* Younger than the child it is another's pid. */
    s.identity.start_ticks = 99;
    placing_recall(p, &s, (struct placing_numbers){0}, &read);
    assert_false(read.due);
    CHECK_PATH(h, read, NULL);
    s.identity.start_ticks = 9000;
    /* A parent of whom it is not known, one that nobody saw, and none. */
    for (unsigned i = 0; i < 3; i++) {
        s.parent_pid = (const uint32_t[]){12, 77, 0}[i];
        placing_recall(p, &s, (struct placing_numbers){.id = 99}, &read);
        assert_false(read.due);
        assert_int_equal(read.set, 0);
        CHECK_PATH(h, read, NULL);
    }
    /* Where ids tell nothing, so does this one. */
    p->ids_tell = false;
    s.parent_pid = 10;
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    CHECK_PATH(h, read, "/parent.service");
    for (unsigned pid = 0; pid < PIDS; pid++)
        assert_int_equal(cgroup_reads[pid], 0);
}

/* A control group that was made is known for two cycles, and as long as somebody is in it. */
static void learnt(void **state)
{
    struct placing_fixture *h = *state;
    struct placing *p = &h->cycle.placing;
    struct sample s = {.identity = {500, 9000}};
    struct placing_read read;

    p->ids_tell = true;
    HOST_PUT(&h->tree, .pid = 11, .comm = "one", .start = 100);
    put_cgroup(h, 11, "/wrong.service");
    run(h);
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    placing_learn(p, 5, span_from_str("/system.slice/short.service"));
    placing_learn(p, 6, span_from_str("/system.slice/long.service"));
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 6), "/system.slice/long.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/system.slice/short.service");
    assert_int_equal(cgroup_reads[11], 0);
    /* Made again, it has another number. */
    placing_learn(p, 7, span_from_str("/system.slice/short.service"));
    placing_recall(p, &s, (struct placing_numbers){.id = 7}, &read);
    CHECK_PATH(h, read, "/system.slice/short.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_false(read.due);
    for (unsigned i = 0; i < 3; i++)
        run(h);
    placing_recall(p, &s, (struct placing_numbers){.id = 7}, &read);
    assert_false(read.due);
    /* Where there are other hierarchies, the path says nothing of where a process is. */
    p->ids_tell = false;
    placing_learn(p, 8, span_from_str("/c"));
    p->ids_tell = true;
    placing_recall(p, &s, (struct placing_numbers){.id = 8}, &read);
    assert_false(read.due);
}

/* Of this very host: whether ids tell is what its hierarchies say. */
static void ids_of_this_host(void **state)
{
    struct cycle_time now = {.monotonic_ns = SECOND, .boottime_ns = SECOND};
    struct cycle cycle;
    struct span text;

    (void)state;
    assert_int_equal(cycle_open(&cycle, CYCLE_DAEMON, "/proc", &now), 0);
    if (cycle.procfs.live && procfs_read(&cycle.procfs, cycle.procfs.root, "self/cgroup",
                                         PROCFS_RECORD, PROCFS_FILE_MAX, &text) == 0)
        assert_int_equal(cycle.placing.ids_tell, memcmp(text.p, "0::", 3) == 0);
    else
        assert_false(cycle.placing.ids_tell);
    cycle_close(&cycle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(default_groups),
        TEST(control_groups_by_turns),
        TEST(moved_after_the_fork),
        TEST(ending_in_version_1),
        TEST(texts_decide),
        TEST(texts_by_turns),
        TEST(text_from_before_an_exec),
        TEST(who_hangs_is_grouped),
        TEST(who_hangs_keeps_its_place),
        TEST(zombies_stay),
        TEST(no_descriptor_for_texts),
        TEST(no_prober_for_texts),
        TEST(text_that_cannot_be_read),
        TEST(ends_undecided),
        TEST(new_rules),
        TEST(searches_given_up),
        TEST(users_by_name),
        TEST(name_service_that_hangs),
        TEST(families),
        TEST(once),
        TEST(once_with_families),
        TEST(once_with_one_that_hangs),
        TEST(control_groups_are_forgotten),
        TEST(ids_need_no_text),
        TEST(ids_among_other_hierarchies),
        TEST(ids_are_forgotten),
        TEST(sets_tell_of_moves),
        TEST(recalled),
        TEST(learnt),
        TEST(ids_of_this_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
