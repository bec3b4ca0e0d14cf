/* Counters of groups: they outlive members, and each series is first at 0. */
#include "group_cycles.h"

static void test_totals_outlive_members(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 100);
    SEE(&f, .pid = 2, .cpu = 50);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 103);
    SEE(&f, .pid = 2, .cpu = 57);
    SEE(&f, .pid = 3, .start = 10, .cpu = 20);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 3);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 103);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 1);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 1);
    assert_int_equal(counter(&f, "x", EXITED), 2);
    begin(&f);
    SEE(&f, .pid = 9, .comm = "y", .start = 20);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 30);
    assert_int_equal(shown(&f, "x")->processes, 0);
    assert_int_equal(counter(&f, "x", EXITED), 3);
    teardown(&f);
}

/* What counts appears at 0 first, and with its amount once the 0 was served. */
static void test_first_at_zero_until_served(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin_with_init(&f);
    end_and_take(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 2, .start = 5, .cpu = 700);
    end_and_take(&f); /* sequence 2 */
    assert_true(shown(&f, "x")->have_counters & BIT(CPU));
    assert_int_equal(counter(&f, "x", CPU), 0);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 0);
    f.served = 1; /* not the one that held the 0 */
    begin_with_init(&f);
    SEE(&f, .pid = 2, .start = 5, .cpu = 710);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 0);
    f.served = 2;
    begin_with_init(&f);
    SEE(&f, .pid = 2, .start = 5, .cpu = 711);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 711);
    assert_int_equal(counter(&f, "x", GROUP_COUNTER_STARTED), 1);
    /* An amount that comes later needs no further 0. */
    f.served = 0;
    begin_with_init(&f);
    SEE(&f, .pid = 2, .start = 5, .cpu = 800);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 800);
    teardown(&f);
}

static void test_first_at_zero_for_a_minute(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin_with_init(&f);
    end_and_take(&f);
    for (int i = 0; i < 8; i++) {
        begin_with_init(&f);
        SEE(&f, .pid = 2, .start = 5, .cpu = 700);
        end_and_take(&f);
        assert_int_equal(counter(&f, "x", CPU), i < 6 ? 0 : 700);
    }
    teardown(&f);
}

/* Each series waits for its own 0: io becomes readable, an exit happens, long after cpu. */
static void test_each_series_is_first_at_zero(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    for (uint64_t i = 1; i <= 3; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .cpu = 10 * i, .io_refused = true);
        end_and_serve(&f);
    }
    assert_int_equal(counter(&f, "x", CPU), 20);
    assert_false(shown(&f, "x")->have_counters & BIT(READ));
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 31);
    SEE(&f, .pid = 2, .start = 9, .read = 5000);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", CPU), 21);
    assert_true(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", READ), 0);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 31);
    SEE(&f, .pid = 2, .start = 9, .read = 5001);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", READ), 5001);
    teardown(&f);
}

/* What a series held back is not lost when its members end. */
static void test_amount_of_the_short_lived(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    begin_with_init(&f);
    end_and_take(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 2, .start = 5, .cpu = 700);
    end_and_serve(&f);
    begin_with_init(&f);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->processes, 0);
    assert_int_equal(counter(&f, "x", CPU), 700);
    teardown(&f);
}

static void test_fixed_names_from_the_start(void **state)
{
    const struct group_values *v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"web", "nginx"}, {"db", "postgres"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .io_refused = true);
    end_and_take(&f);
    check_names(&f, "db,init,web");
    v = shown(&f, "web");
    assert_int_equal(v->processes, 0);
    assert_int_equal(v->have_counters & BIT(CPU), BIT(CPU));
    assert_int_equal(v->have_counters & BIT(READ), BIT(READ));
    assert_int_equal(v->have_counters & BIT(GROUP_COUNTER_RESTARTS), BIT(GROUP_COUNTER_RESTARTS));
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(v->have_gauges, BIT(GAUGE_N) - 1);
    assert_int_equal(v->gauge[GAUGE_THREADS], 0);
    assert_int_equal(v->oldest_start_ns, 0);
    assert_true(v->worst_fds_ratio < 0);
    f.served = f.sequence;
    /* The first member counts at once, for the 0 was served; what it lacks is no longer known. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .io_refused = true);
    SEE(&f, .pid = 2, .comm = "nginx", .start = 9, .cpu = 40, .io_refused = true);
    end_and_take(&f);
    v = shown(&f, "web");
    assert_int_equal(counter(&f, "web", CPU), 40);
    assert_false(v->have_counters & BIT(READ));
    assert_int_equal(v->unread[PART_IO], 1);
    /* Nor does it come back as 0 when the member is gone. */
    begin_with_init(&f);
    end_and_take(&f);
    v = shown(&f, "web");
    assert_int_equal(v->processes, 0);
    assert_int_equal(counter(&f, "web", CPU), 40);
    assert_false(v->have_counters & BIT(READ));
    teardown(&f);
}

/* A cycle that was left neither ends nor restarts anybody, and what it added stays. */
static void test_left_cycle(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .cpu = 3);
    SEE(&f, .pid = 20, .start = 200, .comm = "h", .cpu = 9);
    table_abort(&f.table);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .cpu = 4);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 7);
    end_and_take(&f);
    assert_int_equal(counter(&f, "init", CPU), 4);
    assert_int_equal(counter(&f, "g", CPU), 2);
    assert_int_equal(counter(&f, "g", EXITED), 0);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    assert_int_equal(counter(&f, "h", CPU), 9);
    assert_int_equal(counter(&f, "h", GROUP_COUNTER_STARTED), 1);
    assert_int_equal(counter(&f, "h", EXITED), 1);
    assert_int_equal(shown(&f, "h")->processes, 0);
    teardown(&f);
}

/* One that returns goes on from its bases; its end stays counted. */
static void test_returned(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end(&f);
    begin_with_init(&f);
    end(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 7);
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", CPU), 2);
    assert_int_equal(counter(&f, "g", EXITED), 1);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_STARTED), 0);
    assert_int_equal(shown(&f, "g")->processes, 1);
    teardown(&f);
}

static void test_forget_counters(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    for (uint64_t i = 0; i < 2; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .cpu = 100 * i, .read = 50 * i);
        end_and_serve(&f);
    }
    assert_int_equal(counter(&f, "x", READ), 50);
    groups_forget_counters(&f.groups, BIT(READ));
    table_forget_counters(&f.table, BIT(READ));
    take(&f);
    assert_false(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", CPU), 100);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 101, .read = 9000);
    SEE(&f, .pid = 2, .start = 4, .read = 33);
    end_and_take(&f);
    assert_true(shown(&f, "x")->have_counters & BIT(READ));
    assert_int_equal(counter(&f, "x", READ), 0);
    f.served = f.sequence;
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 101, .read = 9001);
    SEE(&f, .pid = 2, .start = 4, .read = 33);
    end_and_take(&f);
    assert_int_equal(counter(&f, "x", READ), 34);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_outlive_members),
        cmocka_unit_test(test_first_at_zero_until_served),
        cmocka_unit_test(test_first_at_zero_for_a_minute),
        cmocka_unit_test(test_each_series_is_first_at_zero),
        cmocka_unit_test(test_amount_of_the_short_lived),
        cmocka_unit_test(test_fixed_names_from_the_start),
        cmocka_unit_test(test_left_cycle),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_forget_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
