#pragma once
/*
 * accounts - what threads that have ended did, kept for their process.
 *
 * The kernel keeps CPU time, faults and switches of ended threads in their process; I/O and time in
 * the run queue it keeps of nobody, or mixes with that of others. So an ended thread leaves them
 * here until its process ends as well. Most processes have no account.
 *
 * A process is named as record.h does: by a number that no two have at a time. So what is left of
 * one that ended and was never told of has to go before another comes with the same: `patience`.
 */
#include "base/map.h"
#include "bpf/record.h"

#include <stddef.h>
#include <stdint.h>

enum { ACCOUNTS_MAX = 128 * 1024 };

struct account {
    uint64_t process; /* 0: free */
    uint32_t pid;
    uint32_t flags; /* of all its threads, as in record.h */
    struct task_own own;
    uint64_t touched_ns; /* monotonic: when it was last heard of */
    uint32_t next_free;
};

struct accounts {
    struct account *list;
    size_t n, capacity;
    size_t n_used;
    uint32_t first_free;
    struct map by_process;
};

void accounts_init(struct accounts *a);
void accounts_deinit(struct accounts *a);

/*
 * A thread of a process, which is not 0, has ended. Returns 0; or -ENOMEM, its figures are lost:
 * there are ACCOUNTS_MAX, or no memory.
 */
int accounts_add(struct accounts *a, const struct thread_end *end, uint64_t now_ns);

/* What ended threads of a process that is there did; NULL: nothing is known of any. */
const struct account *accounts_look(struct accounts *a, uint64_t process, uint32_t pid,
                                    uint64_t now_ns);

/*
 * The process has ended: adds what its account holds to *own and *flags, and closes it.
 */
void accounts_close(struct accounts *a, uint64_t process, uint32_t pid, struct task_own *own,
                    uint32_t *flags);

/* Drops accounts not heard of for so long. Returns how many: ends without their process'. */
size_t accounts_sweep(struct accounts *a, uint64_t now_ns, uint64_t patience_ns);
