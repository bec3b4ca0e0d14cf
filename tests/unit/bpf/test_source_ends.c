/*
 * Ends of processes and threads, as the kernel that runs tells of them, held against what wait4(2)
 * said.
 */
#include "source_of_test.h"

/* A child that ended, as wait4(2) told of it. */
struct child {
    pid_t pid;
    int status;
    struct rusage usage;
    struct process_end end;
    unsigned told; /* how often */
};

static void reap(struct child *child)
{
    assert_int_equal(wait4(child->pid, &child->status, 0, &child->usage), child->pid);
}

/* The one that this end is of; NULL: it is of another's child. */
static struct child *child_of(struct child *children, size_t n, const struct process_end *end)
{
    if (end->parent_pid != (uint32_t)getpid())
        return NULL;
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)children[i].pid == end->task.head.pid)
            return &children[i];
    /* A try before may have given up waiting for it. */
    if (!live_hides)
        fail_msg("process %u has ended, and was none", end->task.head.pid);
    return NULL;
}

/* Takes what has come. Returns how many of the children were told of in all. */
static size_t take_ends(struct child *children, size_t n)
{
    const struct process_ended *list;
    size_t ended, told = 0;

    bpf_source_drain(&source, live_now_ns());
    list = bpf_source_ended(&source, &ended);
    for (size_t i = 0; i < ended; i++) {
        struct child *child = child_of(children, n, &list[i].end);

        if (!child)
            continue;
        child->end = list[i].end;
        assert_int_equal(++child->told, 1);
    }
    bpf_source_ends_counted(&source, ended);
    for (size_t i = 0; i < n; i++)
        told += children[i].told;
    return told;
}

/* Until each of them was told of. */
static bool await_ends(struct child *children, size_t n)
{
    uint64_t begin = live_now_ns();
    size_t told;

    while ((told = take_ends(children, n)) < n && live_has_time(begin))
        ;
    /* Nobody ends twice. */
    assert_int_equal(take_ends(children, n), told);
    return told == n;
}

/*
 * Until the end of the child was told, and its threads', which may come after it: then it has
 * written so much. Those that wait are joined with them as often as they are asked for.
 */
static bool await_end_of_threads(struct child *child, uint64_t written)
{
    uint64_t begin = live_now_ns(), have = 0;
    const struct process_ended *list;
    size_t n;

    do {
        bpf_source_drain(&source, live_now_ns());
        list = bpf_source_ended(&source, &n);
        for (size_t i = 0; i < n; i++)
            if (child_of(child, 1, &list[i].end)) {
                child->end = list[i].end;
                have = child->end.task.own.io[TASK_IO_WRITE_CHARS];
            }
        assert_true(have <= written);
    } while (have < written && live_has_time(begin));
    bpf_source_ends_counted(&source, n);
    return have == written;
}

static uint64_t ns_of(const struct rusage *usage)
{
    return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

enum { SHORT_LIVED = 500 };

static pid_t spawn_short_lived(size_t i)
{
    static const char *const ends[] = {"exit=0", "exit=3", "signal=15", "signal=9", "signal=11"};

    return live_spawn(LIVE_STEPS("burn=2", "read=4096", ends[i % 5]));
}

static void check_status(size_t i, const struct child *child)
{
    static const int statuses[] = {0, 3 << 8, SIGTERM, SIGKILL, SIGSEGV};

    assert_int_equal(child->status, statuses[i % 5]);
    assert_int_equal(child->end.status, child->status);
}

/* Some of them at a time, and some are told of while others begin. */
static void run_short_lived(struct child *children, size_t n)
{
    enum { AT_A_TIME = 8 };

    for (size_t i = 0; i < n + AT_A_TIME; i++) {
        if (i < n)
            children[i].pid = spawn_short_lived(i);
        if (i >= AT_A_TIME)
            reap(&children[i - AT_A_TIME]);
        if (i < n && i % 30 == 29)
            take_ends(children, i + 1);
    }
}

static void check_short_lived(size_t i, const struct child *child)
{
    const struct process_end *end = &child->end;

    check_status(i, child);
    assert_true(end->usage.runtime_ns > 2000000);
    assert_true(end->task.own.io[TASK_IO_READ_CHARS] > 4096);
    assert_int_equal(end->usage.minor_faults, child->usage.ru_minflt);
    assert_int_equal(end->uid, geteuid());
    check_span(span_of(end->comm, strnlen(end->comm, sizeof(end->comm))), "bpf_child");
}

/* All at once, or what is likely to come whole. */
static size_t short_lived_of_a_try(void)
{
    return live_hides ? SHORT_LIVED / 10 : SHORT_LIVED;
}

/* As a divisor. An end that comes upon a hidden thread is told as it was known at the exit. */
static uint64_t short_at_most(void)
{
    return live_hides ? 10 : 50;
}

/* Processes that no walk sees: each is told of once, with all it used. */
static bool try_short_lived(void)
{
    static struct child children[SHORT_LIVED];
    size_t n = short_lived_of_a_try();
    struct rusage before, after;
    uint64_t runtime = 0, used, lost = bpf_source_lost(&source);

    memset(children, 0, sizeof(children));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &before), 0);
    run_short_lived(children, n);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &after), 0);
    if (!await_ends(children, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        check_short_lived(i, &children[i]);
        runtime += children[i].end.usage.runtime_ns;
    }
    used = ns_of(&after) - ns_of(&before);
    print_message("running time %.3f s, by getrusage %.3f s\n", (double)runtime * 1e-9,
                  (double)used * 1e-9);
    assert_in_range(runtime, used - used / short_at_most(), used + used / 50);
    assert_true(live_hides || bpf_source_lost(&source) == lost);
    return true;
}

