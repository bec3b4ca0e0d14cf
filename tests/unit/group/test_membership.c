/*
 * Where processes count, over cycles, with a real table and real rules.
 *
 * A process is described at each look by struct who; what of it is expected or lost as well. A
 * cycle is begin(), LOOK() per process, end(); FORESEE() is between two looks. User CPU time stands
 * for all counters. Linked with --wrap=realloc, to have no memory.
 */
#include "group/membership.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>

#define BIT(n)   (UINT32_C(1) << (n))
#define CPU      COUNTER_CPU_USER_NS
#define READ     COUNTER_STORAGE_READ_BYTES
#define STARTED  GROUP_COUNTER_STARTED
#define RESTARTS GROUP_COUNTER_RESTARTS
#define EXITED   (GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN)

#define TEXTS (BIT(SUBJECT_EXE) | BIT(SUBJECT_CMDLINE))

static const uint64_t SECOND = 1000000000u;

static const struct wanted wanted = {.parts = BIT(PART_STAT), .counters = BIT(CPU) | BIT(READ)};

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

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

static struct span text(const char *s)
{
    return span_from_str(s ? s : "");
}

static void add_rule(struct rules *rules, const struct rule_text *t)
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

static void set_rules(struct fixture *f, const struct rule_text *texts, size_t n)
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

static void begin(struct fixture *f)
{
    f->now_ns += 10 * SECOND;
    table_begin(&f->table, 0);
    groups_begin(&f->groups);
}

static void subject_of(struct fixture *f, const struct who *w, struct subject *ret)
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

static struct kin kin_of(const struct fixture *f, const struct who *w)
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

static void sample_of(const struct who *w, struct sample *ret)
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

static int try_look(struct fixture *f, struct who w)
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

static void look(struct fixture *f, struct who w, int expected)
{
    assert_int_equal(try_look(f, w), expected);
}

#define LOOK(f, ...)       look(f, (struct who){__VA_ARGS__}, GROUPS_DECIDED)
#define LOOK_LATER(f, ...) look(f, (struct who){__VA_ARGS__}, GROUPS_LATER)

static struct process *known(const struct fixture *f, struct who w)
{
    uint32_t ref = table_find(&f->table, (struct identity){w.pid, w.start});

    assert_int_not_equal(ref, TABLE_NONE);
    return table_process(&f->table, ref);
}

static int foresee(struct fixture *f, struct who w)
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
static void end_process(struct fixture *f, uint32_t ref)
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
static int try_end(struct fixture *f)
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

static void end(struct fixture *f)
{
    assert_int_equal(try_end(f), 0);
}

/* pid 1 is there in every test's first cycle, so that all later ones are news. */
static void setup(struct fixture *f)
{
    *f = (struct fixture){.now_ns = 1000 * SECOND, .forget_ns = 3600 * SECOND, .max = 100};
    f->session = (struct cgroup_identity){.has_session = true, .session_uid = 1000};
    table_init(&f->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&f->groups, GROUPS_AT_ONCE);
    set_rules(f, &app_rule, 1);
}

static void first_cycle(struct fixture *f)
{
    begin(f);
    LOOK(f, .pid = 1, .comm = "init");
    end(f);
}

static void teardown(struct fixture *f)
{
    for (size_t i = 0; i < f->table.n_processes; i++)
        if (f->table.processes[i].seen + 1 < f->table.cycle && !f->table.processes[i].awaited)
            assert_int_equal(f->table.processes[i].membership.now.standing, STANDING_NONE);
    groups_deinit(&f->groups);
    table_deinit(&f->table);
}

static struct group *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->groups.n_order; i++)
        if (span_equal(group_name(&f->groups, f->groups.order[i]), span_from_str(name)))
            return &f->groups.groups[f->groups.order[i]];
    return NULL;
}

static struct group *group(const struct fixture *f, const char *name)
{
    struct group *g = find(f, name);

    if (!g) {
        fail_msg("there is no group %s", name);
        abort(); /* not reached: for compilers that do not know */
    }
    return g;
}

static void check_group(const struct fixture *f, const char *name, uint64_t members, uint64_t cpu,
                        uint64_t started, uint64_t exited)
{
    const struct group *g = group(f, name);

    if (g->members != members || g->total[CPU] != cpu || g->total[STARTED] != started ||
        g->total[EXITED] != exited)
        fail_msg("%s: members %llu, cpu %llu, started %llu, exited %llu", name,
                 (unsigned long long)g->members, (unsigned long long)g->total[CPU],
                 (unsigned long long)g->total[STARTED], (unsigned long long)g->total[EXITED]);
}

/* Nothing is held and nothing claimed but for these. */
static void check_waiting(const struct fixture *f, size_t held, size_t claims)
{
    size_t n = 0;

    for (size_t i = 0; i < f->groups.n_groups; i++)
        n += f->groups.groups[i].used ? f->groups.groups[i].claims : 0;
    assert_int_equal(f->groups.held.n_used, held);
    assert_int_equal(n, claims);
}

/* ---- pending ---- */

static void test_pending_is_counted_whole(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 100, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.standing, STANDING_PENDING);
    assert_int_equal(f.groups.n_pending, 1);
    assert_null(find(&f, "app"));
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    check_waiting(&f, 1, 1);
    check_group(&f, "app-one", 0, 0, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 130, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 130, 1, 0);
    assert_int_equal(group(&f, "app-one")->total[READ], 130);
    assert_int_equal(f.groups.n_pending, 0);
    check_waiting(&f, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app-one", 0, 130, 1, 1);
    teardown(&f);
}

/* Who was there before the daemon: no start, and nothing from before. */
static void test_pending_that_was_found(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK_LATER(&f, .pid = 5, .comm = "app", .cpu = 1000, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 5, .comm = "app", .cpu = 1007, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 7, 0, 0);
    teardown(&f);
}

