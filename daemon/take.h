#pragma once
/*
 * take - processes of a cycle, read and counted one by one.
 *
 * A part of the cycle: what it does to each process that a source found. take_processes() is the
 * source of text; take_bpf.h has the other one.
 */
#include "daemon/cycle.h"

/* How the parts of a process that are due come in. */
struct parts_taken {
    uint32_t read;
    uint32_t to_probe;
    struct placing_read placing;
};

/*
 * Reads and counts all processes that the procfs lists. Returns 0, -EMFILE, -ENFILE, -ENOMEM, or
 * what listing them said.
 */
int take_processes(struct cycle *c);

/* Reads and counts one process of the procfs, if it is there. Returns as take_processes(). */
int take_process(struct cycle *c, uint32_t pid);

/*
 * Tracks and groups the sample of the cycle, and has begun read what is left to the prober. Returns
 * 0, -EMFILE, -ENFILE or -ENOMEM.
 */
int take_sample(struct cycle *c, struct parts_taken parts);

/*
 * Of the parts that are due, those to have read by the prober: the others were read, or are known
 * to be nothing, or are not to be read. `ref` is the record of the sample's process, or TABLE_NONE.
 */
uint32_t take_parts_to_probe(const struct cycle *c, uint32_t ref, uint32_t due);

/*
 * Begins the process of the sample in the procfs, unless that is done; *ret is what its stat says.
 * Returns 0; 1 if it is not to be had; or -EMFILE, -ENFILE, -ENOMEM.
 */
int take_begin_text(struct cycle *c, struct sample *ret);
