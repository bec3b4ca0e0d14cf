/* bench - pieces of code compared within one run. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BENCH_ATTEMPTS = 3,
    BENCH_ROUNDS_MAX = 1001,
};

/* Nanoseconds per unit, by piece and round. */
struct bench_times {
    double ns[BENCH_PIECES_MAX][BENCH_ROUNDS_MAX];
};

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t bench_process_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

bool bench_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

long bench_number(int argc, char **argv, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtol(argv[i + 1], NULL, 10);
    return otherwise;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *values, size_t n)
{
    static double sorted[BENCH_ROUNDS_MAX];

    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_doubles);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double measure_piece(const struct bench *b, const struct bench_piece *piece)
{
    uint64_t (*clock_ns)(void) = b->clock ? b->clock : bench_thread_ns;
    uint64_t began = clock_ns();
    double units = piece->run(piece->arg);

    return (double)(clock_ns() - began) / units;
}

static unsigned rounds_of(const struct bench *b)
{
    return b->rounds < BENCH_ROUNDS_MAX ? b->rounds : BENCH_ROUNDS_MAX;
}

/*
 * A new order for each round: what a piece finds in the caches is what the one before it left, and
 * that must not always be the same one. The same sequence in every run.
 */
static void shuffle(size_t *order, size_t n)
{
    static uint32_t state = 1;

    for (size_t i = n; i > 1; i--) {
        size_t k, swapped = order[i - 1];

        state = state * 1664525u + 1013904223u;
        k = (state >> 16) % i;
        order[i - 1] = order[k];
        order[k] = swapped;
    }
}

static void measure(const struct bench *b, struct bench_times *ret)
{
    size_t order[BENCH_PIECES_MAX];

    /* Once for nothing: caches and buffers get warm. */
    for (size_t i = 0; i < b->n_pieces; i++) {
        order[i] = i;
        (void)measure_piece(b, &b->pieces[i]);
    }
    for (unsigned round = 0; round < rounds_of(b); round++) {
        shuffle(order, b->n_pieces);
        for (size_t k = 0; k < b->n_pieces; k++)
            ret->ns[order[k]][round] = measure_piece(b, &b->pieces[order[k]]);
    }
}

static double pair_ratio(const struct bench *b, const struct bench_times *times,
                         const struct bench_pair *pair)
{
    const double *ours = times->ns[pair->ours], *baseline = times->ns[pair->baseline];
    double ratios[BENCH_ROUNDS_MAX];

    for (unsigned round = 0; round < rounds_of(b); round++)
        ratios[round] = pair->rule == BENCH_WITHIN ? ours[round] / baseline[round]
                                                   : baseline[round] / ours[round];
    return median(ratios, rounds_of(b));
}

static bool pair_holds(const struct bench_pair *pair, double ratio)
{
    if (pair->rule == BENCH_FASTER)
        return ratio >= pair->bound;
    return pair->rule == BENCH_SHOW || ratio <= pair->bound;
}

static bool print_pair(const struct bench *b, const struct bench_times *times,
                       const struct bench_pair *pair)
{
    double ratio = pair_ratio(b, times, pair);
    bool holds = pair_holds(pair, ratio);

    printf("  %-34s %-34s %11.1f %11.1f %8.3f", b->pieces[pair->baseline].name,
           b->pieces[pair->ours].name, median(times->ns[pair->baseline], rounds_of(b)),
           median(times->ns[pair->ours], rounds_of(b)), ratio);
    if (pair->rule == BENCH_SHOW)
        printf("\n");
    else
        printf("  %s %g%s\n", pair->rule == BENCH_FASTER ? ">=" : "<=", pair->bound,
               holds ? "" : "  MISSED");
    return holds;
}

static bool print_pairs(const struct bench *b, const struct bench_times *times)
{
    bool holds = true;

    printf("%s: CPU ns per %s, medians of %u rounds\n", b->title, b->unit, rounds_of(b));
    printf("  %-34s %-34s %11s %11s %8s  bound\n", "baseline", "ours", "baseline", "ours", "ratio");
    for (size_t i = 0; i < b->n_pairs; i++)
        holds = print_pair(b, times, &b->pairs[i]) && holds;
    fflush(stdout);
    return holds;
}

bool bench_run(const struct bench *b)
{
    static struct bench_times times;

    for (int attempt = 0; attempt < BENCH_ATTEMPTS; attempt++) {
        measure(b, &times);
        if (print_pairs(b, &times))
            return true;
    }
    return false;
}
