/*
 * number - sample values as text, without printf where values are common.
 *
 * A page has thousands of numbers, and printf with its search for the shortest double would cost
 * more than all else in it. Integers and seconds are plain integer arithmetic. A double from
 * 0.0001 to 1e15 is a 53-bit integer over a power of two, so its decimal digits, and whether they
 * read back, are exact in 128 bits. Only what is left goes through printf; there the locale's
 * point, whatever bytes it is, is replaced.
 */
#include "expose/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

static const uint64_t power_of_ten[] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

static const char digit_pairs[] = "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899";

static unsigned decimal_length(uint64_t value)
{
    /* 1233 / 4096 is a little above log10(2): the guess is right or one too low. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned guess = bits * 1233 >> 12;

    return guess + ((value | 1) >= power_of_ten[guess]);
}

static inline void put_pair(char *at, size_t pair)
{
    memcpy(at, digit_pairs + pair * 2, 2);
}

/* Fills at..end with the value, zeros in front; it has no more digits than that. */
static inline void put_digits(char *at, char *end, uint64_t value)
{
    uint32_t rest;

    for (; value > UINT32_MAX; value /= 100)
        put_pair(end -= 2, value % 100);
    /* Half of the instructions: dividing 32 bits by a constant is one multiplication. */
    rest = (uint32_t)value;
    for (size_t pairs = (size_t)(end - at) / 2; pairs > 0; pairs--, rest /= 100)
        put_pair(end -= 2, rest % 100);
    if (end > at)
        *at = (char)('0' + rest);
}

char *number_u64(char at[static NUMBER_MAX], uint64_t value)
{
    char *end;

    if (value < 10) { /* most values of an ordinary page: 0 and 1 */
        *at = (char)('0' + value);
        return at + 1;
    }
    end = at + decimal_length(value);
    put_digits(at, end, value);
    return end;
}

/* `.` and the fraction value / 10^places, zeros at the end cut; nothing for 0. */
static char *put_fraction(char *at, uint64_t value, unsigned places)
{
    if (value == 0)
        return at;
    for (; value % 10 == 0; value /= 10)
        places--;
    *at++ = '.';
    put_digits(at, at + places, value);
    return at + places;
}

char *number_seconds(char at[static NUMBER_MAX], uint64_t ns)
{
    const uint64_t second = 1000000000u;

    return put_fraction(number_u64(at, ns / second), ns % second, 9);
}

/* A double as mantissa / 2^shift. */
struct binary {
    uint64_t mantissa;
    unsigned shift;
};

/* For values from 0.0001 to 1e15: the shift is 3 to 66 then. */
static struct binary binary_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (struct binary){
        .mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52,
        .shift = 1075 - (unsigned)(bits >> 52),
    };
}

static u128 power_of_ten_wide(unsigned exponent)
{
    return exponent < 19 ? (u128)power_of_ten[exponent]
                         : (u128)power_of_ten[19] * power_of_ten[exponent - 19];
}

/*
 * The integer nearest to b * 10^places. True if it reads back as b, that is, if it is off by less
 * than half of the mantissa's last bit. (Powers of two have half that room below; but those in
 * question have at most 13 significant digits and are met exactly.) With at most 20 places the
 * product needs 120 bits.
 */
static bool decimal_of(struct binary b, unsigned places, uint64_t *ret)
{
    u128 scale = power_of_ten_wide(places);
    u128 product = b.mantissa * scale;
    u128 one = (u128)1 << b.shift;
    u128 rest = product & (one - 1);
    uint64_t floor = (uint64_t)(product >> b.shift);
    bool up = rest > one - rest || (rest == one - rest && floor % 2 == 1); /* ties: to even */

    *ret = floor + up;
    return (up ? one - rest : rest) * 2 < scale;
}

/* Digits in front of the point, negative for the zeros behind it: 0.05 has -1. */
static int decimal_magnitude(double value)
{
    if (value >= 1)
        return (int)decimal_length((uint64_t)value);
    return value >= 0.1 ? 0 : value >= 0.01 ? -1 : value >= 0.001 ? -2 : -3;
}

static char *put_shortest(char *at, double value)
{
    struct binary b = binary_of(value);
    int magnitude = decimal_magnitude(value);
    uint64_t decimal = 0;
    unsigned places = 0;

    for (int digits = 15; digits <= 17; digits++) {
        places = digits > magnitude ? (unsigned)(digits - magnitude) : 0;
        if (decimal_of(b, places, &decimal))
            break;
    }
    if (places > 19) /* 10^20 is no uint64_t; the value is below 0.001 then */
        return put_fraction(number_u64(at, 0), decimal, places);
    at = number_u64(at, decimal / power_of_ten[places]);
    return put_fraction(at, decimal % power_of_ten[places], places);
}

/* Puts '.' for the point of the locale: the bytes that no number of the C locale has. */
static char *replace_point(char *text)
{
    size_t head = strspn(text, "0123456789");
    size_t point = strcspn(text + head, "0123456789e");

    if (point == 0)
        return text + head + strlen(text + head);
    text[head] = '.';
    memmove(text + head + 1, text + head + point, strlen(text + head + point) + 1);
    return text + head + strlen(text + head);
}

static char *put_by_printf(char *at, double value)
{
    /* A locale's point has up to MB_LEN_MAX bytes. */
    char text[NUMBER_MAX + 16];
    size_t n;

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    n = (size_t)(replace_point(text) - text);
    memcpy(at, text, n);
    return at + n;
}

char *number_double(char at[static NUMBER_MAX], double value)
{
    if (value == 0)
        return number_u64(at, 0);
    if (value >= 0.0001 && value < 1e15)
        return put_shortest(at, value);
    return put_by_printf(at, value);
}
