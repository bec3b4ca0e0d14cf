/* What the kernel told of a process, as a sample: each field, its unit, and what is not known. */
#include "bpf/task_sample.h"

#include "records.h"

static const struct task_units units = {.ticks_per_second = 100, .page_size = 4096};

#define BIT(n) (UINT32_C(1) << (n))

static const uint32_t all_counters = BIT(COUNTER_N) - 1;
static const uint32_t all_gauges = BIT(GAUGE_N) - 1;
static const uint32_t counters_of_memory =
    BIT(GAUGE_RESIDENT_ANON_BYTES) | BIT(GAUGE_RESIDENT_FILE_BYTES) |
    BIT(GAUGE_RESIDENT_SHMEM_BYTES) | BIT(GAUGE_SWAP_BYTES) | BIT(GAUGE_PEAK_RESIDENT_BYTES);
static const uint32_t all_memory = BIT(GAUGE_VIRTUAL_BYTES) | BIT(GAUGE_MAPPINGS);

/* A sample that holds leftovers of another process, as the caller's does. */
static struct sample leftovers(void)
{
    struct sample s;

    memset(&s, 0xff, sizeof(s));
    s.have_uid = s.kernel_thread = s.exited_leader = s.ending = s.have_cpu_runtime = true;
    return s;
}

static struct look look_of(const struct process_record *record)
{
    return (struct look){
        .record = *record,
        .usage = usage_of(100000),
        .own = own_of(200000),
        .has_leader = true,
    };
}

static struct sample sample_of(const struct process_record *record)
{
    struct look look = look_of(record);
    struct sample s = leftovers();

    task_sample(&look, NULL, &units, &s);
    return s;
}

static void check_comm(const struct sample *s, const char *expected)
{
    assert_int_equal(s->comm_len, strlen(expected));
    assert_memory_equal(s->comm, expected, strlen(expected));
}

/* Of usage_of(usage) and own_of(own), the latter so many times. */
static void check_counters(const struct sample *s, uint64_t usage, uint64_t own, uint64_t times)
{
    const uint64_t expected[COUNTER_N] = {
        [COUNTER_CPU_USER_NS] = usage + 1,
        [COUNTER_CPU_SYSTEM_NS] = usage + 2,
        [COUNTER_MINOR_FAULTS] = usage + 3,
        [COUNTER_MAJOR_FAULTS] = usage + 4,
        [COUNTER_VOLUNTARY_SWITCHES] = usage + 5,
        [COUNTER_INVOLUNTARY_SWITCHES] = usage + 6,
        [COUNTER_RUN_QUEUE_NS] = own,
        [COUNTER_SYSCALL_READ_BYTES] = own + times * 1,
        [COUNTER_SYSCALL_WRITE_BYTES] = own + times * 2,
        [COUNTER_READ_SYSCALLS] = own + times * 3,
        [COUNTER_WRITE_SYSCALLS] = own + times * 4,
        [COUNTER_STORAGE_READ_BYTES] = own + times * 5,
        [COUNTER_STORAGE_WRITE_BYTES] = own + times * 6,
        [COUNTER_CANCELLED_WRITE_BYTES] = own + times * 7,
    };

    assert_int_equal(s->have_counters, all_counters);
    for (int i = 0; i < COUNTER_N; i++)
        if (s->counter[i] != expected[i])
            fail_msg("%s is %lu, not %lu", counter_name((enum counter)i), s->counter[i],
                     expected[i]);
    assert_true(s->have_cpu_runtime);
    assert_int_equal(s->cpu_runtime_ns, usage);
}

static void check_gauge(const struct sample *s, enum gauge gauge, uint64_t expected)
{
    if (!sample_has_gauge(s, gauge) || s->gauge[gauge] != expected)
        fail_msg("%s is %lu, not %lu", gauge_name(gauge), s->gauge[gauge], expected);
}

/* No address space: it occupies nothing, and that is known. */
static void check_no_memory(const struct sample *s)
{
    for (int i = 0; i < GAUGE_N; i++)
        if ((counters_of_memory | all_memory | BIT(GAUGE_PROPORTIONAL_BYTES)) >> i & 1)
            check_gauge(s, (enum gauge)i, 0);
}

