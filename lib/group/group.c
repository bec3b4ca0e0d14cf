/*
 * group - the groups, their members of the current cycle, and totals that never fall.
 *
 * Groups live in one array; a slot that was forgotten is reused by the next new name. Records of
 * the process table refer to slots only while the group has that process, so a slot is free of
 * references when it is forgotten: remains of ended processes are placed anew if they return.
 */
#include "group/group.h"

#include "base/ticks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_SMALLEST = 64,
    /* Names are cut to UTF8_LABEL_MAX; a template may give more before. */
    GROUPS_NAME_MAX = 64 * 1024,
};

/* A series that nobody scrapes shows its amount after this. */
static const uint64_t SERIES_PATIENCE_NS = 60000000000u;

static const struct span other_name = SPAN_LITERAL("_other");
/* A process may call itself nothing, and an empty label value is no label. */
static const struct span empty_name = SPAN_LITERAL("_empty");

void groups_init(struct groups *g, enum groups_mode mode)
{
    *g = (struct groups){.mode = mode};
    map_init(&g->by_name);
    held_init(&g->held);
    buf_init(&g->name, GROUPS_NAME_MAX);
}

void groups_deinit(struct groups *g)
{
    rules_deinit(&g->rules);
    globs_deinit(&g->threads);
    free(g->groups);
    free(g->order);
    map_deinit(&g->by_name);
    held_deinit(&g->held);
    buf_deinit(&g->name);
    *g = (struct groups){0};
}

static uint32_t groups_find(const struct groups *g, struct span name, uint64_t hash)
{
    for (size_t at = map_first(&g->by_name, hash); at != MAP_END;
         at = map_next(&g->by_name, hash, at)) {
        uint32_t group = g->by_name.slots[at].ref;

        if (span_equal(group_name(g, group), name))
            return group;
    }
    return GROUP_NONE;
}

