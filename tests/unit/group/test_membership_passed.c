/* Processes that came and went between two looks: nobody saw them. */
#include "membership_cycles.h"

/* One that came and went between two looks; its record is the caller's to drop. */
static uint32_t pass(struct fixture *f, struct who w, enum exit_reason reason)
{
    struct subject subject;
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct sample s;
    struct kin kin;
    uint32_t ref;

    sample_of(&w, &s);
    assert_int_equal(table_see(&f->table, &s, 0, &wanted, &ref, &sighting, &delta), 0);
    assert_int_equal(sighting, SIGHTING_STARTED);
    p = table_process(&f->table, ref);
    subject_of(f, &w, &subject);
    f->news = ref;
    kin = kin_of(f, &w);
    assert_true(groups_place(&f->groups, p, sighting, &delta, &subject, &kin) >= 0);
    assert_int_equal(groups_place_ended(&f->groups, p, &subject, &kin), 0);
    groups_count_exit(&f->groups, p, reason);
    return ref;
}

#define PASS(f, reason, ...) pass(f, (struct who){__VA_ARGS__}, EXIT_REASON_##reason)

static void drop(struct fixture *f, uint32_t ref)
{
    groups_drop(&f->groups, table_process(&f->table, ref));
    table_forget(&f->table, ref);
}

static void test_passed(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    for (uint32_t i = 0; i < 4; i++) {
        begin(&f);
        for (uint32_t k = 0; k < 25; k++)
            drop(&f,
                 PASS(&f, SUCCESS, .pid = 100 + k, .start = 10 * i + 9, .comm = "job", .cpu = 3));
        LOOK(&f, .pid = 1, .comm = "init");
        end(&f);
        check_group(&f, "job", 0, 75 * (i + 1), 25 * (i + 1), 0);
        assert_int_equal(exits(&f, "job", EXIT_REASON_SUCCESS), 25 * (i + 1));
        /* Somebody of a later cycle came in the place of those of the one before. */
        assert_int_equal(restarts(&f, "job"), i);
    }
    check_waiting(&f, 0, 0);
    assert_int_equal(f.table.n_present, 1);
    teardown(&f);
}

/* Beside a member that stays, whoever comes and goes restarts nothing. */
static void test_passed_beside_members(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .comm = "job");
    end(&f);
    for (uint32_t i = 0; i < 5; i++) {
        begin(&f);
        drop(&f, PASS(&f, SUCCESS, .pid = 100, .start = 9 + i, .comm = "job", .cpu = 3));
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 5, .comm = "job");
        end(&f);
    }
    check_group(&f, "job", 1, 15, 5, 0);
    assert_int_equal(all_exits(&f, "job"), 5);
    assert_int_equal(restarts(&f, "job"), 0);
    teardown(&f);
}

/* Whoever it led goes with it, as long as its record is there. */
static void test_passed_leads(void **state)
{
    struct fixture f;
    uint32_t leader, child, late;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule, {.name = "-noise", .comm = "noise"});
    cycle_of_init(&f);
    begin(&f);
    leader = PASS(&f, SUCCESS, .pid = 100, .start = 9, .parent = 1, .comm = "lead", .cpu = 1);
    child = PASS(&f, FAILURE, .pid = 101, .start = 10, .parent = 100, .comm = "child", .cpu = 10);
    /* And on over the child, though the leader's record goes. */
    drop(&f, leader);
    drop(&f, PASS(&f, KILLED, .pid = 102, .start = 11, .parent = 101, .comm = "grand", .cpu = 100));
    drop(&f, PASS(&f, KILLED, .pid = 103, .start = 11, .parent = 100, .comm = "orphan", .cpu = 7));
    drop(&f, child);
    /* A rule of its own is before what leads it. */
    leader = PASS(&f, SUCCESS, .pid = 104, .start = 12, .parent = 1, .comm = "lead", .cpu = 1);
    late = PASS(&f, SUCCESS, .pid = 105, .start = 13, .parent = 104, .comm = "noise", .cpu = 9);
    assert_int_equal(table_process(&f.table, late)->membership.now.standing, STANDING_EXCLUDED);
    drop(&f, late);
    drop(&f, leader);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "web", 0, 112, 4, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_SUCCESS), 2);
    assert_int_equal(exits(&f, "web", EXIT_REASON_FAILURE), 1);
    assert_int_equal(exits(&f, "web", EXIT_REASON_KILLED), 1);
    check_group(&f, "orphan", 0, 7, 1, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Texts of who is gone will not come: it is placed by what there is, at once and whole. */
static void test_passed_without_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin(&f);
    drop(&f, PASS(&f, SUCCESS, .pid = 100, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS));
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 5, 1, 0);
    assert_int_equal(exits(&f, "app", EXIT_REASON_SUCCESS), 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_passed_beside_members),
        cmocka_unit_test(test_passed_leads),
        cmocka_unit_test(test_passed_without_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
