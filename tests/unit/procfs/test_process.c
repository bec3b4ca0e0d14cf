/* One process into a sample: what counts as gone, unreadable, unknown, or known to be nothing. */
#include "procfs/probe.h"
#include "procfs/process.h"

#include "inject.h"
#include "tree.h"

#include <sys/resource.h>

/* But for what only threads know. */
#define ALL_COUNTERS (((1u << COUNTER_N) - 1) & ~part_counters(PART_TASK))
#define ALL_GAUGES   ((1u << GAUGE_N) - 1)
#define MEMORY                                                           \
    (1u << GAUGE_RESIDENT_ANON_BYTES | 1u << GAUGE_RESIDENT_FILE_BYTES | \
     1u << GAUGE_RESIDENT_SHMEM_BYTES | 1u << GAUGE_SWAP_BYTES | 1u << GAUGE_PEAK_RESIDENT_BYTES)

static const uint32_t all_parts = UINT32_MAX;

struct fixture {
    struct tree tree;
    struct procfs fs;
    struct faults faults;
    struct sample sample;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    tree_new(&f->tree);
    assert_int_equal(procfs_open(&f->fs, f->tree.root, 100, 4096), 0);
    /* What a sample held before must not show. */
    memset(&f->sample, 0xff, sizeof(f->sample));
    inject_read = (struct inject){0};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    process_end(&f->fs);
    procfs_close(&f->fs);
    tree_free(&f->tree);
    free(f);
    return 0;
}

static const char status_text[] =
    "Name:\tx\nUid:\t1000\t1001\t1002\t1003\nVmHWM:\t 9 kB\nVmRSS:\t 6 kB\nRssAnon:\t 1 kB\n"
    "RssFile:\t 2 kB\nRssShmem:\t 3 kB\nVmSwap:\t 4 kB\nThreads:\t1\n";
static const char io_text[] =
    "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
    "cancelled_write_bytes: 7\n";

static void write_stat(struct fixture *f, const char *name, const char *comm, char letter,
                       unsigned flags, int threads, unsigned long vsize)
{
    char text[512];

    snprintf(text, sizeof(text),
             "1 (%s) %c 7 0 0 0 -1 %u 10 0 20 0 30 40 0 0 20 0 %d 0 5000 %lu 5 0\n", comm, letter,
             flags, threads, vsize);
    tree_text(&f->tree, name, text);
}

static void write_process(struct fixture *f, unsigned pid)
{
    char name[64];

    snprintf(name, sizeof(name), "%u/stat", pid);
    write_stat(f, name, "app", 'S', 0, 1, 8192);
    tree_pid(&f->tree, pid, "status", "%s", status_text);
    tree_pid(&f->tree, pid, "io", "%s", io_text);
    tree_pid(&f->tree, pid, "limits",
             "Max open files            1024                 4096                 files\n");
    tree_pid(&f->tree, pid, "maps", "0-1 r--p 0 0:0 0 \n1-2 r--p 0 0:0 0 \n");
    tree_pid(&f->tree, pid, "smaps_rollup", "Rss: 4 kB\nPss: 2 kB\n");
    snprintf(name, sizeof(name), "%u/fd/0", pid);
    tree_link(&f->tree, name, "/dev/null");
}

static int begin(struct fixture *f, uint32_t pid)
{
    return process_begin(&f->fs, pid, &f->faults, &f->sample);
}

/* What process_read() leaves to a thread that may wait. */
static int read_late(struct fixture *f, enum part part)
{
    int r;

    if ((part_gauges(part) & ~f->sample.have_gauges) == 0)
        return 0;
    r = probe_read(&f->fs, process_memory_dir(&f->fs), part, &f->sample, NULL);
    if (r < 0 && !procfs_own_trouble(r))
        faults_count(&f->faults, probe_fault_file(part), f->sample.identity.pid, r);
    return procfs_own_trouble(r) ? r : 0;
}

static int read_all(struct fixture *f, uint32_t pid)
{
    int r = begin(f, pid);

    if (r == 0)
        r = process_read(&f->fs, all_parts, &f->faults, &f->sample);
    if (r == 0)
        r = read_late(f, PART_MAPS);
    return r != 0 ? r : read_late(f, PART_SMAPS);
}

