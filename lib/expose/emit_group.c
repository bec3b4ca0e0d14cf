/* emit_group - samples of one group. */
#include "expose/emit.h"

static const char *member(const struct snapshot_group *g, unsigned offset)
{
    return (const char *)&g->values + offset;
}

static bool has_counter(const struct snapshot_group *g, unsigned counter)
{
    return g->values.have_counters >> counter & 1;
}

static bool has_gauge(const struct snapshot_group *g, unsigned gauge)
{
    return g->values.have_gauges >> gauge & 1;
}

void group_u64(struct page *p, const struct snapshot_group *g, unsigned offset)
{
    uint64_t value;

    memcpy(&value, member(g, offset), sizeof(value));
    page_u64(p, g->label, NO_LABEL, value);
}

void group_time(struct page *p, const struct snapshot_group *g, unsigned offset)
{
    uint64_t ns;

    memcpy(&ns, member(g, offset), sizeof(ns));
    if (ns != 0)
        page_seconds(p, g->label, NO_LABEL, ns);
}

void group_ratio(struct page *p, const struct snapshot_group *g, unsigned offset)
{
    double ratio;

    memcpy(&ratio, member(g, offset), sizeof(ratio));
    page_double(p, g->label, NO_LABEL, ratio);
}

void group_counter(struct page *p, const struct snapshot_group *g, unsigned counter)
{
    if (has_counter(g, counter))
        page_u64(p, g->label, NO_LABEL, g->values.counter[counter]);
}

void group_counter_seconds(struct page *p, const struct snapshot_group *g, unsigned counter)
{
    if (has_counter(g, counter))
        page_seconds(p, g->label, NO_LABEL, g->values.counter[counter]);
}

void group_gauge(struct page *p, const struct snapshot_group *g, unsigned gauge)
{
    if (has_gauge(g, gauge))
        page_u64(p, g->label, NO_LABEL, g->values.gauge[gauge]);
}

void group_states(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    for (enum state i = 0; i < STATE_N; i++)
        page_u64(p, g->label, page_label(p, i, "state", state_name(i)), g->values.state[i]);
}

void group_exited(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    for (enum exit_reason i = 0; i < EXIT_REASON_N; i++)
        if (has_counter(g, GROUP_COUNTER_EXITED + i))
            page_u64(p, g->label, page_label(p, i, "reason", exit_reason_name(i)),
                     g->values.counter[GROUP_COUNTER_EXITED + i]);
}

void group_unread(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    for (enum part i = 0; i < PART_N; i++)
        if (g->values.unread[i] != 0)
            page_u64(p, g->label, page_label(p, i, "part", part_name(i)), g->values.unread[i]);
}

void group_info(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    if (g->info.n > 0)
        page_u64(p, g->label, g->info, 1);
}

static void cpu_mode(struct page *p, const struct snapshot_group *g, enum counter counter,
                     const char *mode)
{
    if (has_counter(g, counter))
        page_seconds(p, g->label, page_label(p, counter, "mode", mode), g->values.counter[counter]);
}

void group_cpu(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    cpu_mode(p, g, COUNTER_CPU_USER_NS, "user");
    cpu_mode(p, g, COUNTER_CPU_SYSTEM_NS, "system");
}

static void resident_kind(struct page *p, const struct snapshot_group *g, enum gauge gauge,
                          const char *kind)
{
    if (has_gauge(g, gauge))
        page_u64(p, g->label, page_label(p, gauge, "kind", kind), g->values.gauge[gauge]);
}

void group_resident(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    resident_kind(p, g, GAUGE_RESIDENT_ANON_BYTES, "anon");
    resident_kind(p, g, GAUGE_RESIDENT_FILE_BYTES, "file");
    resident_kind(p, g, GAUGE_RESIDENT_SHMEM_BYTES, "shmem");
}