static void short_lived(void **state)
{
    (void)state;
    for (size_t n = 0; n < SHORT_LIVED; n += short_lived_of_a_try())
        live_run(try_short_lived, open_both, close_both);
}

static void check_last(const struct sample *last, const struct sample *before,
                       const struct child *child)
{
    uint64_t used = ns_of(&child->usage);

    assert_true(identity_equal(last->identity, before->identity));
    assert_int_equal(last->uid, before->uid);
    for (int i = 0; i < COUNTER_N; i++) {
        /* Nothing is read or written on the way out. */
        if (counter_part((enum counter)i) == PART_IO)
            assert_int_equal(last->counter[i], before->counter[i]);
        assert_true(last->counter[i] >= before->counter[i]);
    }
    assert_int_equal(last->counter[COUNTER_MINOR_FAULTS], child->usage.ru_minflt);
    assert_int_equal(last->counter[COUNTER_MAJOR_FAULTS], child->usage.ru_majflt);
    assert_true(last->cpu_runtime_ns >= before->cpu_runtime_ns);
    assert_in_range(last->cpu_runtime_ns, used - used / short_at_most(), used + used / 50);
}

/* What it has when it stops is what its end tells. */
static bool try_end_of_threads(void)
{
    struct child child = {.pid = live_spawn(LIVE_STEPS("threads=10", "ended=7", "stop", "exit=3"))};
    struct task_units units = source.units;
    struct sample before, last;

    live_stopped(child.pid);
    if (!is_same(child.pid, LACKS_ENDED_THREADS, &before)) {
        live_kill(child.pid);
        return false;
    }
    live_go_on(child.pid);
    reap(&child);
    if (!await_end_of_threads(&child, 17 * 8192))
        return false;
    task_sample_end(&(struct process_ended){child.end}, &units, &last);
    check_last(&last, &before, &child);
    assert_int_equal(child.status, 3 << 8);
    assert_int_equal(child.end.status, child.status);
    return true;
}

static void the_end_of_threads(void **state)
{
    (void)state;
    live_run(try_end_of_threads, open_both, close_both);
}

/* Its leader ended long before it did. */
static bool try_end_of_an_exited_leader(void)
{
    struct child child = {
        .pid = live_spawn(LIVE_STEPS("read=40960", "threads=3", "leave", "write=4096", "exit=3"))};

    reap(&child);
    if (!await_end_of_threads(&child, 3 * 8192 + 4096))
        return false;
    assert_int_equal(child.status, 3 << 8);
    assert_int_equal(child.end.status, child.status);
    assert_true(child.end.task.own.io[TASK_IO_READ_CHARS] >= 40960 + 3 * 12288);
    assert_int_equal(child.end.usage.minor_faults, child.usage.ru_minflt);
    return true;
}

static void the_end_of_an_exited_leader(void **state)
{
    (void)state;
    live_run(try_end_of_an_exited_leader, open_both, close_both);
}

/* As long as the process is there: what it wrote, in all. */
static uint64_t written_by_living(struct child *child)
{
    const struct process_ended *list;
    struct sample s;
    size_t n;

    assert_int_equal(look_for((uint32_t)child->pid, &s, NULL), 1);
    list = bpf_source_ended(&source, &n);
    for (size_t i = 0; i < n; i++)
        assert_null(child_of(child, 1, &list[i].end));
    bpf_source_ends_counted(&source, n);
    return s.counter[COUNTER_SYSCALL_WRITE_BYTES];
}

