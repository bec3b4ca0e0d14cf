/*
 * The check of the design, section 5: in every cycle, process counts and CPU summed over groups,
 * those excluded and those pending are those over all processes; so are starts and ends over groups
 * and those excluded. A random life of a host with renames, exits, pids used again, cycles left
 * half way, stat unreadable, new rules, too many groups and groups forgotten; and with texts and
 * names that come late, never, or are lost, moves foreseen and dropped, families that follow. In
 * every other world ends are told: in time, late, never, and of processes that nobody saw.
 * PROCTALLY_TEST_SEED repeats one run.
 *
 * What of a process is in no group is kept here as well, so that nothing is taken from the groups'
 * own word for it but where it counts.
 */
#include "group/membership.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define CPU   COUNTER_CPU_USER_NS
#define TEXTS (UINT32_C(1) << SUBJECT_CMDLINE)

enum {
    PIDS = 60,
    COMMS = 12,
    LINES = 5, /* command lines */
    USERS = 4,
    CYCLES = 500,
    RUNS = 20,
    NAME_MAX = 48,
    RECORDS_MAX = PIDS * 16,
    ENDS_MAX = PIDS * 16,
    PASSED_MAX = 4,
    PATIENCE = 6, /* cycles that an end is awaited */
};

static const uint64_t STEP_NS = 10000000000;

static const struct wanted wanted = {
    .parts = UINT32_C(1) << PART_STAT,
    .counters = UINT32_C(1) << CPU,
    .gauges = UINT32_C(1) << GAUGE_THREADS,
};

/* How the reading of a process' command line goes. */
enum reading {
    READING_NONE,
    READING_UNDER_WAY,
    READING_LOST, /* it does not answer */
};

struct life {
    bool alive;
    struct identity identity;
    uint32_t parent;
    uint64_t cpu;
    unsigned comm, line, user;
    unsigned seen_comm; /* of the last look */
    bool user_changed;  /* since the last look */
    bool denied;        /* the last look did not see it */
    bool name_known;    /* of the user */
    enum reading reading;
    bool lost_once; /* so it may be where it was before an exec */
};

/* The same of a record of the table, as long as its process is present. */
struct account {
    bool start_due; /* it is to be counted where it will be */
    uint64_t held;  /* CPU of one that is pending */
};

/* An end that is to be told. */
struct end {
    struct life life;
    uint64_t after; /* number of the cycle in which it is known */
};

/* Sums over all groups, or over all processes. */
struct sums {
    uint64_t cpu, started, exited, members, threads;
};

struct world {
    uint64_t random;
    uint64_t tick;
    uint64_t now_ns;
    struct table table;
    struct groups groups;
    unsigned rules; /* which of the sets below */
    size_t most;    /* groups beyond max that a lower max found */
    struct life lives[PIDS];
    struct account accounts[RECORDS_MAX]; /* by record */
    uint64_t shown[PIDS * 16];            /* CPU of each slot's group before this cycle */
    struct sums expected;                 /* of this cycle, in groups */
    uint64_t pending, excluded;           /* processes */
    bool tells;                           /* of ends */
    struct end ends[ENDS_MAX];
    size_t n_ends;
    uint32_t passed[PASSED_MAX]; /* records of those that nobody saw, in turn */
    size_t n_passed;
};

static uint64_t seed;

/* What has to happen in some world, for the test to mean anything. */
static struct {
    uint64_t other, moves, ended_pending, dropped, followed, kept;
    uint64_t told_in_time, told_late, never_told, passed, passed_and_followed, hidden, came_back;
} happened;

static uint64_t next_random(struct world *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static uint64_t below(struct world *w, uint64_t n)
{
    return (next_random(w) >> 16) % n;
}

static bool one_in(struct world *w, uint64_t n)
{
    return below(w, n) == 0;
}

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition))                                                                         \
            fail_msg("PROCTALLY_TEST_SEED=%lu: cycle %lu: %s", seed, w->table.cycle, #condition); \
    } while (0)

