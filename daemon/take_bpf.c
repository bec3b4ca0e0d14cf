/* take_bpf - processes of a cycle, as the kernel counts them. */
#include "daemon/take_bpf.h"

#ifdef PROCTALLY_WITH_BPF

#include "bpf/source.h"
#include "daemon/take.h"
#include "group/exit_reason.h"
#include "group/membership.h"
#include "procfs/process.h"

#include <errno.h>

enum {
    /* What a walk tells of every process, and text would by turns. */
    WALK_PARTS = 1 << PART_LIMITS | 1 << PART_MAPS,
    /* So many that are gone are remembered, the last ones: they may be the parents of others. */
    PASSED_MAX = 1024,
    BLIND_MAX = sizeof((struct blind_spot){0}.pids) / sizeof(uint32_t),
    /* Cycles between two looks at who is listed and was not walked to. */
    BLIND_TURN = 64,
};

/* ---- ends ---- */

/* Records whose processes have ended, until their children have been placed. */
struct passed {
    uint32_t refs[PASSED_MAX];
    size_t n;
};

static enum exit_reason reason_of(const struct process_ended *ended)
{
    return exit_reason_of(ended->end.status, ended->end.task.flags & TASK_OOM_VICTIM);
}

static void drop(struct cycle *c, uint32_t ref)
{
    groups_drop(&c->groups, table_process(&c->table, ref));
    table_forget(&c->table, ref);
}

static void drop_passed(struct cycle *c, struct passed *passed)
{
    for (size_t i = 0; i < passed->n && i < PASSED_MAX; i++)
        drop(c, passed->refs[i]);
    passed->n = 0;
}

static void keep_passed(struct cycle *c, struct passed *passed, uint32_t ref)
{
    uint32_t *place = &passed->refs[passed->n % PASSED_MAX];

    if (passed->n >= PASSED_MAX)
        drop(c, *place);
    *place = ref;
    passed->n++;
}

/* One that was seen: what it did since, and why it ended. */
static void count_known_end(struct cycle *c, uint32_t ref, const struct process_ended *ended,
                            struct passed *passed)
{
    struct process *p = table_process(&c->table, ref);
    struct delta delta;

    if (!table_see_end(&c->table, ref, &c->sample, &c->wanted, &delta))
        return;
    p->end_reason = reason_of(ended);
    groups_take_last(&c->groups, p, &delta);
    /* Others are found ended by this cycle. */
    if (!p->awaited)
        return;
    groups_count_exit(&c->groups, p, reason_of(ended));
    keep_passed(c, passed, ref);
}

/* One that no cycle saw. */
static int count_unseen_end(struct cycle *c, const struct process_ended *ended,
                            struct passed *passed)
{
    struct placing_numbers numbers = {.id = ended->end.cgroup};
    struct placing_read read;
    struct delta delta;
    enum sighting sighting;
    struct process *p;
    uint32_t ref, texts;
    int r;

    placing_recall(&c->placing, &c->sample, numbers, &read);
    r = table_see_passed(&c->table, &c->sample, c->told_since_tick, &c->wanted, &ref, &sighting,
                         &delta);
    if (r < 0)
        return r;
    p = table_process(&c->table, ref);
    /* It was there before the daemon, or before the kernel was asked: no news. */
    if (sighting != SIGHTING_STARTED) {
        table_forget(&c->table, ref);
        return 0;
    }
    r = placing_place(&c->placing, p, sighting, &delta, &c->sample, &read, &texts);
    if (r == 0)
        r = placing_place_ended(&c->placing, p);
    if (r < 0) {
        drop(c, ref);
        return r;
    }
    groups_count_exit(&c->groups, p, reason_of(ended));
    keep_passed(c, passed, ref);
    return 0;
}

static int count_end(struct cycle *c, const struct process_ended *ended, struct passed *passed)
{
    uint32_t ref;

    task_sample_end(ended, &c->bpf->units, &c->sample);
    ref = table_find(&c->table, c->sample.identity);
    if (ref == TABLE_NONE)
        return count_unseen_end(c, ended, passed);
    count_known_end(c, ref, ended, passed);
    return 0;
}

int take_bpf_ends(struct cycle *c)
{
    const struct process_ended *ended;
    struct passed passed = {.n = 0};
    size_t n, i = 0;
    int r = 0;

    ended = bpf_source_ended(c->bpf, &n);
    while (i < n && r == 0) {
        r = count_end(c, &ended[i], &passed);
        i += r == 0;
    }
    drop_passed(c, &passed);
    bpf_source_ends_counted(c->bpf, i);
    return r;
}

/* ---- those that are there ---- */

/* Parts that a walk knows, but not of this process. */
static uint32_t parts_missing(const struct cycle *c, const struct sample *s)
{
    uint32_t missing = 0;

    if (!sample_has_gauge(s, GAUGE_RESIDENT_ANON_BYTES))
        missing |= part_bit(PART_STATUS);
    if (!sample_has_gauge(s, GAUGE_OPEN_FDS))
        missing |= part_bit(PART_FD);
    return missing & c->wanted.parts;
}

static void fill_in(struct sample *s, const struct sample *text)
{
    for (uint32_t rest = text->have_gauges & ~s->have_gauges; rest; rest &= rest - 1) {
        enum gauge field = (enum gauge)__builtin_ctz(rest);

        sample_set_gauge(s, field, text->gauge[field]);
    }
}

static int read_missing(struct cycle *c, uint32_t parts)
{
    struct sample text;
    int r = take_begin_text(c, &text);

    if (r == 0)
        r = process_read(&c->procfs, parts, &c->faults, &text);
    if (r == 0)
        fill_in(&c->sample, &text);
    return r < 0 ? r : 0;
}

