#pragma once
/* healthcheck - asks a daemon that runs whether it answers (--healthcheck). */
#include "base/buf.h"
#include "daemon/address.h"

/*
 * GET /-/healthy at the place where a daemon with this address of `listen` is reached from its
 * own host: every address is the loopback one. Returns 0 if the answer's status is 200 and came
 * within 2 s, connecting included; else a negative errno with one line in `error`.
 */
int healthcheck_run(const struct address *listen, struct buf *error);