/* ---- rules ---- */

struct rule_text {
    const char *name, *comm, *user, *cmdline;
    bool children, exclude;
};

enum {
    SET_DEFAULT,
    SET_MERGE,
    SET_FIXED,
    SET_LINES,
    SET_USERS,
    SET_FAMILIES,
    SETS,
    RULES_MAX = 4,
};

static const struct rule_text rule_sets[SETS][RULES_MAX] = {
    [SET_MERGE] = {{.name = "p-${comm}", .comm = "c[0-4]"}, {.name = "${comm}", .comm = "*"}},
    [SET_FIXED] = {{.name = "first", .comm = "c[0-2]"}, {.name = "other", .comm = "c3"}},
    [SET_LINES] = {{.name = "noise", .comm = "c[0-7]", .cmdline = "-n 3", .exclude = true},
                   {.name = "fixed", .comm = "c9"},
                   {.name = "n-${1}", .comm = "c[4-9]", .cmdline = "-n (\\d)"}},
    [SET_USERS] = {{.name = "gone", .comm = "c2", .exclude = true},
                   {.name = "u-${user}", .comm = "c[0-5]", .user = "u[1-3]"},
                   {.name = "l-${1}", .user = "u0", .cmdline = "-n (\\d)"}},
    [SET_FAMILIES] = {{.name = "web", .comm = "c0", .children = true},
                      {.name = "w-${1}", .comm = "c1", .cmdline = "-n (\\d)", .children = true},
                      {.name = "alone", .comm = "c2", .cmdline = "-n [12]"}},
};

static void add_rule(struct world *w, struct rules *rules, const struct rule_text *t)
{
    struct span comm = span_from_str(t->comm ? t->comm : ""),
                user = span_from_str(t->user ? t->user : ""),
                cmdline = span_from_str(t->cmdline ? t->cmdline : "");
    struct rule_spec spec = {.name = span_from_str(t->name),
                             .exclude = t->exclude,
                             .children = t->children,
                             .patterns = {[RULE_COMM] = {&comm, comm.n > 0},
                                          [RULE_USER] = {&user, user.n > 0},
                                          [RULE_CMDLINE] = {&cmdline, cmdline.n > 0}}};
    struct rule_fault fault;

    CHECK(rules_add(rules, &spec, &fault) == 0);
}

static void set_rules(struct world *w, unsigned set)
{
    struct rules rules;
    size_t max = 3 + below(w, 10);

    rules_init(&rules);
    for (size_t i = 0; i < RULES_MAX && rule_sets[set][i].name; i++)
        add_rule(w, &rules, &rule_sets[set][i]);
    CHECK(groups_set_rules(&w->groups, &rules, max, 1 + below(w, 60000000000)) == 0);
    w->rules = set;
    w->most = w->groups.n_counted > max ? w->groups.n_counted : max;
}

/* What the rules say of a process of which all is known, but for families; "": it is excluded. */
static void name_of(const struct world *w, const struct life *l, char ret[NAME_MAX])
{
    unsigned c = l->comm, n = l->line;

    snprintf(ret, NAME_MAX, "c%u", c);
    switch (w->rules) {
    case SET_MERGE:
        snprintf(ret, NAME_MAX, "%sc%u", c <= 4 ? "p-" : "", c);
        break;
    case SET_FIXED:
        if (c <= 3)
            snprintf(ret, NAME_MAX, "%s", c == 3 ? "other" : "first");
        break;
    case SET_LINES:
        if (c <= 7 && n == 3)
            *ret = '\0';
        else if (c == 9)
            snprintf(ret, NAME_MAX, "fixed");
        else if (c >= 4 && c <= 9 && n > 0)
            snprintf(ret, NAME_MAX, "n-%u", n);
        break;
    case SET_USERS:
        if (c == 2)
            *ret = '\0';
        else if (c <= 5 && l->user > 0)
            snprintf(ret, NAME_MAX, "u-u%u", l->user);
        else if (l->user == 0 && n > 0)
            snprintf(ret, NAME_MAX, "l-%u", n);
        break;
    }
}

