/*
 * quantity - one number, one unit.
 *
 * Units stand in tables from large to small: for printing, the first that divides the value
 * without rest is the one.
 */
#include "daemon/quantity.h"

#include "base/scan.h"

#include <stdio.h>

struct unit {
    struct span name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {SPAN_LITERAL("d"), UINT64_C(86400) * 1000000000},
    {SPAN_LITERAL("h"), UINT64_C(3600) * 1000000000},
    {SPAN_LITERAL("m"), UINT64_C(60) * 1000000000},
    {SPAN_LITERAL("s"), UINT64_C(1000000000)},
    {SPAN_LITERAL("ms"), UINT64_C(1000000)},
};

static const struct unit sizes[] = {
    {SPAN_LITERAL("G"), UINT64_C(1) << 30},
    {SPAN_LITERAL("M"), UINT64_C(1) << 20},
    {SPAN_LITERAL("K"), UINT64_C(1) << 10},
    {SPAN_LITERAL(""), 1},
};

static const struct unit percents[] = {
    {SPAN_LITERAL("%"), 10000},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The texts of what can be wrong with one kind of quantity. */
struct wording {
    const char *no_number;
    const char *no_unit;
    const char *wrong_unit;
};

static const char too_large[] = "is too large";
static const char no_decimals[] = "has decimals; take a smaller unit";

static int quantity_parse(struct span text, const struct unit *units, size_t n,
                          const struct wording *wording, uint64_t *ret, const char **ret_reason)
{
    uint64_t number, value;
    int r = -EINVAL;

    /* scan_u64() skips blanks, which have no place here. */
    if (text.n > 0 && *text.p != ' ' && *text.p != '\t')
        r = scan_u64(&text, &number);
    if (r < 0) {
        *ret_reason = r == -ERANGE ? too_large : wording->no_number;
        return -EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (!span_equal(text, units[i].name))
            continue;
        if (__builtin_mul_overflow(number, units[i].factor, &value)) {
            *ret_reason = too_large;
            return -EINVAL;
        }
        *ret = value;
        return 0;
    }
    if (text.n == 0)
        *ret_reason = wording->no_unit;
    else if (*text.p == '.' || *text.p == ',')
        *ret_reason = no_decimals;
    else
        *ret_reason = wording->wrong_unit;
    return -EINVAL;
}

int quantity_parse_duration(struct span text, uint64_t *ret_ns, const char **ret_reason)
{
    static const struct wording wording = {
        .no_number = "is no duration, such as 10s",
        .no_unit = "lacks a unit: ms, s, m, h or d",
        .wrong_unit = "is no whole number with one unit: ms, s, m, h or d",
    };

    return quantity_parse(text, durations, LENGTH(durations), &wording, ret_ns, ret_reason);
}

int quantity_parse_size(struct span text, uint64_t *ret_bytes, const char **ret_reason)
{
    static const struct wording wording = {
        .no_number = "is no size, such as 512M",
        .no_unit = "", /* bytes have none */
        .wrong_unit = "is no whole number with one unit: K, M or G",
    };

    return quantity_parse(text, sizes, LENGTH(sizes), &wording, ret_bytes, ret_reason);
}

int quantity_parse_percent(struct span text, uint64_t *ret_ppm, const char **ret_reason)
{
    static const struct wording wording = {
        .no_number = "is no percentage, such as 2%",
        .no_unit = "lacks its %",
        .wrong_unit = "is no whole number with a %",
    };

    return quantity_parse(text, percents, LENGTH(percents), &wording, ret_ppm, ret_reason);
}

static void quantity_format(uint64_t value, const struct unit *units, size_t n, char *dst)
{
    size_t i = 0;

    /* 0 is said in the smallest unit. */
    while (i + 1 < n && (value == 0 || value % units[i].factor != 0))
        i++;
    snprintf(dst, QUANTITY_TEXT_MAX, "%llu%.*s", (unsigned long long)(value / units[i].factor),
             (int)units[i].name.n, units[i].name.p);
}

void quantity_format_duration(uint64_t ns, char dst[static QUANTITY_TEXT_MAX])
{
    quantity_format(ns, durations, LENGTH(durations), dst);
}

void quantity_format_size(uint64_t bytes, char dst[static QUANTITY_TEXT_MAX])
{
    quantity_format(bytes, sizes, LENGTH(sizes), dst);
}

void quantity_format_percent(uint64_t ppm, char dst[static QUANTITY_TEXT_MAX])
{
    quantity_format(ppm, percents, LENGTH(percents), dst);
}
