/* The host's counters never fall, whatever /proc/stat does. */
#include "track/host_marks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000u, MS = 1000000u;

static struct cpu_times times(uint64_t user, uint64_t idle)
{
    return (struct cpu_times){.columns = CPU_MODE_N, .ns = {[CPU_USER] = user, [CPU_IDLE] = idle}};
}

static void test_fields_are_held(void **state)
{
    static const enum host_field counters[] = {HOST_CONTEXT_SWITCHES, HOST_INTERRUPTS,
                                               HOST_TASKS_CREATED};
    struct host_marks m;

    (void)state;
    host_marks_init(&m);
    for (size_t i = 0; i < 3; i++) {
        static const uint64_t shown[] = {100, 90, 0, 101}, held[] = {100, 100, 100, 101};

        for (size_t k = 0; k < 4; k++) {
            struct host h = {0};

            host_set(&h, counters[i], shown[k]);
            assert_int_equal(host_marks_hold(&m, &h, 0), 0);
            assert_int_equal(h.field[counters[i]], held[k]);
        }
    }
    host_marks_deinit(&m);
}

/* Levels fall as they like, and what was not read stays unknown. */
static void test_levels_are_not_held(void **state)
{
    struct host_marks m;
    struct host h = {0};

    (void)state;
    host_marks_init(&m);
    host_set(&h, HOST_PROCESSES_RUNNING, 9);
    host_set(&h, HOST_CONTEXT_SWITCHES, 50);
    assert_int_equal(host_marks_hold(&m, &h, 0), 0);
    h = (struct host){0};
    host_set(&h, HOST_PROCESSES_RUNNING, 2);
    assert_int_equal(host_marks_hold(&m, &h, 0), 0);
    assert_int_equal(h.field[HOST_PROCESSES_RUNNING], 2);
    assert_false(host_has(&h, HOST_CONTEXT_SWITCHES));
    assert_int_equal(h.cpu.columns, 0);
    host_marks_deinit(&m);
}

static void test_softirqs_are_held(void **state)
{
    struct host_marks m;
    struct host h = {.softirqs = 3, .softirq = {5, 6, 7}};

    (void)state;
    host_marks_init(&m);
    assert_int_equal(host_marks_hold(&m, &h, 0), 0);
    h = (struct host){.softirqs = 3, .softirq = {4, 9, 0}};
    assert_int_equal(host_marks_hold(&m, &h, 0), 0);
    assert_int_equal(h.softirq[0], 5);
    assert_int_equal(h.softirq[1], 9);
    assert_int_equal(h.softirq[2], 7);
    host_marks_deinit(&m);
}

static void test_guest_is_taken_out(void **state)
{
    static const struct {
        uint32_t columns;
        uint64_t user, nice, guest, guest_nice, user_shown, nice_shown;
    } rows[] = {
        {CPU_MODE_N, 100, 50, 30, 20, 70, 30},
        {CPU_MODE_N, 30, 20, 30, 20, 0, 0},
        {CPU_MODE_N, 29, 19, 30, 20, 0, 0}, /* torn: never a huge number */
        {CPU_GUEST_NICE, 100, 50, 30, 20, 70, 50},
        {CPU_GUEST, 100, 50, 30, 20, 100, 50}, /* an old kernel prints neither */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cpu_times t = {.columns = rows[i].columns,
                              .ns = {[CPU_USER] = rows[i].user,
                                     [CPU_NICE] = rows[i].nice,
                                     [CPU_GUEST] = rows[i].guest,
                                     [CPU_GUEST_NICE] = rows[i].guest_nice}};
        struct cpu_row row = {.cpu = 3, .times = t};
        struct host h = {.cpu = t, .cpus = &row, .n_cpus = 1};
        struct host_marks m;

        host_marks_init(&m);
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.cpu.ns[CPU_USER], rows[i].user_shown);
        assert_int_equal(h.cpu.ns[CPU_NICE], rows[i].nice_shown);
        assert_int_equal(h.cpus[0].times.ns[CPU_USER], rows[i].user_shown);
        assert_int_equal(h.cpus[0].times.ns[CPU_NICE], rows[i].nice_shown);
        host_marks_deinit(&m);
    }
}

