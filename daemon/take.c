/*
 * take - processes of a cycle, read and counted one by one.
 *
 * Processes stream through: each is read, looked up, counted and grouped before the next is
 * opened, so one sample is all the memory that reading needs.
 */
#include "daemon/take.h"

#include "daemon/clock.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>

/*
 * An exec makes the readers of its process wait until the old memory is gone, 28 ms per GiB. It
 * takes two looks at the clock per process to know: 0.3 % of what reading a process takes.
 */
static const uint64_t SLOW_READ_NS = 100000000u;

/* PSS walks all page tables of the process: only where those are known not to be huge. */
static bool pss_is_affordable(const struct cycle *c, const struct sample *s)
{
    uint64_t resident = 0;
    bool known = false;

    for (enum gauge g = GAUGE_RESIDENT_ANON_BYTES; g <= GAUGE_RESIDENT_SHMEM_BYTES; g++)
        if (sample_has_gauge(s, g)) {
            resident += s->gauge[g];
            known = true;
        }
    return known && resident <= c->pss_max_bytes;
}

uint32_t take_parts_to_probe(const struct cycle *c, uint32_t ref, uint32_t due)
{
    const struct sample *s = &c->sample;
    const struct process *p = ref == TABLE_NONE ? NULL : table_process(&c->table, ref);
    uint32_t parts = due & probe_parts();

    if (sample_has_gauge(s, GAUGE_MAPPINGS))
        parts &= ~part_bit(PART_MAPS);
    if (sample_has_gauge(s, GAUGE_PROPORTIONAL_BYTES) || !pss_is_affordable(c, s))
        parts &= ~part_bit(PART_SMAPS);
    return parts == 0 || probes_refuse(&c->probes, p) ? 0 : parts;
}

static int note_zombie(struct cycle *c)
{
    const struct sample *s = &c->sample;

    if (s->state != STATE_ZOMBIE)
        return 0;
    buf_append(&c->zombie_parents, (const char *)&s->parent_pid, sizeof(s->parent_pid));
    return buf_failed(&c->zombie_parents) ? -ENOMEM : 0;
}

int take_begin_text(struct cycle *c, struct sample *ret)
{
    int r;

    if (c->text_begun)
        return 0;
    r = process_begin(&c->procfs, c->sample.identity.pid, &c->faults, ret);
    c->text_begun = r == 0 && identity_equal(ret->identity, c->sample.identity);
    if (c->text_begun)
        return 0;
    process_end(&c->procfs);
    return r < 0 ? r : 1;
}

/*
 * Has due parts of the process read. *ret_begun: those whose first reading is not done yet. Returns
 * 0 or our own trouble.
 */
static int probe(struct cycle *c, uint32_t ref, uint32_t parts, uint32_t *ret_begun)
{
    struct process *p = table_process(&c->table, ref);
    struct sample unused;
    int r;

    *ret_begun = 0;
    /* One that waits for the prober is asked for as it passes. */
    if (parts == 0 && p->probing.due == 0)
        return 0;
    r = take_begin_text(c, &unused);
    if (r != 0)
        return r < 0 ? r : 0;
    *ret_begun = probes_due(&c->probes, p, parts);
    if (c->mode == CYCLE_DAEMON)
        return 0;
    *ret_begun = 0;
    probes_wait(&c->probes, p);
    table_fill(&c->table, ref, &c->sample, &c->wanted);
    return 0;
}

/* Who is pending or excluded is in no group, and has no row. */
static void offer_to_top(struct cycle *c, uint32_t ref, enum sighting sighting,
                         const struct delta *delta)
{
    const struct process *p = table_process(&c->table, ref);

    if (c->top.n == 0 || p->membership.now.standing != STANDING_MEMBER)
        return;
    top_offer(&c->top, ref, &c->sample, top_score(c->top.key, &c->sample, sighting, delta));
}

/* Reads the threads of a process that was added to its group, if that is listed. */
static int count_threads(struct cycle *c, struct process *p, struct decision before)
{
    struct sample unused;
    uint32_t lacks;
    int r;

    r = thread_watch_looks(&c->thread_watch, p, before) ? take_begin_text(c, &unused) : 0;
    if (r != 0)
        return r < 0 ? r : 0;
    r = thread_watch_take(&c->thread_watch, p, before, &lacks);

    if (r < 0 || lacks == 0)
        return r;
    groups_lack(&c->groups, p, lacks);
    c->unread_processes[PART_TASK]++;
    return 0;
}

