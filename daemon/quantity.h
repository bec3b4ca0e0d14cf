#pragma once
/*
 * quantity - durations and sizes as people write them.
 *
 * One whole number and one unit, nothing around or between: `500ms 10s 5m 1h 1d`, `4096 64K 512M
 * 4G` (units of 1024; a bare number is bytes), `2%`. Signs, decimals, several units and what does
 * not fit 64 bits are refused. The results of the format functions parse back to the same value.
 *
 * On failure the result is -EINVAL, and *ret_reason a constant text that says what is wrong, fit
 * to follow the value and a colon.
 */
#include "base/span.h"

#include <stdint.h>

enum { QUANTITY_TEXT_MAX = 32 };

int quantity_parse_duration(struct span text, uint64_t *ret_ns, const char **ret_reason);
int quantity_parse_size(struct span text, uint64_t *ret_bytes, const char **ret_reason);

/* In millionths: 2% is 20000. */
int quantity_parse_percent(struct span text, uint64_t *ret_ppm, const char **ret_reason);

/* In the largest unit that is exact. Durations are cut to whole milliseconds. */
void quantity_format_duration(uint64_t ns, char dst[static QUANTITY_TEXT_MAX]);
void quantity_format_size(uint64_t bytes, char dst[static QUANTITY_TEXT_MAX]);
void quantity_format_percent(uint64_t ppm, char dst[static QUANTITY_TEXT_MAX]);