static uint64_t fault_sum(const struct fixture *f)
{
    uint64_t sum = 0;

    for (int i = 0; i < FAULT_FILE_N; i++)
        for (int k = 0; k < FAULT_REASON_N; k++)
            sum += f->faults.count[i][k];
    return sum;
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void every_field(void **state)
{
    static const uint64_t counters[COUNTER_N] = {
        [COUNTER_CPU_USER_NS] = 300000000,   [COUNTER_CPU_SYSTEM_NS] = 400000000,
        [COUNTER_MINOR_FAULTS] = 10,         [COUNTER_MAJOR_FAULTS] = 20,
        [COUNTER_SYSCALL_READ_BYTES] = 1,    [COUNTER_SYSCALL_WRITE_BYTES] = 2,
        [COUNTER_READ_SYSCALLS] = 3,         [COUNTER_WRITE_SYSCALLS] = 4,
        [COUNTER_STORAGE_READ_BYTES] = 5,    [COUNTER_STORAGE_WRITE_BYTES] = 6,
        [COUNTER_CANCELLED_WRITE_BYTES] = 7,
    };
    static const uint64_t gauges[GAUGE_N] = {
        [GAUGE_THREADS] = 1,
        [GAUGE_VIRTUAL_BYTES] = 8192,
        [GAUGE_RESIDENT_ANON_BYTES] = 1024,
        [GAUGE_RESIDENT_FILE_BYTES] = 2048,
        [GAUGE_RESIDENT_SHMEM_BYTES] = 3072,
        [GAUGE_SWAP_BYTES] = 4096,
        [GAUGE_PEAK_RESIDENT_BYTES] = 9216,
        [GAUGE_OPEN_FDS] = 1,
        [GAUGE_OPEN_FDS_LIMIT] = 1024,
        [GAUGE_MAPPINGS] = 2,
        [GAUGE_PROPORTIONAL_BYTES] = 2048,
    };
    struct fixture *f = *state;

    write_process(f, 42);
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.identity.pid, 42);
    assert_int_equal(f->sample.identity.start_ticks, 5000);
    assert_int_equal(f->sample.parent_pid, 7);
    assert_true(f->sample.have_uid);
    assert_int_equal(f->sample.uid, 1001);
    assert_false(f->sample.kernel_thread);
    assert_false(f->sample.exited_leader);
    assert_int_equal(f->sample.state, STATE_SLEEPING);
    check_span(span_of(f->sample.comm, f->sample.comm_len), "app");
    assert_int_equal(f->sample.have_counters, ALL_COUNTERS);
    assert_int_equal(f->sample.have_gauges, ALL_GAUGES);
    assert_memory_equal(f->sample.counter, counters, COUNTER_RUN_QUEUE_NS * sizeof(*counters));
    assert_memory_equal(f->sample.gauge, gauges, sizeof(gauges));
    assert_int_equal(fault_sum(f), 0);
}

static void begin_reads_stat_alone(void **state)
{
    struct fixture *f = *state;

    write_process(f, 42);
    assert_int_equal(begin(f, 42), 0);
    assert_int_equal(f->sample.have_counters, part_counters(PART_STAT));
    assert_int_equal(f->sample.have_gauges, part_gauges(PART_STAT));
    assert_false(f->sample.have_uid);
    assert_int_equal(process_read(&f->fs, 0, &f->faults, &f->sample), 0);
    assert_int_equal(f->sample.have_gauges, part_gauges(PART_STAT));
}

static void each_part_by_itself(void **state)
{
    static const enum part parts[] = {PART_STATUS, PART_IO, PART_FD, PART_LIMITS};
    struct fixture *f = *state;

    write_process(f, 42);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        assert_int_equal(begin(f, 42), 0);
        assert_int_equal(process_read(&f->fs, part_bit(parts[i]), &f->faults, &f->sample), 0);
        assert_int_equal(f->sample.have_counters,
                         part_counters(PART_STAT) | part_counters(parts[i]));
        assert_int_equal(f->sample.have_gauges, part_gauges(PART_STAT) | part_gauges(parts[i]));
    }
    /* More parts may follow. */
    assert_int_equal(process_read(&f->fs, part_bit(PART_IO), &f->faults, &f->sample), 0);
    assert_int_equal(f->sample.have_counters, ALL_COUNTERS);
}

