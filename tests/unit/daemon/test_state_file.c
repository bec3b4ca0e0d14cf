/*
 * The state file: good ones, bad ones, and writers that are killed.
 *
 * Linked with --wrap of the allocators, to count the calls of a warm write.
 */
#include "daemon/state_file.h"

#include "chance.h"
#include "daemon/log.h"
#include "group/group_state.h"
#include "state_host.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static bool counting;
static size_t heap_calls;

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

/* What was logged since the last look, a line each. */
static struct {
    char text[16 * 1024];
    size_t n;
} logged;

static bool take_line(const struct log_entry *entry)
{
    if (entry->text.n + 2 > sizeof(logged.text) - logged.n)
        return true;
    memcpy(logged.text + logged.n, entry->text.p, entry->text.n);
    logged.n += entry->text.n;
    memcpy(logged.text + logged.n++, "\n", 2);
    return true;
}

/* Nothing but lines that begin like these was logged since the last look. */
static void check_logged(const char *first, const char *second)
{
    const char *const expected[] = {first, second};
    const char *line = logged.text;

    logged.text[logged.n] = '\0';
    for (size_t i = 0; i < 2 && expected[i]; i++) {
        if (strncmp(line, expected[i], strlen(expected[i])) != 0)
            fail_msg("\"%s\" instead of \"%s\"", line, expected[i]);
        line += strcspn(line, "\n") + 1;
    }
    assert_string_equal(line, "");
    logged.n = 0;
}

static void forget_logged(void)
{
    logged.n = 0;
}

static size_t read_file(const char *path, char *p, size_t max)
{
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    n = fread(p, 1, max, f);
    fclose(f);
    return n;
}

static void write_file(const char *path, const char *p, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void test_resumes(void **state)
{
    struct host_fixture h;
    struct stat st;

    (void)state;
    setup(&h);
    leave_state(&h);
    assert_int_equal(stat(h.file, &st), 0);
    assert_int_equal(st.st_mode & ALLPERMS, 0600);
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1300);
    HOST_PUT(&h.tree, .pid = 43, .comm = "web", .start = 51, .user_ticks = 7);
    HOST_PUT(&h.tree, .pid = 44, .comm = "web", .start = 49, .user_ticks = 500);
    start(&h);
    run(&h);
    assert_int_equal(cpu(&h, "web"), 57);
    run(&h);
    assert_int_equal(cpu(&h, "web"), 57);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 57);
    teardown(&h);
}

/* The host's counters do not fall over a restart either. */
static void test_host_goes_on(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h);
    leave_state(&h);
    tree_text(&h.tree, "stat", "cpu  1000 20 300 40000 49 6 7 8 100 10\nctxt 6990\n");
    start(&h);
    run(&h);
    assert_int_equal(h.snapshot.host.field[HOST_CONTEXT_SWITCHES], 7000);
    assert_int_equal(h.snapshot.host.cpu.ns[CPU_IOWAIT], SECOND / 2);
    stop(&h);
    boot(&h, "another\n");
    start(&h);
    run(&h);
    assert_int_equal(h.snapshot.host.field[HOST_CONTEXT_SWITCHES], 6990);
    stop(&h);
    teardown(&h);
}

static void settle(struct host_fixture *h)
{
    while (cycle_between(&h->cycle, h->now.monotonic_ns) != UINT64_MAX)
        usleep(100);
}

/* Who is pending when the daemon ends is in no total, and is counted whole by the next one. */
static void test_pending_over_a_restart(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h);
    HOST_PUT(&h.tree, .pid = 40, .comm = "app", .start = 20, .user_ticks = 500);
    tree_pid(&h.tree, 40, "cmdline", "app -n old");
    start(&h);
    run(&h);
    settle(&h);
    run(&h);
    assert_int_equal(cpu(&h, "app-old"), 0);
    HOST_PUT(&h.tree, .pid = 41, .comm = "app", .start = 60, .user_ticks = 30);
    tree_pid(&h.tree, 41, "cmdline", "app -n new");
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 61, .user_ticks = 7);
    run(&h);
    assert_int_equal(h.snapshot.self.pending_processes, 1);
    stop(&h);
    HOST_PUT(&h.tree, .pid = 40, .comm = "app", .start = 20, .user_ticks = 550);
    HOST_PUT(&h.tree, .pid = 41, .comm = "app", .start = 60, .user_ticks = 40);
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 61, .user_ticks = 9);
    start(&h);
    run(&h);
    settle(&h);
    run(&h);
    settle(&h);
    run(&h);
    assert_int_equal(cpu(&h, "app-new"), 40);
    assert_int_equal(cpu(&h, "app-old"), 0);
    assert_int_equal(cpu(&h, "web"), 7);
    stop(&h);
    /* And not a second time. */
    start(&h);
    run(&h);
    settle(&h);
    run(&h);
    assert_int_equal(cpu(&h, "app-new"), 40);
    stop(&h);
    teardown(&h);
}

