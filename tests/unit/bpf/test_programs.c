/*
 * The programs in the kernel that runs: loaded, attached, asked; and who may ask.
 *
 * How the numbers in records come out, test_source.c and test_source_ends.c tell.
 */
#include "bpf/programs.h"

#include "live.h"

#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int __real_bpf_object__load_skeleton(struct bpf_object_skeleton *s);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *s);

static struct programs *programs;
/* How often the kernel is asked, and how it answers the first time; 0: as it likes. */
static unsigned n_asked;
static int first_answer;
/* Whether variables are mapped, of what is loaded. */
static bool maps_no_variables;

int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *s)
{
    int answer = n_asked++ == 0 ? first_answer : 0;
    int r = answer < 0 ? answer : __real_bpf_object__load_skeleton(s);

    for (int i = 0; r == 0 && maps_no_variables && i < s->map_cnt; i++)
        if (s->maps[i].mmaped)
            *s->maps[i].mmaped = NULL;
    return r;
}

static int load(void **state)
{
    enum programs_failure failure;

    (void)state;
    return programs_load(&programs, &failure);
}

static int unload(void **state)
{
    (void)state;
    programs_free(programs);
    programs = NULL;
    return 0;
}

/* Ends of processes by their parent, as a drain tells of them. */
struct ends_of {
    uint32_t parent_pid;
    uint64_t n;
    uint64_t malformed;
};

static void count_end(void *arg, const void *bytes, size_t n)
{
    const struct record_head *head = bytes;
    const struct process_end *end = bytes;
    struct ends_of *e = arg;

    if (n == sizeof(*end) && head->kind == RECORD_PROCESS_END)
        e->n += end->parent_pid == e->parent_pid;
    else if (head->kind != RECORD_CGROUP)
        e->malformed += n != sizeof(struct thread_end) || head->kind != RECORD_THREAD_END;
}

/* Until it was told of so many children of that parent; false: it never was. */
static bool await_ends(struct programs *p, struct ends_of *e, uint64_t n)
{
    uint64_t begin = live_now_ns();

    do
        programs_drain(p, count_end, e);
    while (e->n < n && live_has_time(begin));
    assert_int_equal(e->malformed, 0);
    return e->n >= n;
}

/* Reads a walk in such pieces, and closes it. Returns how often this process was in it. */
static unsigned walk_for_own(int fd, size_t piece)
{
    static _Alignas(8) char bytes[1 << 24];
    unsigned found = 0;
    size_t n = 0;
    ssize_t r;

    while ((r = read(fd, bytes + n, piece)) > 0) {
        n += (size_t)r;
        assert_true(n + piece <= sizeof(bytes));
    }
    assert_int_equal(r, 0);
    close(fd);
    for (size_t at = 0, size; at < n; at += size) {
        const struct record_head *head = (const struct record_head *)(bytes + at);

        assert_true(at + sizeof(*head) <= n);
        size = live_size_of(head->kind);
        assert_true(size > 0 && at + size <= n);
        found += head->kind == RECORD_PROCESS && head->pid == (uint32_t)getpid();
    }
    return found;
}

static int walk(void)
{
    int fd = programs_walk(programs);

    assert_true(fd >= 0);
    return fd;
}

static void a_walk_reads_to_its_end(void **state)
{
    static const size_t pieces[] = {PROGRAMS_READ_SIZE, 1 << 20, 4096, 100, 7};

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
        assert_int_equal(walk_for_own(walk(), pieces[i]), 1);
}

/* A read of the size that is asked for ends between two records. */
static void reads_end_between_records(void **state)
{
    static _Alignas(8) char bytes[PROGRAMS_READ_SIZE];
    int fd = walk();
    size_t reads = 0;
    ssize_t n;

    (void)state;
    for (; (n = read(fd, bytes, sizeof(bytes))) > 0; reads++) {
        size_t at = 0;

        while (at < (size_t)n) {
            size_t size = live_size_of(((const struct record_head *)(bytes + at))->kind);

            assert_true(size > 0);
            at += size;
        }
        assert_int_equal(at, n);
    }
    assert_int_equal(n, 0);
    assert_true(reads > 0);
    close(fd);
}

