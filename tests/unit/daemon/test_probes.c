/*
 * Cycles with the prober: who is asked for when, and what becomes of those that hang.
 *
 * Linked with --wrap of probe_read(), to let reads hang and be counted, of prober_ask(), to refuse,
 * and of the clock.
 */
#include "daemon/cycle.h"

#include "comm_rule.h"
#include "hang.h"
#include "host_tree.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>

static const uint64_t SECOND = 1000000000u;
static const uint64_t DEADLINE = 15000000000u;

#define LACKS(h, part_) ((h)->snapshot.self.unread_processes[part_])

static _Atomic uint64_t clock_step_ns; /* added at each look at the clock */
static _Atomic uint64_t clock_ahead_ns;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void)
{
    return __real_clock_monotonic_ns() + (clock_ahead_ns += clock_step_ns);
}

static _Atomic unsigned reads_by_pid[1024][PART_N];
static _Atomic enum part hang_part;  /* PART_N: all */
static _Atomic enum part error_part; /* PART_N: none */
static _Atomic int error;

int __real_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t)
{
    reads_by_pid[s->identity.pid % 1024][part]++;
    if (hang_part == PART_N || hang_part == part)
        hang_here(s->identity.pid);
    if (part == error_part && error == -EACCES)
        t->exe_refused = true;
    return part == error_part ? error : __real_probe_read(fs, dir, part, s, t);
}

static int ask_error; /* 0: as it comes */

static unsigned asked_once; /* requests that say so */

int __real_prober_ask(struct prober *p, const struct probe_request *request, int dir);
int __wrap_prober_ask(struct prober *p, const struct probe_request *request, int dir);
int __wrap_prober_ask(struct prober *p, const struct probe_request *request, int dir)
{
    int r = ask_error ? ask_error : __real_prober_ask(p, request, dir);

    asked_once += r == 0 && request->once;
    return r;
}

struct probes_fixture {
    struct tree tree;
    struct cycle cycle;
    struct cycle_time now;
    struct arena arena;
    struct snapshot snapshot;
    uint64_t sequence;
};

static void configure(struct probes_fixture *h, const char *include, uint64_t deadline_ns)
{
    struct cycle_settings settings = {.groups_max = 100,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = deadline_ns,
                                      .pss_max_bytes = 64 << 20};
    struct span star = SPAN_LITERAL("*"), wrong;

    rules_init(&settings.rules);
    assert_int_equal(rules_add_comm(&settings.rules, SPAN_LITERAL("${comm}"), &star, 1, &wrong), 0);
    selection_default(&settings.families);
    assert_true(selection_include(&settings.families, span_from_str(include)) > 0);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
}

static void open_cycle(struct probes_fixture *h, enum cycle_mode mode)
{
    h->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    assert_int_equal(cycle_open(&h->cycle, mode, h->tree.root, &h->now), 0);
    configure(h, "proctally_group_mappings", DEADLINE);
}

/* One by one: a thread of the test before may still be at its last read. */
static void forget_reads(void)
{
    for (size_t pid = 0; pid < 1024; pid++)
        for (size_t part = 0; part < PART_N; part++)
            reads_by_pid[pid][part] = 0;
}

static int setup(void **state)
{
    struct probes_fixture *h = calloc(1, sizeof(*h));

    forget_reads();
    hang_part = error_part = PART_N;
    error = 0;
    hang_begin();
    ask_error = 0;
    asked_once = 0;
    clock_step_ns = clock_ahead_ns = 0;
    host_tree_new(&h->tree);
    arena_init(&h->arena, 64 * 1024 * 1024);
    open_cycle(h, CYCLE_DAEMON);
    *state = h;
    return 0;
}

static int teardown(void **state)
{
    struct probes_fixture *h = *state;

    hang_end();
    cycle_close(&h->cycle);
    HANG_WAIT(hang_count(&hang_now) == 0);
    arena_deinit(&h->arena);
    tree_free(&h->tree);
    free(h);
    return 0;
}

