/*
 * membership - where each process counts, and what moves it.
 *
 * A decision that waits to be carried out has a claim on its group, which is not forgotten then,
 * empty as it may be. There is none while the process is undecided.
 */
#include "group/membership.h"

#include "group/default_name.h"

#include <errno.h>

static void claim(struct groups *g, const struct decision *d)
{
    if (d->standing == STANDING_MEMBER)
        g->groups[d->group].claims++;
}

static void drop_next(struct groups *g, struct membership *m)
{
    if (m->next.standing == STANDING_MEMBER)
        g->groups[m->next.group].claims--;
    m->next = (struct decision){0};
}

static void drop_held(struct groups *g, struct membership *m)
{
    if (m->now.standing == STANDING_PENDING)
        held_drop(&g->held, m->held);
}

static void drop_leaving(struct groups *g, struct membership *m)
{
    if (m->leaving)
        g->groups[m->now.group].claims--;
    m->leaving = false;
}

static void membership_clear(struct groups *g, struct membership *m)
{
    drop_next(g, m);
    drop_leaving(g, m);
    drop_held(g, m);
    *m = (struct membership){0};
}

static void take_delta(struct groups *g, const struct membership *m, const struct delta *delta)
{
    if (m->now.standing == STANDING_MEMBER)
        group_take_delta(&g->groups[m->now.group], delta);
    else if (m->now.standing == STANDING_PENDING)
        held_add(&g->held, m->held, delta);
}

void groups_changed(struct groups *g, struct process *p)
{
    drop_next(g, &p->membership);
    p->membership.unmatched = 0;
    p->membership.undecided = true;
}

void groups_stay(struct groups *g, struct process *p)
{
    drop_next(g, &p->membership);
    p->membership.undecided = false;
}

/* ---- following ---- */

/* Whether who follows may stay in the group: it still is one of those that lead. */
static bool group_leads(const struct groups *g, uint32_t group)
{
    return g->groups[group].leading_rules == g->rules_number;
}

static bool follows(const struct membership *m)
{
    return m->now.standing == STANDING_MEMBER && m->now.follows;
}

/* What the current rules said of the process; NULL: they did not decide yet. */
static const struct decision *decision_of(const struct groups *g, const struct membership *m)
{
    if (m->next.rules == g->rules_number)
        return &m->next;
    return m->now.rules == g->rules_number ? &m->now : NULL;
}

/* Follows the parent if that leads, by this decision about it; NULL: there is none. */
static bool follow_parent(const struct decision *parent, struct decision *ret)
{
    if (!parent || parent->standing != STANDING_MEMBER || !parent->leads)
        return false;
    *ret = (struct decision){
        .standing = STANDING_MEMBER, .group = parent->group, .leads = true, .follows = true};
    return true;
}

/* Whether who leads may be known soon. */
static bool leader_may_come(const struct membership *m, const struct kin *kin)
{
    bool undecided = kin->parent && kin->parent->membership.undecided;

    /* Texts of both come in any order, and the look after them is soon enough. */
    if (kin->next_look_decides && (undecided || kin->parent_expected))
        return true;
    /* After so many looks it is decided by what there is, but not for good. */
    if (undecided)
        return true;
    if (m->waited >= MEMBERSHIP_PATIENCE)
        return false;
    if (follows(m))
        return true;
    return kin->parent_expected;
}

/* Where kin leads; `standing` NONE: nowhere. */
static int follow(const struct groups *g, const struct membership *m, const struct kin *kin,
                  bool patient, struct decision *ret)
{
    const struct membership *parent = kin->parent ? &kin->parent->membership : NULL;
    const struct decision *decision = parent ? decision_of(g, parent) : NULL;

    if (follows(m) && group_leads(g, m->now.group)) {
        *ret = m->now;
        return GROUPS_DECIDED;
    }
    if (parent && !parent->undecided && follow_parent(decision, ret))
        return GROUPS_DECIDED;
    if (patient && leader_may_come(m, kin))
        return GROUPS_LATER;
    /* As it is now, though that may change. */
    (void)follow_parent(decision, ret);
    return GROUPS_DECIDED;
}

/* ---- deciding ---- */

static int decide_name(struct groups *g, struct span name, bool fixed, struct decision *ret)
{
    int r;

    if (buf_failed(&g->name))
        return -ENOMEM;
    r = groups_get(g, name, fixed, &ret->group);
    ret->standing = STANDING_MEMBER;
    return r;
}

static int decide_default(struct groups *g, const struct subject *subject, struct decision *ret)
{
    buf_reset(&g->name);
    if (!default_name(subject, &g->name))
        return GROUPS_LATER;
    return decide_name(g, buf_span(&g->name), false, ret);
}

/*
 * Texts are handed over once. If they were there, and no rule wanted the process, it need not be
 * asked for them again while it waits for its parent.
 */