/* A thread takes the place of its leader, who is waited for by nobody and ends as a thread does. */
static bool try_exec_from_a_thread(void)
{
    struct child child = {
        .pid = live_spawn(LIVE_STEPS("write=8192", "exec", "write=4096", "stop", "exit=3"))};
    uint64_t begin = live_now_ns(), written;

    live_stopped(child.pid);
    do {
        written = written_by_living(&child);
        assert_true(written == 4096 || written == 8192 + 4096);
    } while (written == 4096 && live_has_time(begin));
    if (written == 4096) {
        live_kill(child.pid);
        return false;
    }
    live_go_on(child.pid);
    reap(&child);
    if (!await_ends(&child, 1))
        return false;
    assert_int_equal(child.end.task.own.io[TASK_IO_WRITE_CHARS], 8192 + 4096);
    assert_int_equal(child.end.status, 3 << 8);
    return true;
}

static void an_exec_from_a_thread(void **state)
{
    (void)state;
    live_run(try_exec_from_a_thread, open_both, close_both);
}

static size_t count_ended_of(struct bpf_source *s, uint32_t parent_pid)
{
    const struct process_ended *list;
    size_t n, ended = 0;

    bpf_source_drain(s, live_now_ns());
    list = bpf_source_ended(s, &n);
    for (size_t i = 0; i < n; i++)
        ended += list[i].end.parent_pid == parent_pid;
    bpf_source_ends_counted(s, n);
    return ended;
}

/* Children count for themselves, and not once more for who reaped them. */
static bool try_io_of_reaped_children(void)
{
    pid_t pid = live_spawn(LIVE_STEPS("forks=50", "write=8192", "stop"));
    uint64_t begin = live_now_ns();
    struct sample s;
    size_t ended;

    live_stopped(pid);
    ended = count_ended_of(&source, (uint32_t)pid);
    assert_int_equal(look_for((uint32_t)pid, &s, NULL), 1);
    assert_int_equal(s.counter[COUNTER_SYSCALL_WRITE_BYTES], 8192);
    while (ended < 50 && live_has_time(begin))
        ended += count_ended_of(&source, (uint32_t)pid);
    assert_true(ended <= 50);
    live_kill(pid);
    return ended == 50;
}

static void io_of_reaped_children(void **state)
{
    (void)state;
    live_run(try_io_of_reaped_children, open_both, close_both);
}

/* What a sweep is told of a child, and how often it asks about it. */
struct asked {
    uint32_t pid;
    bool is_there;
    unsigned times;
};

static bool answer(void *arg, struct identity identity)
{
    struct asked *asked = arg;

    if (identity.pid != asked->pid)
        return true;
    asked->times++;
    return asked->is_there;
}

/* At so many seconds from now; returns whether the child's end waits. */
static bool sweep_at(uint64_t now_ns, unsigned seconds, struct asked *asked, struct child *child)
{
    const struct process_ended *list;
    bool waits = false;
    size_t n;

    bpf_source_drain(&source, now_ns + seconds * UINT64_C(1000000000));
    bpf_source_sweep(&source, answer, asked);
    list = bpf_source_ended(&source, &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].end.task.head.pid == asked->pid) {
            child->end = list[i].end;
            waits = true;
        }
    bpf_source_ends_counted(&source, n);
    return waits;
}

/* As long as it is not reaped, there is no end of it, and what was known at its exit is kept. */
static void check_sweeps(uint64_t begin, struct child *child)
{
    struct asked asked = {.pid = (uint32_t)child->pid, .is_there = true};
    uint64_t now = live_now_ns();

    /* It exited after that, or just before. */
    assert_false(sweep_at(begin, 0, &asked, child));
    assert_false(sweep_at(begin, 1, &asked, child));
    assert_int_equal(asked.times, 0);
    assert_false(sweep_at(now, 2, &asked, child));
    assert_int_equal(asked.times, 1);
    /* Who asked waits as long as before. */
    asked.is_there = false;
    assert_false(sweep_at(now, 2, &asked, child));
    assert_false(sweep_at(now, 3, &asked, child));
    assert_int_equal(asked.times, 1);
    assert_true(sweep_at(now, 4, &asked, child));
    assert_int_equal(asked.times, 2);
    assert_false(sweep_at(now, 9, &asked, child));
    assert_int_equal(asked.times, 2);
}

