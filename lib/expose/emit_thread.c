/* emit_thread - samples of one group's threads, by their names. */
#include "expose/emit.h"

static bool has_counter(const struct snapshot_thread *t, unsigned counter)
{
    return t->values.have >> counter & 1;
}

void group_threads(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    for (size_t i = 0; i < g->n_threads; i++)
        page_u64(p, g->label, g->threads[i].label, g->threads[i].values.threads);
}

void group_thread_counter(struct page *p, const struct snapshot_group *g, unsigned thread_counter)
{
    for (size_t i = 0; i < g->n_threads; i++)
        if (has_counter(&g->threads[i], thread_counter))
            page_u64(p, g->label, g->threads[i].label,
                     g->threads[i].values.counter[thread_counter]);
}

void group_thread_seconds(struct page *p, const struct snapshot_group *g, unsigned thread_counter)
{
    for (size_t i = 0; i < g->n_threads; i++)
        if (has_counter(&g->threads[i], thread_counter))
            page_seconds(p, g->label, g->threads[i].label,
                         g->threads[i].values.counter[thread_counter]);
}

void group_thread_cpu(struct page *p, const struct snapshot_group *g, unsigned field)
{
    (void)field;
    for (size_t i = 0; i < g->n_threads; i++) {
        const struct snapshot_thread *t = &g->threads[i];

        if (has_counter(t, THREAD_CPU_USER_NS))
            page_seconds(p, g->label, t->label_user, t->values.counter[THREAD_CPU_USER_NS]);
        if (has_counter(t, THREAD_CPU_SYSTEM_NS))
            page_seconds(p, g->label, t->label_system, t->values.counter[THREAD_CPU_SYSTEM_NS]);
    }
}