/* The guest's sum runs ahead of the user's: the difference dips, what is shown does not. */
static void test_user_without_guest_is_held(void **state)
{
    static const uint64_t user[] = {100, 105, 140}, guest[] = {30, 40, 41}, shown[] = {70, 70, 99};
    struct host_marks m;

    (void)state;
    host_marks_init(&m);
    for (size_t i = 0; i < 3; i++) {
        struct host h = {
            .cpu = {.columns = CPU_MODE_N, .ns = {[CPU_USER] = user[i], [CPU_GUEST] = guest[i]}}};

        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.cpu.ns[CPU_USER], shown[i]);
        assert_int_equal(h.cpu.ns[CPU_GUEST], guest[i]);
    }
    host_marks_deinit(&m);
}

static void test_iowait_steps_back(void **state)
{
    static const uint64_t iowait[] = {500, 480, 0, 510}, shown[] = {500, 500, 500, 510};
    struct host_marks m;

    (void)state;
    host_marks_init(&m);
    for (size_t i = 0; i < 4; i++) {
        struct cpu_times t = {.columns = CPU_MODE_N, .ns = {[CPU_IOWAIT] = iowait[i]}};
        struct cpu_row row = {.cpu = 0, .times = t};
        struct host h = {.cpu = t, .cpus = &row, .n_cpus = 1};

        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.cpu.ns[CPU_IOWAIT], shown[i]);
        assert_int_equal(h.cpus[0].times.ns[CPU_IOWAIT], shown[i]);
    }
    host_marks_deinit(&m);
}

struct rows_step {
    size_t n;
    struct {
        uint32_t cpu;
        uint64_t user, idle;             /* as read */
        uint64_t user_shown, idle_shown; /* as held */
    } row[4];
};

static void check_rows(const struct rows_step *steps, size_t n)
{
    struct host_marks m;

    host_marks_init(&m);
    for (size_t i = 0; i < n; i++) {
        struct cpu_row rows[4];
        struct host h = {.cpus = rows, .n_cpus = steps[i].n, .cpu = times(1000, 1000)};

        for (size_t k = 0; k < steps[i].n; k++)
            rows[k] = (struct cpu_row){
                .cpu = steps[i].row[k].cpu,
                .times = times(steps[i].row[k].user, steps[i].row[k].idle * SECOND)};
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.n_cpus, steps[i].n);
        for (size_t k = 0; k < steps[i].n; k++)
            if (h.cpus[k].cpu != steps[i].row[k].cpu ||
                h.cpus[k].times.ns[CPU_USER] != steps[i].row[k].user_shown ||
                h.cpus[k].times.ns[CPU_IDLE] != steps[i].row[k].idle_shown * SECOND)
                fail_msg("step %zu, row %zu: cpu%u %lu %lu", i, k, h.cpus[k].cpu,
                         h.cpus[k].times.ns[CPU_USER], h.cpus[k].times.ns[CPU_IDLE]);
    }
    host_marks_deinit(&m);
}

#define CHECK_ROWS(steps) check_rows(steps, sizeof(steps) / sizeof((steps)[0]))

/* Case 21: keyed by the number in the name, and no CPU shows another one's numbers. */
static void test_hotplug(void **state)
{
    static const struct rows_step steps[] = {
        {4,
         {{0, 100, 10, 100, 10},
          {4, 200, 50, 200, 50},
          {8, 300, 30, 300, 30},
          {12, 400, 40, 400, 40}}},
        {2, {{0, 101, 10, 101, 10}, {8, 300, 31, 300, 31}}},
        {4,
         {{0, 101, 10, 101, 10},
          {4, 200, 0, 200, 0},
          {8, 300, 31, 300, 31},
          {12, 400, 40, 400, 40}}},
        {4, {{0, 99, 11, 101, 11}, {4, 199, 1, 200, 1}, {8, 300, 30, 300, 31}, {511, 5, 6, 5, 6}}},
        {1, {{511, 4, 7, 5, 7}}},
    };

    (void)state;
    CHECK_ROWS(steps);
}

/* A CPU that comes between two others with numbers like theirs is not taken for one of them. */
static void test_cpu_between_others(void **state)
{
    static const struct rows_step steps[] = {
        {2, {{0, 300, 30, 300, 30}, {8, 300, 30, 300, 30}}},
        {3, {{0, 300, 30, 300, 30}, {4, 200, 29, 200, 29}, {8, 299, 30, 300, 30}}},
        {1, {{4, 199, 29, 200, 29}}},
        {2, {{3, 150, 29, 150, 29}, {5, 160, 29, 160, 29}}},
    };

    (void)state;
    CHECK_ROWS(steps);
}

