/* What totals that may misbehave come to. */
#include "track/delta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define BIT(field) (UINT32_C(1) << (field))

static const uint32_t ALL = (UINT32_C(1) << COUNTER_N) - 1;

/* A process and what was counted of it so far. */
struct fixture {
    struct bases bases;
    uint64_t steps_back[COUNTER_N];
    uint64_t sum[COUNTER_N];
};

static struct delta take(struct fixture *f, const struct sample *s, uint32_t counters,
                         enum first_total first)
{
    struct delta delta;

    delta_take(&f->bases, s, counters, first, f->steps_back, &delta);
    for (uint32_t rest = delta.known; rest; rest &= rest - 1)
        f->sum[__builtin_ctz(rest)] += delta.counter[__builtin_ctz(rest)];
    return delta;
}

static struct delta take_one(struct fixture *f, enum counter field, uint64_t total,
                             enum first_total first)
{
    struct sample s = {0};

    sample_set_counter(&s, field, total);
    return take(f, &s, ALL, first);
}

static void test_first_total(void **state)
{
    struct fixture news = {0}, found = {0};
    struct delta d;

    (void)state;
    d = take_one(&news, COUNTER_CPU_USER_NS, 70, FIRST_TOTAL_COUNTS);
    assert_int_equal(d.counter[COUNTER_CPU_USER_NS], 70);
    assert_int_equal(d.known, BIT(COUNTER_CPU_USER_NS));
    d = take_one(&found, COUNTER_CPU_USER_NS, 70, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(d.known, BIT(COUNTER_CPU_USER_NS));
    d = take_one(&found, COUNTER_CPU_USER_NS, 75, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_CPU_USER_NS], 5);
}

/* Only the first total of a field asks how to count. */
static void test_first_is_asked_once(void **state)
{
    struct fixture f = {0};

    (void)state;
    take_one(&f, COUNTER_MINOR_FAULTS, 10, FIRST_TOTAL_IS_BASE);
    assert_int_equal(
        take_one(&f, COUNTER_MINOR_FAULTS, 13, FIRST_TOTAL_COUNTS).counter[COUNTER_MINOR_FAULTS],
        3);
}

/* A zero is a total like any other, so the next one does not count as the first. */
static void test_zero_is_a_base(void **state)
{
    struct fixture f = {0};

    (void)state;
    take_one(&f, COUNTER_MAJOR_FAULTS, 0, FIRST_TOTAL_IS_BASE);
    assert_int_equal(
        take_one(&f, COUNTER_MAJOR_FAULTS, 9, FIRST_TOTAL_IS_BASE).counter[COUNTER_MAJOR_FAULTS],
        9);
}

/* io becomes readable (a capability was given): what was used before does not count. */
static void test_field_readable_later(void **state)
{
    struct fixture f = {0};
    struct delta d;

    (void)state;
    d = take_one(&f, COUNTER_CPU_USER_NS, 5, FIRST_TOTAL_COUNTS);
    assert_false(d.known & BIT(COUNTER_STORAGE_READ_BYTES));
    assert_int_equal(d.counter[COUNTER_STORAGE_READ_BYTES], 0);
    d = take_one(&f, COUNTER_STORAGE_READ_BYTES, 1000, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_STORAGE_READ_BYTES], 0);
    assert_int_equal(d.known, BIT(COUNTER_CPU_USER_NS) | BIT(COUNTER_STORAGE_READ_BYTES));
    d = take_one(&f, COUNTER_STORAGE_READ_BYTES, 1010, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_STORAGE_READ_BYTES], 10);
}

/* A field that cannot be read for a while keeps its base and catches up. */
static void test_field_missing_between(void **state)
{
    struct fixture f = {0};
    struct delta d;

    (void)state;
    take_one(&f, COUNTER_READ_SYSCALLS, 100, FIRST_TOTAL_COUNTS);
    d = take_one(&f, COUNTER_CPU_USER_NS, 1, FIRST_TOTAL_COUNTS);
    assert_int_equal(d.counter[COUNTER_READ_SYSCALLS], 0);
    assert_true(d.known & BIT(COUNTER_READ_SYSCALLS));
    d = take_one(&f, COUNTER_READ_SYSCALLS, 150, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_READ_SYSCALLS], 50);
    assert_int_equal(f.steps_back[COUNTER_READ_SYSCALLS], 0);
}

