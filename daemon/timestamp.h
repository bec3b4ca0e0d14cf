#pragma once
/* timestamp - a time as text, RFC 3339 in UTC. */
#include <stdint.h>

enum { TIMESTAMP_MAX = 32 };

/*
 * Nanoseconds since the epoch as "2026-07-30T08:12:44.123Z", to the millisecond. By hand, not by
 * gmtime_r(3), which takes the time zone's lock and may read files.
 */
void timestamp_format(uint64_t ns, char dst[static TIMESTAMP_MAX]);
