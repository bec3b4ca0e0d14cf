/* utf8 - validation by the table of well-formed sequences (Unicode 15, table 3-7). */
#include "base/utf8.h"

#include <stdint.h>

bool utf8_is_ascii(struct span s)
{
    uint64_t bits = 0, eight;
    size_t at = 0;

    for (; s.n - at >= sizeof(eight); at += sizeof(eight)) {
        memcpy(&eight, s.p + at, sizeof(eight));
        bits |= eight;
    }
    for (; at < s.n; at++)
        bits |= (unsigned char)s.p[at];
    return !(bits & UINT64_C(0x8080808080808080));
}

static bool utf8_in(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

/* Whether n bytes from the second on are 80..BF, the second within its own bounds. */
static bool utf8_tail(const unsigned char *p, size_t n, unsigned char low, unsigned char high)
{
    if (!utf8_in(p[1], low, high))
        return false;
    for (size_t i = 2; i < n; i++)
        if (!utf8_in(p[i], 0x80, 0xbf))
            return false;
    return true;
}

size_t utf8_character(struct span s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    unsigned char low = 0x80, high = 0xbf;
    size_t n;

    if (s.n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (utf8_in(p[0], 0xc2, 0xdf))
        n = 2;
    else if (utf8_in(p[0], 0xe0, 0xef))
        n = 3;
    else if (utf8_in(p[0], 0xf0, 0xf4))
        n = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0; /* below: overlong */
    else if (p[0] == 0xed)
        high = 0x9f; /* above: surrogates */
    else if (p[0] == 0xf0)
        low = 0x90; /* below: overlong */
    else if (p[0] == 0xf4)
        high = 0x8f; /* above: beyond U+10FFFF */
    return s.n >= n && utf8_tail(p, n, low, high) ? n : 0;
}

static bool utf8_unwanted(unsigned char c)
{
    return (c < 0x20 && c != '\n') || c == 0x7f;
}

size_t utf8_label(char dst[static UTF8_LABEL_MAX], struct span src)
{
    static const struct span replacement = {"\xef\xbf\xbd", 3};
    size_t len = 0;

    while (src.n > 0) {
        size_t n = utf8_character(src);
        struct span out = span_of(src.p, n);

        if (n == 0 || (n == 1 && utf8_unwanted((unsigned char)*src.p))) {
            out = replacement;
            n = 1;
        }
        if (len + out.n > UTF8_LABEL_MAX)
            break;
        memcpy(dst + len, out.p, out.n);
        len += out.n;
        src = span_skip(src, n);
    }
    return len;
}
