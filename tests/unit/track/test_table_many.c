/* Very many processes: room is made for them, used again, and they are found. */
#include "table_cycles.h"

/* More records than fit at first, all ended and replaced several times. */
static void test_many(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint64_t cycle = 0; cycle < 8; cycle++) {
        table_begin(&t, 0);
        for (uint32_t pid = 1; pid <= 1000; pid++)
            see_cpu(&t, sample_of(pid, 1000 * cycle, "x", pid));
        table_end(&t);
        assert_int_equal(t.n_present, 1000);
    }
    /* Those present and the remains of two cycles, no more. */
    assert_true(t.n_processes <= 3000);
    for (uint32_t pid = 1; pid <= 1000; pid++)
        assert_int_equal(table_process(&t, table_find_pid(&t, pid))->identity.start_ticks, 7000);
    table_deinit(&t);
}

static void see_many(struct table *t, uint32_t first, uint32_t n)
{
    table_begin(t, 0);
    for (uint32_t pid = first; pid < first + n; pid++)
        see_cpu(t, sample_of(pid, pid, "x", 5));
    table_end(t);
}

/* Thousands end at once, and as many others have begun by the next cycle. */
static void test_few_remains_of_many(void **state)
{
    enum { MANY = 20000, ROUNDS = 5 };
    struct table t;
    size_t ended = 0;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        see_many(&t, 1 + round * MANY, MANY);
        see_many(&t, 1, 0);
        for (size_t at = 0; table_next_ended(&t, &at) != TABLE_NONE;)
            ended++;
    }
    assert_int_equal(ended, ROUNDS * MANY);
    assert_in_range(t.n_processes, MANY, MANY + MANY / 4);
    table_deinit(&t);
}

/* Found in whatever order they are asked for, and not where a record was given back. */
static void test_found_in_any_order(void **state)
{
    enum { N = 50 };
    struct table t;
    uint32_t refs[N + 1];

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    table_begin(&t, 0);
    for (uint32_t pid = 1; pid <= N; pid++)
        refs[pid] = see_cpu(&t, sample_of(pid, 10, "x", 0));
    for (uint32_t pid = 1; pid <= N; pid++)
        assert_int_equal(table_find(&t, (struct identity){pid, 10}), refs[pid]);
    for (uint32_t pid = N; pid >= 1; pid--) {
        assert_int_equal(see_cpu(&t, sample_of(pid, 10, "x", 0)), refs[pid]);
        for (uint32_t other = 1; other <= N; other += 7)
            assert_int_equal(table_find(&t, (struct identity){other, 10}), refs[other]);
        assert_int_equal(table_find(&t, (struct identity){pid, 11}), TABLE_NONE);
    }
    /* The one that was seen last, and the one behind it. */
    table_forget(&t, refs[1]);
    table_forget(&t, refs[2]);
    assert_int_equal(table_find(&t, (struct identity){1, 10}), TABLE_NONE);
    assert_int_equal(table_find(&t, (struct identity){2, 10}), TABLE_NONE);
    assert_int_equal(table_find(&t, (struct identity){3, 10}), refs[3]);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_few_remains_of_many),
        cmocka_unit_test(test_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