/* A counter that is wanted no more is dropped, and begins at 0 when it is wanted again. */
static void test_other_counters_wanted(void **state)
{
    struct host_fixture h;
    struct cycle_settings settings = {.groups_max = 1000, .groups_forget_ns = 3600 * SECOND};

    (void)state;
    setup(&h);
    leave_state(&h);
    assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
    state_file_open(&h.state, h.file, &h.cycle);
    rules_init(&settings.rules);
    selection_default(&settings.families);
    selection_exclude(&settings.families, SPAN_LITERAL("proctally_group_cpu_seconds_total"));
    assert_int_equal(cycle_configure(&h.cycle, &settings), 0);
    h.sequence = 0;
    run(&h);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 0);
    teardown(&h);
}

static void test_of_another_origin(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h);
    leave_state(&h);
    boot(&h, "6d3d5df4-31e1-4a44-8b0c-0c0ffeec0fff\n");
    assert_int_equal(cpu_of_next(&h), 0);
    leave_state(&h);
    HOST_PUT(&h.tree, .pid = 1, .comm = "init", .start = 4);
    assert_int_equal(cpu_of_next(&h), 0);
    /* Back again it is too late: the file is about another one by now. */
    leave_state(&h);
    boot(&h, "other\n");
    assert_int_equal(cpu_of_next(&h), 0);
    assert_int_equal(unlink(tree_path(&h.tree, "sys/kernel/random/boot_id")), 0);
    start(&h);
    assert_int_equal(h.state.fd, -1);
    run(&h);
    stop(&h);
    teardown(&h);
}

/* A right state in all but its time, which the kernel's own clock tells. */
static void test_of_time_to_come(void **state)
{
    struct cycle_time now = {.monotonic_ns = SECOND, .boottime_ns = 5000 * SECOND};
    struct group_state future = {.first_tick = 500002};
    struct groups groups;
    struct table table;
    struct cycle cycle;
    struct buf bytes;
    uint32_t group;

    (void)state;
    table_init(&table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&groups, GROUPS_FIRST_AT_ZERO);
    assert_int_equal(groups_restore(&groups, SPAN_LITERAL("web"), &group), 0);
    for (int i = 0; i < 2; i++) {
        future.first_tick -= (uint64_t)i;
        buf_init(&bytes, 1 << 20);
        host_marks_encode(&(struct host_marks){0}, &bytes);
        group_state_encode(&groups, &table, &future, &bytes);
        assert_int_equal(cycle_open(&cycle, CYCLE_DAEMON, "/proc", &now), 0);
        assert_int_equal(cycle_resume(&cycle, buf_span(&bytes)), i == 0 ? -ERANGE : 0);
        assert_int_equal(cycle.groups.n_order, i);
        cycle_close(&cycle);
        buf_deinit(&bytes);
    }
    groups_deinit(&groups);
}

enum { FILE_MAX = 64 * 1024 };

/* The next place to try in a file whose blocks begin with a head, or a record of this length. */
static size_t next_place(size_t i, uint64_t length)
{
    return i + (i % STATE_FILE_BLOCK <= length ? 1 : 17);
}