/* ---- the host ---- */

static uint32_t random_parent(struct world *w, uint32_t self)
{
    uint32_t i = (uint32_t)below(w, PIDS);

    return i != self && w->lives[i].alive ? i + 1 : 1;
}

/* One for each comm of a process: what changes alone is found by turns, which are not tried here.
 */
static unsigned line_of(const struct life *l)
{
    return (unsigned)((l->comm * 7 + l->identity.start_ticks * 3) % LINES);
}

/* Most ends are known at once, some cycles later, and some to nobody. */
static void note_end(struct world *w, const struct life *l)
{
    if (!w->tells || one_in(w, 30))
        return;
    CHECK(w->n_ends < ENDS_MAX);
    w->ends[w->n_ends++] = (struct end){
        .life = *l, .after = w->table.cycle + (one_in(w, 3) ? below(w, PATIENCE + 3) : 0)};
}

static struct life bear(struct world *w, uint32_t i)
{
    return (struct life){.alive = true,
                         .identity = {i + 1, ++w->tick},
                         .parent = random_parent(w, i),
                         .comm = (unsigned)below(w, COMMS),
                         .user = (unsigned)below(w, USERS)};
}

/* One after the other under a pid that is free, each a child of the one before or of somebody. */
static void pass(struct world *w, uint32_t i)
{
    uint32_t last = 0;

    for (uint64_t n = below(w, 4); n > 0; n--) {
        struct life l = bear(w, i);

        if (last != 0 && one_in(w, 2)) {
            l.identity.pid = PIDS + (uint32_t)n;
            l.parent = last;
        }
        last = l.identity.pid;
        l.cpu = below(w, 1000);
        note_end(w, &l);
    }
}

static void live(struct world *w)
{
    for (uint32_t i = 0; i < PIDS; i++) {
        struct life *l = &w->lives[i];

        w->tick++;
        if (l->alive && i > 0 && one_in(w, 12)) {
            l->cpu += below(w, 1000);
            l->alive = false;
            note_end(w, l);
        }
        if (!l->alive && w->tells && one_in(w, 4))
            pass(w, i);
        if (!l->alive && one_in(w, 4))
            *l = bear(w, i);
        if (one_in(w, 15))
            l->comm = (unsigned)below(w, COMMS);
        l->line = line_of(l);
        if (one_in(w, 40)) {
            l->user = (unsigned)below(w, USERS);
            l->user_changed = true;
            l->name_known = false;
        }
        if (l->alive && l->parent > 1 && !w->lives[l->parent - 1].alive)
            l->parent = 1;
        l->name_known = l->name_known || one_in(w, 2);
        l->cpu += below(w, 1000);
    }
}

/* ---- what is known of a process ---- */

struct texts {
    char comm[16], line[16], user[16];
};

/* All of it; then what is not known yet is taken away. */
static struct subject subject_of(const struct life *l, struct texts *t)
{
    snprintf(t->comm, sizeof(t->comm), "c%u", l->comm);
    snprintf(t->user, sizeof(t->user), "u%u", l->user);
    *t->line = '\0';
    if (l->line > 0)
        snprintf(t->line, sizeof(t->line), "-n %u", l->line);
    return (struct subject){.comm = span_from_str(t->comm),
                            .cmdline = span_from_str(t->line),
                            .user = span_from_str(t->user)};
}

static struct subject subject_at_look(const struct life *l, struct texts *t)
{
    struct subject s = subject_of(l, t);

    s.cmdline = span_of(NULL, 0);
    if (l->reading == READING_LOST)
        s.lost = TEXTS;
    else
        s.expected = TEXTS;
    if (!l->name_known) {
        s.user = span_of(NULL, 0);
        s.expected |= UINT32_C(1) << SUBJECT_USER;
    }
    return s;
}

