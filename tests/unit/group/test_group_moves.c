/* Processes that move, by another comm or by new rules. Linked with --wrap=realloc. */
#include "group_cycles.h"

#include <errno.h>

/* For a test linked with --wrap=realloc: there is no more memory. */
static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

/* Case 15. What was used up to the look goes to where it was used; no start, no end. */
static void test_move(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "bash", .start = 61000, .cpu = 3);
    end_and_take(&f);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "qtdisp", .start = 61000, .cpu = 5);
    end_and_take(&f);
    assert_int_equal(shown(&f, "bash")->processes, 0);
    assert_int_equal(shown(&f, "qtdisp")->processes, 1);
    assert_int_equal(counter(&f, "bash", CPU), 2);
    assert_int_equal(counter(&f, "qtdisp", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1501, .comm = "qtdisp", .start = 61000, .cpu = 25);
    end_and_take(&f);
    assert_int_equal(counter(&f, "bash", CPU), 2);
    assert_int_equal(counter(&f, "qtdisp", CPU), 20);
    for (size_t i = 0; i < f.n_taken; i++) {
        assert_int_equal(counter(&f, f.taken[i].name, GROUP_COUNTER_STARTED), 0);
        assert_int_equal(counter(&f, f.taken[i].name, GROUP_COUNTER_RESTARTS), 0);
        assert_int_equal(counter(&f, f.taken[i].name, EXITED), 0);
    }
    /* It ends where it is. */
    begin(&f);
    SEE(&f, .pid = 1, .comm = "init", .start = 61001);
    end_and_take(&f);
    assert_int_equal(counter(&f, "bash", EXITED), 0);
    assert_int_equal(counter(&f, "qtdisp", EXITED), 1);
    teardown(&f);
}

/* Who moves in brings what it knows, so the series is there at 0 and its amount is not late. */
static void test_move_into_a_fixed_group(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "bash", .cpu = 3);
    end_and_serve(&f);
    assert_int_equal(counter(&f, "web", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 5);
    end_and_serve(&f);
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(counter(&f, "web", READ), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "qtdisp", .cpu = 25);
    end_and_serve(&f);
    assert_int_equal(counter(&f, "web", CPU), 20);
    assert_int_equal(counter(&f, "qtdisp", CPU), 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "qtdisp", .cpu = 30);
    end_and_take(&f);
    assert_int_equal(counter(&f, "qtdisp", CPU), 5);
    teardown(&f);
}

static void test_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 10);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 10);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 15);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 12);
    end(&f);
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 16);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 13);
    end_and_take(&f);
    check_names(&f, "bash,nginx,web");
    assert_int_equal(shown(&f, "nginx")->processes, 0);
    assert_int_equal(counter(&f, "nginx", CPU), 6);
    assert_int_equal(counter(&f, "nginx", EXITED), 0);
    assert_int_equal(shown(&f, "web")->processes, 1);
    assert_int_equal(counter(&f, "web", CPU), 0);
    assert_int_equal(counter(&f, "web", GROUP_COUNTER_STARTED), 0);
    assert_int_equal(counter(&f, "bash", CPU), 3);
    /* The same rules once more move nobody. */
    RULES(&f, 100, {"web", "nginx"}, {"${comm}", "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 17);
    SEE(&f, .pid = 2, .comm = "bash", .cpu = 13);
    end_and_take(&f);
    assert_int_equal(counter(&f, "web", CPU), 1);
    /* A name that is fixed no more is like any other, with what it counted. */
    RULES(&f, 100, {"${comm}", "*"});
    f.groups.forget_ns = SECOND;
    assert_int_equal(f.groups.n_counted, 3);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 18);
    end_and_take(&f);
    assert_int_equal(counter(&f, "web", CPU), 2);
    assert_int_equal(shown(&f, "nginx")->processes, 1);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "nginx", .cpu = 18);
    end_and_take(&f);
    check_names(&f, "nginx");
    assert_int_equal(f.groups.n_counted, 1);
    teardown(&f);
}

/* An ordinary group that becomes fixed leaves room for another. */
static void test_fixed_later(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    end(&f);
    assert_int_equal(f.groups.n_counted, 1);
    RULES(&f, 1, {"a", "a"}, {"${comm}", "*"});
    assert_int_equal(f.groups.n_counted, 0);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    SEE(&f, .pid = 2, .comm = "b");
    SEE(&f, .pid = 3, .comm = "c");
    end_and_take(&f);
    check_names(&f, "_other,a,b");
    teardown(&f);
}

/* A move for which there is no memory leaves the process where it was, until there is some. */
static void test_out_of_memory(void **state)
{
    struct sample s = {.identity = {1, 0}, .comm = "new", .comm_len = 3};
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct fixture f;
    uint32_t ref;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    for (uint32_t i = 1; i <= 64; i++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "g%u", i);
        SEE(&f, .pid = i, .comm = comm);
    }
    end(&f);
    assert_int_equal(f.groups.capacity, 64);
    begin(&f);
    sample_set_counter(&s, CPU, 7);
    assert_int_equal(table_see(&f.table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f.table, ref);
    no_memory = true;
    assert_int_equal(place_by_comm(&f.groups, p, sighting, &delta), -ENOMEM);
    no_memory = false;
    assert_string_equal(f.groups.groups[p->membership.now.group].name, "g1");
    table_abort(&f.table);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "new", .cpu = 9);
    end(&f);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "new", .cpu = 10);
    end(&f);
    begin(&f);
    end_and_take(&f);
    assert_int_equal(counter(&f, "g1", CPU), 9);
    assert_int_equal(counter(&f, "g1", EXITED), 0);
    assert_int_equal(counter(&f, "new", CPU), 1);
    assert_int_equal(counter(&f, "new", EXITED), 1);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move),          cmocka_unit_test(test_move_into_a_fixed_group),
        cmocka_unit_test(test_new_rules),     cmocka_unit_test(test_fixed_later),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