/* Ten seconds after the last one. */
static void run(struct probes_fixture *h)
{
    h->now.monotonic_ns += 10 * SECOND;
    h->now.boottime_ns += 10 * SECOND;
    h->now.realtime_ns += 10 * SECOND;
    assert_int_equal(cycle_run(&h->cycle, &h->now), 0);
    arena_reset(&h->arena);
    h->sequence++;
    assert_int_equal(
        cycle_snapshot(&h->cycle, h->sequence, h->sequence - 1, &h->now, &h->arena, &h->snapshot),
        0);
}

/*
 * Until nothing is under way but so many that hang and were not given up, as if no time passed.
 * Whether others still read cannot be seen, so it has to stay like that for a while; and the last
 * answer may have come just after the look.
 */
static void settle(struct probes_fixture *h, unsigned hanging)
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

static const struct group_values *group(const struct probes_fixture *h, const char *name)
{
    for (size_t i = 0; i < h->snapshot.n_groups; i++)
        if (span_equal(h->snapshot.groups[i].name, span_from_str(name)))
            return &h->snapshot.groups[i].values;
    fail_msg("there is no group %s", name);
    return NULL;
}

static bool knows(const struct probes_fixture *h, const char *name, enum gauge gauge)
{
    return group(h, name)->have_gauges >> gauge & 1;
}

static uint64_t mappings(const struct probes_fixture *h, const char *name)
{
    assert_true(knows(h, name, GAUGE_MAPPINGS));
    return group(h, name)->gauge[GAUGE_MAPPINGS];
}

/* A reading shows a cycle later, and is not unread meanwhile. */
static void answers_come_with_the_next_cycle(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1, .comm = "a", .mappings = 30);
    run(h);
    assert_false(knows(h, "a", GAUGE_MAPPINGS));
    assert_true(group(h, "a")->worst_mappings_ratio < 0);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "a"), 30);
    assert_true(group(h, "a")->worst_mappings_ratio == 0.3);
    HOST_PUT(&h->tree, .pid = 2, .comm = "b", .mappings = 5);
    run(h);
    assert_false(knows(h, "b", GAUGE_MAPPINGS));
    assert_int_equal(group(h, "b")->unread[PART_MAPS], 0);
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "b"), 5);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
}

static void known_without_asking(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1);
    HOST_PUT(&h->tree, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    tree_pid(&h->tree, 2, "stat", "2 (kthreadd) S 0 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 10 0 0\n",
             0x00200040u);
    tree_pid(&h->tree, 2, "status", "Name:\tkthreadd\nUid:\t0\t0\t0\t0\nThreads:\t1\n");
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    assert_int_equal(mappings(h, "kthreadd"), 0);
    assert_true(knows(h, "kthreadd", GAUGE_PROPORTIONAL_BYTES));
    settle(h, 0);
    assert_int_equal(reads_by_pid[1][PART_MAPS], 1);
    assert_int_equal(reads_by_pid[2][PART_MAPS] + reads_by_pid[2][PART_SMAPS], 0);
}

/* PSS comes by turns, as mappings do; in between what was read last stands. */
static void pss(void **state)
{
    struct probes_fixture *h = *state;
    unsigned read, known = 0;

    configure(h, "proctally_group_*", DEADLINE);
    for (unsigned i = 0; i < 49; i++) {
        HOST_PUT(&h->tree, .pid = 1, .pss_kb = 100 + i, .mappings = i);
        read = reads_by_pid[1][PART_SMAPS];
        run(h);
        if (i > 0)
            assert_int_equal(group(h, "x")->gauge[GAUGE_PROPORTIONAL_BYTES], known << 10);
        assert_int_equal(LACKS(h, PART_SMAPS), 0);
        settle(h, 0);
        if (reads_by_pid[1][PART_SMAPS] > read)
            known = 100 + i;
    }
    assert_int_equal(reads_by_pid[1][PART_SMAPS], 4);
    assert_int_equal(reads_by_pid[1][PART_MAPS], 4);
    /* One that grows too large is not known any more when its turn comes. */
    HOST_PUT(&h->tree, .pid = 1, .pss_kb = 500, .resident_kb = 65 << 10);
    for (unsigned i = 0; i < 16; i++) {
        run(h);
        settle(h, 0);
    }
    assert_false(knows(h, "x", GAUGE_PROPORTIONAL_BYTES));
    assert_int_equal(LACKS(h, PART_SMAPS), 1);
    assert_int_equal(reads_by_pid[1][PART_SMAPS], 4);
}

