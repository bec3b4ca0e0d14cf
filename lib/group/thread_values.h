#pragma once
/* thread_values - what a group's threads of one name show in one snapshot. */
#include "model/thread.h"

#include <stdint.h>

struct thread_values {
    uint64_t threads;
    uint32_t have; /* 1 << enum thread_counter that is known */
    uint64_t counter[THREAD_COUNTER_N];
};