static struct rule_match ask_rules(struct groups *g, struct membership *m,
                                   const struct subject *subject)
{
    struct rule_match match = {.outcome = RULE_DEFAULT};

    buf_reset(&g->name);
    if (m->unmatched == g->rules_number)
        return match;
    match = rules_match(&g->rules, subject, &g->name);
    if (match.outcome == RULE_DEFAULT)
        m->unmatched = g->rules_number;
    return match;
}

/* No rule takes the process. */
static int decide_unmatched(struct groups *g, const struct membership *m,
                            const struct subject *subject, const struct kin *kin, bool patient,
                            struct decision *ret)
{
    int r = g->rules_lead ? follow(g, m, kin, patient, ret) : GROUPS_DECIDED;

    if (r == GROUPS_DECIDED && ret->standing == STANDING_NONE)
        r = decide_default(g, subject, ret);
    return r;
}

/* What the rules say of it; only who is patient waits for his kin. */
static int decide(struct groups *g, struct membership *m, const struct subject *subject,
                  const struct kin *kin, bool patient, struct decision *ret)
{
    struct rule_match match = ask_rules(g, m, subject);
    int r = GROUPS_DECIDED;

    *ret = (struct decision){0};
    switch (match.outcome) {
    case RULE_LATER:
        return GROUPS_LATER;
    case RULE_EXCLUDE:
        ret->standing = STANDING_EXCLUDED;
        break;
    case RULE_GROUP:
        r = decide_name(g, buf_span(&g->name), false, ret);
        ret->leads = match.children;
        break;
    case RULE_DEFAULT:
        r = decide_unmatched(g, m, subject, kin, patient, ret);
        break;
    }
    ret->rules = g->rules_number;
    return r;
}

/* By what there is: what is expected is not to be had. */
static int decide_now(struct groups *g, struct membership *m, const struct subject *subject,
                      const struct kin *kin, struct decision *ret)
{
    struct subject known = *subject;
    uint32_t unmatched = m->unmatched;
    int r;

    known.expected = 0;
    r = decide(g, m, &known, kin, false, ret);
    /* When more is known, rules that waited are to be asked again. */
    m->unmatched = unmatched;
    return r;
}

/*
 * Of who has a place: what was lost may still decide, so it is as if it were expected; and if
 * nothing else is, the place is for good.
 */
static int decide_anew(struct groups *g, struct membership *m, const struct subject *subject,
                       const struct kin *kin, struct decision *ret)
{
    struct subject asked = *subject;
    struct rule_match match;

    if (subject->lost == 0)
        return decide(g, m, subject, kin, true, ret);
    asked.expected |= subject->lost;
    match = ask_rules(g, m, &asked);
    if (match.outcome != RULE_LATER || subject->expected != 0)
        return decide(g, m, &asked, kin, true, ret);
    *ret = m->now;
    ret->rules = g->rules_number;
    return GROUPS_DECIDED;
}

static int decide_patiently(struct groups *g, struct membership *m, const struct subject *subject,
                            const struct kin *kin, struct decision *ret)
{
    if (membership_has_place(m) && !m->now.provisional)
        return decide_anew(g, m, subject, kin, ret);
    return decide(g, m, subject, kin, true, ret);
}

/* ---- carrying out ---- */

static void enter_group(struct groups *g, struct membership *m, struct decision to)
{
    struct group *group = &g->groups[to.group];

    if (m->now.standing == STANDING_PENDING) {
        group_take_delta(group, held_sum(&g->held, m->held));
        /* It was there all the time, so nobody has to come in its place. */
        if (!m->start_due)
            group->restart_due = false;
    }
    if (group_is_other(group) && (m->now.standing != STANDING_MEMBER || m->now.group != to.group))
        g->other_assignments++;
    if (to.leads)
        group->leading_rules = to.rules;
    group->total[GROUP_COUNTER_STARTED] += m->start_due;
}

static void carry_out(struct groups *g, struct membership *m, struct decision to)
{
    drop_next(g, m);
    if (to.standing == STANDING_MEMBER)
        enter_group(g, m, to);
    drop_held(g, m);
    *m = (struct membership){.now = to};
}

/* Goes on without a decision: where it is, or pending. */
static int wait_for_more(struct groups *g, struct membership *m)
{
    if (m->now.standing == STANDING_NONE) {
        int r = held_new(&g->held, &m->held);

        if (r < 0)
            return r;
        m->now.standing = STANDING_PENDING;
    }
    m->undecided = true;
    m->waited += m->waited < UINT8_MAX;
    return GROUPS_LATER;
}