/* After so many looks it is decided by what there is; and moves when more is known. */
static void test_patience(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    for (uint64_t i = 0; i < 4; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        (void)try_look(
            &f, (struct who){
                    .pid = 5, .start = 9, .comm = "app", .cpu = 10 * (i + 1), .expected = TEXTS});
        end(&f);
        assert_int_equal(f.standing, i < MEMBERSHIP_PATIENCE ? STANDING_PENDING : STANDING_MEMBER);
    }
    check_group(&f, "app", 1, 40, 1, 0);
    check_waiting(&f, 0, 0);
    /* It is asked about at each look until then. */
    assert_false(groups_is_decided(&f.groups, known(&f, (struct who){.pid = 5, .start = 9})));
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 45, .expected = TEXTS);
    end(&f);
    check_group(&f, "app", 0, 45, 1, 0);
    check_group(&f, "app-one", 1, 0, 0, 0);
    teardown(&f);
}

/* And if what it waited for is lost then, by what else is known by then. */
static void test_patience_and_loss(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "exe-${exe}", .exe = "/opt/*"});
    first_cycle(&f);
    for (int i = 0; i <= MEMBERSHIP_PATIENCE; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        (void)try_look(&f, (struct who){.pid = 5, .start = 9, .comm = "app", .expected = TEXTS});
        end(&f);
    }
    check_group(&f, "app", 1, 0, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .exe = "/opt/app",
            .lost = BIT(SUBJECT_CMDLINE));
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS);
    end(&f);
    check_group(&f, "exe-app", 1, 0, 0, 0);
    /* That is for good. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .changed = true);
    end(&f);
    check_group(&f, "exe-app", 1, 0, 0, 0);
    teardown(&f);
}

/* A user whose name takes long is a number in the meantime, and the process moves afterwards. */
static void test_name_that_comes_late(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "hers", .user = "alice"});
    first_cycle(&f);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        (void)try_look(
            &f, (struct who){.pid = 5, .start = 9, .comm = "sh", .expected = BIT(SUBJECT_USER)});
        end(&f);
    }
    check_group(&f, "sh", 1, 0, 1, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .user = "alice");
    end(&f);
    check_group(&f, "sh", 0, 0, 1, 0);
    check_group(&f, "hers", 1, 0, 0, 0);
    teardown(&f);
}

static void test_default_waits_for_the_name(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    set_rules(&f, NULL, 0);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    LOOK_LATER(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .session = "alice");
    LOOK_LATER(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    check_group(&f, "user/alice", 1, 0, 1, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .session = "alice");
    LOOK(&f, .pid = 6, .start = 9, .expected = BIT(SUBJECT_SESSION_USER));
    end(&f);
    check_group(&f, "user/1000", 1, 0, 1, 0);
    teardown(&f);
}

/* What was foreseen of what was before an exec is not carried out. */
static void test_change_drops_what_was_foreseen(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "other-${1}", .comm = "other", .cmdline = "-n (\\w+)"});
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "other", .cpu = 2, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "other", .cmdline = "other -n two");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "other", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "other-two", 1, 4, 1, 0);
    /* And so of one that has a place, which it keeps until more is known. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "other", .cmdline = "other -n three");
    check_waiting(&f, 0, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS);
    end(&f);
    check_waiting(&f, 0, 0);
    check_group(&f, "other-two", 1, 5, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n four");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 7, .expected = TEXTS);
    end(&f);
    check_group(&f, "other-two", 0, 7, 1, 0);
    check_group(&f, "app-four", 1, 0, 0, 0);
    check_group(&f, "other-three", 0, 0, 0, 0);
    teardown(&f);
}

/* What was foreseen twice holds as of the second time; if that is not enough, not at all. */
static void test_foreseen_again(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "app-${1}-${user}", .cmdline = "-n (\\w+)"});
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .expected = TEXTS, .user = "a");
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .cmdline = "-n one", .user = "a");
    FORESEE(&f, .pid = 5, .start = 9, .cmdline = "-n two", .user = "a");
    check_waiting(&f, 1, 1);
    assert_int_equal(foresee(&f, (struct who){.pid = 5,
                                              .start = 9,
                                              .cmdline = "-n three",
                                              .expected = BIT(SUBJECT_USER)}),
                     GROUPS_LATER);
    check_waiting(&f, 1, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .cmdline = "-n three", .user = "b");
    end(&f);
    check_group(&f, "app-three-b", 1, 0, 1, 0);
    teardown(&f);
}

/* An empty group that somebody is about to enter is not forgotten. */
static void test_claimed_group_stays(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.forget_ns = 1;
    set_rules(&f, &app_rule, 1);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    for (int i = 0; i < 5; i++) {
        /* Its stat is unreadable for a while. */
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        assert_int_not_equal(table_see_unread(&f.table, 5), TABLE_NONE);
        end(&f);
        check_group(&f, "app-one", 0, 0, 0, 0);
    }
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        end(&f);
    }
    assert_null(find(&f, "app-one"));
    teardown(&f);
}

/* Decided only as the name is counted as `_other`. */
static void test_pending_beyond_the_maximum(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.max = 1;
    set_rules(&f, &app_rule, 1);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 3, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.other_assignments, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.other_assignments, 1);
    check_group(&f, "_other", 1, 4, 1, 0);
    teardown(&f);
}

static void test_family_turned_off_while_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    table_forget_counters(&f.table, BIT(READ));
    groups_forget_counters(&f.groups, BIT(READ));
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 60, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 60, 1, 0);
    assert_int_equal(group(&f, "app-one")->total[READ], 0);
    teardown(&f);
}

/* A counter that was never readable is not known, pending or not. */
static void test_what_is_known_of_the_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .expected = TEXTS, .refused = true);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .refused = true);
    end(&f);
    assert_int_equal(group(&f, "app-one")->known & (BIT(CPU) | BIT(READ)), BIT(CPU));
    teardown(&f);
}