static struct kin kin_of(const struct world *w, uint32_t parent, uint64_t start_ticks, bool news)
{
    uint32_t ref = table_find_parent(&w->table, parent, start_ticks);

    return (struct kin){.parent = ref == TABLE_NONE ? NULL : table_process(&w->table, ref),
                        .parent_expected = ref == TABLE_NONE && news};
}

/* The process answers, now or some time: as it was when it was asked, at the last look. */
static void answer(struct world *w, struct life *l)
{
    uint32_t ref = table_find(&w->table, l->identity);
    struct life then = *l;
    struct texts t;
    struct subject s;
    struct kin kin;

    if (!l->alive || l->reading != READING_UNDER_WAY || ref == TABLE_NONE || one_in(w, 3))
        return;
    then.comm = l->seen_comm;
    then.line = line_of(&then);
    s = subject_of(&then, &t);
    l->reading = READING_NONE;
    if (one_in(w, 30)) {
        l->reading = READING_LOST;
        l->lost_once = true;
        s.cmdline = span_of(NULL, 0);
        s.lost = TEXTS;
    }
    if (!l->name_known) {
        s.user = span_of(NULL, 0);
        s.expected = UINT32_C(1) << SUBJECT_USER;
    }
    kin = kin_of(w, l->parent, l->identity.start_ticks, false);
    CHECK(groups_foresee(&w->groups, table_process(&w->table, ref), &s, &kin) >= 0);
}

/* ---- a cycle ---- */

static struct sums sum_groups(const struct world *w)
{
    struct sums s = {0};

    for (size_t i = 0; i < w->groups.n_groups; i++) {
        const struct group *group = &w->groups.groups[i];

        if (!group->used)
            continue;
        s.cpu += group->total[CPU];
        s.started += group->total[GROUP_COUNTER_STARTED];
        for (unsigned r = 0; r < EXIT_REASON_N; r++)
            s.exited += group->total[GROUP_COUNTER_EXITED + r];
        s.members += group->members;
        s.threads += group->gauge[GAUGE_THREADS];
    }
    return s;
}

/* What was held of the process goes where it is now. */
static void settle_account(struct world *w, struct account *a, const struct process *p)
{
    switch ((enum standing)p->membership.now.standing) {
    case STANDING_PENDING:
        return;
    case STANDING_MEMBER:
        w->expected.cpu += a->held;
        w->expected.started += a->start_due;
        break;
    default:
        happened.dropped += a->held;
        break;
    }
    *a = (struct account){0};
}

/* The delta belongs to where the process was; of one that was nowhere, to where it is. */
static void account_for(struct world *w, struct account *a, const struct process *p,
                        enum standing before, uint64_t cpu)
{
    enum standing where =
        before == STANDING_NONE ? (enum standing)p->membership.now.standing : before;

    if (where == STANDING_PENDING)
        a->held += cpu;
    else if (where == STANDING_MEMBER)
        w->expected.cpu += cpu;
    settle_account(w, a, p);
}

/* Where it is, once that is decided, is what the rules say. */
static void check_name(struct world *w, const struct life *l, const struct process *p)
{
    const struct membership *m = &p->membership;
    char name[NAME_MAX];

    if (!groups_is_decided(&w->groups, p) || l->lost_once || w->rules == SET_FAMILIES)
        return;
    if (m->next.standing != STANDING_NONE)
        return;
    name_of(w, l, name);
    if (*name == '\0') {
        CHECK(m->now.standing == STANDING_EXCLUDED);
        return;
    }
    CHECK(m->now.standing == STANDING_MEMBER);
    CHECK(span_equal(group_name(&w->groups, m->now.group), span_from_str(name)) ||
          span_equal(group_name(&w->groups, m->now.group), span_from_str("_other")));
}

static void count_place(struct world *w, const struct life *l, const struct process *p)
{
    switch ((enum standing)p->membership.now.standing) {
    case STANDING_MEMBER:
        w->expected.members++;
        w->expected.threads += l->comm;
        break;
    case STANDING_PENDING:
        w->pending++;
        break;
    default:
        w->excluded++;
    }
}

