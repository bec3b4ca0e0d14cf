/* walk - the records of one walk over all tasks, read and checked. */
#include "bpf/walk.h"

#include "bpf/programs.h"

#include <errno.h>
#include <unistd.h>

enum {
    /* A read ends between two records; one that does not is gone on with. */
    WALK_BUFFER = 4 * PROGRAMS_READ_SIZE,
};

void walk_init(struct walk *w)
{
    *w = (struct walk){.fd = -1};
    buf_init(&w->bytes, WALK_BUFFER);
}

void walk_deinit(struct walk *w)
{
    buf_deinit(&w->bytes);
}

void walk_begin(struct walk *w, int fd)
{
    w->fd = fd;
    w->at = 0;
    w->over = false;
    buf_reset(&w->bytes);
}

static size_t size_of_kind(uint32_t kind)
{
    switch (kind) {
    case RECORD_PROCESS:
    case RECORD_STAND_IN:
        return sizeof(struct process_record);
    case RECORD_THREAD:
        return sizeof(struct thread_record);
    default:
        return 0;
    }
}

/* Size of the whole record that is next; 0: it is not all there. Or -EBADMSG. */
static ssize_t next_size(const struct walk *w)
{
    size_t left = w->bytes.len - w->at, size;
    const struct record_head *head;

    if (left < sizeof(*head))
        return 0;
    head = (const struct record_head *)(w->bytes.data + w->at);
    size = size_of_kind(head->kind);
    if (size == 0)
        return -EBADMSG;
    return size <= left ? (ssize_t)size : 0;
}

/* Moves what is left to the front: records stand where any of their numbers may. */
static void keep_rest(struct walk *w)
{
    size_t left = w->bytes.len - w->at;

    if (left > 0)
        memmove(w->bytes.data, w->bytes.data + w->at, left);
    w->bytes.len = left;
    w->at = 0;
}

static int read_more(struct walk *w)
{
    char *room;
    ssize_t n;

    keep_rest(w);
    room = buf_reserve(&w->bytes, PROGRAMS_READ_SIZE);
    if (!room)
        return -ENOMEM;
    do
        n = read(w->fd, room, PROGRAMS_READ_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    w->over = n == 0;
    buf_commit(&w->bytes, (size_t)n);
    return 0;
}

int walk_next(struct walk *w, const struct record_head **ret)
{
    for (;;) {
        ssize_t size = next_size(w);
        int r;

        if (size < 0)
            return (int)size;
        if (size > 0) {
            *ret = (const struct record_head *)(w->bytes.data + w->at);
            w->at += (size_t)size;
            return 1;
        }
        if (w->over)
            return w->at == w->bytes.len ? 0 : -EBADMSG;
        r = read_more(w);
        if (r < 0)
            return r;
    }
}