int take_sample(struct cycle *c, struct parts_taken parts)
{
    struct sample *s = &c->sample;
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct decision before = {0};
    uint32_t ref, begun, lacks, texts;
    uint64_t max_map_count =
        host_has(&c->host, HOST_MAX_MAP_COUNT) ? c->host.field[HOST_MAX_MAP_COUNT] : 0;
    int r;

    r = table_see(&c->table, s, parts.read, &c->wanted, &ref, &sighting, &delta);
    if (r < 0)
        return r;
    p = table_process(&c->table, ref);
    if (groups_took_delta(p, sighting))
        before = p->membership.now;
    r = placing_place(&c->placing, p, sighting, &delta, s, &parts.placing, &texts);
    if (r < 0) {
        if (!groups_took_delta(p, sighting))
            table_unsee(&c->table, ref, sighting, &delta);
        return r;
    }
    if (s->identity.start_ticks > c->youngest_tick)
        c->youngest_tick = s->identity.start_ticks;
    r = probe(c, ref, parts.to_probe | texts, &begun);
    if (r < 0)
        return r;
    /* What is only being read for the first time is not unread yet. */
    lacks = sample_lacks(s, &c->wanted) & ~begun;
    lacks |= p->origin.unread & c->probes.text_parts;
    groups_add(&c->groups, p, s, sighting, lacks, max_map_count);
    offer_to_top(c, ref, sighting, &delta);
    for (; lacks; lacks &= lacks - 1)
        c->unread_processes[__builtin_ctz(lacks)]++;
    c->quarantined_processes += p->probing.quarantined;
    c->processes++;
    r = note_zombie(c);
    return r < 0 ? r : count_threads(c, p, before);
}

static void count_unread(struct cycle *c, uint32_t pid)
{
    uint32_t ref = table_see_unread(&c->table, pid);

    c->unread_processes[PART_STAT]++;
    if (ref == TABLE_NONE)
        return;
    placing_keep(&c->placing, table_process(&c->table, ref));
    groups_add_unread(&c->groups, table_process(&c->table, ref));
    c->quarantined_processes += table_process(&c->table, ref)->probing.quarantined;
    c->processes++;
}

/* Reads one process but for what the prober has to. Returns as process_begin() does. */
static int read_process(struct cycle *c, uint32_t pid, struct parts_taken *ret)
{
    uint32_t ref, due;
    bool news;
    int r = process_begin(&c->procfs, pid, &c->faults, &c->sample);

    if (r != 0)
        return r;
    c->text_begun = true;
    ref = table_find(&c->table, c->sample.identity);
    news = table_is_news(&c->table, ref, &c->sample);
    due = table_parts_due(&c->table, ref, news, &c->sample, &c->wanted);
    /* The size says whether PSS is to be read. */
    if (due & part_bit(PART_SMAPS))
        due |= part_bit(PART_STATUS);
    r = process_read(&c->procfs, due, &c->faults, &c->sample);
    if (r < 0)
        return r;
    ret->to_probe = take_parts_to_probe(c, ref, due);
    ret->read = due & ~ret->to_probe;
    if (!placing_is_due(&c->placing, ref, news, (struct placing_numbers){0}, &ret->placing))
        return 0;
    return placing_read(&c->placing, &c->sample, (struct placing_numbers){0}, &ret->placing);
}

int take_process(struct cycle *c, uint32_t pid)
{
    uint64_t began_ns = clock_monotonic_ns();
    struct parts_taken parts;
    int r = read_process(c, pid, &parts);

    c->slow_reads += clock_monotonic_ns() - began_ns > SLOW_READ_NS;
    if (r == PROCESS_UNREADABLE)
        count_unread(c, pid);
    if (r == 0)
        r = take_sample(c, parts);
    process_end(&c->procfs);
    c->text_begun = false;
    return r < 0 ? r : 0;
}

int take_processes(struct cycle *c)
{
    const uint32_t *pids;
    size_t n;
    int r;

    r = procfs_list(&c->procfs, &pids, &n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        r = take_process(c, pids[i]);
        if (r < 0)
            return r;
    }
    /* A tree of directories without one readable process is no host. */
    return c->processes > 0 ? 0 : -ENODATA;
}