static void two_walks_at_a_time(void **state)
{
    char some[512];
    int a = walk(), b = walk();

    (void)state;
    assert_true(read(a, some, sizeof(some)) > 0);
    assert_int_equal(walk_for_own(b, PROGRAMS_READ_SIZE), 1);
    while (read(a, some, sizeof(some)) > 0)
        ;
    close(a);
}

static struct programs *load_another(void)
{
    enum programs_failure failure;
    struct programs *p = NULL;

    assert_int_equal(programs_load(&p, &failure), 0);
    return p;
}

/* Each is told of every end, and one can be gone while the other goes on. */
static bool try_loaded_twice(void)
{
    struct ends_of here = {(uint32_t)getpid(), 0, 0}, there = here;
    struct programs *other = load_another();
    bool came;

    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    came = await_ends(programs, &here, 1) && await_ends(other, &there, 1);
    programs_free(other);
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    return came && await_ends(programs, &here, 2);
}

static void loaded_twice(void **state)
{
    (void)state;
    live_run(try_loaded_twice, load, unload);
}

static void nobody_is_freed(void **state)
{
    (void)state;
    programs_free(NULL);
}

/*
 * Who was reaped while one of two was paused, is known to the other alone. A record comes after
 * a while: once the other has it, the moment is over.
 */
static bool try_pause(struct programs *witness, struct ends_of *here, struct ends_of *there)
{
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    if (!await_ends(witness, there, there->n + 1) || !await_ends(programs, here, here->n + 1))
        return false;
    programs_pause(programs);
    programs_pause(programs);
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    if (!await_ends(witness, there, there->n + 1))
        return false;
    assert_int_equal(walk_for_own(walk(), PROGRAMS_READ_SIZE), 1);
    assert_int_equal(programs_resume(programs), 0);
    assert_int_equal(programs_resume(programs), 0);
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    return await_ends(witness, there, there->n + 1) && await_ends(programs, here, here->n + 1);
}

static bool try_pauses(void)
{
    struct ends_of here = {(uint32_t)getpid(), 0, 0}, there = here;
    struct programs *witness = load_another();
    bool came = true;

    for (int i = 0; came && i < 3; i++)
        came = try_pause(witness, &here, &there);
    /* Resumed twice is not told twice. */
    programs_drain(programs, count_end, &here);
    assert_true(here.n <= 6 && there.n <= 9);
    programs_free(witness);
    return came;
}

static void paused_and_resumed(void **state)
{
    (void)state;
    live_run(try_pauses, load, unload);
}

/* What was noted before a pause is there after it. */
static bool try_noted_before(void)
{
    struct ends_of here = {(uint32_t)getpid(), 0, 0}, there = here;
    struct programs *witness = load_another();
    bool came;

    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    came = await_ends(witness, &there, 1);
    programs_pause(programs);
    programs_drain(programs, count_end, &here);
    programs_free(witness);
    assert_int_equal(here.n, came);
    return came;
}