static void test_every_byte_flipped(void **state)
{
    static char good[FILE_MAX];
    struct host_fixture h;
    struct state_file after;
    size_t n, resumed = 0;

    (void)state;
    setup(&h);
    leave_state(&h);
    n = read_file(h.file, good, sizeof(good));
    assert_true(n < sizeof(good));
    start(&h);
    after = h.state;
    stop(&h);
    for (size_t i = 0; i < n; i = next_place(i, after.length)) {
        bool in_effect = i < 128 || (i >= after.offset && i < after.offset + after.length);

        good[i] ^= (char)(1 << i % 8);
        write_file(h.file, good, n);
        good[i] ^= (char)(1 << i % 8);
        assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
        state_file_open(&h.state, h.file, &h.cycle);
        assert_true(h.state.fd >= 0);
        assert_int_equal(h.cycle.groups.n_order, in_effect ? 0 : 2);
        resumed += !in_effect;
        stop(&h);
    }
    /* The record that was in effect before was there to be flipped. */
    assert_true(resumed > after.length / 2);
    teardown(&h);
}

static void test_every_truncation(void **state)
{
    static char good[FILE_MAX];
    struct host_fixture h;
    uint64_t length, end;
    size_t n;

    (void)state;
    setup(&h);
    leave_state(&h);
    n = read_file(h.file, good, sizeof(good));
    start(&h);
    length = h.state.length;
    end = h.state.offset + length;
    stop(&h);
    for (size_t i = 0; i <= n; i = next_place(i, length)) {
        write_file(h.file, good, i);
        assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
        state_file_open(&h.state, h.file, &h.cycle);
        assert_int_equal(h.cycle.groups.n_order, i < end ? 0 : 2);
        stop(&h);
    }
    teardown(&h);
}

/* Of a version to come the first lines of the head are known, and not even where its checksum is.
 */
static void test_newer_version(void **state)
{
    struct host_fixture h;
    char bytes[128];
    uint32_t version;
    FILE *f;

    (void)state;
    setup(&h);
    for (int i = 0; i < 3; i++) {
        leave_state(&h);
        assert_int_equal(read_file(h.file, bytes, sizeof(bytes)), sizeof(bytes));
        memcpy(&version, bytes + 16, sizeof(version));
        version = i == 0 ? version + 1 : i == 1 ? UINT32_MAX : 0;
        f = fopen(h.file, "r+");
        assert_non_null(f);
        assert_int_equal(fseek(f, 16, SEEK_SET), 0);
        assert_int_equal(fwrite(&version, sizeof(version), 1, f), 1);
        assert_int_equal(fclose(f), 0);
        forget_logged();
        start(&h);
        logged.text[logged.n] = '\0';
        assert_non_null(strstr(logged.text, i < 2 ? " reason=\"written by a newer version\"\n"
                                                  : " reason=damaged\n"));
        run(&h);
        assert_int_equal(cpu(&h, "web"), 0);
        stop(&h);
    }
    teardown(&h);
}

/* Whatever was in the file, the next state in it is good. */
static void check_replaced(struct host_fixture *h)
{
    assert_int_equal(cpu_of_next(h), 0);
    leave_state(h);
    assert_int_equal(cpu_of_next(h), 50);
}

static void test_other_content(void **state)
{
    static char bytes[FILE_MAX];
    struct host_fixture h;

    (void)state;
    setup(&h);
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1000);
    write_file(h.file, "", 0);
    check_replaced(&h);
    memset(bytes, 0xff, sizeof(bytes));
    write_file(h.file, bytes, sizeof(bytes));
    check_replaced(&h);
    memset(bytes, 0, sizeof(bytes));
    write_file(h.file, bytes, sizeof(bytes));
    check_replaced(&h);
    write_file(h.file, "hello\n", 6);
    check_replaced(&h);
    assert_int_equal(truncate(h.file, (off_t)1 << 40), 0);
    assert_int_equal(cpu_of_next(&h), 50);
    teardown(&h);
}

static void test_files_not_to_be_used(void **state)
{
    struct host_fixture h;
    char other[600];

    (void)state;
    setup(&h);
    leave_state(&h);
    snprintf(other, sizeof(other), "%s.other", h.file);
#define CHECK_REFUSED(path)                  \
    do {                                     \
        start_with(&h, path);                \
        assert_int_equal(h.state.fd, -1);    \
        run(&h);                             \
        assert_int_equal(cpu(&h, "web"), 0); \
        stop(&h);                            \
    } while (0)
    assert_int_equal(symlink(h.file, other), 0);
    CHECK_REFUSED(other);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(other, 0600), 0);
    CHECK_REFUSED(other);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(link(h.file, other), 0);
    CHECK_REFUSED(other);
    assert_int_equal(unlink(other), 0);
    CHECK_REFUSED(h.tree.root);
    CHECK_REFUSED("/dev/null");
    CHECK_REFUSED("/nowhere/at/all");
    CHECK_REFUSED("");
    if (geteuid() == 0) {
        assert_int_equal(chown(h.file, 12345, 0), 0);
        CHECK_REFUSED(h.file);
        assert_int_equal(chown(h.file, 0, 0), 0);
    }
    assert_int_equal(chmod(h.file, 0666), 0);
    assert_int_equal(cpu_of_next(&h), 50);
    teardown(&h);
}

