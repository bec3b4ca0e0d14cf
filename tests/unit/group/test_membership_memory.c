/* What there is no memory for. Linked with --wrap=realloc, to have none. */
#include "membership_cycles.h"

#include <errno.h>
#include <stdio.h>

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

/* As many groups as there is room for, so that the next one takes memory. */
static void fill_groups(struct fixture *f)
{
    for (uint32_t i = 0; f->groups.n_groups < f->groups.capacity; i++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "f%u", i);
        LOOK(f, .pid = 100 + i, .start = 9, .comm = comm);
    }
}

static void test_no_memory(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    no_memory = true;
    /* Nothing to hold it. */
    assert_int_equal(TRY_LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 9, .expected = TEXTS),
                     -ENOMEM);
    no_memory = false;
    table_abort(&f.table);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 10, .expected = TEXTS);
    fill_groups(&f);
    LOOK(&f, .pid = 6, .start = 9, .comm = "init", .cpu = 1);
    end(&f);
    /* No group to foresee: the next look finds it undecided. */
    no_memory = true;
    assert_int_equal(
        foresee(&f, (struct who){.pid = 5, .start = 9, .comm = "app", .cmdline = "-n one"}),
        -ENOMEM);
    /* Nor to move to, nor for a new one: what was used is not lost. */
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 12, .expected = TEXTS);
    assert_int_equal(TRY_LOOK(&f, .pid = 6, .start = 9, .comm = "moved", .cpu = 3), -ENOMEM);
    assert_int_equal(TRY_LOOK(&f, .pid = 7, .start = 9, .comm = "new", .cpu = 5), -ENOMEM);
    no_memory = false;
    table_abort(&f.table);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "-n one");
    begin_with_init(&f);
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 14, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "moved", .cpu = 4);
    LOOK(&f, .pid = 7, .start = 9, .comm = "new", .cpu = 6);
    end(&f);
    check_group(&f, "app-one", 1, 14, 1, 0);
    check_group(&f, "init", 1, 4, 1, 0);
    check_group(&f, "moved", 1, 0, 0, 0);
    check_group(&f, "new", 1, 6, 1, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

static void test_end_without_memory(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    cycle_of_init(&f);
    begin_with_init(&f);
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    fill_groups(&f);
    end(&f);
    begin_with_init(&f);
    no_memory = true;
    assert_int_equal(try_end(&f), -ENOMEM);
    no_memory = false;
    check_waiting(&f, 1, 0);
    cycle_of_init(&f);
    check_group(&f, "app", 0, 50, 1, 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_end_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
