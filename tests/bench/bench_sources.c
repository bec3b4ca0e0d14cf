/*
 * bench_sources - a whole cycle with processes as the kernel counts them, against text.
 *
 *     bench_sources [--small] [--processes N] [--rounds N]
 *
 * Two farms of idle processes, bare ones and ordinary ones; each is taken by cycle_run() and
 * cycle_snapshot() from either source in turn. Time of the thread's CPU, kernel's included.
 */
#include "bench.h"
#include "measured.h"

#include "bpf/source.h"
#include "daemon/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIP = 77, WARM_CYCLES = 3 };

/* How much less it has to cost. The budgets, in us, are printed: what they are compared with. */
static const double BOUND = 8;
static const struct {
    const char *name;
    bool typ;
    double budget_us;
} farms[] = {{"bare", false, 1.0}, {"ordinary", true, 2.5}};

/* A source, and cycles by it; or the source alone. */
struct by_bpf {
    struct measured measured;
    struct bpf_source source;
};

static double run_text(void *arg)
{
    return measured_run(arg);
}

static double run_bpf(void *arg)
{
    struct by_bpf *s = arg;

    bpf_source_drain(&s->source, clock_monotonic_ns());
    return measured_run(&s->measured);
}

/* The kernel's part, and its records made samples of. */
static double run_walk(void *arg)
{
    struct by_bpf *s = arg;
    struct task_cgroup cgroup;
    struct sample sample;
    double n = 0;

    if (bpf_source_begin(&s->source) < 0)
        bench_die("walk");
    while (bpf_source_next(&s->source, &sample, &cgroup) > 0) {
        bench_use(&sample);
        n++;
    }
    bpf_source_end(&s->source);
    return n;
}

static int open_source(struct bpf_source *s)
{
    struct task_units units = {.ticks_per_second = (uint32_t)sysconf(_SC_CLK_TCK),
                               .page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
    enum programs_failure failure;

    return bpf_source_open(s, &units, &failure);
}

static int open_plain(struct by_bpf *s)
{
    int r;

    programs_use_casts(false);
    r = open_source(&s->source);
    programs_use_casts(true);
    return r;
}

static int open_bpf(struct by_bpf *s)
{
    int r = open_source(&s->source);

    if (r < 0)
        return r;
    measured_open(&s->measured, "default", false);
    cycle_use_bpf(&s->measured.cycle, &s->source);
    return 0;
}

static bool compare(const char *name, double budget_us, struct measured *text, struct by_bpf *bpf,
                    struct by_bpf *plain, unsigned rounds)
{
    const struct bench_piece pieces[] = {{"processes as text", run_text, text},
                                         {"as the kernel counts them", run_bpf, bpf},
                                         {"the walk alone", run_walk, bpf},
                                         {"the walk without casts", run_walk, plain}};
    const struct bench_pair pairs[] = {
        {0, 1, BENCH_FASTER, BOUND}, {0, 2, BENCH_SHOW, 0}, {0, 3, BENCH_SHOW, 0}};
    char title[160];
    const struct bench b = {.title = title,
                            .unit = "process",
                            .pieces = pieces,
                            .n_pieces = 4,
                            .pairs = pairs,
                            .n_pairs = 3,
                            .rounds = rounds};

    snprintf(title, sizeof(title),
             "whole cycle, default families, %" PRIu64 " processes, %s ones; budget %.0f ns",
             text->cycle.processes, name, budget_us * 1000);
    return bench_run(&b);
}

static bool measure(size_t which, long n, unsigned rounds)
{
    static struct measured text;
    static struct by_bpf bpf, plain;
    struct farm farm;
    bool holds;
    int r;

    measured_farm(&farm, n, farms[which].typ);
    r = open_bpf(&bpf);
    if (r == 0)
        r = open_plain(&plain);
    if (r < 0) {
        printf("skipped: the bpf source cannot be had: %s\n", strerror(-r));
        farm_stop(&farm);
        exit(SKIP);
    }
    measured_open(&text, "default", false);
    for (int i = 0; i < WARM_CYCLES; i++) {
        (void)run_text(&text);
        (void)run_bpf(&bpf);
    }
    holds = compare(farms[which].name, farms[which].budget_us, &text, &bpf, &plain, rounds);
    if (!bpf.measured.cycle.bpf) {
        puts("the bpf source failed");
        holds = false;
    }
    measured_close(&text);
    measured_close(&bpf.measured);
    bpf_source_close(&bpf.source);
    bpf_source_close(&plain.source);
    farm_stop(&farm);
    return holds;
}

int main(int argc, char **argv)
{
    long n = 10000;
    unsigned rounds = 21;
    bool holds = true;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            n = 2000;
            rounds = 9;
        } else if (strcmp(argv[i], "--processes") == 0 && i + 1 < argc) {
            n = atol(argv[++i]);
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = (unsigned)atoi(argv[++i]);
        } else {
            fputs("usage: bench_sources [--small] [--processes N] [--rounds N]\n", stderr);
            return 2;
        }
    }
    for (size_t i = 0; i < sizeof(farms) / sizeof(*farms); i++)
        holds = measure(i, n, rounds) && holds;
    return !holds;
}
