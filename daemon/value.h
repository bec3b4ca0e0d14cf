#pragma once
/*
 * value - one option's value: its text to the field of struct config, and back.
 *
 * `base` is the struct config, or for group options the struct config_rule, that holds the field.
 */
#include "base/buf.h"
#include "base/span.h"
#include "daemon/options.h"

/*
 * Parses text into the field and frees what it held; a regular expression is added to it instead.
 * On failure the field is untouched, the result is -EINVAL or -ENOMEM, and what is wrong is
 * appended to `what`, such as `"10" lacks a unit`.
 * Takes what the file could say and nothing else, so that every value can be printed.
 */
int value_set(const struct option_spec *spec, void *base, struct span text, struct buf *what);

/* Appends the field as text that value_set() takes; of regular expressions there must be one. */
void value_format(const struct option_spec *spec, const void *base, struct buf *out);

/* Frees what the field holds and empties it; takes a field that is all zero. */
void value_clear(const struct option_spec *spec, void *base);

/* Whether a segment of the path is `..`. */
bool value_path_climbs(struct span path);

/*
 * Whether text is UTF-8 without control characters but tabs: what may stand on a line at all.
 * -EINVAL, and what is wrong in `what`, if not.
 */
int value_check_bytes(struct span text, struct buf *what);

/*
 * The same for text that follows a key: no blank before `;` or `#`, which somebody who reads the
 * file takes for a comment.
 */
int value_check_comment(struct span text, struct buf *what);
