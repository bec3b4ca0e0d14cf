/* dirents - getdents64 into the caller's block, one entry at a time out of it. */
#include "procfs/dirents.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct dirents dirents_of(int fd, char *block, size_t size)
{
    return (struct dirents){.fd = fd, .block = block, .size = size};
}

static int dirents_fill(struct dirents *d)
{
    ssize_t n;

    do
        n = getdents64(d->fd, d->block, d->size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    d->at = 0;
    d->end = (size_t)n;
    return n > 0;
}

static bool dirents_is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int dirents_next(struct dirents *d, const struct dirent64 **ret)
{
    const struct dirent64 *entry;
    int r;

    do {
        if (d->at == d->end) {
            r = dirents_fill(d);
            if (r <= 0)
                return r;
        }
        /* The kernel aligns each record to 8 bytes. */
        entry = (const void *)(d->block + d->at);
        d->at += entry->d_reclen;
    } while (dirents_is_dots(entry->d_name));
    *ret = entry;
    return 1;
}
