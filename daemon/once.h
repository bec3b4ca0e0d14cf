#pragma once
/* once - one page of totals since process start, on standard output (--once). */
#include "base/buf.h"
#include "daemon/config.h"
#include "daemon/cycle.h"

#include <stdio.h>

/*
 * Collects once and writes the text page. Returns 0, or a negative errno with one line in
 * `error`; nothing was written then, but for an error of `out` itself.
 */
int once_run(const struct config *c, const char *source_reason, FILE *out, struct buf *error);

/* The clocks now. */
struct cycle_time once_now(void);

/*
 * Runs the first cycle, and as many more as it takes until every process is in its group; *now is
 * when the last one began. Returns as cycle_run().
 */
int once_collect(struct cycle *c, struct cycle_time *now);

/* Writes the text. Returns 0 or a negative errno. */
int once_write(const struct buf *text, FILE *out);
