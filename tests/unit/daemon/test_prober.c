/* Threads that read for another, some of which never come back. */
#include "daemon/prober.h"

#include "daemon/clock.h"
#include "hang.h"
#include "host_tree.h"
#include "procfs/probe.h"

#include <dirent.h>
#include <sys/resource.h>

static const uint64_t SECOND = 1000000000u;
static const uint64_t NOW = 5000000000000u;

#define PARTS (part_bit(PART_MAPS) | part_bit(PART_SMAPS))

static _Atomic enum part hang_part;  /* PART_N: all */
static _Atomic enum part error_part; /* PART_N: none */
static _Atomic int error;
static _Atomic uint32_t spins; /* the pid whose reading uses CPU until this is another */

static int read_or_hang(struct procfs *fs, int dir, enum part part, struct sample *s,
                        struct probe_texts *t)
{
    if (hang_part == PART_N || hang_part == part)
        hang_here(s->identity.pid);
    while (spins == s->identity.pid)
        ;
    if (part == error_part && error == -EACCES)
        t->exe_refused = true;
    return part == error_part ? error : probe_read(fs, dir, part, s, t);
}

struct prober_fixture {
    struct tree tree;
    struct prober *prober;
    unsigned descriptors, threads; /* before */
};

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int setup(void **state)
{
    struct prober_fixture *f = calloc(1, sizeof(*f));

    host_tree_new(&f->tree);
    f->descriptors = count_entries("/proc/self/fd");
    f->threads = count_entries("/proc/self/task");
    hang_begin();
    hang_part = error_part = PART_N;
    error = 0;
    f->prober = prober_new(read_or_hang);
    assert_non_null(f->prober);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct prober_fixture *f = *state;

    hang_end();
    spins = 0;
    f->prober = prober_free(f->prober);
    HANG_WAIT(count_entries("/proc/self/task") == f->threads);
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors);
    tree_free(&f->tree);
    free(f);
    return 0;
}

static int open_process(struct prober_fixture *f, unsigned pid)
{
    char name[32];
    int dir;

    snprintf(name, sizeof(name), "%u", pid);
    dir = open(tree_path(&f->tree, name), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return dir;
}

static struct probe_request request_of(unsigned pid)
{
    return (struct probe_request){.identity = {.pid = pid, .start_ticks = 7}, .parts = PARTS};
}

/* A process of as many mappings as its pid says is asked for. */
static int ask_as(struct prober_fixture *f, const struct probe_request *request)
{
    unsigned pid = request->identity.pid;
    int dir, r;

    HOST_PUT(&f->tree, .pid = pid, .mappings = pid, .pss_kb = pid);
    dir = open_process(f, pid);
    r = prober_ask(f->prober, request, dir);
    close(dir);
    return r;
}

static int ask(struct prober_fixture *f, unsigned pid)
{
    struct probe_request request = request_of(pid);

    return ask_as(f, &request);
}

static void must_ask(struct prober_fixture *f, unsigned pid)
{
    assert_int_equal(ask(f, pid), 0);
}

/* The next answer, which may take its time. */
static struct probe_answer take(struct prober_fixture *f)
{
    struct probe_answer a;

    prober_wait(f->prober, clock_monotonic_ns() + 20 * SECOND);
    assert_true(prober_take(f->prober, &a));
    return a;
}

static void check_answer(const struct probe_answer *a)
{
    unsigned pid = a->sample.identity.pid;

    assert_int_equal(a->sample.identity.start_ticks, 7);
    assert_int_equal(a->asked, PARTS);
    assert_int_equal(a->parts, PARTS);
    assert_false(a->hung);
    assert_int_equal(a->sample.have_gauges, part_gauges(PART_MAPS) | part_gauges(PART_SMAPS));
    assert_int_equal(a->sample.gauge[GAUGE_MAPPINGS], pid);
    assert_int_equal(a->sample.gauge[GAUGE_PROPORTIONAL_BYTES], pid << 10);
    assert_int_equal(a->error[PART_MAPS], 0);
    assert_int_equal(a->error[PART_SMAPS], 0);
}

static void take_good(struct prober_fixture *f)
{
    struct probe_answer a = take(f);

    check_answer(&a);
}

/* Has these hang and be seen at NOW; other requests are answered by then. */
static void start_hanging(struct prober_fixture *f, unsigned first, unsigned n)
{
    unsigned before = hang_count(&hang_now);

    for (unsigned pid = first; pid < first + n; pid++) {
        hang_add(pid);
        must_ask(f, pid);
    }
    HANG_WAIT(hang_count(&hang_now) == before + n);
    prober_look(f->prober, NOW, SECOND);
}

static void take_hung(struct prober_fixture *f, unsigned n)
{
    struct probe_answer a;

    for (unsigned i = 0; i < n; i++) {
        assert_true(prober_take(f->prober, &a));
        assert_true(a.hung);
        assert_int_equal(a.hung_part, PART_MAPS);
        assert_int_equal(a.asked, PARTS);
        assert_int_equal(a.parts, 0);
        assert_int_equal(a.sample.identity.start_ticks, 7);
        assert_int_equal(a.sample.have_gauges, 0);
    }
    assert_false(prober_take(f->prober, &a));
}

static void answers(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;
    uint64_t seen = 0;

    assert_false(prober_take(f->prober, &a));
    assert_false(prober_is_off(f->prober));
    assert_int_equal(prober_look_again(f->prober, NOW, SECOND), UINT64_MAX);
    for (unsigned pid = 1; pid <= 40; pid++)
        must_ask(f, pid);
    for (unsigned i = 1; i <= 40; i++) {
        a = take(f);
        check_answer(&a);
        seen |= UINT64_C(1) << a.sample.identity.pid;
    }
    assert_int_equal(seen, ((UINT64_C(1) << 40) - 1) << 1);
    assert_false(prober_take(f->prober, &a));
    assert_int_equal(prober_look_again(f->prober, NOW, SECOND), UINT64_MAX);
    assert_int_equal(count_entries("/proc/self/task"), f->threads + PROBER_THREADS);
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors);
}

