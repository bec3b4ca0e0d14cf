#pragma once
/*
 * membership_cycles - where processes count, over cycles, with a real table and real rules.
 *
 * A process is described at each look by struct who; what of it is expected or lost as well. A
 * cycle is begin(), LOOK() per process, end(); FORESEE() is between two looks. User CPU time stands
 * for all counters.
 */
#include "group/membership.h"

#include "check.h"

#define BIT(n)   (UINT32_C(1) << (n))
#define CPU      COUNTER_CPU_USER_NS
#define READ     COUNTER_STORAGE_READ_BYTES
#define STARTED  GROUP_COUNTER_STARTED
#define RESTARTS GROUP_COUNTER_RESTARTS
#define EXITED   (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN)

#define TEXTS (BIT(SUBJECT_EXE) | BIT(SUBJECT_CMDLINE))

static const uint64_t SECOND = 1000000000u;

static const struct wanted wanted = {.parts = BIT(PART_STAT), .counters = BIT(CPU) | BIT(READ)};

/* What is left out is 0, empty, or: comm "x", no parent. */
struct who {
    uint32_t pid;
    uint64_t start;
    uint32_t parent;
    const char *comm;
    uint64_t cpu;
    const char *exe, *cmdline, *user, *session;
    uint32_t expected, lost;
    bool kernel_thread;
    bool changed; /* other than by its comm */
    bool refused; /* its storage reads */
};

/* A rule of at most one pattern per key; a name that begins with `-` excludes. */
struct rule_text {
    const char *name, *comm, *exe, *user, *cmdline;
    bool children;
};

struct fixture {
    struct table table;
    struct groups groups;
    uint64_t now_ns;
    uint64_t forget_ns;
    size_t max;
    struct cgroup_identity session; /* of those that have one */
    bool awaits;                    /* ends are told, some time; see tell() */
    enum standing standing;         /* of the last look */
    uint32_t news;                  /* the process looked at for the first time; or TABLE_NONE */
};

static inline struct span text(const char *s)
{
    return span_from_str(s ? s : "");
}

static inline void add_rule(struct rules *rules, const struct rule_text *t)
{
    struct span comm = text(t->comm), exe = text(t->exe), user = text(t->user),
                cmdline = text(t->cmdline);
    struct rule_spec spec = {.exclude = *t->name == '-',
                             .children = t->children,
                             .patterns = {[RULE_COMM] = {&comm, t->comm ? 1 : 0},
                                          [RULE_EXE] = {&exe, t->exe ? 1 : 0},
                                          [RULE_USER] = {&user, t->user ? 1 : 0},
                                          [RULE_CMDLINE] = {&cmdline, t->cmdline ? 1 : 0}}};
    struct rule_fault fault;

    spec.name = text(t->name + spec.exclude);
    assert_int_equal(rules_add(rules, &spec, &fault), 0);
}

static inline void set_rules(struct fixture *f, const struct rule_text *texts, size_t n)
{
    struct rules rules;

    rules_init(&rules);
    for (size_t i = 0; i < n; i++)
        add_rule(&rules, &texts[i]);
    assert_int_equal(groups_set_rules(&f->groups, &rules, f->max, f->forget_ns), 0);
}

#define RULES(f, ...)                               \
    set_rules(f, (struct rule_text[]){__VA_ARGS__}, \
              sizeof((struct rule_text[]){__VA_ARGS__}) / sizeof(struct rule_text))

/* Texts decide of whose comm is `app`; everybody else has the default. */
static const struct rule_text app_rule = {
    .name = "app-${1}", .comm = "app", .cmdline = "-n (\\w+)"};

/* And whose comm is `lead` has its children with it, in a group by name or by texts. */
static const struct rule_text lead_rule = {.name = "web", .comm = "lead", .children = true};
static const struct rule_text leads_rule = {
    .name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true};

static inline void begin(struct fixture *f)
{
    f->now_ns += 10 * SECOND;
    table_begin(&f->table, 0);
    groups_begin(&f->groups);
}

static inline void subject_of(struct fixture *f, const struct who *w, struct subject *ret)
{
    *ret = (struct subject){.comm = text(w->comm ? w->comm : "x"),
                            .exe = text(w->exe),
                            .cmdline = text(w->cmdline),
                            .user = text(w->user),
                            .session_user = text(w->session),
                            .kernel_thread = w->kernel_thread,
                            .expected = w->expected,
                            .lost = w->lost};
    if (w->session || (w->expected & BIT(SUBJECT_SESSION_USER)))
        ret->cgroup = &f->session;
}

