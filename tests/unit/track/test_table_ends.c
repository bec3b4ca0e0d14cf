/* Ends that are told, with last totals, and ends that are awaited. */
#include "table_cycles.h"

/* A table that counted process 7 up to 100, and finds it not there any more; 8 is. */
static uint32_t lose_seven(struct table *t)
{
    struct sample eight = sample_of(8, 60, "x", 5);
    uint32_t ref;

    table_init(t, TABLE_SINCE_FIRST_CYCLE, 0);
    empty_cycle(t);
    table_begin(t, 0);
    (void)see_seven(t, 100, SIGHTING_STARTED, false);
    see_cpu(t, eight);
    table_end(t);
    ref = table_find(t, last_of_seven(0).identity);
    table_begin(t, 0);
    see_cpu(t, eight);
    return ref;
}

/* By how much the end of process 7 says that its counter grew; UINT64_MAX: it was told before. */
static uint64_t tell_seven(struct table *t, uint64_t total)
{
    struct sample s = last_of_seven(total);
    struct delta delta;
    uint32_t ref = table_find(t, s.identity);

    assert_int_not_equal(ref, TABLE_NONE);
    if (!table_see_end(t, ref, &s, &wanted_cpu, &delta))
        return UINT64_MAX;
    assert_true(table_process(t, ref)->end_told);
    assert_int_equal(delta.known, wanted_cpu.counters);
    return delta.counter[COUNTER_CPU_USER_NS];
}

static void test_last_totals(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(tell_seven(&t, 190), UINT64_MAX);
    /* It is found ended all the same, and leaves its remains for a cycle. */
    table_end(&t);
    assert_int_equal(count_ended(&t), 1);
    assert_int_equal(t.n_present, 1);
    assert_int_equal(t.n_awaited, 0);
    table_begin(&t, 0);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), ref);
    assert_int_equal(tell_seven(&t, 190), UINT64_MAX);
    table_end(&t);
    assert_int_equal(count_ended(&t), 1); /* 8 */
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    table_deinit(&t);
}

/* What was counted once stays so in the cycle that follows one that was left. */
static void test_last_totals_through_an_abort(void **state)
{
    struct table t;

    (void)state;
    lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    for (int i = 0; i < 3; i++) {
        table_abort(&t);
        table_begin(&t, 0);
        assert_int_equal(tell_seven(&t, 130), UINT64_MAX);
    }
    table_end(&t);
    assert_int_equal(count_ended(&t), 2);
    table_deinit(&t);
}

/* A step back is one at the end too; a field nobody had a base of is base, and adds nothing. */
static void test_last_totals_that_step_back(void **state)
{
    struct sample s = last_of_seven(90);
    struct wanted more = wanted_cpu;
    struct delta delta;
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    more.counters |= UINT32_C(1) << COUNTER_STORAGE_READ_BYTES | UINT32_C(1)
                                                                     << COUNTER_MAJOR_FAULTS;
    sample_set_counter(&s, COUNTER_STORAGE_READ_BYTES, 4096);
    assert_true(table_see_end(&t, ref, &s, &more, &delta));
    assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], 0);
    assert_int_equal(delta.counter[COUNTER_STORAGE_READ_BYTES], 0);
    assert_int_equal(delta.counter[COUNTER_MAJOR_FAULTS], 0);
    assert_int_equal(delta.known, UINT32_C(1) << COUNTER_CPU_USER_NS |
                                      UINT32_C(1) << COUNTER_STORAGE_READ_BYTES);
    assert_int_equal(t.steps_back[COUNTER_CPU_USER_NS], 1);
    assert_int_equal(t.steps_back[COUNTER_STORAGE_READ_BYTES], 0);
    assert_int_equal(table_process(&t, ref)->bases.highest[COUNTER_CPU_USER_NS], 100);
    table_deinit(&t);
}