/* ---- ends ---- */

static void test_end_undecided(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 7, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    /* By what there was; the other one by what had come. */
    check_group(&f, "app", 0, 50, 1, 1);
    check_group(&f, "app-one", 0, 7, 1, 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* New rules came between what was foreseen and the end. */
static void test_end_under_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    RULES(&f, {.name = "all", .comm = "*"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "all", 1, 50, 1, 1);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

static void test_end_without_memory(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    /* As many groups as there is room for. */
    for (uint32_t i = 0; f.groups.n_groups < f.groups.capacity; i++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "f%u", i);
        LOOK(&f, .pid = 100 + i, .start = 9, .comm = comm);
    }
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    no_memory = true;
    assert_int_equal(try_end(&f), -ENOMEM);
    no_memory = false;
    check_waiting(&f, 1, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 50, 1, 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Taken for ended a cycle ago, it is placed again, and nothing counts twice. */
static void test_returned(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 50, 1, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 53, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 54, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 1, 4, 0, 0);
    teardown(&f);
}

/* ---- moves, rules and what is lost ---- */

static void test_place_is_kept_while_waiting(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 1, .expected = TEXTS);
    end(&f);
    for (uint64_t i = 2; i < 8; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = i, .expected = TEXTS);
        end(&f);
        check_group(&f, "sh", 1, i, 1, 0);
    }
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 8, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 0, 8, 1, 0);
    check_group(&f, "app-one", 1, 0, 0, 0);
    teardown(&f);
}

static void test_exclusion(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "-noise", .comm = "sh", .cmdline = "^noise"}, {.name = "sh", .comm = "sh"});
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 100, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "noise");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 200, .expected = TEXTS);
    end(&f);
    assert_int_equal(f.groups.n_excluded, 1);
    check_group(&f, "sh", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    /* It is included: without a start, and without what it used so far. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "quiet");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 300, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 1, 0, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 301, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 1, 1, 0, 0);
    /* And excluded, which is no end; nor is its end one. */
    FORESEE(&f, .pid = 5, .start = 9, .comm = "sh", .cmdline = "noise");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "sh", .cpu = 310, .expected = TEXTS);
    end(&f);
    check_group(&f, "sh", 0, 10, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "sh", 0, 10, 0, 0);
    teardown(&f);
}

static void test_new_rules_while_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 1, .expected = TEXTS);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    RULES(&f, {.name = "new-${1}", .comm = "app", .cmdline = "-n (\\w+)"});
    /* One has its texts before it is looked at. */
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n two");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 3, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "app-one", 0, 0, 0, 0);
    check_group(&f, "new-two", 1, 4, 1, 0);
    check_waiting(&f, 1, 0);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 4, .expected = TEXTS);
    end(&f);
    check_group(&f, "new-one", 1, 5, 1, 0);
    teardown(&f);
}

/* Who hangs, or is a zombie, keeps the place that turned on its arguments. */
static void test_lost_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, app_rule, {.name = "-noise", .comm = "sh", .cmdline = "noise"});
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .cmdline = "noise");
    end(&f);
    for (int i = 0; i < 4; i++) {
        if (i == 1) /* The same ones again. */
            RULES(&f, app_rule, {.name = "-noise", .comm = "sh", .cmdline = "noise"});
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .changed = i == 2);
        LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .lost = TEXTS, .changed = i == 2);
        assert_int_equal(f.standing, STANDING_EXCLUDED);
        /* Who has no place yet does without. */
        LOOK(&f, .pid = 7, .start = 9, .comm = "app", .lost = TEXTS);
        end(&f);
        check_group(&f, "app-one", 1, 0, 1, 0);
        check_group(&f, "app", 1, 0, 1, 0);
    }
    /* Rules that need no text have it moved. */
    RULES(&f, {.name = "new", .comm = "app"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "sh", .lost = TEXTS);
    end(&f);
    check_group(&f, "new", 1, 0, 0, 0);
    check_group(&f, "sh", 1, 0, 0, 0);
    teardown(&f);
}

/* What else is expected is waited for. */
static void test_lost_and_expected(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "hers", .user = "alice"}, app_rule);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one", .user = "bob");
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .changed = true, .lost = TEXTS,
               .expected = BIT(SUBJECT_USER));
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .lost = TEXTS, .user = "alice");
    end(&f);
    check_group(&f, "app-one", 0, 0, 1, 0);
    check_group(&f, "hers", 1, 0, 0, 0);
    teardown(&f);
}

static void test_who_is_ending_stays(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n one");
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app");
    check_waiting(&f, 0, 1);
    groups_stay(&f.groups, known(&f, (struct who){.pid = 5, .start = 9}));
    check_waiting(&f, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app");
    end(&f);
    check_group(&f, "app-one", 1, 0, 1, 0);
    teardown(&f);
}

/* ---- restarts ---- */

/* The old one is gone and the new one pending; it is a restart when that is placed. */
static void test_restart_by_one_that_was_pending(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    assert_int_equal(group(&f, "app-one")->total[RESTARTS], 0);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "app");
    end(&f);
    assert_int_equal(group(&f, "app-one")->total[RESTARTS], 1);
    check_group(&f, "app-one", 1, 0, 1, 1);
    teardown(&f);
}

/* Each of them ends before it is placed, which is when an alert is wanted most. */
static void test_restarts_of_pending_ones(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    for (uint32_t i = 0; i < 4; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK_LATER(&f, .pid = 10 + i, .start = 9 + i, .comm = "app", .expected = TEXTS);
        end(&f);
        /* The one before ended; that it was a restart is known since it is. */
        assert_int_equal(group(&f, "app-one")->total[RESTARTS], i);
        FORESEE(&f, .pid = 10 + i, .start = 9 + i, .comm = "app", .cmdline = "app -n one");
    }
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app-one", 0, 0, 4, 5);
    assert_int_equal(group(&f, "app-one")->total[RESTARTS], 4);
    teardown(&f);
}