/* More than there is room for: the time between the cycles is enough for all. */
static void many(void **state)
{
    struct probes_fixture *h = *state;
    unsigned n = 10 * PROBER_ROOM;

    for (unsigned pid = 1; pid <= n; pid++)
        HOST_PUT(&h->tree, .pid = pid, .mappings = 2);
    /* Nobody is served during the first cycle. */
    hang_add_everybody();
    run(h);
    assert_int_equal(h->cycle.probes.waiting, n - PROBER_ROOM);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
    /* They still wait for their first reading in the second one, and that is told. */
    run(h);
    assert_int_equal(LACKS(h, PART_MAPS), n);
    hang_end();
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "x"), 2 * n);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
    for (unsigned pid = 1; pid <= n; pid++)
        assert_in_range(reads_by_pid[pid][PART_MAPS], 1, 2);
}

/* While some wait for their turn, a cycle does not give the room to others again. */
static void oldest_reading_first(void **state)
{
    struct probes_fixture *h = *state;
    unsigned n = 2 * PROBER_ROOM, read = 0;

    configure(h, "proctally_group_*", 1000 * SECOND);
    for (unsigned pid = 1; pid <= n; pid++)
        HOST_PUT(&h->tree, .pid = pid);
    hang_add_everybody();
    run(h);
    hang_end();
    /* No time between the cycles but one moment. */
    for (unsigned i = 0; i < 6; i++) {
        HANG_WAIT(cycle_between(&h->cycle, h->now.monotonic_ns) > 0);
        usleep(20000);
        /* All are due anew. */
        for (unsigned pid = 1; pid <= n; pid++)
            HOST_PUT(&h->tree, .pid = pid, .comm = i % 2 ? "odd" : "even");
        run(h);
    }
    for (unsigned pid = 1; pid <= n; pid++)
        read += reads_by_pid[pid][PART_SMAPS] > 0;
    assert_int_equal(read, n);
}

static void quarantine(void **state)
{
    struct probes_fixture *h = *state;
    struct quarantined *news = h->cycle.probes.news;

    for (unsigned pid = 1; pid <= 30; pid++)
        HOST_PUT(&h->tree, .pid = pid, .mappings = 1);
    HOST_PUT(&h->tree, .pid = 31, .comm = "stuck", .mappings = 9, .user_ticks = 5);
    run(h);
    settle(h, 0);
    hang_add(31);
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    assert_int_equal(mappings(h, "stuck"), 9);
    settle(h, 1);
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, 0);
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, 1);
    assert_int_equal(h->cycle.probes.n_news, 1);
    assert_int_equal(news[0].pid, 31);
    assert_int_equal(news[0].part, PART_SMAPS);
    check_span(span_of(news[0].comm, news[0].comm_len), "stuck");
    h->cycle.probes.n_news = 0;
    for (unsigned i = 0; i < 40; i++) {
        HOST_PUT(&h->tree, .pid = 31, .comm = "stuck", .mappings = 9, .user_ticks = 5 + i);
        settle(h, 0);
        run(h);
        assert_int_equal(h->snapshot.self.quarantined_processes, 1);
        assert_int_equal(h->cycle.probes.n_news, 0);
        /* What is unknown is told; all the rest goes on. */
        assert_false(knows(h, "stuck", GAUGE_MAPPINGS));
        assert_false(knows(h, "stuck", GAUGE_PROPORTIONAL_BYTES));
        assert_int_equal(group(h, "stuck")->unread[PART_MAPS], 1);
        assert_int_equal(group(h, "stuck")->unread[PART_SMAPS], 1);
        assert_int_equal(LACKS(h, PART_MAPS), 1);
        assert_int_equal(mappings(h, "x"), 30);
    }
    assert_int_equal(reads_by_pid[31][PART_SMAPS], 1);
    /* Still so when the reading has come back, until the process has ended. */
    hang_end();
    HANG_WAIT(prober_hanging(h->cycle.probes.prober) == 0);
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, 1);
    HOST_PUT(&h->tree, .pid = 31, .comm = "stuck", .mappings = 4, .start = 90);
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, 0);
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "stuck"), 4);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
}

