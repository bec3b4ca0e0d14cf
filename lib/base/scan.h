#pragma once
/*
 * scan - tokens taken from the front of a span.
 *
 * Each function looks at `*rest`, hands out what it took and moves `*rest` behind it. None
 * allocates, none reads behind the span. Numbers are checked: no digits is -EINVAL, a value that
 * does not fit is -ERANGE, and `*rest` and the result are untouched then.
 */
#include "base/span.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Takes the next line, its LF left out, into *ret. The last line may lack its LF. False at the
 * end of the input.
 */
static inline bool scan_line(struct span *rest, struct span *ret)
{
    const char *lf;

    if (rest->n == 0)
        return false;
    lf = memchr(rest->p, '\n', rest->n);
    if (!lf) {
        *ret = *rest;
        *rest = span_skip(*rest, rest->n);
        return true;
    }
    *ret = span_of(rest->p, (size_t)(lf - rest->p));
    *rest = span_skip(*rest, ret->n + 1);
    return true;
}

static inline void scan_blanks(struct span *rest)
{
    while (rest->n > 0 && (*rest->p == ' ' || *rest->p == '\t'))
        *rest = span_skip(*rest, 1);
}

/* Skips blanks, then takes all up to the next blank; empty at the end of the input. */
static inline struct span scan_word(struct span *rest)
{
    struct span word;

    scan_blanks(rest);
    word = span_of(rest->p, 0);
    while (word.n < rest->n && word.p[word.n] != ' ' && word.p[word.n] != '\t')
        word.n++;
    *rest = span_skip(*rest, word.n);
    return word;
}

/*
 * The decimal at the front of eight bytes, and how many of them are its digits: 0 to 8. All eight
 * are looked at together, since a branch per digit costs more than the digit.
 */
static inline unsigned scan_eight(const char p[static 8], uint64_t *ret)
{
    const uint64_t each = 0x0101010101010101;
    uint64_t bytes, digits, others;
    unsigned n = 8;

    memcpy(&bytes, p, sizeof(bytes));
    /* The first byte is the lowest from here on; 0 to 9 are digits, 10 and more are not. */
    digits = le64toh(bytes) ^ each * '0';
    others = ((digits + each * (0x80 - 10)) | digits) & each * 0x80;
    if (others) {
        n = (unsigned)__builtin_ctzll(others) / 8;
        if (n == 0)
            return 0;
        digits <<= 64 - 8 * n;
    }
    /* Neighbours are joined: eight digits to four pairs, to two fours, to one. */
    digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
    digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
    *ret = (digits * 10000 + (digits >> 32)) & 0xffffffff;
    return n;
}

/*
 * How far the first newline is, or the length if there is none. For lines of some tens of bytes,
 * where calling memchr(3) takes longer than looking. The last steps are single ones: lines are much
 * of a length, so the processor foresees how many, and need not wait for what is found.
 */
static inline size_t scan_newline(struct span s)
{
    typedef signed char v16 __attribute__((vector_size(16)));
    typedef uint64_t v2 __attribute__((vector_size(16)));
    size_t at = 0;

    for (; s.n - at >= 16; at += 16) {
        v16 bytes;
        v2 found;

        memcpy(&bytes, s.p + at, sizeof(bytes));
        found = (v2)(bytes == (v16){} + '\n');
        if (found[0] | found[1])
            break;
    }
    while (at < s.n && s.p[at] != '\n')
        at++;
    return at;
}

/* Skips blanks and takes an unsigned decimal. It may end anywhere, "12x" gives 12. */
int scan_u64(struct span *rest, uint64_t *ret);

/* The same with an optional '-' in front. */
int scan_i64(struct span *rest, int64_t *ret);

/* The whole of s is one unsigned decimal, nothing around it. */
int scan_whole_u64(struct span s, uint64_t *ret);

/* Takes `key` if the input begins with it; false and nothing taken if not. */
static inline bool scan_literal(struct span *rest, struct span key)
{
    if (!span_starts_with(*rest, key))
        return false;
    *rest = span_skip(*rest, key.n);
    return true;
}
