#pragma once
/*
 * walk - the records of one walk over all tasks, read and checked.
 *
 * Bytes of the kernel are not trusted: a record that is cut, or of a kind or size that nobody
 * knows, ends the walk as malformed.
 */
#include "base/buf.h"
#include "bpf/record.h"

struct walk {
    int fd; /* borrowed */
    struct buf bytes;
    size_t at;
    bool over;
};

/* The memory is kept from walk to walk. */
void walk_init(struct walk *w);
void walk_deinit(struct walk *w);

/* Begins to read a walk from this descriptor, which the caller closes after its end. */
void walk_begin(struct walk *w, int fd);

/*
 * The next record, of kind RECORD_PROCESS, RECORD_STAND_IN or RECORD_THREAD: good until the next
 * call. Returns 1; 0 at the end; -EBADMSG, -ENOMEM, or what read said.
 */
int walk_next(struct walk *w, const struct record_head **ret);