/* Found by the daemon, it was there all the time. */
static void test_no_restart_by_one_that_was_found(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "app", .cmdline = "app -n one");
    end(&f);
    /* As of a state that another daemon left. */
    group(&f, "app-one")->oldest_ended = true;
    group(&f, "app-one")->oldest_before = (struct identity){77, 0};
    f.table.first_tick = 100;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .expected = TEXTS);
    end(&f);
    assert_true(group(&f, "app-one")->restart_due);
    FORESEE(&f, .pid = 6, .start = 9, .comm = "app", .cmdline = "app -n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "app");
    end(&f);
    assert_int_equal(group(&f, "app-one")->total[RESTARTS], 0);
    check_group(&f, "app-one", 1, 0, 0, 1);
    teardown(&f);
}

/* Who moves in was there before: a move is no start, and so no restart. */
static void test_restart_of_one_that_moves_in(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "a");
    LOOK(&f, .pid = 6, .comm = "a");
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "b");
    end(&f);
    check_group(&f, "b", 1, 0, 0, 0);
    check_group(&f, "a", 0, 0, 0, 1);
    assert_int_equal(group(&f, "b")->total[RESTARTS], 0);
    assert_int_equal(group(&f, "a")->total[RESTARTS], 0);
    teardown(&f);
}

/* ---- children ---- */

static const struct rule_text lead_rule = {.name = "web", .comm = "lead", .children = true};
static const struct rule_text leads_rule = {
    .name = "web-${1}", .comm = "lead", .cmdline = "-n (\\w+)", .children = true};

static void test_descendants_follow(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule, {.name = "own", .comm = "own"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    LOOK(&f, .pid = 7, .comm = "grand", .parent = 6);
    LOOK(&f, .pid = 8, .comm = "own", .parent = 6);
    LOOK(&f, .pid = 9, .comm = "below", .parent = 8);
    LOOK(&f, .pid = 20, .comm = "child", .parent = 1);
    end(&f);
    check_group(&f, "web", 3, 0, 0, 0);
    check_group(&f, "own", 1, 0, 0, 0);
    /* Whom a rule takes leads nobody, unless it says so. */
    check_group(&f, "below", 1, 0, 0, 0);
    check_group(&f, "child", 1, 0, 0, 0);
    /* For their life: the leader is gone, and they have another parent and other names. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "renamed", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "grand", .parent = 6);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 7);
    end(&f);
    check_group(&f, "web", 3, 0, 1, 1);
    /* A rule takes one, and gives it back to its parent's. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "own", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "own", .parent = 6);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 7);
    end(&f);
    check_group(&f, "web", 1, 0, 1, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "free", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "own", .parent = 30);
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 1);
    end(&f);
    check_group(&f, "free", 1, 0, 0, 0);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 30, .start = 5, .comm = "born", .parent = 1);
    LOOK(&f, .pid = 31, .start = 6, .comm = "x", .parent = 30);
    end(&f);
    check_group(&f, "web", 2, 0, 2, 1);
    teardown(&f);
}

/* The parent is behind its child in the list, or waits itself. */
static void test_children_wait_for_their_parent(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    LOOK(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    check_group(&f, "web-one", 3, 0, 0, 0);
    /* While its parent is read again, a new one waits; if that takes long, as it is now. */
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS, .changed = true);
        (void)try_look(&f, (struct who){.pid = 7, .start = 9, .comm = "child", .parent = 5});
        end(&f);
        assert_int_equal(f.standing, i < MEMBERSHIP_PATIENCE ? STANDING_PENDING : STANDING_MEMBER);
    }
    check_group(&f, "web-one", 2, 0, 1, 2);
    teardown(&f);
}

/* Texts of a child may come before those of its parent, also when it waited as long as it does. */
static void test_texts_of_a_child_first(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    for (int i = 0; i < MEMBERSHIP_PATIENCE; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
        if (i == 0) /* in the midst of a cycle */
            FORESEE_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
        LOOK_LATER(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
        end(&f);
        FORESEE_LATER(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    }
    FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 4, .comm = "child", .start = 3, .parent = 5);
    LOOK(&f, .pid = 5, .comm = "lead", .start = 2, .expected = TEXTS);
    end(&f);
    check_group(&f, "web-one", 2, 0, 0, 0);
    teardown(&f);
}

/* Who waits longer than anybody has to is decided, and follows when his parent does. */
static void test_descendants_seen_first(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    for (int i = 0; i < MEMBERSHIP_PATIENCE + 2; i++) {
        bool late = i < MEMBERSHIP_PATIENCE;

        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        look(&f, (struct who){.pid = 3, .comm = "grand", .start = 4, .parent = 4},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        look(&f, (struct who){.pid = 4, .comm = "child", .start = 3, .parent = 5},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        look(&f, (struct who){.pid = 5, .comm = "lead", .start = 2, .expected = TEXTS},
             late ? GROUPS_LATER : GROUPS_DECIDED);
        end(&f);
        if (i == MEMBERSHIP_PATIENCE - 1)
            FORESEE(&f, .pid = 5, .start = 2, .comm = "lead", .cmdline = "-n one");
        if (i == MEMBERSHIP_PATIENCE)
            check_group(&f, "grand", 1, 0, 0, 0);
    }
    check_group(&f, "grand", 0, 0, 0, 0);
    check_group(&f, "web-one", 3, 0, 0, 0);
    teardown(&f);
}

/* A parent that nobody can see is waited for once. */
static void test_hidden_parent(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "child", .start = 4, .parent = 5);
    end(&f);
    check_group(&f, "child", 1, 0, 0, 0);
    teardown(&f);
}

static void test_parents_that_lead_nobody(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, {.name = "-out", .comm = "out"}, lead_rule);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 2, .comm = "kthreadd", .kernel_thread = true);
    LOOK(&f, .pid = 3, .comm = "worker", .kernel_thread = true, .parent = 2);
    LOOK(&f, .pid = 5, .comm = "out", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    end(&f);
    check_group(&f, "child", 1, 0, 0, 0);
    check_group(&f, "kernel", 2, 0, 0, 0);
    teardown(&f);
}

/* It ends with its child, before either is decided. */
static void test_family_that_ended(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .start = 9, .parent = 1);
    LOOK_LATER(&f, .pid = 4, .comm = "grand", .start = 11, .parent = 6, .cpu = 7);
    end(&f);
    /* The child between them was seen in no cycle; of another family it was. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .start = 9, .parent = 1);
    LOOK_LATER(&f, .pid = 7, .comm = "child", .start = 13, .parent = 8, .cpu = 30);
    LOOK(&f, .pid = 8, .comm = "lead", .start = 12, .parent = 1);
    end(&f);
    check_group(&f, "grand", 0, 7, 1, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "web", 0, 30, 3, 3);
    teardown(&f);
}

/* Fixed names lead as long as a rule has them; other groups once a leader came into them. */
static void test_followers_under_new_rules(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule,
          {.name = "t-${1}", .comm = "other", .cmdline = "-n (\\w+)", .children = true});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .parent = 1);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    LOOK(&f, .pid = 7, .comm = "other", .parent = 1, .cmdline = "-n a");
    LOOK(&f, .pid = 8, .comm = "child", .parent = 7);
    LOOK(&f, .pid = 9, .comm = "other", .parent = 1, .cmdline = "-n b");
    LOOK(&f, .pid = 10, .comm = "child", .parent = 9);
    end(&f);
    check_group(&f, "web", 2, 0, 0, 0);
    check_group(&f, "t-a", 2, 0, 0, 0);
    /* All are orphans; of one group the leader is alive, and behind them in the list. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 8, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 10, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 7, .comm = "other", .parent = 1);
    end(&f);
    RULES(&f, lead_rule,
          {.name = "t-${1}", .comm = "other", .cmdline = "-n (\\w+)", .children = true});
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
        (void)try_look(&f, (struct who){.pid = 8, .comm = "child", .parent = 1});
        (void)try_look(&f, (struct who){.pid = 10, .comm = "child", .parent = 1});
        if (i == 0)
            LOOK_LATER(&f, .pid = 7, .comm = "other", .parent = 1, .expected = TEXTS);
        else
            LOOK(&f, .pid = 7, .comm = "other", .parent = 1, .expected = TEXTS);
        end(&f);
        if (i == 0)
            FORESEE(&f, .pid = 7, .comm = "other", .parent = 1, .cmdline = "-n a");
    }
    check_group(&f, "web", 1, 0, 0, 1);
    check_group(&f, "t-a", 2, 0, 0, 0);
    check_group(&f, "t-b", 0, 0, 0, 1);
    check_group(&f, "child", 1, 0, 0, 0);
    /* No rule leads any more. */
    RULES(&f, {.name = "web", .comm = "lead"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 8, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 10, .comm = "child", .parent = 1);
    end(&f);
    check_group(&f, "child", 3, 0, 0, 0);
    teardown(&f);
}

/* Who leads by texts that are lost leads on. */
static void test_leader_with_lost_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .cmdline = "-n one");
    LOOK(&f, .pid = 6, .comm = "child", .parent = 5);
    end(&f);
    RULES(&f, leads_rule);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "lead", .lost = TEXTS);
    LOOK(&f, .pid = 6, .comm = "child", .parent = 1);
    LOOK(&f, .pid = 7, .start = 9, .comm = "child", .parent = 5);
    end(&f);
    check_group(&f, "web-one", 3, 0, 1, 0);
    teardown(&f);
}

