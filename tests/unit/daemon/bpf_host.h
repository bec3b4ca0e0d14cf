#pragma once
/*
 * bpf_host - a host that is counted by the kernel, for whole cycles.
 *
 * The kernel is made up: what its programs would tell of processes comes out of struct kernel, and
 * what they would note of ends goes through the real lib/bpf. The same processes are in a tree of
 * files, for text. To be linked with --wrap of bpf_source_begin(), bpf_source_next(),
 * bpf_source_end() and bpf_source_sweep(), and of fstatfs(), so that the tree is taken for this
 * host's own /proc.
 */
#include "daemon/cycle.h"

#include "bpf/source.h"
#include "host_tree.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>

#define STARTED  GROUP_COUNTER_STARTED
#define RESTARTS GROUP_COUNTER_RESTARTS
#define EXITED   GROUP_COUNTER_EXITED
#define USER     COUNTER_CPU_USER_NS
#define SYSTEM   COUNTER_CPU_SYSTEM_NS

static const uint64_t SECOND = 1000000000u;
static const uint64_t TICK = 10000000u;

enum {
    TASKS_MAX = 512,
    UNTOLD_MAX = 64,
    GROUPS_MAX = 512,
    EXIT_FAILED = 1 << 8, /* as wait(2) has it */
    NEVER = 1000000,
};

/* ---- the kernel ---- */

struct task {
    bool alive;
    bool hidden; /* no walk comes to it */
    struct process_record record;
    uint64_t reaped_bytes; /* read by children that have ended */
};

static struct kernel {
    struct task tasks[TASKS_MAX];
    size_t n;
    size_t at;       /* of the walk under way */
    int begin_error; /* of each walk */
    int error;       /* of a walk, and at which of those it comes to */
    size_t error_at;
    unsigned walks, open;
    struct process_end untold[UNTOLD_MAX]; /* of those that exited, and are known by that alone */
    size_t n_untold;
} kernel;

int __wrap_bpf_source_begin(struct bpf_source *s);
int __wrap_bpf_source_begin(struct bpf_source *s)
{
    (void)s;
    if (kernel.begin_error)
        return kernel.begin_error;
    kernel.at = 0;
    kernel.walks++;
    kernel.open++;
    return 0;
}

int __wrap_bpf_source_next(struct bpf_source *s, struct sample *ret,
                           struct task_cgroup *ret_cgroup);
int __wrap_bpf_source_next(struct bpf_source *s, struct sample *ret, struct task_cgroup *ret_cgroup)
{
    struct look look = {.has_leader = true};

    assert_int_equal(kernel.open, 1);
    while (kernel.at < kernel.n &&
           (!kernel.tasks[kernel.at].alive || kernel.tasks[kernel.at].hidden))
        kernel.at++;
    if (kernel.at >= kernel.error_at)
        return kernel.error;
    if (kernel.at == kernel.n)
        return 0;
    look.record = kernel.tasks[kernel.at++].record;
    look.usage = look.record.task.usage;
    look.own = look.record.task.own;
    task_sample(&look, NULL, &s->units, ret);
    *ret_cgroup = (struct task_cgroup){look.record.cgroup, look.record.cgroup_set};
    return 1;
}

void __wrap_bpf_source_end(struct bpf_source *s);
void __wrap_bpf_source_end(struct bpf_source *s)
{
    (void)s;
    kernel.open = 0;
}

void __wrap_bpf_source_sweep(struct bpf_source *s, bpf_source_is_there *is_there, void *arg);
void __wrap_bpf_source_sweep(struct bpf_source *s, bpf_source_is_there *is_there, void *arg)
{
    size_t kept = 0;

    assert_int_equal(kernel.open, 0);
    for (size_t i = 0; i < kernel.n_untold; i++) {
        struct sample sample;

        task_sample_end(&(struct process_ended){kernel.untold[i]}, &s->units, &sample);
        if (is_there(arg, sample.identity))
            kernel.untold[kept++] = kernel.untold[i];
        else
            ends_take(&s->ends, &kernel.untold[i], sizeof(kernel.untold[i]));
    }
    kernel.n_untold = kept;
}

