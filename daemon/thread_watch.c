/*
 * thread_watch - procfs/task, track/threads and group/thread_names put together.
 *
 * Whatever can fail for a thread is done before its base moves: a cycle that ends in its midst has
 * counted each thread wholly or not at all.
 */
#include "daemon/thread_watch.h"

#include "procfs/task.h"

#include <errno.h>

void thread_watch_init(struct thread_watch *w, const struct thread_watch_parts *parts)
{
    *w = (struct thread_watch){.parts = *parts};
    threads_init(&w->threads);
    thread_names_init(&w->names);
}

void thread_watch_deinit(struct thread_watch *w)
{
    threads_deinit(&w->threads);
    thread_names_deinit(&w->names);
}

void thread_watch_configure(struct thread_watch *w, const struct wanted *wanted)
{
    uint32_t counters = thread_counters_wanted(wanted);

    /* A counter that nobody read for a while would come back with a burst. */
    threads_forget_counters(&w->threads, w->counters & ~counters);
    thread_names_forget_counters(&w->names, w->by_name ^ wanted->threads);
    w->wanted = wanted->parts & part_bit(PART_TASK);
    w->counters = counters;
    w->by_name = wanted->threads;
}

void thread_watch_begin(struct thread_watch *w, uint64_t tick)
{
    threads_begin(&w->threads, tick);
    thread_names_begin(&w->names);
}

static bool is_listed(const struct thread_watch *w, struct decision d)
{
    return w->wanted && d.standing == STANDING_MEMBER && w->parts.groups->groups[d.group].threads;
}

/* Of one process. */
struct take {
    struct process *process;
    uint32_t from; /* where it counts what was used up to now */
    uint32_t to;   /* where it is now */
    bool listed;   /* `to` is */
    uint32_t had;  /* 1 << enum thread_counter that some thread had */
};

static void add_delta(struct thread_watch *w, uint32_t name, const struct thread_delta *delta)
{
    groups_take_thread(w->parts.groups, w->names.names[name].group, delta);
    thread_names_take(&w->names, name, delta);
}

/* Who moves in used nothing here so far, and that is known. */
static void add_nothing(struct thread_watch *w, uint32_t name, const struct thread_delta *delta)
{
    add_delta(w, name, &(struct thread_delta){.known = delta->known});
}

/*
 * Counts one thread. What it used goes to the name that it had at the look before, then it has the
 * name of now; one that is new used all of it as what it is called now.
 */
static int take_thread(struct thread_watch *w, struct take *take, const struct thread_sample *s)
{
    struct span comm = span_of(s->comm, s->comm_len);
    uint32_t ref = threads_find(&w->threads, take->process, s);
    uint32_t before = THREAD_NAME_NONE, now = THREAD_NAME_NONE;
    struct thread_delta delta;
    bool again;
    int r = 0;

    if (ref != THREADS_NONE && threads_was_here(&w->threads, ref))
        before = threads_thread(&w->threads, ref)->name;
    if (take->listed)
        r = thread_names_get(&w->names, take->to, comm, before, &now);
    if (r == 0 && before == THREAD_NAME_NONE)
        r = thread_names_get(&w->names, take->from, comm, now, &before);
    if (r == 0)
        r = threads_see(&w->threads, take->process, s, w->counters, &ref, &again, &delta);
    if (r < 0)
        return r;
    add_delta(w, before, &delta);
    if (take->listed && now != before)
        add_nothing(w, now, &delta);
    if (take->listed && !again)
        thread_names_count(&w->names, now);
    threads_thread(&w->threads, ref)->name = take->listed ? now : before;
    take->had |= s->have;
    return 0;
}

/* All threads of the process. Returns TASK_END, TASK_UNREADABLE, or our own trouble. */
static int take_threads(struct thread_watch *w, struct take *take)
{
    struct procfs *fs = w->parts.procfs;
    struct faults *faults = w->parts.faults;
    struct thread_sample s;
    struct task task;
    int r = task_open(fs, faults, &task);

    if (r != 0)
        return r;
    while ((r = task_next(fs, &task, w->counters, faults, &s)) == TASK_THREAD) {
        r = take_thread(w, take, &s);
        if (r < 0)
            break;
    }
    task_close(&task);
    return r;
}

/* Who is pending is in no group, but will be, and all that it did counts then, if it is new. */
static bool is_still_new(const struct process *p)
{
    return process_is_new(p) ||
           (p->membership.now.standing == STANDING_PENDING && p->membership.start_due);
}

/* Reads a process of which `to` or `from`, or both, are listed groups. Returns as task_next(). */
static int look_at(struct thread_watch *w, struct take *take)
{
    int r;

    threads_look(&w->threads, take->process);
    r = take_threads(w, take);
    threads_looked(&w->threads, take->process, r == TASK_END);
    return r;
}

bool thread_watch_looks(const struct thread_watch *w, const struct process *p,
                        struct decision before)
{
    return is_listed(w, p->membership.now) || (is_listed(w, before) && p->thread_looks.since != 0);
}

int thread_watch_take(struct thread_watch *w, struct process *p, struct decision before,
                      uint32_t *ret_lacks)
{
    struct decision now = p->membership.now;
    struct take take = {.process = p, .to = now.group, .listed = is_listed(w, now)};
    bool was_listed;
    int r = TASK_END;

    *ret_lacks = 0;
    /* What it did in a group that is not listed counts nowhere. */
    if (before.standing == STANDING_MEMBER && !is_listed(w, before))
        threads_leave(p);
    if (is_still_new(p))
        threads_are_new(p);
    was_listed = is_listed(w, before) && p->thread_looks.since != 0;
    take.from = was_listed ? before.group : take.to;
    if (take.listed || was_listed)
        r = look_at(w, &take);
    if (r < 0)
        return r;
    if (!take.listed && now.standing != STANDING_PENDING)
        threads_leave(p);
    if (take.listed && (r != TASK_END || (w->counters & ~take.had) != 0))
        *ret_lacks = part_bit(PART_TASK);
    return 0;
}

void thread_watch_end(struct thread_watch *w, uint64_t now_ns)
{
    threads_end(&w->threads);
    thread_names_end(&w->names, w->parts.groups, now_ns);
}

bool thread_watch_reads(const struct thread_watch *w)
{
    return w->wanted && w->parts.groups->threads.n > 0;
}

int thread_watch_snapshot(struct thread_watch *w, uint32_t group,
                          const struct groups_moment *moment, struct arena *arena,
                          struct snapshot_group *ret)
{
    size_t first;

    ret->threads = NULL;
    ret->n_threads = thread_names_of(&w->names, group, &first);
    if (ret->n_threads == 0)
        return 0;
    ret->threads = arena_alloc_array(arena, ret->n_threads, sizeof(*ret->threads));
    if (!ret->threads)
        return -ENOMEM;
    for (size_t i = 0; i < ret->n_threads; i++) {
        uint32_t name = w->names.order[first + i];

        snapshot_thread_labels(arena, thread_names_name(&w->names, name), &ret->threads[i]);
        thread_names_values(&w->names, name, w->parts.groups->mode, moment,
                            &ret->threads[i].values);
    }
    return arena_failed(arena) ? -ENOMEM : 0;
}

void thread_watch_add_steps_back(const struct thread_watch *w, uint64_t counts[static COUNTER_N])
{
    for (enum thread_counter i = 0; i < THREAD_COUNTER_N; i++)
        counts[thread_counter_of_process(i)] += w->threads.steps_back[i];
}
