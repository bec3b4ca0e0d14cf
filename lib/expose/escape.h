#pragma once
/*
 * escape - strings as the text formats quote them.
 *
 * `dst` must have room for twice the length of src; the length written is returned. The bytes
 * are taken to be valid UTF-8 and are not looked at otherwise.
 */
#include "base/span.h"

/* `\`, `"` and LF: label values of both formats, and HELP of OpenMetrics. */
size_t escape_quoted(char *dst, struct span src);

/* `\` and LF: HELP of text 0.0.4. */
size_t escape_help(char *dst, struct span src);