static void place(struct world *w, struct life *l, struct process *p, enum sighting sighting,
                  const struct delta *delta)
{
    struct kin kin = kin_of(w, l->parent, l->identity.start_ticks, sighting != SIGHTING_KNOWN);
    struct texts t;
    struct subject subject = subject_at_look(l, &t);
    int r;

    if (p->renamed || l->user_changed)
        groups_changed(&w->groups, p);
    l->user_changed = false;
    l->seen_comm = l->comm;
    r = groups_place(&w->groups, p, sighting, delta,
                     groups_must_decide(&w->groups, p, sighting) ? &subject : NULL, &kin);
    CHECK(r >= 0);
    CHECK(r == GROUPS_DECIDED || p->membership.undecided);
    if (r == GROUPS_LATER && l->reading == READING_NONE)
        l->reading = READING_UNDER_WAY;
}

static void see(struct world *w, struct life *l)
{
    struct sample s = {.identity = l->identity, .parent_pid = l->parent};
    enum sighting sighting;
    enum standing before;
    struct account *a;
    struct process *p;
    struct delta delta;
    uint32_t ref, group;

    s.comm_len = (uint8_t)snprintf(s.comm, sizeof(s.comm), "c%u", l->comm);
    sample_set_counter(&s, CPU, l->cpu);
    sample_set_gauge(&s, GAUGE_THREADS, l->comm);
    CHECK(table_see(&w->table, &s, wanted.parts, &wanted, &ref, &sighting, &delta) == 0);
    p = table_process(&w->table, ref);
    a = &w->accounts[ref];
    CHECK(ref < RECORDS_MAX);
    happened.came_back += w->tells && sighting == SIGHTING_RETURNED;
    if (sighting != SIGHTING_KNOWN)
        *a = (struct account){.start_due = sighting == SIGHTING_STARTED};
    before = sighting == SIGHTING_KNOWN ? (enum standing)p->membership.now.standing : STANDING_NONE;
    group = p->membership.now.group;
    place(w, l, p, sighting, &delta);
    account_for(w, a, p, before, delta.counter[CPU]);
    groups_add(&w->groups, p, &s, sighting, sample_lacks(&s, &wanted), 0);
    check_name(w, l, p);
    count_place(w, l, p);
    happened.moves += before == STANDING_MEMBER && p->membership.now.standing == STANDING_MEMBER &&
                      p->membership.now.group != group;
    happened.followed += p->membership.now.standing == STANDING_MEMBER && p->membership.now.follows;
    happened.kept += l->reading == READING_LOST && p->membership.now.standing == STANDING_MEMBER;
}

static void look(struct world *w, struct life *l)
{
    uint32_t ref;

    if (!l->alive)
        return;
    if (!l->denied && one_in(w, 40)) {
        l->denied = true;
        return;
    }
    if (!l->denied && one_in(w, 30)) {
        ref = table_see_unread(&w->table, l->identity.pid);
        if (ref == TABLE_NONE)
            return;
        groups_add_unread(&w->groups, table_process(&w->table, ref));
        count_place(w, &(struct life){0}, table_process(&w->table, ref));
        return;
    }
    l->denied = false;
    see(w, l);
}

/* Counters of a group never fall while it is there. */
static void check_each_group(struct world *w)
{
    size_t counted = 0;

    for (size_t i = 0; i < w->groups.n_groups; i++) {
        const struct group *group = &w->groups.groups[i];

        CHECK(i < sizeof(w->shown) / sizeof(*w->shown));
        CHECK(!group->used || group->total[CPU] >= w->shown[i]);
        counted += group->used && !group->fixed &&
                   !span_equal(group_name(&w->groups, (uint32_t)i), span_from_str("_other"));
    }
    CHECK(counted == w->groups.n_counted);
    CHECK(counted <= w->most);
}