/* Where in the order a name stands, or would. */
static size_t order_position(const struct groups *g, struct span name)
{
    size_t low = 0, high = g->n_order;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (span_compare(group_name(g, g->order[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int groups_grow(struct groups *g)
{
    size_t capacity = g->capacity ? g->capacity * 2 : GROUPS_SMALLEST;
    struct group *groups = realloc(g->groups, capacity * sizeof(*groups));
    uint32_t *order;

    if (!groups)
        return -ENOMEM;
    g->groups = groups;
    order = realloc(g->order, capacity * sizeof(*order));
    if (!order)
        return -ENOMEM;
    g->order = order;
    g->capacity = capacity;
    return 0;
}

static int groups_free_slot(struct groups *g, uint32_t *ret)
{
    for (uint32_t i = 0; g->n_order < g->n_groups && i < g->n_groups; i++)
        if (!g->groups[i].used) {
            *ret = i;
            return 0;
        }
    if (g->n_groups == g->capacity) {
        int r = groups_grow(g);

        if (r < 0)
            return r;
    }
    *ret = (uint32_t)g->n_groups;
    return 0;
}

static void order_insert(struct groups *g, uint32_t group)
{
    size_t at = order_position(g, group_name(g, group));

    memmove(&g->order[at + 1], &g->order[at], (g->n_order - at) * sizeof(*g->order));
    g->order[at] = group;
    g->n_order++;
}

static void order_remove(struct groups *g, uint32_t group)
{
    size_t at = order_position(g, group_name(g, group));

    memmove(&g->order[at], &g->order[at + 1], (g->n_order - at - 1) * sizeof(*g->order));
    g->n_order--;
}

/* Makes the group of this name, which is a valid label value and not there yet. */
static int groups_make(struct groups *g, struct span name, uint64_t hash, uint32_t *ret)
{
    struct group *group;
    uint32_t slot;
    int r;

    r = groups_free_slot(g, &slot);
    if (r < 0)
        return r;
    r = map_add(&g->by_name, hash, slot);
    if (r < 0)
        return r;
    group = &g->groups[slot];
    *group = (struct group){.used = true, .name_len = (uint16_t)name.n};
    group->worst_fds_ratio = group->worst_mappings_ratio = -1;
    group->threads = globs_match(&g->threads, name);
    memcpy(group->name, name.p, name.n);
    if (slot == g->n_groups)
        g->n_groups++;
    order_insert(g, slot);
    *ret = slot;
    return 0;
}

bool group_is_other(const struct group *group)
{
    return span_equal(span_of(group->name, group->name_len), other_name);
}

static bool group_counts(const struct group *group)
{
    return !group->fixed && !group_is_other(group);
}

/*
 * The group of this name, made if there is room; beyond max it is `_other`. Names are label
 * values: those that are equal as such are one group.
 */
int groups_get(struct groups *g, struct span raw, bool fixed, uint32_t *ret)
{
    char label[UTF8_LABEL_MAX];
    struct span name = span_of(label, utf8_label(label, raw));
    uint64_t hash;
    bool counts;
    int r;

    if (name.n == 0)
        name = empty_name;
    hash = map_hash_span(name);
    *ret = groups_find(g, name, hash);
    if (*ret != GROUP_NONE)
        return 0;
    counts = !fixed && !span_equal(name, other_name);
    if (counts && g->n_counted >= g->max)
        return groups_get(g, other_name, false, ret);
    r = groups_make(g, name, hash, ret);
    if (r < 0)
        return r;
    g->groups[*ret].fixed = fixed;
    g->n_counted += counts;
    return 0;
}

int groups_restore(struct groups *g, struct span name, uint32_t *ret)
{
    int r = groups_make(g, name, map_hash_span(name), ret);

    if (r == 0)
        g->n_counted += group_counts(&g->groups[*ret]);
    return r;
}

static int groups_make_fixed(struct groups *g)
{
    for (size_t i = 0; i < g->rules.n_rules; i++) {
        uint32_t group;
        int r;

        buf_reset(&g->name);
        if (!rules_fixed_name(&g->rules, i, &g->name))
            continue;
        if (buf_failed(&g->name))
            return -ENOMEM;
        r = groups_get(g, buf_span(&g->name), true, &group);
        if (r < 0)
            return r;
        if (group_counts(&g->groups[group]))
            g->n_counted--;
        g->groups[group].fixed = true;
        /* Its members' descendants stay, also those whose leader is gone. */
        if (g->rules.rules[i].own.children)
            g->groups[group].leading_rules = g->rules_number;
    }
    return 0;
}

int groups_set_rules(struct groups *g, struct rules *rules, size_t max, uint64_t forget_ns)
{
    g->searches_given_up += rules_limit_reached(&g->rules);
    rules_deinit(&g->rules);
    g->rules = *rules;
    rules_init(rules);
    g->rules_number++;
    g->rules_lead = rules_have_children(&g->rules);
    g->max = max;
    g->forget_ns = forget_ns;
    /* Formerly fixed ones become ordinary, and go when they are empty for long. */
    for (size_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].used && g->groups[i].fixed) {
            g->groups[i].fixed = false;
            g->n_counted += group_counts(&g->groups[i]);
        }
    return groups_make_fixed(g);
}

static void group_forget_counters(struct group *group, uint32_t counters)
{
    group->known &= ~counters;
    for (uint32_t rest = counters; rest; rest &= rest - 1) {
        unsigned field = (unsigned)__builtin_ctz(rest);

        group->total[field] = 0;
        group->series[field] = (struct group_series){0};
    }
}

void groups_set_threads(struct groups *g, struct globs *names)
{
    globs_deinit(&g->threads);
    g->threads = *names;
    *names = (struct globs){0};
    for (uint32_t i = 0; i < g->n_groups; i++) {
        struct group *group = &g->groups[i];

        if (!group->used)
            continue;
        group->threads = globs_match(&g->threads, group_name(g, i));
        if (!group->threads && !g->tasks_known)
            group_forget_counters(group, part_counters(PART_TASK));
    }
}

void groups_know_tasks(struct groups *g, bool known)
{
    g->tasks_known = known;
}

static void group_begin(struct group *group)
{
    group->members = group->veterans = group->zombie_children = 0;
    memset(group->gauge, 0, sizeof(group->gauge));
    memset(group->state, 0, sizeof(group->state));
    memset(group->unread, 0, sizeof(group->unread));
    group->have_gauges = 0;
    group->worst_fds_ratio = group->worst_mappings_ratio = -1;
    group->oldest = group->newest = (struct identity){0};
}

void groups_begin(struct groups *g)
{
    g->n_pending = g->n_excluded = 0;
    rules_begin(&g->rules);
    for (size_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].used)
            group_begin(&g->groups[i]);
}

/* Numbers of processes are at most INT64_MAX each; their sum stays there, and does not wrap. */
static void add_saturating(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum) || *sum > GROUP_SUM_MAX)
        *sum = GROUP_SUM_MAX;
}

void group_take_delta(struct group *group, const struct delta *delta)
{
    for (uint32_t rest = delta->known; rest; rest &= rest - 1) {
        unsigned field = (unsigned)__builtin_ctz(rest);

        add_saturating(&group->total[field], delta->counter[field]);
    }
    group->known |= delta->known;
}

static bool identity_older(struct identity a, struct identity b)
{
    return a.start_ticks != b.start_ticks ? a.start_ticks < b.start_ticks : a.pid < b.pid;
}

static void group_take_identity(struct group *group, struct identity identity)
{
    if (group->members == 0 || identity_older(identity, group->oldest))
        group->oldest = identity;
    if (group->members == 0 || identity_older(group->newest, identity))
        group->newest = identity;
}

static void worst(double *ratio, uint64_t used, uint64_t limit)
{
    double r = limit == SAMPLE_UNLIMITED ? 0 : (double)used / (double)limit;

    if (r > *ratio)
        *ratio = r;
}

static void group_take_ratios(struct group *group, const struct sample *s, uint64_t max_map_count)
{
    if (sample_has_gauge(s, GAUGE_OPEN_FDS) && sample_has_gauge(s, GAUGE_OPEN_FDS_LIMIT) &&
        s->gauge[GAUGE_OPEN_FDS_LIMIT] > 0)
        worst(&group->worst_fds_ratio, s->gauge[GAUGE_OPEN_FDS], s->gauge[GAUGE_OPEN_FDS_LIMIT]);
    if (sample_has_gauge(s, GAUGE_MAPPINGS) && max_map_count > 0)
        worst(&group->worst_mappings_ratio, s->gauge[GAUGE_MAPPINGS], max_map_count);
}

static void group_take_gauges(struct group *group, const struct sample *s)
{
    for (uint32_t rest = s->have_gauges; rest; rest &= rest - 1) {
        enum gauge field = (enum gauge)__builtin_ctz(rest);

        if (field != GAUGE_PEAK_RESIDENT_BYTES)
            add_saturating(&group->gauge[field], s->gauge[field]);
        else if (s->gauge[field] > group->gauge[field])
            group->gauge[field] = s->gauge[field];
    }
    group->have_gauges |= s->have_gauges;
}

/* The group that counts the process; otherwise it is counted among those outside, and NULL. */
static struct group *groups_member_group(struct groups *g, const struct process *p)
{
    switch ((enum standing)p->membership.now.standing) {
    case STANDING_MEMBER:
        return &g->groups[p->membership.now.group];
    case STANDING_PENDING:
        g->n_pending++;
        break;
    case STANDING_EXCLUDED:
        g->n_excluded++;
        break;
    case STANDING_NONE:
        break;
    }
    return NULL;
}

void groups_lack(struct groups *g, const struct process *p, uint32_t parts)
{
    struct group *group = &g->groups[p->membership.now.group];

    for (; parts; parts &= parts - 1)
        group->unread[__builtin_ctz(parts)]++;
}

void groups_take_thread(struct groups *g, uint32_t number, const struct thread_delta *delta)
{
    struct group *group = &g->groups[number];

    if (g->tasks_known)
        return;
    for (uint32_t rest = delta->known; rest; rest &= rest - 1) {
        enum thread_counter i = (enum thread_counter)__builtin_ctz(rest);
        enum counter field = thread_counter_of_process(i);

        if (counter_part(field) != PART_TASK)
            continue;
        add_saturating(&group->total[field], delta->counter[i]);
        group->known |= UINT32_C(1) << field;
    }
}

void groups_add(struct groups *g, const struct process *p, const struct sample *s,
                enum sighting sighting, uint32_t lacks, uint64_t max_map_count)
{
    struct group *group = groups_member_group(g, p);

    if (!group)
        return;
    group_take_identity(group, p->identity);
    group->members++;
    group->veterans += sighting != SIGHTING_STARTED && !process_is_new(p);
    group->had_members = true;
    /* It was there all the time, so nobody has to come in its place. */
    if (sighting == SIGHTING_RETURNED || sighting == SIGHTING_FOUND)
        group->restart_due = false;
    group->state[s->state]++;
    group_take_gauges(group, s);
    group_take_ratios(group, s, max_map_count);
    groups_lack(g, p, lacks);
}

void groups_add_unread(struct groups *g, const struct process *p)
{
    struct group *group = groups_member_group(g, p);

    if (!group)
        return;
    group_take_identity(group, p->identity);
    group->members++;
    group->veterans += !process_is_new(p);
    group->state[STATE_OTHER]++;
    group->unread[PART_STAT]++;
}

void groups_add_zombie_child(struct groups *g, const struct process *parent)
{
    if (parent->membership.now.standing == STANDING_MEMBER)
        g->groups[parent->membership.now.group].zombie_children++;
}

/*
 * A restart is when the oldest member ended, nobody of its time is left, and somebody new is
 * there: in the same cycle, or, while a supervisor waits, in a later one.
 */
static void group_count_restart(struct group *group)
{
    if (group->oldest_ended && group->veterans == 0)
        group->restart_due = true;
    group->oldest_ended = false;
    if (group->restart_due && group->members > 0) {
        group->total[GROUP_COUNTER_RESTARTS]++;
        group->restart_due = false;
    }
    group->oldest_before = group->members ? group->oldest : (struct identity){0};
}

static void groups_forget(struct groups *g, uint32_t slot)
{
    struct group *group = &g->groups[slot];

    g->n_counted -= group_counts(group);
    order_remove(g, slot);
    map_remove(&g->by_name, map_hash_span(group_name(g, slot)), slot);
    group->used = false;
}

void groups_end(struct groups *g, uint64_t now_ns)
{
    for (uint32_t i = 0; i < g->n_groups; i++) {
        struct group *group = &g->groups[i];

        if (!group->used)
            continue;
        group_count_restart(group);
        if (group->members > 0)
            group->empty_since_ns = 0;
        else if (group->empty_since_ns == 0 || group->empty_since_ns > now_ns)
            group->empty_since_ns = now_ns;
        else if (!group->fixed && group->claims == 0 &&
                 now_ns - group->empty_since_ns >= g->forget_ns)
            groups_forget(g, i);
    }
    held_trim(&g->held);
}

uint64_t groups_searches_given_up(const struct groups *g)
{
    return g->searches_given_up + rules_limit_reached(&g->rules);
}

uint64_t group_series_value(struct group_series *series, uint64_t total,
                            const struct groups_moment *moment)
{
    if (series->released)
        return total;
    if (series->shown_in == 0) {
        series->shown_in = moment->sequence;
        series->shown_at_ns = moment->now_ns;
        return 0;
    }
    if (moment->served_sequence < series->shown_in &&
        moment->now_ns - series->shown_at_ns < SERIES_PATIENCE_NS)
        return 0;
    series->released = true;
    return total;
}

/* Which counters the group has to show. One that never had a member knows that it used nothing. */
static uint32_t group_known_counters(const struct groups *g, const struct group *group)
{
    uint32_t own = UINT32_C(1) << GROUP_COUNTER_STARTED | UINT32_C(1) << GROUP_COUNTER_RESTARTS |
                   UINT32_C(1) << (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN);
    uint32_t of_processes = group->had_members ? 0 : (UINT32_C(1) << COUNTER_N) - 1;
    uint32_t hidden = group->threads || g->tasks_known ? 0 : part_counters(PART_TASK);

    return (group->known | own | of_processes) & ~hidden;
}

/* 0 if it is not known. */
static uint64_t start_ns(struct identity identity, const struct groups_moment *moment)
{
    uint64_t ns = 0;

    if (moment->have_boot_time && identity.pid != 0)
        (void)ticks_since_epoch(moment->boot_time_seconds, identity.start_ticks,
                                moment->ticks_per_second, &ns);
    return ns;
}

void groups_values(struct groups *g, uint32_t number, const struct groups_moment *moment,
                   struct group_values *ret)
{
    struct group *group = &g->groups[number];

    ret->have_counters = group_known_counters(g, group);
    for (uint32_t rest = ret->have_counters; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctz(rest);

        ret->counter[i] = g->mode == GROUPS_AT_ONCE
                              ? group->total[i]
                              : group_series_value(&group->series[i], group->total[i], moment);
    }
    ret->have_gauges = group->members ? group->have_gauges : (UINT32_C(1) << GAUGE_N) - 1;
    memcpy(ret->gauge, group->gauge, sizeof(ret->gauge));
    ret->processes = group->members;
    memcpy(ret->state, group->state, sizeof(ret->state));
    ret->zombie_children = group->zombie_children;
    memcpy(ret->unread, group->unread, sizeof(ret->unread));
    ret->oldest_start_ns = start_ns(group->oldest, moment);
    ret->newest_start_ns = start_ns(group->newest, moment);
    ret->worst_fds_ratio = group->worst_fds_ratio;
    ret->worst_mappings_ratio = group->worst_mappings_ratio;
}

void groups_forget_counters(struct groups *g, uint32_t counters)
{
    held_forget(&g->held, counters);
    for (size_t i = 0; i < g->n_groups; i++)
        group_forget_counters(&g->groups[i], counters);
}
