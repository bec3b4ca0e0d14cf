/* settings - a configuration turned into what the collector works with. */
#include "daemon/settings.h"

#include "daemon/config_rules.h"

#include <errno.h>
#include <stdlib.h>

static int add_rule(const struct config *c, const struct config_rule *rule, struct rules *rules,
                    struct buf *error)
{
    struct buf what;
    int r;

    buf_init(&what, CONFIG_ERROR_MAX);
    r = config_rule_add(rule, rules, &what);
    /* The configuration was checked when it was read, so only memory may fail. */
    if (r < 0) {
        buf_printf(error, "%s:%u: [%s %s]: ", c->file ? c->file : "", rule->line,
                   rule->exclude ? "exclude" : "group", rule->name);
        buf_append_span(error, buf_span(&what));
    }
    buf_deinit(&what);
    return r;
}

static int copy_globs(const struct config_list *list, struct globs *ret)
{
    struct span *spans = calloc(list->n ? list->n : 1, sizeof(*spans));
    int r;

    if (!spans)
        return -ENOMEM;
    for (size_t i = 0; i < list->n; i++)
        spans[i] = span_from_str(list->items[i]);
    r = globs_copy(ret, spans, list->n);
    free(spans);
    return r;
}

int settings_make(const struct config *c, struct collector_settings *ret, struct buf *error)
{
    struct rules rules;
    struct globs threads;

    rules_init(&rules);
    for (size_t i = 0; i < c->rules.n; i++) {
        int r = add_rule(c, &c->rules.items[i], &rules, error);

        if (r < 0) {
            rules_deinit(&rules);
            return r;
        }
    }
    if (copy_globs(&c->threads, &threads) < 0) {
        rules_deinit(&rules);
        buf_append_str(error, "out of memory");
        return -ENOMEM;
    }
    *ret = (struct collector_settings){
        .cycle = {.families = c->families,
                  .rules = rules,
                  .threads = threads,
                  .groups_max = c->groups_max,
                  .groups_forget_ns = c->groups_forget_ns,
                  .probe_deadline_ns = c->probe_deadline_ns,
                  .pss_max_bytes = c->pss_max_bytes,
                  .top_by = c->top_by,
                  .top = c->top},
        .schedule = {.interval_ns = c->interval_ns, .cpu_budget_ppm = (uint32_t)c->cpu_budget_ppm},
    };
    return 0;
}
