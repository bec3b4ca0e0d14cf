#pragma once
/*
 * floor - the system calls of one cycle, and nothing else.
 *
 * What the kernel alone charges for what a cycle reads: the same files, opened in the same way and
 * order and read by the same calls into reused memory, with nothing parsed but the names of the
 * processes. It mirrors lib/procfs by hand; bench_cycle counts the calls of both and fails when
 * they differ.
 */
#include "model/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct floor {
    int root;
    uint32_t parts; /* as struct wanted has them */
    uint32_t host_parts;
    bool fd_count_in_size;
    uint64_t cycle; /* which processes' limits and control groups are due; see floor.c */
    uint32_t *pids;
    size_t n_pids;
};

void floor_init(struct floor *f, int root, const struct wanted *wanted, bool fd_count_in_size);
void floor_deinit(struct floor *f);

/* One cycle. Returns how many processes there were. */
size_t floor_run(struct floor *f);