static void without_a_request_there_is_no_thread(void **state)
{
    struct prober_fixture *f = *state;

    prober_look(f->prober, NOW, SECOND);
    assert_int_equal(count_entries("/proc/self/task"), f->threads);
}

/* What cannot be read is settled, and says why. */
static void faults(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_request request = request_of(5);
    struct probe_answer a;
    int dir;

    HOST_PUT(&f->tree, .pid = 5);
    assert_int_equal(unlink(tree_path(&f->tree, "5/maps")), 0);
    tree_pid(&f->tree, 5, "smaps_rollup", "Pss: lots kB\n");
    dir = open_process(f, 5);
    assert_int_equal(prober_ask(f->prober, &request, dir), 0);
    close(dir);
    a = take(f);
    assert_int_equal(a.parts, PARTS);
    assert_int_equal(a.error[PART_MAPS], -ENOENT);
    assert_int_equal(a.error[PART_SMAPS], -EBADMSG);
    assert_int_equal(a.sample.have_gauges, 0);
}

static void room(void **state)
{
    struct prober_fixture *f = *state;
    unsigned pid = 101;

    for (unsigned i = 1; i <= PROBER_THREADS; i++)
        hang_add(i);
    for (unsigned i = 1; i <= PROBER_THREADS; i++)
        must_ask(f, i);
    for (unsigned i = PROBER_THREADS; i < PROBER_ROOM; i++) {
        assert_true(prober_has_room(f->prober));
        must_ask(f, pid++);
    }
    assert_false(prober_has_room(f->prober));
    assert_int_equal(ask(f, pid), -EAGAIN);
    /* Answers hold their room until they are taken. */
    hang_end();
    take_good(f);
    HANG_WAIT(hang_count(&hang_entered) == 2 * PROBER_ROOM);
    assert_true(prober_has_room(f->prober));
    must_ask(f, pid);
    assert_int_equal(ask(f, pid + 1), -EAGAIN);
    for (unsigned i = 0; i < PROBER_ROOM; i++)
        take_good(f);
}

