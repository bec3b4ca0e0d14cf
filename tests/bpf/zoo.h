#pragma once
/*
 * zoo - processes of every kind that sources may see differently, held still.
 *
 * Each has done something first, and stands until zoo_close(): what is read of it twice is the same
 * twice. Processes of the test's own; killed with it, however it ends.
 */
#include <stddef.h>
#include <sys/types.h>

enum animal {
    ANIMAL_IDLE,          /* waits since it began */
    ANIMAL_CHURNING,      /* has used CPU, memory, files, and reaped children; stopped */
    ANIMAL_THREADED,      /* has many threads */
    ANIMAL_THREADS_ENDED, /* threads of it ended, after they had used something; stopped */
    ANIMAL_DESCRIPTORS,   /* has many descriptors open */
    ANIMAL_EXITED_LEADER, /* its main thread has ended, others live */
    ANIMAL_ZOMBIE,        /* has ended, and nobody waited for it */
    ANIMAL_OTHER_USER,    /* another user's, if the test is root's */
    ANIMAL_EXECUTED,      /* another thread than the first executed a program */
    ANIMAL_VFORK,         /* waits for the child that shares its memory */
    ANIMAL_N,
};

struct zoo {
    pid_t pid[ANIMAL_N];
};

struct zoo_size {
    unsigned threads;
    unsigned descriptors;
};

const char *animal_name(enum animal animal);

/*
 * What the program of ANIMAL_EXECUTED does: the test itself, given `--stand N`. Never returns.
 */
void zoo_stand(int ready);

/* Returns 0, or a negative errno when not all could be made; zoo_close() is due in any case. */
int zoo_open(struct zoo *ret, const struct zoo_size *size);
void zoo_close(struct zoo *z);