static void every_field(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 3);
    struct sample s = sample_of(&record);

    (void)state;
    assert_int_equal(s.identity.pid, 7);
    assert_int_equal(s.identity.start_ticks, 123);
    assert_int_equal(s.parent_pid, 19);
    assert_true(s.have_uid);
    assert_int_equal(s.uid, 20);
    assert_false(s.kernel_thread);
    assert_false(s.exited_leader);
    assert_false(s.ending);
    assert_int_equal(s.state, STATE_SLEEPING);
    check_comm(&s, "leader");
    check_counters(&s, 100000, 200000, 1);
    /* PSS needs a walk over page tables, which nobody asked for. */
    assert_int_equal(s.have_gauges, all_gauges & ~BIT(GAUGE_PROPORTIONAL_BYTES));
    check_gauge(&s, GAUGE_THREADS, 3);
    check_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, 11 * 4096);
    check_gauge(&s, GAUGE_RESIDENT_FILE_BYTES, 12 * 4096);
    check_gauge(&s, GAUGE_RESIDENT_SHMEM_BYTES, 13 * 4096);
    check_gauge(&s, GAUGE_SWAP_BYTES, 14 * 4096);
    check_gauge(&s, GAUGE_PEAK_RESIDENT_BYTES, 15 * 4096);
    check_gauge(&s, GAUGE_VIRTUAL_BYTES, 16 * 4096);
    check_gauge(&s, GAUGE_MAPPINGS, 17);
    check_gauge(&s, GAUGE_OPEN_FDS, 18);
    check_gauge(&s, GAUGE_OPEN_FDS_LIMIT, 1024);
}

static void ended_threads_are_added(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 3);
    struct task_own ended = own_of(5000000);
    struct look look = look_of(&record);
    struct sample s = leftovers();

    (void)state;
    task_sample(&look, &ended, &units, &s);
    check_counters(&s, 100000, 5200000, 2);
    /* What was given stays as it is. */
    check_own(&look.own, 200000, 1);
    check_own(&ended, 5000000, 1);
    ended.io[TASK_IO_READ_BYTES] = UINT64_MAX - 5;
    task_sample(&look, &ended, &units, &s);
    assert_true(s.counter[COUNTER_STORAGE_READ_BYTES] == UINT64_MAX);
}

static void larger_pages(void **state)
{
    static const struct task_units large = {.ticks_per_second = 100, .page_size = 65536};
    struct process_record record = leader_of(7, 70, 1, 3);
    struct look look = look_of(&record);
    struct sample s = leftovers();

    (void)state;
    record.anon_pages = look.record.anon_pages = UINT64_C(1) << 40;
    task_sample(&look, NULL, &large, &s);
    check_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, UINT64_C(1) << 56);
    check_gauge(&s, GAUGE_VIRTUAL_BYTES, 16 * 65536);
    check_gauge(&s, GAUGE_MAPPINGS, 17);
}