/* The process that hangs is given up, and nobody else is. */
static void deadline(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    start_hanging(f, 1, 1);
    for (unsigned pid = 10; pid < 40; pid++)
        must_ask(f, pid);
    for (unsigned pid = 10; pid < 40; pid++)
        take_good(f);
    assert_int_equal(prober_look_again(f->prober, NOW + 5, SECOND), NOW + SECOND);
    prober_look(f->prober, NOW + SECOND - 1, SECOND);
    assert_false(prober_take(f->prober, &a));
    assert_int_equal(prober_hanging(f->prober), 0);
    prober_look(f->prober, NOW + SECOND, SECOND);
    assert_int_equal(prober_hanging(f->prober), 1);
    take_hung(f, 1);
    assert_int_equal(prober_look_again(f->prober, NOW, SECOND), UINT64_MAX);
    assert_int_equal(count_entries("/proc/self/task"), f->threads + PROBER_THREADS + 1);
    /* Its directory and no more. */
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors + 1);
    for (int i = 0; i < 10; i++)
        prober_look(f->prober, NOW + (uint64_t)(i + 2) * SECOND, SECOND);
    assert_int_equal(count_entries("/proc/self/task"), f->threads + PROBER_THREADS + 1);
    must_ask(f, 50);
    take_good(f);
}

/* A request that waits behind those that hang is not late. */
static void who_waits_is_not_late(void **state)
{
    struct prober_fixture *f = *state;

    start_hanging(f, 1, PROBER_THREADS);
    must_ask(f, 50);
    assert_true(prober_look_again(f->prober, NOW, SECOND) < NOW + SECOND / 10);
    prober_look(f->prober, NOW + SECOND, SECOND);
    assert_int_equal(prober_hanging(f->prober), PROBER_THREADS);
    /* Four in one look: the new threads serve the fifth. */
    HANG_WAIT(hang_count(&hang_entered) == PROBER_THREADS + 2);
    prober_look(f->prober, NOW + 100 * SECOND, SECOND);
    for (unsigned i = 0; i < PROBER_THREADS + 1; i++) {
        struct probe_answer a = take(f);

        assert_true(a.hung == (a.sample.identity.pid != 50));
    }
}

static void hang_all(struct prober_fixture *f)
{
    for (unsigned i = 0; i < PROBER_THREADS_MAX; i += PROBER_THREADS) {
        assert_false(prober_is_off(f->prober));
        start_hanging(f, 1 + i, PROBER_THREADS);
        prober_look(f->prober, NOW + SECOND, SECOND);
        take_hung(f, PROBER_THREADS);
    }
}

static void off(void **state)
{
    struct prober_fixture *f = *state;

    hang_all(f);
    assert_int_equal(prober_hanging(f->prober), PROBER_THREADS_MAX);
    assert_true(prober_is_off(f->prober));
    assert_int_equal(count_entries("/proc/self/task"), f->threads + PROBER_THREADS_MAX);
    assert_int_equal(ask(f, 50), -EAGAIN);
    prober_look(f->prober, NOW + 9 * SECOND, SECOND);
    assert_true(prober_is_off(f->prober));
    assert_int_equal(prober_look_again(f->prober, NOW, SECOND), UINT64_MAX);
}

/* Requests that nobody will serve are handed back, and settle nothing. */
static void off_with_a_queue(void **state)
{
    struct prober_fixture *f = *state;
    unsigned hung = 0, dropped = 0;
    struct probe_answer a;

    for (unsigned i = 0; i + PROBER_THREADS < PROBER_THREADS_MAX; i += PROBER_THREADS) {
        start_hanging(f, 1 + i, PROBER_THREADS);
        prober_look(f->prober, NOW + SECOND, SECOND);
        take_hung(f, PROBER_THREADS);
    }
    start_hanging(f, 30, PROBER_THREADS);
    for (unsigned pid = 50; pid < 60; pid++)
        must_ask(f, pid);
    prober_look(f->prober, NOW + SECOND, SECOND);
    assert_true(prober_is_off(f->prober));
    while (prober_take(f->prober, &a)) {
        hung += a.hung;
        dropped += !a.hung;
        assert_int_equal(a.asked, PARTS);
        assert_int_equal(a.parts, 0);
        assert_true(a.hung == (a.sample.identity.pid < 50));
    }
    assert_int_equal(hung, PROBER_THREADS);
    assert_int_equal(dropped, 10);
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors + PROBER_THREADS_MAX);
}