static void noted_before_a_pause(void **state)
{
    (void)state;
    live_run(try_noted_before, load, unload);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

/* A few ends wake nobody, many do, and again once they were drained. */
static bool try_wake(void)
{
    int fd = programs_ring_fd(programs);
    struct ends_of e = {0};
    uint64_t begin = live_now_ns();
    bool readable;
    pid_t parent;

    programs_drain(programs, count_end, &e);
    (void)is_readable(fd);
    assert_false(is_readable(fd));
    parent = live_spawn(LIVE_STEPS("forks=1000"));
    e = (struct ends_of){.parent_pid = (uint32_t)parent};
    while (!(readable = is_readable(fd)) && live_has_time(begin))
        ;
    assert_true(readable);
    assert_int_equal(live_reap(parent), 0);
    assert_int_equal(programs_lost(programs), 0);
    /* Where process 1 is hidden, some of so many are never made. */
    readable = await_ends(programs, &e, live_hides ? 500 : 1000);
    assert_true(e.n <= 1000);
    return readable;
}

static void many_ends_wake_the_reader(void **state)
{
    (void)state;
    live_run(try_wake, load, unload);
    live_run(try_wake, load, unload);
}

/* What the ring has no room for is counted, and what it had room for comes. */
static bool try_full_ring(void)
{
    uint64_t begin = live_now_ns(), told = live_hides ? 3000 : 4000;
    struct ends_of e = {0};
    pid_t parent;

    assert_int_equal(programs_lost(programs), 0);
    parent = live_spawn(LIVE_STEPS("forks=4000"));
    e.parent_pid = (uint32_t)parent;
    assert_int_equal(live_reap(parent), 0);
    while (programs_lost(programs) == 0 && live_has_time(begin))
        ;
    assert_true(programs_lost(programs) > 0);
    do
        programs_drain(programs, count_end, &e);
    while (e.n + programs_lost(programs) < told && live_has_time(begin));
    assert_true(e.n > 1000 && e.n < 4000);
    assert_int_equal(e.malformed, 0);
    return e.n + programs_lost(programs) >= told;
}

/* And goes on as before. */
static bool try_after_a_full_ring(void)
{
    struct ends_of e = {.parent_pid = (uint32_t)getpid()};

    if (!try_full_ring())
        return false;
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    return await_ends(programs, &e, 1);
}

static void a_full_ring_loses_and_counts(void **state)
{
    (void)state;
    live_run(try_after_a_full_ring, load, unload);
}

/* A child whose end is told while a sweep asks about it. */
struct told_late {
    pid_t pid;
    bool told;
    unsigned asked, taken;
};

static bool reap_and_await(void *arg, const struct process_end *end)
{
    struct told_late *late = arg;
    struct ends_of e = {.parent_pid = (uint32_t)getpid()};

    if (end->task.head.pid != (uint32_t)late->pid)
        return false;
    late->asked++;
    live_reap(late->pid);
    late->told = await_ends(programs, &e, 1);
    assert_int_equal(e.n, late->told);
    return true;
}

static void count_taken(void *arg, const struct process_end *end)
{
    struct told_late *late = arg;

    assert_int_equal(end->task.head.pid, late->pid);
    late->taken++;
}

/* It counts once, by what came first. */
static bool try_told_while_swept(void)
{
    struct told_late late = {.pid = live_spawn(LIVE_STEPS("exit=0"))};
    struct programs_sweeper sweeper = {reap_and_await, count_taken, &late};
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)late.pid, &info, WEXITED | WNOWAIT), 0);
    programs_sweep(programs, live_now_ns(), live_now_ns(), &sweeper);
    assert_int_equal(late.asked, 1);
    assert_int_equal(late.taken, !late.told);
    return late.told;
}

static void told_while_it_is_swept(void **state)
{
    (void)state;
    live_run(try_told_while_swept, load, unload);
}

enum { RACES = 60, RACERS_AT_ONCE = 8 };

static bool is_racer(void *arg, const struct process_end *end)
{
    (void)arg;
    return end->task.head.kind == RECORD_PROCESS_END && end->parent_pid == (uint32_t)getpid();
}

static void count_racer(void *arg, const struct process_end *end)
{
    unsigned *taken = arg;

    assert_int_equal(end->parent_pid, getpid());
    ++*taken;
}

/* The kernel lets go of them after some milliseconds, at times just when this is over. */
static void run_race(int round)
{
    pid_t racers[RACERS_AT_ONCE];

    for (int i = 0; i < RACERS_AT_ONCE; i++)
        racers[i] = live_spawn(LIVE_STEPS("exit=0"));
    for (int i = 0; i < RACERS_AT_ONCE; i++)
        live_reap(racers[i]);
    poll(NULL, 0, round % 40);
}

