#pragma once
/*
 * cleanup - helpers that run when a variable leaves its scope (GNU attribute).
 *
 *     cleanup_close int fd = open(...);
 *
 * take_fd() hands a descriptor on, out of reach of the cleanup.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_freep(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_fclosep(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define cleanup_close  __attribute__((cleanup(cleanup_closep)))
#define cleanup_free   __attribute__((cleanup(cleanup_freep)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclosep)))

static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}
