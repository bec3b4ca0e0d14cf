/* measured - cycles of the daemon, and farms of processes for them, as benchmarks run them. */
#include "measured.h"

#include "bench.h"
#include "fifty_rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    ARENA_MAX_BYTES = 64 * 1024 * 1024,
    GROUPS_MAX = 200,
};

/* What process-exporter shows of a group. */
static const char *const peer_families[] = {
    "proctally_group_processes",
    "proctally_group_threads",
    "proctally_group_processes_in_state",
    "proctally_group_oldest_start_time_seconds",
    "proctally_group_cpu_seconds_total",
    "proctally_group_resident_memory_bytes",
    "proctally_group_swap_bytes",
    "proctally_group_virtual_memory_bytes",
    "proctally_group_minor_page_faults_total",
    "proctally_group_major_page_faults_total",
    "proctally_group_storage_read_bytes_total",
    "proctally_group_storage_written_bytes_total",
    "proctally_group_open_fds",
    "proctally_group_open_fds_limit_ratio",
};

static void families_of(const char *which, struct selection *ret)
{
    if (strcmp(which, "default") == 0) {
        selection_default(ret);
        (void)selection_exclude(ret, SPAN_LITERAL("proctally_group_mappings*"));
        return;
    }
    *ret = (struct selection){0};
    for (size_t i = 0; i < sizeof(peer_families) / sizeof(*peer_families); i++)
        if (selection_include(ret, span_from_str(peer_families[i])) == 0)
            bench_die(peer_families[i]);
}

static void fail(const char *what, int r)
{
    errno = -r;
    bench_die(what);
}

void measured_open(struct measured *s, const char *families, bool rules)
{
    struct cycle_settings settings = {.groups_max = GROUPS_MAX,
                                      .groups_forget_ns = 3600000000000u,
                                      .probe_deadline_ns = MEASURED_BETWEEN_NS,
                                      .pss_max_bytes = 0};
    int r;

    *s = (struct measured){.families = families};
    s->now = (struct cycle_time){
        .monotonic_ns = 1, .realtime_ns = 1700000000000000000u, .boottime_ns = 1000000000u};
    families_of(families, &settings.families);
    rules_init(&settings.rules);
    if (rules)
        fifty_rules(&settings.rules, true);
    arena_init(&s->arena, ARENA_MAX_BYTES);
    r = cycle_open(&s->cycle, CYCLE_DAEMON, "/proc", &s->now);
    if (r == 0)
        r = cycle_configure(&s->cycle, &settings);
    if (r < 0)
        fail("cycle_open", r);
}

void measured_close(struct measured *s)
{
    cycle_close(&s->cycle);
    arena_deinit(&s->arena);
}

double measured_run(void *arg)
{
    struct measured *s = arg;
    int r;

    s->now.monotonic_ns += 10000000000u;
    s->now.realtime_ns += 10000000000u;
    s->now.boottime_ns += 10000000000u;
    r = cycle_run(&s->cycle, &s->now);
    arena_reset(&s->arena);
    if (r == 0)
        r = cycle_snapshot(&s->cycle, s->sequence + 1, s->sequence, &s->now, &s->arena,
                           &s->snapshot);
    if (r < 0)
        fail("cycle", r);
    s->sequence++;
    return (double)s->cycle.processes;
}

void measured_farm(struct farm *farm, long n, bool typ)
{
    char count[24];
    const char *const bare_args[] = {PROCFARM, "-n", count, "-f", "3", "-g", "100", NULL};
    const char *const typ_args[] = {PROCFARM, "-n", count, "-x",  "-g", "100", "-f",
                                    "20",     "-t", "1",   "-m",  "60", "-r",  "400",
                                    "-a",     "80", "-e",  "600", NULL};

    snprintf(count, sizeof(count), "%ld", n);
    farm_start(farm, (char *const *)(uintptr_t)(typ ? typ_args : bare_args));
}
