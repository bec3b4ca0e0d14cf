/* gather - processes out of the tasks of one walk. */
#include "bpf/gather.h"

#include "bpf/usage.h"

#include <errno.h>

enum { LOOKS_MAX_BYTES = 256 * 1024 * 1024 };

void gather_init(struct gather *g)
{
    *g = (struct gather){0};
    buf_init(&g->looks, LOOKS_MAX_BYTES);
    map_init(&g->by_process);
}

void gather_deinit(struct gather *g)
{
    buf_deinit(&g->looks);
    map_deinit(&g->by_process);
}

void gather_begin(struct gather *g)
{
    buf_reset(&g->looks);
    map_reset(&g->by_process);
}

static struct look *look_at(const struct gather *g, size_t i)
{
    return (struct look *)g->looks.data + i;
}

static size_t n_looks(const struct gather *g)
{
    return g->looks.len / sizeof(struct look);
}

/* What is gathered of the process, begun if there is nothing; NULL: no memory. */
static struct look *look_of(struct gather *g, const struct record_head *head)
{
    uint64_t hash = map_hash_u64(head->process);
    struct look *look;

    for (size_t at = map_first(&g->by_process, hash); at != MAP_END;
         at = map_next(&g->by_process, hash, at)) {
        look = look_at(g, g->by_process.slots[at].ref);
        if (look->record.task.head.process == head->process)
            return look;
    }
    look = (struct look *)buf_reserve(&g->looks, sizeof(*look));
    if (!look || map_add(&g->by_process, hash, (uint32_t)n_looks(g)) < 0)
        return NULL;
    buf_commit(&g->looks, sizeof(*look));
    *look = (struct look){.record.task.head = *head};
    return look;
}

/* Who it is, of the leader; what it has, of a thread that lives. */
static void take_leader(struct look *look, const struct process_record *record)
{
    struct process_record before = look->record;

    look->has_leader = true;
    look->record = *record;
    if (!look->has_stand_in)
        return;
    look->record.state = before.state;
    look->record.flags = before.flags;
    look->record.open_fds = before.open_fds;
    look->record.mappings = before.mappings;
    look->record.virtual_pages = before.virtual_pages;
    look->record.anon_pages = before.anon_pages;
    look->record.file_pages = before.file_pages;
    look->record.shmem_pages = before.shmem_pages;
    look->record.swap_pages = before.swap_pages;
    look->record.peak_pages = before.peak_pages;
}

/*
 * The first thread found to live will do: they share it all. One that is about to end may have let
 * go of it already, so another is taken if there is.
 */
static void take_stand_in(struct look *look, const struct process_record *record)
{
    struct process_record leader = look->record;
    bool found = look->has_stand_in && !(look->record.flags & TASK_EXITING);

    if (found || (record->flags & TASK_DEAD))
        return;
    look->has_stand_in = true;
    look->record = *record;
    if (look->has_leader)
        take_leader(look, &leader);
}

static void add_thread(struct look *look, const struct thread_record *task)
{
    task_usage_add(&look->usage, &task->usage);
    task_own_add(&look->own, &task->own);
}

/* Whether the leader is of another program than the threads that were gathered. */
static bool is_of_an_exec(const struct look *look, const struct thread_record *leader)
{
    return look->memory != 0 && leader->memory != 0 && look->memory != leader->memory;
}

static void begin_sums(struct look *look, const struct thread_record *task)
{
    look->usage = task->ended;
    look->own = (struct task_own){0};
    look->has_stand_in = false;
}

static int gather_add(struct gather *g, const struct record_head *head)
{
    const struct thread_record *task = (const struct thread_record *)head;
    const struct process_record *record = (const struct process_record *)head;
    struct look *look;
    size_t before = n_looks(g);

    look = look_of(g, head);
    if (!look)
        return -ENOMEM;
    if (n_looks(g) > before || (head->kind == RECORD_PROCESS && is_of_an_exec(look, task)))
        begin_sums(look, task);
    if (task->memory != 0)
        look->memory = task->memory;
    add_thread(look, task);
    if (head->kind == RECORD_PROCESS)
        take_leader(look, record);
    else if (head->kind == RECORD_STAND_IN)
        take_stand_in(look, record);
    return 0;
}

static const struct look *look_of_one(struct gather *g, const struct process_record *record)
{
    struct look *look = &g->single;

    look->record = *record;
    look->has_leader = true;
    look->usage = record->task.ended;
    task_usage_add(&look->usage, &record->task.usage);
    look->own = record->task.own;
    return look;
}

int gather_take(struct gather *g, const struct record_head *head, const struct look **ret)
{
    const struct process_record *record = (const struct process_record *)head;

    *ret = NULL;
    if (head->kind != RECORD_PROCESS || record->threads > 1)
        return gather_add(g, head);
    *ret = look_of_one(g, record);
    return 0;
}

const struct look *gather_next(const struct gather *g, size_t *at)
{
    while (*at < n_looks(g)) {
        const struct look *look = look_at(g, (*at)++);

        if (look->has_leader)
            return look;
    }
    return NULL;
}
