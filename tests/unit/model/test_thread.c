/* What has to be read of threads, and what it adds up to. */
#include "model/thread.h"

#include "check.h"

#define BIT(n) (UINT32_C(1) << (n))

static void counters_of_the_process(void **state)
{
    uint32_t found = 0;

    (void)state;
    for (int i = 0; i < THREAD_COUNTER_N; i++)
        found |= BIT(thread_counter_of_process((enum thread_counter)i));
    assert_int_equal(found, BIT(COUNTER_CPU_USER_NS) | BIT(COUNTER_CPU_SYSTEM_NS) |
                                part_counters(PART_TASK));
}

/* What the process' counters add up from is read as well; its CPU time does not. */
static void wanted(void **state)
{
    struct wanted w = {.counters = BIT(COUNTER_CPU_USER_NS)};

    (void)state;
    assert_int_equal(thread_counters_wanted(&w), 0);
    w.counters |= BIT(COUNTER_RUN_QUEUE_NS);
    assert_int_equal(thread_counters_wanted(&w), BIT(THREAD_RUN_QUEUE_NS));
    w.threads = BIT(THREAD_CPU_SYSTEM_NS);
    assert_int_equal(thread_counters_wanted(&w),
                     BIT(THREAD_RUN_QUEUE_NS) | BIT(THREAD_CPU_SYSTEM_NS));
    w.counters = UINT32_MAX;
    assert_int_equal(thread_counters_wanted(&w),
                     BIT(THREAD_COUNTER_N) - 1 - BIT(THREAD_CPU_USER_NS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_the_process),
        cmocka_unit_test(wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
