/* signals - SIGHUP, SIGTERM and SIGINT, taken from a descriptor. */
#include "daemon/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t ours(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void signals_hold(void)
{
    sigset_t set = ours();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* Process 1 of a container is the parent of all orphans there, and waits for none. */
    signal(SIGCHLD, SIG_IGN);
    /* A state file over the limit of sizes is an error of that write, and no end. */
    signal(SIGXFSZ, SIG_IGN);
}

int signals_open(void)
{
    sigset_t set = ours();
    int fd;

    signals_hold();
    fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int signals_next(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}
