/*
 * removal - epoll_ctl() as the process and its libraries call it.
 *
 * A function of the program comes before the C library's of that name, also for the libraries that
 * the program is linked to; this one passes everything on to the next one.
 */
#include "daemon/removal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>

typedef int epoll_ctl_function(int set, int operation, int fd, struct epoll_event *event);

static atomic_bool forgiving;

void removal_forgive(void)
{
    atomic_store(&forgiving, true);
}

static epoll_ctl_function *next_epoll_ctl(void)
{
    static _Atomic(epoll_ctl_function *) found;
    epoll_ctl_function *next = atomic_load(&found);

    if (!next) {
        next = (epoll_ctl_function *)dlsym(RTLD_NEXT, "epoll_ctl");
        atomic_store(&found, next);
    }
    return next;
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    epoll_ctl_function *next = next_epoll_ctl();
    int r;

    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    r = next(set, operation, fd, event);
    if (r < 0 && operation == EPOLL_CTL_DEL && (errno == ENOENT || errno == EBADF) &&
        atomic_load(&forgiving))
        return 0;
    return r;
}