static void check_order(struct world *w)
{
    size_t used = 0;

    for (size_t i = 0; i < w->groups.n_groups; i++)
        used += w->groups.groups[i].used;
    CHECK(used == w->groups.n_order);
    for (size_t i = 1; i < w->groups.n_order; i++) {
        struct span a = group_name(&w->groups, w->groups.order[i - 1]);
        struct span b = group_name(&w->groups, w->groups.order[i]);
        int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

        CHECK(c < 0 || (c == 0 && a.n < b.n));
    }
}

/* Each group has the claims of those who are about to come, and what is held is of the pending. */
static void check_waiting(struct world *w)
{
    uint32_t claims[sizeof(w->shown) / sizeof(*w->shown)] = {0};
    uint64_t held = 0;
    size_t pending = 0;

    for (uint32_t ref = 0; ref < w->table.n_processes; ref++) {
        const struct process *p = table_process(&w->table, ref);
        const struct membership *m = &p->membership;

        if (p->seen == 0)
            continue;
        if (m->next.standing == STANDING_MEMBER)
            claims[m->next.group]++;
        if (m->leaving)
            claims[m->now.group]++;
        CHECK(!m->leaving || (p->awaited && m->now.standing == STANDING_MEMBER));
        CHECK(m->next.standing == STANDING_NONE || !m->undecided);
        if (m->now.standing != STANDING_PENDING)
            continue;
        pending++;
        held += held_sum(&w->groups.held, m->held)->counter[CPU];
        CHECK(held_sum(&w->groups.held, m->held)->counter[CPU] == w->accounts[ref].held);
    }
    CHECK(pending == w->groups.held.n_used);
    for (size_t i = 0; i < w->groups.n_groups; i++)
        CHECK(!w->groups.groups[i].used || w->groups.groups[i].claims == claims[i]);
}

static void note_shown(struct world *w)
{
    for (size_t i = 0; i < w->groups.n_groups; i++)
        w->shown[i] = w->groups.groups[i].used ? w->groups.groups[i].total[CPU] : 0;
}

static void place_ended(struct world *w)
{
    uint32_t ref;

    for (size_t at = 0; (ref = table_next_ended(&w->table, &at)) != TABLE_NONE;) {
        struct process *p = table_process(&w->table, ref);
        struct subject subject = {.comm = span_of(p->comm, p->comm_len), .expected = TEXTS};
        struct kin kin = kin_of(w, p->parent_pid, p->identity.start_ticks, false);

        happened.ended_pending += p->membership.now.standing == STANDING_PENDING;
        CHECK(groups_place_ended(&w->groups, p,
                                 groups_ends_undecided(&w->groups, p) ? &subject : NULL,
                                 &kin) == 0);
        settle_account(w, &w->accounts[ref], p);
        CHECK(membership_has_place(&p->membership));
        if (!w->tells || p->end_told)
            w->expected.exited += p->membership.now.standing == STANDING_MEMBER;
    }
}

static void exit_process(struct world *w, uint32_t ref)
{
    struct process *p = table_process(&w->table, ref);

    if (w->tells && !p->end_told) {
        groups_leave(&w->groups, p);
        table_await_end(&w->table, ref, w->now_ns);
        return;
    }
    groups_exit(&w->groups, p, p->end_told ? (enum exit_reason)p->end_reason : EXIT_REASON_UNKNOWN);
}

/* ---- ends that are told ---- */

static struct sample last_sample(const struct life *l)
{
    struct sample s = {.identity = l->identity, .parent_pid = l->parent, .state = STATE_ZOMBIE};

    s.comm_len = (uint8_t)snprintf(s.comm, sizeof(s.comm), "c%u", l->comm);
    sample_set_counter(&s, CPU, l->cpu);
    return s;
}

