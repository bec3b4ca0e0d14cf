#pragma once
/*
 * hang - reads of the prober that hang until they are let go, by pid.
 *
 * For prober_read_function: hang_here() blocks the calling thread while the pid is in the list.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { HANG_PIDS_MAX = 64 };

static pthread_mutex_t hang_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hang_change = PTHREAD_COND_INITIALIZER;
static uint32_t hang_pids[HANG_PIDS_MAX];
static size_t hang_n;
static bool hang_everybody;
static unsigned hang_now;     /* threads that hang */
static unsigned hang_entered; /* calls of hang_here() */

/* Begins to count calls. */
static inline void hang_begin(void)
{
    pthread_mutex_lock(&hang_lock);
    hang_entered = 0;
    pthread_mutex_unlock(&hang_lock);
}

static inline void hang_add(uint32_t pid)
{
    assert_true(hang_n < HANG_PIDS_MAX);
    pthread_mutex_lock(&hang_lock);
    hang_pids[hang_n++] = pid;
    pthread_mutex_unlock(&hang_lock);
}

static inline void hang_add_everybody(void)
{
    pthread_mutex_lock(&hang_lock);
    hang_everybody = true;
    pthread_mutex_unlock(&hang_lock);
}

/* Lets all go. */
static inline void hang_end(void)
{
    pthread_mutex_lock(&hang_lock);
    hang_n = 0;
    hang_everybody = false;
    pthread_cond_broadcast(&hang_change);
    pthread_mutex_unlock(&hang_lock);
}

static inline bool hang_has(uint32_t pid)
{
    for (size_t i = 0; i < hang_n; i++)
        if (hang_pids[i] == pid)
            return true;
    return hang_everybody;
}

static inline void hang_here(uint32_t pid)
{
    pthread_mutex_lock(&hang_lock);
    hang_entered++;
    hang_now++;
    while (hang_has(pid))
        pthread_cond_wait(&hang_change, &hang_lock);
    hang_now--;
    pthread_mutex_unlock(&hang_lock);
}

static inline unsigned hang_count(const unsigned *which)
{
    unsigned n;

    pthread_mutex_lock(&hang_lock);
    n = *which;
    pthread_mutex_unlock(&hang_lock);
    return n;
}

static inline void *hang_nothing(void *ret_tid)
{
    *(pid_t *)ret_tid = gettid();
    return NULL;
}

/*
 * Before threads are counted: sanitizers start theirs with the first one. That one is joined before
 * the kernel is through with it, and is still counted then.
 */
static inline void hang_first_thread(void)
{
    pthread_t thread;
    pid_t tid = 0;

    if (pthread_create(&thread, NULL, hang_nothing, &tid) != 0)
        return;
    pthread_join(thread, NULL);
    for (int turn = 0; turn < 20000 && tgkill(getpid(), tid, 0) == 0; turn++)
        usleep(1000);
}

/* Waits, for at most 20 s, until the condition holds. */
#define HANG_WAIT(condition)                                                    \
    do {                                                                        \
        for (int hang_turn = 0; hang_turn < 20000 && !(condition); hang_turn++) \
            usleep(1000);                                                       \
        assert_true(condition);                                                 \
    } while (0)