static int settle(struct groups *g, struct membership *m, const struct subject *subject,
                  const struct kin *kin)
{
    bool overdue = m->now.standing == STANDING_PENDING && m->waited >= MEMBERSHIP_PATIENCE;
    uint32_t unmatched;
    struct decision to;
    int r;

    drop_next(g, m);
    r = decide_patiently(g, m, subject, kin, &to);
    if (r == GROUPS_LATER && !overdue)
        return wait_for_more(g, m);
    overdue = r == GROUPS_LATER;
    if (overdue)
        r = decide_now(g, m, subject, kin, &to);
    if (r < 0)
        return r;
    unmatched = m->unmatched;
    to.provisional = overdue;
    carry_out(g, m, to);
    if (overdue)
        m->unmatched = unmatched;
    m->undecided = overdue;
    return GROUPS_DECIDED;
}

/* Decides if there is a subject, else carries out what was foreseen. */
static int settle_or_go_on(struct groups *g, struct membership *m, const struct subject *subject,
                           const struct kin *kin)
{
    if (subject)
        return settle(g, m, subject, kin);
    if (m->next.standing != STANDING_NONE)
        carry_out(g, m, m->next);
    return GROUPS_DECIDED;
}

int groups_place(struct groups *g, struct process *p, enum sighting sighting,
                 const struct delta *delta, const struct subject *subject, const struct kin *kin)
{
    struct membership *m = &p->membership;
    bool placed = groups_took_delta(p, sighting);
    int r;

    if (placed) {
        take_delta(g, m, delta);
    } else {
        membership_clear(g, m);
        m->start_due = sighting == SIGHTING_STARTED;
    }
    r = settle_or_go_on(g, m, subject, kin);
    if (r < 0) {
        if (placed)
            m->undecided = true;
        else
            membership_clear(g, m);
        return r;
    }
    if (!placed)
        take_delta(g, m, delta);
    /* Who moves in used nothing here so far, and that is known. */
    if (m->now.standing == STANDING_MEMBER)
        g->groups[m->now.group].known |= delta->known;
    return r;
}

int groups_foresee(struct groups *g, struct process *p, const struct subject *subject,
                   const struct kin *kin)
{
    struct membership *m = &p->membership;
    struct kin foreseen = *kin;
    struct decision to;
    int r;

    if (m->now.standing == STANDING_NONE)
        return GROUPS_DECIDED;
    foreseen.next_look_decides = true;
    drop_next(g, m);
    r = decide_patiently(g, m, subject, &foreseen, &to);
    m->undecided = r != GROUPS_DECIDED;
    if (r != GROUPS_DECIDED)
        return r;
    m->next = to;
    claim(g, &m->next);
    return GROUPS_DECIDED;
}

int groups_place_ended(struct groups *g, struct process *p, const struct subject *subject,
                       const struct kin *kin)
{
    struct membership *m = &p->membership;
    struct decision to = m->next;
    int r = GROUPS_DECIDED;

    if (m->now.standing != STANDING_PENDING)
        return 0;
    if (groups_ends_undecided(g, p))
        r = decide_now(g, m, subject, kin, &to);
    if (r < 0)
        return r;
    carry_out(g, m, to);
    /* If it turns out to live. */
    m->undecided = true;
    return 0;
}

/*
 * Who came and went without being counted among the members was somebody new, and the oldest, if
 * nobody else was there.
 */
static void group_exit_uncounted(struct group *group)
{
    if (group->restart_due)
        group->total[GROUP_COUNTER_RESTARTS]++;
    group->restart_due = false;
    group->oldest_ended = true;
}

void groups_take_last(struct groups *g, const struct process *p, const struct delta *delta)
{
    take_delta(g, &p->membership, delta);
}

static void group_lose(struct group *group, struct identity identity)
{
    group->had_members = true;
    if (group->oldest_before.pid == 0)
        group_exit_uncounted(group);
    else if (identity_equal(identity, group->oldest_before))
        group->oldest_ended = true;
}

void groups_leave(struct groups *g, struct process *p)
{
    struct membership *m = &p->membership;

    drop_next(g, m);
    if (m->now.standing != STANDING_MEMBER || m->leaving)
        return;
    group_lose(&g->groups[m->now.group], p->identity);
    claim(g, &m->now);
    m->leaving = true;
}

void groups_count_exit(struct groups *g, struct process *p, enum exit_reason reason)
{
    struct membership *m = &p->membership;
    struct group *group;

    if (m->now.standing != STANDING_MEMBER)
        return;
    group = &g->groups[m->now.group];
    group->total[GROUP_COUNTER_EXITED + reason]++;
    group->known |= UINT32_C(1) << (GROUP_COUNTER_EXITED + reason);
    if (!m->leaving)
        group_lose(group, p->identity);
}

void groups_drop(struct groups *g, struct process *p)
{
    membership_clear(g, &p->membership);
}

void groups_exit(struct groups *g, struct process *p, enum exit_reason reason)
{
    groups_count_exit(g, p, reason);
    groups_drop(g, p);
}