static void test_steps_back(void **state)
{
    struct fixture f = {0};

    (void)state;
    take_one(&f, COUNTER_CPU_USER_NS, 1000, FIRST_TOTAL_COUNTS);
    assert_int_equal(take_one(&f, COUNTER_CPU_USER_NS, 10, 0).counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(take_one(&f, COUNTER_CPU_USER_NS, 990, 0).counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(f.bases.highest[COUNTER_CPU_USER_NS], 1000);
    assert_int_equal(f.steps_back[COUNTER_CPU_USER_NS], 2);
    assert_int_equal(take_one(&f, COUNTER_CPU_USER_NS, 1000, 0).counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(f.steps_back[COUNTER_CPU_USER_NS], 2);
    assert_int_equal(take_one(&f, COUNTER_CPU_USER_NS, 1001, 0).counter[COUNTER_CPU_USER_NS], 1);
    assert_int_equal(f.sum[COUNTER_CPU_USER_NS], 1001);
}

/* The kernel splits user and system anew (2701), clocks are scaled (2702), sums tear (2703). */
static void test_case_27(void **state)
{
    static const struct {
        enum counter field;
        uint64_t totals[3], sums[3], steps_back;
    } rows[] = {
        {COUNTER_CPU_USER_NS, {1000, 998, 1050}, {1000, 1000, 1050}, 1},
        {COUNTER_CPU_SYSTEM_NS, {500, 503, 505}, {500, 503, 505}, 0},
        {COUNTER_CPU_USER_NS, {400, 390, 400}, {400, 400, 400}, 1},
        {COUNTER_CPU_SYSTEM_NS, {100, 99, 100}, {100, 100, 100}, 1},
        {COUNTER_MINOR_FAULTS, {5000, 4000, 5000}, {5000, 5000, 5000}, 1},
        {COUNTER_STORAGE_READ_BYTES, {90000, 80000, 90000}, {90000, 90000, 90000}, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture f = {0};

        for (size_t k = 0; k < 3; k++) {
            take_one(&f, rows[i].field, rows[i].totals[k],
                     k == 0 ? FIRST_TOTAL_COUNTS : FIRST_TOTAL_IS_BASE);
            if (f.sum[rows[i].field] != rows[i].sums[k])
                fail_msg("row %zu, cycle %zu: %lu", i, k, f.sum[rows[i].field]);
        }
        assert_int_equal(f.steps_back[rows[i].field], rows[i].steps_back);
    }
}

/* One field steps back, its neighbours count on. */
static void test_fields_are_independent(void **state)
{
    struct fixture f = {0};
    struct sample s = {0};
    struct delta d;

    (void)state;
    for (int i = 0; i < COUNTER_N; i++)
        sample_set_counter(&s, (enum counter)i, 100 + (uint64_t)i);
    take(&f, &s, ALL, FIRST_TOTAL_IS_BASE);
    for (int i = 0; i < COUNTER_N; i++)
        sample_set_counter(&s, (enum counter)i, i % 2 ? 50 : 200 + 2 * (uint64_t)i);
    d = take(&f, &s, ALL, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.known, ALL);
    for (int i = 0; i < COUNTER_N; i++) {
        assert_int_equal(d.counter[i], i % 2 ? 0 : 100 + i);
        assert_int_equal(f.steps_back[i], i % 2);
    }
}

static void test_top_of_the_range(void **state)
{
    struct fixture f = {0};
    struct delta d;

    (void)state;
    take_one(&f, COUNTER_SYSCALL_READ_BYTES, UINT64_MAX - 1, FIRST_TOTAL_IS_BASE);
    d = take_one(&f, COUNTER_SYSCALL_READ_BYTES, UINT64_MAX, FIRST_TOTAL_IS_BASE);
    assert_true(d.counter[COUNTER_SYSCALL_READ_BYTES] == 1);
    /* What wrapped in the kernel is a step back, not an increase of nearly 2^64. */
    d = take_one(&f, COUNTER_SYSCALL_READ_BYTES, 0, FIRST_TOTAL_IS_BASE);
    assert_true(d.counter[COUNTER_SYSCALL_READ_BYTES] == 0);
    d = take_one(&f, COUNTER_SYSCALL_READ_BYTES, UINT64_MAX, FIRST_TOTAL_IS_BASE);
    assert_true(d.counter[COUNTER_SYSCALL_READ_BYTES] == 0);
    assert_int_equal(f.steps_back[COUNTER_SYSCALL_READ_BYTES], 1);
}

/* Fields that nobody wants get no base, whatever the sample holds. */
static void test_unwanted_fields(void **state)
{
    struct fixture f = {0};
    struct sample s = {0};
    struct delta d;

    (void)state;
    sample_set_counter(&s, COUNTER_CPU_USER_NS, 5);
    sample_set_counter(&s, COUNTER_CPU_SYSTEM_NS, 6);
    d = take(&f, &s, BIT(COUNTER_CPU_USER_NS), FIRST_TOTAL_COUNTS);
    assert_int_equal(d.known, BIT(COUNTER_CPU_USER_NS));
    assert_int_equal(f.bases.have, BIT(COUNTER_CPU_USER_NS));
    /* Wanted from now on: it used the 6 while nobody counted. */
    d = take(&f, &s, ALL, FIRST_TOTAL_IS_BASE);
    assert_int_equal(d.counter[COUNTER_CPU_SYSTEM_NS], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_total),
        cmocka_unit_test(test_first_is_asked_once),
        cmocka_unit_test(test_zero_is_a_base),
        cmocka_unit_test(test_field_readable_later),
        cmocka_unit_test(test_field_missing_between),
        cmocka_unit_test(test_steps_back),
        cmocka_unit_test(test_case_27),
        cmocka_unit_test(test_fields_are_independent),
        cmocka_unit_test(test_top_of_the_range),
        cmocka_unit_test(test_unwanted_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