static void tell_known(struct world *w, const struct life *l, uint32_t ref)
{
    struct process *p = table_process(&w->table, ref);
    struct account *a = &w->accounts[ref];
    struct sample s = last_sample(l);
    struct delta delta;

    CHECK(table_see_end(&w->table, ref, &s, &wanted, &delta));
    p->end_reason = (uint8_t)(l->cpu % EXIT_REASON_N);
    groups_take_last(&w->groups, p, &delta);
    if (p->membership.now.standing == STANDING_PENDING)
        a->held += delta.counter[CPU];
    else if (p->membership.now.standing == STANDING_MEMBER)
        w->expected.cpu += delta.counter[CPU];
    CHECK(!table_see_end(&w->table, ref, &s, &wanted, &delta));
    happened.told_in_time += !p->awaited;
    happened.told_late += p->awaited;
    if (!p->awaited)
        return;
    w->expected.exited += p->membership.now.standing == STANDING_MEMBER;
    groups_exit(&w->groups, p, (enum exit_reason)p->end_reason);
    table_forget(&w->table, ref);
}

static void drop_passed(struct world *w, uint32_t ref)
{
    groups_drop(&w->groups, table_process(&w->table, ref));
    table_forget(&w->table, ref);
}

/* Its record leads others until some more have passed. */
static void keep_passed(struct world *w, uint32_t ref)
{
    uint32_t *place = &w->passed[w->n_passed % PASSED_MAX];

    if (w->n_passed >= PASSED_MAX)
        drop_passed(w, *place);
    *place = ref;
    w->n_passed++;
}

static void tell_unseen(struct world *w, struct life *l)
{
    struct kin kin = kin_of(w, l->parent, l->identity.start_ticks, true);
    struct sample s = last_sample(l);
    enum sighting sighting;
    struct process *p;
    struct texts t;
    struct subject subject;
    struct delta delta;
    bool counts;
    uint32_t ref;

    CHECK(table_see(&w->table, &s, 0, &wanted, &ref, &sighting, &delta) == 0);
    CHECK(ref < RECORDS_MAX);
    if (sighting != SIGHTING_STARTED) {
        happened.hidden++;
        table_forget(&w->table, ref);
        return;
    }
    p = table_process(&w->table, ref);
    subject = subject_at_look(l, &t);
    CHECK(groups_place(&w->groups, p, sighting, &delta, &subject, &kin) >= 0);
    CHECK(groups_place_ended(&w->groups, p, &subject, &kin) == 0);
    CHECK(membership_has_place(&p->membership));
    groups_count_exit(&w->groups, p, (enum exit_reason)(l->cpu % EXIT_REASON_N));
    counts = p->membership.now.standing == STANDING_MEMBER;
    w->expected.cpu += counts ? l->cpu : 0;
    w->expected.started += counts;
    w->expected.exited += counts;
    happened.passed++;
    happened.passed_and_followed += counts && p->membership.now.follows;
    keep_passed(w, ref);
}

/* Those whose time has come, in the order in which they began. */
static void tell_ends(struct world *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->n_ends; i++) {
        struct end *end = &w->ends[i];
        uint32_t ref = table_find(&w->table, end->life.identity);

        if (end->after > w->table.cycle)
            w->ends[kept++] = *end;
        else if (ref != TABLE_NONE)
            tell_known(w, &end->life, ref);
        else
            tell_unseen(w, &end->life);
    }
    w->n_ends = kept;
    for (size_t i = 0; i < w->n_passed && i < PASSED_MAX; i++)
        drop_passed(w, w->passed[i]);
    w->n_passed = 0;
}

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    return x->life.identity.start_ticks < y->life.identity.start_ticks
               ? -1
               : x->life.identity.start_ticks > y->life.identity.start_ticks;
}

static void give_up_ends(struct world *w)
{
    uint32_t ref;

    for (size_t at = 0; (ref = table_next_awaited(&w->table, &at)) != TABLE_NONE;) {
        struct process *p = table_process(&w->table, ref);

        if (w->now_ns - p->awaited_since_ns < PATIENCE * STEP_NS)
            continue;
        w->expected.exited += p->membership.now.standing == STANDING_MEMBER;
        happened.never_told++;
        groups_exit(&w->groups, p, EXIT_REASON_UNKNOWN);
        table_forget(&w->table, ref);
    }
}