/* A directory that is no certain place is none to write to. */
static void test_odd_runtime_directory(void **state)
{
    static const char *const odd[] = {"state", "./x", ":/tmp", "..", "/tmp/..", "/tmp/../x", "/.."};
    struct host_fixture h;

    (void)state;
    setup(&h);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        setenv("RUNTIME_DIRECTORY", odd[i], 1);
        forget_logged();
        start_with(&h, "$RUNTIME_DIRECTORY/state");
        check_logged("no state is kept: $RUNTIME_DIRECTORY is not to be used directory=", NULL);
        assert_null(h.state.path);
        HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50);
        run(&h);
        stop(&h);
    }
    setenv("RUNTIME_DIRECTORY", "/tmp/..x/y..", 1);
    start_with(&h, "$RUNTIME_DIRECTORY/state");
    assert_string_equal(h.state.path, "/tmp/..x/y../state");
    stop(&h);
    unsetenv("RUNTIME_DIRECTORY");
    teardown(&h);
}

static void test_runtime_directory(void **state)
{
    struct host_fixture h;
    char list[600];

    (void)state;
    setup(&h);
    leave_state(&h);
    unsetenv("RUNTIME_DIRECTORY");
    CHECK_REFUSED("$RUNTIME_DIRECTORY/state");
    setenv("RUNTIME_DIRECTORY", "", 1);
    CHECK_REFUSED("$RUNTIME_DIRECTORY/state");
    setenv("RUNTIME_DIRECTORY", h.tree.root, 1);
    start_with(&h, "$RUNTIME_DIRECTORY/state");
    assert_string_equal(h.state.path, h.file);
    run(&h);
    assert_int_equal(cpu(&h, "web"), 50);
    stop(&h);
    snprintf(list, sizeof(list), "%s:/other:/third", h.tree.root);
    setenv("RUNTIME_DIRECTORY", list, 1);
    start_with(&h, "$RUNTIME_DIRECTORY/state");
    assert_string_equal(h.state.path, h.file);
    stop(&h);
    unsetenv("RUNTIME_DIRECTORY");
    teardown(&h);
}

static void test_one_daemon_alone(void **state)
{
    struct host_fixture h, other;

    (void)state;
    setup(&h);
    leave_state(&h);
    start(&h);
    other = h;
    start(&other);
    assert_int_equal(other.state.fd, -1);
    run(&other);
    assert_int_equal(cpu(&other, "web"), 0);
    stop(&other);
    run(&h);
    assert_int_equal(cpu(&h, "web"), 50);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    teardown(&h);
}

/* Who had to begin beside another has the file once that one is gone. */
static void test_takes_over(void **state)
{
    struct host_fixture h, other;

    (void)state;
    setup(&h);
    leave_state(&h);
    start(&h);
    run(&h);
    other = h;
    forget_logged();
    start(&other);
    run(&other);
    run(&other);
    check_logged("no state is kept while another daemon uses the file ", NULL);
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1057);
    run(&other);
    run(&h);
    assert_int_equal(cpu(&h, "web"), 57);
    stop(&h);
    forget_logged();
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1060);
    for (int i = 0; i < 40; i++)
        run(&other);
    check_logged("the state is kept from now on ", NULL);
    assert_int_equal(cpu(&other, "web"), 10);
    stop(&other);
    assert_int_equal(cpu_of_next(&h), 10);
    teardown(&h);
}

/* Takes the file away in some way, and brings its place back if that went with it. */
enum loss { LOSS_UNLINK, LOSS_RENAME, LOSS_REPLACE, LOSS_DIRECTORY, LOSS_N };