/* It was asked with its texts, which are not there at the next look. */
static void test_unmatched_is_remembered(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    RULES(&f, leads_rule, app_rule);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .parent = 7, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 7, .start = 8, .comm = "lead", .expected = TEXTS);
    end(&f);
    assert_int_equal(
        foresee(
            &f,
            (struct who){.pid = 6, .start = 9, .comm = "app", .parent = 7, .cmdline = "nothing"}),
        GROUPS_LATER);
    FORESEE(&f, .pid = 7, .start = 8, .comm = "lead", .cmdline = "-n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "app", .parent = 7, .expected = TEXTS);
    LOOK(&f, .pid = 7, .start = 8, .comm = "lead", .expected = TEXTS);
    end(&f);
    check_group(&f, "web-one", 2, 0, 2, 0);
    teardown(&f);
}

/* ---- memory ---- */

/* As many groups as there is room for, so that the next one takes memory. */
static void fill_groups(struct fixture *f)
{
    for (uint32_t i = 0; f->groups.n_groups < f->groups.capacity; i++) {
        char comm[16];

        snprintf(comm, sizeof(comm), "f%u", i);
        LOOK(f, .pid = 100 + i, .start = 9, .comm = comm);
    }
}

static void test_no_memory(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    no_memory = true;
    /* Nothing to hold it. */
    assert_int_equal(
        try_look(&f,
                 (struct who){.pid = 5, .start = 9, .comm = "app", .cpu = 9, .expected = TEXTS}),
        -ENOMEM);
    no_memory = false;
    table_abort(&f.table);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 10, .expected = TEXTS);
    fill_groups(&f);
    LOOK(&f, .pid = 6, .start = 9, .comm = "init", .cpu = 1);
    end(&f);
    /* No group to foresee: the next look finds it undecided. */
    no_memory = true;
    assert_int_equal(
        foresee(&f, (struct who){.pid = 5, .start = 9, .comm = "app", .cmdline = "-n one"}),
        -ENOMEM);
    /* Nor to move to, nor for a new one: what was used is not lost. */
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 12, .expected = TEXTS);
    assert_int_equal(try_look(&f, (struct who){.pid = 6, .start = 9, .comm = "moved", .cpu = 3}),
                     -ENOMEM);
    assert_int_equal(try_look(&f, (struct who){.pid = 7, .start = 9, .comm = "new", .cpu = 5}),
                     -ENOMEM);
    no_memory = false;
    table_abort(&f.table);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "-n one");
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 14, .expected = TEXTS);
    LOOK(&f, .pid = 6, .start = 9, .comm = "moved", .cpu = 4);
    LOOK(&f, .pid = 7, .start = 9, .comm = "new", .cpu = 6);
    end(&f);
    check_group(&f, "app-one", 1, 14, 1, 0);
    check_group(&f, "init", 1, 4, 1, 0);
    check_group(&f, "moved", 1, 0, 0, 0);
    check_group(&f, "new", 1, 6, 1, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* ---- ends that are told ---- */

/* The end of a known process, with its last totals; within a cycle, or not. */
static void tell(struct fixture *f, struct who w, enum exit_reason reason)
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

static uint64_t exits(const struct fixture *f, const char *name, enum exit_reason reason)
{
    return group(f, name)->total[GROUP_COUNTER_EXITED + reason];
}

static uint64_t all_exits(const struct fixture *f, const char *name)
{
    uint64_t n = 0;

    for (enum exit_reason r = 0; r < EXIT_REASON_N; r++)
        n += exits(f, name, r);
    return n;
}

/* Told before the cycle that finds it ended: it is one end, of its reason. */
static void test_end_told_in_time(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    begin(&f);
    TELL(&f, CRASHED, .pid = 5, .comm = "web", .cpu = 130);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
    end(&f);
    check_group(&f, "web", 1, 32, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_CRASHED), 1);
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    assert_int_equal(f.table.n_awaited, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* It leaves when it is not there any more, and has ended when that is told: once each. */
static void test_leave_and_exit(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    for (int i = 0; i < 5; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        /* Its successor is there when it is missed, or later. */
        if (i >= 2)
            LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
        end(&f);
        check_group(&f, "web", i >= 2, i >= 2 ? 2 : 0, i >= 2, 0);
        assert_int_equal(all_exits(&f, "web"), 0);
        assert_int_equal(group(&f, "web")->total[RESTARTS], i >= 2);
        check_waiting(&f, 0, 1);
    }
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .comm = "web", .cpu = 140);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
    end(&f);
    /* What it did until its end is its group's, however late. */
    check_group(&f, "web", 1, 42, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_SUCCESS), 1);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    check_waiting(&f, 0, 0);
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 6, .start = 9, .comm = "web", .cpu = 2);
        end(&f);
    }
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    teardown(&f);
}