static void all_threads_hang(void **state)
{
    struct probes_fixture *h = *state;
    unsigned n = PROBER_THREADS_MAX;

    for (unsigned pid = 1; pid <= n; pid++) {
        HOST_PUT(&h->tree, .pid = pid);
        hang_add(pid);
    }
    HOST_PUT(&h->tree, .pid = 900, .comm = "other", .mappings = 3);
    for (unsigned i = 0; i < 20 && !probes_are_off(&h->cycle.probes); i++) {
        run(h);
        usleep(20000);
        (void)cycle_between(&h->cycle, h->now.monotonic_ns);
    }
    assert_true(probes_are_off(&h->cycle.probes));
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, n);
    /* Who is new then is unread at once. */
    HOST_PUT(&h->tree, .pid = 901, .comm = "late", .mappings = 3, .user_ticks = 7);
    run(h);
    assert_int_equal(group(h, "late")->unread[PART_MAPS], 1);
    assert_int_equal(group(h, "late")->processes, 1);
    assert_int_equal(cycle_between(&h->cycle, h->now.monotonic_ns), UINT64_MAX);
    hang_end();
    HANG_WAIT(!probes_are_off(&h->cycle.probes));
    for (unsigned i = 0; i < 17; i++) {
        run(h);
        settle(h, 0);
    }
    run(h);
    assert_int_equal(mappings(h, "late"), 3);
    assert_int_equal(mappings(h, "other"), 3);
}

/* The answer is about one that ended: its successor under that pid is not credited with it. */
static void another_process_of_that_pid(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1);
    HOST_PUT(&h->tree, .pid = 9, .comm = "old", .mappings = 50, .start = 10);
    hang_add(9);
    run(h);
    settle(h, 1);
    host_tree_take(&h->tree, 9);
    HOST_PUT(&h->tree, .pid = 9, .comm = "new", .mappings = 7, .start = 20);
    run(h);
    assert_false(knows(h, "new", GAUGE_MAPPINGS));
    hang_end();
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "new"), 7);
    assert_int_equal(h->snapshot.self.quarantined_processes, 0);
}

static bool is_waiting(const struct process *p)
{
    return p->probing.due != 0 && !p->probing.asked;
}

/* Nobody, or another one, is found under the pid when its turn comes. */
static void gone_before_its_turn(void **state)
{
    struct probes_fixture *h = *state;
    struct table *t = &h->cycle.table;
    uint32_t pids[2];
    size_t n = 0;

    for (unsigned pid = 1; pid <= PROBER_ROOM + 2; pid++)
        HOST_PUT(&h->tree, .pid = pid, .start = 10);
    hang_add_everybody();
    run(h);
    for (uint32_t ref = 0; ref < t->n_processes; ref++)
        if (is_waiting(table_process(t, ref))) {
            assert_true(n < 2);
            pids[n++] = table_process(t, ref)->identity.pid;
        }
    assert_int_equal(n, 2);
    host_tree_take(&h->tree, pids[0]);
    HOST_PUT(&h->tree, .pid = pids[1], .comm = "new", .start = 20, .mappings = 2);
    hang_end();
    settle(h, 0);
    assert_int_equal(reads_by_pid[pids[0]][PART_MAPS], 0);
    assert_int_equal(reads_by_pid[pids[1]][PART_MAPS], 0);
    run(h);
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "new"), 2);
}

/* No descriptor for the prober is no failure of the cycle: it is asked for later. */
static void no_descriptor(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1, .mappings = 3);
    ask_error = -EMFILE;
    for (int i = 0; i < 3; i++) {
        run(h);
        assert_int_equal(LACKS(h, PART_MAPS), i > 0);
        assert_int_equal(h->cycle.probes.waiting, 1);
        assert_true(cycle_between(&h->cycle, h->now.monotonic_ns) < h->now.monotonic_ns + SECOND);
    }
    assert_int_equal(reads_by_pid[1][PART_MAPS], 0);
    ask_error = 0;
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "x"), 3);
    assert_int_equal(reads_by_pid[1][PART_MAPS], 1);
    for (int reason = 0; reason < FAULT_REASON_N; reason++)
        assert_int_equal(h->snapshot.self.read_faults[FAULT_MAPS][reason], 0);
}

