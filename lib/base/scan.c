/* scan - the checked numbers of scan.h. */
#include "base/scan.h"

int scan_u64(struct span *rest, uint64_t *ret)
{
    struct span s = *rest;
    uint64_t value = 0;
    size_t digits = 0;

    scan_blanks(&s);
    /* Nineteen digits always fit; only the rest needs the overflow checks. */
    while (digits < s.n && digits < 19 && (unsigned char)(s.p[digits] - '0') <= 9)
        value = value * 10 + (unsigned char)(s.p[digits++] - '0');
    if (digits == 0)
        return -EINVAL;
    while (digits < s.n && (unsigned char)(s.p[digits] - '0') <= 9)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.p[digits++] - '0'), &value))
            return -ERANGE;
    *rest = span_skip(s, digits);
    *ret = value;
    return 0;
}

int scan_i64(struct span *rest, int64_t *ret)
{
    struct span s = *rest;
    uint64_t magnitude;
    bool negative;
    int r;

    scan_blanks(&s);
    negative = scan_literal(&s, SPAN_LITERAL("-"));
    if (negative && s.n > 0 && (*s.p == ' ' || *s.p == '\t'))
        return -EINVAL;
    r = scan_u64(&s, &magnitude);
    if (r < 0)
        return r;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return -ERANGE;
    *rest = s;
    *ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return 0;
}

int scan_whole_u64(struct span s, uint64_t *ret)
{
    uint64_t value;
    int r;

    if (s.n == 0 || *s.p < '0' || *s.p > '9')
        return -EINVAL;
    r = scan_u64(&s, &value);
    if (r < 0)
        return r;
    if (s.n != 0)
        return -EINVAL;
    *ret = value;
    return 0;
}
