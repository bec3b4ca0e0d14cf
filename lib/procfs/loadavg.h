#pragma once
/* loadavg - /proc/loadavg: how many tasks (processes and threads) exist. */
#include "procfs/procfs.h"

#include <stdint.h>

/* Takes the number behind the slash of the fourth field. Returns 0 or -EBADMSG. */
int loadavg_parse(struct span text, uint64_t *ret_tasks);

/* Reads and parses `loadavg` of the root. */
int loadavg_read(struct procfs *fs, uint64_t *ret_tasks);
