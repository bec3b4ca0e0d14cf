#pragma once
/* ticks - USER_HZ ticks, as the kernel prints CPU time, into nanoseconds. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Converts without losing precision for any rate above 0. False, and nothing stored, if the
 * result would be 2^63 ns (292 years) or more: no kernel has counted that.
 */
static inline bool ticks_to_ns(uint64_t ticks, uint32_t per_second, uint64_t *ret)
{
    /* 32 bits wide, for a cheap division. */
    const uint32_t second = 1000000000, whole = second / per_second;
    unsigned __int128 ns;

    /* The usual 100 divides; the wide division is for rates such as 1024. */
    if (whole * per_second == second)
        ns = (unsigned __int128)ticks * whole;
    else
        ns = (unsigned __int128)ticks * second / per_second;
    if (ns > INT64_MAX)
        return false;
    *ret = (uint64_t)ns;
    return true;
}

/*
 * When something began that began so many ticks after a boot at `boot_seconds` since the epoch, in
 * nanoseconds since the epoch. False, and nothing stored, if that is beyond the year 2262.
 */
static inline bool ticks_since_epoch(uint64_t boot_seconds, uint64_t ticks, uint32_t per_second,
                                     uint64_t *ret)
{
    uint64_t since_boot, boot;

    if (!ticks_to_ns(ticks, per_second, &since_boot) ||
        __builtin_mul_overflow(boot_seconds, UINT64_C(1000000000), &boot) ||
        boot > INT64_MAX - since_boot)
        return false;
    *ret = boot + since_boot;
    return true;
}
