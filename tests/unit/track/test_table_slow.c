/* Slow parts, which are read by turns: when they are due, and what stands in between. */
#include "table_cycles.h"

static const struct wanted wanted_slow = {
    .parts = UINT32_C(1) << PART_STAT | UINT32_C(1) << PART_FD | UINT32_C(1) << PART_LIMITS |
             UINT32_C(1) << PART_MAPS | UINT32_C(1) << PART_SMAPS,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS,
    .gauges = UINT32_C(1) << GAUGE_OPEN_FDS | UINT32_C(1) << GAUGE_OPEN_FDS_LIMIT |
              UINT32_C(1) << GAUGE_MAPPINGS | UINT32_C(1) << GAUGE_PROPORTIONAL_BYTES,
};

static const uint32_t SLOW =
    UINT32_C(1) << PART_LIMITS | UINT32_C(1) << PART_MAPS | UINT32_C(1) << PART_SMAPS;

/* A cycle of one process whose slow parts, if read, show `value`. Returns what was due. */
static uint32_t slow_cycle(struct table *t, uint32_t pid, const char *comm, uint64_t value,
                           const struct wanted *wanted, struct sample *ret)
{
    uint32_t ref, due;

    *ret = sample_of(pid, 10, comm, 1);
    table_begin(t, 0);
    ref = table_find(t, ret->identity);
    due = table_parts_due(t, ref, table_is_news(t, ref, ret), ret, wanted);
    if (due & part_bit(PART_LIMITS))
        sample_set_gauge(ret, GAUGE_OPEN_FDS_LIMIT, value);
    if (due & part_bit(PART_MAPS))
        sample_set_gauge(ret, GAUGE_MAPPINGS, value + 1);
    if (due & part_bit(PART_SMAPS))
        sample_set_gauge(ret, GAUGE_PROPORTIONAL_BYTES, value + 2);
    see(t, ret, due, wanted);
    table_end(t);
    return due;
}

/* Once in 16 cycles for every pid; what was read last stands in between. */
static void test_slow_parts_come_by_turns(void **state)
{
    (void)state;
    for (uint32_t pid = 1; pid <= 40; pid++) {
        unsigned turns = 0;
        uint64_t last = 0;
        struct sample s;
        struct table t;

        table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
        for (uint64_t i = 0; i < 1 + 16 * 3; i++) {
            uint32_t due = slow_cycle(&t, pid, "x", 100 + i, &wanted_slow, &s);

            assert_int_equal(due & ~SLOW, wanted_slow.parts & ~SLOW);
            assert_true((due & SLOW) == 0 || (due & SLOW) == SLOW);
            if (i == 0)
                assert_int_equal(due, wanted_slow.parts);
            else
                turns += (due & SLOW) != 0;
            if (due & SLOW)
                last = 100 + i;
            assert_true(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
            assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], last);
            assert_true(sample_has_gauge(&s, GAUGE_MAPPINGS));
            assert_int_equal(s.gauge[GAUGE_MAPPINGS], last + 1);
            assert_true(sample_has_gauge(&s, GAUGE_PROPORTIONAL_BYTES));
            assert_int_equal(s.gauge[GAUGE_PROPORTIONAL_BYTES], last + 2);
        }
        assert_int_equal(turns, 3);
        table_deinit(&t);
    }
}

static void test_slow_parts_are_read_after_an_exec(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 1, "sh", 5, &wanted_slow, &s);
    assert_int_equal(slow_cycle(&t, 1, "sh", 6, &wanted_slow, &s) & SLOW, 0);
    assert_int_equal(slow_cycle(&t, 1, "app", 7, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 7);
    assert_int_equal(slow_cycle(&t, 1, "app", 8, &wanted_slow, &s) & SLOW, 0);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 7);
    table_deinit(&t);
}

/* It was its turn, and it could not be read: unknown is not the old value. */
static void test_slow_part_refused(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 1, "x", 5, &wanted_slow, &s);
    table_begin(&t, 0);
    s = sample_of(1, 10, "x", 1);
    see(&t, &s, wanted_slow.parts, &wanted_slow);
    table_end(&t);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    slow_cycle(&t, 1, "x", 5, &wanted_slow, &s);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    assert_false(sample_has_gauge(&s, GAUGE_MAPPINGS));
    assert_false(sample_has_gauge(&s, GAUGE_PROPORTIONAL_BYTES));
    table_deinit(&t);
}

/* Only what was never read is due at once. */
static void test_one_slow_part_more_is_wanted(void **state)
{
    struct wanted fewer = wanted_slow;
    struct sample s;
    struct table t;

    (void)state;
    fewer.parts &= ~part_bit(PART_SMAPS);
    fewer.gauges &= ~(UINT32_C(1) << GAUGE_PROPORTIONAL_BYTES);
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 3, "x", 5, &fewer, &s);
    assert_int_equal(slow_cycle(&t, 3, "x", 6, &wanted_slow, &s) & SLOW, part_bit(PART_SMAPS));
    assert_int_equal(s.gauge[GAUGE_MAPPINGS], 6);
    assert_int_equal(s.gauge[GAUGE_PROPORTIONAL_BYTES], 8);
    assert_int_equal(slow_cycle(&t, 3, "x", 7, &wanted_slow, &s) & SLOW, 0);
    table_deinit(&t);
}

/* Families off and on again: what was read before is stale, so it is read anew at once. */
static void test_slow_parts_wanted_again(void **state)
{
    struct sample s;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    slow_cycle(&t, 3, "x", 5, &wanted_cpu, &s);
    assert_int_equal(slow_cycle(&t, 3, "x", 6, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(slow_cycle(&t, 3, "x", 7, &wanted_slow, &s) & SLOW, 0);
    slow_cycle(&t, 3, "x", 8, &wanted_cpu, &s);
    assert_false(sample_has_gauge(&s, GAUGE_OPEN_FDS_LIMIT));
    assert_int_equal(slow_cycle(&t, 3, "x", 9, &wanted_slow, &s) & SLOW, SLOW);
    assert_int_equal(s.gauge[GAUGE_OPEN_FDS_LIMIT], 9);
    /* Nobody's permission does not make every cycle try. */
    table_begin(&t, 0);
    s = sample_of(3, 10, "x", 1);
    see(&t, &s, wanted_slow.parts, &wanted_slow);
    table_end(&t);
    assert_int_equal(slow_cycle(&t, 3, "x", 9, &wanted_slow, &s) & SLOW, 0);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_parts_come_by_turns),
        cmocka_unit_test(test_slow_parts_are_read_after_an_exec),
        cmocka_unit_test(test_slow_part_refused),
        cmocka_unit_test(test_one_slow_part_more_is_wanted),
        cmocka_unit_test(test_slow_parts_wanted_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