/* Whoever was counted by his exit is not told of once more. */
static bool try_sweep(void)
{
    uint64_t begin = live_now_ns();
    enum programs_failure failure;
    struct bpf_source witness;
    struct child child = {0};
    siginfo_t info;
    size_t told = 0;

    assert_int_equal(bpf_source_open(&witness, &source.units, &failure), 0);
    child.pid = live_spawn(LIVE_STEPS("burn=5", "write=8192", "exit=5"));
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    check_sweeps(begin, &child);
    reap(&child);
    assert_int_equal(child.end.parent_pid, getpid());
    assert_int_equal(child.end.status, child.status);
    assert_int_equal(child.end.task.own.io[TASK_IO_WRITE_CHARS], 8192);
    assert_in_range(child.end.usage.runtime_ns, 5000000, ns_of(&child.usage) + 1000);
    begin = live_now_ns();
    while (told == 0 && live_has_time(begin))
        told += count_ended_of(&witness, (uint32_t)getpid());
    assert_int_equal(count_ended_of(&source, (uint32_t)getpid()), 0);
    bpf_source_close(&witness);
    return told == 1;
}

static void counted_by_their_exit(void **state)
{
    (void)state;
    live_run(try_sweep, open_both, close_both);
}

/* The witness knows when a record would have come. */
static bool try_pause(struct bpf_source *witness, struct child children[3])
{
    uint64_t begin;
    size_t n;

    children[0].pid = live_spawn(LIVE_STEPS("ended=2", "exit=0"));
    reap(&children[0]);
    if (!await_ends(children, 1))
        return false;
    bpf_source_pause(&source);
    /* What ended threads left is gone with it. */
    assert_int_equal(source.accounts.n_used, 0);
    children[1].pid = live_spawn(LIVE_STEPS("exit=0"));
    reap(&children[1]);
    begin = live_now_ns();
    for (n = 0; n < 2 && live_has_time(begin);)
        n += count_ended_of(witness, (uint32_t)getpid());
    bpf_source_drain(&source, live_now_ns());
    assert_int_equal(ends_waiting(&source.ends), 0);
    assert_int_equal(bpf_source_resume(&source), 0);
    children[2].pid = live_spawn(LIVE_STEPS("exit=0"));
    reap(&children[2]);
    begin = live_now_ns();
    while (take_ends(children, 3) < 2 && live_has_time(begin))
        ;
    assert_int_equal(children[1].told, 0);
    return n == 2 && children[2].told == 1;
}

static bool try_paused_and_resumed(void)
{
    struct child children[3] = {{0}};
    enum programs_failure failure;
    struct bpf_source witness;
    bool came;

    assert_int_equal(bpf_source_open(&witness, &source.units, &failure), 0);
    came = try_pause(&witness, children);
    bpf_source_close(&witness);
    return came;
}

static void paused_and_resumed(void **state)
{
    (void)state;
    live_run(try_paused_and_resumed, open_both, close_both);
}

/*
 * A walk that was given up says nothing of those it did not come to, however long ago the last
 * whole one was. Of whom that sees nothing for long, nothing is kept.
 */
static bool try_given_up(void)
{
    pid_t pid = live_spawn(LIVE_STEPS("ended=3", "stop"));
    struct thread_end nobody = {.head = {RECORD_THREAD_END, UINT32_MAX, UINT64_MAX}};
    uint64_t lost = bpf_source_lost(&source);
    struct task_cgroup cgroup;
    struct sample s;
    size_t used;
    bool same;

    live_stopped(pid);
    same = is_same(pid, LACKS_ENDED_THREADS, &s);
    assert_int_equal(accounts_add(&source.accounts, &nobody, live_now_ns()), 0);
    ahead_ns = UINT64_C(3600) * 1000000000;
    bpf_source_drain(&source, live_now_ns() + ahead_ns);
    used = source.accounts.n_used;
    assert_int_equal(bpf_source_begin(&source), 0);
    assert_int_equal(bpf_source_next(&source, &s, &cgroup), 1);
    bpf_source_end(&source);
    assert_int_equal(source.accounts.n_used, used);
    assert_int_equal(bpf_source_lost(&source), lost);
    same = same && is_same(pid, LACKS_ENDED_THREADS, &s);
    live_kill(pid);
    assert_true(!same || bpf_source_lost(&source) > lost);
    assert_true(!same || !accounts_look(&source.accounts, UINT64_MAX, UINT32_MAX, 0));
    return same;
}

static void given_up_walks_drop_nothing(void **state)
{
    (void)state;
    live_run(try_given_up, open_both, close_both);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(short_lived),
        TEST(the_end_of_threads),
        TEST(the_end_of_an_exited_leader),
        TEST(an_exec_from_a_thread),
        TEST(io_of_reaped_children),
        TEST(counted_by_their_exit),
        TEST(paused_and_resumed),
        TEST(given_up_walks_drop_nothing),
    };
    int r;

    return live_refuses(argc, argv, &r) ? r : cmocka_run_group_tests(tests, NULL, NULL);
}