/* Told while nobody has come in its place: that is no restart, and who comes later is one. */
static void test_exit_from_an_empty_group(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "web");
    end(&f);
    for (int i = 0; i < 4; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        if (i == 2)
            TELL(&f, KILLED, .pid = 5, .comm = "web", .cpu = 9);
        end(&f);
        assert_int_equal(group(&f, "web")->total[RESTARTS], 0);
        assert_int_equal(all_exits(&f, "web"), i >= 2);
    }
    for (int i = 0; i < 3; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 6, .start = 9, .comm = "web");
        end(&f);
        assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    }
    check_group(&f, "web", 1, 9, 1, 0);
    teardown(&f);
}

/* Those of one group leave in one cycle and are told of one by one: the oldest alone matters. */
static void test_many_leave(void **state)
{
    enum { MANY = 20 };
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    for (uint32_t pid = 10; pid < 10 + MANY; pid++)
        LOOK(&f, .pid = pid, .start = pid, .comm = "web");
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 50, .start = 50, .comm = "web");
    end(&f);
    check_waiting(&f, 0, MANY);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    for (uint32_t pid = 10 + MANY - 1; pid >= 10; pid--) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 50, .start = 50, .comm = "web");
        TELL(&f, FAILURE, .pid = pid, .start = pid, .comm = "web", .cpu = 1);
        end(&f);
        check_waiting(&f, 0, pid - 10);
    }
    check_group(&f, "web", 1, MANY, 1, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_FAILURE), MANY);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 1);
    teardown(&f);
}

/* An empty group waits for the end of its last member, however soon it would be forgotten. */
static void test_group_waits_for_an_end(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    f.forget_ns = 1;
    set_rules(&f, &app_rule, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "solo", .cpu = 100);
    end(&f);
    for (int i = 0; i < 20; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        end(&f);
        check_group(&f, "solo", 0, 0, 0, 0);
        check_waiting(&f, 0, 1);
    }
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    TELL(&f, OOM, .pid = 5, .comm = "solo", .cpu = 107);
    assert_int_equal(exits(&f, "solo", EXIT_REASON_OOM), 1);
    assert_int_equal(group(&f, "solo")->total[CPU], 7);
    assert_int_equal(group(&f, "solo")->known >> (GROUP_COUNTER_EXITED + EXIT_REASON_OOM) & 1, 1);
    end(&f);
    assert_null(find(&f, "solo"));
    teardown(&f);
}

/* A kernel that answered ESRCH once: nothing has ended, and it is a member as before. */
static void test_returned_after_it_left(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    end(&f);
    for (uint64_t i = 0; i < 3; i++) {
        for (int missed = 0; missed < 4; missed++) {
            begin(&f);
            LOOK(&f, .pid = 1, .comm = "init");
            end(&f);
            check_waiting(&f, 0, 1);
        }
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 5, .comm = "web", .cpu = 107 + 7 * i);
        end(&f);
        check_group(&f, "web", 1, 7 * (i + 1), 0, 0);
        check_waiting(&f, 0, 0);
    }
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    TELL(&f, KILLED, .pid = 5, .comm = "web", .cpu = 122);
    end(&f);
    check_group(&f, "web", 0, 22, 0, 0);
    assert_int_equal(all_exits(&f, "web"), 1);
    assert_int_equal(group(&f, "web")->total[RESTARTS], 0);
    teardown(&f);
}

