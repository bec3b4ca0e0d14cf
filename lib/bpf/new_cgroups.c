/* new_cgroups - control groups that were made since the last cycle, by the kernel's records. */
#include "bpf/new_cgroups.h"

#include "bpf/record.h"

enum { RECORDS_MAX_BYTES = 256 * 1024 };

/* How each is kept: this, and the path behind it. */
struct kept {
    uint64_t id;
    size_t path_n;
};

void new_cgroups_init(struct new_cgroups *c)
{
    buf_init(&c->records, RECORDS_MAX_BYTES);
}

void new_cgroups_deinit(struct new_cgroups *c)
{
    buf_deinit(&c->records);
}

static void keep(struct new_cgroups *c, uint64_t id, struct span path)
{
    struct kept kept = {.id = id, .path_n = path.n};
    char *room = buf_reserve(&c->records, sizeof(kept) + path.n);

    if (!room)
        return;
    memcpy(room, &kept, sizeof(kept));
    memcpy(room + sizeof(kept), path.p, path.n);
    buf_commit(&c->records, sizeof(kept) + path.n);
}

bool new_cgroups_take(struct new_cgroups *c, const void *bytes, size_t n)
{
    const struct cgroup_record *record = bytes;
    size_t least = offsetof(struct cgroup_record, path);
    struct span path;

    if (n < sizeof(record->head) || record->head.kind != RECORD_CGROUP)
        return false;
    if (n <= least)
        return true;
    path = span_of(record->path, strnlen(record->path, n - least));
    if (path.n + 1 == n - least && *path.p == '/')
        keep(c, record->id, path);
    return true;
}

bool new_cgroups_next(const struct new_cgroups *c, size_t *at, uint64_t *ret_id,
                      struct span *ret_path)
{
    struct kept kept;

    if (*at == c->records.len)
        return false;
    memcpy(&kept, c->records.data + *at, sizeof(kept));
    *at += sizeof(kept);
    *ret_id = kept.id;
    *ret_path = span_of(c->records.data + *at, kept.path_n);
    *at += kept.path_n;
    return true;
}

void new_cgroups_forget(struct new_cgroups *c)
{
    buf_reset(&c->records);
}