/* As stat prints them: rounded down, whatever the rate. */
static void start_ticks(void **state)
{
    static const struct {
        uint64_t ns;
        uint32_t per_second;
        uint64_t ticks;
    } rows[] = {
        {0, 100, 0},
        {9999999, 100, 0},
        {10000000, 100, 1},
        {1239999999, 100, 123},
        {86400000000000 * 3650, 100, UINT64_C(31536000000)},
        {3999999, 250, 0},
        {1000000000, 250, 250},
        {999999, 1000, 0},
        {5000000, 1000, 5},
        {UINT64_MAX, 100, UINT64_MAX / 10000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct task_units other = {rows[i].per_second, 4096};
        struct process_record record = leader_of(7, 70, 1, 1);
        struct process_ended end = {process_end_of(7, 70, 1)};
        struct look look = look_of(&record);
        struct sample s = leftovers();

        look.record.start_ns = end.end.start_ns = rows[i].ns;
        task_sample(&look, NULL, &other, &s);
        assert_int_equal(s.identity.start_ticks, rows[i].ticks);
        /* A process has one identity, alive and ended. */
        s = leftovers();
        task_sample_end(&end, &other, &s);
        assert_int_equal(s.identity.start_ticks, rows[i].ticks);
    }
}

static void states(void **state)
{
    static const struct {
        char letter;
        enum state state;
    } rows[] = {
        {'R', STATE_RUNNING}, {'S', STATE_SLEEPING}, {'D', STATE_DISK_SLEEP}, {'T', STATE_STOPPED},
        {'Z', STATE_ZOMBIE},  {'t', STATE_OTHER},    {'I', STATE_OTHER},      {'P', STATE_OTHER},
        {'X', STATE_OTHER},   {'\0', STATE_OTHER},   {'?', STATE_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct process_record record = leader_of(7, 70, 1, 1);

        record.state = (uint32_t)rows[i].letter;
        assert_int_equal(sample_of(&record).state, rows[i].state);
    }
}

/* Any bytes, and without an end where there is no room for one. */
static void names(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 1);
    struct process_ended end = {process_end_of(7, 70, 1)};
    struct sample s = leftovers();

    (void)state;
    memcpy(record.comm, "0123456789abcdef", TASK_COMM_SIZE);
    /* What is behind it in the record has no zero either. */
    record.task.head.pid = UINT32_MAX;
    s = sample_of(&record);
    check_comm(&s, "0123456789abcdef");
    memcpy(record.comm, "0123456789abcde", TASK_COMM_SIZE);
    s = sample_of(&record);
    check_comm(&s, "0123456789abcde");
    memset(record.comm, 0, TASK_COMM_SIZE);
    s = sample_of(&record);
    check_comm(&s, "");
    memcpy(record.comm, "a)\n \xff\0behind", 12);
    s = sample_of(&record);
    check_comm(&s, "a)\n \xff");
    memcpy(end.end.comm, "fedcba9876543210", TASK_COMM_SIZE);
    s = leftovers();
    task_sample_end(&end, &units, &s);
    check_comm(&s, "fedcba9876543210");
}

static void kernel_thread(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 1);
    struct sample s;

    (void)state;
    record.flags = TASK_KERNEL_THREAD | TASK_HAS_FILES | TASK_FDS_COUNTED;
    record.state = 'I';
    s = sample_of(&record);
    assert_true(s.kernel_thread);
    assert_false(s.ending);
    assert_int_equal(s.state, STATE_OTHER);
    assert_int_equal(s.have_gauges, all_gauges);
    check_no_memory(&s);
    check_gauge(&s, GAUGE_OPEN_FDS, 18);
    check_counters(&s, 100000, 200000, 1);
}

static void zombie(void **state)
{
    struct process_record record = dead_leader_of(7, 70, 1, 1);
    struct sample s;

    (void)state;
    /* Numbers without their flag mean nothing. */
    record.anon_pages = record.virtual_pages = 77;
    record.mappings = record.open_fds = 77;
    s = sample_of(&record);
    assert_int_equal(s.state, STATE_ZOMBIE);
    assert_true(s.ending);
    assert_false(s.exited_leader);
    assert_int_equal(s.have_gauges, all_gauges);
    check_no_memory(&s);
    check_gauge(&s, GAUGE_OPEN_FDS, 0);
    check_gauge(&s, GAUGE_OPEN_FDS_LIMIT, 1024);
    check_gauge(&s, GAUGE_THREADS, 1);
    check_counters(&s, 100000, 200000, 1);
}

/* Not a zombie yet, but on its way. */
static void exiting(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 1);
    struct sample s;

    (void)state;
    record.flags |= TASK_EXITING;
    s = sample_of(&record);
    assert_true(s.ending);
    assert_false(s.exited_leader);
    check_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, 11 * 4096);
}

static void exited_leader_with_a_thread_found(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 3);
    struct look look = look_of(&record);
    struct sample s = leftovers();

    (void)state;
    look.has_stand_in = true;
    task_sample(&look, NULL, &units, &s);
    assert_true(s.exited_leader);
    assert_false(s.ending);
    assert_int_equal(s.state, STATE_SLEEPING);
    assert_int_equal(s.have_gauges, all_gauges & ~BIT(GAUGE_PROPORTIONAL_BYTES));
    check_gauge(&s, GAUGE_RESIDENT_ANON_BYTES, 11 * 4096);
    check_gauge(&s, GAUGE_OPEN_FDS, 18);
    check_gauge(&s, GAUGE_THREADS, 3);
}

