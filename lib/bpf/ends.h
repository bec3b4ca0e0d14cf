#pragma once
/*
 * ends - processes that have ended, from the kernel's records of their tasks.
 *
 * They wait here for the next cycle, joined with what their threads left. There is room for
 * ENDS_MAX; what comes beyond is lost and counted, so who fills it asks for a cycle before.
 */
#include "base/buf.h"
#include "bpf/accounts.h"
#include "bpf/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ENDS_MAX = 32768,
    /* So many are worth a cycle of their own. */
    ENDS_MANY = ENDS_MAX / 2,
};

/* A process that ended, with its threads' own figures in end.task.own and their flags. */
struct process_ended {
    struct process_end end;
};

struct ends {
    struct buf waiting; /* of struct process_ended */
    struct accounts *accounts;
    uint64_t now_ns;
    uint64_t lost; /* records there was no room for here, or that belong to nobody */
};

/* The accounts are the caller's. */
void ends_init(struct ends *e, struct accounts *accounts);
void ends_deinit(struct ends *e);

/* Takes a record of the ring, as programs_drain() hands it over; what is none counts as lost. */
void ends_take(struct ends *e, const void *bytes, size_t n);

/* The processes waiting; *ret_n of them. Records may come until ends_join(). */
static inline size_t ends_waiting(const struct ends *e)
{
    return e->waiting.len / sizeof(struct process_ended);
}

/*
 * Joins those that wait with what their threads left, and gives them out in the order in which they
 * began: parents before their children. Good until ends_forget().
 */
const struct process_ended *ends_join(struct ends *e, size_t *ret_n);

/* The first n of them were counted; others are joined again. */
void ends_forget(struct ends *e, size_t n);
