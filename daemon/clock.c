/* clock - the only reader of clocks. */
#include "daemon/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;

    /* The clocks named here exist on every kernel we run on. */
    (void)clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME);
}

uint64_t clock_process_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

clockid_t clock_of_thread(void)
{
    clockid_t id = CLOCK_THREAD_CPUTIME_ID;

    /* Fails for a thread that has ended, which the calling one has not. */
    (void)pthread_getcpuclockid(pthread_self(), &id);
    return id;
}

uint64_t clock_other_cpu_ns(clockid_t of_thread)
{
    return clock_ns(of_thread);
}

/*
 * Arms the timer for a day that never comes; a discontinuous change of the clock cancels it, and
 * the next read says so.
 */
static int clock_watch_arm(int fd)
{
    struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 4000000000}};

    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int clock_watch_open(void)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (clock_watch_arm(fd) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

bool clock_was_set(int watch)
{
    uint64_t expirations;

    if (watch < 0 || read(watch, &expirations, sizeof(expirations)) >= 0 || errno != ECANCELED)
        return false;
    (void)clock_watch_arm(watch);
    return true;
}
