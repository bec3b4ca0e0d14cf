#pragma once
/*
 * inject - read(2) and getdents64(2) with answers that a tree of files cannot give.
 *
 * For a test linked with --wrap=read,--wrap=getdents64; included once. A plan is used up by the
 * calls that match it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct inject {
    const char *name; /* the end of the path of the file that is read */
    int error;        /* errno to fail with, or 0: give at most `most` bytes */
    size_t most;      /* with error 0; 0 is the end of the file */
    int times;
};

static struct inject inject_read, inject_getdents;
static unsigned inject_read_calls;

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __real_getdents64(int fd, void *p, size_t n);
ssize_t __wrap_getdents64(int fd, void *p, size_t n);

static inline int inject_matches(struct inject *plan, int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t n;

    if (plan->times == 0)
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    if ((size_t)n < strlen(plan->name) || strcmp(path + n - strlen(plan->name), plan->name) != 0)
        return 0;
    plan->times--;
    return 1;
}

ssize_t __wrap_read(int fd, void *p, size_t n)
{
    inject_read_calls++;
    if (!inject_matches(&inject_read, fd))
        return __real_read(fd, p, n);
    if (inject_read.error == 0)
        return inject_read.most ? __real_read(fd, p, n < inject_read.most ? n : inject_read.most)
                                : 0;
    errno = inject_read.error;
    return -1;
}

ssize_t __wrap_getdents64(int fd, void *p, size_t n)
{
    if (!inject_matches(&inject_getdents, fd))
        return __real_getdents64(fd, p, n);
    errno = inject_getdents.error;
    return -1;
}
