#pragma once
/*
 * buf - growable bytes that are reused, never cleared.
 *
 * A buffer has a maximum given at its init: growth doubles up to it. What does not fit, or cannot
 * be allocated, *latches*: that append and all later ones do nothing until buf_reset() or
 * buf_drop(), and buf_failed() tells. So code that writes many pieces has no error branches and
 * asks once at its end. buf_reset() empties and keeps the memory; old bytes stay behind the length
 * and mean nothing.
 *
 * `data` is NULL until something was reserved, and may move with every append; spans into it die
 * then.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
    /* Largest length of the current window of resets; see buf_reset(). */
    size_t peak;
    unsigned resets;
};

/* An empty buffer that may grow to max bytes. Allocates nothing. */
void buf_init(struct buf *b, size_t max);

/* Frees the memory. Takes a buffer that is all zero, or was deinited before. */
void buf_deinit(struct buf *b);

/*
 * Empties the buffer and clears the latch; the memory stays. Once in 256 resets, a buffer whose
 * peak in that window used less than a quarter of its memory gives half of it back.
 */
void buf_reset(struct buf *b);

/* Takes the first n bytes out of the content, and clears the latch; the memory stays. */
void buf_drop(struct buf *b, size_t n);

/*
 * Room for n more bytes behind the length. Returns where to write them, or NULL when the
 * buffer's maximum or the memory is exhausted (the buffer is latched then). Nothing is part of
 * the content before buf_commit().
 */
char *buf_reserve(struct buf *b, size_t n);

/* Takes n bytes, written where buf_reserve() said, into the content. */
void buf_commit(struct buf *b, size_t n);

void buf_append(struct buf *b, const char *p, size_t n);
void buf_append_str(struct buf *b, const char *s);
void buf_append_span(struct buf *b, struct span s);
void buf_append_char(struct buf *b, char c);

/* Printf into the buffer; for messages, not for hot paths. */
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool buf_failed(const struct buf *b)
{
    return b->failed;
}

/* The content; valid until the next append, reserve or deinit. */
static inline struct span buf_span(const struct buf *b)
{
    return span_of(b->data, b->len);
}