static void faults_are_counted(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1);
    tree_pid(&h->tree, 1, "smaps_rollup", "Pss: lots kB\n");
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    settle(h, 0);
    run(h);
    assert_int_equal(h->snapshot.self.read_faults[FAULT_SMAPS_ROLLUP][FAULT_MALFORMED], 1);
    assert_int_equal(LACKS(h, PART_SMAPS), 1);
    assert_int_equal(LACKS(h, PART_MAPS), 0);
}

/* First readings of who was there before us are made once; of who is new they never end. */
static void read_once(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1);
    run(h);
    settle(h, 0);
    assert_int_equal(asked_once, 1);
    HOST_PUT(&h->tree, .pid = 2);
    for (unsigned i = 0; i < 17; i++) {
        run(h);
        settle(h, 0);
    }
    assert_in_range(reads_by_pid[1][PART_MAPS], 2, 3);
    assert_in_range(reads_by_pid[2][PART_MAPS], 2, 3);
    assert_int_equal(asked_once, 1);
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    settle(h, 0);
    assert_int_equal(reads_by_pid[1][PART_SMAPS], 1);
    assert_int_equal(reads_by_pid[2][PART_SMAPS], 1);
    assert_int_equal(asked_once, 3);
}

static void family_off_and_on(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 3, .mappings = 3);
    run(h);
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    configure(h, "proctally_group_mappings", DEADLINE);
    settle(h, 0);
    run(h);
    assert_int_equal(mappings(h, "x"), 3);
    assert_false(knows(h, "x", GAUGE_PROPORTIONAL_BYTES));
    settle(h, 0);
    HOST_PUT(&h->tree, .pid = 3, .mappings = 3, .pss_kb = 8);
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    assert_int_equal(LACKS(h, PART_SMAPS), 0);
    settle(h, 0);
    run(h);
    assert_int_equal(group(h, "x")->gauge[GAUGE_PROPORTIONAL_BYTES], 8 << 10);
}

/* One look with all there is, and nothing waits for long. */
static void once(void **state)
{
    struct probes_fixture *h = *state;
    uint64_t begin;

    cycle_close(&h->cycle);
    for (unsigned pid = 1; pid <= 3 * PROBER_ROOM; pid++)
        HOST_PUT(&h->tree, .pid = pid, .mappings = 2, .pss_kb = 1);
    HOST_PUT(&h->tree, .pid = 500, .comm = "stuck", .user_ticks = 5);
    open_cycle(h, CYCLE_ONCE);
    configure(h, "proctally_group_*", SECOND / 10);
    hang_add(500);
    begin = __real_clock_monotonic_ns();
    run(h);
    assert_true(__real_clock_monotonic_ns() - begin < 10 * SECOND);
    assert_int_equal(mappings(h, "x"), 3 * 2 * PROBER_ROOM);
    assert_int_equal(group(h, "x")->gauge[GAUGE_PROPORTIONAL_BYTES], 3 * PROBER_ROOM << 10);
    assert_int_equal(LACKS(h, PART_MAPS), 1);
    assert_int_equal(group(h, "stuck")->counter[COUNTER_CPU_USER_NS], 50000000);
    assert_int_equal(h->snapshot.self.quarantined_processes, 1);
}

#define EXE     part_bit(PART_EXE)
#define CMDLINE part_bit(PART_CMDLINE)

/* What the cycle was told of texts. */
struct told {
    unsigned times;
    unsigned pid;
    uint32_t due, have;
    int exe_error, cmdline_error;
    char exe[64], cmdline[64];
};

static void take_texts(void *arg, struct process *process, const struct process_texts *texts)
{
    struct told *told = arg;

    assert_true(texts->exe.n < sizeof(told->exe) && texts->cmdline.n < sizeof(told->cmdline));
    *told = (struct told){.times = told->times + 1,
                          .pid = process->identity.pid,
                          .due = texts->due,
                          .have = texts->have,
                          .exe_error = texts->exe_error,
                          .cmdline_error = texts->cmdline_error};
    if (texts->exe.n > 0)
        memcpy(told->exe, texts->exe.p, texts->exe.n);
    if (texts->cmdline.n > 0)
        memcpy(told->cmdline, texts->cmdline.p, texts->cmdline.n);
}

