#pragma once
/*
 * gather - processes out of the tasks of one walk.
 *
 * Nearly all have one thread, and are whole with their record. Others are gathered until the walk
 * is over. What the kernel has added up of ended threads is taken from the record that came first:
 * a thread that ends later may have been visited already, and would count twice. So would one that
 * takes the place of its leader by an exec: what was gathered of the threads before is left out
 * then, for they have ended all.
 */
#include "base/buf.h"
#include "base/map.h"
#include "bpf/record.h"

#include <stdbool.h>
#include <stddef.h>

/* All that a walk told of one process. */
struct look {
    struct process_record record; /* its leader's, but for `task` and what a stand-in knows */
    struct task_usage usage;      /* of all threads, ended ones too */
    struct task_own own;          /* of those that are left */
    uint64_t memory;              /* of those that have any, as their records name it */
    bool has_leader;
    bool has_stand_in; /* its leader has ended, and this thread's memory and files are its own */
};

struct gather {
    struct buf looks; /* of struct look */
    struct map by_process;
    struct look single;
};

void gather_init(struct gather *g);
void gather_deinit(struct gather *g);

/* Begins a walk. */
void gather_begin(struct gather *g);

/*
 * Takes a record. *ret is the process if that is whole, until the next call, else NULL. Returns 0
 * or -ENOMEM.
 */
int gather_take(struct gather *g, const struct record_head *head, const struct look **ret);

/* When all records were taken: the next process of those that were gathered; *at begins at 0. */
const struct look *gather_next(const struct gather *g, size_t *at);
