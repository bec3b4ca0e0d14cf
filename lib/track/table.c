/*
 * table - the processes that are known, over the cycles.
 *
 * Cycles count from 2, so that `seen` 0 is a free record even after a first cycle was left.
 * Records live in one array, free ones in a list through it; the index by pid holds every record
 * in use. Few records share a pid: the present process and remains of those that ended just
 * before. The table owns all of it.
 */
#include "track/table.h"

#include "track/cpu_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TABLE_SMALLEST = 256,
    /* A process that ended leaves its bases for so many further cycles. */
    TABLE_REMAINS = 1,
    /*
     * But no more than so many do: where thousands end at once, thousands of others may have begun
     * by the next cycle, and the table would be twice as large as it need be.
     */
    TABLE_REMAINS_MAX = 4096,
    /* Limits, mappings and PSS of one process are read once in so many cycles. */
    TABLE_TURN = 16,
};

void table_init(struct table *t, enum table_mode mode, uint64_t first_tick)
{
    *t = (struct table){
        .mode = mode, .first_tick = first_tick, .first_free = TABLE_NONE, .cycle = 1};
    map_init(&t->by_pid);
}

void table_deinit(struct table *t)
{
    free(t->processes);
    free(t->news);
    map_deinit(&t->by_pid);
    t->processes = NULL;
    t->news = NULL;
    t->n_processes = t->capacity = t->n_present = t->n_awaited = t->n_news = 0;
}

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->start_ticks < y->start_ticks ? -1 : x->start_ticks > y->start_ticks;
}

