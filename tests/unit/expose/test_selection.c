/* Which families are on, and what each makes the sources read. */
#include "expose/selection.h"
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define C(id) (UINT32_C(1) << COUNTER_##id)
#define G(id) (UINT32_C(1) << GAUGE_##id)
#define P(id) (UINT32_C(1) << PART_##id)
#define H(id) (UINT32_C(1) << HOST_PART_##id)
#define T(id) (UINT32_C(1) << THREAD_##id)

static bool has(const struct selection *s, const char *name)
{
    return selection_has(s, (unsigned)(fixture_family(name) - families));
}

static size_t count(const struct selection *s)
{
    size_t n = 0;

    for (unsigned i = 0; i < 64 * SELECTION_WORDS; i++)
        n += selection_has(s, i);
    return n;
}

static size_t count_scope(enum family_scope scope)
{
    size_t n = 0;

    for (unsigned i = 0; i < FAMILY_N; i++)
        n += families[i].scope == scope;
    return n;
}

/* What is opt-in is a promise to users: a change of the default page must show here. */
static void defaults(void **state)
{
    static const char *const opt_in[] = {
        "proctally_group_newest_start_time_seconds",
        "proctally_group_info",
        "proctally_group_virtual_memory_bytes",
        "proctally_group_peak_resident_memory_bytes",
        "proctally_group_proportional_memory_bytes",
        "proctally_group_mappings",
        "proctally_group_storage_cancelled_write_bytes_total",
        "proctally_group_syscall_read_bytes_total",
        "proctally_group_syscall_written_bytes_total",
        "proctally_group_read_syscalls_total",
        "proctally_group_write_syscalls_total",
        "proctally_host_softirqs_total",
        "proctally_host_per_cpu_seconds_total",
    };
    size_t n = sizeof(opt_in) / sizeof(*opt_in);
    struct selection s;

    (void)state;
    selection_default(&s);
    for (size_t i = 0; i < n; i++)
        assert_false(has(&s, opt_in[i]));
    assert_int_equal(count(&s),
                     FAMILY_N - n - count_scope(FAMILY_PROCESS) - count_scope(FAMILY_COMPAT));
}

/* Those that wait for a setting of their own. */
static void scopes_turn_on_and_off(void **state)
{
    struct selection s, before;

    (void)state;
    selection_default(&s);
    before = s;
    assert_false(has(&s, "proctally_process_cpu_seconds_total"));
    selection_turn_on(&s, FAMILY_PROCESS);
    assert_true(has(&s, "proctally_process_cpu_seconds_total"));
    assert_int_equal(count(&s), count(&before) + count_scope(FAMILY_PROCESS));
    selection_turn_off(&s, FAMILY_PROCESS);
    assert_memory_equal(&s, &before, sizeof(s));
}

static void globs_turn_on_and_off(void **state)
{
    struct selection s = {0};

    (void)state;
    assert_int_equal(selection_include(&s, SPAN_LITERAL("proctally_group_*_syscalls_total")), 2);
    assert_int_equal(count(&s), 2);
    assert_true(has(&s, "proctally_group_read_syscalls_total"));
    assert_int_equal(selection_include(&s, SPAN_LITERAL("proctally_group_mappings")), 1);
    assert_int_equal(selection_exclude(&s, SPAN_LITERAL("proctally_*write*")), 2);
    assert_false(has(&s, "proctally_group_write_syscalls_total"));
    assert_int_equal(count(&s), 2);
    assert_int_equal(selection_include(&s, SPAN_LITERAL("process_*")), 8);
    assert_int_equal(selection_include(&s, SPAN_LITERAL("*")), FAMILY_N);
    assert_int_equal(count(&s), FAMILY_N);
    assert_int_equal(selection_exclude(&s, SPAN_LITERAL("*")), FAMILY_N);
    assert_int_equal(count(&s), 0);
}

/* 0 is what lets the caller tell a glob that names nothing; the metadata name names nothing. */
static void globs_that_name_nothing(void **state)
{
    struct selection s = {0};

    (void)state;
    assert_int_equal(selection_include(&s, SPAN_LITERAL("node_*")), 0);
    assert_int_equal(selection_include(&s, SPAN_LITERAL("proctally_group_cpu_seconds")), 0);
    assert_int_equal(selection_include(&s, SPAN_LITERAL("")), 0);
    assert_int_equal(count(&s), 0);
}

static void exact_names(void **state)
{
    struct selection s = {0};

    (void)state;
    assert_true(selection_add(&s, SPAN_LITERAL("proctally_group_cpu_seconds_total")));
    assert_true(selection_add(&s, SPAN_LITERAL("proctally_group_cpu_seconds")));
    assert_int_equal(count(&s), 1);
    assert_true(selection_add(&s, SPAN_LITERAL("proctally_group_processes")));
    assert_int_equal(count(&s), 2);
    assert_false(selection_add(&s, SPAN_LITERAL("proctally_group_*")));
    assert_false(selection_add(&s, SPAN_LITERAL("proctally_group_processe")));
    assert_false(selection_add(&s, SPAN_LITERAL("proctally_group_processes_total")));
    assert_false(selection_add(&s, SPAN_LITERAL("")));
    assert_int_equal(count(&s), 2);
}

struct need {
    const char *name;
    struct wanted wanted; /* PART_STAT is added */
};

/* Every row that needs more than PART_STAT. */
static const struct need needs[] = {
    {"proctally_group_threads", {0, 0, G(THREADS), 0, 0}},
    {"proctally_group_cpu_seconds_total", {0, C(CPU_USER_NS) | C(CPU_SYSTEM_NS), 0, 0, 0}},
    {"proctally_group_resident_memory_bytes",
     {P(STATUS), 0, G(RESIDENT_ANON_BYTES) | G(RESIDENT_FILE_BYTES) | G(RESIDENT_SHMEM_BYTES), 0,
      0}},
    {"proctally_group_swap_bytes", {P(STATUS), 0, G(SWAP_BYTES), 0, 0}},
    {"proctally_group_virtual_memory_bytes", {0, 0, G(VIRTUAL_BYTES), 0, 0}},
    {"proctally_group_peak_resident_memory_bytes", {P(STATUS), 0, G(PEAK_RESIDENT_BYTES), 0, 0}},
    {"proctally_group_proportional_memory_bytes", {P(SMAPS), 0, G(PROPORTIONAL_BYTES), 0, 0}},
    {"proctally_group_minor_page_faults_total", {0, C(MINOR_FAULTS), 0, 0, 0}},
    {"proctally_group_major_page_faults_total", {0, C(MAJOR_FAULTS), 0, 0, 0}},
    {"proctally_group_mappings", {P(MAPS), 0, G(MAPPINGS), 0, 0}},
    {"proctally_group_mappings_limit_ratio", {P(MAPS), 0, G(MAPPINGS), H(MAX_MAP_COUNT), 0}},
    {"proctally_group_storage_read_bytes_total", {P(IO), C(STORAGE_READ_BYTES), 0, 0, 0}},
    {"proctally_group_storage_written_bytes_total", {P(IO), C(STORAGE_WRITE_BYTES), 0, 0, 0}},
    {"proctally_group_storage_cancelled_write_bytes_total",
     {P(IO), C(CANCELLED_WRITE_BYTES), 0, 0, 0}},
    {"proctally_group_syscall_read_bytes_total", {P(IO), C(SYSCALL_READ_BYTES), 0, 0, 0}},
    {"proctally_group_syscall_written_bytes_total", {P(IO), C(SYSCALL_WRITE_BYTES), 0, 0, 0}},
    {"proctally_group_read_syscalls_total", {P(IO), C(READ_SYSCALLS), 0, 0, 0}},
    {"proctally_group_write_syscalls_total", {P(IO), C(WRITE_SYSCALLS), 0, 0, 0}},
    {"proctally_group_open_fds", {P(FD), 0, G(OPEN_FDS), 0, 0}},
    {"proctally_group_open_fds_limit_ratio",
     {P(FD) | P(LIMITS), 0, G(OPEN_FDS) | G(OPEN_FDS_LIMIT), 0, 0}},
    {"proctally_group_run_queue_seconds_total", {P(TASK), C(RUN_QUEUE_NS), 0, 0, 0}},
    {"proctally_group_voluntary_context_switches_total", {P(TASK), C(VOLUNTARY_SWITCHES), 0, 0, 0}},
    {"proctally_group_involuntary_context_switches_total",
     {P(TASK), C(INVOLUNTARY_SWITCHES), 0, 0, 0}},
    {"proctally_group_threads_by_name", {P(TASK), 0, 0, 0, 0}},
    {"proctally_group_thread_cpu_seconds_total",
     {P(TASK), 0, 0, 0, T(CPU_USER_NS) | T(CPU_SYSTEM_NS)}},
    {"proctally_group_thread_run_queue_seconds_total", {P(TASK), 0, 0, 0, T(RUN_QUEUE_NS)}},
    {"proctally_group_thread_voluntary_context_switches_total",
     {P(TASK), 0, 0, 0, T(VOLUNTARY_SWITCHES)}},
    {"proctally_group_thread_involuntary_context_switches_total",
     {P(TASK), 0, 0, 0, T(INVOLUNTARY_SWITCHES)}},
    {"proctally_process_cpu_seconds_total", {0, C(CPU_USER_NS) | C(CPU_SYSTEM_NS), 0, 0, 0}},
    {"proctally_process_resident_memory_bytes",
     {P(STATUS), 0, G(RESIDENT_ANON_BYTES) | G(RESIDENT_FILE_BYTES) | G(RESIDENT_SHMEM_BYTES), 0,
      0}},
    {"proctally_process_swap_bytes", {P(STATUS), 0, G(SWAP_BYTES), 0, 0}},
    {"proctally_process_major_page_faults_total", {0, C(MAJOR_FAULTS), 0, 0, 0}},
    {"proctally_process_storage_read_bytes_total", {P(IO), C(STORAGE_READ_BYTES), 0, 0, 0}},
    {"proctally_process_storage_written_bytes_total", {P(IO), C(STORAGE_WRITE_BYTES), 0, 0, 0}},
    {"proctally_process_open_fds", {P(FD), 0, G(OPEN_FDS), 0, 0}},
    {"proctally_process_threads", {0, 0, G(THREADS), 0, 0}},
    {"namedprocess_namegroup_num_threads", {0, 0, G(THREADS), 0, 0}},
    {"namedprocess_namegroup_cpu_seconds_total", {0, C(CPU_USER_NS) | C(CPU_SYSTEM_NS), 0, 0, 0}},
    {"namedprocess_namegroup_memory_bytes",
     {P(STATUS), 0,
      G(RESIDENT_ANON_BYTES) | G(RESIDENT_FILE_BYTES) | G(RESIDENT_SHMEM_BYTES) | G(SWAP_BYTES) |
          G(VIRTUAL_BYTES),
      0, 0}},
    {"namedprocess_namegroup_minor_page_faults_total", {0, C(MINOR_FAULTS), 0, 0, 0}},
    {"namedprocess_namegroup_major_page_faults_total", {0, C(MAJOR_FAULTS), 0, 0, 0}},
    {"namedprocess_namegroup_read_bytes_total", {P(IO), C(STORAGE_READ_BYTES), 0, 0, 0}},
    {"namedprocess_namegroup_write_bytes_total", {P(IO), C(STORAGE_WRITE_BYTES), 0, 0, 0}},
    {"namedprocess_namegroup_open_filedesc", {P(FD), 0, G(OPEN_FDS), 0, 0}},
    {"namedprocess_namegroup_worst_fd_ratio",
     {P(FD) | P(LIMITS), 0, G(OPEN_FDS) | G(OPEN_FDS_LIMIT), 0, 0}},
    {"proctally_host_cpu_seconds_total", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_per_cpu_seconds_total", {0, 0, 0, H(STAT) | H(CPUS), 0}},
    {"proctally_host_boot_time_seconds", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_context_switches_total", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_interrupts_total", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_softirqs_total", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_tasks_created_total", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_processes_running", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_processes_blocked", {0, 0, 0, H(STAT), 0}},
    {"proctally_host_tasks", {0, 0, 0, H(LOADAVG), 0}},
    {"proctally_host_tasks_limit", {0, 0, 0, H(PID_MAX) | H(THREADS_MAX), 0}},
    {"proctally_host_open_files", {0, 0, 0, H(FILE_NR), 0}},
    {"proctally_host_open_files_limit", {0, 0, 0, H(FILE_NR), 0}},
};

static struct wanted needs_of(const struct family *f)
{
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
        if (fixture_family(needs[i].name) == f)
            return needs[i].wanted;
    return (struct wanted){0};
}

static void every_row_wants_what_it_needs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FAMILY_N; i++) {
        struct wanted expected = needs_of(&families[i]), got;
        struct selection s = {0};

        selection_add(&s, families[i].name);
        selection_wanted(&s, &got);
        if (got.parts != (expected.parts | P(STAT)) || got.counters != expected.counters ||
            got.gauges != expected.gauges || got.host_parts != expected.host_parts ||
            got.threads != expected.threads)
            fail_msg("%s", families[i].name.p);
    }
}