static void end_cycle(struct world *w, struct sums before)
{
    struct sums after;
    uint32_t ref;

    place_ended(w);
    table_end(&w->table);
    for (size_t at = 0; (ref = table_next_ended(&w->table, &at)) != TABLE_NONE;)
        exit_process(w, ref);
    give_up_ends(w);
    after = sum_groups(w);
    CHECK(after.members == w->expected.members);
    CHECK(w->groups.n_pending == w->pending);
    CHECK(w->groups.n_excluded == w->excluded);
    CHECK(w->expected.members + w->pending + w->excluded == w->table.n_present);
    CHECK(after.threads == w->expected.threads);
    CHECK(after.cpu - before.cpu == w->expected.cpu);
    CHECK(after.started - before.started == w->expected.started);
    CHECK(after.exited - before.exited == w->expected.exited);
    check_each_group(w);
    groups_end(&w->groups, w->now_ns);
    check_order(w);
}

static void run_cycle(struct world *w)
{
    bool left = one_in(w, 8), ends_first = one_in(w, 2);
    uint32_t reached = left ? (uint32_t)below(w, PIDS) : PIDS, offset = (uint32_t)below(w, PIDS);
    struct sums before;

    w->now_ns += STEP_NS;
    w->expected = (struct sums){0};
    w->pending = w->excluded = 0;
    if (one_in(w, 20))
        set_rules(w, (unsigned)below(w, SETS));
    before = sum_groups(w);
    qsort(w->ends, w->n_ends, sizeof(*w->ends), compare_ends);
    /* Late ends that were given up are told apart from news by the clock alone. */
    table_begin(&w->table, w->tells ? w->tick : 0);
    groups_begin(&w->groups);
    if (ends_first)
        tell_ends(w);
    for (uint32_t i = 0; i < reached; i++) {
        look(w, &w->lives[(i + offset) % PIDS]);
        if (one_in(w, 4))
            answer(w, &w->lives[below(w, PIDS)]);
    }
    if (!ends_first)
        tell_ends(w);
    if (left) {
        table_abort(&w->table);
        CHECK(sum_groups(w).cpu - before.cpu == w->expected.cpu);
    } else {
        end_cycle(w, before);
    }
    check_waiting(w);
    note_shown(w);
    for (uint32_t i = 0; i < PIDS; i++)
        answer(w, &w->lives[i]);
}

static void run_world(uint64_t of)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    seed = of;
    w->random = of * 0x9e3779b97f4a7c15u + 1;
    w->tells = of % 2;
    table_init(&w->table, TABLE_SINCE_FIRST_CYCLE, 0);
    groups_init(&w->groups, GROUPS_FIRST_AT_ZERO);
    set_rules(w, SET_DEFAULT);
    w->lives[0] = (struct life){.alive = true, .identity = {1, 0}};
    for (int i = 0; i < CYCLES; i++) {
        live(w);
        run_cycle(w);
    }
    happened.other += w->groups.other_assignments;
    groups_deinit(&w->groups);
    table_deinit(&w->table);
    free(w);
}

static void test_sums_over_groups(void **state)
{
    const char *given = getenv("PROCTALLY_TEST_SEED");

    (void)state;
    if (given) {
        run_world(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < RUNS; i++)
        run_world(i < RUNS / 2 ? i : (uint64_t)time(NULL) * RUNS + i);
    assert_true(happened.other > 0 && happened.moves > 0 && happened.ended_pending > 0);
    assert_true(happened.dropped > 0 && happened.followed > 0 && happened.kept > 0);
    assert_true(happened.told_in_time > 0 && happened.told_late > 0 && happened.never_told > 0);
    assert_true(happened.passed > 0 && happened.passed_and_followed > 0);
    assert_true(happened.hidden > 0 && happened.came_back > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_over_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