/* Files whose reading may block are not even opened, whatever is asked for. */
static void what_blocks_is_left_out(void **state)
{
    static const char *const names[] = {"maps", "smaps_rollup", "cmdline", "exe"};
    struct fixture *f = *state;

    write_process(f, 42);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char name[64];

        snprintf(name, sizeof(name), "42/%s", names[i]);
        (void)unlink(tree_path(&f->tree, name));
        assert_int_equal(mkfifo(tree_path(&f->tree, name), 0600), 0);
    }
    assert_int_equal(begin(f, 42), 0);
    assert_int_equal(process_read(&f->fs, all_parts, &f->faults, &f->sample), 0);
    assert_int_equal(f->sample.have_gauges,
                     ALL_GAUGES & ~part_gauges(PART_MAPS) & ~part_gauges(PART_SMAPS));
    assert_int_equal(fault_sum(f), 0);
    /* Each by itself. */
    write_process(f, 43);
    for (enum part part = PART_MAPS; part <= PART_SMAPS; part++) {
        assert_int_equal(begin(f, 43), 0);
        assert_int_equal(read_late(f, part), 0);
        assert_int_equal(f->sample.have_gauges, part_gauges(PART_STAT) | part_gauges(part));
    }
}

static void states(void **state)
{
    static const struct {
        char letter;
        enum state state;
    } rows[] = {
        {'R', STATE_RUNNING}, {'S', STATE_SLEEPING}, {'D', STATE_DISK_SLEEP}, {'T', STATE_STOPPED},
        {'Z', STATE_ZOMBIE},  {'X', STATE_OTHER},    {'t', STATE_OTHER},      {'I', STATE_OTHER},
        {'P', STATE_OTHER},   {'Q', STATE_OTHER},    {'W', STATE_OTHER},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        write_stat(f, "42/stat", "app", rows[i].letter, 0, 1, 8192);
        assert_int_equal(begin(f, 42), 0);
        assert_int_equal(f->sample.state, rows[i].state);
    }
}

static void long_names(void **state)
{
    struct fixture *f = *state;
    char comm[101];

    memset(comm, 'k', 100);
    comm[100] = '\0';
    write_stat(f, "42/stat", comm, 'S', 0, 1, 8192);
    assert_int_equal(begin(f, 42), 0);
    assert_int_equal(f->sample.comm_len, SAMPLE_COMM_MAX);
    write_stat(f, "42/stat", "kworker/0:0-events_power_efficient", 'I', 0x200000, 1, 0);
    assert_int_equal(begin(f, 42), 0);
    check_span(span_of(f->sample.comm, f->sample.comm_len), "kworker/0:0-events_power_efficient");
    assert_true(f->sample.kernel_thread);
}

static void gone(void **state)
{
    struct fixture *f = *state;

    tree_dir(&f->tree, "701");
    tree_link(&f->tree, "702", "nowhere");
    write_process(f, 703);
    tree_link(&f->tree, "704", "703");
    tree_text(&f->tree, "705", "");
    tree_pid(&f->tree, 706, "stat", "%s", "");
    assert_int_equal(begin(f, 700), PROCESS_GONE);
    assert_int_equal(begin(f, 701), PROCESS_GONE);
    assert_int_equal(begin(f, 702), PROCESS_GONE);
    assert_int_equal(begin(f, 704), PROCESS_GONE);
    assert_int_equal(begin(f, 705), PROCESS_GONE);
    assert_int_equal(begin(f, 706), PROCESS_GONE);
    inject_read = (struct inject){"703/stat", ESRCH, 0, 1};
    assert_int_equal(begin(f, 703), PROCESS_GONE);
    inject_read = (struct inject){"703/stat", 0, 0, 1};
    assert_int_equal(begin(f, 703), PROCESS_GONE);
    assert_int_equal(inject_read.times, 0);
    assert_int_equal(f->sample.have_counters, 0);
    assert_int_equal(f->sample.have_gauges, 0);
    assert_int_equal(f->sample.comm_len, 0);
    assert_int_equal(fault_sum(f), 0);
    assert_int_equal(begin(f, 703), 0);
}

