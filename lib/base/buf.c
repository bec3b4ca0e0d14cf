/*
 * buf - growable bytes that are reused, never cleared.
 *
 * Invariants: len <= cap <= max; data is NULL exactly when cap is 0; once failed, nothing
 * changes but by buf_reset(), buf_drop() and buf_deinit().
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BUF_SMALLEST = 256,
    BUF_SHRINK_WINDOW = 256,
    /* Below this there is nothing worth giving back. */
    BUF_SHRINK_ABOVE = 64 * 1024,
};

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_deinit(struct buf *b)
{
    free(b->data);
    *b = (struct buf){.max = b->max};
}

static bool buf_resize(struct buf *b, size_t cap)
{
    char *data = realloc(b->data, cap);

    if (!data)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_reset(struct buf *b)
{
    if (b->len > b->peak)
        b->peak = b->len;
    b->len = 0;
    b->failed = false;
    if (++b->resets < BUF_SHRINK_WINDOW)
        return;
    /* A failure to shrink is no failure: the larger memory stays. */
    if (b->cap > BUF_SHRINK_ABOVE && b->peak < b->cap / 4)
        (void)buf_resize(b, b->cap / 2);
    b->resets = 0;
    b->peak = 0;
}

void buf_drop(struct buf *b, size_t n)
{
    size_t left = b->len - n;

    if (left == 0) {
        buf_reset(b);
        return;
    }
    memmove(b->data, b->data + n, left);
    b->len = left;
    b->failed = false;
}

char *buf_reserve(struct buf *b, size_t n)
{
    size_t cap;

    if (b->failed)
        return NULL;
    if (n > b->max - b->len) {
        b->failed = true;
        return NULL;
    }
    if (n > b->cap - b->len || b->cap == 0) {
        cap = b->cap ? b->cap : BUF_SMALLEST;
        while (cap < b->len + n)
            cap *= 2;
        if (cap > b->max)
            cap = b->max;
        if (cap == 0 || !buf_resize(b, cap)) {
            b->failed = true;
            return NULL;
        }
    }
    return b->data + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
    b->len += n;
}

void buf_append(struct buf *b, const char *p, size_t n)
{
    char *room;

    if (n == 0)
        return;
    room = buf_reserve(b, n);
    if (!room)
        return;
    memcpy(room, p, n);
    b->len += n;
}

void buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_append_span(struct buf *b, struct span s)
{
    buf_append(b, s.p, s.n);
}

void buf_append_char(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list ap;
    char *room;
    int n;

    va_start(ap, format);
    n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    room = buf_reserve(b, (size_t)n + 1);
    if (!room)
        return;
    va_start(ap, format);
    vsnprintf(room, (size_t)n + 1, format, ap);
    va_end(ap);
    b->len += (size_t)n;
}
