#pragma once
/*
 * span - a pointer and a length: a view of bytes that somebody else owns.
 *
 * A span is passed by value and never freed. The bytes may hold anything, NUL included, and are
 * not terminated. A span is valid as long as what it points into: a span taken from a read
 * buffer dies at that buffer's next read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *p;
    size_t n;
};

#define SPAN_LITERAL(s) ((struct span){"" s, sizeof(s) - 1})

static inline struct span span_of(const char *p, size_t n)
{
    return (struct span){p, n};
}

static inline struct span span_from_str(const char *s)
{
    return (struct span){s, strlen(s)};
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* The order of their bytes, a prefix first: negative, 0 or positive. */
static inline int span_compare(struct span a, struct span b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static inline bool span_starts_with(struct span s, struct span prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* The rest of s behind its first n bytes; n may not exceed the length. */
static inline struct span span_skip(struct span s, size_t n)
{
    return (struct span){s.p + n, s.n - n};
}

/* s without blanks and tabs at both ends. */
static inline struct span span_trim(struct span s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = span_skip(s, 1);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}
