#pragma once
/*
 * escape - foreign bytes made fit for a terminal, a log line or a JSON string.
 *
 * Valid UTF-8 stays as it is. Control characters, C1 and DEL among them, the double quote and the
 * backslash become JSON escapes; bytes that are part of no valid character become \ufffd.
 */
#include "base/buf.h"
#include "base/span.h"

/* The longest that one character becomes. */
enum { ESCAPE_MAX = 6 };

/*
 * Takes one character, or one invalid byte, off the front of *rest, which is not empty. Writes it
 * to dst and returns its length there. It was escaped if dst begins with a backslash.
 */
size_t escape_next(struct span *rest, char dst[static ESCAPE_MAX]);

/* Appends s in double quotes, what is beyond about max bytes of it as `...`. */
void escape_append_quoted(struct buf *b, struct span s, size_t max);

/* Appends all of s without quotes. */
void escape_append(struct buf *b, struct span s);