/* Idle that falls by more than three seconds is a CPU that began anew; the rest goes on. */
static void test_cpu_began_anew(void **state)
{
    static const struct rows_step steps[] = {
        {2, {{0, 100, 100, 100, 100}, {1, 200, 100, 200, 100}}},
        {2, {{0, 99, 97, 100, 100}, {1, 199, 96, 200, 96}}},
        {2, {{0, 101, 98, 101, 100}, {1, 201, 95, 201, 96}}},
        {2, {{0, 101, 0, 101, 0}, {1, 6, 97, 201, 97}}},
    };

    (void)state;
    CHECK_ROWS(steps);
}

/* Milliseconds of idle and iowait of a CPU that was away, before, after, and as shown then. */
static void test_cpu_returns(void **state)
{
    static const struct {
        uint64_t before[2], after[2], shown[2];
    } rows[] = {
        {{90000, 60000}, {90010, 60010}, {90010, 60010}},
        {{90000, 60000}, {89990, 59980}, {90000, 60000}}, /* a little lower */
        {{90000, 60000}, {0, 20}, {0, 20}},               /* anew */
        {{90000, 60000}, {0, 59980}, {0, 60000}},         /* idle alone */
        {{90000, 60000}, {89990, 0}, {90000, 60000}},     /* what slept was idle after all */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cpu_row row[2] = {{.cpu = 0, .times = times(1, 1)},
                                 {.cpu = 5, .times = times(70, rows[i].before[0] * MS)}};
        struct host h = {.cpus = row, .n_cpus = 2};
        struct host_marks m;

        row[1].times.ns[CPU_IOWAIT] = rows[i].before[1] * MS;
        host_marks_init(&m);
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        for (unsigned away = 0; away < 3; away++) {
            h = (struct host){.cpus = row, .n_cpus = 1};
            assert_int_equal(host_marks_hold(&m, &h, 0), 0);
            assert_int_equal(h.n_cpus, 1);
        }
        row[1].times = times(70, rows[i].after[0] * MS);
        row[1].times.ns[CPU_IOWAIT] = rows[i].after[1] * MS;
        h = (struct host){.cpus = row, .n_cpus = 2};
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.cpus[1].cpu, 5);
        assert_int_equal(h.cpus[1].times.ns[CPU_USER], 70);
        assert_int_equal(h.cpus[1].times.ns[CPU_IDLE], rows[i].shown[0] * MS);
        assert_int_equal(h.cpus[1].times.ns[CPU_IOWAIT], rows[i].shown[1] * MS);
        host_marks_deinit(&m);
    }
}

struct sums_step {
    uint64_t now;    /* s */
    uint32_t online; /* CPUs */
    uint64_t user, idle, iowait, idle_shown, iowait_shown;
};

static void check_sums(const struct sums_step *steps, size_t n, bool clock)
{
    uint64_t user = 0;
    struct host_marks m;

    host_marks_init(&m);
    for (size_t i = 0; i < n; i++) {
        struct host h = {.cpu = times(steps[i].user, steps[i].idle * SECOND),
                         .cpus_online = steps[i].online};

        h.cpu.ns[CPU_IOWAIT] = steps[i].iowait * SECOND;
        assert_int_equal(host_marks_hold(&m, &h, clock ? steps[i].now * SECOND : 0), 0);
        if (h.cpu.ns[CPU_IDLE] != steps[i].idle_shown * SECOND ||
            h.cpu.ns[CPU_IOWAIT] != steps[i].iowait_shown * SECOND)
            fail_msg("step %zu: %lu %lu", i, h.cpu.ns[CPU_IDLE], h.cpu.ns[CPU_IOWAIT]);
        user = steps[i].user > user ? steps[i].user : user;
        assert_int_equal(h.cpu.ns[CPU_USER], user);
    }
    host_marks_deinit(&m);
}

#define CHECK_SUMS(steps, clock) check_sums(steps, sizeof(steps) / sizeof((steps)[0]), clock)