int __real_fstatfs(int fd, struct statfs *st);
int __wrap_fstatfs(int fd, struct statfs *st);
int __wrap_fstatfs(int fd, struct statfs *st)
{
    int r = __real_fstatfs(fd, st);

    st->f_type = PROC_SUPER_MAGIC;
    return r;
}

/* ---- the fixture ---- */

/* What a group's counters stood at after the last cycle. */
struct stand {
    char name[UTF8_LABEL_MAX + 1];
    uint64_t total[GROUP_COUNTER_N];
};

struct fixture {
    struct tree tree;
    struct cycle cycle;
    struct cycle_time now;
    struct bpf_source source;
    uint64_t birth_ns; /* of the next one, since boot */
    uint64_t used_ns;  /* CPU time since the daemon began, of all */
    uint64_t read_bytes;
    uint64_t slack_ns;      /* that text may show beyond what was used: it counts in ticks */
    bool text_has_children; /* what is read from text is more than was read */
    struct stand stands[GROUPS_MAX];
    size_t n_stands;
};

struct rule_text {
    const char *name, *comm, *cmdline;
    bool children;
};

static inline void add_rule(struct rules *rules, const struct rule_text *t)
{
    struct span comm = span_from_str(t->comm ? t->comm : ""),
                cmdline = span_from_str(t->cmdline ? t->cmdline : "");
    struct rule_spec spec = {.exclude = *t->name == '-',
                             .children = t->children,
                             .patterns = {[RULE_COMM] = {&comm, t->comm ? 1 : 0},
                                          [RULE_CMDLINE] = {&cmdline, t->cmdline ? 1 : 0}}};
    struct rule_fault fault;

    spec.name = span_from_str(t->name + spec.exclude);
    assert_int_equal(rules_add(rules, &spec, &fault), 0);
}

static inline void set_rules(struct fixture *h, const struct rule_text *texts, size_t n, size_t max)
{
    struct cycle_settings settings = {.groups_max = max,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = 15 * SECOND,
                                      .pss_max_bytes = UINT64_MAX};

    rules_init(&settings.rules);
    for (size_t i = 0; i < n; i++)
        add_rule(&settings.rules, &texts[i]);
    selection_default(&settings.families);
    assert_int_equal(cycle_configure(&h->cycle, &settings), 0);
}

#define RULES(h, ...)                               \
    set_rules(h, (struct rule_text[]){__VA_ARGS__}, \
              sizeof((struct rule_text[]){__VA_ARGS__}) / sizeof(struct rule_text), 1000)

static inline void open_fixture(struct fixture *h)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.error_at = NEVER;
    *h = (struct fixture){.now = {.monotonic_ns = 100 * SECOND,
                                  .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                  .boottime_ns = 5000 * SECOND},
                          .birth_ns = 5001 * SECOND,
                          .source = {.units = {100, 4096}, .fd = -1}};
    accounts_init(&h->source.accounts);
    ends_init(&h->source.ends, &h->source.accounts);
    host_tree_new(&h->tree);
    tree_text(&h->tree, "self/cgroup", "0::/\n");
    assert_int_equal(cycle_open(&h->cycle, CYCLE_DAEMON, h->tree.root, &h->now), 0);
    assert_true(h->cycle.procfs.live);
    cycle_use_bpf(&h->cycle, &h->source);
    set_rules(h, NULL, 0, 1000);
}

static inline void close_fixture(struct fixture *h)
{
    cycle_close(&h->cycle);
    ends_deinit(&h->source.ends);
    accounts_deinit(&h->source.accounts);
    tree_free(&h->tree);
}

static inline int setup(void **state)
{
    struct fixture *h = calloc(1, sizeof(*h));

    assert_non_null(h);
    open_fixture(h);
    *state = h;
    return 0;
}

static inline int teardown(void **state)
{
    close_fixture(*state);
    free(*state);
    return 0;
}

/* ---- processes ---- */