/* It was undecided when it ended: it is placed by what there is, and leaves from there. */
static void test_pending_leaves(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 50, .expected = TEXTS);
    LOOK_LATER(&f, .pid = 6, .start = 9, .comm = "app", .cpu = 60, .expected = TEXTS);
    end(&f);
    check_waiting(&f, 2, 0);
    begin(&f);
    /* Of one it is told while it is pending: its last figures are held with the others. */
    TELL(&f, TERMINATED, .pid = 6, .start = 9, .comm = "app", .cpu = 64);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 114, 2, 0);
    assert_int_equal(exits(&f, "app", EXIT_REASON_TERMINATED), 1);
    check_waiting(&f, 0, 1);
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .start = 9, .comm = "app", .cpu = 55);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 119, 2, 0);
    assert_int_equal(all_exits(&f, "app"), 2);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Who is excluded is waited for as well, since it must not be taken for somebody new. */
static void test_excluded_leaves(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    RULES(&f, {.name = "-noise", .comm = "noise"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "noise", .cpu = 100);
    LOOK(&f, .pid = 6, .comm = "noise", .cpu = 100);
    end(&f);
    assert_int_equal(f.standing, STANDING_EXCLUDED);
    begin(&f);
    TELL(&f, FAILURE, .pid = 6, .comm = "noise", .cpu = 111);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    assert_int_equal(f.table.n_awaited, 1);
    check_waiting(&f, 0, 0);
    begin(&f);
    TELL(&f, FAILURE, .pid = 5, .comm = "noise", .cpu = 111);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    assert_int_equal(f.table.n_awaited, 0);
    assert_int_equal(f.groups.n_order, 1);
    check_group(&f, "init", 1, 0, 0, 0);
    assert_int_equal(all_exits(&f, "init"), 0);
    teardown(&f);
}

/* What was foreseen of it is dropped; what its texts say when they come late does not matter. */
static void test_leave_with_texts_under_way(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    first_cycle(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 1, .cmdline = "app -n one");
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK_LATER(&f, .pid = 5, .start = 9, .comm = "app", .cpu = 2, .expected = TEXTS,
               .changed = true);
    end(&f);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n two");
    check_waiting(&f, 0, 1);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_waiting(&f, 0, 1);
    FORESEE(&f, .pid = 5, .start = 9, .comm = "app", .cmdline = "app -n three");
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .start = 9, .comm = "app", .cpu = 9);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app-one", 0, 9, 1, 0);
    assert_int_equal(all_exits(&f, "app-one"), 1);
    check_group(&f, "app-two", 0, 0, 0, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* New rules do not move who is not there any more. */
static void test_new_rules_before_an_end(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.awaits = true;
    f.forget_ns = 1;
    RULES(&f, {.name = "fixed", .comm = "web"});
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "web", .cpu = 100);
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 100);
    end(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 101);
    end(&f);
    RULES(&f, {.name = "others", .comm = "web"});
    for (int i = 0; i < 5; i++) {
        begin(&f);
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 6, .comm = "web", .cpu = 102);
        end(&f);
        check_waiting(&f, 0, 1);
    }
    begin(&f);
    TELL(&f, SUCCESS, .pid = 5, .comm = "web", .cpu = 103);
    assert_int_equal(exits(&f, "fixed", EXIT_REASON_SUCCESS), 1);
    assert_int_equal(group(&f, "fixed")->total[CPU], 5);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 6, .comm = "web", .cpu = 102);
    end(&f);
    check_group(&f, "others", 1, 0, 0, 0);
    assert_int_equal(all_exits(&f, "others"), 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* ---- those that nobody saw ---- */

/* One that came and went between two looks; its record is the caller's to drop. */
static uint32_t pass(struct fixture *f, struct who w, enum exit_reason reason)
{
    struct subject subject;
    enum sighting sighting;
    struct process *p;
    struct delta delta;
    struct sample s;
    struct kin kin;
    uint32_t ref;

    sample_of(&w, &s);
    assert_int_equal(table_see(&f->table, &s, 0, &wanted, &ref, &sighting, &delta), 0);
    assert_int_equal(sighting, SIGHTING_STARTED);
    p = table_process(&f->table, ref);
    subject_of(f, &w, &subject);
    f->news = ref;
    kin = kin_of(f, &w);
    assert_true(groups_place(&f->groups, p, sighting, &delta, &subject, &kin) >= 0);
    assert_int_equal(groups_place_ended(&f->groups, p, &subject, &kin), 0);
    groups_count_exit(&f->groups, p, reason);
    return ref;
}

#define PASS(f, reason, ...) pass(f, (struct who){__VA_ARGS__}, EXIT_REASON_##reason)

static void drop(struct fixture *f, uint32_t ref)
{
    groups_drop(&f->groups, table_process(&f->table, ref));
    table_forget(&f->table, ref);
}

static void test_passed(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    for (uint32_t i = 0; i < 4; i++) {
        begin(&f);
        for (uint32_t k = 0; k < 25; k++)
            drop(&f,
                 PASS(&f, SUCCESS, .pid = 100 + k, .start = 10 * i + 9, .comm = "job", .cpu = 3));
        LOOK(&f, .pid = 1, .comm = "init");
        end(&f);
        check_group(&f, "job", 0, 75 * (i + 1), 25 * (i + 1), 0);
        assert_int_equal(exits(&f, "job", EXIT_REASON_SUCCESS), 25 * (i + 1));
        /* Somebody of a later cycle came in the place of those of the one before. */
        assert_int_equal(group(&f, "job")->total[RESTARTS], i);
    }
    check_waiting(&f, 0, 0);
    assert_int_equal(f.table.n_present, 1);
    teardown(&f);
}

/* Beside a member that stays, whoever comes and goes restarts nothing. */
static void test_passed_beside_members(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    begin(&f);
    LOOK(&f, .pid = 1, .comm = "init");
    LOOK(&f, .pid = 5, .comm = "job");
    end(&f);
    for (uint32_t i = 0; i < 5; i++) {
        begin(&f);
        drop(&f, PASS(&f, SUCCESS, .pid = 100, .start = 9 + i, .comm = "job", .cpu = 3));
        LOOK(&f, .pid = 1, .comm = "init");
        LOOK(&f, .pid = 5, .comm = "job");
        end(&f);
    }
    check_group(&f, "job", 1, 15, 5, 0);
    assert_int_equal(all_exits(&f, "job"), 5);
    assert_int_equal(group(&f, "job")->total[RESTARTS], 0);
    teardown(&f);
}

/* Whoever it led goes with it, as long as its record is there. */
static void test_passed_leads(void **state)
{
    struct fixture f;
    uint32_t leader, child, late;

    (void)state;
    setup(&f);
    RULES(&f, lead_rule, {.name = "-noise", .comm = "noise"});
    first_cycle(&f);
    begin(&f);
    leader = PASS(&f, SUCCESS, .pid = 100, .start = 9, .parent = 1, .comm = "lead", .cpu = 1);
    child = PASS(&f, FAILURE, .pid = 101, .start = 10, .parent = 100, .comm = "child", .cpu = 10);
    /* And on over the child, though the leader's record goes. */
    drop(&f, leader);
    drop(&f, PASS(&f, KILLED, .pid = 102, .start = 11, .parent = 101, .comm = "grand", .cpu = 100));
    drop(&f, PASS(&f, KILLED, .pid = 103, .start = 11, .parent = 100, .comm = "orphan", .cpu = 7));
    drop(&f, child);
    /* A rule of its own is before what leads it. */
    leader = PASS(&f, SUCCESS, .pid = 104, .start = 12, .parent = 1, .comm = "lead", .cpu = 1);
    late = PASS(&f, SUCCESS, .pid = 105, .start = 13, .parent = 104, .comm = "noise", .cpu = 9);
    assert_int_equal(table_process(&f.table, late)->membership.now.standing, STANDING_EXCLUDED);
    drop(&f, late);
    drop(&f, leader);
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "web", 0, 112, 4, 0);
    assert_int_equal(exits(&f, "web", EXIT_REASON_SUCCESS), 2);
    assert_int_equal(exits(&f, "web", EXIT_REASON_FAILURE), 1);
    assert_int_equal(exits(&f, "web", EXIT_REASON_KILLED), 1);
    check_group(&f, "orphan", 0, 7, 1, 0);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

/* Texts of who is gone will not come: it is placed by what there is, at once and whole. */
static void test_passed_without_texts(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    first_cycle(&f);
    begin(&f);
    drop(&f, PASS(&f, SUCCESS, .pid = 100, .start = 9, .comm = "app", .cpu = 5, .expected = TEXTS));
    LOOK(&f, .pid = 1, .comm = "init");
    end(&f);
    check_group(&f, "app", 0, 5, 1, 0);
    assert_int_equal(exits(&f, "app", EXIT_REASON_SUCCESS), 1);
    check_waiting(&f, 0, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_is_counted_whole),
        cmocka_unit_test(test_pending_that_was_found),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_patience_and_loss),
        cmocka_unit_test(test_name_that_comes_late),
        cmocka_unit_test(test_default_waits_for_the_name),
        cmocka_unit_test(test_change_drops_what_was_foreseen),
        cmocka_unit_test(test_foreseen_again),
        cmocka_unit_test(test_claimed_group_stays),
        cmocka_unit_test(test_pending_beyond_the_maximum),
        cmocka_unit_test(test_family_turned_off_while_pending),
        cmocka_unit_test(test_what_is_known_of_the_pending),
        cmocka_unit_test(test_end_undecided),
        cmocka_unit_test(test_end_under_new_rules),
        cmocka_unit_test(test_end_without_memory),
        cmocka_unit_test(test_returned),
        cmocka_unit_test(test_place_is_kept_while_waiting),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_new_rules_while_pending),
        cmocka_unit_test(test_lost_texts),
        cmocka_unit_test(test_lost_and_expected),
        cmocka_unit_test(test_who_is_ending_stays),
        cmocka_unit_test(test_restart_by_one_that_was_pending),
        cmocka_unit_test(test_restarts_of_pending_ones),
        cmocka_unit_test(test_no_restart_by_one_that_was_found),
        cmocka_unit_test(test_restart_of_one_that_moves_in),
        cmocka_unit_test(test_descendants_follow),
        cmocka_unit_test(test_children_wait_for_their_parent),
        cmocka_unit_test(test_texts_of_a_child_first),
        cmocka_unit_test(test_descendants_seen_first),
        cmocka_unit_test(test_hidden_parent),
        cmocka_unit_test(test_parents_that_lead_nobody),
        cmocka_unit_test(test_family_that_ended),
        cmocka_unit_test(test_followers_under_new_rules),
        cmocka_unit_test(test_leader_with_lost_texts),
        cmocka_unit_test(test_unmatched_is_remembered),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_end_told_in_time),
        cmocka_unit_test(test_leave_and_exit),
        cmocka_unit_test(test_exit_from_an_empty_group),
        cmocka_unit_test(test_many_leave),
        cmocka_unit_test(test_group_waits_for_an_end),
        cmocka_unit_test(test_returned_after_it_left),
        cmocka_unit_test(test_pending_leaves),
        cmocka_unit_test(test_excluded_leaves),
        cmocka_unit_test(test_leave_with_texts_under_way),
        cmocka_unit_test(test_new_rules_before_an_end),
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_passed_beside_members),
        cmocka_unit_test(test_passed_leads),
        cmocka_unit_test(test_passed_without_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