/* One of four CPUs goes and comes back: other accounts of its idle time, as kernels have them. */
static void test_sums_over_a_cpu_that_is_away(void **state)
{
    static const struct sums_step anew[] = {
        {100, 4, 50, 4000, 800, 4000, 800}, {110, 3, 51, 4720, 790, 4000, 800},
        {120, 3, 52, 4740, 791, 4020, 801}, {130, 4, 53, 3050, 600, 4020, 801},
        {140, 4, 54, 3085, 601, 4055, 802}, {150, 3, 55, 4800, 799, 4055, 802},
        {160, 3, 56, 4829, 799, 4084, 802},
    };
    static const struct sums_step kept[] = {
        {100, 4, 50, 4000, 800, 4000, 800}, {110, 3, 49, 3000, 790, 4000, 800},
        {120, 3, 52, 3020, 791, 4020, 801}, {130, 4, 53, 4040, 800, 4020, 801},
        {140, 4, 54, 4075, 801, 4055, 802},
    };

    (void)state;
    CHECK_SUMS(anew, true);
    CHECK_SUMS(kept, true);
}

/* Small steps are held as ever, and what time allows is never taken for anything else. */
static void test_sums_that_go_on(void **state)
{
    static const struct sums_step steps[] = {
        {100, 4, 50, 4000, 800, 4000, 800},   {110, 4, 51, 4043, 801, 4043, 801},
        {111, 4, 51, 4041, 700, 4043, 801},   {112, 3, 51, 4044, 802, 4044, 802},
        {3712, 4, 9, 18447, 803, 18447, 803}, /* an hour without a look */
    };
    /* Files that no kernel keeps rise as they like. */
    static const struct sums_step tree[] = {
        {100, 4, 50, 4000, 800, 4000, 800},
        {101, 4, 51, 9000, 1900, 9000, 1900},
        {102, 4, 51, 5000, 1901, 9000, 1900},
        {103, 4, 51, 5001, 1902, 9001, 1901},
    };

    (void)state;
    CHECK_SUMS(steps, true);
    CHECK_SUMS(tree, false);
}

static void test_counts_wrap_around(void **state)
{
    static const uint64_t wrap = UINT64_C(1) << 32;
    const uint64_t seen[] = {9 * wrap + 5, 8 * wrap + 7, 8 * wrap + 6, 8 * wrap + 10};
    const uint64_t shown[] = {9 * wrap + 5, 9 * wrap + 7, 9 * wrap + 7, 9 * wrap + 10};
    struct host_marks m;

    (void)state;
    host_marks_init(&m);
    for (size_t i = 0; i < 4; i++) {
        struct host h = {.softirqs = 1, .softirq = {(uint32_t)(seen[i] - 6)}};

        host_set(&h, HOST_INTERRUPTS, seen[i]);
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_int_equal(h.field[HOST_INTERRUPTS], shown[i]);
        assert_int_equal(h.softirq[0], shown[i] - 6 - 8 * wrap);
    }
    host_marks_deinit(&m);
}

static void hold_all(struct host_marks *m, uint64_t switches, uint64_t idle, uint64_t net_rx,
                     const uint64_t shown[static 3])
{
    struct host h = {.cpu = times(7, idle), .softirqs = SOFTIRQ_N};

    h.softirq[SOFTIRQ_NET_RX] = net_rx;
    host_set(&h, HOST_CONTEXT_SWITCHES, switches);
    assert_int_equal(host_marks_hold(m, &h, 0), 0);
    assert_int_equal(h.field[HOST_CONTEXT_SWITCHES], shown[0]);
    assert_int_equal(h.cpu.ns[CPU_IDLE], shown[1]);
    assert_int_equal(h.softirq[SOFTIRQ_NET_RX], shown[2]);
    assert_int_equal(h.cpu.ns[CPU_USER], 7);
}

/* Another daemon goes on from there, however far from the kernel's count that is. */
static void test_over_a_restart(void **state)
{
    static const uint64_t wrap = UINT64_C(1) << 32;
    struct host_marks m, after;
    struct span rest;
    struct buf bytes;

    (void)state;
    host_marks_init(&m);
    host_marks_init(&after);
    buf_init(&bytes, 1 << 20);
    hold_all(&m, 900, 90 * SECOND, wrap - 1, (uint64_t[]){900, 90 * SECOND, wrap - 1});
    hold_all(&m, 890, 20 * SECOND, 3, (uint64_t[]){900, 90 * SECOND, wrap + 3});
    host_marks_encode(&m, &bytes);
    buf_append_str(&bytes, "more");
    rest = buf_span(&bytes);
    assert_int_equal(host_marks_decode(&rest, &after), 0);
    assert_true(span_equal(rest, SPAN_LITERAL("more")));
    hold_all(&after, 899, 21 * SECOND, 2, (uint64_t[]){900, 91 * SECOND, wrap + 3});
    hold_all(&after, 902, 22 * SECOND, 5, (uint64_t[]){902, 92 * SECOND, wrap + 5});
    host_marks_deinit(&m);
    host_marks_deinit(&after);
    buf_deinit(&bytes);
}

