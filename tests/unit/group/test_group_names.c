/* Which groups there are: their names and order, at most how many, and when one is forgotten. */
#include "group_cycles.h"

static void test_names_in_order(void **state)
{
    static const char *const comms[] = {"m", "a", "zz", "z", "B", "b", "_", "\xc3\xa9", "aa", "0"};
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    for (uint32_t i = 0; i < 10; i++)
        SEE(&f, .pid = i + 1, .comm = comms[i]);
    end_and_take(&f);
    check_names(&f, "0,B,_,a,aa,b,m,z,zz,\xc3\xa9");
    teardown(&f);
}

/* Bytes that are no text become U+FFFD each, and what is equal then is one group. */
static void test_names_made_equal(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a\xff");
    SEE(&f, .pid = 2, .comm = "a\xfe");
    SEE(&f, .pid = 3, .comm = "a\x01");
    SEE(&f, .pid = 4, .comm = "");
    end_and_take(&f);
    check_names(&f, "_empty,a\xef\xbf\xbd");
    assert_int_equal(shown(&f, "a\xef\xbf\xbd")->processes, 3);
    assert_int_equal(shown(&f, "_empty")->processes, 1);
    teardown(&f);
}

static void test_long_names_are_cut(void **state)
{
    char text[600], name[UTF8_LABEL_MAX + 1] = "";
    struct fixture f;

    (void)state;
    memset(text, 'n', sizeof(text) - 1);
    memcpy(text + 500, "-${comm}", 9);
    memset(name, 'n', UTF8_LABEL_MAX);
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100, {text, "*"});
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a");
    SEE(&f, .pid = 2, .comm = "b");
    end_and_take(&f);
    check_names(&f, name);
    assert_int_equal(shown(&f, name)->processes, 2);
    teardown(&f);
}

static void test_kernel_threads(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    begin(&f);
    SEE(&f, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    SEE(&f, .pid = 3, .comm = "kworker/0:0", .kernel_thread = true);
    end_and_take(&f);
    check_names(&f, "kernel");
    assert_int_equal(shown(&f, "kernel")->processes, 2);
    teardown(&f);
}

/* Beyond max all go to `_other`, stay there when there is room again, and are counted once. */
static void test_max_and_other(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 2, {"fixed", "f*"}, {"${comm}", "*"});
    f.groups.forget_ns = 15 * SECOND;
    for (uint64_t i = 1; i <= 2; i++) {
        begin(&f);
        SEE(&f, .pid = 1, .comm = "a", .cpu = 10 * i);
        SEE(&f, .pid = 2, .comm = "b", .cpu = 10 * i);
        SEE(&f, .pid = 3, .comm = "c", .cpu = 10 * i);
        SEE(&f, .pid = 4, .comm = "d", .cpu = 10 * i);
        SEE(&f, .pid = 5, .comm = "f", .cpu = 10 * i);
        end_and_take(&f);
        check_names(&f, "_other,a,b,fixed");
        assert_int_equal(shown(&f, "_other")->processes, 2);
        assert_int_equal(f.groups.other_assignments, 2);
    }
    assert_int_equal(counter(&f, "_other", CPU), 20);
    /* Looked at anew, they are still there: no further assignment. */
    RULES(&f, 2, {"fixed", "f*"}, {"${comm}", "*"});
    f.groups.forget_ns = 15 * SECOND;
    begin(&f);
    SEE(&f, .pid = 1, .comm = "a", .cpu = 20);
    SEE(&f, .pid = 2, .comm = "b", .cpu = 20);
    SEE(&f, .pid = 3, .comm = "c", .cpu = 20);
    SEE(&f, .pid = 4, .comm = "d", .cpu = 20);
    end_and_take(&f);
    assert_int_equal(shown(&f, "_other")->processes, 2);
    assert_int_equal(f.groups.other_assignments, 2);
    for (int i = 0; i < 4; i++) {
        begin(&f);
        SEE(&f, .pid = 3, .comm = "c", .cpu = 25);
        SEE(&f, .pid = 4, .comm = "d", .cpu = 20);
        end_and_take(&f);
    }
    check_names(&f, "_other,fixed");
    /* Room for two again: a new process takes it, the others stay where they are. */
    begin(&f);
    SEE(&f, .pid = 3, .comm = "c", .cpu = 26);
    SEE(&f, .pid = 4, .comm = "e", .cpu = 21); /* but a new comm is looked at anew */
    SEE(&f, .pid = 6, .comm = "c", .start = 7, .cpu = 1);
    end_and_take(&f);
    check_names(&f, "_other,c,e,fixed");
    assert_int_equal(shown(&f, "_other")->processes, 1);
    assert_int_equal(counter(&f, "_other", CPU), 27);
    assert_int_equal(counter(&f, "c", CPU), 1);
    assert_int_equal(counter(&f, "e", CPU), 0);
    assert_int_equal(f.groups.other_assignments, 2);
    assert_int_equal(f.groups.n_counted, 2);
    teardown(&f);
}

