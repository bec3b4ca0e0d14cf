/* Sums over tasks: each number is added to its own, and stops at the largest there is. */
#include "bpf/usage.h"

#include "records.h"

static void usage_adds_up(void **state)
{
    struct task_usage sum = usage_of(100), more = usage_of(2000);

    (void)state;
    task_usage_add(&sum, &more);
    check_usage(&sum, 2100, 2);
    task_usage_add(&sum, &more);
    check_usage(&sum, 4100, 3);
    check_usage(&more, 2000, 1);
    task_usage_add(&more, &more);
    check_usage(&more, 4000, 2);
}

static void own_adds_up(void **state)
{
    struct task_own sum = own_of(100), more = own_of(2000);

    (void)state;
    task_own_add(&sum, &more);
    check_own(&sum, 2100, 2);
    task_own_add(&sum, &more);
    check_own(&sum, 4100, 3);
    check_own(&more, 2000, 1);
}

/* Adds more to each number in turn, which is so much below the largest; the others are 1 and 1. */
static void check_saturation(size_t n, uint64_t below, uint64_t more, uint64_t expected)
{
    for (size_t k = 0; k < n; k++) {
        __u64 sum[OWN_NUMBERS], add[OWN_NUMBERS];

        for (size_t i = 0; i < n; i++)
            sum[i] = add[i] = 1;
        sum[k] = UINT64_MAX - below;
        add[k] = more;
        if (n == USAGE_NUMBERS)
            task_usage_add((struct task_usage *)sum, (const struct task_usage *)add);
        else
            task_own_add((struct task_own *)sum, (const struct task_own *)add);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(sum[i], i == k ? expected : 2);
    }
}

static void sums_stop(void **state)
{
    static const size_t sizes[] = {USAGE_NUMBERS, OWN_NUMBERS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_saturation(sizes[i], 5, 4, UINT64_MAX - 1);
        check_saturation(sizes[i], 5, 5, UINT64_MAX);
        check_saturation(sizes[i], 5, 6, UINT64_MAX);
        check_saturation(sizes[i], 0, 0, UINT64_MAX);
        check_saturation(sizes[i], 0, 1, UINT64_MAX);
        check_saturation(sizes[i], 0, UINT64_MAX, UINT64_MAX);
        check_saturation(sizes[i], UINT64_MAX, UINT64_MAX, UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_adds_up),
        cmocka_unit_test(own_adds_up),
        cmocka_unit_test(sums_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