/* What is left out is 0, or: parent 1, born now. */
struct birth {
    uint32_t pid;
    const char *comm;
    uint32_t parent;
    uint64_t start_ns; /* since boot */
    uint64_t cgroup, set;
    uint32_t uid;
    uint64_t user_ns, system_ns; /* used before the daemon looks */
    uint64_t read_bytes;
    uint32_t flags; /* taken away from those of an ordinary process */
    uint32_t state;
    bool hidden;
};

static inline struct task *task_of(uint32_t pid)
{
    for (size_t i = 0; i < kernel.n; i++)
        if (kernel.tasks[i].alive && kernel.tasks[i].record.task.head.pid == pid)
            return &kernel.tasks[i];
    fail_msg("there is no process %u", pid);
    abort(); /* not reached: for compilers that do not know */
}

/* All that text says: CPU time in ticks, as the kernel scales them, and I/O of those it reaped. */
static inline void write_text(struct fixture *h, const struct task *t)
{
    const struct process_record *r = &t->record;
    const struct task_usage *u = &r->task.usage;
    uint64_t ticks = u->runtime_ns / TICK, sum = u->user_ns + u->system_ns;
    uint64_t system = sum ? ticks * u->system_ns / sum : 0;
    char comm[TASK_COMM_SIZE + 1] = {0};

    memcpy(comm, r->comm, TASK_COMM_SIZE);
    HOST_PUT(&h->tree, .pid = r->task.head.pid, .comm = comm, .state = (char)r->state,
             .parent = r->parent_pid, .start = r->start_ns / TICK, .user_ticks = ticks - system,
             .system_ticks = system, .fds = r->open_fds, .mappings = r->mappings, .uid = r->uid,
             .read_bytes = r->task.own.io[TASK_IO_READ_BYTES] + t->reaped_bytes);
    if (r->cgroup)
        tree_pid(&h->tree, r->task.head.pid, "cgroup", "0::/s%llu.service\n", r->cgroup);
}

static inline struct task_usage usage_of(uint64_t user_ns, uint64_t system_ns)
{
    return (struct task_usage){.runtime_ns = user_ns + system_ns,
                               .user_ns = user_ns,
                               .system_ns = system_ns,
                               .voluntary_switches = user_ns + system_ns > 0};
}

static inline uint64_t next_birth(struct fixture *h, uint64_t given)
{
    if (given == 0)
        h->birth_ns += TICK;
    return given ? given : h->birth_ns;
}

static inline void put_comm(char to[TASK_COMM_SIZE], const char *comm)
{
    assert_true(strlen(comm) < TASK_COMM_SIZE);
    memset(to, 0, TASK_COMM_SIZE);
    memcpy(to, comm, strlen(comm));
}

/* Born while the daemon looks it is news with all it has; else that is of an earlier time. */
static inline struct task *bear(struct fixture *h, struct birth b)
{
    struct task *t = NULL;
    struct process_record *r;

    for (size_t i = 0; i < kernel.n && !t; i++)
        if (!kernel.tasks[i].alive)
            t = &kernel.tasks[i];
    if (!t)
        t = &kernel.tasks[kernel.n++];
    assert_true(kernel.n <= TASKS_MAX);
    *t = (struct task){.alive = true, .hidden = b.hidden};
    r = &t->record;
    r->task.head = (struct record_head){RECORD_PROCESS, b.pid, (uint64_t)(t - kernel.tasks) + 1};
    r->start_ns = next_birth(h, b.start_ns);
    r->task.usage = usage_of(b.user_ns, b.system_ns);
    r->task.own.io[TASK_IO_READ_BYTES] = b.read_bytes;
    r->parent_pid = b.parent ? b.parent : b.pid != 1;
    r->cgroup = b.cgroup;
    r->cgroup_set = b.set ? b.set : b.cgroup + 100;
    r->uid = b.uid;
    r->threads = 1;
    r->open_fds = 3;
    r->open_fds_limit = 1024;
    r->mappings = 5;
    r->anon_pages = 100;
    r->state = b.state ? b.state : 'S';
    r->flags = (TASK_HAS_MEMORY | TASK_MEMORY_KNOWN | TASK_HAS_FILES | TASK_FDS_COUNTED) & ~b.flags;
    put_comm(r->comm, b.comm ? b.comm : "x");
    if (b.start_ns == 0) {
        h->used_ns += b.user_ns + b.system_ns;
        h->read_bytes += b.read_bytes;
    }
    write_text(h, t);
    return t;
}

