/*
 * placing - what decides about each process of a cycle.
 *
 * Texts are not kept: they are handed over once, the rules are asked then, and the next look
 * carries out what they said. So whenever a process is to be decided anew and its rules come to a
 * text, that is read anew. Of those read by turns, a hash tells whether anything is new, for asking
 * the rules costs more than all else of a cycle.
 */
#include "daemon/placing.h"

#include "procfs/pid_cgroup.h"
#include "procfs/process.h"

#include <errno.h>

/*
 * How often a process that does not change has its control group read; and one of which it is
 * known, by a number that may be given again, that it was not moved.
 */
static const uint64_t CGROUP_TURN_NS = 30000000000u;
static const uint64_t CGROUP_LONG_TURN_NS = 1800000000000u;

enum {
    CGROUP_PHASES = 16, /* into which a turn is cut, so that not all are read in one cycle */
    TEXTS_TURN = 16,    /* cycles */
    TEXT_VALUES = 1 << SUBJECT_EXE | 1 << SUBJECT_CMDLINE,
};

/* Whether ids of control groups say where a process is. */
static bool ids_tell(struct procfs *fs)
{
    struct span text;

    return fs->live &&
           procfs_read(fs, fs->root, "self/cgroup", PROCFS_RECORD, PROCFS_FILE_MAX, &text) == 0 &&
           pid_cgroup_is_unified(text);
}

int placing_init(struct placing *p, const struct placing_parts *parts)
{
    *p = (struct placing){.parts = *parts, .users = users_new(users_look)};
    p->ids_tell = ids_tell(parts->procfs);
    cgroups_init(&p->cgroups);
    return p->users ? 0 : -ENOMEM;
}

void placing_deinit(struct placing *p)
{
    cgroups_deinit(&p->cgroups);
    p->users = users_free(p->users);
}

uint32_t placing_configure(struct placing *p)
{
    uint32_t texts = 0;

    p->needs = rules_needs(&p->parts.groups->rules);
    if (p->needs & subject_bit(SUBJECT_EXE))
        texts |= part_bit(PART_EXE);
    if (p->needs & subject_bit(SUBJECT_CMDLINE))
        texts |= part_bit(PART_CMDLINE);
    p->parts.probes->text_parts = texts;
    return p->needs & subject_bit(SUBJECT_USER) ? part_bit(PART_STATUS) : 0;
}

void placing_begin(struct placing *p, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t changes;

    p->now_ns = now_ns;
    p->under_way = true;
    users_begin(p->users, now_ns, deadline_ns);
    changes = users_changes(p->users);
    p->users_changed = changes != p->users_changes;
    p->users_changes = changes;
}

/* ---- control groups ---- */

/* With ids nothing is read but what has a new one. */
static bool find_by_id(struct placing *p, struct placing_numbers numbers, struct placing_read *ret)
{
    if (!p->ids_tell || numbers.id == 0)
        return false;
    ret->cgroup = cgroups_of_id(&p->cgroups, numbers.id);
    ret->due = ret->cgroup != CGROUPS_NONE;
    return ret->due;
}

bool placing_is_due(struct placing *p, uint32_t ref, bool news, struct placing_numbers numbers,
                    struct placing_read *ret)
{
    const struct origin *o;

    *ret = (struct placing_read){.cgroup = CGROUPS_NONE, .set = numbers.set};
    if (find_by_id(p, numbers, ret))
        return false;
    if (news)
        return true;
    o = &table_process(p->parts.table, ref)->origin;
    return p->now_ns >= o->cgroup_due_ns || numbers.set != o->cgroup_set;
}

int placing_read(struct placing *p, const struct sample *s, struct placing_numbers numbers,
                 struct placing_read *ret)
{
    struct span path;
    int r;

