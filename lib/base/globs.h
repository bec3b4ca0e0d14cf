#pragma once
/* globs - a list of globs (base/glob.h) that owns its bytes. A zeroed one is empty. */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

struct globs {
    char *text; /* what the patterns point into */
    struct span *patterns;
    size_t n;
};

/* Copies n well formed patterns. Returns 0 or -ENOMEM, with *ret untouched. */
int globs_copy(struct globs *ret, const struct span *patterns, size_t n);

/* Frees all; the list is empty then. */
void globs_deinit(struct globs *g);

/* Whether any of them matches. */
bool globs_match(const struct globs *g, struct span subject);