static void wants_add_up(void **state)
{
    struct selection s = {0};
    struct wanted w;

    (void)state;
    selection_wanted(&s, &w);
    assert_int_equal(w.parts, P(STAT));
    assert_int_equal(w.counters | w.gauges | w.host_parts | w.threads, 0);
    selection_include(&s, SPAN_LITERAL("proctally_group_open_fds_limit_ratio"));
    selection_include(&s, SPAN_LITERAL("proctally_group_minor_page_faults_total"));
    selection_include(&s, SPAN_LITERAL("proctally_host_tasks"));
    selection_wanted(&s, &w);
    assert_int_equal(w.parts, P(STAT) | P(FD) | P(LIMITS));
    assert_int_equal(w.counters, C(MINOR_FAULTS));
    assert_int_equal(w.gauges, G(OPEN_FDS) | G(OPEN_FDS_LIMIT));
    assert_int_equal(w.host_parts, H(LOADAVG));
}

/* The costly file is read for its opt-in family alone. */
static void default_reads_no_smaps(void **state)
{
    struct selection s;
    struct wanted w;

    (void)state;
    selection_default(&s);
    selection_wanted(&s, &w);
    assert_int_equal(w.parts, P(STAT) | P(STATUS) | P(IO) | P(FD) | P(LIMITS) | P(MAPS) | P(TASK));
    assert_int_equal(w.host_parts & H(CPUS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(scopes_turn_on_and_off),
        cmocka_unit_test(globs_turn_on_and_off),
        cmocka_unit_test(globs_that_name_nothing),
        cmocka_unit_test(exact_names),
        cmocka_unit_test(every_row_wants_what_it_needs),
        cmocka_unit_test(wants_add_up),
        cmocka_unit_test(default_reads_no_smaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
