#pragma once
/*
 * identity - what tells one process from every other since boot.
 *
 * Pids are reused; together with the start time, in clock ticks since boot, they are not. The pid
 * is the one the procfs mount shows.
 */
#include <stdbool.h>
#include <stdint.h>

struct identity {
    uint32_t pid;
    uint64_t start_ticks; /* USER_HZ ticks since boot, proc(5) stat field 22 */
};

static inline bool identity_equal(struct identity a, struct identity b)
{
    return a.pid == b.pid && a.start_ticks == b.start_ticks;
}
