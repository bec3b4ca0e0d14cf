#pragma once
/*
 * source - processes as the kernel counts them: who is there, and who has ended.
 *
 * A cycle drains what the kernel has noted, walks (bpf_source_begin(), bpf_source_next() until it
 * gives 0, bpf_source_end()), and asks bpf_source_ended() then: an end that was told before a walk
 * is of nobody in that walk. Between cycles bpf_source_drain() keeps the kernel's ring from
 * filling.
 */
#include "bpf/ends.h"
#include "bpf/new_cgroups.h"
#include "bpf/programs.h"
#include "bpf/task_sample.h"
#include "bpf/walk.h"

#include <stdbool.h>

struct bpf_source {
    struct programs *programs;
    struct task_units units;
    struct walk walk;
    struct gather gather;
    struct accounts accounts;
    struct ends ends;
    struct new_cgroups new_cgroups; /* the caller's to read and to forget */
    int fd;                         /* of the walk under way, or -1 */
    size_t gathered;                /* position in what was gathered */
    bool walked;                    /* to the end */
    uint64_t now_ns;
};

/*
 * Loads the programs. Returns 0, or a negative errno with the reason in *ret_failure; on success
 * *ret is to be given to bpf_source_close().
 */
int bpf_source_open(struct bpf_source *ret, const struct task_units *units,
                    enum programs_failure *ret_failure);
void bpf_source_close(struct bpf_source *s);

/* Notes no ends any more, and forgets those noted; or begins to again. */
void bpf_source_pause(struct bpf_source *s);
int bpf_source_resume(struct bpf_source *s);

/* Takes what the kernel has noted so far. now_ns is monotonic. */
void bpf_source_drain(struct bpf_source *s, uint64_t now_ns);

/* Whether so many ends wait that a cycle should not. */
static inline bool bpf_source_is_full(const struct bpf_source *s)
{
    return ends_waiting(&s->ends) >= ENDS_MANY;
}

/* Those that have ended and were not counted; good until bpf_source_ends_counted(). */
const struct process_ended *bpf_source_ended(struct bpf_source *s, size_t *ret_n);

/* The first n of them were counted. */
void bpf_source_ends_counted(struct bpf_source *s, size_t n);

/* Begins a walk. Returns 0 or a negative errno. */
int bpf_source_begin(struct bpf_source *s);

/* Where a process is, as numbers. */
struct task_cgroup {
    uint64_t id;  /* of its control group of version 2, never given again */
    uint64_t set; /* another if it was moved in any hierarchy; may be given again */
};

/*
 * The next process. Each comes once. Returns 1; 0 at the end; or a negative errno: nothing more
 * comes.
 */
int bpf_source_next(struct bpf_source *s, struct sample *ret, struct task_cgroup *ret_cgroup);

/* Ends a walk, whether it came to its end or not. */
void bpf_source_end(struct bpf_source *s);

/*
 * After a walk: queues the ends of tasks that exited a while before it, and whose end the kernel
 * did not tell. `is_there` says whether the walk came to a process: a zombie stays as long as
 * nobody waits for it.
 */
typedef bool bpf_source_is_there(void *arg, struct identity identity);
void bpf_source_sweep(struct bpf_source *s, bpf_source_is_there *is_there, void *arg);

/* Ends of tasks that are missing, ever: what they used since the last walk is counted nowhere. */
uint64_t bpf_source_lost(const struct bpf_source *s);
