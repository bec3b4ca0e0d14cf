/*
 * cycle - one turn of the flow.
 *
 * Totals are added as processes come (take.h), and members and gauges are gathered for the
 * snapshot; a cycle that fails half way keeps the first and drops the second, so nothing is lost
 * and nothing counted twice.
 */
#include "daemon/cycle.h"

#include "base/ticks.h"
#include "base/utf8.h"
#include "daemon/clock.h"
#include "daemon/take.h"
#include "daemon/take_bpf.h"
#include "expose/families.h"
#include "group/agreement.h"
#include "group/group_state.h"
#include "group/membership.h"
#include "procfs/host_read.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ZOMBIES_MAX_BYTES = 64 * 1024 * 1024 };

static const uint64_t SECOND_NS = 1000000000u;
/* Ten thousand processes have their texts read by then. */
static const uint64_t SETTLE_PATIENCE_NS = 2000000000u;
/*
 * A process gets its time of start a moment before it can be found, and who forks may have to wait
 * for a CPU in between.
 */
static const uint64_t BIRTH_NS = 100000000u;

/* The kernel tells of an end some milliseconds after it, and later under load. */
static const uint64_t END_PATIENCE_NS = 30000000000u;

/* `ticks` since boot at this moment, where the procfs counts from the same boot as our clocks. */
static uint64_t first_tick(const struct cycle *c, const struct cycle_time *now)
{
    uint64_t hz = c->procfs.ticks_per_second;

    if (!c->procfs.live)
        return 0;
    return now->boottime_ns / SECOND_NS * hz + now->boottime_ns % SECOND_NS * hz / SECOND_NS;
}

/* What started before this tick, and is there, the cycle finds. */
static uint64_t complete_tick(const struct cycle *c)
{
    uint64_t birth = BIRTH_NS * c->procfs.ticks_per_second / SECOND_NS;

    return c->began_tick > birth ? c->began_tick - birth : 0;
}

static int open_probes(struct cycle *c)
{
    struct probes_parts parts = {.procfs = &c->procfs,
                                 .table = &c->table,
                                 .faults = &c->faults,
                                 .wanted = &c->wanted,
                                 .texts = placing_texts,
                                 .texts_arg = &c->placing};

    return probes_init(&c->probes, &parts);
}

static int open_placing(struct cycle *c)
{
    struct placing_parts parts = {.procfs = &c->procfs,
                                  .table = &c->table,
                                  .groups = &c->groups,
                                  .probes = &c->probes,
                                  .faults = &c->faults};

    return placing_init(&c->placing, &parts);
}

int cycle_open(struct cycle *ret, enum cycle_mode mode, const char *procfs,
               const struct cycle_time *now)
{
    uint32_t hz = (uint32_t)sysconf(_SC_CLK_TCK);
    uint32_t page_size = (uint32_t)sysconf(_SC_PAGESIZE);
    int r;

    *ret = (struct cycle){.mode = mode};
    r = procfs_open(&ret->procfs, procfs, hz, page_size);
    if (r < 0)
        return r;
    r = open_probes(ret);
    if (r == 0)
        r = open_placing(ret);
    if (r < 0) {
        probes_deinit(&ret->probes);
        procfs_close(&ret->procfs);
        return r;
    }
    table_init(&ret->table, mode == CYCLE_ONCE ? TABLE_SINCE_START : TABLE_SINCE_FIRST_CYCLE,
               first_tick(ret, now));
    groups_init(&ret->groups, mode == CYCLE_ONCE ? GROUPS_AT_ONCE : GROUPS_FIRST_AT_ZERO);
    top_init(&ret->top);
    thread_watch_init(&ret->thread_watch, &(struct thread_watch_parts){.procfs = &ret->procfs,
                                                                       .groups = &ret->groups,
                                                                       .faults = &ret->faults});
    host_marks_init(&ret->host_marks);
    buf_init(&ret->zombie_parents, ZOMBIES_MAX_BYTES);
    return 0;
}

void cycle_close(struct cycle *c)
{
    buf_deinit(&c->zombie_parents);
    host_marks_deinit(&c->host_marks);
    top_deinit(&c->top);
    thread_watch_deinit(&c->thread_watch);
    groups_deinit(&c->groups);
    table_deinit(&c->table);
    probes_deinit(&c->probes);
    placing_deinit(&c->placing);
    procfs_close(&c->procfs);
}