static void comes_back(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    start_hanging(f, 1, 2);
    prober_look(f->prober, NOW + SECOND, SECOND);
    take_hung(f, 2);
    hang_end();
    HANG_WAIT(prober_hanging(f->prober) == 0);
    HANG_WAIT(count_entries("/proc/self/task") == f->threads + PROBER_THREADS);
    assert_int_equal(count_entries("/proc/self/fd"), f->descriptors);
    /* What it read was given up. */
    assert_false(prober_take(f->prober, &a));
    must_ask(f, 50);
    take_good(f);
}

static void comes_back_when_off(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    hang_all(f);
    hang_end();
    HANG_WAIT(count_entries("/proc/self/task") == f->threads + PROBER_THREADS);
    assert_false(prober_is_off(f->prober));
    assert_int_equal(prober_hanging(f->prober), 0);
    assert_false(prober_take(f->prober, &a));
    must_ask(f, 50);
    take_good(f);
    /* And can hang anew. */
    start_hanging(f, 60, PROBER_THREADS);
    prober_look(f->prober, NOW + SECOND, SECOND);
    take_hung(f, PROBER_THREADS);
    must_ask(f, 51);
    take_good(f);
}

/* What is read is of the directory that was asked for, whoever has its name by then. */
static void another_process_of_that_pid(void **state)
{
    struct prober_fixture *f = *state;
    char moved[512];

    hang_add(9);
    must_ask(f, 9);
    HANG_WAIT(hang_count(&hang_now) == 1);
    snprintf(moved, sizeof(moved), "%s/old", f->tree.root);
    assert_int_equal(rename(tree_path(&f->tree, "9"), moved), 0);
    HOST_PUT(&f->tree, .pid = 9, .mappings = 77, .pss_kb = 77);
    hang_end();
    take_good(f);
}

