/* emit_process - samples of one process. */
#include "expose/emit.h"

static bool has_counter(const struct snapshot_process *r, unsigned counter)
{
    return r->have_counters >> counter & 1;
}

static bool has_gauge(const struct snapshot_process *r, unsigned gauge)
{
    return r->have_gauges >> gauge & 1;
}

void process_counter(struct page *p, const struct snapshot_process *r, unsigned counter)
{
    if (has_counter(r, counter))
        page_u64(p, r->labels, NO_LABEL, r->counter[counter]);
}

void process_gauge(struct page *p, const struct snapshot_process *r, unsigned gauge)
{
    if (has_gauge(r, gauge))
        page_u64(p, r->labels, NO_LABEL, r->gauge[gauge]);
}

static void cpu_mode(struct page *p, const struct snapshot_process *r, enum counter counter,
                     const char *mode)
{
    if (has_counter(r, counter))
        page_seconds(p, r->labels, page_label(p, counter, "mode", mode), r->counter[counter]);
}

void process_cpu(struct page *p, const struct snapshot_process *r, unsigned field)
{
    (void)field;
    cpu_mode(p, r, COUNTER_CPU_USER_NS, "user");
    cpu_mode(p, r, COUNTER_CPU_SYSTEM_NS, "system");
}

static void resident_kind(struct page *p, const struct snapshot_process *r, enum gauge gauge,
                          const char *kind)
{
    if (has_gauge(r, gauge))
        page_u64(p, r->labels, page_label(p, gauge, "kind", kind), r->gauge[gauge]);
}

void process_resident(struct page *p, const struct snapshot_process *r, unsigned field)
{
    (void)field;
    resident_kind(p, r, GAUGE_RESIDENT_ANON_BYTES, "anon");
    resident_kind(p, r, GAUGE_RESIDENT_FILE_BYTES, "file");
    resident_kind(p, r, GAUGE_RESIDENT_SHMEM_BYTES, "shmem");
}

void process_start(struct page *p, const struct snapshot_process *r, unsigned field)
{
    (void)field;
    if (r->start_ns != 0)
        page_seconds(p, r->labels, NO_LABEL, r->start_ns);
}