/* A process of the program /bin/PID, called PID by its arguments. */
static void put_with_texts(struct probes_fixture *h, unsigned pid)
{
    char name[32], text[32];

    HOST_PUT(&h->tree, .pid = pid, .mappings = 3);
    snprintf(name, sizeof(name), "%u/exe", pid);
    snprintf(text, sizeof(text), "/bin/%u", pid);
    tree_link(&h->tree, name, text);
    tree_pid(&h->tree, pid, "cmdline", "%u", pid);
}

static void want_texts(struct probes_fixture *h, struct told *told, uint32_t parts)
{
    *told = (struct told){0};
    h->cycle.probes.parts.texts = take_texts;
    h->cycle.probes.parts.texts_arg = told;
    h->cycle.probes.text_parts = parts;
}

static struct process *process_of(struct probes_fixture *h, unsigned pid)
{
    uint32_t ref = table_find_pid(&h->cycle.table, pid);

    assert_true(ref != TABLE_NONE);
    return table_process(&h->cycle.table, ref);
}

/* As a cycle does that comes to a process of which a rule wants texts. Returns what is expected. */
static uint32_t make_due(struct probes_fixture *h, unsigned pid, uint32_t parts)
{
    struct process *process = process_of(h, pid);
    struct faults faults = {0};

    assert_int_equal(process_begin(&h->cycle.procfs, pid, &faults, &h->cycle.sample), 0);
    assert_int_equal(probes_due(&h->cycle.probes, process, parts), 0);
    process_end(&h->cycle.procfs);
    return probes_texts_expected(&h->cycle.probes, process);
}

static uint32_t expected(struct probes_fixture *h, unsigned pid)
{
    return probes_texts_expected(&h->cycle.probes, process_of(h, pid));
}

static void check_told(const struct told *told, unsigned times, unsigned pid, uint32_t due,
                       uint32_t have, const char *exe, const char *cmdline)
{
    assert_int_equal(told->times, times);
    assert_int_equal(told->pid, pid);
    assert_int_equal(told->due, due);
    assert_int_equal(told->have, have);
    assert_string_equal(told->exe, exe);
    assert_string_equal(told->cmdline, cmdline);
}

static void texts_are_told_once(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE | CMDLINE);
    assert_int_equal(expected(h, 1), 0);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), EXE | CMDLINE);
    settle(h, 0);
    check_told(&told, 1, 1, EXE | CMDLINE, EXE | CMDLINE, "/bin/1", "1");
    assert_int_equal(told.exe_error, 0);
    assert_int_equal(told.cmdline_error, 0);
    assert_int_equal(expected(h, 1), 0);
    for (int i = 0; i < 20; i++) {
        run(h);
        settle(h, 0);
    }
    assert_int_equal(told.times, 1);
    assert_int_equal(mappings(h, "x"), 3);
    /* Asked anew, it is told anew. */
    assert_int_equal(make_due(h, 1, CMDLINE), CMDLINE);
    settle(h, 0);
    check_told(&told, 2, 1, CMDLINE, CMDLINE, "", "1");
    assert_int_equal(told.exe_error, 0);
    /* And with nobody to be told nothing breaks. */
    h->cycle.probes.parts.texts = NULL;
    assert_int_equal(make_due(h, 1, EXE), EXE);
    settle(h, 0);
    assert_int_equal(expected(h, 1), 0);
    assert_int_equal(reads_by_pid[1][PART_EXE], 2);
    assert_int_equal(reads_by_pid[1][PART_CMDLINE], 2);
}

/* What no rule needs is not read, whatever families there are; and the other way round. */
static void texts_of_rules_alone(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    configure(h, "proctally_group_*", DEADLINE);
    run(h);
    settle(h, 0);
    want_texts(h, &told, 0);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), 0);
    settle(h, 0);
    assert_int_equal(told.times, 0);
    want_texts(h, &told, EXE);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), EXE);
    settle(h, 0);
    check_told(&told, 1, 1, EXE, EXE, "/bin/1", "");
    assert_int_equal(reads_by_pid[1][PART_CMDLINE], 0);
}

/* Due while something else is under way: asked for when that is answered. */
static void texts_after_gauges(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    want_texts(h, &told, EXE | CMDLINE);
    hang_add(1);
    run(h);
    assert_int_equal(make_due(h, 1, EXE), EXE);
    assert_int_equal(make_due(h, 1, CMDLINE), EXE | CMDLINE);
    hang_end();
    settle(h, 0);
    check_told(&told, 1, 1, EXE | CMDLINE, EXE | CMDLINE, "/bin/1", "1");
    run(h);
    assert_int_equal(mappings(h, "x"), 3);
}