void cycle_settings_deinit(struct cycle_settings *s)
{
    rules_deinit(&s->rules);
    globs_deinit(&s->threads);
}

static uint32_t wanted_counters(const struct cycle *c)
{
    return c->wanted.counters | c->task_counters;
}

/* What only threads know a process' sample has from the kernel alone. */
static void want_of_processes(struct cycle *c)
{
    if (c->bpf)
        c->wanted.counters |= c->task_counters;
    else
        c->wanted.counters &= ~c->task_counters;
    groups_know_tasks(&c->groups, c->bpf != NULL);
}

/* What families and rows of processes want, of processes and of their threads. */
static void want(struct cycle *c, const struct cycle_settings *settings)
{
    selection_wanted(&c->families, &c->wanted);
    if (settings->top > 0)
        top_want(settings->top_by, &c->wanted);
    thread_watch_configure(&c->thread_watch, &c->wanted);
    c->task_counters = c->wanted.counters & part_counters(PART_TASK);
    c->wanted.parts &= ~part_bit(PART_TASK);
    want_of_processes(c);
}

int cycle_configure(struct cycle *c, struct cycle_settings *settings)
{
    uint32_t before = wanted_counters(c);
    int r, rules;

    c->families = settings->families;
    c->pss_max_bytes = settings->pss_max_bytes;
    c->probe_deadline_ns = c->probes.deadline_ns = settings->probe_deadline_ns;
    want(c, settings);
    /* A counter that nobody read for a while would come back with a burst. */
    table_forget_counters(&c->table, before & ~wanted_counters(c));
    /* And one that is new on the page has not shown its 0 yet. */
    groups_forget_counters(&c->groups, before ^ wanted_counters(c));
    groups_set_threads(&c->groups, &settings->threads);
    rules = groups_set_rules(&c->groups, &settings->rules, settings->groups_max,
                             settings->groups_forget_ns);
    c->wanted.parts |= placing_configure(&c->placing);
    r = top_configure(&c->top, settings->top_by, settings->top);
    return r < 0 ? r : rules;
}

int cycle_resume(struct cycle *c, struct span state)
{
    struct host_marks marks = {0};
    struct group_state found = {0};
    int r = host_marks_decode(&state, &marks);

    if (r == 0)
        r = group_state_decode(state, &c->groups, &found);
    /* Who opens the cycle now may be within the last one's tick. */
    if (r == 0 && c->procfs.live && found.first_tick > c->table.first_tick + 1)
        r = -ERANGE;
    if (r == 0)
        r = table_resume(&c->table, found.first_tick, found.pending, found.n_pending);
    free(found.pending);
    if (r < 0) {
        groups_deinit(&c->groups);
        groups_init(&c->groups, GROUPS_FIRST_AT_ZERO);
        return r;
    }
    /* So that cycle_configure() drops those that are no longer wanted, and no others. */
    c->wanted.counters = found.counters & ~part_counters(PART_TASK);
    c->task_counters = found.counters & part_counters(PART_TASK);
    c->youngest_tick = found.first_tick - (found.first_tick > 0);
    c->host_marks = marks;
    c->resumed = true;
    return 0;
}

/*
 * What starts later than the youngest process that was counted was not counted. On the live /proc,
 * what started before the cycle and was not seen is no news either: it was hidden.
 */
void cycle_encode(const struct cycle *c, struct buf *out)
{
    uint64_t after_youngest = c->youngest_tick + (c->youngest_tick < UINT64_MAX);
    struct group_state state = {
        .first_tick = after_youngest > c->began_tick ? after_youngest : c->began_tick,
        .counters = wanted_counters(c),
    };

    host_marks_encode(&c->host_marks, out);
    group_state_encode(&c->groups, &c->table, &state, out);
}

/* Our own clocks stand in for a kernel that does not say, but know nothing of another host. */
static void learn_boot_time(struct cycle *c, const struct cycle_time *now)
{
    if (now->clock_was_set)
        boot_time_forget(&c->boot_time);
    if (boot_time_read(&c->boot_time, &c->procfs) == 0 || !c->procfs.live)
        return;
    c->boot_time = (struct boot_time){.known = true,
                                      .seconds = (now->realtime_ns - now->boottime_ns) / SECOND_NS};
}

