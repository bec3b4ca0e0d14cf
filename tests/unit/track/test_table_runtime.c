/* The scheduler's sum, which user and system CPU time divide. */
#include "table_cycles.h"

static const struct wanted wanted_both = {
    .parts = UINT32_C(1) << PART_STAT,
    .counters = UINT32_C(1) << COUNTER_CPU_USER_NS | UINT32_C(1) << COUNTER_CPU_SYSTEM_NS,
};

static struct sample runtime_of_seven(uint64_t runtime, uint64_t user, uint64_t system)
{
    struct sample s = last_of_seven(user);

    sample_set_counter(&s, COUNTER_CPU_SYSTEM_NS, system);
    s.have_cpu_runtime = true;
    s.cpu_runtime_ns = runtime;
    return s;
}

static void check_cpu(const struct delta *delta, uint64_t user, uint64_t system)
{
    assert_int_equal(delta->counter[COUNTER_CPU_USER_NS], user);
    assert_int_equal(delta->counter[COUNTER_CPU_SYSTEM_NS], system);
}

/* One cycle, in which the process is seen so. Returns where it is in the table. */
static uint32_t see_cycle(struct table *t, struct sample s, struct delta *ret)
{
    enum sighting sighting;
    uint32_t ref;

    table_begin(t, 0);
    assert_int_equal(table_see(t, &s, 0, &wanted_both, &ref, &sighting, ret), 0);
    table_end(t);
    return ref;
}

/* What ticks say divides the sum, in every look and at the end, and neither part steps back. */
static void test_runtime_is_split(void **state)
{
    static const struct {
        uint64_t runtime, user, system, more_user, more_system;
    } rows[] = {
        {1000, 30, 10, 750, 250}, {1100, 30, 30, 0, 100},   {1100, 60, 30, 0, 0},
        {1050, 60, 30, 0, 0},     {2000, 60, 60, 250, 650},
    };
    struct delta delta;
    struct sample s;
    struct table t;
    uint32_t ref = TABLE_NONE;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    empty_cycle(&t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        ref =
            see_cycle(&t, runtime_of_seven(rows[i].runtime, rows[i].user, rows[i].system), &delta);
        check_cpu(&delta, rows[i].more_user, rows[i].more_system);
    }
    s = runtime_of_seven(2103, 1, 1);
    assert_true(table_see_end(&t, ref, &s, &wanted_both, &delta));
    check_cpu(&delta, 52, 51);
    table_deinit(&t);
}

static struct sample text_of_seven(uint64_t user, uint64_t system)
{
    struct sample s = runtime_of_seven(0, user, system);

    s.have_cpu_runtime = false;
    return s;
}

/*
 * Text divides the sum by all that there ever was, of which another part was seen here: the sum
 * goes on from where it was, and what text is behind by, in ticks, is no step back.
 */
static void test_text_goes_on_from_a_runtime(void **state)
{
    static const struct {
        bool text;
        uint64_t runtime, user, system, more_user, more_system;
    } rows[] = {
        {false, 10000, 0, 152, 0, 10000}, {true, 0, 4020, 5980, 0, 0},
        {true, 0, 4010, 5980, 0, 0},      {true, 0, 4100, 6000, 100, 0},
        {true, 0, 5000, 5200, 100, 0},    {false, 10500, 10, 160, 300, 0},
        {true, 0, 4200, 6310, 10, 0},     {true, 0, UINT64_MAX, 0, UINT64_MAX - 10510, 0},
    };
    struct delta delta;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_START, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sample s = rows[i].text
                              ? text_of_seven(rows[i].user, rows[i].system)
                              : runtime_of_seven(rows[i].runtime, rows[i].user, rows[i].system);

        see_cycle(&t, s, &delta);
        check_cpu(&delta, rows[i].more_user, rows[i].more_system);
    }
    assert_int_equal(t.steps_back[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(t.steps_back[COUNTER_CPU_SYSTEM_NS], 0);
    table_deinit(&t);
}

/* Text alone is taken as it is, and what steps back is counted. */
static void test_text_alone_is_not_split(void **state)
{
    struct delta delta;
    struct table t;

    (void)state;
    table_init(&t, TABLE_SINCE_START, 0);
    see_cycle(&t, text_of_seven(1000, 1000), &delta);
    see_cycle(&t, text_of_seven(1003, 60), &delta);
    check_cpu(&delta, 3, 0);
    assert_int_equal(t.steps_back[COUNTER_CPU_SYSTEM_NS], 1);
    table_deinit(&t);
}

/* With one of the two, or without a base, there is nothing to hold to. */
static void test_runtime_without_parts(void **state)
{
    struct sample s = runtime_of_seven(1000, 30, 10);
    struct delta delta;
    struct table t;
    uint32_t ref;

    (void)state;
    table_init(&t, TABLE_SINCE_START, 0);
    s.have_counters = UINT32_C(1) << COUNTER_CPU_USER_NS;
    see_cycle(&t, s, &delta);
    assert_int_equal(delta.known, UINT32_C(1) << COUNTER_CPU_USER_NS);
    assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], 30);
    table_forget_counters(&t, wanted_both.counters);
    ref = see_cycle(&t, runtime_of_seven(2000, 10, 30), &delta);
    check_cpu(&delta, 0, 0);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_USER_NS], 500);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_SYSTEM_NS], 1500);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runtime_is_split),
        cmocka_unit_test(test_text_goes_on_from_a_runtime),
        cmocka_unit_test(test_text_alone_is_not_split),
        cmocka_unit_test(test_runtime_without_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