static void texts_of_many(void **state)
{
    struct probes_fixture *h = *state;
    unsigned n = 5 * PROBER_ROOM;
    struct told told;

    for (unsigned pid = 1; pid <= n; pid++)
        put_with_texts(h, pid);
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE | CMDLINE);
    for (unsigned pid = 1; pid <= n; pid++)
        assert_int_equal(make_due(h, pid, EXE | CMDLINE), EXE | CMDLINE);
    settle(h, 0);
    assert_int_equal(told.times, n);
    for (unsigned pid = 1; pid <= n; pid++) {
        assert_int_equal(expected(h, pid), 0);
        assert_int_equal(reads_by_pid[pid][PART_CMDLINE], 1);
    }
}

/* Let the process that hangs be given up. */
static void give_up(struct probes_fixture *h)
{
    settle(h, 1);
    run(h);
    run(h);
    assert_int_equal(h->snapshot.self.quarantined_processes, 1);
}

static void texts_that_hang(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE | CMDLINE);
    hang_part = PART_CMDLINE;
    hang_add(1);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), EXE | CMDLINE);
    give_up(h);
    /* What was read before is told, and that there will be no more. */
    check_told(&told, 1, 1, EXE | CMDLINE, EXE, "/bin/1", "");
    assert_int_equal(told.exe_error, 0);
    assert_int_equal(told.cmdline_error, -ETIMEDOUT);
    assert_int_equal(h->cycle.probes.news[0].part, PART_CMDLINE);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), 0);
    hang_end();
    settle(h, 0);
    run(h);
    assert_int_equal(told.times, 1);
    assert_int_equal(reads_by_pid[1][PART_EXE], 1);
    assert_int_equal(h->cycle.probes.waiting, 0);
}

/* Another file hangs, and the texts still wait for their turn. */
static void texts_behind_what_hangs(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    want_texts(h, &told, EXE | CMDLINE);
    hang_add(1);
    run(h);
    assert_int_equal(make_due(h, 1, EXE), EXE);
    give_up(h);
    check_told(&told, 1, 1, EXE, 0, "", "");
    assert_int_equal(told.exe_error, -ETIMEDOUT);
    assert_int_equal(told.cmdline_error, 0);
    assert_int_equal(expected(h, 1), 0);
}

static void exe_is_refused(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    tree_pid(&h->tree, 1, "cmdline", "nginx: master");
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE);
    error_part = PART_EXE;
    error = -EACCES;
    assert_int_equal(make_due(h, 1, EXE), EXE);
    settle(h, 0);
    check_told(&told, 1, 1, EXE, CMDLINE, "nginx", "nginx: master");
    assert_int_equal(told.exe_error, -EACCES);
    run(h);
    assert_int_equal(h->snapshot.self.read_faults[FAULT_EXE][FAULT_PERMISSION], 1);
    /* Also where something after the arguments hangs. */
    want_texts(h, &told, EXE);
    hang_part = PART_MAPS;
    hang_add(1);
    process_of(h, 1)->kept.asked = 0;
    process_of(h, 1)->probing.due = part_bit(PART_MAPS);
    assert_int_equal(make_due(h, 1, EXE), EXE);
    give_up(h);
    check_told(&told, 1, 1, EXE, CMDLINE, "nginx", "nginx: master");
    assert_int_equal(told.exe_error, -EACCES);
    assert_int_equal(told.cmdline_error, 0);
}

/* Our own trouble is no answer. */
static void texts_could_not_be_tried(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 1);
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE | CMDLINE);
    error_part = PART_CMDLINE;
    error = -EMFILE;
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), EXE | CMDLINE);
    HANG_WAIT(cycle_between(&h->cycle, h->now.monotonic_ns) == UINT64_MAX);
    assert_int_equal(told.times, 0);
    assert_int_equal(expected(h, 1), EXE | CMDLINE);
    error_part = PART_N;
    assert_int_equal(make_due(h, 1, 0), EXE | CMDLINE);
    settle(h, 0);
    check_told(&told, 1, 1, EXE | CMDLINE, EXE | CMDLINE, "/bin/1", "1");
}

