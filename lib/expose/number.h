#pragma once
/*
 * number - sample values as text.
 *
 * Each function writes at `at`, where NUMBER_MAX bytes are free, and returns the end of what it
 * wrote; nothing is terminated. The point is a '.' whatever the locale. All give what both text
 * formats take: digits, at most one point, an exponent only for doubles outside 0.0001..1e15.
 */
#include <stdint.h>

/* The longest is a double such as 2.2250738585072014e-308. */
enum { NUMBER_MAX = 32 };

char *number_u64(char at[static NUMBER_MAX], uint64_t value);

/* Nanoseconds as seconds, exact: 1500000000 is "1.5", 1 is "0.000000001". */
char *number_seconds(char at[static NUMBER_MAX], uint64_t ns);

/*
 * The fewest significant digits of 15, 16 and 17 that read back as the same double, zeros at the
 * end cut. The value must be finite and not negative.
 */
char *number_double(char at[static NUMBER_MAX], double value);
