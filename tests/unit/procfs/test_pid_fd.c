/* Open descriptors, by name and by size. */
#include "procfs/pid_fd.h"

#include "tree.h"

#include <sys/resource.h>

static uint64_t count_by_name(struct procfs *fs, unsigned pid)
{
    int dir = procfs_open_pid(fs->root, pid);
    uint64_t count = 0;

    assert_true(dir >= 0);
    assert_int_equal(pid_fd_count_by_name(fs, dir, &count), 0);
    close(dir);
    return count;
}

static void names_in_a_tree(void **state)
{
    enum { MANY = 3000 };
    struct procfs fs;
    struct tree t;
    uint64_t count = 7;
    char name[64];
    int dir;

    (void)state;
    tree_new(&t);
    tree_dir(&t, "1/fd");
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "2/fd/%d", i);
        tree_link(&t, name, "/dev/null");
    }
    tree_dir(&t, "3");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    /* A tree's directory sizes are those of its file system. */
    assert_false(fs.live);
    assert_false(fs.fd_count_in_size);
    assert_int_equal(count_by_name(&fs, 1), 0);
    assert_int_equal(count_by_name(&fs, 2), MANY);
    dir = procfs_open_pid(fs.root, 3);
    assert_int_equal(pid_fd_count(&fs, dir, &count), -ENOENT);
    assert_int_equal(count, 7);
    close(dir);
    procfs_close(&fs);
    tree_free(&t);
}

static void own_descriptors(void **state)
{
    uint64_t before, after, by_name;
    struct procfs fs;
    int dir, more[100];

    (void)state;
    if (procfs_open(&fs, "/proc", 100, 4096) < 0 || !fs.live) {
        print_message("no live procfs\n");
        skip();
    }
    dir = procfs_open_pid(fs.root, (uint32_t)getpid());
    if (dir < 0) {
        print_message("/proc is of another pid namespace\n");
        skip();
    }
    assert_int_equal(pid_fd_count(&fs, dir, &before), 0);
    for (int i = 0; i < 100; i++)
        more[i] = dup(dir);
    assert_int_equal(pid_fd_count(&fs, dir, &after), 0);
    assert_int_equal(after, before + 100);
    assert_int_equal(pid_fd_count_by_name(&fs, dir, &by_name), 0);
    /* Listing holds one more open; the size was taken without. */
    assert_int_equal(by_name, after + (fs.fd_count_in_size ? 1 : 0));
    for (int i = 0; i < 100; i++)
        close(more[i]);
    close(dir);
    procfs_close(&fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_a_tree),
        cmocka_unit_test(own_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
