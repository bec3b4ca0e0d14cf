/*
 * random_page SEED text|openmetrics - a page of a random snapshot, and what it should hold.
 *
 * Writes the page to standard output and, to descriptor 3, one line per expected sample: its
 * name, its labels as name=hex-of-the-value by commas, and its value: `u` and an integer, `n` and
 * nanoseconds, or `d` and a hexadecimal double, separated by tabs. The list is written from the
 * snapshot by statements of its own, not by families.def, so a wrong row shows as a difference;
 * judge_random.py compares.
 */
#include "base/utf8.h"
#include "expose/render.h"
#include "expose/snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 5, THREADS_MAX = 4, PROCESSES_MAX = 4, CPUS_MAX = 3 };

static uint64_t random_state;
static FILE *expected;

static uint64_t random_u64(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Of any magnitude: half of the values are small. */
static uint64_t random_value(void)
{
    return random_u64() >> random_u64() % 64;
}

/* Strings made of what breaks parsers, cut as the kernel cuts them. */
static size_t random_bytes(char *dst, size_t max)
{
    static const char *const pieces[] = {
        "\\",
        "\"",
        "\n",
        "{",
        "}",
        ",",
        "=",
        " ",
        "#",
        "\t",
        "\r",
        "\\n",
        "# EOF\n",
        "a",
        "Z",
        "\xc3\xbc",
        "\xf0\x9f\x90\xa7",
        "\xff",
        "\xc3",
        "\x7f",
        "\x01",
        "\xe2\x80\xa8",
        "\xc2\x85",
        "\\\"",
        "} 1\n",
        "group=\"",
    };
    size_t n = 0, pieces_n = random_u64() % 24;

    for (size_t i = 0; i < pieces_n; i++) {
        const char *piece = pieces[random_u64() % (sizeof(pieces) / sizeof(*pieces))];

        if (n + strlen(piece) > max)
            break;
        memcpy(dst + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

static struct span random_name(struct arena *arena, unsigned number)
{
    char raw[200], name[UTF8_LABEL_MAX];
    size_t n = random_bytes(raw, sizeof(raw) - 1);

    /* Group names are unique. */
    raw[n++] = (char)('0' + number);
    return arena_copy(arena, span_of(name, utf8_label(name, span_of(raw, n))));
}

static void fill_random(void *p, size_t n)
{
    for (uint64_t *at = p; n >= sizeof(*at); at++, n -= sizeof(*at))
        *at = random_value();
}

static double random_ratio(void)
{
    if (random_u64() % 4 == 0)
        return -1;
    return (double)(random_u64() % 1024) / (double)(1 + (random_u64() >> random_u64() % 64));
}

static struct span thread_names[GROUPS_MAX][THREADS_MAX];

static void random_threads(struct arena *arena, struct snapshot_group *g, unsigned number)
{
    g->n_threads = random_u64() % (THREADS_MAX + 1);
    g->threads = arena_alloc_array(arena, g->n_threads, sizeof(*g->threads));
    for (unsigned i = 0; i < g->n_threads; i++) {
        struct thread_values *v = &g->threads[i].values;

        thread_names[number][i] = random_name(arena, i);
        snapshot_thread_labels(arena, thread_names[number][i], &g->threads[i]);
        fill_random(v->counter, sizeof(v->counter));
        v->threads = random_value();
        v->have = (uint32_t)random_u64() % (UINT32_C(1) << THREAD_COUNTER_N);
    }
}

static void random_group(struct arena *arena, struct snapshot_group *g, unsigned number)
{
    struct group_values *v = &g->values;

    fill_random(v->counter, sizeof(v->counter));
    fill_random(v->gauge, sizeof(v->gauge));
    fill_random(v->state, sizeof(v->state));
    for (unsigned i = 0; i < PART_N; i++)
        v->unread[i] = random_u64() % 2 ? random_value() : 0;
    v->have_counters = (uint32_t)random_u64();
    v->have_gauges = (uint32_t)random_u64();
    v->processes = random_value();
    v->zombie_children = random_value();
    v->oldest_start_ns = random_value();
    v->newest_start_ns = random_u64() % 2 ? random_value() : 0;
    v->worst_fds_ratio = random_ratio();
    v->worst_mappings_ratio = random_ratio();
    g->name = random_name(arena, number);
    g->label = snapshot_label(arena, g->name);
    random_threads(arena, g, number);
}

/* What the labels of a group's info are to be. */
struct info_labels {
    bool shown;
    struct span unit, container, pod;
};

static struct span random_label(struct arena *arena)
{
    return random_u64() % 2 ? random_name(arena, 0) : SPAN_LITERAL("");
}

static void random_info(struct arena *arena, struct snapshot_group *g, struct info_labels *info)
{
    info->shown = random_u64() % 4;
    info->unit = random_label(arena);
    info->container = random_label(arena);
    info->pod = random_label(arena);
    if (info->shown)
        g->info = snapshot_group_info(arena, info->unit, info->container, info->pod);
}

/* What the labels of a process are to be. */
struct process_names {
    char pid[16];
    struct span comm, group;
};

static void random_process(struct arena *arena, struct snapshot_process *r,
                           struct process_names *names, unsigned number)
{
    uint32_t pid = (uint32_t)random_u64() / PROCESSES_MAX * PROCESSES_MAX + number;

    fill_random(r->counter, sizeof(r->counter));
    fill_random(r->gauge, sizeof(r->gauge));
    r->have_counters = (uint32_t)random_u64();
    r->have_gauges = (uint32_t)random_u64();
    r->start_ns = random_u64() % 4 ? random_value() : 0;
    snprintf(names->pid, sizeof(names->pid), "%" PRIu32, pid);
    names->comm = random_name(arena, number);
    names->group = random_name(arena, number);
    r->labels = snapshot_process_labels(arena, pid, names->comm, names->group);
}

static void random_cpu(struct cpu_times *t)
{
    fill_random(t->ns, sizeof(t->ns));
    t->columns = (uint32_t)(random_u64() % (CPU_MODE_N + 1));
}

static void random_host(struct host *h, struct cpu_row *cpus)
{
    fill_random(h->field, sizeof(h->field));
    fill_random(h->softirq, sizeof(h->softirq));
    h->have = (uint32_t)random_u64();
    random_cpu(&h->cpu);
    h->softirqs = (uint32_t)(random_u64() % (SOFTIRQ_N + 1));
    h->cpus = cpus;
    h->n_cpus = random_u64() % (CPUS_MAX + 1);
    for (size_t i = 0; i < h->n_cpus; i++) {
        cpus[i].cpu = (uint32_t)(i * 1000 + i);
        random_cpu(&cpus[i].times);
    }
}

static void random_self(struct self *s)
{
    fill_random(&s->snapshot_time_ns, sizeof(*s) - offsetof(struct self, snapshot_time_ns));
    s->reads_threads = random_u64() % 2;
    s->rule_parts &= part_bit(PART_EXE) | part_bit(PART_CMDLINE);
    s->reload_successful = random_u64() % 2;
    s->reload_success_time_ns = random_u64() % 2 ? random_value() : 0;
    s->http_requests[HTTP_PATH_ROOT][HTTP_CODE_400] = 0;
    s->read_faults[FAULT_TASK][FAULT_READ] = 0;
    s->version = "1.0\"\\";
    s->revision = "";
    s->libmicrohttpd_version = NULL;
    s->source = "procfs";
    s->source_reason = "a\nb";
}

static void expect_label(struct span value)
{
    for (size_t i = 0; i < value.n; i++)
        fprintf(expected, "%02x", (unsigned char)value.p[i]);
}

/* Labels: pairs of const char *, ended by NULL. */
static void expect_head(const struct snapshot_group *g, const char *name, va_list ap)
{
    const char *comma = "";

    fprintf(expected, "%s\t", name);
    if (g) {
        fprintf(expected, "group=");
        expect_label(g->name);
        comma = ",";
    }
    for (const char *label; (label = va_arg(ap, const char *)); comma = ",") {
        fprintf(expected, "%s%s=", comma, label);
        expect_label(span_from_str(va_arg(ap, const char *)));
    }
}

static void expect_u64(const struct snapshot_group *g, uint64_t value, const char *name, ...)
{
    va_list ap;

    va_start(ap, name);
    expect_head(g, name, ap);
    va_end(ap);
    fprintf(expected, "\tu%" PRIu64 "\n", value);
}

static void expect_ns(const struct snapshot_group *g, uint64_t value, const char *name, ...)
{
    va_list ap;

    va_start(ap, name);
    expect_head(g, name, ap);
    va_end(ap);
    fprintf(expected, "\tn%" PRIu64 "\n", value);
}

static void expect_ratio(const struct snapshot_group *g, double value, const char *name, ...)
{
    va_list ap;

    if (value < 0)
        return;
    va_start(ap, name);
    expect_head(g, name, ap);
    va_end(ap);
    fprintf(expected, "\td%a\n", value);
}

static bool counter_known(const struct snapshot_group *g, unsigned i)
{
    return g->values.have_counters & UINT32_C(1) << i;
}

static bool gauge_known(const struct snapshot_group *g, unsigned i)
{
    return g->values.have_gauges & UINT32_C(1) << i;
}

static void expect_group_counters(const struct snapshot_group *g)
{
    static const struct {
        unsigned field;
        const char *name;
    } rows[] = {
        {GROUP_COUNTER_STARTED, "proctally_group_started_total"},
        {GROUP_COUNTER_RESTARTS, "proctally_group_restarts_total"},
        {COUNTER_MINOR_FAULTS, "proctally_group_minor_page_faults_total"},
        {COUNTER_MAJOR_FAULTS, "proctally_group_major_page_faults_total"},
        {COUNTER_STORAGE_READ_BYTES, "proctally_group_storage_read_bytes_total"},
        {COUNTER_STORAGE_WRITE_BYTES, "proctally_group_storage_written_bytes_total"},
        {COUNTER_CANCELLED_WRITE_BYTES, "proctally_group_storage_cancelled_write_bytes_total"},
        {COUNTER_SYSCALL_READ_BYTES, "proctally_group_syscall_read_bytes_total"},
        {COUNTER_SYSCALL_WRITE_BYTES, "proctally_group_syscall_written_bytes_total"},
        {COUNTER_READ_SYSCALLS, "proctally_group_read_syscalls_total"},
        {COUNTER_WRITE_SYSCALLS, "proctally_group_write_syscalls_total"},
    };
    static const char *const reasons[] = {"success", "failure", "terminated", "killed",
                                          "crashed", "oom",     "unknown"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (counter_known(g, rows[i].field))
            expect_u64(g, g->values.counter[rows[i].field], rows[i].name, NULL);
    for (unsigned i = 0; i < EXIT_REASON_N; i++)
        if (counter_known(g, GROUP_COUNTER_EXITED + i))
            expect_u64(g, g->values.counter[GROUP_COUNTER_EXITED + i],
                       "proctally_group_exited_total", "reason", reasons[i], NULL);
    if (counter_known(g, COUNTER_CPU_USER_NS))
        expect_ns(g, g->values.counter[COUNTER_CPU_USER_NS], "proctally_group_cpu_seconds_total",
                  "mode", "user", NULL);
    if (counter_known(g, COUNTER_CPU_SYSTEM_NS))
        expect_ns(g, g->values.counter[COUNTER_CPU_SYSTEM_NS], "proctally_group_cpu_seconds_total",
                  "mode", "system", NULL);
}

static void expect_thread_switches(const struct snapshot_group *g)
{
    if (counter_known(g, COUNTER_RUN_QUEUE_NS))
        expect_ns(g, g->values.counter[COUNTER_RUN_QUEUE_NS],
                  "proctally_group_run_queue_seconds_total", NULL);
    if (counter_known(g, COUNTER_VOLUNTARY_SWITCHES))
        expect_u64(g, g->values.counter[COUNTER_VOLUNTARY_SWITCHES],
                   "proctally_group_voluntary_context_switches_total", NULL);
    if (counter_known(g, COUNTER_INVOLUNTARY_SWITCHES))
        expect_u64(g, g->values.counter[COUNTER_INVOLUNTARY_SWITCHES],
                   "proctally_group_involuntary_context_switches_total", NULL);
}

static void expect_thread(const struct snapshot_group *g, const struct thread_values *v,
                          struct span name)
{
    char text[UTF8_LABEL_MAX + 1] = "";

    memcpy(text, name.p, name.n);
    expect_u64(g, v->threads, "proctally_group_threads_by_name", "thread", text, NULL);
    if (v->have & 1u << THREAD_CPU_USER_NS)
        expect_ns(g, v->counter[THREAD_CPU_USER_NS], "proctally_group_thread_cpu_seconds_total",
                  "thread", text, "mode", "user", NULL);
    if (v->have & 1u << THREAD_CPU_SYSTEM_NS)
        expect_ns(g, v->counter[THREAD_CPU_SYSTEM_NS], "proctally_group_thread_cpu_seconds_total",
                  "thread", text, "mode", "system", NULL);
    if (v->have & 1u << THREAD_RUN_QUEUE_NS)
        expect_ns(g, v->counter[THREAD_RUN_QUEUE_NS],
                  "proctally_group_thread_run_queue_seconds_total", "thread", text, NULL);
    if (v->have & 1u << THREAD_VOLUNTARY_SWITCHES)
        expect_u64(g, v->counter[THREAD_VOLUNTARY_SWITCHES],
                   "proctally_group_thread_voluntary_context_switches_total", "thread", text, NULL);
    if (v->have & 1u << THREAD_INVOLUNTARY_SWITCHES)
        expect_u64(g, v->counter[THREAD_INVOLUNTARY_SWITCHES],
                   "proctally_group_thread_involuntary_context_switches_total", "thread", text,
                   NULL);
}

static void expect_group_gauges(const struct snapshot_group *g)
{
    static const struct {
        unsigned field;
        const char *name;
        const char *kind;
    } rows[] = {
        {GAUGE_THREADS, "proctally_group_threads", NULL},
        {GAUGE_RESIDENT_ANON_BYTES, "proctally_group_resident_memory_bytes", "anon"},
        {GAUGE_RESIDENT_FILE_BYTES, "proctally_group_resident_memory_bytes", "file"},
        {GAUGE_RESIDENT_SHMEM_BYTES, "proctally_group_resident_memory_bytes", "shmem"},
        {GAUGE_SWAP_BYTES, "proctally_group_swap_bytes", NULL},
        {GAUGE_VIRTUAL_BYTES, "proctally_group_virtual_memory_bytes", NULL},
        {GAUGE_PEAK_RESIDENT_BYTES, "proctally_group_peak_resident_memory_bytes", NULL},
        {GAUGE_PROPORTIONAL_BYTES, "proctally_group_proportional_memory_bytes", NULL},
        {GAUGE_MAPPINGS, "proctally_group_mappings", NULL},
        {GAUGE_OPEN_FDS, "proctally_group_open_fds", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (gauge_known(g, rows[i].field))
            expect_u64(g, g->values.gauge[rows[i].field], rows[i].name,
                       rows[i].kind ? "kind" : NULL, rows[i].kind, NULL);
}

static void expect_group(const struct snapshot_group *g)
{
    static const char *const states[] = {"running", "sleeping", "disk_sleep",
                                         "stopped", "zombie",   "other"};
    static const char *const parts[] = {"stat", "status",  "io",   "fd",    "limits",
                                        "exe",  "cmdline", "maps", "smaps", "task"};
    const struct group_values *v = &g->values;

    expect_u64(g, v->processes, "proctally_group_processes", NULL);
    expect_u64(g, v->zombie_children, "proctally_group_zombie_children", NULL);
    for (unsigned i = 0; i < STATE_N; i++)
        expect_u64(g, v->state[i], "proctally_group_processes_in_state", "state", states[i], NULL);
    for (unsigned i = 0; i < PART_N; i++)
        if (v->unread[i])
            expect_u64(g, v->unread[i], "proctally_group_unread_processes", "part", parts[i], NULL);
    if (v->oldest_start_ns)
        expect_ns(g, v->oldest_start_ns, "proctally_group_oldest_start_time_seconds", NULL);
    if (v->newest_start_ns)
        expect_ns(g, v->newest_start_ns, "proctally_group_newest_start_time_seconds", NULL);
    expect_ratio(g, v->worst_fds_ratio, "proctally_group_open_fds_limit_ratio", NULL);
    expect_ratio(g, v->worst_mappings_ratio, "proctally_group_mappings_limit_ratio", NULL);
    expect_group_counters(g);
    expect_group_gauges(g);
}

static void expect_info(const struct snapshot_group *g, const struct info_labels *info)
{
    if (!info->shown)
        return;
    fprintf(expected, "proctally_group_info\tgroup=");
    expect_label(g->name);
    fprintf(expected, ",unit=");
    expect_label(info->unit);
    fprintf(expected, ",container=");
    expect_label(info->container);
    fprintf(expected, ",pod=");
    expect_label(info->pod);
    fprintf(expected, "\tu1\n");
}

/* As the others do, for a process: value is `u` and an integer or `n` and nanoseconds. */
static void expect_of_process(const struct process_names *names, const char *name,
                              const char *label, const char *label_value, char kind, uint64_t value)
{
    fprintf(expected, "%s\tpid=", name);
    expect_label(span_from_str(names->pid));
    fprintf(expected, ",comm=");
    expect_label(names->comm);
    fprintf(expected, ",group=");
    expect_label(names->group);
    if (label) {
        fprintf(expected, ",%s=", label);
        expect_label(span_from_str(label_value));
    }
    fprintf(expected, "\t%c%" PRIu64 "\n", kind, value);
}

static void expect_one_process(const struct snapshot_process *r, const struct process_names *names)
{
    static const struct {
        bool counter;
        unsigned field;
        const char *name, *label, *label_value;
        char kind;
    } rows[] = {
        {true, COUNTER_CPU_USER_NS, "cpu_seconds_total", "mode", "user", 'n'},
        {true, COUNTER_CPU_SYSTEM_NS, "cpu_seconds_total", "mode", "system", 'n'},
        {true, COUNTER_MAJOR_FAULTS, "major_page_faults_total", NULL, NULL, 'u'},
        {true, COUNTER_STORAGE_READ_BYTES, "storage_read_bytes_total", NULL, NULL, 'u'},
        {true, COUNTER_STORAGE_WRITE_BYTES, "storage_written_bytes_total", NULL, NULL, 'u'},
        {false, GAUGE_RESIDENT_ANON_BYTES, "resident_memory_bytes", "kind", "anon", 'u'},
        {false, GAUGE_RESIDENT_FILE_BYTES, "resident_memory_bytes", "kind", "file", 'u'},
        {false, GAUGE_RESIDENT_SHMEM_BYTES, "resident_memory_bytes", "kind", "shmem", 'u'},
        {false, GAUGE_SWAP_BYTES, "swap_bytes", NULL, NULL, 'u'},
        {false, GAUGE_OPEN_FDS, "open_fds", NULL, NULL, 'u'},
        {false, GAUGE_THREADS, "threads", NULL, NULL, 'u'},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t have = rows[i].counter ? r->have_counters : r->have_gauges;
        char name[128];

        if (!(have & UINT32_C(1) << rows[i].field))
            continue;
        snprintf(name, sizeof(name), "proctally_process_%s", rows[i].name);
        expect_of_process(names, name, rows[i].label, rows[i].label_value, rows[i].kind,
                          rows[i].counter ? r->counter[rows[i].field] : r->gauge[rows[i].field]);
    }
    if (r->start_ns)
        expect_of_process(names, "proctally_process_start_time_seconds", NULL, NULL, 'n',
                          r->start_ns);
}

/* The same group under its other names: `field` is one of a counter or a gauge. */
static void expect_compat_field(const struct snapshot_group *g, const char *name, uint32_t have,
                                unsigned field, const uint64_t *values, const char *label,
                                const char *label_value, char kind)
{
    if (!(have & UINT32_C(1) << field))
        return;
    fprintf(expected, "namedprocess_namegroup_%s\tgroupname=", name);
    expect_label(g->name);
    if (label) {
        fprintf(expected, ",%s=", label);
        expect_label(span_from_str(label_value));
    }
    fprintf(expected, "\t%c%" PRIu64 "\n", kind, values[field]);
}

static void expect_compat_counters(const struct snapshot_group *g)
{
    static const struct {
        unsigned field;
        const char *name, *label, *label_value;
        char kind;
    } rows[] = {
        {COUNTER_CPU_USER_NS, "cpu_seconds_total", "mode", "user", 'n'},
        {COUNTER_CPU_SYSTEM_NS, "cpu_seconds_total", "mode", "system", 'n'},
        {COUNTER_MINOR_FAULTS, "minor_page_faults_total", NULL, NULL, 'u'},
        {COUNTER_MAJOR_FAULTS, "major_page_faults_total", NULL, NULL, 'u'},
        {COUNTER_STORAGE_READ_BYTES, "read_bytes_total", NULL, NULL, 'u'},
        {COUNTER_STORAGE_WRITE_BYTES, "write_bytes_total", NULL, NULL, 'u'},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_compat_field(g, rows[i].name, g->values.have_counters, rows[i].field,
                            g->values.counter, rows[i].label, rows[i].label_value, rows[i].kind);
}

static void expect_compat_gauges(const struct snapshot_group *g)
{
    const struct group_values *v = &g->values;
    const uint64_t resident[] = {v->gauge[GAUGE_RESIDENT_ANON_BYTES],
                                 v->gauge[GAUGE_RESIDENT_FILE_BYTES],
                                 v->gauge[GAUGE_RESIDENT_SHMEM_BYTES]};
    uint64_t sum = 0;
    bool known = true;

    for (unsigned i = 0; i < 3; i++) {
        known = known && gauge_known(g, GAUGE_RESIDENT_ANON_BYTES + i);
        sum = sum > UINT64_MAX - resident[i] ? UINT64_MAX : sum + resident[i];
    }
    expect_compat_field(g, "memory_bytes", known, 0, &sum, "memtype", "resident", 'u');
    expect_compat_field(g, "memory_bytes", v->have_gauges, GAUGE_VIRTUAL_BYTES, v->gauge, "memtype",
                        "virtual", 'u');
    expect_compat_field(g, "memory_bytes", v->have_gauges, GAUGE_SWAP_BYTES, v->gauge, "memtype",
                        "swapped", 'u');
    expect_compat_field(g, "memory_bytes", v->have_gauges, GAUGE_PROPORTIONAL_BYTES, v->gauge,
                        "memtype", "proportionalResident", 'u');
    expect_compat_field(g, "num_threads", v->have_gauges, GAUGE_THREADS, v->gauge, NULL, NULL, 'u');
    expect_compat_field(g, "open_filedesc", v->have_gauges, GAUGE_OPEN_FDS, v->gauge, NULL, NULL,
                        'u');
}

static void expect_compat(const struct snapshot_group *g)
{
    static const char *const states[] = {"Running", "Sleeping", "Waiting", "Zombie", "Other"};
    const struct group_values *v = &g->values;
    const uint64_t n[] = {v->state[0], v->state[1], v->state[2], v->state[4],
                          v->state[3] + v->state[5]};

    expect_compat_field(g, "num_procs", 1, 0, &v->processes, NULL, NULL, 'u');
    for (unsigned i = 0; i < 5; i++)
        expect_compat_field(g, "states", UINT32_MAX, i, n, "state", states[i], 'u');
    expect_compat_field(g, "oldest_start_time_seconds", v->oldest_start_ns != 0, 0,
                        &v->oldest_start_ns, NULL, NULL, 'n');
    if (v->worst_fds_ratio >= 0) {
        fprintf(expected, "namedprocess_namegroup_worst_fd_ratio\tgroupname=");
        expect_label(g->name);
        fprintf(expected, "\td%a\n", v->worst_fds_ratio);
    }
    expect_compat_counters(g);
    expect_compat_gauges(g);
}

static void expect_cpu(const struct cpu_times *t, const char *cpu)
{
    static const char *const modes[] = {"user", "nice",    "system", "idle",  "iowait",
                                        "irq",  "softirq", "steal",  "guest", "guest_nice"};

    for (unsigned i = 0; i < t->columns; i++) {
        if (cpu)
            expect_ns(NULL, t->ns[i], "proctally_host_per_cpu_seconds_total", "cpu", cpu, "mode",
                      modes[i], NULL);
        else
            expect_ns(NULL, t->ns[i], "proctally_host_cpu_seconds_total", "mode", modes[i], NULL);
    }
}

static void expect_host(const struct host *h)
{
    static const char *const fields[][2] = {
        [HOST_BOOT_TIME_SECONDS] = {"proctally_host_boot_time_seconds"},
        [HOST_CONTEXT_SWITCHES] = {"proctally_host_context_switches_total"},
        [HOST_INTERRUPTS] = {"proctally_host_interrupts_total"},
        [HOST_TASKS_CREATED] = {"proctally_host_tasks_created_total"},
        [HOST_PROCESSES_RUNNING] = {"proctally_host_processes_running"},
        [HOST_PROCESSES_BLOCKED] = {"proctally_host_processes_blocked"},
        [HOST_TASKS] = {"proctally_host_tasks"},
        [HOST_PID_MAX] = {"proctally_host_tasks_limit", "pid_max"},
        [HOST_THREADS_MAX] = {"proctally_host_tasks_limit", "threads_max"},
        [HOST_OPEN_FILES] = {"proctally_host_open_files"},
        [HOST_OPEN_FILES_LIMIT] = {"proctally_host_open_files_limit"},
        [HOST_MAX_MAP_COUNT] = {NULL},
    };
    static const char *const vectors[] = {"hi",       "timer",   "net_tx", "net_rx",  "block",
                                          "irq_poll", "tasklet", "sched",  "hrtimer", "rcu"};

    for (unsigned i = 0; i < HOST_FIELD_N; i++)
        if (fields[i][0] && h->have & UINT32_C(1) << i)
            expect_u64(NULL, h->field[i], fields[i][0], fields[i][1] ? "limit" : NULL, fields[i][1],
                       NULL);
    for (unsigned i = 0; i < h->softirqs; i++)
        expect_u64(NULL, h->softirq[i], "proctally_host_softirqs_total", "vector", vectors[i],
                   NULL);
    expect_cpu(&h->cpu, NULL);
    for (size_t i = 0; i < h->n_cpus; i++) {
        char cpu[16];

        snprintf(cpu, sizeof(cpu), "%" PRIu32, h->cpus[i].cpu);
        expect_cpu(&h->cpus[i].times, cpu);
    }
}

static void expect_process(const struct self *s)
{
    static const char *const names[] = {
        [SELF_OPEN_FDS] = "process_open_fds",
        [SELF_MAX_FDS] = "process_max_fds",
        [SELF_VIRTUAL_BYTES] = "process_virtual_memory_bytes",
        [SELF_VIRTUAL_MAX_BYTES] = "process_virtual_memory_max_bytes",
        [SELF_RESIDENT_BYTES] = "process_resident_memory_bytes",
        [SELF_THREADS] = "process_threads",
    };

    for (unsigned i = 0; i < SELF_PROCESS_FIELD_N; i++) {
        if (!(s->have_process & UINT32_C(1) << i))
            continue;
        if (i == SELF_CPU_NS)
            expect_ns(NULL, s->process[i], "process_cpu_seconds_total", NULL);
        else if (i == SELF_START_TIME_NS)
            expect_ns(NULL, s->process[i], "process_start_time_seconds", NULL);
        else
            expect_u64(NULL, s->process[i], names[i], NULL);
    }
}

static void expect_self_tables(const struct self *s)
{
    for (unsigned i = 0; i < PHASE_N; i++)
        expect_ns(NULL, s->phase_ns[i], "proctally_snapshot_duration_seconds", "phase",
                  phase_name(i), NULL);
    for (unsigned i = 0; i < CYCLE_FAILURE_N; i++)
        expect_u64(NULL, s->failures[i], "proctally_snapshot_failures_total", "reason",
                   cycle_failure_name(i), NULL);
    for (unsigned i = 0; i < PART_N; i++)
        /* No family reads texts. */
        if ((i != PART_EXE && i != PART_CMDLINE) ? i != PART_TASK || s->reads_threads
                                                 : s->rule_parts & part_bit(i))
            expect_u64(NULL, s->unread_processes[i], "proctally_unread_processes", "part",
                       part_name(i), NULL);
    for (unsigned i = 0; i < COUNTER_N; i++)
        if (i < COUNTER_RUN_QUEUE_NS || s->reads_threads)
            expect_u64(NULL, s->steps_back[i], "proctally_steps_back_total", "field",
                       counter_name(i), NULL);
    for (unsigned i = 0; i < FAULT_FILE_N; i++)
        for (unsigned j = 0; j < FAULT_REASON_N; j++)
            if (s->read_faults[i][j])
                expect_u64(NULL, s->read_faults[i][j], "proctally_read_errors_total", "file",
                           fault_file_name(i), "reason", fault_reason_name(j), NULL);
    for (unsigned i = 0; i < HTTP_PATH_N; i++)
        for (unsigned j = 0; j < HTTP_CODE_N; j++)
            if (s->http_requests[i][j])
                expect_u64(NULL, s->http_requests[i][j], "proctally_http_requests_total", "path",
                           http_path_name(i), "code", http_code_name(j), NULL);
}

static void expect_self(const struct snapshot *snapshot)
{
    const struct self *s = &snapshot->self;

    expect_u64(NULL, snapshot->up, "proctally_up", NULL);
    expect_u64(NULL, 1, "proctally_build_info", "version", s->version, "revision", s->revision,
               "libmicrohttpd", "", NULL);
    expect_u64(NULL, 1, "proctally_source_info", "source", s->source, "reason", s->source_reason,
               NULL);
    if (s->snapshot_time_ns)
        expect_ns(NULL, s->snapshot_time_ns, "proctally_snapshot_timestamp_seconds", NULL);
    if (s->interval_ns)
        expect_ns(NULL, s->interval_ns, "proctally_collector_interval_seconds", NULL);
    expect_u64(NULL, s->snapshots, "proctally_snapshots_total", NULL);
    expect_u64(NULL, s->processes, "proctally_processes", NULL);
    expect_u64(NULL, s->excluded_processes, "proctally_excluded_processes", NULL);
    expect_u64(NULL, s->pending_processes, "proctally_pending_processes", NULL);
    expect_u64(NULL, s->other_assignments, "proctally_other_assignments_total", NULL);
    expect_u64(NULL, s->quarantined_processes, "proctally_quarantined_processes", NULL);
    expect_u64(NULL, s->slow_reads, "proctally_slow_reads_total", NULL);
    expect_u64(NULL, s->lost_end_records, "proctally_lost_end_records_total", NULL);
    expect_u64(NULL, s->searches_given_up, "proctally_rule_searches_given_up_total", NULL);
    expect_u64(NULL, s->reload_successful, "proctally_config_last_reload_successful", NULL);
    if (s->reload_success_time_ns)
        expect_ns(NULL, s->reload_success_time_ns,
                  "proctally_config_last_reload_success_timestamp_seconds", NULL);
    expect_self_tables(s);
    expect_process(s);
}

static void expect_all(const struct snapshot *s, const struct info_labels *infos,
                       const struct process_names *names)
{
    expect_self(s);
    if (!s->up)
        return;
    expect_host(&s->host);
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct snapshot_group *g = &s->groups[i];

        expect_group(g);
        expect_info(g, &infos[i]);
        expect_compat(g);
        expect_thread_switches(g);
        for (size_t k = 0; k < g->n_threads; k++)
            expect_thread(g, &g->threads[k].values, thread_names[i][k]);
    }
    for (size_t i = 0; i < s->n_processes; i++)
        expect_one_process(&s->processes[i], &names[i]);
}

int main(int argc, char **argv)
{
    static struct snapshot_group groups[GROUPS_MAX];
    static struct info_labels infos[GROUPS_MAX];
    static struct snapshot_process processes[PROCESSES_MAX];
    static struct process_names names[PROCESSES_MAX];
    static struct cpu_row cpus[CPUS_MAX];
    static struct snapshot s;
    struct arena arena;
    struct buf out;

    expected = fdopen(3, "w");
    if (argc != 3 || !expected)
        return 2;
    random_state = strtoull(argv[1], NULL, 10);
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 22);
    s.groups = groups;
    s.n_groups = random_u64() % (GROUPS_MAX + 1);
    s.up = random_u64() % 8 != 0;
    selection_include(&s.families, SPAN_LITERAL("*"));
    random_host(&s.host, cpus);
    random_self(&s.self);
    for (unsigned i = 0; i < s.n_groups; i++) {
        random_group(&arena, &groups[i], i);
        random_info(&arena, &groups[i], &infos[i]);
    }
    s.processes = processes;
    s.n_processes = random_u64() % (PROCESSES_MAX + 1);
    for (unsigned i = 0; i < s.n_processes; i++)
        random_process(&arena, &processes[i], &names[i], i);
    render(&s, strcmp(argv[2], "text") == 0 ? FORMAT_TEXT : FORMAT_OPENMETRICS, NULL, &out);
    expect_all(&s, infos, names);
    if (buf_failed(&out) || fwrite(out.data, 1, out.len, stdout) != out.len)
        return 1;
    buf_deinit(&out);
    arena_deinit(&arena);
    return fclose(expected) || fflush(stdout) ? 1 : 0;
}