static void texts_without_a_prober(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    want_texts(h, &told, EXE);
    for (unsigned pid = 1; pid <= PROBER_THREADS_MAX; pid++) {
        put_with_texts(h, pid);
        hang_add(pid);
    }
    put_with_texts(h, 900);
    for (unsigned i = 0; i < 20 && !probes_are_off(&h->cycle.probes); i++) {
        run(h);
        usleep(20000);
        (void)cycle_between(&h->cycle, h->now.monotonic_ns);
    }
    assert_true(probes_are_off(&h->cycle.probes));
    assert_int_equal(make_due(h, 900, EXE), 0);
    assert_int_equal(told.times, 0);
    /* It comes when there are threads again. */
    hang_end();
    HANG_WAIT(!probes_are_off(&h->cycle.probes));
    run(h);
    assert_int_equal(make_due(h, 900, EXE), EXE);
    settle(h, 0);
    check_told(&told, 1, 900, EXE, EXE, "/bin/900", "");
}

/* Its successor under that pid is told nothing of it. */
static void texts_of_another_process(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    put_with_texts(h, 9);
    run(h);
    settle(h, 0);
    want_texts(h, &told, EXE);
    hang_add(9);
    assert_int_equal(make_due(h, 9, EXE), EXE);
    HANG_WAIT(hang_count(&hang_now) == 1);
    host_tree_take(&h->tree, 9);
    HOST_PUT(&h->tree, .pid = 9, .comm = "new", .start = 20);
    for (int i = 0; i < 3; i++) {
        h->cycle.probes.deadline_ns = 1000 * SECOND;
        run(h);
    }
    hang_end();
    settle(h, 0);
    assert_int_equal(told.times, 0);
    assert_int_equal(expected(h, 9), 0);
}

static void texts_once(void **state)
{
    struct probes_fixture *h = *state;
    struct told told;

    cycle_close(&h->cycle);
    put_with_texts(h, 1);
    put_with_texts(h, 2);
    open_cycle(h, CYCLE_ONCE);
    configure(h, "proctally_group_*", SECOND / 10);
    run(h);
    want_texts(h, &told, EXE | CMDLINE);
    assert_int_equal(make_due(h, 1, EXE | CMDLINE), EXE | CMDLINE);
    probes_wait(&h->cycle.probes, process_of(h, 1));
    check_told(&told, 1, 1, EXE | CMDLINE, EXE | CMDLINE, "/bin/1", "1");
    hang_add(2);
    assert_int_equal(make_due(h, 2, EXE | CMDLINE), EXE | CMDLINE);
    probes_wait(&h->cycle.probes, process_of(h, 2));
    check_told(&told, 2, 2, EXE | CMDLINE, 0, "", "");
    assert_int_equal(told.exe_error, -ETIMEDOUT);
}

static void slow_reads(void **state)
{
    struct probes_fixture *h = *state;

    HOST_PUT(&h->tree, .pid = 1);
    HOST_PUT(&h->tree, .pid = 2);
    run(h);
    clock_step_ns = SECOND / 5;
    run(h);
    assert_int_equal(h->snapshot.self.slow_reads, 2);
    clock_step_ns = 0;
    run(h);
    assert_int_equal(h->snapshot.self.slow_reads, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_come_with_the_next_cycle),
        TEST(known_without_asking),
        TEST(pss),
        TEST(many),
        TEST(oldest_reading_first),
        TEST(quarantine),
        TEST(all_threads_hang),
        TEST(another_process_of_that_pid),
        TEST(gone_before_its_turn),
        TEST(no_descriptor),
        TEST(faults_are_counted),
        TEST(read_once),
        TEST(family_off_and_on),
        TEST(once),
        TEST(texts_are_told_once),
        TEST(texts_of_rules_alone),
        TEST(texts_after_gauges),
        TEST(texts_of_many),
        TEST(texts_that_hang),
        TEST(texts_behind_what_hangs),
        TEST(exe_is_refused),
        TEST(texts_could_not_be_tried),
        TEST(texts_without_a_prober),
        TEST(texts_of_another_process),
        TEST(texts_once),
        TEST(slow_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
