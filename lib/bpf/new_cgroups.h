#pragma once
/*
 * new_cgroups - control groups that were made since the last cycle, by the kernel's records.
 *
 * They are a help, not an account: one that there was no room for is not known by its number, and
 * processes in it are asked for its path.
 */
#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct new_cgroups {
    struct buf records;
};

void new_cgroups_init(struct new_cgroups *c);
void new_cgroups_deinit(struct new_cgroups *c);

/*
 * Takes a record of the ring, as programs_drain() hands it over. Returns whether it is of a control
 * group; one that is, and makes no sense, is let go.
 */
bool new_cgroups_take(struct new_cgroups *c, const void *bytes, size_t n);

/*
 * The next one, oldest first; *at begins at 0. Its id in the hierarchy of version 2, and its path
 * as /proc/PID/cgroup has it, good until new_cgroups_take() or new_cgroups_forget(). Returns
 * whether there is one.
 */
bool new_cgroups_next(const struct new_cgroups *c, size_t *at, uint64_t *ret_id,
                      struct span *ret_path);

/* Forgets all. */
void new_cgroups_forget(struct new_cgroups *c);
