/* accounts - what threads that have ended did, kept for their process. */
#include "bpf/accounts.h"

#include "bpf/usage.h"

#include <errno.h>
#include <stdlib.h>

enum { ACCOUNTS_SMALLEST = 64 };
#define ACCOUNT_NONE UINT32_MAX

void accounts_init(struct accounts *a)
{
    *a = (struct accounts){.first_free = ACCOUNT_NONE};
    map_init(&a->by_process);
}

void accounts_deinit(struct accounts *a)
{
    free(a->list);
    map_deinit(&a->by_process);
}

/* By its pid as well: a number may come again, for another process. */
static uint32_t find(const struct accounts *a, uint64_t process, uint32_t pid)
{
    uint64_t hash = map_hash_u64(process);

    for (size_t at = map_first(&a->by_process, hash); at != MAP_END;
         at = map_next(&a->by_process, hash, at)) {
        const struct account *account = &a->list[a->by_process.slots[at].ref];

        if (account->process == process && account->pid == pid)
            return a->by_process.slots[at].ref;
    }
    return ACCOUNT_NONE;
}

static int grow(struct accounts *a)
{
    size_t capacity = a->capacity ? a->capacity * 2 : ACCOUNTS_SMALLEST;
    struct account *list = NULL;

    if (capacity <= ACCOUNTS_MAX)
        list = realloc(a->list, capacity * sizeof(*list));
    if (!list)
        return -ENOMEM;
    a->list = list;
    a->capacity = capacity;
    return 0;
}

static int open_account(struct accounts *a, uint64_t process, uint32_t pid, uint32_t *ret)
{
    uint32_t ref = a->first_free;
    uint32_t next_free = ACCOUNT_NONE;
    int r;

    if (ref != ACCOUNT_NONE) {
        next_free = a->list[ref].next_free;
    } else {
        r = a->n == a->capacity ? grow(a) : 0;
        if (r < 0)
            return r;
        ref = (uint32_t)a->n;
    }
    r = map_add(&a->by_process, map_hash_u64(process), ref);
    if (r < 0)
        return r;
    a->n += ref == a->n;
    a->first_free = next_free;
    a->list[ref] = (struct account){.process = process, .pid = pid};
    a->n_used++;
    *ret = ref;
    return 0;
}

static void drop(struct accounts *a, uint32_t ref)
{
    struct account *account = &a->list[ref];

    map_remove(&a->by_process, map_hash_u64(account->process), ref);
    account->process = 0;
    account->next_free = a->first_free;
    a->first_free = ref;
    a->n_used--;
}

int accounts_add(struct accounts *a, const struct thread_end *end, uint64_t now_ns)
{
    uint32_t ref = find(a, end->head.process, end->head.pid);
    int r = ref == ACCOUNT_NONE ? open_account(a, end->head.process, end->head.pid, &ref) : 0;

    if (r < 0)
        return r;
    task_own_add(&a->list[ref].own, &end->own);
    a->list[ref].flags |= end->flags;
    a->list[ref].touched_ns = now_ns;
    return 0;
}

const struct account *accounts_look(struct accounts *a, uint64_t process, uint32_t pid,
                                    uint64_t now_ns)
{
    uint32_t ref = a->n_used == 0 ? ACCOUNT_NONE : find(a, process, pid);

    if (ref == ACCOUNT_NONE)
        return NULL;
    a->list[ref].touched_ns = now_ns;
    return &a->list[ref];
}

void accounts_close(struct accounts *a, uint64_t process, uint32_t pid, struct task_own *own,
                    uint32_t *flags)
{
    uint32_t ref = a->n_used == 0 ? ACCOUNT_NONE : find(a, process, pid);

    if (ref == ACCOUNT_NONE)
        return;
    task_own_add(own, &a->list[ref].own);
    *flags |= a->list[ref].flags;
    drop(a, ref);
}

size_t accounts_sweep(struct accounts *a, uint64_t now_ns, uint64_t patience_ns)
{
    size_t dropped = 0;

    for (uint32_t ref = 0; ref < a->n; ref++)
        if (a->list[ref].process != 0 && now_ns - a->list[ref].touched_ns >= patience_ns) {
            drop(a, ref);
            dropped++;
        }
    return dropped;
}
