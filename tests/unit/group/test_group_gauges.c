/* What groups show of their present members: sums, states, the worst and the oldest. */
#include "group_cycles.h"

/* A gauge is known if one member has it, and the others are counted. */
static void test_gauges(void **state)
{
    const struct group_values *v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .have_gauges = BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 3, [GAUGE_PEAK_RESIDENT_BYTES] = 500, [GAUGE_SWAP_BYTES] = 7});
    SEE(&f, .pid = 2, .have_gauges = BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 4, [GAUGE_PEAK_RESIDENT_BYTES] = 900});
    SEE(&f, .pid = 3, .have_gauges = BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_THREADS] = 99, [GAUGE_PEAK_RESIDENT_BYTES] = 100});
    end_and_take(&f);
    v = shown(&f, "x");
    assert_int_equal(v->gauge[GAUGE_THREADS], 7);
    assert_int_equal(v->gauge[GAUGE_PEAK_RESIDENT_BYTES], 900);
    assert_int_equal(v->have_gauges, BIT(GAUGE_THREADS) | BIT(GAUGE_PEAK_RESIDENT_BYTES));
    /* Levels are of the present: those who left are not in them. */
    begin(&f);
    SEE(&f, .pid = 3, .have_gauges = BIT(GAUGE_PEAK_RESIDENT_BYTES),
        .gauge = {[GAUGE_PEAK_RESIDENT_BYTES] = 100});
    end_and_take(&f);
    v = shown(&f, "x");
    assert_int_equal(v->gauge[GAUGE_PEAK_RESIDENT_BYTES], 100);
    assert_int_equal(v->have_gauges, BIT(GAUGE_PEAK_RESIDENT_BYTES));
    teardown(&f);
}

static void test_sums_saturate(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin_with_init(&f);
    end(&f);
    begin(&f);
    for (uint32_t pid = 2; pid < 5; pid++)
        SEE(&f, .pid = pid, .start = 5, .cpu = UINT64_MAX / 2, .have_gauges = BIT(GAUGE_SWAP_BYTES),
            .gauge = {[GAUGE_SWAP_BYTES] = UINT64_MAX / 2});
    end_and_take(&f);
    assert_true(counter(&f, "x", CPU) == INT64_MAX);
    assert_true(shown(&f, "x")->gauge[GAUGE_SWAP_BYTES] == INT64_MAX);
    teardown(&f);
}

static void test_states(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .state = STATE_RUNNING);
    SEE(&f, .pid = 2, .state = STATE_ZOMBIE);
    SEE(&f, .pid = 3, .state = STATE_ZOMBIE);
    SEE(&f, .pid = 4, .state = STATE_SLEEPING);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->state[STATE_RUNNING], 1);
    assert_int_equal(shown(&f, "x")->state[STATE_ZOMBIE], 2);
    assert_int_equal(shown(&f, "x")->state[STATE_SLEEPING], 1);
    assert_int_equal(shown(&f, "x")->processes, 4);
    teardown(&f);
}

static void test_zombie_children(void **state)
{
    struct fixture f;
    uint32_t parent;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    parent = SEE(&f, .pid = 1, .comm = "lazy");
    SEE(&f, .pid = 2, .comm = "child", .state = STATE_ZOMBIE);
    groups_add_zombie_child(&f.groups, table_process(&f.table, parent));
    groups_add_zombie_child(&f.groups, table_process(&f.table, parent));
    end_and_take(&f);
    assert_int_equal(shown(&f, "lazy")->zombie_children, 2);
    assert_int_equal(shown(&f, "child")->zombie_children, 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "lazy");
    end_and_take(&f);
    assert_int_equal(shown(&f, "lazy")->zombie_children, 0);
    teardown(&f);
}

static void test_unread(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .cpu = 5, .io_refused = true);
    SEE(&f, .pid = 2, .start = 7, .cpu = 5);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->unread[PART_IO], 1);
    assert_int_equal(shown(&f, "x")->unread[PART_STAT], 0);
    /* Whose stat cannot be read stays a member, of a state that is not known. */
    begin(&f);
    groups_add_unread(&f.groups, table_process(&f.table, table_see_unread(&f.table, 1)));
    SEE(&f, .pid = 2, .start = 7, .cpu = 6);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->processes, 2);
    assert_int_equal(shown(&f, "x")->unread[PART_STAT], 1);
    assert_int_equal(shown(&f, "x")->unread[PART_IO], 0);
    assert_int_equal(shown(&f, "x")->state[STATE_OTHER], 1);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000000 * SECOND);
    assert_int_equal(counter(&f, "x", EXITED), 0);
    assert_int_equal(counter(&f, "x", CPU), 1);
    teardown(&f);
}