static int place_in_cgroup(struct cycle *c, uint32_t ref, bool news, struct task_cgroup cgroup,
                           struct placing_read *ret)
{
    struct placing_numbers numbers = {.id = cgroup.id, .set = cgroup.set};
    struct sample unused;
    int r;

    if (!placing_is_due(&c->placing, ref, news, numbers, ret))
        return 0;
    r = take_begin_text(c, &unused);
    if (r == 0)
        r = placing_read(&c->placing, &c->sample, numbers, ret);
    return r < 0 ? r : 0;
}

static int take_task(struct cycle *c, struct task_cgroup cgroup)
{
    struct sample *s = &c->sample;
    uint32_t ref = table_find(&c->table, s->identity);
    bool news = table_is_news(&c->table, ref, s);
    uint32_t due = table_parts_due(&c->table, ref, news, s, &c->wanted);
    uint32_t missing = parts_missing(c, s);
    struct parts_taken parts;
    int r = 0;

    if (missing)
        r = read_missing(c, missing);
    if (r == 0)
        r = place_in_cgroup(c, ref, news, cgroup, &parts.placing);
    if (r < 0)
        return r;
    parts.to_probe = take_parts_to_probe(c, ref, due);
    parts.read = (due | WALK_PARTS) & ~parts.to_probe;
    return take_sample(c, parts);
}

static int take_walk(struct cycle *c)
{
    struct task_cgroup cgroup;
    int r;

    while ((r = bpf_source_next(c->bpf, &c->sample, &cgroup)) > 0) {
        r = take_task(c, cgroup);
        if (c->text_begun)
            process_end(&c->procfs);
        c->text_begun = false;
        if (r < 0)
            return r;
    }
    if (r == 0 && c->processes == 0)
        return -EPROTO;
    return r == 0 || r == -ENOMEM ? r : -EPROTO;
}

/* ---- the blind spot ---- */

/*
 * Whether the process was there when the walk began: it started before the cycle, and so long that
 * the clocks of both agree.
 */
static int was_there(struct cycle *c, uint32_t pid, bool *ret)
{
    int r = process_begin(&c->procfs, pid, &c->faults, &c->sample);

    *ret = r == 0 && c->sample.identity.start_ticks + c->procfs.ticks_per_second < c->began_tick;
    process_end(&c->procfs);
    return r < 0 ? r : 0;
}

/* Takes a process that the walk should have come to, and remembers it. */
static int take_missed(struct cycle *c, uint32_t pid)
{
    struct blind_spot *blind = &c->blind_spot;
    bool there;
    int r = was_there(c, pid, &there);

    if (r < 0 || !there)
        return r;
    if (blind->n == BLIND_MAX)
        return -EPROTO;
    blind->pids[blind->n++] = pid;
    return take_process(c, pid);
}

/* Looks for those that are listed, and were not walked to. */
static int look_for_missed(struct cycle *c)
{
    const uint32_t *pids;
    size_t n;
    int r = procfs_list(&c->procfs, &pids, &n);

    for (size_t i = 0; i < n && r == 0; i++)
        if (table_find_pid(&c->table, pids[i]) == TABLE_NONE)
            r = take_missed(c, pids[i]);
    if (r == 0)
        c->blind_spot.looked_in = c->table.cycle;
    return r;
}

static bool spot_is_due(const struct cycle *c)
{
    return c->blind_spot.looked_in == 0 || c->blind_spot.looked_in > c->table.cycle ||
           c->table.cycle - c->blind_spot.looked_in >= BLIND_TURN;
}

/*
 * A walk comes to every task, on all kernels that are known but for some that keep tasks of their
 * own from it. Those are read as text.
 */
static int take_blind_spot(struct cycle *c)
{
    struct blind_spot *blind = &c->blind_spot;
    size_t kept = 0;
    int r = 0;

    for (size_t i = 0; i < blind->n && r == 0; i++) {
        uint32_t pid = blind->pids[i];

        if (table_find_pid(&c->table, pid) != TABLE_NONE)
            continue;
        r = take_process(c, pid);
        if (r < 0 || table_find_pid(&c->table, pid) != TABLE_NONE)
            blind->pids[kept++] = pid;
    }
    if (r == 0)
        blind->n = kept;
    return r == 0 && spot_is_due(c) ? look_for_missed(c) : r;
}

static bool is_there(void *arg, struct identity identity)
{
    struct cycle *c = arg;
    uint32_t ref = table_find(&c->table, identity);

    return ref != TABLE_NONE && table_process(&c->table, ref)->seen == c->table.cycle;
}

/* Before processes are placed in them. */
static void learn_cgroups(struct cycle *c)
{
    struct new_cgroups *made = &c->bpf->new_cgroups;
    struct span path;
    uint64_t id;

    for (size_t at = 0; new_cgroups_next(made, &at, &id, &path);)
        placing_learn(&c->placing, id, path);
    new_cgroups_forget(made);
}

int take_bpf_processes(struct cycle *c)
{
    int r = bpf_source_begin(c->bpf);

    learn_cgroups(c);
    if (r < 0)
        return r == -EMFILE || r == -ENFILE || r == -ENOMEM ? r : -EPROTO;
    r = take_walk(c);
    bpf_source_end(c->bpf);
    if (r == 0)
        r = take_blind_spot(c);
    if (r < 0)
        return r;
    /* Ends that should have been told by now. */
    bpf_source_sweep(c->bpf, is_there, c);
    if (c->told_since_tick == 0)
        c->told_since_tick = c->began_tick;
    return 0;
}

#endif