#define BEAR(h, ...) bear(h, (struct birth){__VA_ARGS__})

/* It uses so much, and waits for so long. */
static inline void work(struct fixture *h, uint32_t pid, uint64_t user_ns, uint64_t system_ns,
                        uint64_t read_bytes)
{
    struct task *t = task_of(pid);
    struct thread_record *task = &t->record.task;

    task->usage.runtime_ns += user_ns + system_ns;
    task->usage.user_ns += user_ns;
    task->usage.system_ns += system_ns;
    task->usage.voluntary_switches++;
    task->own.run_queue_ns += 7;
    task->own.io[TASK_IO_READ_BYTES] += read_bytes;
    h->used_ns += user_ns + system_ns;
    h->read_bytes += read_bytes;
    write_text(h, t);
}

static inline struct process_end end_of(const struct task *t, uint32_t status)
{
    const struct process_record *r = &t->record;
    struct process_end end = {.task = {.head = r->task.head, .own = r->task.own},
                              .usage = r->task.usage,
                              .start_ns = r->start_ns,
                              .cgroup = r->cgroup,
                              .parent_pid = r->parent_pid,
                              .uid = r->uid,
                              .status = status};

    end.task.head.kind = RECORD_PROCESS_END;
    memcpy(end.comm, r->comm, TASK_COMM_SIZE);
    return end;
}

/* It is not there any more, and what reaped it has its I/O; its end is to be told. */
static inline struct process_end end_process(struct fixture *h, uint32_t pid, uint32_t status)
{
    struct task *t = task_of(pid);
    struct process_end end = end_of(t, status);

    t->alive = false;
    host_tree_take(&h->tree, pid);
    for (size_t i = 0; i < kernel.n; i++) {
        struct task *parent = &kernel.tasks[i];

        if (!parent->alive || parent->record.task.head.pid != t->record.parent_pid)
            continue;
        parent->reaped_bytes += t->record.task.own.io[TASK_IO_READ_BYTES] + t->reaped_bytes;
        write_text(h, parent);
    }
    return end;
}

static inline void tell(struct fixture *h, struct process_end end)
{
    ends_take(&h->source.ends, &end, sizeof(end));
}

/* The kernel does not tell of it, but knew it when it exited. */
static inline void leave_untold(struct process_end end)
{
    assert_true(kernel.n_untold < UNTOLD_MAX);
    kernel.untold[kernel.n_untold++] = end;
}

static inline void end_and_tell(struct fixture *h, uint32_t pid, uint32_t status)
{
    tell(h, end_process(h, pid, status));
}

/* One that no cycle sees. */
struct passer {
    uint32_t pid;
    const char *comm;
    uint32_t parent;
    uint64_t start_ns;
    uint64_t cgroup;
    uint64_t user_ns, system_ns, read_bytes;
    uint32_t status;
};

static inline struct process_end pass(struct fixture *h, struct passer p)
{
    struct process_end end = {
        .task = {.head = {RECORD_PROCESS_END, p.pid, 1000000u + p.pid},
                 .own = {.run_queue_ns = 7, .io = {[TASK_IO_READ_BYTES] = p.read_bytes}}},
        .usage = usage_of(p.user_ns, p.system_ns),
        .start_ns = next_birth(h, p.start_ns),
        .cgroup = p.cgroup,
        .parent_pid = p.parent ? p.parent : 1,
        .status = p.status,
    };

    put_comm(end.comm, p.comm ? p.comm : "x");
    if (p.start_ns == 0) {
        h->used_ns += p.user_ns + p.system_ns;
        h->read_bytes += p.read_bytes;
    }
    return end;
}

#define PASS(h, ...) tell(h, pass(h, (struct passer){__VA_ARGS__}))

/* ---- what comes of it ---- */

