/* thread - how a thread's counters belong to a process'. */
#include "model/thread.h"

enum counter thread_counter_of_process(enum thread_counter field)
{
    static const enum counter counters[THREAD_COUNTER_N] = {
        [THREAD_CPU_USER_NS] = COUNTER_CPU_USER_NS,
        [THREAD_CPU_SYSTEM_NS] = COUNTER_CPU_SYSTEM_NS,
        [THREAD_RUN_QUEUE_NS] = COUNTER_RUN_QUEUE_NS,
        [THREAD_VOLUNTARY_SWITCHES] = COUNTER_VOLUNTARY_SWITCHES,
        [THREAD_INVOLUNTARY_SWITCHES] = COUNTER_INVOLUNTARY_SWITCHES,
    };

    return counters[field];
}

uint32_t thread_counters_wanted(const struct wanted *wanted)
{
    uint32_t counters = wanted->threads;

    for (enum thread_counter i = 0; i < THREAD_COUNTER_N; i++) {
        enum counter field = thread_counter_of_process(i);

        if (counter_part(field) == PART_TASK && (wanted->counters >> field & 1))
            counters |= UINT32_C(1) << i;
    }
    return counters;
}