static int read_host(struct cycle *c, uint64_t now_ns)
{
    int r = host_read(&c->procfs, c->wanted.host_parts, &c->faults, &c->host);

    if (r < 0)
        return r;
    if (c->boot_time.known)
        host_set(&c->host, HOST_BOOT_TIME_SECONDS, c->boot_time.seconds);
    else
        c->host.have &= ~(UINT32_C(1) << HOST_BOOT_TIME_SECONDS);
    return host_marks_hold(&c->host_marks, &c->host, c->procfs.live ? now_ns : 0);
}

static void count_zombies(struct cycle *c)
{
    size_t n = c->zombie_parents.len / sizeof(uint32_t);

    for (size_t i = 0; i < n; i++) {
        uint32_t pid, parent;

        memcpy(&pid, c->zombie_parents.data + i * sizeof(pid), sizeof(pid));
        parent = table_find_pid(&c->table, pid);
        if (parent != TABLE_NONE)
            groups_add_zombie_child(&c->groups, table_process(&c->table, parent));
    }
}

/* Before anything has ended, so that where it fails the next cycle finds all of them again. */
static int place_ended(struct cycle *c)
{
    uint32_t ref;
    int r = 0;

    for (size_t at = 0; r == 0 && (ref = table_next_ended(&c->table, &at)) != TABLE_NONE;)
        r = placing_place_ended(&c->placing, table_process(&c->table, ref));
    return r;
}

/* Where the kernel tells of ends, the one that it did not tell of yet is to come. */
static void count_ends(struct cycle *c, uint64_t now_ns)
{
    uint32_t ref;

    for (size_t at = 0; (ref = table_next_ended(&c->table, &at)) != TABLE_NONE;) {
        struct process *p = table_process(&c->table, ref);

        if (p->end_told) {
            groups_exit(&c->groups, p, (enum exit_reason)p->end_reason);
        } else if (c->bpf) {
            groups_leave(&c->groups, p);
            table_await_end(&c->table, ref, now_ns);
        } else {
            groups_exit(&c->groups, p, EXIT_REASON_UNKNOWN);
        }
    }
}

/*
 * Its end may be told all the same, when nobody knows it any more: then it is no news, and nor is
 * who is as old.
 */
static void give_up(struct cycle *c, uint32_t ref)
{
    struct process *p = table_process(&c->table, ref);

    if (c->told_since_tick != 0 && c->told_since_tick <= p->identity.start_ticks)
        c->told_since_tick = p->identity.start_ticks + 1;
    groups_exit(&c->groups, p, EXIT_REASON_UNKNOWN);
    table_forget(&c->table, ref);
}

/* Gives up ends that were awaited for so long. */
static void give_up_ends(struct cycle *c, uint64_t now_ns, uint64_t patience_ns)
{
    uint32_t ref;

    for (size_t at = 0; (ref = table_next_awaited(&c->table, &at)) != TABLE_NONE;)
        if (now_ns - table_process(&c->table, ref)->awaited_since_ns >= patience_ns)
            give_up(c, ref);
}

void cycle_use_bpf(struct cycle *c, struct bpf_source *source)
{
    /* Text has I/O of reaped children in it, and knows of ended threads what no walk sees. */
    uint32_t differ = part_counters(PART_IO) | part_counters(PART_TASK);

    if (c->bpf == source)
        return;
    if (!source)
        give_up_ends(c, UINT64_MAX, 0);
    c->bpf = source;
    c->told_since_tick = 0;
    table_forget_counters(&c->table, differ);
    want_of_processes(c);
}

/* Ends are counted whatever becomes of the walk: who has ended no other walk comes to. */
static int take_all(struct cycle *c)
{
    int r, ends;

    if (!c->bpf)
        return take_processes(c);
    r = take_bpf_processes(c);
    ends = take_bpf_ends(c);
    return ends < 0 ? ends : r;
}

/* All that may fail. */
static int run_to_ends(struct cycle *c, const struct cycle_time *now)
{
    int r;

    c->began_tick = first_tick(c, now);
    c->processes = c->quarantined_processes = 0;
    memset(c->unread_processes, 0, sizeof(c->unread_processes));
    buf_reset(&c->zombie_parents);
    placing_begin(&c->placing, now->monotonic_ns, c->probe_deadline_ns);
    probes_begin(&c->probes, now->monotonic_ns);
    table_begin(&c->table, complete_tick(c));
    groups_begin(&c->groups);
    top_begin(&c->top);
    thread_watch_begin(&c->thread_watch, c->began_tick);
    learn_boot_time(c, now);
    r = read_host(c, now->monotonic_ns);
    if (r == 0)
        r = take_all(c);
    if (r == 0)
        r = place_ended(c);
    if (r < 0)
        table_abort(&c->table);
    return r;
}

