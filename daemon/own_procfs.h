#pragma once
/*
 * own_procfs - whether a procfs shows what this process itself sees of processes.
 *
 * Programs in the kernel tell of the pid namespace of who asks; a mount of another one, or a tree
 * of files, has other processes, or the same ones by other numbers.
 */
#include "base/span.h"
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether it is a live procfs of the calling process' own pid namespace. */
bool own_procfs(struct procfs *fs);

/*
 * Whether a text of /proc/PID/status is of a process of this number in the mount's own pid
 * namespace: one of a namespace within has more numbers than one.
 */
bool own_procfs_is_home(struct span status, uint32_t pid);
