/* globs - the patterns stand behind one another in one text. */
#include "base/globs.h"

#include "base/glob.h"

#include <errno.h>
#include <stdlib.h>

int globs_copy(struct globs *ret, const struct span *patterns, size_t n)
{
    struct globs g = {.n = n};
    size_t total = 0;
    char *at;

    for (size_t i = 0; i < n; i++)
        total += patterns[i].n;
    g.text = malloc(total ? total : 1);
    g.patterns = calloc(n ? n : 1, sizeof(*g.patterns));
    if (!g.text || !g.patterns) {
        globs_deinit(&g);
        return -ENOMEM;
    }
    at = g.text;
    for (size_t i = 0; i < n; i++) {
        memcpy(at, patterns[i].p, patterns[i].n);
        g.patterns[i] = span_of(at, patterns[i].n);
        at += patterns[i].n;
    }
    *ret = g;
    return 0;
}

void globs_deinit(struct globs *g)
{
    free(g->text);
    free(g->patterns);
    *g = (struct globs){0};
}

bool globs_match(const struct globs *g, struct span subject)
{
    for (size_t i = 0; i < g->n; i++)
        if (glob_match(g->patterns[i], subject))
            return true;
    return false;
}