static void unreadable(void **state)
{
    struct fixture *f = *state;

    tree_dir(&f->tree, "801/stat");
    tree_pid(&f->tree, 802, "stat", "garbage\n");
    write_process(f, 803);
    assert_int_equal(begin(f, 801), PROCESS_UNREADABLE);
    assert_int_equal(f->faults.count[FAULT_STAT][FAULT_READ], 1);
    assert_int_equal(begin(f, 802), PROCESS_UNREADABLE);
    assert_int_equal(f->faults.count[FAULT_STAT][FAULT_MALFORMED], 1);
    assert_int_equal(f->faults.first_pid[FAULT_STAT][FAULT_MALFORMED], 802);
    inject_read = (struct inject){"803/stat", EIO, 0, 1};
    assert_int_equal(begin(f, 803), PROCESS_UNREADABLE);
    assert_int_equal(f->faults.count[FAULT_STAT][FAULT_READ], 2);
    assert_int_equal(fault_sum(f), 3);
}

static void missing_files_are_silent(void **state)
{
    struct fixture *f = *state;

    write_stat(f, "42/stat", "app", 'S', 0, 1, 8192);
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_counters, part_counters(PART_STAT));
    assert_int_equal(f->sample.have_gauges, part_gauges(PART_STAT));
    assert_false(f->sample.have_uid);
    /* Old kernels let smaps_rollup open and fail at the read. */
    write_process(f, 43);
    inject_read = (struct inject){"43/smaps_rollup", ESRCH, 0, 1};
    assert_int_equal(read_all(f, 43), 0);
    assert_int_equal(inject_read.times, 0);
    assert_int_equal(f->sample.have_gauges, ALL_GAUGES & ~(1u << GAUGE_PROPORTIONAL_BYTES));
    inject_read = (struct inject){"43/io", ESRCH, 0, 1};
    assert_int_equal(read_all(f, 43), 0);
    assert_int_equal(f->sample.have_counters, part_counters(PART_STAT));
    assert_int_equal(fault_sum(f), 0);
}

static void faulty_files_count_once(void **state)
{
    static const struct {
        const char *name;
        enum fault_file file;
    } rows[] = {
        {"42/status", FAULT_STATUS},
        {"42/io", FAULT_IO},
        {"42/limits", FAULT_LIMITS},
        {"42/maps", FAULT_MAPS},
        {"42/smaps_rollup", FAULT_SMAPS_ROLLUP},
    };
    struct fixture *f = *state;

    write_process(f, 42);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        inject_read = (struct inject){rows[i].name, EIO, 0, 1};
        assert_int_equal(read_all(f, 42), 0);
        assert_int_equal(f->faults.count[rows[i].file][FAULT_READ], 1);
        assert_int_equal(fault_sum(f), i + 1);
    }
}

static void malformed_fields_cost_themselves(void **state)
{
    struct fixture *f = *state;

    write_process(f, 42);
    tree_pid(&f->tree, 42, "io", "rchar: 1\nread_bytes: abc\nwrite_bytes:\n");
    tree_pid(&f->tree, 42, "status", "Uid:\tx\nVmRSS:\t1 kB\nVmSwap:\t-1 kB\nRssAnon:\t5 kB\n");
    tree_pid(&f->tree, 42, "limits", "Max open files   lots\n");
    tree_pid(&f->tree, 42, "smaps_rollup", "Pss: lots kB\n");
    tree_pid(&f->tree, 42, "stat",
             "1 (a) S 7 0 0 0 -1 0 10 0 20 0 30 40 0 0 20 0 1 0 5000 18446744073709551615 5\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_counters,
                     part_counters(PART_STAT) | 1u << COUNTER_SYSCALL_READ_BYTES);
    assert_int_equal(f->sample.have_gauges, 1u << GAUGE_THREADS | 1u << GAUGE_RESIDENT_ANON_BYTES |
                                                1u << GAUGE_OPEN_FDS | 1u << GAUGE_MAPPINGS);
    assert_false(f->sample.have_uid);
    assert_int_equal(f->faults.count[FAULT_STAT][FAULT_MALFORMED], 1);
    assert_int_equal(f->faults.count[FAULT_IO][FAULT_MALFORMED], 1);
    assert_int_equal(f->faults.count[FAULT_STATUS][FAULT_MALFORMED], 1);
    assert_int_equal(f->faults.count[FAULT_LIMITS][FAULT_MALFORMED], 1);
    assert_int_equal(f->faults.count[FAULT_SMAPS_ROLLUP][FAULT_MALFORMED], 1);
    assert_int_equal(fault_sum(f), 5);
}

