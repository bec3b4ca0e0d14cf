/*
 * render_cost text|openmetrics - renders a page of 200 groups with the default families, and
 * prints how many sample lines it has. render_cost.sh counts the instructions.
 */
#include "expose/render.h"
#include "expose/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 200 };

/* As busy services look: counters of nine digits, memory of nine, times in ticks. */
static void fill(struct group_values *v, uint64_t number)
{
    v->have_counters = (UINT32_C(1) << (GROUP_COUNTER_EXITED)) - 1;
    v->have_counters |= UINT32_C(1) << (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN);
    v->have_gauges = (UINT32_C(1) << GAUGE_N) - 1;
    for (unsigned i = 0; i < GROUP_COUNTER_N; i++)
        v->counter[i] = 123456789 + number * 1000003 + i;
    v->counter[COUNTER_CPU_USER_NS] = (1234567 + number) * 10000000;
    v->counter[COUNTER_CPU_SYSTEM_NS] = (234567 + number) * 10000000;
    for (unsigned i = 0; i < GAUGE_N; i++)
        v->gauge[i] = (54321 + number * 17 + i) * 4096;
    v->processes = 50;
    v->state[STATE_SLEEPING] = 50;
    v->oldest_start_ns = UINT64_C(1700000500) * 1000000000 + number * 10000000;
    v->worst_fds_ratio = (double)(number + 7) / 1024;
    v->worst_mappings_ratio = (double)(number + 100) / 65530;
}

static size_t count_samples(struct span page)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < page.n; i++)
        n += (i == 0 || page.p[i - 1] == '\n') && page.p[i] != '#';
    return n;
}

int main(int argc, char **argv)
{
    static struct snapshot_group groups[GROUPS];
    struct snapshot s = {.up = true, .groups = groups, .n_groups = GROUPS};
    struct arena arena;
    struct buf out;

    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 24);
    buf_reserve(&out, 1 << 20); /* the daemon's buffers are warm, too */
    selection_default(&s.families);
    for (unsigned i = 0; i < GROUPS; i++) {
        char name[64];

        snprintf(name, sizeof(name), "some-service-%u@.service", i);
        groups[i].name = span_from_str(name);
        groups[i].label = snapshot_label(&arena, groups[i].name);
        fill(&groups[i].values, i);
    }
    render(&s, argc > 1 && strcmp(argv[1], "text") == 0 ? FORMAT_TEXT : FORMAT_OPENMETRICS, NULL,
           &out);
    printf("%zu samples, %zu bytes\n", count_samples(buf_span(&out)), out.len);
    buf_deinit(&out);
    arena_deinit(&arena);
    return 0;
}