/* Who is seen lives, whatever was told before: its end is to come. */
static void test_seen_after_its_end(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(see_seven(&t, 135, SIGHTING_KNOWN, false), 5);
    table_end(&t);
    assert_int_equal(count_ended(&t), 0);
    assert_false(table_process(&t, ref)->end_told);
    table_begin(&t, 0);
    assert_int_equal(tell_seven(&t, 140), 5);
    table_end(&t);
    table_deinit(&t);
}

static void test_awaited(void **state)
{
    struct table t;
    uint32_t ref, found;
    size_t at = 0;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    found = table_next_ended(&t, &at);
    assert_int_equal(found, ref);
    table_await_end(&t, ref, 12345);
    assert_int_equal(table_process(&t, ref)->awaited_since_ns, 12345);
    for (int i = 0; i < 50; i++) {
        struct sample eight = sample_of(8, 60, "x", 5);

        assert_int_equal(t.n_awaited, 1);
        assert_int_equal(t.n_present, 1);
        at = 0;
        assert_int_equal(table_next_awaited(&t, &at), ref);
        assert_int_equal(table_next_awaited(&t, &at), TABLE_NONE);
        table_begin(&t, 0);
        see_cpu(&t, eight);
        /* It is not there, and its pid alone does not bring it back. */
        assert_int_equal(table_find_pid(&t, 7), TABLE_NONE);
        assert_int_equal(table_see_unread(&t, 7), TABLE_NONE);
        /* But whoever it led may be told of as late. */
        assert_int_equal(table_find_parent(&t, 7, 50), ref);
        assert_int_equal(table_find_parent(&t, 7, 49), TABLE_NONE);
        assert_int_equal(table_find(&t, last_of_seven(0).identity), ref);
        if (i % 3 == 0) {
            table_abort(&t);
            continue;
        }
        table_end(&t);
        assert_int_equal(count_ended(&t), 0);
    }
    assert_int_equal(tell_seven(&t, 130), 30);
    assert_int_equal(tell_seven(&t, 130), UINT64_MAX);
    table_forget(&t, ref);
    assert_int_equal(t.n_awaited, 0);
    assert_int_equal(t.n_present, 1);
    at = 0;
    assert_int_equal(table_next_awaited(&t, &at), TABLE_NONE);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    assert_int_equal(table_find_parent(&t, 7, 50), TABLE_NONE);
    table_deinit(&t);
}

/* It goes on from its bases however long it was away, and then ends like anybody. */
static void test_awaited_returns(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    table_await_end(&t, ref, 1);
    for (int i = 0; i < 5; i++) {
        empty_cycle(&t);
    }
    table_begin(&t, 0);
    assert_int_equal(see_seven(&t, 140, SIGHTING_RETURNED, false), 40);
    assert_int_equal(t.n_awaited, 0);
    table_end(&t);
    assert_int_equal(t.n_present, 1);
    assert_int_equal(table_find_pid(&t, 7), ref);
    empty_cycle(&t);
    assert_int_equal(count_ended(&t), 1);
    empty_cycle(&t);
    assert_int_equal(table_find(&t, last_of_seven(0).identity), TABLE_NONE);
    table_deinit(&t);
}

/* The pid goes on under another process, which ends first. */
static void test_awaited_and_reused(void **state)
{
    struct sample next = sample_of(7, 900, "x", 3);
    struct table t;
    uint32_t ref, young;

    (void)state;
    ref = lose_seven(&t);
    table_end(&t);
    table_await_end(&t, ref, 1);
    table_begin(&t, 0);
    young = see_cpu(&t, next);
    table_end(&t);
    assert_int_not_equal(young, ref);
    assert_int_equal(table_find_pid(&t, 7), young);
    assert_int_equal(table_find_parent(&t, 7, 899), ref);
    assert_int_equal(table_find_parent(&t, 7, 900), young);
    table_begin(&t, 0);
    assert_int_equal(table_see_unread(&t, 7), young);
    table_end(&t);
    assert_int_equal(table_find(&t, next.identity), young);
    empty_cycle(&t);
    table_forget(&t, young);
    assert_int_equal(t.n_awaited, 1);
    assert_int_equal(tell_seven(&t, 101), 1);
    table_deinit(&t);
}

