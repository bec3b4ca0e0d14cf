/*
 * What ended threads left: added up, looked at, closed, and dropped when nobody asks any more.
 *
 * Linked with --wrap of the allocators, to refuse them.
 */
#include "bpf/accounts.h"

#include "chance.h"
#include "heap.h"
#include "records.h"

#include <errno.h>

static int setup(void **state)
{
    struct accounts *a = calloc(1, sizeof(*a));

    accounts_init(a);
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    accounts_deinit(*state);
    free(*state);
    return 0;
}

static void add(struct accounts *a, uint64_t process, uint32_t pid, uint64_t n, uint64_t now_ns)
{
    struct thread_end end = thread_end_of(pid, process, n);

    assert_int_equal(accounts_add(a, &end, now_ns), 0);
}

/* Closes it; what it holds are `times` own_of() of this sum in all. */
static void check_close(struct accounts *a, uint64_t process, uint32_t pid, uint64_t sum,
                        uint64_t times)
{
    struct task_own own = {0};
    uint32_t flags = 0;

    accounts_close(a, process, pid, &own, &flags);
    check_own(&own, sum, times);
    assert_int_equal(flags, 0);
    assert_null(accounts_look(a, process, pid, 0));
}

static void nothing_is_known(void **state)
{
    struct accounts *a = *state;
    struct task_own own = own_of(5);
    uint32_t flags = 3;

    assert_null(accounts_look(a, 70, 7, 1));
    accounts_close(a, 70, 7, &own, &flags);
    check_own(&own, 5, 1);
    assert_int_equal(flags, 3);
    assert_int_equal(accounts_sweep(a, 1000, 0), 0);
    /* Nor of another than the one that is there. */
    add(a, 70, 7, 100, 1);
    assert_null(accounts_look(a, 71, 7, 1));
    accounts_close(a, 71, 7, &own, &flags);
    check_own(&own, 5, 1);
    assert_int_equal(a->n_used, 1);
}

static void threads_add_up(void **state)
{
    struct accounts *a = *state;
    const struct account *account;
    struct thread_end end = thread_end_of(7, 70, 100);
    struct task_own own = own_of(1);
    uint32_t flags = TASK_KERNEL_THREAD;

    assert_int_equal(accounts_add(a, &end, 1), 0);
    end.own = own_of(2000);
    end.flags = TASK_OOM_VICTIM;
    assert_int_equal(accounts_add(a, &end, 2), 0);
    end.own = own_of(30000);
    end.flags = 0;
    assert_int_equal(accounts_add(a, &end, 3), 0);
    account = accounts_look(a, 70, 7, 4);
    assert_non_null(account);
    check_own(&account->own, 32100, 3);
    assert_int_equal(account->flags, TASK_OOM_VICTIM);
    assert_int_equal(a->n_used, 1);
    accounts_close(a, 70, 7, &own, &flags);
    check_own(&own, 32101, 4);
    assert_int_equal(flags, TASK_KERNEL_THREAD | TASK_OOM_VICTIM);
    assert_int_equal(a->n_used, 0);
    accounts_close(a, 70, 7, &own, &flags);
    check_own(&own, 32101, 4);
}

static void sums_stop(void **state)
{
    struct accounts *a = *state;
    struct thread_end end = thread_end_of(7, 70, 0);

    end.own.run_queue_ns = UINT64_MAX - 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(accounts_add(a, &end, 1), 0);
    assert_true(accounts_look(a, 70, 7, 1)->own.run_queue_ns == UINT64_MAX);
}

/* The number of a process that ended comes again: what one left is none of the other's. */
static void numbers_come_again(void **state)
{
    struct accounts *a = *state;

    add(a, 70, 7, 100, 1);
    add(a, 70, 8, 2000, 2);
    add(a, 70, 7, 300, 3);
    assert_int_equal(a->n_used, 2);
    check_own(&accounts_look(a, 70, 7, 4)->own, 400, 2);
    check_own(&accounts_look(a, 70, 8, 4)->own, 2000, 1);
    assert_null(accounts_look(a, 70, 9, 4));
    check_close(a, 70, 8, 2000, 1);
    check_own(&accounts_look(a, 70, 7, 4)->own, 400, 2);
    check_close(a, 70, 7, 400, 2);
    /* And the same pid, later, begins at nothing. */
    add(a, 70, 7, 5, 5);
    check_close(a, 70, 7, 5, 1);
}

static void swept_by_age(void **state)
{
    struct accounts *a = *state;

    add(a, 70, 7, 1, 1000);
    add(a, 80, 8, 1, 1000);
    add(a, 90, 9, 1, 1000);
    assert_int_equal(accounts_sweep(a, 1099, 100), 0);
    /* Asked after, and added to: both keep it. */
    assert_non_null(accounts_look(a, 80, 8, 1050));
    add(a, 90, 9, 1, 1060);
    assert_int_equal(accounts_sweep(a, 1100, 100), 1);
    assert_null(accounts_look(a, 70, 7, 1100));
    assert_int_equal(accounts_sweep(a, 1149, 100), 0);
    assert_int_equal(accounts_sweep(a, 1150, 100), 1);
    assert_null(accounts_look(a, 80, 8, 1150));
    check_close(a, 90, 9, 2, 2);
    assert_int_equal(accounts_sweep(a, 999999, 100), 0);
    /* Without patience none is left. */
    for (uint32_t pid = 1; pid <= 50; pid++)
        add(a, pid * 16, pid, 1, 2000);
    assert_int_equal(accounts_sweep(a, 2000, 0), 50);
    assert_int_equal(a->n_used, 0);
    assert_int_equal(a->by_process.count, 0);
}

