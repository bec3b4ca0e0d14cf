/*
 * ends - processes that have ended, from the kernel's records of their tasks.
 *
 * A process' record can overtake those of its last threads, which come from other CPUs. So it is
 * joined with them as late as can be.
 */
#include "bpf/ends.h"

#include "bpf/usage.h"

#include <stdlib.h>

void ends_init(struct ends *e, struct accounts *accounts)
{
    *e = (struct ends){.accounts = accounts};
    buf_init(&e->waiting, ENDS_MAX * sizeof(struct process_ended));
}

void ends_deinit(struct ends *e)
{
    buf_deinit(&e->waiting);
}

static void take_process(struct ends *e, const struct process_end *end)
{
    struct process_ended *room;

    if (ends_waiting(e) >= ENDS_MAX) {
        e->lost++;
        return;
    }
    room = (struct process_ended *)buf_reserve(&e->waiting, sizeof(*room));
    if (!room) {
        e->lost++;
        return;
    }
    room->end = *end;
    buf_commit(&e->waiting, sizeof(*room));
}

void ends_take(struct ends *e, const void *bytes, size_t n)
{
    const struct record_head *head = bytes;

    if (n == sizeof(struct process_end) && head->kind == RECORD_PROCESS_END)
        take_process(e, bytes);
    else if (n != sizeof(struct thread_end) || head->kind != RECORD_THREAD_END ||
             head->process == 0 || accounts_add(e->accounts, bytes, e->now_ns) < 0)
        e->lost++;
}

static int compare_starts(const void *a, const void *b)
{
    const struct process_ended *x = a, *y = b;

    return x->end.start_ns < y->end.start_ns ? -1 : x->end.start_ns > y->end.start_ns;
}

const struct process_ended *ends_join(struct ends *e, size_t *ret_n)
{
    struct process_ended *list = (struct process_ended *)e->waiting.data;
    size_t n = ends_waiting(e);

    for (size_t i = 0; i < n; i++) {
        struct thread_end *task = &list[i].end.task;

        accounts_close(e->accounts, task->head.process, task->head.pid, &task->own, &task->flags);
    }
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_starts);
    *ret_n = n;
    return list;
}

void ends_forget(struct ends *e, size_t n)
{
    buf_drop(&e->waiting, n * sizeof(struct process_ended));
}
