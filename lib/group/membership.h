#pragma once
/*
 * membership - where each process counts, and what moves it.
 *
 * A decision holds until something that rules look at has changed. What a process used until then
 * belongs to where it was, so a move is carried out at a look, after its delta was taken; and it is
 * neither a start nor an end.
 *
 * While a rule needs what is not known yet, a new process is pending: it is in no group, and what
 * it uses is held until it is. After MEMBERSHIP_PATIENCE looks that found it so it is decided by
 * what there is, and again when more is known. A process that has a place keeps it meanwhile, and
 * keeps it for good where the place turns on what was known once and is not to be had any more.
 *
 * Who follows a leader does so for its life: while no rule takes it, and as long as some rule leads
 * into the group. Under new rules that is so when the group's name is fixed, or when a leader was
 * placed there by them, for which those who follow wait MEMBERSHIP_PATIENCE looks.
 */
#include "group/group.h"
#include "group/subject.h"
#include "track/table.h"

#include <stdbool.h>

/* What groups_place() and groups_foresee() return beside errors. */
enum {
    GROUPS_DECIDED = 0,
    GROUPS_LATER = 1, /* something that is expected decides */
};

enum { MEMBERSHIP_PATIENCE = 2 };

/* Who may lead a process into its group. */
struct kin {
    const struct process *parent; /* its record, of this cycle or the last one; NULL: not known */
    bool parent_expected;         /* not known, but this cycle's rest may bring it */
    bool next_look_decides;       /* set by groups_foresee() itself */
};

/* Whether what is decided of the process is what the current rules say of all that is known. */
static inline bool groups_is_decided(const struct groups *g, const struct process *p)
{
    const struct membership *m = &p->membership;

    return !m->undecided && (m->now.rules == g->rules_number || m->next.rules == g->rules_number);
}

/* Whether groups_place() needs the subject. */
static inline bool groups_must_decide(const struct groups *g, const struct process *p,
                                      enum sighting sighting)
{
    return sighting != SIGHTING_KNOWN || !groups_is_decided(g, p);
}

/* Whether some rule waits for a value of the process: not for its parent, nor the default's name.
 */
static inline bool groups_rules_wait(const struct groups *g, const struct process *p)
{
    return !groups_is_decided(g, p) && p->membership.unmatched != g->rules_number;
}

/* Whether the process has a place that it keeps until another one is decided. */
static inline bool membership_has_place(const struct membership *m)
{
    return m->now.standing == STANDING_MEMBER || m->now.standing == STANDING_EXCLUDED;
}

/* Something that rules look at has changed: what they said before does not count. */
void groups_changed(struct groups *g, struct process *p);

/* The process stays where it is, whatever was foreseen: it is ending, and reads like another. */
void groups_stay(struct groups *g, struct process *p);

/*
 * Takes the delta of a process to where it was, since that is where it was used, and carries out
 * what was decided since; or decides now, if there is a subject. Returns GROUPS_DECIDED,
 * GROUPS_LATER or -ENOMEM.
 */
int groups_place(struct groups *g, struct process *p, enum sighting sighting,
                 const struct delta *delta, const struct subject *subject, const struct kin *kin);

/* After a groups_place() that failed: whether the delta was taken all the same. */
static inline bool groups_took_delta(const struct process *p, enum sighting sighting)
{
    return sighting == SIGHTING_KNOWN && p->membership.now.standing != STANDING_NONE;
}

/*
 * Decides between two looks, when what was missing has come; the next look carries it out. Returns
 * as groups_place(). Without memory the next look decides.
 */
int groups_foresee(struct groups *g, struct process *p, const struct subject *subject,
                   const struct kin *kin);

/* Whether the process would end undecided: groups_place_ended() needs the subject. */
static inline bool groups_ends_undecided(const struct groups *g, const struct process *p)
{
    return p->membership.now.standing == STANDING_PENDING &&
           p->membership.next.rules != g->rules_number;
}

/*
 * Places a pending process that is not there any more by what there is. To be called for each that
 * ended before groups_exit() for any, since one may have led another. Returns 0 or -ENOMEM.
 */
int groups_place_ended(struct groups *g, struct process *p, const struct subject *subject,
                       const struct kin *kin);

/* What a process used before its end, told after the last look at it: to where it is. */
void groups_take_last(struct groups *g, const struct process *p, const struct delta *delta);

/*
 * A process that the table says is not there any more, but how it ended is to come: it leaves, and
 * its group waits for groups_exit().
 */
void groups_leave(struct groups *g, struct process *p);

/*
 * Counts the end of a process that left, or that nobody saw, after groups_place_ended(). It may
 * still lead others until its record goes.
 */
void groups_count_exit(struct groups *g, struct process *p, enum exit_reason reason);

/* A process whose record goes is not to count anywhere. */
void groups_drop(struct groups *g, struct process *p);

/* A process that the table says has ended. */
void groups_exit(struct groups *g, struct process *p, enum exit_reason reason);