    ret->due = true;
    r = process_read_cgroup(p->parts.procfs, p->parts.faults, s, &path);
    if (r != 0)
        return r == PROCESS_NO_CGROUP ? 0 : r;
    ret->is_root = pid_cgroup_is_root(path);
    r = cgroups_enter(&p->cgroups, path, &ret->cgroup);
    if (r == 0 && p->ids_tell && numbers.id != 0)
        cgroups_set_id(&p->cgroups, ret->cgroup, numbers.id);
    return r;
}

void placing_learn(struct placing *p, uint64_t id, struct span path)
{
    uint32_t number;

    /* Without memory it just is not known. */
    if (p->ids_tell && cgroups_enter(&p->cgroups, path, &number) == 0)
        cgroups_set_id(&p->cgroups, number, id);
}

void placing_recall(struct placing *p, const struct sample *s, struct placing_numbers numbers,
                    struct placing_read *ret)
{
    uint32_t parent;

    *ret = (struct placing_read){.cgroup = CGROUPS_NONE};
    if (find_by_id(p, numbers, ret))
        return;
    parent = table_find_parent(p->parts.table, s->parent_pid, s->identity.start_ticks);
    if (parent == TABLE_NONE)
        return;
    ret->cgroup = table_process(p->parts.table, parent)->origin.cgroup;
    ret->due = ret->cgroup != CGROUPS_NONE;
}

/* Those that were found in one cycle are not read again in one. */
static uint64_t next_cgroup_reading(const struct placing *p, const struct process *process,
                                    uint64_t turn_ns)
{
    switch (process->origin.cgroup_readings) {
    case 0:
        return p->now_ns;
    case 1:
        return p->now_ns + turn_ns / CGROUP_PHASES * (process->identity.pid % CGROUP_PHASES + 1);
    default:
        return p->now_ns + turn_ns;
    }
}

/*
 * Whether the path is news to be believed. With cgroup v1 who is ending is in the root, which may
 * have begun since its stat was read, and the next look tells.
 */
static bool believe_cgroup(const struct placing *p, struct origin *o,
                           const struct placing_read *read)
{
    bool doubtful = read->is_root && !o->cgroup_is_root && o->cgroup != CGROUPS_NONE &&
                    read->cgroup != o->cgroup;

    o->cgroup_is_root = read->is_root;
    if (doubtful)
        o->cgroup_due_ns = p->now_ns;
    return !doubtful;
}

/* Returns whether the process is in another control group than it was. */
static bool take_cgroup(struct placing *p, struct process *process, const struct placing_read *read)
{
    struct origin *o = &process->origin;

    if (read->due) {
        o->cgroup_due_ns =
            next_cgroup_reading(p, process, read->set != 0 ? CGROUP_LONG_TURN_NS : CGROUP_TURN_NS);
        o->cgroup_readings += o->cgroup_readings < 2;
        o->cgroup_set = read->set;
    }
    if (read->cgroup == CGROUPS_NONE || read->cgroup == o->cgroup || !believe_cgroup(p, o, read)) {
        placing_keep(p, process);
        return false;
    }
    o->cgroup = read->cgroup;
    return true;
}

void placing_keep(struct placing *p, const struct process *process)
{
    if (process->origin.cgroup != CGROUPS_NONE)
        (void)cgroups_keep(&p->cgroups, process->origin.cgroup);
}

/* ---- the subject ---- */

/* Returns whether the process has become another user's. */
static bool take_user(struct process *process, const struct sample *s)
{
    struct origin *o = &process->origin;
    bool changed = s->have_uid && (!o->have_uid || o->uid != s->uid);

    if (s->have_uid) {
        o->uid = s->uid;
        o->have_uid = true;
    }
    return changed;
}

static bool session_is_known(const struct cgroup_identity *cgroup)
{
    return cgroup && cgroup->has_session;
}

static void name_user(struct placing *p, uint32_t uid, enum subject_value value, struct span *name,
                      struct subject *subject)
{
    if (users_name(p->users, uid, name) == USERS_EXPECTED)
        subject->expected |= subject_bit(value);
}

/*
 * Whether no text of the process is to be had, whatever was. While the prober is off they are
 * expected all the same: it may come back.
 */