/* Remains of the others go when they would, and their records are used again. */
static void test_awaited_among_remains(void **state)
{
    enum { MANY = 300 };
    struct table t;
    size_t awaited = 0;

    (void)state;
    table_init(&t, TABLE_SINCE_FIRST_CYCLE, 0);
    for (uint64_t cycle = 0; cycle < 6; cycle++) {
        uint32_t ref;

        table_begin(&t, 0);
        for (uint32_t pid = 1; pid <= MANY; pid++)
            see_cpu(&t, sample_of(pid, 1000 * cycle, "x", pid));
        table_end(&t);
        assert_int_equal(count_ended(&t), cycle ? MANY : 0);
        for (size_t at = 0; (ref = table_next_ended(&t, &at)) != TABLE_NONE;)
            if (table_process(&t, ref)->identity.pid % 100 == 7) {
                table_await_end(&t, ref, cycle);
                awaited++;
            }
        assert_int_equal(t.n_awaited, awaited);
        assert_int_equal(t.n_present, MANY);
    }
    assert_int_equal(awaited, 5 * MANY / 100);
    assert_true(t.n_processes <= 3 * MANY + awaited);
    for (uint64_t cycle = 0; cycle < 5; cycle++)
        for (uint32_t pid = 1; pid <= MANY; pid++) {
            uint32_t ref = table_find(&t, (struct identity){pid, 1000 * cycle});

            /* Of the last but one, remains are left. */
            assert_int_equal(ref != TABLE_NONE, pid % 100 == 7 || cycle == 4);
            if (pid % 100 == 7)
                assert_int_equal(table_process(&t, ref)->awaited_since_ns, cycle + 1);
        }
    for (size_t at = 0, left = awaited;; left--) {
        uint32_t ref = table_next_awaited(&t, &at);

        if (ref == TABLE_NONE) {
            assert_int_equal(left, 0);
            break;
        }
        table_forget(&t, ref);
    }
    assert_int_equal(t.n_awaited, 0);
    assert_int_equal(t.n_present, MANY);
    table_deinit(&t);
}

/* One that came and went is seen and dropped in one cycle, and was never present. */
static void test_forget_who_was_just_seen(void **state)
{
    struct table t;
    uint32_t ref;

    (void)state;
    lose_seven(&t);
    for (uint32_t pid = 100; pid < 400; pid++) {
        struct sample s = sample_of(pid, 70, "x", pid);
        enum sighting sighting;
        struct delta delta;

        assert_int_equal(table_see(&t, &s, 0, &wanted_cpu, &ref, &sighting, &delta), 0);
        assert_int_equal(sighting, SIGHTING_STARTED);
        assert_int_equal(delta.counter[COUNTER_CPU_USER_NS], pid);
        assert_int_equal(t.n_present, 2);
        assert_int_equal(table_find_parent(&t, pid, 70), ref);
        table_forget(&t, ref);
        assert_int_equal(t.n_present, 1);
        assert_int_equal(table_find_parent(&t, pid, 70), TABLE_NONE);
    }
    assert_true(t.n_processes <= 3);
    table_end(&t);
    assert_int_equal(count_ended(&t), 1);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_totals),
        cmocka_unit_test(test_last_totals_through_an_abort),
        cmocka_unit_test(test_last_totals_that_step_back),
        cmocka_unit_test(test_seen_after_its_end),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_awaited_returns),
        cmocka_unit_test(test_awaited_and_reused),
        cmocka_unit_test(test_awaited_among_remains),
        cmocka_unit_test(test_forget_who_was_just_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