static void lose(struct host_fixture *h, const char *directory, enum loss loss, unsigned n)
{
    char other[600];

    snprintf(other, sizeof(other), "%s.%u", loss == LOSS_DIRECTORY ? directory : h->file, n);
    switch (loss) {
    case LOSS_UNLINK:
        assert_int_equal(unlink(h->file), 0);
        break;
    case LOSS_RENAME:
        assert_int_equal(rename(h->file, other), 0);
        break;
    case LOSS_REPLACE:
        write_file(other, "hello", 5);
        assert_int_equal(rename(other, h->file), 0);
        break;
    default:
        assert_int_equal(rename(directory, other), 0);
        assert_int_equal(mkdir(directory, 0700), 0);
        break;
    }
}

static void test_lost_file_is_made_anew(void **state)
{
    struct host_fixture h;
    char directory[600];

    (void)state;
    setup(&h);
    snprintf(directory, sizeof(directory), "%s/run", h.tree.root);
    assert_int_equal(mkdir(directory, 0700), 0);
    snprintf(h.file, sizeof(h.file), "%s/run/state", h.tree.root);
    for (enum loss loss = 0; loss < LOSS_N; loss++) {
        leave_state(&h);
        start(&h);
        run(&h);
        forget_logged();
        /* Said once, however often it happens in a row. */
        for (unsigned i = 0; i < 3; i++) {
            lose(&h, directory, loss, 10 * loss + i);
            HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1060 + i);
            run(&h);
            run(&h);
        }
        check_logged("the state file was removed or replaced, it is made anew ", NULL);
        assert_int_equal(cpu(&h, "web"), 62);
        for (int i = 0; i < 20; i++)
            run(&h);
        check_logged(NULL, NULL);
        lose(&h, directory, loss, 10 * loss + 9);
        run(&h);
        check_logged("the state file was removed or replaced, it is made anew ", NULL);
        stop(&h);
        assert_int_equal(cpu_of_next(&h), 62);
        HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1000);
        assert_int_equal(unlink(h.file), 0);
    }
    teardown(&h);
}

/* As long as there is no directory there is no file; each of these is said once. */
static void test_lost_directory_comes_back(void **state)
{
    struct host_fixture h;
    char directory[600], other[610];

    (void)state;
    setup(&h);
    snprintf(directory, sizeof(directory), "%s/run", h.tree.root);
    snprintf(other, sizeof(other), "%s.other", directory);
    assert_int_equal(mkdir(directory, 0700), 0);
    snprintf(h.file, sizeof(h.file), "%s/run/state", h.tree.root);
    leave_state(&h);
    start(&h);
    run(&h);
    forget_logged();
    assert_int_equal(rename(directory, other), 0);
    HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1060);
    for (int i = 0; i < 3; i++)
        run(&h);
    check_logged("the state file was removed or replaced, it is made anew ",
                 "no state is kept: the file cannot be used ");
    assert_int_equal(mkdir(directory, 0700), 0);
    for (int i = 0; i < 3; i++)
        run(&h);
    check_logged("the state is kept from now on ", NULL);
    assert_int_equal(cpu(&h, "web"), 60);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 60);
    /* The one that was away is older than what was shown. */
    snprintf(h.file, sizeof(h.file), "%s/run.other/state", h.tree.root);
    assert_int_equal(cpu_of_next(&h), 0);
    teardown(&h);
}

/* States that grow and shrink never touch the one in effect. */
static void test_growth(void **state)
{
    struct chance chance = chance_of_test();
    struct host_fixture h;
    struct stat st;

    (void)state;
    setup(&h);
    leave_state(&h);
    start(&h);
    for (unsigned i = 0; i < 300; i++) {
        uint64_t offset = h.state.offset, length = h.state.length;
        unsigned n = 1 + (unsigned)chance_below(&chance, i % 7 == 0 ? 400 : 20);
        char label[SAMPLE_COMM_MAX];
        uint32_t group;

        for (unsigned k = 0; k < n; k++) {
            snprintf(label, sizeof(label), "%u-%u", i, k);
            if (h.cycle.groups.n_order < 20 * i + 10)
                assert_int_equal(groups_restore(&h.cycle.groups, span_from_str(label), &group), 0);
        }
        state_file_write(&h.state, &h.cycle);
        assert_false(h.state.failing);
        assert_true(h.state.offset >= offset + length || h.state.offset + h.state.length <= offset);
        assert_true(h.state.offset >= STATE_FILE_BLOCK);
        assert_int_equal(h.state.offset % STATE_FILE_BLOCK, 0);
    }
    assert_int_equal(stat(h.file, &st), 0);
    assert_true((uint64_t)st.st_size < 4 * h.state.length);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    teardown(&h);
}

