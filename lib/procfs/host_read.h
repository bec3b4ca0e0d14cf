#pragma once
/* host_read - the reader of the host's files into a struct host. */
#include "model/faults.h"
#include "model/host.h"
#include "procfs/procfs.h"

/*
 * Reads the files of `host_parts`, a mask of host_part_bit(). *ret is zeroed first and then has
 * what could be read: a file that is not there is left out silently, one that cannot be read or
 * understood counts in `faults` once. HOST_PART_CPUS alone reads nothing: it adds the rows to
 * HOST_PART_STAT. ret->cpus is owned by fs and good until the next call. Returns 0, or -EMFILE,
 * -ENFILE, -ENOMEM; *ret has then what was read before.
 */
int host_read(struct procfs *fs, uint32_t host_parts, struct faults *faults, struct host *ret);
