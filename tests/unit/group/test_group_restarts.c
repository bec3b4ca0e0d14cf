/* What is a restart of a group. */
#include "group_cycles.h"

/* What each cycle shows of one group, and how many restarts that makes so far. */
struct restarts_row {
    struct {
        uint32_t pid;
        uint64_t start;
    } seen[4];
    uint64_t restarts;
};

static void check_restarts(const struct restarts_row *rows, size_t n)
{
    struct fixture f;

    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100, {"g", "g"});
    for (size_t i = 0; i < n; i++) {
        begin_with_init(&f);
        for (size_t k = 0; k < 4 && rows[i].seen[k].pid; k++)
            SEE(&f, .pid = rows[i].seen[k].pid, .start = rows[i].seen[k].start, .comm = "g");
        end_and_take(&f);
        if (counter(&f, "g", GROUP_COUNTER_RESTARTS) != rows[i].restarts)
            fail_msg("row %zu: %lu restarts", i, counter(&f, "g", GROUP_COUNTER_RESTARTS));
    }
    teardown(&f);
}

#define CHECK_RESTARTS(rows) check_restarts(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_restart_within_a_cycle(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0}, {{{10, 100}, {11, 101}}, 0},
        {{{20, 200}, {21, 201}}, 1}, /* master and worker anew */
        {{{20, 200}, {21, 201}}, 1}, {{{30, 300}}, 2},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

static void test_restart_after_a_pause(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}}, 0}, {{{0, 0}}, 0}, {{{0, 0}}, 0}, {{{20, 200}}, 1}, {{{20, 200}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* A group that ends for good, and begins with its first member, had no restart. */
static void test_first_start_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{0, 0}}, 0}, {{{10, 100}}, 0}, {{{10, 100}}, 0}, {{{0, 0}}, 0}, {{{0, 0}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

static void test_worker_exit_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{10, 100}, {12, 150}}, 0}, /* a worker replaced */
        {{{10, 100}}, 0},
        {{{10, 100}, {13, 160}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* The oldest ended, but one of its time lives on: a supervisor handed over, nothing restarted. */
static void test_oldest_ends_others_live(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{11, 101}}, 0},
        {{{11, 101}, {12, 300}}, 0},
        {{{12, 300}, {13, 400}}, 0}, /* 12 was there before 11 ended */
        {{{14, 500}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* It was only not to be seen for a cycle. */
static void test_returned_is_no_restart(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}}, 0}, {{{0, 0}}, 0},    {{{10, 100}}, 0}, {{{10, 100}, {11, 300}}, 0},
        {{{10, 100}}, 0}, {{{12, 400}}, 1},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* The oldest ends in the cycle in which a younger one, not seen before, turns out to live. */
static void test_returned_predates_the_end(void **state)
{
    static const struct restarts_row rows[] = {
        {{{10, 100}, {11, 101}}, 0},
        {{{10, 100}}, 0},
        {{{11, 101}, {12, 300}}, 0},
    };

    (void)state;
    CHECK_RESTARTS(rows);
}

/* Nor is one that was hidden, and is older than the daemon. */
static void test_found_is_no_restart(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.table.first_tick = 1000;
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g");
    end(&f);
    begin_with_init(&f);
    end(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 11, .start = 200, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_STARTED), 0);
    /* Not even in the cycle of the end. */
    begin_with_init(&f);
    SEE(&f, .pid = 12, .start = 300, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 0);
    begin_with_init(&f);
    SEE(&f, .pid = 13, .start = 1300, .comm = "g");
    end_and_take(&f);
    assert_int_equal(counter(&f, "g", GROUP_COUNTER_RESTARTS), 1);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart_within_a_cycle),
        cmocka_unit_test(test_restart_after_a_pause),
        cmocka_unit_test(test_first_start_is_no_restart),
        cmocka_unit_test(test_worker_exit_is_no_restart),
        cmocka_unit_test(test_oldest_ends_others_live),
        cmocka_unit_test(test_returned_is_no_restart),
        cmocka_unit_test(test_returned_predates_the_end),
        cmocka_unit_test(test_found_is_no_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