static bool texts_are_lost(const struct process *process)
{
    return process->origin.ending || process->probing.quarantined;
}

/* All that is known at once; texts are expected, where rules need them and they are to be had. */
static void describe(struct placing *p, const struct process *process, struct subject *ret)
{
    const struct origin *o = &process->origin;
    const struct cgroup_identity *cgroup = cgroups_identity(&p->cgroups, o->cgroup);

    *ret = (struct subject){
        .comm = span_of(process->comm, process->comm_len),
        .cgroup = cgroup,
        .kernel_thread = process->kernel_thread,
        .uid = o->uid,
        .have_uid = o->have_uid,
    };
    if (o->have_uid && (p->needs & subject_bit(SUBJECT_USER)))
        name_user(p, o->uid, SUBJECT_USER, &ret->user, ret);
    if (process->kernel_thread)
        return;
    if (session_is_known(cgroup))
        name_user(p, cgroup->session_uid, SUBJECT_SESSION_USER, &ret->session_user, ret);
    if (!texts_are_lost(process))
        ret->expected |= p->needs & TEXT_VALUES;
    else if (!process->renamed)
        ret->lost = p->needs & TEXT_VALUES;
}

/* A text that was to be read, and could not be; what stands in for exe is one. */
static uint32_t lost_texts(const struct process_texts *texts)
{
    uint32_t lost = 0;

    if ((texts->due & ~texts->have & part_bit(PART_EXE)) && texts->exe.n == 0)
        lost |= subject_bit(SUBJECT_EXE);
    if (texts->due & ~texts->have & part_bit(PART_CMDLINE))
        lost |= subject_bit(SUBJECT_CMDLINE);
    return lost;
}

static void describe_texts(const struct process_texts *texts, struct subject *subject)
{
    subject->exe = texts->exe;
    subject->cmdline = texts->cmdline;
    subject->expected &= ~(uint32_t)TEXT_VALUES;
    subject->lost = lost_texts(texts);
}

static struct kin kin_of(const struct placing *p, const struct process *process)
{
    struct identity identity = process->identity;
    uint32_t parent;

    /* The first process may say that it is its own. */
    if (!p->parts.groups->rules_lead || process->kernel_thread || process->parent_pid == 0 ||
        process->parent_pid == identity.pid)
        return (struct kin){0};
    parent = table_find_parent(p->parts.table, process->parent_pid, identity.start_ticks);
    /* Once everybody was looked at since it is known, it is known, or hidden. */
    if (parent == TABLE_NONE)
        return (struct kin){.parent_expected = p->under_way && process->origin.known_since ==
                                                                   p->parts.table->cycle};
    return (struct kin){.parent = table_process(p->parts.table, parent)};
}

/* ---- placing ---- */

/* Names changed, and the process' may be one of them. */
static bool names_matter(const struct placing *p, const struct process *process)
{
    const struct origin *o = &process->origin;

    if (!p->users_changed)
        return false;
    return (o->have_uid && (p->needs & subject_bit(SUBJECT_USER))) ||
           session_is_known(cgroups_identity(&p->cgroups, o->cgroup));
}

/* Takes what this look brings, and tells the groups whether it is news. */
static void take_origin(struct placing *p, struct process *process, const struct sample *s,
                        const struct placing_read *read)
{
    bool moved = take_cgroup(p, process, read), another = take_user(process, s);

    process->origin.ending = s->ending;
    if (s->ending && membership_has_place(&process->membership))
        groups_stay(p->parts.groups, process);
    else if (moved || another || process->renamed || names_matter(p, process))
        groups_changed(p->parts.groups, process);
}

static bool texts_have_their_turn(const struct process *process)
{
    /* In the second cycle, since a process is often seen between its fork and its exec. */
    return process->started + 1 == process->seen ||
           (process->seen + process->identity.pid) % TEXTS_TURN == 0;
}

