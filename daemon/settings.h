#pragma once
/* settings - a configuration turned into what the collector works with. */
#include "daemon/collector.h"
#include "daemon/config.h"

/*
 * Compiles the rules and copies the rest; `c` need not outlive the result. Returns 0, or -ENOMEM
 * or -EINVAL with one line in `error` and nothing to free.
 */
int settings_make(const struct config *c, struct collector_settings *ret, struct buf *error);
