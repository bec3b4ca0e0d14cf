#pragma once
/*
 * explain - which group a process is in, and why (--explain PID).
 *
 * A page of its own: it reads the configuration and the procfs as a daemon does that starts now,
 * and needs none that runs.
 */
#include "base/buf.h"
#include "daemon/config.h"

#include <stdint.h>
#include <stdio.h>

/*
 * Collects once, as --once does, and writes the explanation of the process. Returns 0, or a
 * negative errno with one line in `error`; -ESRCH: there is no such process.
 */
int explain_run(const struct config *c, uint32_t pid, FILE *out, struct buf *error);