/* The texts to be read of a process about which nothing else is news. */
static uint32_t texts_by_turn(const struct placing *p, const struct process *process)
{
    if (!process->origin.texts_decide || !texts_have_their_turn(process) ||
        texts_are_lost(process) || probes_are_off(p->parts.probes))
        return 0;
    return p->parts.probes->text_parts & ~probes_texts_expected(p->parts.probes, process);
}

/* Those of one that waits; what is under way may be from before an exec, and is read again. */
static uint32_t texts_to_wait_for(const struct placing *p, const struct process *process)
{
    uint32_t texts = p->parts.probes->text_parts;

    return process->renamed ? texts : texts & ~probes_texts_expected(p->parts.probes, process);
}

/* After a decision for which texts were expected: those to be read, if it waits for them. */
static uint32_t note_texts(const struct placing *p, struct process *process)
{
    struct origin *o = &process->origin;

    o->texts_decide = groups_rules_wait(p->parts.groups, process);
    if (!o->texts_decide)
        return 0;
    /* It was decided without. */
    if (process->membership.now.provisional)
        o->unread |= p->parts.probes->text_parts;
    return texts_to_wait_for(p, process);
}

int placing_place(struct placing *p, struct process *process, enum sighting sighting,
                  const struct delta *delta, const struct sample *s,
                  const struct placing_read *read, uint32_t *ret_due)
{
    struct subject subject;
    struct kin kin;
    int r;

    *ret_due = 0;
    if (sighting != SIGHTING_KNOWN)
        process->origin.known_since = process->seen;
    take_origin(p, process, s, read);
    if (!groups_must_decide(p->parts.groups, process, sighting)) {
        *ret_due = texts_by_turn(p, process);
        return groups_place(p->parts.groups, process, sighting, delta, NULL, NULL);
    }
    describe(p, process, &subject);
    kin = kin_of(p, process);
    r = groups_place(p->parts.groups, process, sighting, delta, &subject, &kin);
    if (r < 0)
        return r;
    if (subject.expected & TEXT_VALUES)
        *ret_due = note_texts(p, process);
    return 0;
}

static uint64_t hash_texts(const struct process_texts *texts)
{
    return map_hash_u64(map_hash_span(texts->exe) + texts->have) ^ map_hash_span(texts->cmdline);
}

void placing_texts(void *arg, struct process *process, const struct process_texts *texts)
{
    struct placing *p = arg;
    uint64_t hash = hash_texts(texts);
    struct subject subject;
    struct kin kin;

    process->origin.unread &= ~texts->due;
    process->origin.unread |= texts->due & ~texts->have;
    if (hash == process->origin.texts_hash && groups_is_decided(p->parts.groups, process))
        return;
    process->origin.texts_hash = hash;
    describe(p, process, &subject);
    describe_texts(texts, &subject);
    kin = kin_of(p, process);
    /* If it still waits, or there is no memory, the next look finds it undecided. */
    (void)groups_foresee(p->parts.groups, process, &subject, &kin);
}

int placing_explain(struct placing *p, struct process *process, const struct process_texts *texts,
                    struct subject *ret)
{
    struct kin kin = kin_of(p, process);
    int r;

    p->needs |= subject_bit(SUBJECT_USER);
    /* The first look asks for the names, the second finds them. */
    describe(p, process, ret);
    users_wait(p->users);
    describe(p, process, ret);
    describe_texts(texts, ret);
    kin.parent_expected = false;
    groups_changed(p->parts.groups, process);
    r = groups_foresee(p->parts.groups, process, ret, &kin);
    return r < 0 ? r : 0;
}

int placing_place_ended(struct placing *p, struct process *process)
{
    struct subject subject;
    struct kin kin;

    if (!groups_ends_undecided(p->parts.groups, process))
        return groups_place_ended(p->parts.groups, process, NULL, NULL);
    describe(p, process, &subject);
    kin = kin_of(p, process);
    return groups_place_ended(p->parts.groups, process, &subject, &kin);
}

void placing_end(struct placing *p)
{
    cgroups_sweep(&p->cgroups);
    p->under_way = false;
}