static inline struct kin kin_of(const struct fixture *f, const struct who *w)
{
    uint32_t parent;

    if (w->parent == 0)
        return (struct kin){0};
    parent = table_find_parent(&f->table, w->parent, w->start);
    return (struct kin){
        .parent = parent == TABLE_NONE ? NULL : table_process(&f->table, parent),
        .parent_expected = parent == TABLE_NONE &&
                           table_find(&f->table, (struct identity){w->pid, w->start}) == f->news,
    };
}

static inline void sample_of(const struct who *w, struct sample *ret)
{
    struct span comm = text(w->comm ? w->comm : "x");

    *ret = (struct sample){.identity = {w->pid, w->start},
                           .parent_pid = w->parent,
                           .kernel_thread = w->kernel_thread,
                           .comm_len = (uint8_t)comm.n};
    memcpy(ret->comm, comm.p, comm.n);
    sample_set_counter(ret, CPU, w->cpu);
    if (!w->refused)
        sample_set_counter(ret, READ, w->cpu);
}

static inline int try_look(struct fixture *f, struct who w)
{
    struct subject subject;
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct sample s;
    struct kin kin;
    uint32_t ref;
    int r;

    sample_of(&w, &s);
    assert_int_equal(table_see(&f->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta), 0);
    p = table_process(&f->table, ref);
    if (p->renamed || w.changed)
        groups_changed(&f->groups, p);
    subject_of(f, &w, &subject);
    f->news = sighting == SIGHTING_KNOWN ? TABLE_NONE : ref;
    kin = kin_of(f, &w);
    r = groups_place(&f->groups, p, sighting, &delta,
                     groups_must_decide(&f->groups, p, sighting) ? &subject : NULL, &kin);
    if (r < 0) {
        if (!groups_took_delta(p, sighting))
            table_unsee(&f->table, ref, sighting, &delta);
        return r;
    }
    groups_add(&f->groups, p, &s, sighting, 0, 0);
    f->standing = (enum standing)p->membership.now.standing;
    return r;
}

static inline void look(struct fixture *f, struct who w, int expected)
{
    assert_int_equal(try_look(f, w), expected);
}

#define TRY_LOOK(f, ...)   try_look(f, (struct who){__VA_ARGS__})
#define LOOK(f, ...)       look(f, (struct who){__VA_ARGS__}, GROUPS_DECIDED)
#define LOOK_LATER(f, ...) look(f, (struct who){__VA_ARGS__}, GROUPS_LATER)

static inline struct process *known(const struct fixture *f, struct who w)
{
    uint32_t ref = table_find(&f->table, (struct identity){w.pid, w.start});

    assert_int_not_equal(ref, TABLE_NONE);
    return table_process(&f->table, ref);
}

static inline int foresee(struct fixture *f, struct who w)
{
    struct process *p = known(f, w);
    struct subject subject;
    struct kin kin = kin_of(f, &w);

    subject_of(f, &w, &subject);
    return groups_foresee(&f->groups, p, &subject, &kin);
}

#define FORESEE(f, ...)       assert_int_equal(foresee(f, (struct who){__VA_ARGS__}), GROUPS_DECIDED)
#define FORESEE_LATER(f, ...) assert_int_equal(foresee(f, (struct who){__VA_ARGS__}), GROUPS_LATER)

/* Who was told of has ended; the others leave, where ends are told. */
static inline void end_process(struct fixture *f, uint32_t ref)
{
    struct process *p = table_process(&f->table, ref);

    if (f->awaits && !p->end_told) {
        groups_leave(&f->groups, p);
        table_await_end(&f->table, ref, f->now_ns);
        return;
    }
    groups_exit(&f->groups, p, p->end_told ? (enum exit_reason)p->end_reason : EXIT_REASON_UNKNOWN);
}

/* As the cycle does it, with nothing known of those that ended but what the table has. */
static inline int try_end(struct fixture *f)
{
    uint32_t ref;
    int r = 0;

    for (size_t at = 0; r == 0 && (ref = table_next_ended(&f->table, &at)) != TABLE_NONE;) {
        struct process *p = table_process(&f->table, ref);
        struct subject subject = {.comm = span_of(p->comm, p->comm_len), .expected = TEXTS};
        struct kin kin =
            kin_of(f, &(struct who){.parent = p->parent_pid, .start = p->identity.start_ticks});

        r = groups_place_ended(&f->groups, p,
                               groups_ends_undecided(&f->groups, p) ? &subject : NULL, &kin);
    }
    if (r < 0) {
        table_abort(&f->table);
        return r;
    }
    table_end(&f->table);
    for (size_t at = 0; (ref = table_next_ended(&f->table, &at)) != TABLE_NONE;)
        end_process(f, ref);
    groups_end(&f->groups, f->now_ns);
    return 0;
}