static const struct group *find_group(const struct fixture *h, const char *name)
{
    for (size_t i = 0; i < h->cycle.groups.n_order; i++) {
        uint32_t group = h->cycle.groups.order[i];

        if (span_equal(group_name(&h->cycle.groups, group), span_from_str(name)))
            return &h->cycle.groups.groups[group];
    }
    return NULL;
}

static const struct group *group(const struct fixture *h, const char *name)
{
    const struct group *g = find_group(h, name);

    if (!g) {
        fail_msg("there is no group %s", name);
        abort(); /* not reached: for compilers that do not know */
    }
    return g;
}

static inline uint64_t total(const struct fixture *h, const char *name, unsigned counter)
{
    return group(h, name)->total[counter];
}

static inline uint64_t cpu(const struct fixture *h, const char *name)
{
    return total(h, name, USER) + total(h, name, SYSTEM);
}

static inline uint64_t exits(const struct fixture *h, const char *name)
{
    uint64_t n = 0;

    for (unsigned r = 0; r < EXIT_REASON_N; r++)
        n += total(h, name, EXITED + r);
    return n;
}

/* Over all groups. */
static inline uint64_t sum(const struct fixture *h, unsigned counter)
{
    uint64_t n = 0;

    for (size_t i = 0; i < h->cycle.groups.n_order; i++)
        n += h->cycle.groups.groups[h->cycle.groups.order[i]].total[counter];
    return n;
}

static inline uint64_t sum_exits(const struct fixture *h)
{
    uint64_t n = 0;

    for (unsigned r = 0; r < EXIT_REASON_N; r++)
        n += sum(h, EXITED + r);
    return n;
}

static inline struct stand *stand_of(struct fixture *h, uint32_t group)
{
    struct span name = group_name(&h->cycle.groups, group);

    for (size_t i = 0; i < h->n_stands; i++)
        if (span_equal(span_from_str(h->stands[i].name), name))
            return &h->stands[i];
    assert_true(h->n_stands < GROUPS_MAX);
    memcpy(h->stands[h->n_stands].name, name.p, name.n);
    return &h->stands[h->n_stands++];
}

/* No counter of any group falls, and all together hold no more than was used. */
static inline void check_counters(struct fixture *h)
{
    for (size_t i = 0; i < h->cycle.groups.n_order && h->n_stands < GROUPS_MAX; i++) {
        uint32_t number = h->cycle.groups.order[i];
        const struct group *g = &h->cycle.groups.groups[number];
        struct stand *stand = stand_of(h, number);

        for (unsigned k = 0; k < GROUP_COUNTER_N; k++)
            if (g->total[k] < stand->total[k])
                fail_msg("%s: counter %u fell from %lu to %lu", stand->name, k, stand->total[k],
                         g->total[k]);
        memcpy(stand->total, g->total, sizeof(stand->total));
    }
    assert_true(sum(h, USER) + sum(h, SYSTEM) <= h->used_ns + h->slack_ns);
    if (!h->text_has_children)
        assert_true(sum(h, COUNTER_STORAGE_READ_BYTES) <= h->read_bytes);
    assert_int_equal(kernel.open, 0);
}

static inline int try_run(struct fixture *h)
{
    int r;

    h->now.monotonic_ns += 10 * SECOND;
    h->now.boottime_ns += 10 * SECOND;
    h->now.realtime_ns += 10 * SECOND;
    h->birth_ns = h->now.boottime_ns + SECOND;
    r = cycle_run(&h->cycle, &h->now);
    check_counters(h);
    return r;
}

static inline void run(struct fixture *h)
{
    assert_int_equal(try_run(h), 0);
}

static inline void run_times(struct fixture *h, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        run(h);
}

/* Until the prober has answered everything. */
static inline void settle(struct fixture *h)
{
    for (int i = 0; cycle_between(&h->cycle, h->now.monotonic_ns) != UINT64_MAX; i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
}

/* init and a group's only member, both there before the daemon, and counted once. */
static inline void begin_with_web(struct fixture *h)
{
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    BEAR(h, .pid = 10, .comm = "web", .start_ns = 50 * SECOND, .user_ns = 5 * SECOND,
         .system_ns = SECOND, .read_bytes = 4096);
    run(h);
}