static void refused_files(void **state)
{
    struct fixture *f = *state;
    uid_t user = geteuid();

    write_process(f, 42);
    assert_int_equal(chmod(tree_path(&f->tree, "42/io"), 0), 0);
    assert_int_equal(chmod(tree_path(&f->tree, "42/maps"), 0), 0);
    assert_int_equal(chmod(tree_path(&f->tree, "42/fd"), 0), 0);
    write_process(f, 43);
    assert_int_equal(chmod(tree_path(&f->tree, "43/stat"), 0), 0);
    if (user == 0)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(begin(f, 43), PROCESS_UNREADABLE);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(begin(f, 42), 0);
    assert_int_equal(f->faults.count[FAULT_IO][FAULT_PERMISSION], 1);
    assert_int_equal(f->faults.count[FAULT_MAPS][FAULT_PERMISSION], 1);
    assert_int_equal(f->faults.count[FAULT_FD][FAULT_PERMISSION], 1);
    assert_int_equal(f->faults.count[FAULT_STAT][FAULT_PERMISSION], 1);
    assert_int_equal(fault_sum(f), 4);
    chmod(tree_path(&f->tree, "42/fd"), 0755);
}

static void no_address_space(void **state)
{
    struct fixture *f = *state;

    /* maps and smaps_rollup are there and wrong: they must not be opened. */
    write_process(f, 42);
    write_stat(f, "42/stat", "kthreadd", 'S', 0x200000, 1, 0);
    tree_pid(&f->tree, 42, "status", "Name:\tkthreadd\nUid:\t0\t0\t0\t0\nThreads:\t1\n");
    tree_pid(&f->tree, 42, "smaps_rollup", "Pss: x\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_gauges, ALL_GAUGES);
    assert_int_equal(f->sample.gauge[GAUGE_MAPPINGS], 0);
    assert_int_equal(f->sample.gauge[GAUGE_PROPORTIONAL_BYTES], 0);
    assert_int_equal(f->sample.gauge[GAUGE_PEAK_RESIDENT_BYTES], 0);
    assert_int_equal(f->sample.gauge[GAUGE_RESIDENT_ANON_BYTES], 0);
    /* Known without status too, for a kernel thread and a zombie. */
    assert_int_equal(begin(f, 42), 0);
    assert_int_equal(
        process_read(&f->fs, part_bit(PART_SMAPS) | part_bit(PART_MAPS), &f->faults, &f->sample),
        0);
    assert_int_equal(f->sample.gauge[GAUGE_MAPPINGS], 0);
    assert_true(sample_has_gauge(&f->sample, GAUGE_PROPORTIONAL_BYTES));
    write_stat(f, "42/stat", "late", 'Z', 0, 1, 0);
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_gauges, ALL_GAUGES);
    assert_int_equal(f->sample.state, STATE_ZOMBIE);
    assert_false(f->sample.exited_leader);
    assert_int_equal(fault_sum(f), 0);
}