int cycle_run(struct cycle *c, const struct cycle_time *now)
{
    int r = run_to_ends(c, now);

    if (r == -EPROTO && c->bpf) {
        cycle_use_bpf(c, NULL);
        c->bpf_failed = true;
        r = run_to_ends(c, now);
    }
    if (r < 0)
        return r;
    count_zombies(c);
    table_end(&c->table);
    count_ends(c, now->monotonic_ns);
    give_up_ends(c, now->monotonic_ns, END_PATIENCE_NS);
    if (c->resumed)
        group_state_end_missing(&c->groups, &c->table);
    c->resumed = false;
    groups_end(&c->groups, now->monotonic_ns);
    placing_end(&c->placing);
    top_end(&c->top);
    thread_watch_end(&c->thread_watch, now->monotonic_ns);
    return 0;
}

static uint64_t count_undecided(const struct cycle *c)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->table.n_processes; i++) {
        const struct process *p = table_process(&c->table, (uint32_t)i);

        n += p->seen == c->table.cycle && p->membership.undecided;
    }
    return n;
}

bool cycle_is_to_settle(struct cycle *c, unsigned run)
{
    uint64_t undecided = count_undecided(c);
    bool progress = run == 1 || undecided < c->undecided;

    c->undecided = undecided;
    if (c->groups.n_pending == 0)
        return undecided > 0 && progress;
    if (run > CYCLE_SETTLE_MAX)
        return false;
    probes_wait_all(&c->probes, &c->sample, clock_monotonic_ns() + SETTLE_PATIENCE_NS);
    users_wait(c->placing.users);
    return true;
}

uint64_t cycle_between(struct cycle *c, uint64_t now_ns)
{
    return probes_between(&c->probes, &c->sample, now_ns);
}

static struct span label_value(struct arena *arena, struct span raw)
{
    char label[UTF8_LABEL_MAX];

    return arena_copy(arena, span_of(label, utf8_label(label, raw)));
}

static struct span group_info_labels(const struct agreement *a, struct arena *arena)
{
    return snapshot_group_info(arena, label_value(arena, a->unit), label_value(arena, a->container),
                               label_value(arena, a->pod));
}

/* What members of each group have in common: looked for only when it is to be shown. */
static int snapshot_info(struct cycle *c, struct arena *arena, struct snapshot *ret)
{
    struct agreement *agreements;

    agreements = arena_alloc_array(arena, c->groups.n_groups, sizeof(*agreements));
    if (!agreements)
        return -ENOMEM;
    memset(agreements, 0, c->groups.n_groups * sizeof(*agreements));
    for (size_t i = 0; i < c->table.n_processes; i++) {
        const struct process *p = table_process(&c->table, (uint32_t)i);

        if (p->seen == c->table.cycle && p->membership.now.standing == STANDING_MEMBER)
            agreement_add(&agreements[p->membership.now.group],
                          cgroups_identity(&c->placing.cgroups, p->origin.cgroup));
    }
    for (size_t i = 0; i < ret->n_groups; i++)
        ret->groups[i].info = group_info_labels(&agreements[c->groups.order[i]], arena);
    return arena_failed(arena) ? -ENOMEM : 0;
}

static bool shows_info(const struct cycle *c)
{
    return selection_has(&c->families, FAMILY_ID_proctally_group_info);
}

static int snapshot_groups(struct cycle *c, const struct groups_moment *moment, struct arena *arena,
                           struct snapshot *ret)
{
    ret->n_groups = c->groups.n_order;
    ret->groups = arena_alloc_array(arena, ret->n_groups, sizeof(*ret->groups));
    if (!ret->groups)
        return -ENOMEM;
    for (size_t i = 0; i < ret->n_groups; i++) {
        struct snapshot_group *row = &ret->groups[i];
        int r = thread_watch_snapshot(&c->thread_watch, c->groups.order[i], moment, arena, row);

        if (r < 0)
            return r;
        row->name = arena_copy(arena, group_name(&c->groups, c->groups.order[i]));
        row->label = snapshot_label(arena, row->name);
        row->info = span_of(NULL, 0);
        groups_values(&c->groups, c->groups.order[i], moment, &row->values);
    }
    if (arena_failed(arena))
        return -ENOMEM;
    return shows_info(c) ? snapshot_info(c, arena, ret) : 0;
}

