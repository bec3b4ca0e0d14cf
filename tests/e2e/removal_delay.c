/*
 * removal_delay - takes its time over taking descriptors out of epoll sets, preloaded into the
 * daemon: so two threads that are about to take the same one out both do it.
 */
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_DEL)
        usleep(20000);
    return (int)syscall(SYS_epoll_ctl, set, operation, fd, event);
}
