/* The host's files: what is asked for is read, what is missing is left out. */
#include "procfs/host_read.h"

#include "model/parts.h"
#include "tree.h"

#include <sys/resource.h>

static void fill(struct tree *t)
{
    tree_text(t, "stat",
              "cpu 1 2 3 4\ncpu0 1\ncpu4 2\nintr 5 1\nctxt 6\nbtime 7\nprocesses 8\n"
              "procs_running 9\nprocs_blocked 10\nsoftirq 3 1 2\n");
    tree_text(t, "loadavg", "0.10 0.20 0.30 3/88 4242\n");
    tree_text(t, "sys/kernel/pid_max", "4194304\n");
    tree_text(t, "sys/kernel/threads-max", "192731\n");
    tree_text(t, "sys/vm/max_map_count", "65530\n");
    tree_text(t, "sys/fs/file-nr", "1184\t0\t99\n");
}

static uint64_t fault_sum(const struct faults *f)
{
    uint64_t sum = 0;

    for (int i = 0; i < FAULT_FILE_N; i++)
        for (int k = 0; k < FAULT_REASON_N; k++)
            sum += f->count[i][k];
    return sum;
}

static void all_of_it(void **state)
{
    static const uint64_t expected[HOST_FIELD_N] = {
        [HOST_BOOT_TIME_SECONDS] = 7,
        [HOST_CONTEXT_SWITCHES] = 6,
        [HOST_INTERRUPTS] = 5,
        [HOST_TASKS_CREATED] = 8,
        [HOST_PROCESSES_RUNNING] = 9,
        [HOST_PROCESSES_BLOCKED] = 10,
        [HOST_TASKS] = 88,
        [HOST_PID_MAX] = 4194304,
        [HOST_THREADS_MAX] = 192731,
        [HOST_OPEN_FILES] = 1184,
        [HOST_OPEN_FILES_LIMIT] = 99,
        [HOST_MAX_MAP_COUNT] = 65530,
    };
    struct faults faults = {0};
    struct procfs fs;
    struct host h;
    struct tree t;

    (void)state;
    tree_new(&t);
    fill(&t);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(host_read(&fs, UINT32_MAX, &faults, &h), 0);
    assert_int_equal(h.have, (1 << HOST_FIELD_N) - 1);
    assert_memory_equal(h.field, expected, sizeof(expected));
    assert_int_equal(h.cpu.columns, 4);
    assert_int_equal(h.softirqs, 2);
    assert_int_equal(h.n_cpus, 2);
    assert_int_equal(h.cpus[1].cpu, 4);
    assert_int_equal(fault_sum(&faults), 0);
    procfs_close(&fs);
    tree_free(&t);
}

static void only_what_is_asked_for(void **state)
{
    struct faults faults = {0};
    struct procfs fs;
    struct host h;
    struct tree t;

    (void)state;
    tree_new(&t);
    fill(&t);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(host_read(&fs, 0, &faults, &h), 0);
    assert_int_equal(h.have, 0);
    assert_int_equal(host_read(&fs, host_part_bit(HOST_PART_CPUS), &faults, &h), 0);
    assert_int_equal(h.n_cpus, 0);
    assert_int_equal(host_read(&fs, host_part_bit(HOST_PART_STAT), &faults, &h), 0);
    assert_int_equal(h.have, 0x3f);
    assert_int_equal(h.n_cpus, 0);
    assert_int_equal(host_read(&fs, host_part_bit(HOST_PART_PID_MAX), &faults, &h), 0);
    assert_int_equal(h.have, 1 << HOST_PID_MAX);
    procfs_close(&fs);
    tree_free(&t);
}

static void missing_and_malformed(void **state)
{
    struct faults faults = {0};
    struct procfs fs;
    struct host h;
    struct tree t;

    (void)state;
    tree_new(&t);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(host_read(&fs, UINT32_MAX, &faults, &h), 0);
    assert_int_equal(h.have, 0);
    assert_int_equal(fault_sum(&faults), 0);
    /* Two bad lines of one file are one fault; the file's other lines stand. */
    tree_text(&t, "stat", "ctxt 6\nprocesses -2045677862\nprocs_running -1\n");
    tree_text(&t, "loadavg", "?\n");
    tree_text(&t, "sys/kernel/pid_max", "many\n");
    tree_dir(&t, "sys/fs/file-nr");
    assert_int_equal(host_read(&fs, UINT32_MAX, &faults, &h), 0);
    assert_int_equal(h.have, 1 << HOST_CONTEXT_SWITCHES);
    assert_int_equal(faults.count[FAULT_HOST_STAT][FAULT_MALFORMED], 1);
    assert_int_equal(faults.count[FAULT_HOST_LOADAVG][FAULT_MALFORMED], 1);
    assert_int_equal(faults.count[FAULT_HOST_SYS][FAULT_MALFORMED], 1);
    assert_int_equal(faults.count[FAULT_HOST_SYS][FAULT_READ], 1);
    assert_int_equal(fault_sum(&faults), 4);
    procfs_close(&fs);
    tree_free(&t);
}

static void no_descriptors_left(void **state)
{
    struct faults faults = {0};
    struct rlimit old, tight;
    struct procfs fs;
    struct host h;
    struct tree t;

    (void)state;
    tree_new(&t);
    fill(&t);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = (struct rlimit){(rlim_t)fs.root + 1, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(host_read(&fs, UINT32_MAX, &faults, &h), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(fault_sum(&faults), 0);
    procfs_close(&fs);
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(only_what_is_asked_for),
        cmocka_unit_test(missing_and_malformed),
        cmocka_unit_test(no_descriptors_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