/* While the kernel lets go of some, sweeps take all that have exited: each counts once. */
static void told_or_swept(void **state)
{
    struct ends_of told = {.parent_pid = (uint32_t)getpid()};
    unsigned taken = 0, all = RACES * RACERS_AT_ONCE;
    struct programs_sweeper sweeper = {is_racer, count_racer, &taken};
    uint64_t begin;

    (void)state;
    for (int i = 0; i < RACES; i++) {
        run_race(i);
        programs_sweep(programs, live_now_ns(), live_now_ns(), &sweeper);
        programs_drain(programs, count_end, &told);
    }
    begin = live_now_ns();
    do {
        programs_drain(programs, count_end, &told);
        programs_sweep(programs, live_now_ns(), live_now_ns(), &sweeper);
    } while (told.n + taken + programs_lost(programs) < all && live_has_time(begin));
    poll(NULL, 0, 100);
    programs_drain(programs, count_end, &told);
    print_message("%u taken, %u told\n", taken, (unsigned)told.n);
    assert_true(told.n + taken <= all);
    /* Others' ends come as well, and may be too many. */
    assert_true(told.n + taken + programs_lost(programs) >= all);
}

static void set_effective(uint32_t low, uint32_t high)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];

    assert_int_equal(syscall(SYS_capget, &head, caps), 0);
    caps[0].effective = low & caps[0].permitted;
    caps[1].effective = high & caps[1].permitted;
    assert_int_equal(syscall(SYS_capset, &head, caps), 0);
}

/* What is loaded stays, and whoever holds it may use it; but no other is loaded. */
static bool try_without_privilege(void)
{
    struct ends_of e = {(uint32_t)getpid(), 0, 0};
    enum programs_failure failure = PROGRAMS_NO_BTF;
    struct programs *other = NULL;
    int fd, r_resume, r_load;

    set_effective(0, 0);
    fd = programs_walk(programs);
    programs_pause(programs);
    r_resume = programs_resume(programs);
    r_load = programs_load(&other, &failure);
    set_effective(UINT32_MAX, UINT32_MAX);
    assert_true(fd >= 0);
    assert_int_equal(r_resume, 0);
    assert_true(r_load < 0);
    assert_int_equal(failure, PROGRAMS_DENIED);
    assert_int_equal(walk_for_own(fd, PROGRAMS_READ_SIZE), 1);
    live_reap(live_spawn(LIVE_STEPS("exit=0")));
    return await_ends(programs, &e, 1);
}

static void privilege_is_dropped(void **state)
{
    (void)state;
    live_need(kernel_is(5, 19), "takes CAP_BPF before 5.19");
    live_run(try_without_privilege, load, unload);
}

/* CAP_BPF and CAP_PERFMON are all that is needed. */
static void two_capabilities_do(void **state)
{
    enum programs_failure failure;
    struct programs *other = NULL;
    int r;

    (void)state;
    set_effective(0, UINT32_C(1) << (CAP_BPF - 32) | UINT32_C(1) << (CAP_PERFMON - 32));
    r = programs_load(&other, &failure);
    set_effective(UINT32_MAX, UINT32_MAX);
    assert_int_equal(r, 0);
    programs_free(other);
}

/* ---- control groups ---- */

/* Where version 2's are mounted and one can be made; it is removed again. */
struct hierarchy {
    char root[128];
    char made[sizeof("/proctally-test-XXXXXX") + 128];
};

static bool hierarchy_make(struct hierarchy *h)
{
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char line[4096], type[16];
    bool found = false;

    assert_non_null(mounts);
    while (!found && fgets(line, sizeof(line), mounts))
        found = sscanf(line, "%*s %127s %15s", h->root, type) == 2 && strcmp(type, "cgroup2") == 0;
    fclose(mounts);
    snprintf(h->made, sizeof(h->made), "%s/proctally-test-XXXXXX", h->root);
    return found && mkdtemp(h->made);
}

/* The record of one, as a drain tells of it. */
struct cgroup_of {
    const char *path;
    uint64_t id;
    unsigned n;
};

static void find_cgroup(void *arg, const void *bytes, size_t n)
{
    const struct cgroup_record *record = bytes;
    struct cgroup_of *c = arg;

    if (record->head.kind != RECORD_CGROUP || strcmp(record->path, c->path) != 0)
        return;
    assert_int_equal(n, offsetof(struct cgroup_record, path) + strlen(c->path) + 1);
    c->id = record->id;
    c->n++;
}

