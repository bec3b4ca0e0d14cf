#pragma once
/*
 * pid_fd - how many descriptors a process has open, /proc/PID/fd.
 *
 * `dir` is the directory of the process, or of one of its threads.
 */
#include "procfs/procfs.h"

#include <stdint.h>

/*
 * Counts by the directory's size where that is the count (fs->fd_count_in_size), which is one
 * system call and needs no privilege, else by listing it, which needs the right to ptrace.
 * A kernel thread and a zombie have 0. Returns 0 or a negative errno.
 */
int pid_fd_count(struct procfs *fs, int dir, uint64_t *ret);

/* The two ways by themselves. The size means something on a live procfs of 6.2 or later only. */
int pid_fd_count_by_size(int dir, uint64_t *ret);
int pid_fd_count_by_name(struct procfs *fs, int dir, uint64_t *ret);
