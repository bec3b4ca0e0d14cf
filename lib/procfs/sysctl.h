#pragma once
/* sysctl - the numbers of a few files below /proc/sys. */
#include "procfs/procfs.h"

#include <stdint.h>

/* Takes the number of a one-number file, such as kernel/pid_max. Returns 0 or -EBADMSG. */
int sysctl_parse(struct span text, uint64_t *ret);

/*
 * Takes the first and third number of fs/file-nr: open files, and how many there may be. The
 * second is 0 since 2.6. Returns 0 or -EBADMSG.
 */
int sysctl_parse_file_nr(struct span text, uint64_t *ret_open, uint64_t *ret_limit);

/* Read and parse; `name` is relative to the root, such as "sys/kernel/pid_max". */
int sysctl_read(struct procfs *fs, const char *name, uint64_t *ret);
int sysctl_read_file_nr(struct procfs *fs, uint64_t *ret_open, uint64_t *ret_limit);
