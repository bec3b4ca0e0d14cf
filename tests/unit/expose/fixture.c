/* fixture - a snapshot made by hand, in which every number is another. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static void fill_known(struct group_values *v)
{
    v->have_counters = (UINT32_C(1) << GROUP_COUNTER_N) - 1;
    v->have_gauges = (UINT32_C(1) << GAUGE_N) - 1;
    for (unsigned i = 0; i < GROUP_COUNTER_N; i++)
        v->counter[i] = 1000 + i;
    v->counter[COUNTER_CPU_USER_NS] = 12340000000u;
    v->counter[COUNTER_CPU_SYSTEM_NS] = 560000000u;
    for (unsigned i = 0; i < GAUGE_N; i++)
        v->gauge[i] = (2000 + i) * 4096;
    v->processes = 21;
    for (unsigned i = 0; i < STATE_N; i++)
        v->state[i] = 1 + i;
    v->zombie_children = 7;
    v->oldest_start_ns = 1700000500000000000u;
    v->newest_start_ns = 1700000600250000000u;
    v->worst_fds_ratio = 17.0 / 1024;
    v->worst_mappings_ratio = 100.0 / 65530;
}

static void fill_unprivileged(struct group_values *v)
{
    fill_known(v);
    v->have_counters &= ~(part_counters(PART_IO) | part_counters(PART_TASK));
    v->have_gauges &= ~(part_gauges(PART_FD) | part_gauges(PART_LIMITS) | part_gauges(PART_MAPS) |
                        part_gauges(PART_SMAPS));
    v->have_counters &= ~(UINT32_C(1) << (GROUP_COUNTER_EXITED + EXIT_REASON_OOM));
    v->unread[PART_IO] = 20;
    v->unread[PART_FD] = 19;
    v->worst_fds_ratio = -1;
    v->worst_mappings_ratio = -1;
}

static void fill_empty(struct group_values *v)
{
    fill_known(v);
    memset(v->counter, 0, sizeof(v->counter));
    memset(v->gauge, 0, sizeof(v->gauge));
    memset(v->state, 0, sizeof(v->state));
    v->processes = 0;
    v->zombie_children = 0;
    v->oldest_start_ns = 0;
    v->newest_start_ns = 0;
    v->have_counters &= ~part_counters(PART_TASK);
    v->worst_fds_ratio = -1;
    v->worst_mappings_ratio = -1;
}

static void fill_process(struct snapshot_process *r, unsigned number)
{
    r->have_counters = (UINT32_C(1) << COUNTER_N) - 1;
    r->have_gauges = (UINT32_C(1) << GAUGE_N) - 1;
    for (unsigned i = 0; i < COUNTER_N; i++)
        r->counter[i] = 5000 + 100 * number + i;
    r->counter[COUNTER_CPU_USER_NS] = 7890000000u + number;
    r->counter[COUNTER_CPU_SYSTEM_NS] = 120000000u + number;
    for (unsigned i = 0; i < GAUGE_N; i++)
        r->gauge[i] = (600 + 100 * number + i) * 4096;
    r->start_ns = 1700000700000000000u + number * 10000000;
}

static void fill_processes(struct fixture *f)
{
    struct snapshot_process *r = f->processes;

    fill_process(&r[0], 0);
    fill_process(&r[1], 1);
    r[1].have_counters &= ~part_counters(PART_IO);
    r[1].have_gauges &= ~part_gauges(PART_FD);
    r[0].labels = snapshot_process_labels(&f->arena, 77, SPAN_LITERAL("nginx"), f->groups[0].name);
    r[1].labels =
        snapshot_process_labels(&f->arena, UINT32_MAX, SPAN_LITERAL("a\"\\\n}"), f->groups[1].name);
    f->snapshot.processes = r;
    f->snapshot.n_processes = FIXTURE_PROCESSES;
}

static void fill_threads(struct fixture *f)
{
    static const struct span names[FIXTURE_THREADS] = {
        SPAN_LITERAL("_other"),
        SPAN_LITERAL("say \"\xc3\xbc\"\\"),
    };

    for (unsigned i = 0; i < FIXTURE_THREADS; i++) {
        struct thread_values *v = &f->threads[i].values;

        snapshot_thread_labels(&f->arena, names[i], &f->threads[i]);
        v->threads = 5 + i;
        v->have = (UINT32_C(1) << THREAD_COUNTER_N) - 1;
        for (unsigned k = 0; k < THREAD_COUNTER_N; k++)
            v->counter[k] = (7 + 10 * i + k) * UINT64_C(125000000);
    }
    f->threads[1].values.have &= ~(UINT32_C(1) << THREAD_RUN_QUEUE_NS);
    f->groups[0].threads = f->threads;
    f->groups[0].n_threads = FIXTURE_THREADS;
}

static void fill_cpu(struct cpu_times *t, uint64_t base_ns)
{
    t->columns = CPU_MODE_N;
    for (unsigned i = 0; i < CPU_MODE_N; i++)
        t->ns[i] = base_ns + (100 - i) * 10000000;
    t->ns[CPU_GUEST] = 30000000;
    t->ns[CPU_GUEST_NICE] = 20000000;
}

static void fill_host(struct fixture *f)
{
    struct host *h = &f->snapshot.host;

    for (unsigned i = 0; i < HOST_FIELD_N; i++)
        host_set(h, (enum host_field)i, 3000 + i);
    host_set(h, HOST_BOOT_TIME_SECONDS, 1700000000);
    fill_cpu(&h->cpu, 5000000000u);
    h->softirqs = SOFTIRQ_N;
    for (unsigned i = 0; i < SOFTIRQ_N; i++)
        h->softirq[i] = 4000 + i;
    f->cpus[0].cpu = 0;
    f->cpus[1].cpu = 17;
    fill_cpu(&f->cpus[0].times, 2000000000u);
    fill_cpu(&f->cpus[1].times, 3000000000u);
    h->cpus = f->cpus;
    h->n_cpus = 2;
}

static void fill_counts(struct self *self)
{
    for (unsigned i = 0; i < PART_N; i++)
        self->unread_processes[i] = 50 + i;
    for (unsigned i = 0; i < COUNTER_N; i++)
        self->steps_back[i] = 60 + i;
    for (unsigned i = 0; i < CYCLE_FAILURE_N; i++)
        self->failures[i] = i;
    for (unsigned i = 0; i < PHASE_N; i++)
        self->phase_ns[i] = 1 + 1000 * i;
    self->read_faults[FAULT_IO][FAULT_PERMISSION] = 71;
    self->read_faults[FAULT_SMAPS_ROLLUP][FAULT_READ] = 72;
    self->http_requests[HTTP_PATH_METRICS][HTTP_CODE_200] = 73;
    self->http_requests[HTTP_PATH_OTHER][HTTP_CODE_404] = 74;
    self->have_process = (UINT32_C(1) << SELF_PROCESS_FIELD_N) - 1;
    for (unsigned i = 0; i < SELF_PROCESS_FIELD_N; i++)
        self->process[i] = 80 + i;
    self->process[SELF_CPU_NS] = 1230000000u;
    self->process[SELF_START_TIME_NS] = 1700000100010000000u;
}

static void fill_self(struct self *self)
{
    self->reads_threads = true;
    self->version = "1.2.3";
    self->revision = "0123abc";
    self->libmicrohttpd_version = "0.9.75";
    self->source = "procfs";
    self->source_reason = "configured";
    self->snapshot_time_ns = 1700001000123456789u;
    self->interval_ns = 12500000000u;
    self->snapshots = 41;
    self->processes = 42;
    self->excluded_processes = 43;
    self->pending_processes = 44;
    self->other_assignments = 45;
    self->quarantined_processes = 46;
    self->slow_reads = 47;
    self->searches_given_up = 48;
    self->lost_end_records = 49;
    self->rule_parts = part_bit(PART_CMDLINE);
    self->reload_successful = true;
    self->reload_success_time_ns = 1700000050000000000u;
    fill_counts(self);
}

struct selection fixture_all(void)
{
    struct selection s = {0};

    selection_include(&s, SPAN_LITERAL("*"));
    return s;
}

void fixture_init(struct fixture *f)
{
    static const struct span names[FIXTURE_GROUPS] = {
        SPAN_LITERAL("nginx.service"),
        SPAN_LITERAL("say \"hi\"\\\n{a=\"b\"} \xc3\xbc"),
        SPAN_LITERAL("kernel"),
    };

    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, 1 << 20);
    for (unsigned i = 0; i < FIXTURE_GROUPS; i++) {
        f->groups[i].name = names[i];
        f->groups[i].label = snapshot_label(&f->arena, names[i]);
    }
    f->groups[0].info =
        snapshot_group_info(&f->arena, names[0], SPAN_LITERAL(""), SPAN_LITERAL(""));
    f->groups[1].info = snapshot_group_info(&f->arena, names[1], SPAN_LITERAL("0123456789ab"),
                                            SPAN_LITERAL("74c13223-5a00-11e9-b385-42010a80018d"));
    fill_known(&f->groups[0].values);
    fill_threads(f);
    fill_unprivileged(&f->groups[1].values);
    fill_empty(&f->groups[2].values);
    f->snapshot = (struct snapshot){
        .sequence = 41,
        .up = true,
        .families = fixture_all(),
        .groups = f->groups,
        .n_groups = FIXTURE_GROUPS,
    };
    fill_processes(f);
    fill_host(f);
    fill_self(&f->snapshot.self);
}

void fixture_deinit(struct fixture *f)
{
    arena_deinit(&f->arena);
}

static bool reads_gauge(const struct wanted *w, enum gauge gauge)
{
    return w->gauges >> gauge & 1;
}

static bool reads_host(const struct wanted *w, enum host_part part)
{
    return w->host_parts >> part & 1;
}

static void restrict_group(struct group_values *v, const struct wanted *w)
{
    uint32_t own = ~((UINT32_C(1) << COUNTER_N) - 1);

    v->have_counters &= w->counters | own;
    v->have_gauges &= w->gauges;
    if (!reads_gauge(w, GAUGE_OPEN_FDS) || !reads_gauge(w, GAUGE_OPEN_FDS_LIMIT))
        v->worst_fds_ratio = -1;
    if (!reads_gauge(w, GAUGE_MAPPINGS) || !reads_host(w, HOST_PART_MAX_MAP_COUNT))
        v->worst_mappings_ratio = -1;
}

static void restrict_process(struct snapshot_process *r, const struct wanted *w)
{
    r->have_counters &= w->counters;
    r->have_gauges &= w->gauges;
}

static void restrict_threads(struct snapshot_group *g, const struct wanted *w)
{
    if (!(w->parts & part_bit(PART_TASK)))
        g->n_threads = 0;
    for (size_t i = 0; i < g->n_threads; i++)
        g->threads[i].values.have &= w->threads;
}

static void restrict_host(struct host *h, const struct wanted *w)
{
    static const enum host_part part_of[HOST_FIELD_N] = {
        [HOST_BOOT_TIME_SECONDS] = HOST_PART_STAT,
        [HOST_CONTEXT_SWITCHES] = HOST_PART_STAT,
        [HOST_INTERRUPTS] = HOST_PART_STAT,
        [HOST_TASKS_CREATED] = HOST_PART_STAT,
        [HOST_PROCESSES_RUNNING] = HOST_PART_STAT,
        [HOST_PROCESSES_BLOCKED] = HOST_PART_STAT,
        [HOST_TASKS] = HOST_PART_LOADAVG,
        [HOST_PID_MAX] = HOST_PART_PID_MAX,
        [HOST_THREADS_MAX] = HOST_PART_THREADS_MAX,
        [HOST_OPEN_FILES] = HOST_PART_FILE_NR,
        [HOST_OPEN_FILES_LIMIT] = HOST_PART_FILE_NR,
        [HOST_MAX_MAP_COUNT] = HOST_PART_MAX_MAP_COUNT,
    };

    for (unsigned i = 0; i < HOST_FIELD_N; i++)
        if (!reads_host(w, part_of[i]))
            h->have &= ~(UINT32_C(1) << i);
    if (!reads_host(w, HOST_PART_STAT)) {
        h->cpu.columns = 0;
        h->softirqs = 0;
    }
    if (!reads_host(w, HOST_PART_STAT) || !reads_host(w, HOST_PART_CPUS))
        h->n_cpus = 0;
}

void fixture_restrict(struct fixture *f, const struct wanted *wanted)
{
    for (unsigned i = 0; i < FIXTURE_GROUPS; i++) {
        restrict_group(&f->groups[i].values, wanted);
        restrict_threads(&f->groups[i], wanted);
    }
    for (unsigned i = 0; i < FIXTURE_PROCESSES; i++)
        restrict_process(&f->processes[i], wanted);
    restrict_host(&f->snapshot.host, wanted);
}

char *fixture_page(const struct snapshot *s, enum format format, const struct selection *only)
{
    struct buf out;

    buf_init(&out, FIXTURE_PAGE_MAX);
    render(s, format, only, &out);
    buf_append_char(&out, '\0');
    if (buf_failed(&out))
        abort();
    return out.data;
}

const struct family *fixture_family(const char *name)
{
    for (unsigned i = 0; i < FAMILY_N; i++)
        if (span_equal(families[i].name, span_from_str(name)))
            return &families[i];
    abort();
}
