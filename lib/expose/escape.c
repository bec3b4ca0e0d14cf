/* escape - a backslash in front of what would end or bend a quoted string. */
#include "expose/escape.h"

#include <stdbool.h>

static size_t escape(char *dst, struct span src, bool quotes)
{
    char *at = dst;

    for (size_t i = 0; i < src.n; i++) {
        char c = src.p[i];

        if (c == '\\' || c == '\n' || (quotes && c == '"'))
            *at++ = '\\';
        if (c == '\n')
            c = 'n';
        *at++ = c;
    }
    return (size_t)(at - dst);
}

size_t escape_quoted(char *dst, struct span src)
{
    return escape(dst, src, true);
}

size_t escape_help(char *dst, struct span src)
{
    return escape(dst, src, false);
}
