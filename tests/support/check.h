#pragma once
/* check - cmocka with the headers it needs, and what the standard assertions lack. */
#include "base/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define check_span(s, expected) \
    check_span_at((s), (expected), sizeof(expected) - 1, __FILE__, __LINE__)

static inline void check_span_at(struct span s, const char *expected, size_t n, const char *file,
                                 int line)
{
    if (s.n == n && (n == 0 || memcmp(s.p, expected, n) == 0))
        return;
    print_error("\"%.*s\" is not \"%.*s\"\n", (int)s.n, s.p, (int)n, expected);
    _fail(file, line);
}

/* A copy at the very end of its own memory, so that a sanitizer sees a read behind it. */
static inline struct span check_copy(struct span s)
{
    char *p = malloc(s.n ? s.n : 1);

    assert_non_null(p);
    if (s.n)
        memcpy(p, s.p, s.n);
    return span_of(p, s.n);
}