static uint64_t start_ns(const struct cycle *c, struct identity identity)
{
    uint64_t ns = 0;

    if (c->boot_time.known)
        (void)ticks_since_epoch(c->boot_time.seconds, identity.start_ticks,
                                c->procfs.ticks_per_second, &ns);
    return ns;
}

static struct span process_labels(const struct cycle *c, const struct process *p,
                                  struct arena *arena)
{
    char label[UTF8_LABEL_MAX];
    struct span comm = span_of(label, utf8_label(label, span_of(p->comm, p->comm_len)));

    return snapshot_process_labels(arena, p->identity.pid, comm,
                                   group_name(&c->groups, p->membership.now.group));
}

/* Counters are the highest ever seen: they may not fall on the page, and the kernel's do. */
static void snapshot_process(const struct cycle *c, const struct top_row *row, struct arena *arena,
                             struct snapshot_process *ret)
{
    const struct process *p = table_process(&c->table, row->ref);
    const struct sample *s = &row->sample;

    ret->labels = process_labels(c, p, arena);
    ret->start_ns = start_ns(c, s->identity);
    ret->have_counters = s->have_counters & p->bases.have;
    ret->have_gauges = s->have_gauges;
    memcpy(ret->counter, p->bases.highest, sizeof(ret->counter));
    memcpy(ret->gauge, s->gauge, sizeof(ret->gauge));
}

static int snapshot_processes(const struct cycle *c, struct arena *arena, struct snapshot *ret)
{
    ret->n_processes = c->top.n_order;
    ret->processes = arena_alloc_array(arena, ret->n_processes, sizeof(*ret->processes));
    if (!ret->processes)
        return -ENOMEM;
    for (size_t i = 0; i < ret->n_processes; i++)
        snapshot_process(c, top_row(&c->top, i), arena, &ret->processes[i]);
    return arena_failed(arena) ? -ENOMEM : 0;
}

static int snapshot_host(const struct cycle *c, struct arena *arena, struct snapshot *ret)
{
    struct cpu_row *rows;

    ret->host = c->host;
    ret->host.cpus = NULL;
    if (c->host.n_cpus == 0)
        return 0;
    rows = arena_alloc_array(arena, c->host.n_cpus, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    memcpy(rows, c->host.cpus, c->host.n_cpus * sizeof(*rows));
    ret->host.cpus = rows;
    return 0;
}

static void snapshot_counts(const struct cycle *c, struct self *ret)
{
    ret->processes = c->processes;
    ret->excluded_processes = c->groups.n_excluded;
    ret->pending_processes = c->groups.n_pending;
    ret->quarantined_processes = c->quarantined_processes;
    ret->slow_reads = c->slow_reads;
    memcpy(ret->unread_processes, c->unread_processes, sizeof(ret->unread_processes));
    memcpy(ret->read_faults, c->faults.count, sizeof(ret->read_faults));
    memcpy(ret->steps_back, c->table.steps_back, sizeof(ret->steps_back));
    thread_watch_add_steps_back(&c->thread_watch, ret->steps_back);
    ret->reads_threads = thread_watch_reads(&c->thread_watch) || c->bpf;
    ret->rule_parts = c->probes.text_parts;
    ret->searches_given_up = groups_searches_given_up(&c->groups);
    ret->other_assignments = c->groups.other_assignments;
}

int cycle_snapshot(struct cycle *c, uint64_t sequence, uint64_t served,
                   const struct cycle_time *now, struct arena *arena, struct snapshot *ret)
{
    struct groups_moment moment = {
        .sequence = sequence,
        .served_sequence = served,
        .now_ns = now->monotonic_ns,
        .have_boot_time = c->boot_time.known,
        .boot_time_seconds = c->boot_time.seconds,
        .ticks_per_second = c->procfs.ticks_per_second,
    };
    int r;

    ret->sequence = sequence;
    ret->up = true;
    ret->families = c->families;
    snapshot_counts(c, &ret->self);
    r = snapshot_host(c, arena, ret);
    if (r == 0)
        r = snapshot_groups(c, &moment, arena, ret);
    return r < 0 ? r : snapshot_processes(c, arena, ret);
}
