/* escape - one character at a time, so that users can stop where their room ends. */
#include "daemon/escape.h"

#include "base/utf8.h"

#include <string.h>

static size_t escape_unicode(unsigned code, char dst[static ESCAPE_MAX])
{
    static const char digits[] = "0123456789abcdef";

    dst[0] = '\\';
    dst[1] = 'u';
    for (int i = 0; i < 4; i++)
        dst[2 + i] = digits[code >> (12 - 4 * i) & 15];
    return 6;
}

static size_t escape_ascii(char c, char dst[static ESCAPE_MAX])
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *name = c ? strchr(named, c) : NULL;

    if (name) {
        dst[0] = '\\';
        dst[1] = letters[name - named];
        return 2;
    }
    if ((unsigned char)c < 0x20 || c == 0x7f)
        return escape_unicode((unsigned char)c, dst);
    dst[0] = c;
    return 1;
}

size_t escape_next(struct span *rest, char dst[static ESCAPE_MAX])
{
    size_t n = utf8_character(*rest);
    const char *p = rest->p;

    *rest = span_skip(*rest, n ? n : 1);
    if (n == 0)
        return escape_unicode(0xfffd, dst);
    if (n == 1)
        return escape_ascii(*p, dst);
    /* U+0080..U+009F: some terminals take them for the start of a sequence, as they do ESC. */
    if ((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0)
        return escape_unicode((unsigned char)p[1], dst);
    memcpy(dst, p, n);
    return n;
}

void escape_append_quoted(struct buf *b, struct span s, size_t max)
{
    struct span rest = s;
    char text[ESCAPE_MAX];

    buf_append_char(b, '"');
    while (rest.n > 0 && s.n - rest.n < max) {
        size_t n = escape_next(&rest, text);

        buf_append(b, text, n);
    }
    buf_append_str(b, rest.n > 0 ? "...\"" : "\"");
}

void escape_append(struct buf *b, struct span s)
{
    char text[ESCAPE_MAX];

    while (s.n > 0) {
        size_t n = escape_next(&s, text);

        buf_append(b, text, n);
    }
}
