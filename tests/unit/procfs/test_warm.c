/*
 * A warm cycle over the same processes takes no memory from the heap and keeps no descriptor.
 *
 * Linked with --wrap for the heap's functions, so that calls from the library are counted.
 */
#include "procfs/boot_time.h"
#include "procfs/host_read.h"
#include "procfs/process.h"

#include "model/parts.h"
#include "tree.h"

static unsigned heap_calls;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    heap_calls++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
    heap_calls++;
    return __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
    heap_calls++;
    return __real_realloc(p, n);
}

static void cycle(struct procfs *fs)
{
    struct faults faults = {0};
    struct sample sample;
    const uint32_t *pids;
    struct span cgroup;
    struct host host;
    size_t n;

    assert_int_equal(host_read(fs, UINT32_MAX, &faults, &host), 0);
    assert_int_equal(procfs_list(fs, &pids, &n), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(process_begin(fs, pids[i], &faults, &sample), 0);
        assert_int_equal(process_read(fs, UINT32_MAX, &faults, &sample), 0);
        assert_int_equal(process_read_cgroup(fs, &faults, &sample, &cgroup), 0);
        process_end(fs);
    }
}

static void no_heap_and_no_descriptor(void **state)
{
    unsigned before;
    struct procfs fs;
    struct tree t;
    int next;

    (void)state;
    tree_new(&t);
    tree_text(&t, "stat", "cpu 1 2\ncpu0 1 2\ncpu1 1 2\nbtime 5\n");
    tree_text(&t, "loadavg", "0.10 0.20 0.30 3/88 4242\n");
    for (unsigned pid = 1; pid <= 300; pid++) {
        tree_pid(&t, pid, "stat", "%u (a) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 4096 0\n", pid);
        tree_pid(&t, pid, "status", "%s", "Uid:\t1\t2\t3\t4\nVmRSS:\t1 kB\n");
        tree_pid(&t, pid, "io", "%s", "read_bytes: 1\n");
        tree_pid(&t, pid, "cgroup", "0::/system.slice/%u.service\n", pid);
        tree_pid(&t, pid, "fd/0", "%s", "");
    }
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    next = dup(0);
    close(next);
    cycle(&fs);
    before = heap_calls;
    assert_true(before > 0);
    for (int i = 0; i < 5; i++)
        cycle(&fs);
    assert_int_equal(heap_calls, before);
    assert_int_equal(dup(0), next);
    close(next);
    procfs_close(&fs);
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_heap_and_no_descriptor)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
