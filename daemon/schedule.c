/* schedule - when the next cycle is to begin. */
#include "daemon/schedule.h"

enum {
    MILLION = 1000000,
    /* Added cycles may come as close together as so many seconds' worth of budget pays for. */
    CREDIT_SECONDS = 60,
};

/* Scrapes so close together share a snapshot. */
static const uint64_t SAME_SCRAPE_NS = 100000000;

void schedule_init(struct schedule *s, const struct schedule_settings *settings, uint64_t now_ns)
{
    *s = (struct schedule){
        .settings = *settings, .planned_ns = now_ns, .begun_ns = now_ns, .credited_ns = now_ns};
}

static uint64_t largest(const uint64_t *values)
{
    uint64_t most = 0;

    for (int i = 0; i < SCHEDULE_CYCLES; i++)
        if (values[i] > most)
            most = values[i];
    return most;
}

/* Of the last cycles, but for the very first, which reads once what later ones need not. */
static uint64_t mean_cpu(const struct schedule *s)
{
    uint64_t first = s->n_cycles <= SCHEDULE_CYCLES ? 1 : 0, sum = 0;
    uint64_t end = s->n_cycles < SCHEDULE_CYCLES ? s->n_cycles : SCHEDULE_CYCLES;

    for (uint64_t i = first; i < end; i++)
        sum += s->cpu_ns[i];
    return end > first ? sum / (end - first) : 0;
}

uint64_t schedule_effective_interval(const struct schedule *s)
{
    uint64_t affordable = mean_cpu(s) * MILLION / s->settings.cpu_budget_ppm;

    return affordable > s->settings.interval_ns ? affordable : s->settings.interval_ns;
}

void schedule_configure(struct schedule *s, const struct schedule_settings *settings)
{
    uint64_t latest;

    s->settings = *settings;
    latest = s->begun_ns + schedule_effective_interval(s);
    if (s->planned_ns > latest)
        s->planned_ns = latest;
}

/* Budget earned up to this time; what is not used within CREDIT_SECONDS is lost. */
static void schedule_earn(struct schedule *s, uint64_t now_ns)
{
    int64_t most = (int64_t)CREDIT_SECONDS * 1000 * s->settings.cpu_budget_ppm;
    uint64_t passed = now_ns - s->credited_ns;

    if (passed > (uint64_t)CREDIT_SECONDS * 1000000000u)
        passed = (uint64_t)CREDIT_SECONDS * 1000000000u;
    s->credit_ns += (int64_t)(passed / MILLION * s->settings.cpu_budget_ppm);
    if (s->credit_ns > most)
        s->credit_ns = most;
    s->credited_ns = now_ns;
}

/*
 * The next cycle of the grid. An added cycle stands for the one that was planned, and the grid
 * goes on from it. Times that a long cycle ran over are skipped, and a cycle that new settings
 * brought forward moves nothing.
 */
static void schedule_plan(struct schedule *s, uint64_t begun_ns, uint64_t ended_ns, bool added)
{
    uint64_t interval = schedule_effective_interval(s);

    if (added)
        s->planned_ns = begun_ns + interval;
    else if (ended_ns >= s->planned_ns)
        s->planned_ns += ((ended_ns - s->planned_ns) / interval + 1) * interval;
}

void schedule_note(struct schedule *s, uint64_t begun_ns, uint64_t duration_ns, uint64_t cpu_ns,
                   uint64_t scrape_ns)
{
    uint64_t at = s->n_cycles++ % SCHEDULE_CYCLES;

    s->duration_ns[at] = duration_ns;
    s->cpu_ns[at] = cpu_ns;
    s->begun_ns = begun_ns;
    schedule_earn(s, begun_ns + duration_ns);
    schedule_plan(s, begun_ns, begun_ns + duration_ns, scrape_ns > 0);
    if (scrape_ns == 0)
        return;
    s->credit_ns -= (int64_t)cpu_ns;
    s->aimed_ns = scrape_ns;
}

/*
 * The cycle that is to end before the first scrape that no cycle was added for yet. False if no
 * scrape is expected, or its cycle would have to have begun already.
 */
static bool scrape_cycle(const struct schedule *s, const struct arrivals *a, uint64_t now_ns,
                         struct schedule_next *ret)
{
    uint64_t duration = largest(s->duration_ns), expected, margin, from = now_ns;

    if (s->aimed_ns > 0 && from <= s->aimed_ns + SAME_SCRAPE_NS)
        from = s->aimed_ns + SAME_SCRAPE_NS;
    while (arrivals_next(a, from, &expected, &margin)) {
        if (expected >= now_ns + margin + duration) {
            *ret = (struct schedule_next){expected - margin - duration, expected};
            return true;
        }
        from = expected + 1;
    }
    return false;
}

struct schedule_next schedule_next(const struct schedule *s, const struct arrivals *a,
                                   uint64_t now_ns)
{
    uint64_t planned = s->planned_ns > now_ns ? s->planned_ns : now_ns;
    bool stretched = schedule_effective_interval(s) > s->settings.interval_ns;
    struct schedule_next on_grid = {planned, 0}, added;
    struct schedule then = *s;

    if (!scrape_cycle(s, a, now_ns, &added))
        return on_grid;
    /* A stretched interval may as well end at a scrape. */
    if (stretched && added.begin_ns >= planned &&
        added.begin_ns - planned < s->settings.interval_ns)
        return added;
    schedule_earn(&then, added.begin_ns);
    if (then.credit_ns < (int64_t)mean_cpu(s))
        return on_grid;
    /* A planned cycle just before would be in its way, and its snapshot seen by nobody. */
    return added.begin_ns <= planned + largest(s->duration_ns) ? added : on_grid;
}