static void an_address_space_of_which_less_is_told(void **state)
{
    struct fixture *f = *state;

    /* gVisor: an address space, and status says its size alone. */
    write_process(f, 42);
    tree_pid(&f->tree, 42, "status", "Name:\tx\nVmSize:\t8192 kB\nVmRSS:\t2048 kB\nThreads:\t1\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_gauges & MEMORY, 0);
    assert_int_equal(f->sample.gauge[GAUGE_MAPPINGS], 2);
    /* qemu-user: stat is all zero, status is not. */
    write_stat(f, "42/stat", "guest", 'R', 0, 0, 0);
    tree_pid(&f->tree, 42, "status", "Uid:\t1\t2\nVmRSS:\t2048 kB\nRssAnon:\t5 kB\nThreads:\t2\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.gauge[GAUGE_THREADS], 2);
    assert_int_equal(f->sample.have_gauges & MEMORY, 1u << GAUGE_RESIDENT_ANON_BYTES);
    assert_int_equal(f->sample.gauge[GAUGE_MAPPINGS], 2);
    /* No VmRSS, but stat has a size: not known to be nothing. */
    write_stat(f, "42/stat", "x", 'R', 0, 1, 8192);
    tree_pid(&f->tree, 42, "status", "Uid:\t1\t2\nRssAnon:\t5 kB\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_int_equal(f->sample.have_gauges & MEMORY, 1u << GAUGE_RESIDENT_ANON_BYTES);
    assert_int_equal(fault_sum(f), 0);
}

static void threads_out_of_status_unasked(void **state)
{
    struct fixture *f = *state;

    write_process(f, 42);
    write_stat(f, "42/stat", "guest", 'R', 0, 0, 0);
    tree_pid(&f->tree, 42, "status", "VmRSS:\t1 kB\nThreads:\t2\n");
    assert_int_equal(begin(f, 42), 0);
    assert_false(sample_has_gauge(&f->sample, GAUGE_THREADS));
    assert_int_equal(process_read(&f->fs, part_bit(PART_IO), &f->faults, &f->sample), 0);
    assert_int_equal(f->sample.gauge[GAUGE_THREADS], 2);
    /* Nor is 0 of status a number of threads. */
    tree_pid(&f->tree, 42, "status", "VmRSS:\t1 kB\nThreads:\t0\n");
    assert_int_equal(read_all(f, 42), 0);
    assert_false(sample_has_gauge(&f->sample, GAUGE_THREADS));
}

static void write_exited_leader(struct fixture *f)
{
    write_process(f, 50);
    write_stat(f, "50/stat", "ingest", 'Z', 0, 4, 0);
    tree_pid(&f->tree, 50, "status", "Uid:\t9\t9\nThreads:\t4\n");
    tree_pid(&f->tree, 50, "maps", "%s", "");
    write_stat(f, "50/task/50/stat", "ingest", 'Z', 0, 4, 0);
    write_stat(f, "50/task/51/stat", "worker", 'X', 0, 4, 0);
    tree_dir(&f->tree, "50/task/52");
    write_stat(f, "50/task/53/stat", "worker", 'D', 0, 4, 94957568);
    tree_text(&f->tree, "50/task/53/status", status_text);
    tree_text(&f->tree, "50/task/53/io", "read_bytes: 999\n");
    tree_text(&f->tree, "50/task/53/maps", "0-1 r--p 0 0:0 0 \n");
    tree_text(&f->tree, "50/task/53/smaps_rollup", "Pss: 7 kB\n");
    tree_link(&f->tree, "50/task/53/fd/0", "/dev/null");
    tree_link(&f->tree, "50/task/53/fd/1", "/dev/null");
}

static void exited_leader(void **state)
{
    struct fixture *f = *state;
    unsigned before = open_descriptors();

    write_exited_leader(f);
    assert_int_equal(read_all(f, 50), 0);
    assert_true(f->sample.exited_leader);
    assert_int_equal(f->sample.state, STATE_DISK_SLEEP);
    check_span(span_of(f->sample.comm, f->sample.comm_len), "ingest");
    assert_int_equal(f->sample.identity.pid, 50);
    assert_int_equal(f->sample.uid, 1001);
    assert_int_equal(f->sample.gauge[GAUGE_THREADS], 4);
    assert_int_equal(f->sample.gauge[GAUGE_VIRTUAL_BYTES], 94957568);
    assert_int_equal(f->sample.gauge[GAUGE_RESIDENT_ANON_BYTES], 1024);
    assert_int_equal(f->sample.gauge[GAUGE_OPEN_FDS], 2);
    assert_int_equal(f->sample.gauge[GAUGE_OPEN_FDS_LIMIT], 1024);
    assert_int_equal(f->sample.gauge[GAUGE_MAPPINGS], 1);
    assert_int_equal(f->sample.gauge[GAUGE_PROPORTIONAL_BYTES], 7168);
    /* The sums of the whole process are the leader's. */
    assert_int_equal(f->sample.counter[COUNTER_CPU_USER_NS], 300000000);
    assert_int_equal(f->sample.counter[COUNTER_STORAGE_READ_BYTES], 5);
    assert_int_equal(fault_sum(f), 0);
    process_end(&f->fs);
    process_end(&f->fs);
    assert_int_equal(open_descriptors(), before);
}

static void exited_leader_without_a_thread_found(void **state)
{
    struct fixture *f = *state;

    write_process(f, 50);
    write_stat(f, "50/stat", "ingest", 'Z', 0, 4, 0);
    tree_pid(&f->tree, 50, "status", "Uid:\t9\t9\nThreads:\t4\n");
    tree_pid(&f->tree, 50, "maps", "%s", "");
    assert_int_equal(read_all(f, 50), 0);
    assert_false(f->sample.exited_leader);
    assert_int_equal(f->sample.state, STATE_ZOMBIE);
    /* Some thread may live: that there is no memory is not known. */
    assert_int_equal(f->sample.have_gauges & MEMORY, 0);
    assert_int_equal(fault_sum(f), 0);
    /* One that is listed and has ended too is none. */
    write_stat(f, "50/task/53/stat", "worker", 'X', 0, 4, 4096);
    assert_int_equal(read_all(f, 50), 0);
    assert_false(f->sample.exited_leader);
    assert_int_equal(f->sample.gauge[GAUGE_VIRTUAL_BYTES], 0);
    tree_dir(&f->tree, "50/task/51/stat");
    assert_int_equal(read_all(f, 50), 0);
    assert_int_equal(f->faults.count[FAULT_TASK][FAULT_READ], 1);
    write_stat(f, "50/task/52/stat", "worker", 'S', 0, 4, 4096);
    assert_int_equal(read_all(f, 50), 0);
    assert_true(f->sample.exited_leader);
}

static void no_descriptors_left(void **state)
{
    struct fixture *f = *state;
    struct rlimit old, tight;
    int r = -1;

    write_exited_leader(f);
    write_process(f, 42);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    /* One more at a time; each step fails further on, until it is enough. */
    for (int more = 0; more < 8; more++) {
        tight = (struct rlimit){(rlim_t)(f->fs.root + 1 + more), old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
        r = read_all(f, 50);
        process_end(&f->fs);
        if (r == 0)
            break;
        assert_int_equal(r, -EMFILE);
    }
    assert_int_equal(r, 0);
    tight.rlim_cur = (rlim_t)f->fs.root + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(begin(f, 42), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(fault_sum(f), 0);
    assert_int_equal(read_all(f, 42), 0);
}

static void memory_of_the_kernel_is_short(void **state)
{
    struct fixture *f = *state;

    write_process(f, 42);
    inject_read = (struct inject){"42/stat", ENOMEM, 0, 1};
    assert_int_equal(begin(f, 42), -ENOMEM);
    inject_read = (struct inject){"42/io", ENOMEM, 0, 1};
    assert_int_equal(read_all(f, 42), -ENOMEM);
    assert_int_equal(fault_sum(f), 0);
}

/* A pid given to another process between begin and read must not show. */
static void files_are_of_the_directory_begun(void **state)
{
    struct fixture *f = *state;
    char moved[512];

    write_process(f, 42);
    assert_int_equal(begin(f, 42), 0);
    snprintf(moved, sizeof(moved), "%s/old", f->tree.root);
    assert_int_equal(rename(tree_path(&f->tree, "42"), moved), 0);
    write_process(f, 42);
    tree_pid(&f->tree, 42, "io", "read_bytes: 777\n");
    assert_int_equal(process_read(&f->fs, part_bit(PART_IO), &f->faults, &f->sample), 0);
    assert_int_equal(f->sample.counter[COUNTER_STORAGE_READ_BYTES], 5);
    assert_true(process_memory_dir(&f->fs) >= 0);
}

static int read_cgroup(struct fixture *f, uint32_t pid, struct span *ret)
{
    assert_int_equal(begin(f, pid), 0);
    return process_read_cgroup(&f->fs, &f->faults, &f->sample, ret);
}

static void control_group(void **state)
{
    struct fixture *f = *state;
    struct span path;

    write_process(f, 42);
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    tree_pid(&f->tree, 42, "cgroup", "%s", "");
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    assert_int_equal(fault_sum(f), 0);
    tree_pid(&f->tree, 42, "cgroup", "0::/a.service\n");
    assert_int_equal(read_cgroup(f, 42, &path), 0);
    check_span(path, "/a.service");
    tree_pid(&f->tree, 42, "cgroup", "0::/\n");
    assert_int_equal(read_cgroup(f, 42, &path), 0);
    check_span(path, "/");
    assert_int_equal(fault_sum(f), 0);
    tree_pid(&f->tree, 42, "cgroup", "nonsense\n");
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    assert_int_equal(f->faults.count[FAULT_CGROUP][FAULT_MALFORMED], 1);
    /* The kernel's answer to a path over its maximum, and one that is no fault of the file. */
    inject_read = (struct inject){"42/cgroup", ENAMETOOLONG, 0, 1};
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    assert_int_equal(f->faults.count[FAULT_CGROUP][FAULT_READ], 1);
    inject_read = (struct inject){"42/cgroup", ENOMEM, 0, 1};
    assert_int_equal(read_cgroup(f, 42, &path), -ENOMEM);
    inject_read = (struct inject){"42/cgroup", ESRCH, 0, 1};
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    assert_int_equal(fault_sum(f), 2);
}

/* Version 1 shows the root for all that have ended; a living thread still says where. */
static void control_group_of_those_that_ended(void **state)
{
    struct fixture *f = *state;
    struct span path;

    write_stat(f, "42/stat", "app", 'Z', 0, 1, 0);
    tree_pid(&f->tree, 42, "cgroup", "2:cpu:/\n1:name=systemd:/\n0::/\n");
    assert_int_equal(read_cgroup(f, 42, &path), PROCESS_NO_CGROUP);
    tree_pid(&f->tree, 42, "cgroup", "0::/dead (deleted)\n");
    assert_int_equal(read_cgroup(f, 42, &path), 0);
    check_span(path, "/dead (deleted)");
    assert_true(f->sample.ending);
    /* And for those about to. */
    write_stat(f, "43/stat", "app", 'D', 0x400004, 1, 0);
    tree_pid(&f->tree, 43, "cgroup", "2:cpu:/\n1:name=systemd:/\n0::/\n");
    assert_int_equal(read_cgroup(f, 43, &path), PROCESS_NO_CGROUP);
    assert_true(f->sample.ending);
    write_exited_leader(f);
    tree_pid(&f->tree, 50, "cgroup", "1:name=systemd:/\n");
    tree_text(&f->tree, "50/task/53/cgroup", "1:name=systemd:/ingest.service\n");
    assert_int_equal(read_cgroup(f, 50, &path), 0);
    check_span(path, "/ingest.service");
    assert_false(f->sample.ending);
    assert_int_equal(fault_sum(f), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_field),
        TEST(begin_reads_stat_alone),
        TEST(each_part_by_itself),
        TEST(what_blocks_is_left_out),
        TEST(states),
        TEST(long_names),
        TEST(gone),
        TEST(unreadable),
        TEST(missing_files_are_silent),
        TEST(faulty_files_count_once),
        TEST(malformed_fields_cost_themselves),
        TEST(refused_files),
        TEST(no_address_space),
        TEST(an_address_space_of_which_less_is_told),
        TEST(threads_out_of_status_unasked),
        TEST(exited_leader),
        TEST(exited_leader_without_a_thread_found),
        TEST(no_descriptors_left),
        TEST(memory_of_the_kernel_is_short),
        TEST(files_are_of_the_directory_begun),
        TEST(control_group),
        TEST(control_group_of_those_that_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
