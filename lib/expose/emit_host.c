/* emit_host - samples of the host. */
#include "expose/emit.h"

#include "expose/number.h"

void host_value(struct page *p, const struct snapshot *s, unsigned host_field)
{
    if (host_has(&s->host, (enum host_field)host_field))
        page_u64(p, NO_LABEL, NO_LABEL, s->host.field[host_field]);
}

static void cpu_modes(struct page *p, struct span labels, const struct cpu_times *t)
{
    for (enum cpu_mode i = 0; i < CPU_MODE_N && i < t->columns; i++)
        page_seconds(p, labels, page_label(p, i, "mode", cpu_mode_name(i)), t->ns[i]);
}

void host_cpu(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    cpu_modes(p, NO_LABEL, &s->host.cpu);
}

void host_per_cpu(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (size_t i = 0; i < s->host.n_cpus; i++) {
        const struct cpu_row *row = &s->host.cpus[i];
        struct label_set labels = {.n = 0};
        char number[NUMBER_MAX];

        label_set_add(&labels, "cpu",
                      span_of(number, (size_t)(number_u64(number, row->cpu) - number)));
        cpu_modes(p, label_set_span(&labels), &row->times);
    }
}

void host_softirqs(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (enum softirq i = 0; i < SOFTIRQ_N && i < s->host.softirqs; i++)
        page_u64(p, NO_LABEL, page_label(p, i, "vector", softirq_name(i)), s->host.softirq[i]);
}

void host_tasks_limit(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    if (host_has(&s->host, HOST_PID_MAX))
        page_u64(p, NO_LABEL, page_label(p, 0, "limit", "pid_max"), s->host.field[HOST_PID_MAX]);
    if (host_has(&s->host, HOST_THREADS_MAX))
        page_u64(p, NO_LABEL, page_label(p, 1, "limit", "threads_max"),
                 s->host.field[HOST_THREADS_MAX]);
}