/* A write that fails leaves no older state behind; one that succeeds later does. */
static void check_full(struct host_fixture *h)
{
    uint32_t group;

    start(h);
    run(h);
    assert_int_equal(cpu(h, "web"), 50);
    for (unsigned i = 0; i < 300; i++) {
        char label[SAMPLE_COMM_MAX];

        snprintf(label, sizeof(label), "g%u", i);
        assert_int_equal(groups_restore(&h->cycle.groups, span_from_str(label), &group), 0);
    }
    state_file_write(&h->state, &h->cycle);
    assert_true(h->state.failing);
    run(h);
    assert_true(h->state.failing);
    stop(h);
}

static void test_file_size_limit(void **state)
{
    struct rlimit unlimited, limit;
    struct host_fixture h;

    (void)state;
    setup(&h);
    leave_state(&h);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limit = unlimited;
    limit.rlim_cur = 16384;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_full(&h);
    assert_int_equal(cpu_of_next(&h), 0);
    leave_state(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    signal(SIGXFSZ, SIG_DFL);
    teardown(&h);
}

static void test_no_space(void **state)
{
    struct host_fixture h;
    char directory[300];

    (void)state;
    setup(&h);
    snprintf(directory, sizeof(directory), "%s/full", h.tree.root);
    assert_int_equal(mkdir(directory, 0700), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("state", directory, "tmpfs", 0, "size=20k") < 0) {
        teardown(&h);
        skip();
    }
    snprintf(h.file, sizeof(h.file), "%s/state", directory);
    leave_state(&h);
    check_full(&h);
    assert_int_equal(cpu_of_next(&h), 0);
    leave_state(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    assert_int_equal(umount(directory), 0);
    teardown(&h);
}

/* Where one record fits and two do not, there is no state in the file, at no time. */
static void test_room_for_one(void **state)
{
    struct host_fixture h;
    char directory[300], bytes[128];

    (void)state;
    setup(&h);
    snprintf(directory, sizeof(directory), "%s/full", h.tree.root);
    assert_int_equal(mkdir(directory, 0700), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("state", directory, "tmpfs", 0, "size=8k") < 0) {
        teardown(&h);
        skip();
    }
    snprintf(h.file, sizeof(h.file), "%s/state", directory);
    start(&h);
    forget_logged();
    for (uint64_t i = 0; i < 40; i++) {
        HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1000 + i);
        run(&h);
        assert_true(h.state.failing);
        assert_in_range(h.state.record.len, 1, STATE_FILE_BLOCK);
        for (size_t k = read_file(h.file, bytes, sizeof(bytes)); k > 0; k--)
            assert_int_equal(bytes[k - 1], 0);
    }
    check_logged("the state cannot be written: a restart would begin at 0 ", NULL);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 0);
    start(&h);
    run(&h);
    assert_int_equal(mount("state", directory, "tmpfs", MS_REMOUNT, "size=12k"), 0);
    forget_logged();
    for (uint64_t i = 0; i < 40; i++) {
        HOST_PUT(&h.tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1039 + i);
        run(&h);
    }
    check_logged("the state is written again ", NULL);
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 39);
    assert_int_equal(umount(directory), 0);
    teardown(&h);
}