int table_resume(struct table *t, uint64_t first_tick, const struct identity *news, size_t n)
{
    struct identity *copy = NULL;

    if (n > 0) {
        copy = malloc(n * sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        memcpy(copy, news, n * sizeof(*copy));
        qsort(copy, n, sizeof(*copy), compare_identities);
    }
    t->news = copy;
    t->n_news = n;
    t->first_tick = first_tick;
    t->first_done = true;
    return 0;
}

static void table_forget_news(struct table *t)
{
    free(t->news);
    t->news = NULL;
    t->n_news = 0;
}

static void table_drop(struct table *t, uint32_t ref)
{
    struct process *p = &t->processes[ref];

    map_remove(&t->by_pid, map_hash_u64(p->identity.pid), ref);
    t->n_awaited -= p->awaited;
    p->awaited = false;
    p->seen = 0;
    p->next_free = t->first_free;
    t->first_free = ref;
}

/* What ended in the last cycle and is beyond the limit has no remains. */
static void table_limit_remains(struct table *t)
{
    size_t remains = 0;

    if (t->by_pid.count <= TABLE_REMAINS_MAX)
        return;
    for (uint32_t ref = 0; ref < t->n_processes; ref++)
        if (t->processes[ref].seen != 0 && t->processes[ref].seen + 1 < t->cycle &&
            !t->processes[ref].awaited && ++remains > TABLE_REMAINS_MAX)
            table_drop(t, ref);
}

void table_begin(struct table *t, uint64_t tick)
{
    t->cycle++;
    t->began_tick = tick;
    t->n_present = 0;
    table_limit_remains(t);
}

static bool is_record_of(const struct table *t, uint32_t ref, struct identity identity)
{
    return ref < t->n_processes && t->processes[ref].seen != 0 &&
           identity_equal(t->processes[ref].identity, identity);
}

/*
 * Processes are looked at in the order of their pids, which is mostly that in which they came: so
 * it is the one that was seen last, or the record behind that. Else the index is asked, which lies
 * all over the memory.
 */
uint32_t table_find(const struct table *t, struct identity identity)
{
    uint64_t hash;

    if (is_record_of(t, t->last, identity))
        return t->last;
    if (is_record_of(t, t->last + 1, identity))
        return t->last + 1;
    hash = map_hash_u64(identity.pid);

    for (size_t at = map_first(&t->by_pid, hash); at != MAP_END;
         at = map_next(&t->by_pid, hash, at)) {
        uint32_t ref = t->by_pid.slots[at].ref;

        if (identity_equal(t->processes[ref].identity, identity))
            return ref;
    }
    return TABLE_NONE;
}

uint32_t table_find_pid(const struct table *t, uint32_t pid)
{
    uint64_t hash = map_hash_u64(pid);
    uint32_t youngest = TABLE_NONE;

    for (size_t at = map_first(&t->by_pid, hash); at != MAP_END;
         at = map_next(&t->by_pid, hash, at)) {
        uint32_t ref = t->by_pid.slots[at].ref;
        const struct process *p = &t->processes[ref];

        if (p->identity.pid != pid || p->seen != t->cycle)
            continue;
        if (youngest == TABLE_NONE ||
            p->identity.start_ticks > t->processes[youngest].identity.start_ticks)
            youngest = ref;
    }
    return youngest;
}

uint32_t table_find_parent(const struct table *t, uint32_t pid, uint64_t start_ticks)
{
    uint64_t hash = map_hash_u64(pid);
    uint32_t youngest = TABLE_NONE;

    for (size_t at = map_first(&t->by_pid, hash); at != MAP_END;
         at = map_next(&t->by_pid, hash, at)) {
        uint32_t ref = t->by_pid.slots[at].ref;
        const struct process *p = &t->processes[ref];

        if (p->identity.pid != pid || p->identity.start_ticks > start_ticks ||
            (p->seen + 1 < t->cycle && !p->awaited))
            continue;
        if (youngest == TABLE_NONE ||
            p->identity.start_ticks > t->processes[youngest].identity.start_ticks)
            youngest = ref;
    }
    return youngest;
}

static bool table_same_comm(const struct process *p, const struct sample *s)
{
    return p->comm_len == s->comm_len && memcmp(p->comm, s->comm, s->comm_len) == 0;
}

/* Parts that cost much and change slowly, each with the gauge it is read for. */
static const struct {
    enum part part;
    enum gauge gauge;
} slow_parts[] = {
    {PART_LIMITS, GAUGE_OPEN_FDS_LIMIT},
    {PART_MAPS, GAUGE_MAPPINGS},
    {PART_SMAPS, GAUGE_PROPORTIONAL_BYTES},
};

bool table_is_news(const struct table *t, uint32_t ref, const struct sample *s)
{
    return ref == TABLE_NONE || !table_same_comm(&t->processes[ref], s);
}

uint32_t table_parts_due(const struct table *t, uint32_t ref, bool news, const struct sample *s,
                         const struct wanted *wanted)
{
    uint32_t due = wanted->parts;

    if (news || (t->cycle + s->identity.pid) % TABLE_TURN == 0)
        return due;
    for (size_t i = 0; i < sizeof(slow_parts) / sizeof(*slow_parts); i++)
        if (!(wanted->gauges & ~t->processes[ref].kept.asked & UINT32_C(1) << slow_parts[i].gauge))
            due &= ~part_bit(slow_parts[i].part);
    return due;
}

static int table_grow(struct table *t)
{
    size_t capacity = t->capacity ? t->capacity * 2 : TABLE_SMALLEST;
    struct process *processes;

    if (capacity >= TABLE_NONE)
        return -ENOMEM;
    processes = realloc(t->processes, capacity * sizeof(*processes));
    if (!processes)
        return -ENOMEM;
    t->processes = processes;
    t->capacity = capacity;
    return 0;
}

/* A record for a new process, indexed, all else zero. */
static int table_add(struct table *t, struct identity identity, uint32_t *ret)
{
    uint32_t ref = t->first_free;
    uint32_t next_free = TABLE_NONE;
    int r;

    if (ref == TABLE_NONE) {
        if (t->n_processes == t->capacity) {
            r = table_grow(t);
            if (r < 0)
                return r;
        }
        ref = (uint32_t)t->n_processes;
    } else {
        next_free = t->processes[ref].next_free;
    }
    r = map_add(&t->by_pid, map_hash_u64(identity.pid), ref);
    if (r < 0)
        return r;
    if (ref == t->n_processes)
        t->n_processes++;
    else
        t->first_free = next_free;
    t->processes[ref] = (struct process){.identity = identity};
    *ret = ref;
    return 0;
}

/* Whether a process seen for the first time used nothing before anyone looked. */
static bool table_counts_in_full(const struct table *t, const struct sample *s)
{
    if (t->mode == TABLE_SINCE_START)
        return true;
    if (t->n_news > 0 &&
        bsearch(&s->identity, t->news, t->n_news, sizeof(*t->news), compare_identities))
        return true;
    return t->first_done && s->identity.start_ticks >= t->first_tick;
}

static void table_describe(struct process *p, const struct sample *s)
{
    p->parent_pid = s->parent_pid;
    p->state = s->state;
    p->kernel_thread = s->kernel_thread;
    p->renamed = !table_same_comm(p, s);
    p->comm_len = s->comm_len;
    memcpy(p->comm, s->comm, s->comm_len);
    p->unread = false;
}

/*
 * Keeps the gauge if its part was read now, else fills it in from the last time. One that is not
 * wanted is forgotten: it would be old when it is wanted again.
 */
static void table_keep(struct kept_gauges *kept, uint64_t *value, enum gauge field,
                       uint32_t parts_read, const struct wanted *wanted, struct sample *s)
{
    uint32_t bit = UINT32_C(1) << field;

    if (!(wanted->gauges & bit)) {
        kept->asked &= ~bit;
        kept->have &= ~bit;
        return;
    }
    if (parts_read & part_bit(gauge_part(field))) {
        kept->asked |= bit;
        kept->have = (kept->have & ~bit) | (s->have_gauges & bit);
        *value = s->gauge[field];
        return;
    }
    if (kept->have & bit)
        sample_set_gauge(s, field, *value);
}

static void table_keep_all(struct kept_gauges *kept, uint32_t parts_read,
                           const struct wanted *wanted, struct sample *s)
{
    table_keep(kept, &kept->open_fds_limit, GAUGE_OPEN_FDS_LIMIT, parts_read, wanted, s);
    table_keep(kept, &kept->mappings, GAUGE_MAPPINGS, parts_read, wanted, s);
    table_keep(kept, &kept->proportional_bytes, GAUGE_PROPORTIONAL_BYTES, parts_read, wanted, s);
}

static uint64_t sum_of_parts(struct cpu_parts parts)
{
    uint64_t sum;

    return __builtin_add_overflow(parts.user_ns, parts.system_ns, &sum) ? UINT64_MAX : sum;
}

/*
 * The scheduler's sum, where there is one, in the place of what ticks say. Where there is none any
 * more, what text says is such a sum too: the kernel divides it by another history than was seen
 * here, and the part that is ahead would be counted, while the other cannot fall.
 */
static void table_split_cpu(struct bases *bases, struct sample *s)
{
    const uint32_t both = UINT32_C(1) << COUNTER_CPU_USER_NS | UINT32_C(1) << COUNTER_CPU_SYSTEM_NS;
    struct cpu_parts ticks = {s->counter[COUNTER_CPU_USER_NS], s->counter[COUNTER_CPU_SYSTEM_NS]};
    struct cpu_parts before = {0}, parts;

    if ((s->have_counters & both) != both || (!s->have_cpu_runtime && !bases->split))
        return;
    if ((bases->have & both) == both)
        before = (struct cpu_parts){bases->highest[COUNTER_CPU_USER_NS],
                                    bases->highest[COUNTER_CPU_SYSTEM_NS]};
    parts = cpu_split(s->have_cpu_runtime ? s->cpu_runtime_ns : sum_of_parts(ticks), ticks, before);
    bases->split = true;
    s->counter[COUNTER_CPU_USER_NS] = parts.user_ns;
    s->counter[COUNTER_CPU_SYSTEM_NS] = parts.system_ns;
}

uint32_t table_keep_late(struct table *t, struct sample *s, uint32_t parts_read,
                         const struct wanted *wanted)
{
    uint32_t ref = table_find(t, s->identity);

    if (ref != TABLE_NONE)
        table_keep_all(&t->processes[ref].kept, parts_read, wanted, s);
    return ref;
}

void table_fill(struct table *t, uint32_t ref, struct sample *s, const struct wanted *wanted)
{
    table_keep_all(&t->processes[ref].kept, 0, wanted, s);
}

static int table_take(struct table *t, struct sample *s, uint32_t parts_read,
                      const struct wanted *wanted, bool counts_in_full, uint32_t *ret_ref,
                      enum sighting *ret_sighting, struct delta *ret)
{
    uint32_t ref = table_find(t, s->identity);
    enum sighting sighting;
    enum first_total first = FIRST_TOTAL_IS_BASE;
    struct process *p;

    if (ref == TABLE_NONE) {
        int r = table_add(t, s->identity, &ref);

        if (r < 0)
            return r;
        sighting = counts_in_full ? SIGHTING_STARTED : SIGHTING_FOUND;
    } else {
        sighting = t->processes[ref].seen + 1 < t->cycle ? SIGHTING_RETURNED : SIGHTING_KNOWN;
    }
    if (sighting == SIGHTING_STARTED)
        first = FIRST_TOTAL_COUNTS;
    t->last = ref;
    p = &t->processes[ref];
    p->seen = t->cycle;
    if (sighting == SIGHTING_STARTED)
        p->started = t->cycle;
    t->n_present++;
    t->n_awaited -= p->awaited;
    p->awaited = p->end_told = false;
    table_describe(p, s);
    table_keep_all(&p->kept, parts_read, wanted, s);
    table_split_cpu(&p->bases, s);
    delta_take(&p->bases, s, wanted->counters, first, t->steps_back, ret);
    *ret_ref = ref;
    *ret_sighting = sighting;
    return 0;
}

int table_see(struct table *t, struct sample *s, uint32_t parts_read, const struct wanted *wanted,
              uint32_t *ret_ref, enum sighting *ret_sighting, struct delta *ret)
{
    return table_take(t, s, parts_read, wanted, table_counts_in_full(t, s), ret_ref, ret_sighting,
                      ret);
}

int table_see_passed(struct table *t, struct sample *s, uint64_t told_since,
                     const struct wanted *wanted, uint32_t *ret_ref, enum sighting *ret_sighting,
                     struct delta *ret)
{
    bool counts =
        table_counts_in_full(t, s) || (told_since > 0 && s->identity.start_ticks >= told_since);

    return table_take(t, s, 0, wanted, counts, ret_ref, ret_sighting, ret);
}

void table_unsee(struct table *t, uint32_t ref, enum sighting sighting, const struct delta *delta)
{
    struct process *p = &t->processes[ref];

    t->n_present--;
    if (sighting == SIGHTING_STARTED || sighting == SIGHTING_FOUND) {
        table_drop(t, ref);
        return;
    }
    /* As far as it was seen before; one that returns still has to. */
    p->seen = t->cycle - (sighting == SIGHTING_RETURNED ? 2 : 1);
    for (uint32_t rest = delta->known; rest; rest &= rest - 1)
        p->bases.highest[__builtin_ctz(rest)] -= delta->counter[__builtin_ctz(rest)];
}

bool table_see_end(struct table *t, uint32_t ref, struct sample *s, const struct wanted *wanted,
                   struct delta *ret)
{
    struct process *p = &t->processes[ref];

    if (p->end_told)
        return false;
    p->end_told = true;
    table_split_cpu(&p->bases, s);
    delta_take(&p->bases, s, wanted->counters, FIRST_TOTAL_IS_BASE, t->steps_back, ret);
    return true;
}

void table_await_end(struct table *t, uint32_t ref, uint64_t now_ns)
{
    t->processes[ref].awaited = true;
    t->processes[ref].awaited_since_ns = now_ns;
    t->n_awaited++;
}

uint32_t table_next_awaited(const struct table *t, size_t *at)
{
    while (t->n_awaited > 0 && *at < t->n_processes) {
        uint32_t ref = (uint32_t)(*at)++;

        if (t->processes[ref].seen != 0 && t->processes[ref].awaited)
            return ref;
    }
    return TABLE_NONE;
}

void table_forget(struct table *t, uint32_t ref)
{
    t->n_present -= t->processes[ref].seen == t->cycle;
    table_drop(t, ref);
}

uint32_t table_see_unread(struct table *t, uint32_t pid)
{
    uint64_t hash = map_hash_u64(pid);
    uint32_t youngest = TABLE_NONE;

    for (size_t at = map_first(&t->by_pid, hash); at != MAP_END;
         at = map_next(&t->by_pid, hash, at)) {
        uint32_t ref = t->by_pid.slots[at].ref;
        const struct process *p = &t->processes[ref];

        /* Remains of an ended process are not revived by a pid alone. */
        if (p->identity.pid != pid || p->seen + 1 != t->cycle)
            continue;
        if (youngest == TABLE_NONE ||
            p->identity.start_ticks > t->processes[youngest].identity.start_ticks)
            youngest = ref;
    }
    if (youngest != TABLE_NONE) {
        t->processes[youngest].seen = t->cycle;
        t->processes[youngest].unread = true;
        t->n_present++;
    }
    return youngest;
}

void table_end(struct table *t)
{
    for (uint32_t ref = 0; ref < t->n_processes; ref++)
        if (t->processes[ref].seen != 0 && !t->processes[ref].awaited &&
            t->processes[ref].seen + 1 + TABLE_REMAINS <= t->cycle)
            table_drop(t, ref);
    if (t->n_news > 0)
        table_forget_news(t);
    t->first_done = true;
    if (t->began_tick > t->first_tick)
        t->first_tick = t->began_tick;
}

void table_abort(struct table *t)
{
    /*
     * As if the cycle had not been counted: those it saw and those it did not reach are both
     * "seen in the last cycle".
     */
    t->cycle--;
    for (size_t i = 0; i < t->n_processes; i++)
        if (t->processes[i].seen > t->cycle)
            t->processes[i].seen = t->cycle;
}

uint32_t table_next_ended(const struct table *t, size_t *at)
{
    while (*at < t->n_processes) {
        uint32_t ref = (uint32_t)(*at)++;

        if (t->processes[ref].seen != 0 && t->processes[ref].seen + 1 == t->cycle)
            return ref;
    }
    return TABLE_NONE;
}

void table_forget_counters(struct table *t, uint32_t counters)
{
    for (size_t i = 0; i < t->n_processes; i++)
        t->processes[i].bases.have &= ~counters;
}
