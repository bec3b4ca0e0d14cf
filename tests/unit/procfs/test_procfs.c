/* Opening a root, listing it, and reading files that resist. */
#include "procfs/procfs.h"

#include "inject.h"
#include "tree.h"

static void opening(void **state)
{
    struct procfs fs = {.root = -1}, untouched = fs;
    struct tree t;

    (void)state;
    tree_new(&t);
    tree_text(&t, "file", "");
    assert_int_equal(procfs_open(&fs, "/nowhere/at/all", 100, 4096), -ENOENT);
    assert_int_equal(procfs_open(&fs, tree_path(&t, "file"), 100, 4096), -ENOTDIR);
    assert_memory_equal(&fs, &untouched, sizeof(fs));
    assert_int_equal(procfs_open(&fs, t.root, 250, 65536), 0);
    assert_int_equal(fs.ticks_per_second, 250);
    assert_int_equal(fs.page_size, 65536);
    assert_false(fs.live);
    procfs_close(&fs);
    procfs_close(&fs);
    tree_free(&t);
}

static void names_of_pids(void **state)
{
    static const char *const bad[] = {
        "",     "0",     "007",  "+5",   "-5",         " 12",        "12 ",
        "12a",  "1.5",   "5 ",   "self", "2147483648", "4294967297", "99999999999999999999",
        "\xff", "1\xff", "0x10",
    };
    uint32_t pid = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(procfs_parse_pid(bad[i], &pid));
    assert_int_equal(pid, 7);
    assert_true(procfs_parse_pid("1", &pid));
    assert_int_equal(pid, 1);
    assert_true(procfs_parse_pid("4194304", &pid));
    assert_int_equal(pid, 4194304);
    assert_true(procfs_parse_pid("2147483647", &pid));
    assert_int_equal(pid, INT32_MAX);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void odd_names_in_the_root(void **state)
{
    static const char *const dirs[] = {
        "1",   "4242", "4194303", "7",     "2147483647", "2147483648", "99999999999999999999",
        "007", "+5",   "-5",      "0",     " 12",        "12a",        "1.5",
        "5 ",  "irq",  "fs",      "a\xff",
    };
    static const uint32_t expected[] = {1, 7, 4242, 4194303, 2147483647};
    const uint32_t *pids;
    uint32_t sorted[5];
    struct procfs fs;
    struct tree t;
    size_t n;

    (void)state;
    tree_new(&t);
    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
        tree_dir(&t, dirs[i]);
    tree_link(&t, "self", "4242");
    tree_link(&t, "556", "4242");
    tree_text(&t, "555", "");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    for (int cycle = 0; cycle < 2; cycle++) {
        assert_int_equal(procfs_list(&fs, &pids, &n), 0);
        assert_int_equal(n, 5);
        memcpy(sorted, pids, sizeof(sorted));
        qsort(sorted, n, sizeof(*sorted), by_value);
        assert_memory_equal(sorted, expected, sizeof(expected));
    }
    procfs_close(&fs);
    tree_free(&t);
}

static void a_long_list(void **state)
{
    enum { MANY = 3000 };
    const uint32_t *pids;
    struct procfs fs;
    struct tree t;
    uint64_t sum = 0;
    char name[16];
    size_t n;

    (void)state;
    tree_new(&t);
    for (int i = 1; i <= MANY; i++) {
        snprintf(name, sizeof(name), "%d", i);
        tree_dir(&t, name);
    }
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(procfs_list(&fs, &pids, &n), 0);
    assert_int_equal(n, MANY);
    for (size_t i = 0; i < n; i++)
        sum += pids[i];
    assert_int_equal(sum, (uint64_t)MANY * (MANY + 1) / 2);
    procfs_close(&fs);
    tree_free(&t);
}

static void no_list(void **state)
{
    const uint32_t *pids = NULL;
    struct procfs fs;
    struct tree t;
    size_t n = 7;

    (void)state;
    tree_new(&t);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(procfs_list(&fs, &pids, &n), -ENODATA);
    tree_dir(&t, "1");
    inject_getdents = (struct inject){t.root, EIO, 0, 1};
    assert_int_equal(procfs_list(&fs, &pids, &n), -EIO);
    assert_int_equal(inject_getdents.times, 0);
    assert_null(pids);
    assert_int_equal(n, 7);
    inject_getdents = (struct inject){t.root, EINTR, 0, 3};
    assert_int_equal(procfs_list(&fs, &pids, &n), 0);
    assert_int_equal(inject_getdents.times, 0);
    assert_int_equal(n, 1);
    procfs_close(&fs);
    tree_free(&t);
}

static void files_and_their_ends(void **state)
{
    static char big[PROCFS_TEXT_MAX + 1];
    struct procfs fs;
    struct span text;
    struct tree t;

    (void)state;
    tree_new(&t);
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (char)('a' + i % 26);
    tree_text(&t, "empty", "");
    tree_text(&t, "short", "one\ntwo\n");
    tree_write(&t, "nul", "a\0b", 3);
    tree_write(&t, "big", big, sizeof(big));
    tree_write(&t, "most", big, sizeof(big) - 1);
    tree_dir(&t, "dir");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(procfs_read(&fs, fs.root, "most", PROCFS_WHOLE, PROCFS_TEXT_MAX, &text), 0);
    check_span_at(text, big, PROCFS_TEXT_MAX, __FILE__, __LINE__);
    assert_int_equal(procfs_read(&fs, fs.root, "short", PROCFS_WHOLE, 100, &text), 0);
    check_span(text, "one\ntwo\n");
    /* Older, longer text lies behind the end, parted by a NUL. */
    assert_int_equal(text.p[text.n], '\0');
    assert_int_equal(text.p[text.n + 1], big[text.n + 1]);
    assert_int_equal(procfs_read(&fs, fs.root, "empty", PROCFS_WHOLE, 100, &text), 0);
    assert_int_equal(text.n, 0);
    assert_int_equal(procfs_read(&fs, fs.root, "nul", PROCFS_WHOLE, 100, &text), 0);
    check_span(text, "a\0b");
    assert_int_equal(procfs_read(&fs, fs.root, "short", PROCFS_WHOLE, 8, &text), 0);
    assert_int_equal(procfs_read(&fs, fs.root, "short", PROCFS_WHOLE, 7, &text), -EFBIG);
    assert_int_equal(procfs_read(&fs, fs.root, "short", PROCFS_HEAD, 7, &text), 0);
    check_span(text, "one\ntwo");
    assert_int_equal(procfs_read(&fs, fs.root, "big", PROCFS_WHOLE, PROCFS_TEXT_MAX, &text),
                     -EFBIG);
    assert_int_equal(procfs_read(&fs, fs.root, "dir", PROCFS_WHOLE, 100, &text), -EISDIR);
    assert_int_equal(procfs_read(&fs, fs.root, "none", PROCFS_WHOLE, 100, &text), -ENOENT);
    procfs_close(&fs);
    tree_free(&t);
}

static void short_reads_and_signals(void **state)
{
    struct procfs fs;
    struct span text;
    struct tree t;

    (void)state;
    tree_new(&t);
    tree_text(&t, "f", "one\ntwo\nthree\n");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    inject_read = (struct inject){"/f", EINTR, 0, 3};
    assert_int_equal(procfs_read(&fs, fs.root, "f", PROCFS_WHOLE, 100, &text), 0);
    check_span(text, "one\ntwo\nthree\n");
    assert_int_equal(inject_read.times, 0);
    inject_read = (struct inject){"/f", 0, 4, 3};
    assert_int_equal(procfs_read(&fs, fs.root, "f", PROCFS_WHOLE, 100, &text), 0);
    check_span(text, "one\ntwo\nthree\n");
    assert_int_equal(inject_read.times, 0);
    /* A record's first short read that ends a line is all of it; one that does not is not. */
    inject_read_calls = 0;
    assert_int_equal(procfs_read(&fs, fs.root, "f", PROCFS_RECORD, 100, &text), 0);
    check_span(text, "one\ntwo\nthree\n");
    assert_int_equal(inject_read_calls, 1);
    inject_read = (struct inject){"/f", 0, 5, 1};
    assert_int_equal(procfs_read(&fs, fs.root, "f", PROCFS_RECORD, 100, &text), 0);
    check_span(text, "one\ntwo\nthree\n");
    inject_read = (struct inject){"/f", EIO, 0, 1};
    assert_int_equal(procfs_read(&fs, fs.root, "f", PROCFS_WHOLE, 100, &text), -EIO);
    procfs_close(&fs);
    tree_free(&t);
}

static void a_fifo_never_hangs(void **state)
{
    struct procfs fs;
    struct span text;
    struct tree t;
    int writer;

    (void)state;
    tree_new(&t);
    assert_int_equal(mkfifo(tree_path(&t, "fifo"), 0644), 0);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    alarm(20);
    assert_int_equal(procfs_read(&fs, fs.root, "fifo", PROCFS_WHOLE, 100, &text), 0);
    assert_int_equal(text.n, 0);
    writer = open(tree_path(&t, "fifo"), O_RDWR);
    assert_int_equal(procfs_read(&fs, fs.root, "fifo", PROCFS_WHOLE, 100, &text), -EAGAIN);
    alarm(0);
    close(writer);
    procfs_close(&fs);
    tree_free(&t);
}

static void own_procfs(void **state)
{
    const uint32_t *pids;
    struct procfs fs;
    bool found = false;
    size_t n;

    (void)state;
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    if (!fs.live) {
        print_message("/proc is no procfs\n");
        skip();
    }
    for (int cycle = 0; cycle < 3; cycle++) {
        assert_int_equal(procfs_list(&fs, &pids, &n), 0);
        found = false;
        for (size_t i = 0; i < n; i++)
            found |= pids[i] == (uint32_t)getpid();
        assert_true(found);
    }
    procfs_close(&fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening),
        cmocka_unit_test(names_of_pids),
        cmocka_unit_test(odd_names_in_the_root),
        cmocka_unit_test(a_long_list),
        cmocka_unit_test(no_list),
        cmocka_unit_test(files_and_their_ends),
        cmocka_unit_test(short_reads_and_signals),
        cmocka_unit_test(a_fifo_never_hangs),
        cmocka_unit_test(own_procfs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
