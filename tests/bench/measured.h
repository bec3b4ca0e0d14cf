#pragma once
/* measured - cycles of the daemon, and farms of processes for them, as benchmarks run them. */
#include "farm.h"

#include "base/arena.h"
#include "daemon/cycle.h"
#include "expose/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* So long may the prober take to read what a cycle asked for. */
#define MEASURED_BETWEEN_NS UINT64_C(60000000000)

struct measured {
    const char *families;
    struct cycle cycle;
    struct cycle_time now;
    struct arena arena;
    struct snapshot snapshot;
    uint64_t sequence;
};

/*
 * A cycle over /proc. Families: "default" without mappings, or "peer", those that process-exporter
 * shows. Ends the program where it fails, as all here.
 */
void measured_open(struct measured *s, const char *families, bool rules);
void measured_close(struct measured *s);

/* Runs one cycle, ten seconds after the one before. Returns how many processes it took. */
double measured_run(void *measured);

/* So many idle processes, bare or ordinary ones. */
void measured_farm(struct farm *farm, long n, bool typ);