static void test_forget(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_FIRST_AT_ZERO);
    RULES(&f, 100, {"fixed", "f"}, {"${comm}", "*"});
    f.groups.forget_ns = 25 * SECOND;
    begin_with_init(&f);
    SEE(&f, .pid = 2, .comm = "a", .cpu = 5);
    end_and_serve(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 2, .comm = "a", .cpu = 505);
    end_and_take(&f);
    assert_int_equal(counter(&f, "a", CPU), 500);
    for (int i = 0; i < 4; i++) {
        begin_with_init(&f);
        end_and_serve(&f);
        /* Empty for 0, 10, 20 and, at last, 30 seconds. */
        check_names(&f, i < 3 ? "a,fixed,init" : "fixed,init");
    }
    /* The slot is another's now, who inherits nothing. */
    begin_with_init(&f);
    SEE(&f, .pid = 3, .comm = "b", .start = 9, .cpu = 7);
    end_and_take(&f);
    check_names(&f, "b,fixed,init");
    assert_int_equal(f.groups.n_groups, 3);
    assert_int_equal(counter(&f, "b", CPU), 0);
    assert_int_equal(counter(&f, "b", EXITED), 0);
    f.served = f.sequence;
    begin_with_init(&f);
    SEE(&f, .pid = 3, .comm = "b", .start = 9, .cpu = 7);
    SEE(&f, .pid = 4, .comm = "a", .start = 10, .cpu = 3);
    end_and_take(&f);
    assert_int_equal(counter(&f, "b", CPU), 7);
    assert_int_equal(counter(&f, "a", CPU), 0); /* dropped, and first at 0 anew */
    teardown(&f);
}

/* A member that comes back in time resets the clock. */
static void test_not_forgotten_with_a_member_between(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.groups.forget_ns = 25 * SECOND;
    for (uint32_t i = 0; i < 20; i++) {
        begin_with_init(&f);
        if (i % 3 == 0)
            SEE(&f, .pid = 10 + i, .comm = "cron", .start = 10 + i, .cpu = 1);
        end_and_take(&f);
        check_names(&f, "cron,init");
    }
    assert_int_equal(counter(&f, "cron", CPU), 6);
    teardown(&f);
}

/* It comes back in the very cycle at whose end its group would be forgotten. */
static void test_returned_in_time(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    f.groups.forget_ns = SECOND;
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 5);
    end(&f);
    begin_with_init(&f);
    end(&f);
    begin_with_init(&f);
    SEE(&f, .pid = 10, .start = 100, .comm = "g", .cpu = 9);
    end_and_take(&f);
    check_names(&f, "g,init");
    assert_int_equal(counter(&f, "g", CPU), 4);
    teardown(&f);
}

static void test_many_groups(void **state)
{
    enum { MANY = 500 };
    struct fixture f;

    (void)state;
    setup(&f, GROUPS_AT_ONCE);
    RULES(&f, 100000, {"${comm}", "*"});
    for (uint64_t cycle = 0; cycle < 3; cycle++) {
        begin(&f);
        for (uint32_t i = 0; i < MANY; i++) {
            char comm[16];

            snprintf(comm, sizeof(comm), "g%u", i * 7919 % MANY);
            SEE(&f, .pid = i + 1, .comm = comm, .cpu = cycle * i);
        }
        end(&f);
    }
    assert_int_equal(f.groups.n_order, MANY);
    for (size_t i = 1; i < f.groups.n_order; i++) {
        struct span a = group_name(&f.groups, f.groups.order[i - 1]);
        struct span b = group_name(&f.groups, f.groups.order[i]);
        int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

        assert_true(c < 0 || (c == 0 && a.n < b.n));
    }
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_in_order),
        cmocka_unit_test(test_names_made_equal),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_kernel_threads),
        cmocka_unit_test(test_max_and_other),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_not_forgotten_with_a_member_between),
        cmocka_unit_test(test_returned_in_time),
        cmocka_unit_test(test_many_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