static void test_worst_ratios(void **state)
{
    static const struct {
        uint64_t fds, limit, mappings, max_map_count;
        uint32_t have;
        double fds_ratio, mappings_ratio;
    } rows[] = {
        {5, 10, 65530, 65530, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT) | BIT(GAUGE_MAPPINGS),
         0.5, 1},
        {5, SAMPLE_UNLIMITED, 5, 0, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), 0, -1},
        {20, 10, 5, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), 2, -1},
        {5, 0, 5, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT), -1, -1},
        {5, 10, 5, 0, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_MAPPINGS), -1, -1},
        {5, 10, 5, 10, BIT(GAUGE_OPEN_FDS_LIMIT), -1, -1},
        {0, 10, 0, 10, BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT) | BIT(GAUGE_MAPPINGS), 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture f;

        setup(&f, GROUPS_AT_ONCE);
        f.max_map_count = rows[i].max_map_count;
        begin(&f);
        SEE(&f, .pid = 1, .have_gauges = rows[i].have,
            .gauge = {[GAUGE_OPEN_FDS] = rows[i].fds,
                      [GAUGE_OPEN_FDS_LIMIT] = rows[i].limit,
                      [GAUGE_MAPPINGS] = rows[i].mappings});
        end_and_take(&f);
        if (shown(&f, "x")->worst_fds_ratio != rows[i].fds_ratio ||
            shown(&f, "x")->worst_mappings_ratio != rows[i].mappings_ratio)
            fail_msg("row %zu: %f %f", i, shown(&f, "x")->worst_fds_ratio,
                     shown(&f, "x")->worst_mappings_ratio);
        teardown(&f);
    }
}

/* The worst member is who is nearest to its own limit, not who has the most open. */
static void test_worst_member(void **state)
{
    uint32_t have = BIT(GAUGE_OPEN_FDS) | BIT(GAUGE_OPEN_FDS_LIMIT);
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 3, [GAUGE_OPEN_FDS_LIMIT] = 4});
    SEE(&f, .pid = 2, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 1000, [GAUGE_OPEN_FDS_LIMIT] = 4000});
    SEE(&f, .pid = 3, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 9000, [GAUGE_OPEN_FDS_LIMIT] = SAMPLE_UNLIMITED});
    end_and_take(&f);
    assert_true(shown(&f, "x")->worst_fds_ratio == 0.75);
    begin(&f);
    SEE(&f, .pid = 3, .have_gauges = have,
        .gauge = {[GAUGE_OPEN_FDS] = 9000, [GAUGE_OPEN_FDS_LIMIT] = SAMPLE_UNLIMITED});
    end_and_take(&f);
    assert_true(shown(&f, "x")->worst_fds_ratio == 0);
    teardown(&f);
}

static void test_oldest_and_newest(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 5, .start = 300);
    SEE(&f, .pid = 4, .start = 150);
    SEE(&f, .pid = 6, .start = 250);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000001 * SECOND + SECOND / 2);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 1700000003 * SECOND);
    begin(&f);
    SEE(&f, .pid = 6, .start = 250);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 1700000002 * SECOND + SECOND / 2);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 1700000002 * SECOND + SECOND / 2);
    begin(&f);
    SEE(&f, .pid = 7, .comm = "y", .start = 900);
    end_and_take(&f);
    assert_int_equal(shown(&f, "x")->oldest_start_ns, 0);
    assert_int_equal(shown(&f, "x")->newest_start_ns, 0);
    teardown(&f);
}

/* Ticks since boot say nothing while the time of boot is not known. */
static void test_no_boot_time(void **state)
{
    struct groups_moment moment = {.sequence = 1, .now_ns = 1, .ticks_per_second = 100};
    struct group_values v;
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 5, .start = 300);
    end(&f);
    groups_values(&f.groups, f.groups.order[0], &moment, &v);
    assert_int_equal(v.oldest_start_ns, 0);
    assert_int_equal(v.newest_start_ns, 0);
    assert_int_equal(v.processes, 1);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gauges),       cmocka_unit_test(test_sums_saturate),
        cmocka_unit_test(test_states),       cmocka_unit_test(test_zombie_children),
        cmocka_unit_test(test_unread),       cmocka_unit_test(test_worst_ratios),
        cmocka_unit_test(test_worst_member), cmocka_unit_test(test_oldest_and_newest),
        cmocka_unit_test(test_no_boot_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