/* A file system that reserves no room: the C library writes it full instead. */
static void test_no_reservations(void **state)
{
    struct host_fixture h;
    char directory[300];

    (void)state;
    setup(&h);
    snprintf(directory, sizeof(directory), "%s/plain", h.tree.root);
    assert_int_equal(mkdir(directory, 0700), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("state", directory, "ramfs", 0, NULL) < 0) {
        teardown(&h);
        skip();
    }
    snprintf(h.file, sizeof(h.file), "%s/state", directory);
    leave_state(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    start(&h);
    for (int i = 0; i < 20; i++) {
        h.state.reserved = 0;
        run(&h);
        assert_false(h.state.failing);
    }
    stop(&h);
    assert_int_equal(cpu_of_next(&h), 50);
    assert_int_equal(umount(directory), 0);
    teardown(&h);
}

static void test_warm_writes_allocate_nothing(void **state)
{
    struct host_fixture h;

    (void)state;
    setup(&h);
    leave_state(&h);
    start(&h);
    for (int i = 0; i < 300; i++) {
        counting = i >= 10;
        state_file_write(&h.state, &h.cycle);
    }
    counting = false;
    assert_int_equal(heap_calls, 0);
    stop(&h);
    teardown(&h);
}

static bool has_group(const struct groups *g, struct span name)
{
    for (size_t i = 0; i < g->n_order; i++)
        if (span_equal(group_name(g, g->order[i]), name))
            return true;
    return false;
}

/* Writes states as fast as it can; what was written is acknowledged. Groups come and go. */
static _Noreturn void write_forever(struct host_fixture *h, volatile uint64_t *acknowledged)
{
    uint64_t n = *acknowledged;
    uint32_t group;

    start(h);
    for (unsigned i = 0; i < 400; i++) {
        char label[SAMPLE_COMM_MAX];

        snprintf(label, sizeof(label), "g%u", i);
        if (!has_group(&h->cycle.groups, span_from_str(label)))
            groups_restore(&h->cycle.groups, span_from_str(label), &group);
    }
    for (size_t all = h->cycle.groups.n_order;;) {
        n++;
        for (size_t i = 0; i < h->cycle.groups.n_groups; i++)
            h->cycle.groups.groups[i].total[COUNTER_CPU_USER_NS] = n;
        h->cycle.groups.n_order = 1 + n * 37 % all;
        state_file_write(&h->state, &h->cycle);
        if (h->state.failing)
            _exit(1);
        *acknowledged = n;
    }
}

static void test_killed_writers(void **state)
{
    volatile uint64_t *acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct chance chance = chance_of_test();
    struct host_fixture h;

    (void)state;
    assert_true(acknowledged != MAP_FAILED);
    setup(&h);
    for (int i = 0; i < 150; i++) {
        uint64_t n, before = *acknowledged;
        pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0)
            write_forever(&h, acknowledged);
        while (*acknowledged == before && waitpid(child, &status, WNOHANG) == 0)
            usleep(100);
        usleep((useconds_t)chance_below(&chance, 3000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(cycle_open(&h.cycle, CYCLE_DAEMON, h.tree.root, &h.now), 0);
        state_file_open(&h.state, h.file, &h.cycle);
        assert_true(h.cycle.groups.n_order > 0);
        n = h.cycle.groups.groups[0].total[COUNTER_CPU_USER_NS];
        assert_in_range(n, *acknowledged, *acknowledged + 1);
        for (size_t k = 0; k < h.cycle.groups.n_groups; k++)
            assert_int_equal(h.cycle.groups.groups[k].total[COUNTER_CPU_USER_NS], n);
        *acknowledged = n;
        stop(&h);
    }
    munmap((void *)acknowledged, sizeof(*acknowledged));
    teardown(&h);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumes),
        cmocka_unit_test(test_pending_over_a_restart),
        cmocka_unit_test(test_host_goes_on),
        cmocka_unit_test(test_other_counters_wanted),
        cmocka_unit_test(test_of_another_origin),
        cmocka_unit_test(test_of_time_to_come),
        cmocka_unit_test(test_newer_version),
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_other_content),
        cmocka_unit_test(test_files_not_to_be_used),
        cmocka_unit_test(test_runtime_directory),
        cmocka_unit_test(test_odd_runtime_directory),
        cmocka_unit_test(test_one_daemon_alone),
        cmocka_unit_test(test_takes_over),
        cmocka_unit_test(test_lost_file_is_made_anew),
        cmocka_unit_test(test_lost_directory_comes_back),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_room_for_one),
        cmocka_unit_test(test_no_reservations),
        cmocka_unit_test(test_warm_writes_allocate_nothing),
        cmocka_unit_test(test_killed_writers),
    };

    log_init(STDERR_FILENO, NULL);
    log_set_sink(take_line);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
