#pragma once
/*
 * bench - pieces of code compared within one run.
 *
 * Machines that measure are shared and noisy, so nothing here trusts a time: the pieces run in
 * turn, in another order each round, every round gives a ratio per pair, and the median of those
 * ratios is what a bound is held against. A measurement that misses a bound is repeated before it
 * counts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_PIECES_MAX = 8 };

struct bench_piece {
    const char *name;
    /* Does the work some times over, and returns how many units that was. */
    double (*run)(void *arg);
    void *arg;
};

enum bench_rule {
    BENCH_SHOW,   /* baseline / ours, held against nothing */
    BENCH_FASTER, /* baseline / ours is at least the bound */
    BENCH_WITHIN, /* ours / baseline is at most the bound */
};

struct bench_pair {
    size_t baseline, ours; /* numbers of pieces */
    enum bench_rule rule;
    double bound;
};

struct bench {
    const char *title;
    const char *unit; /* "parse", "process" */
    const struct bench_piece *pieces;
    size_t n_pieces; /* at most BENCH_PIECES_MAX */
    const struct bench_pair *pairs;
    size_t n_pairs;
    unsigned rounds;
    uint64_t (*clock)(void); /* NULL: CPU time of this thread */
};

/*
 * Measures, up to three times until all bounds hold, and prints each measurement as a table.
 * Returns whether they held in the end.
 */
bool bench_run(const struct bench *b);

/* CPU time in nanoseconds: of this thread, and of all threads of the process. */
uint64_t bench_thread_ns(void);
uint64_t bench_process_ns(void);

/* Whether the word stands on the command line, such as "--small". */
bool bench_flag(int argc, char **argv, const char *name);

/* The number behind the word on the command line, or the given one. */
long bench_number(int argc, char **argv, const char *name, long otherwise);

/* Keeps the compiler from leaving out what computed the value. */
static inline void bench_use(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* Prints what failed and its errno, and exits. */
void bench_die(const char *what) __attribute__((noreturn));
