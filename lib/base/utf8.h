#pragma once
/*
 * utf8 - kernel strings made fit to be a label value.
 *
 * comm, paths and user names are raw bytes: the kernel cuts comm at 15 bytes, in the middle of a
 * character if it must, and a process may name itself anything.
 */
#include "base/span.h"

#include <stdbool.h>

/* The longest a label value may get, in bytes. */
enum { UTF8_LABEL_MAX = 256 };

/*
 * Writes src to dst as valid UTF-8 of at most UTF8_LABEL_MAX bytes and returns its length. Each
 * byte that is part of no valid character (cut, overlong, surrogate, above U+10FFFF), and each C0
 * control but LF, and DEL, becomes U+FFFD. A value too long ends at a character's border.
 */
size_t utf8_label(char dst[static UTF8_LABEL_MAX], struct span src);

/* Whether no byte is 0x80 or more. */
bool utf8_is_ascii(struct span s);

/* Length of the valid character at the front of s, or 0 when there is none. */
size_t utf8_character(struct span s);