static inline void end(struct fixture *f)
{
    assert_int_equal(try_end(f), 0);
}

/* The end of a known process, with its last totals; within a cycle, or not. */
static inline void tell(struct fixture *f, struct who w, enum exit_reason reason)
{
    uint32_t ref = table_find(&f->table, (struct identity){w.pid, w.start});
    struct process *p = known(f, w);
    struct delta delta;
    struct sample s;

    sample_of(&w, &s);
    assert_true(table_see_end(&f->table, ref, &s, &wanted, &delta));
    p->end_reason = (uint8_t)reason;
    groups_take_last(&f->groups, p, &delta);
    if (!p->awaited)
        return;
    groups_exit(&f->groups, p, reason);
    table_forget(&f->table, ref);
}

#define TELL(f, reason, ...) tell(f, (struct who){__VA_ARGS__}, EXIT_REASON_##reason)

static inline void setup(struct fixture *f)
{
    *f = (struct fixture){.now_ns = 1000 * SECOND, .forget_ns = 3600 * SECOND, .max = 100};
    f->session = (struct cgroup_identity){.has_session = true, .session_uid = 1000};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, GROUPS_AT_ONCE);
    set_rules(f, &app_rule, 1);
}

/* In most tests pid 1 is there in every cycle, so that all who come later are news. */
static inline void begin_with_init(struct fixture *f)
{
    begin(f);
    LOOK(f, .pid = 1, .comm = "init");
}

static inline void cycle_of_init(struct fixture *f)
{
    begin_with_init(f);
    end(f);
}

static inline void teardown(struct fixture *f)
{
    for (size_t i = 0; i < f->table.n_processes; i++)
        if (f->table.processes[i].seen + 1 < f->table.cycle && !f->table.processes[i].awaited)
            assert_int_equal(f->table.processes[i].membership.now.standing, STANDING_NONE);
    groups_deinit(&f->groups);
    table_deinit(&f->table);
}

static inline struct group *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->groups.n_order; i++)
        if (span_equal(group_name(&f->groups, f->groups.order[i]), span_from_str(name)))
            return &f->groups.groups[f->groups.order[i]];
    return NULL;
}

static inline struct group *group(const struct fixture *f, const char *name)
{
    struct group *g = find(f, name);

    if (!g) {
        fail_msg("there is no group %s", name);
        abort(); /* not reached: for compilers that do not know */
    }
    return g;
}

static inline void check_group(const struct fixture *f, const char *name, uint64_t members,
                               uint64_t cpu, uint64_t started, uint64_t exited)
{
    const struct group *g = group(f, name);

    if (g->members != members || g->total[CPU] != cpu || g->total[STARTED] != started ||
        g->total[EXITED] != exited)
        fail_msg("%s: members %llu, cpu %llu, started %llu, exited %llu", name,
                 (unsigned long long)g->members, (unsigned long long)g->total[CPU],
                 (unsigned long long)g->total[STARTED], (unsigned long long)g->total[EXITED]);
}

static inline uint64_t restarts(const struct fixture *f, const char *name)
{
    return group(f, name)->total[RESTARTS];
}

static inline uint64_t exits(const struct fixture *f, const char *name, enum exit_reason reason)
{
    return group(f, name)->total[GROUP_COUNTER_EXITED + reason];
}

static inline uint64_t all_exits(const struct fixture *f, const char *name)
{
    uint64_t n = 0;

    for (enum exit_reason r = 0; r < EXIT_REASON_N; r++)
        n += exits(f, name, r);
    return n;
}

/* Nothing is held and nothing claimed but for these. */
static inline void check_waiting(const struct fixture *f, size_t held, size_t claims)
{
    size_t n = 0;

    for (size_t i = 0; i < f->groups.n_groups; i++)
        n += f->groups.groups[i].used ? f->groups.groups[i].claims : 0;
    assert_int_equal(f->groups.held.n_used, held);
    assert_int_equal(n, claims);
}
