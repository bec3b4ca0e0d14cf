/* The time of boot: read once, kept, forgotten on demand. */
#include "procfs/boot_time.h"

#include "tree.h"

static void kept_until_forgotten(void **state)
{
    struct boot_time b = {0};
    struct procfs fs;
    struct tree t;

    (void)state;
    tree_new(&t);
    tree_text(&t, "stat", "cpu 1\nbtime 1700000000\n");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(boot_time_read(&b, &fs), 0);
    assert_true(b.known);
    assert_int_equal(b.seconds, 1700000000);
    tree_text(&t, "stat", "btime 1700000005\n");
    assert_int_equal(boot_time_read(&b, &fs), 0);
    assert_int_equal(b.seconds, 1700000000);
    boot_time_forget(&b);
    assert_int_equal(boot_time_read(&b, &fs), 0);
    assert_int_equal(b.seconds, 1700000005);
    procfs_close(&fs);
    tree_free(&t);
}

static int read_of(const char *text, struct boot_time *b)
{
    struct procfs fs;
    struct tree t;
    int r;

    tree_new(&t);
    if (text)
        tree_text(&t, "stat", text);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    r = boot_time_read(b, &fs);
    procfs_close(&fs);
    tree_free(&t);
    return r;
}

static void none_zero_and_junk(void **state)
{
    struct boot_time b = {0};

    (void)state;
    assert_int_equal(read_of("cpu 1\nctxt 5\n", &b), -ENODATA);
    assert_int_equal(read_of("btime 17x\n", &b), -ENODATA);
    assert_int_equal(read_of("", &b), -ENODATA);
    assert_int_equal(read_of(NULL, &b), -ENOENT);
    assert_false(b.known);
    /* Another line's fault is not btime's. */
    assert_int_equal(read_of("processes -1\nbtime 7\n", &b), 0);
    assert_int_equal(b.seconds, 7);
    boot_time_forget(&b);
    /* A board without a clock. */
    assert_int_equal(read_of("btime 0\n", &b), 0);
    assert_true(b.known);
    assert_int_equal(b.seconds, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_until_forgotten),
        cmocka_unit_test(none_zero_and_junk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