static void no_descriptor(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_request request = request_of(9);
    struct rlimit before, tight;
    struct probe_answer a;
    int dir;

    HOST_PUT(&f->tree, .pid = 9, .mappings = 9, .pss_kb = 9);
    dir = open_process(f, 9);
    must_ask(f, 8);
    take_good(f);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){(rlim_t)dir + 1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(prober_ask(f->prober, &request, dir), -EMFILE);
    /* There are some, but those are for files and connections. */
    tight.rlim_cur += 24;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(prober_ask(f->prober, &request, dir), -EMFILE);
    tight.rlim_cur++;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(prober_ask(f->prober, &request, dir), 0);
    a = take(f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(dir);
    assert_int_equal(a.parts, PARTS);
    assert_int_equal(a.sample.gauge[GAUGE_MAPPINGS], 9);
    assert_false(a.hung);
}

/* Has a reading use CPU until `spins` is another. */
static void start_spinning(struct prober_fixture *f, unsigned pid, bool once)
{
    struct probe_request request = request_of(pid);
    unsigned entered = hang_count(&hang_entered);

    request.once = once;
    spins = pid;
    assert_int_equal(ask_as(f, &request), 0);
    HANG_WAIT(hang_count(&hang_entered) > entered);
}

static void spend(uint64_t ns)
{
    uint64_t until_ns = clock_process_cpu_ns() + ns;

    HANG_WAIT(clock_process_cpu_ns() >= until_ns);
}

/* The CPU time of a reading counts while it lasts, and ever after. */
static void cost(void **state)
{
    struct prober_fixture *f = *state;

    assert_int_equal(prober_cpu_ns(f->prober), 0);
    start_spinning(f, 5, false);
    HANG_WAIT(prober_cpu_ns(f->prober) >= SECOND / 20);
    spins = 0;
    take_good(f);
    assert_true(prober_cpu_ns(f->prober) >= SECOND / 20);
}

/* What is read but once is not what going on costs, unless it hangs. */
static void cost_of_reading_once(void **state)
{
    struct prober_fixture *f = *state;
    uint64_t before;

    must_ask(f, 50);
    take_good(f);
    before = prober_cpu_ns(f->prober);
    start_spinning(f, 5, true);
    spend(SECOND / 10);
    assert_true(prober_cpu_ns(f->prober) - before < SECOND / 20);
    spins = 0;
    take_good(f);
    assert_true(prober_cpu_ns(f->prober) - before < SECOND / 20);
    start_spinning(f, 6, true);
    prober_look(f->prober, NOW, SECOND);
    spend(SECOND / 10);
    prober_look(f->prober, NOW + SECOND, SECOND);
    take_hung(f, 1);
    HANG_WAIT(prober_cpu_ns(f->prober) - before >= SECOND / 10);
    /* It comes back, as one too many, and goes: what it cost stays. */
    spins = 0;
    HANG_WAIT(count_entries("/proc/self/task") == f->threads + PROBER_THREADS);
    assert_true(prober_cpu_ns(f->prober) - before >= SECOND / 10);
}

/* Whatever hangs, given up or not, does not hold up the stop, and is freed when it comes back. */
static void stop(void **state)
{
    struct prober_fixture *f = *state;
    uint64_t begin;

    start_hanging(f, 1, 3);
    prober_look(f->prober, NOW + SECOND, SECOND);
    start_hanging(f, 11, 2);
    for (unsigned pid = 50; pid < 60; pid++)
        must_ask(f, pid);
    begin = clock_monotonic_ns();
    f->prober = prober_free(f->prober);
    assert_true(clock_monotonic_ns() - begin < 3 * SECOND);
    HANG_WAIT(count_entries("/proc/self/task") == f->threads + 5);
    hang_end();
}

static void stop_with_work_to_do(void **state)
{
    struct prober_fixture *f = *state;

    for (unsigned pid = 1; pid <= 60; pid++)
        must_ask(f, pid);
    f->prober = prober_free(f->prober);
    f->prober = prober_free(f->prober);
}

/* A process with both texts, which tell its pid, is asked for these parts. */
static void must_ask_texts(struct prober_fixture *f, unsigned pid, uint32_t parts)
{
    struct probe_request request = {.identity = {.pid = pid, .start_ticks = 7}, .parts = parts};
    char name[32], path[32];
    int dir, n;

    HOST_PUT(&f->tree, .pid = pid, .mappings = pid, .pss_kb = pid);
    snprintf(name, sizeof(name), "%u/exe", pid);
    snprintf(path, sizeof(path), "/bin/%u (deleted)", pid);
    tree_link(&f->tree, name, path);
    snprintf(name, sizeof(name), "%u/cmdline", pid);
    n = snprintf(path, sizeof(path), "/run/%u%c-x", pid, '\0');
    tree_write(&f->tree, name, path, (size_t)n);
    dir = open_process(f, pid);
    assert_int_equal(prober_ask(f->prober, &request, dir), 0);
    close(dir);
}

/* The text is `prefix`, the pid, `suffix`; or empty. */
static void check_text(const struct probe_answer *a, struct probe_text text, bool expected,
                       const char *prefix, const char *suffix)
{
    char is[64] = "";

    if (expected)
        snprintf(is, sizeof(is), "%s%u%s", prefix, a->sample.identity.pid, suffix);
    check_span_at(probe_text_span(a->texts, text), is, strlen(is), __FILE__, __LINE__);
}

static void check_texts(const struct probe_answer *a, uint32_t have)
{
    bool exe = have & part_bit(PART_EXE), cmdline = have & part_bit(PART_CMDLINE);

    assert_int_equal(a->texts->have, have);
    check_text(a, a->texts->exe, exe, "/bin/", "");
    check_text(a, a->texts->cmdline, cmdline, "/run/", " -x");
    check_text(a, a->texts->program, cmdline, "/run/", "");
}

static void texts(void **state)
{
    static const uint32_t asked[] = {
        1 << PART_EXE, 1 << PART_CMDLINE, 1 << PART_EXE | 1 << PART_CMDLINE,
        1 << PART_EXE | 1 << PART_CMDLINE | 1 << PART_MAPS, 1 << PART_MAPS};
    struct prober_fixture *f = *state;

    for (int round = 0; round < 3; round++) {
        for (unsigned pid = 10; pid < 10 + PROBER_ROOM; pid++)
            must_ask_texts(f, pid, asked[pid % 5]);
        for (unsigned i = 0; i < PROBER_ROOM; i++) {
            struct probe_answer a = take(f);

            assert_int_equal(a.asked, asked[a.sample.identity.pid % 5]);
            assert_int_equal(a.parts, a.asked);
            check_texts(&a, a.asked & probe_text_parts());
            assert_true(!(a.asked & part_bit(PART_MAPS)) ||
                        a.sample.gauge[GAUGE_MAPPINGS] == a.sample.identity.pid);
        }
        for (unsigned pid = 10; pid < 10 + PROBER_ROOM; pid++)
            host_tree_take(&f->tree, pid);
    }
}

/* What was read before it hung is not lost. */
static void texts_of_who_hangs(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    for (enum part part = PART_EXE; part <= PART_SMAPS; part++) {
        unsigned pid = 10 + (unsigned)part;
        uint32_t before = probe_text_parts() & (part_bit(part) - 1);

        hang_part = part;
        hang_add(pid);
        must_ask_texts(f, pid, probe_parts());
        HANG_WAIT(hang_count(&hang_now) == 1);
        prober_look(f->prober, NOW, SECOND);
        prober_look(f->prober, NOW + SECOND, SECOND);
        assert_true(prober_take(f->prober, &a));
        assert_true(a.hung);
        assert_int_equal(a.hung_part, part);
        assert_int_equal(a.parts, 0);
        check_texts(&a, before);
        hang_end();
        HANG_WAIT(prober_hanging(f->prober) == 0);
        assert_false(prober_take(f->prober, &a));
    }
}

/* Where the link is refused the arguments are read unasked. */
static void stands_in(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    error_part = PART_EXE;
    error = -EACCES;
    must_ask_texts(f, 10, part_bit(PART_EXE) | part_bit(PART_MAPS));
    a = take(f);
    assert_int_equal(a.asked, part_bit(PART_EXE) | part_bit(PART_MAPS));
    assert_int_equal(a.parts, a.asked | part_bit(PART_CMDLINE));
    assert_int_equal(a.error[PART_EXE], -EACCES);
    assert_true(a.texts->exe_refused);
    check_texts(&a, part_bit(PART_CMDLINE));
    error = -EIO;
    must_ask_texts(f, 11, part_bit(PART_EXE));
    a = take(f);
    assert_int_equal(a.parts, part_bit(PART_EXE));
    assert_int_equal(a.error[PART_EXE], -EIO);
    assert_false(a.texts->exe_refused);
    check_texts(&a, 0);
}

/* One text that could not be tried leaves both to another time. */
static void texts_settle_together(void **state)
{
    struct prober_fixture *f = *state;
    struct probe_answer a;

    for (int i = 0; i < 2; i++) {
        error_part = i == 0 ? PART_EXE : PART_CMDLINE;
        error = -EMFILE;
        must_ask_texts(f, 10 + (unsigned)i, probe_parts());
        a = take(f);
        assert_int_equal(a.asked, probe_parts());
        assert_int_equal(a.parts, probe_gauge_parts());
    }
}

static void wait_has_an_end(void **state)
{
    struct prober_fixture *f = *state;
    uint64_t begin = clock_monotonic_ns();

    start_hanging(f, 1, 1);
    prober_wait(f->prober, begin + SECOND / 20);
    assert_true(clock_monotonic_ns() - begin >= SECOND / 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers),
        TEST(without_a_request_there_is_no_thread),
        TEST(faults),
        TEST(room),
        TEST(deadline),
        TEST(who_waits_is_not_late),
        TEST(off),
        TEST(off_with_a_queue),
        TEST(comes_back),
        TEST(comes_back_when_off),
        TEST(another_process_of_that_pid),
        TEST(no_descriptor),
        TEST(cost),
        TEST(cost_of_reading_once),
        TEST(stop),
        TEST(stop_with_work_to_do),
        TEST(texts),
        TEST(texts_of_who_hangs),
        TEST(stands_in),
        TEST(texts_settle_together),
        TEST(wait_has_an_end),
    };

    hang_first_thread();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