/* A control group's id is its folder's inode, on 64-bit machines. */
static void a_control_group_is_made(void **state)
{
    struct hierarchy h;
    struct cgroup_of c = {0};
    struct stat st;

    (void)state;
    live_need(live_is_first_namespace(), "the reader is in a namespace");
    live_need(hierarchy_make(&h), "no control group of version 2 can be made");
    c.path = h.made + strlen(h.root);
    assert_int_equal(stat(h.made, &st), 0);
    programs_drain(programs, find_cgroup, &c);
    programs_pause(programs);
    assert_int_equal(rmdir(h.made), 0);
    assert_int_equal(mkdir(h.made, 0700), 0);
    programs_drain(programs, find_cgroup, &c);
    assert_int_equal(rmdir(h.made), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.id, st.st_ino);
}

/* ---- builds ---- */

static int load_refused_once(int answer, struct programs **ret)
{
    enum programs_failure failure = PROGRAMS_NO_BTF;
    int r;

    n_asked = 0;
    first_answer = answer;
    r = programs_load(ret, &failure);
    first_answer = 0;
    if (r < 0)
        assert_int_equal(failure, r == -EPERM    ? PROGRAMS_DENIED
                                  : r == -ENOMEM ? PROGRAMS_NO_MEMORY
                                                 : PROGRAMS_REFUSED);
    return r;
}

/* Kernels before 6.2 are given one build alone, others another one first. */
static void a_refused_build_is_followed_by_the_plain_one(void **state)
{
    static const int answers[] = {-EINVAL, -EACCES, -E2BIG};
    unsigned before = live_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        bool again = kernel_is(6, 2);

        assert_int_equal(load_refused_once(answers[i], &programs), again ? 0 : answers[i]);
        assert_int_equal(n_asked, again ? 2 : 1);
        if (again)
            assert_int_equal(walk_for_own(walk(), PROGRAMS_READ_SIZE), 1);
        unload(NULL);
        assert_int_equal(live_descriptors(), before);
    }
}

/* libbpf asks whether the kernel maps them, and goes on if that fails. */
static void without_variables(void **state)
{
    enum programs_failure failure;
    unsigned before = live_descriptors();

    (void)state;
    maps_no_variables = true;
    assert_int_equal(programs_load(&programs, &failure), -ENOTSUP);
    maps_no_variables = false;
    assert_int_equal(failure, PROGRAMS_REFUSED);
    assert_int_equal(live_descriptors(), before);
}

/* Another build would fare no better. */
static void who_may_not_is_told_at_once(void **state)
{
    static const int answers[] = {-EPERM, -ENOMEM};
    unsigned before = live_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        assert_int_equal(load_refused_once(answers[i], &programs), answers[i]);
        assert_int_equal(n_asked, 1);
        assert_null(programs);
        assert_int_equal(live_descriptors(), before);
    }
}

static void nothing_is_left(void **state)
{
    unsigned before = live_descriptors();

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(load(NULL), 0);
        unload(NULL);
        assert_int_equal(live_descriptors(), before);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, load, unload)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_walk_reads_to_its_end),
        TEST(reads_end_between_records),
        TEST(two_walks_at_a_time),
        TEST(loaded_twice),
        TEST(paused_and_resumed),
        TEST(noted_before_a_pause),
        TEST(many_ends_wake_the_reader),
        TEST(a_full_ring_loses_and_counts),
        TEST(privilege_is_dropped),
        TEST(two_capabilities_do),
        TEST(told_while_it_is_swept),
        TEST(told_or_swept),
        TEST(a_control_group_is_made),
        cmocka_unit_test(nobody_is_freed),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(a_refused_build_is_followed_by_the_plain_one),
        cmocka_unit_test(who_may_not_is_told_at_once),
        cmocka_unit_test(without_variables),
    };

    int r;

    return live_refuses(argc, argv, &r) ? r : cmocka_run_group_tests(tests, NULL, NULL);
}