static void test_bytes_that_are_no_marks(void **state)
{
    static const uint64_t heads[][2] = {{1025, 0}, {UINT64_MAX, 0}, {UINT64_C(1) << 60, 0}, {0, 1}};
    static const uint64_t other[] = {2, 0, 5, 5, 6, 6, 1};
    struct host_marks m, none = {0};
    struct span rest;
    struct buf bytes;

    (void)state;
    host_marks_init(&m);
    buf_init(&bytes, 1 << 20);
    hold_all(&m, 900, 90, 5, (uint64_t[]){900, 90, 5});
    host_marks_encode(&m, &bytes);
    host_marks_deinit(&m);
    host_marks_init(&m);
    for (size_t n = 0; n < bytes.len; n++) {
        rest = span_of(bytes.data, n);
        assert_int_equal(host_marks_decode(&rest, &m), -EBADMSG);
        assert_int_equal(rest.n, n);
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        memcpy(bytes.data, heads[i], sizeof(heads[i]));
        rest = buf_span(&bytes);
        assert_int_equal(host_marks_decode(&rest, &m), -EBADMSG);
    }
    /* Those of another version are passed over. */
    rest = span_of((const char *)other, sizeof(other));
    assert_int_equal(host_marks_decode(&rest, &m), 0);
    assert_int_equal(rest.n, sizeof(uint64_t));
    assert_memory_equal(&m, &none, sizeof(m));
    buf_deinit(&bytes);
}

/* /proc/stat could not be read once, or its rows were not wanted: the marks outlast that. */
static void test_rows_outlast_a_cycle_without(void **state)
{
    static const struct rows_step steps[] = {
        {2, {{0, 100, 100, 100, 100}, {1, 200, 100, 200, 100}}},
        {0, {{0}}},
        {2, {{0, 99, 99, 100, 100}, {1, 199, 101, 200, 101}}},
    };

    (void)state;
    CHECK_ROWS(steps);
}

static void test_many_cpus(void **state)
{
    enum { CPUS = 4096 };
    static struct cpu_row rows[CPUS];
    struct host_marks m;

    (void)state;
    host_marks_init(&m);
    for (uint64_t cycle = 0; cycle < 3; cycle++) {
        struct host h = {.cpus = rows, .n_cpus = CPUS};

        for (uint32_t i = 0; i < CPUS; i++)
            rows[i] = (struct cpu_row){.cpu = 2 * i,
                                       .times = times(1000 + i - 7 * cycle, cycle * SECOND)};
        assert_int_equal(host_marks_hold(&m, &h, 0), 0);
        assert_true(h.cpus != rows);
        for (uint32_t i = 0; i < CPUS; i++) {
            assert_int_equal(h.cpus[i].cpu, 2 * i);
            assert_int_equal(h.cpus[i].times.ns[CPU_USER], 1000 + i);
            assert_int_equal(h.cpus[i].times.ns[CPU_IDLE], cycle * SECOND);
        }
    }
    host_marks_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_are_held),
        cmocka_unit_test(test_levels_are_not_held),
        cmocka_unit_test(test_softirqs_are_held),
        cmocka_unit_test(test_guest_is_taken_out),
        cmocka_unit_test(test_user_without_guest_is_held),
        cmocka_unit_test(test_iowait_steps_back),
        cmocka_unit_test(test_hotplug),
        cmocka_unit_test(test_cpu_between_others),
        cmocka_unit_test(test_cpu_began_anew),
        cmocka_unit_test(test_cpu_returns),
        cmocka_unit_test(test_sums_over_a_cpu_that_is_away),
        cmocka_unit_test(test_sums_that_go_on),
        cmocka_unit_test(test_counts_wrap_around),
        cmocka_unit_test(test_over_a_restart),
        cmocka_unit_test(test_bytes_that_are_no_marks),
        cmocka_unit_test(test_rows_outlast_a_cycle_without),
        cmocka_unit_test(test_many_cpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