/* There is memory, but nobody saw how much. */
static void exited_leader_without_a_thread_found(void **state)
{
    struct process_record record = dead_leader_of(7, 70, 1, 3);
    struct sample s = sample_of(&record);

    (void)state;
    assert_false(s.exited_leader);
    assert_int_equal(s.state, STATE_ZOMBIE);
    assert_int_equal(s.have_gauges, BIT(GAUGE_THREADS) | BIT(GAUGE_OPEN_FDS_LIMIT));
    check_gauge(&s, GAUGE_THREADS, 3);
    check_counters(&s, 100000, 200000, 1);
}

/* An address space whose counters could not be read whole. */
static void memory_is_not_known(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 1);
    struct sample s;

    (void)state;
    record.flags &= ~(uint32_t)TASK_MEMORY_KNOWN;
    s = sample_of(&record);
    assert_int_equal(s.have_gauges,
                     all_gauges & ~counters_of_memory & ~BIT(GAUGE_PROPORTIONAL_BYTES));
    check_gauge(&s, GAUGE_VIRTUAL_BYTES, 16 * 4096);
    check_gauge(&s, GAUGE_MAPPINGS, 17);
    /* Counters of an address space that was let go of meanwhile. */
    record.flags = (record.flags | TASK_MEMORY_KNOWN) & ~(uint32_t)TASK_HAS_MEMORY;
    s = sample_of(&record);
    assert_int_equal(s.have_gauges, all_gauges);
    check_no_memory(&s);
}

static void descriptors(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 1);
    struct sample s;

    (void)state;
    record.flags &= ~(uint32_t)TASK_FDS_COUNTED;
    s = sample_of(&record);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS));
    record.flags &= ~(uint32_t)TASK_HAS_FILES;
    s = sample_of(&record);
    check_gauge(&s, GAUGE_OPEN_FDS, 0);
    record.flags |= TASK_FDS_COUNTED;
    s = sample_of(&record);
    check_gauge(&s, GAUGE_OPEN_FDS, 0);
    record.open_fds_limit = UINT64_MAX;
    s = sample_of(&record);
    assert_true(s.gauge[GAUGE_OPEN_FDS_LIMIT] == SAMPLE_UNLIMITED);
    record.open_fds_limit = 0;
    s = sample_of(&record);
    check_gauge(&s, GAUGE_OPEN_FDS_LIMIT, 0);
}

/* 0 is no number of threads. */
static void threads(void **state)
{
    struct process_record record = leader_of(7, 70, 1, 0);
    struct sample s = sample_of(&record);

    (void)state;
    assert_false(sample_has_gauge(&s, GAUGE_THREADS));
    record.threads = 50000;
    s = sample_of(&record);
    check_gauge(&s, GAUGE_THREADS, 50000);
}

static void ended(void **state)
{
    struct process_ended end = {process_end_of(7, 70, 300000)};
    struct sample s = leftovers();

    (void)state;
    task_sample_end(&end, &units, &s);
    assert_int_equal(s.identity.pid, 7);
    assert_int_equal(s.identity.start_ticks, 789);
    assert_int_equal(s.parent_pid, 21);
    assert_true(s.have_uid);
    assert_int_equal(s.uid, 22);
    assert_false(s.kernel_thread);
    assert_false(s.exited_leader);
    assert_true(s.ending);
    assert_int_equal(s.state, STATE_ZOMBIE);
    check_comm(&s, "ended");
    check_counters(&s, 300000, 300000, 1);
    assert_int_equal(s.have_gauges, 0);
    end.end.task.flags = TASK_KERNEL_THREAD;
    task_sample_end(&end, &units, &s);
    assert_true(s.kernel_thread);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),
        cmocka_unit_test(ended_threads_are_added),
        cmocka_unit_test(larger_pages),
        cmocka_unit_test(start_ticks),
        cmocka_unit_test(states),
        cmocka_unit_test(names),
        cmocka_unit_test(kernel_thread),
        cmocka_unit_test(zombie),
        cmocka_unit_test(exiting),
        cmocka_unit_test(exited_leader_with_a_thread_found),
        cmocka_unit_test(exited_leader_without_a_thread_found),
        cmocka_unit_test(memory_is_not_known),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(threads),
        cmocka_unit_test(ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
