#pragma once
/*
 * chance - random numbers that can be had again.
 *
 * The seed is taken from PROCTALLY_TEST_SEED, else from the clock, and always printed: a test
 * that failed is repeated with it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct chance {
    uint64_t state;
};

static inline uint64_t chance_u64(struct chance *c)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Below n, which is above 0. */
static inline size_t chance_below(struct chance *c, size_t n)
{
    return (size_t)(chance_u64(c) % n);
}

static inline struct chance chance_of_test(void)
{
    const char *given = getenv("PROCTALLY_TEST_SEED");
    struct timespec now;
    uint64_t seed;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 10)
                 : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    printf("PROCTALLY_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return (struct chance){seed};
}

/* Seconds of this process's CPU time. */
static inline double chance_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