/* Places are used again, by closed and by swept ones. */
static void places_are_used_again(void **state)
{
    struct accounts *a = *state;

    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t pid = 1; pid <= 60; pid++)
            add(a, (uint64_t)(round + 1) << 32 | pid, pid, pid, round);
        for (uint32_t pid = 1; pid <= 60; pid += 2)
            check_close(a, (uint64_t)(round + 1) << 32 | pid, pid, pid, 1);
        assert_int_equal(accounts_sweep(a, round, 0), 30);
    }
    assert_int_equal(a->n, 60);
    assert_int_equal(a->n_used, 0);
}

enum { NUMBERS = 2000 };

struct one {
    uint64_t sum, times, touched_ns;
};

/* Threads end, processes end, are asked after and forgotten, against a plain list. */
static void many(void **state)
{
    struct chance chance = chance_of_test();
    static struct one list[NUMBERS];
    struct accounts *a = *state;
    size_t used = 0;

    memset(list, 0, sizeof(list));
    for (uint64_t now = 1; now < 200000; now++) {
        /* Four pids to a number. */
        uint32_t i = (uint32_t)chance_below(&chance, NUMBERS), pid = i + 1;
        uint64_t process = i / 4 * UINT64_C(0x880) + 0xff00, n = chance_below(&chance, 1000);
        size_t what = chance_below(&chance, 1000), old = 0;
        struct one *one = &list[i];

        if (what < 500) {
            add(a, process, pid, n, now);
            used += one->times == 0;
            *one = (struct one){one->sum + n, one->times + 1, now};
        } else if (what < 700) {
            const struct account *account = accounts_look(a, process, pid, now);

            assert_true((account != NULL) == (one->times > 0));
            if (account)
                check_own(&account->own, one->sum, one->times);
            one->touched_ns = now;
        } else if (what < 999) {
            check_close(a, process, pid, one->sum, one->times);
            used -= one->times > 0;
            *one = (struct one){0};
        } else {
            for (size_t k = 0; k < NUMBERS; k++)
                if (list[k].times > 0 && now - list[k].touched_ns >= 4000) {
                    list[k] = (struct one){0};
                    old++;
                }
            assert_int_equal(accounts_sweep(a, now, 4000), old);
            used -= old;
        }
        assert_int_equal(a->n_used, used);
        assert_int_equal(a->by_process.count, used);
    }
    assert_true(a->n <= NUMBERS);
}

/* Whichever allocation is refused, nothing changes, and later there is room. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t allowed = 0; allowed < 12; allowed++) {
        struct accounts a;
        uint32_t taken = 0;
        struct thread_end end;

        accounts_init(&a);
        heap_allows = allowed;
        do
            end = thread_end_of(taken + 1, (taken + 1) * UINT64_C(64), taken);
        while (accounts_add(&a, &end, 1) == 0 && ++taken);
        assert_int_equal(accounts_add(&a, &end, 1), -ENOMEM);
        assert_int_equal(a.n_used, taken);
        assert_true((taken > 0) == (allowed > 1));
        heap_allows = SIZE_MAX;
        assert_int_equal(accounts_add(&a, &end, 1), 0);
        for (uint32_t i = 0; i <= taken; i++)
            check_own(&accounts_look(&a, (i + 1) * UINT64_C(64), i + 1, 1)->own, i, 1);
        assert_int_equal(accounts_sweep(&a, 1, 0), taken + 1);
        accounts_deinit(&a);
    }
}

/* What has accounts already goes on, others are refused; as many as are closed can be opened. */
static void as_many_as_there_may_be(void **state)
{
    struct accounts *a = *state;
    struct thread_end end;

    for (uint32_t i = 1; i <= ACCOUNTS_MAX; i++)
        add(a, i, i, 5, 1);
    end = thread_end_of(ACCOUNTS_MAX + 1, ACCOUNTS_MAX + 1, 6);
    assert_int_equal(accounts_add(a, &end, 1), -ENOMEM);
    assert_int_equal(a->n_used, ACCOUNTS_MAX);
    add(a, 9, 9, 7, 1);
    check_close(a, 9, 9, 12, 2);
    assert_int_equal(accounts_add(a, &end, 1), 0);
    check_close(a, ACCOUNTS_MAX, ACCOUNTS_MAX, 5, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_known),
        TEST(threads_add_up),
        TEST(sums_stop),
        TEST(numbers_come_again),
        TEST(swept_by_age),
        TEST(places_are_used_again),
        TEST(many),
        TEST(no_memory),
        TEST(as_many_as_there_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
