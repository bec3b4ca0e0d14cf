/*
 * probes - what the cycle has the prober read.
 *
 * The state of each process is in its record of the table, so it goes when the process does. Each
 * request is of one record: due parts become asked ones, and what the answer does not settle (the
 * prober was out of descriptors, or went off) is due again.
 */
#include "daemon/probes.h"

#include "daemon/clock.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>
#include <string.h>

/* How soon to go on with those for whom there was no room. */
static const uint64_t WAITING_PAUSE_NS = 10000000;

int probes_init(struct probes *p, const struct probes_parts *parts)
{
    *p = (struct probes){.parts = *parts, .prober = prober_new(probe_read)};
    return p->prober ? 0 : -ENOMEM;
}

void probes_deinit(struct probes *p)
{
    p->prober = prober_free(p->prober);
}

/* Why the answer has no such text; 0 also of one that is neither due nor tried. */
static int text_error(const struct probe_answer *a, uint32_t due, enum part part)
{
    if (a->texts->have & part_bit(part))
        return 0;
    if (part == PART_EXE && a->texts->exe_refused)
        return -EACCES;
    return a->hung && (due & part_bit(part)) ? -ETIMEDOUT : a->error[part];
}

/* Hands over the texts of these parts, as far as they were read. */
static void tell_texts(struct probes *p, struct process *process, uint32_t parts,
                       const struct probe_answer *a)
{
    const struct probe_texts *t = a->texts;
    struct process_texts texts = {
        .due = parts,
        .have = t->have,
        .exe = probe_text_span(t, t->exe),
        .cmdline = probe_text_span(t, t->cmdline),
        .exe_error = text_error(a, parts, PART_EXE),
        .cmdline_error = text_error(a, parts, PART_CMDLINE),
    };

    if (t->exe_refused)
        texts.exe = probe_text_span(t, t->program);
    if (parts && p->parts.texts)
        p->parts.texts(p->parts.texts_arg, process, &texts);
}

static void quarantine(struct probes *p, struct process *process, enum part part)
{
    struct quarantined *news = &p->news[p->n_news];

    process->probing.quarantined = true;
    process->probing.due = 0;
    if (p->n_news == sizeof(p->news) / sizeof(*p->news))
        return;
    news->pid = process->identity.pid;
    news->part = part;
    news->comm_len = process->comm_len;
    memcpy(news->comm, process->comm, process->comm_len);
    p->n_news++;
}

static void count_faults(struct probes *p, const struct probe_answer *a)
{
    for (uint32_t rest = a->parts; rest; rest &= rest - 1) {
        enum part part = (enum part)__builtin_ctz(rest);

        if (a->error[part] < 0)
            (void)faults_count(p->parts.faults, probe_fault_file(part), a->sample.identity.pid,
                               a->error[part]);
    }
}

static void take_answer(struct probes *p, struct probe_answer *a)
{
    uint32_t settled = a->hung ? probe_parts() : a->parts;
    uint32_t ref = table_keep_late(p->parts.table, &a->sample, settled, p->parts.wanted);
    uint32_t texts = a->asked & settled & probe_text_parts();
    struct process *process;

    count_faults(p, a);
    if (ref == TABLE_NONE)
        return;
    process = table_process(p->parts.table, ref);
    process->probing.asked = 0;
    process->probing.answered = true;
    /* What got due meanwhile waits for its turn; what could not be tried waits for a cycle. */
    p->waiting += process->probing.due != 0;
    process->probing.due |= a->asked & ~settled;
    if (a->hung) {
        texts |= process->probing.due & probe_text_parts();
        quarantine(p, process, a->hung_part);
    }
    tell_texts(p, process, texts, a);
}

static void take_answers(struct probes *p)
{
    struct probe_answer answer;

    while (prober_take(p->prober, &answer))
        take_answer(p, &answer);
}

static void look(struct probes *p, uint64_t now_ns)
{
    prober_look(p->prober, now_ns, p->deadline_ns);
    take_answers(p);
}

void probes_begin(struct probes *p, uint64_t now_ns)
{
    look(p, now_ns);
    p->backlog = p->waiting > 0;
    p->waiting = 0;
}

bool probes_are_off(const struct probes *p)
{
    return prober_is_off(p->prober);
}

bool probes_refuse(const struct probes *p, const struct process *process)
{
    return probes_are_off(p) || (process && process->probing.quarantined);
}

/* Asks for all that is due of the process begun. */
static int ask(struct probes *p, struct process *process)
{
    struct probe_request request = {.identity = process->identity,
                                    .parts = process->probing.due,
                                    .once = process->probing.once};
    int r = prober_ask(p->prober, &request, process_memory_dir(p->parts.procfs));

    if (r < 0)
        return r;
    process->probing.asked = process->probing.due;
    process->probing.due = 0;
    process->probing.once = false;
    return 0;
}

/* Of these parts, those that are due for the first time; from now on they have been. */
static uint32_t take_first_due(struct process *process, uint32_t parts)
{
    uint32_t first = 0;

    for (; parts; parts &= parts - 1) {
        enum part part = (enum part)__builtin_ctz(parts);

        if (part_gauges(part) & ~process->kept.asked)
            first |= part_bit(part);
        process->kept.asked |= part_gauges(part);
    }
    return first;
}

/* Texts are the rules' business, and never in the families' mask. */
static uint32_t wanted_parts(const struct probes *p)
{
    return (p->parts.wanted->parts & probe_gauge_parts()) | p->text_parts;
}

uint32_t probes_due(struct probes *p, struct process *process, uint32_t parts)
{
    uint32_t first = take_first_due(process, parts);

    process->probing.due = (process->probing.due | parts) & wanted_parts(p);
    if (process->probing.quarantined)
        process->probing.due = 0;
    /* Who was there before us, or before its family was enabled, is read first but once. */
    process->probing.once |= first && !process_is_new(process);
    if (process->probing.due == 0 || process->probing.asked)
        return first;
    if (!prober_has_room(p->prober))
        take_answers(p);
    if ((p->backlog && process->probing.answered) || ask(p, process) < 0)
        p->waiting++;
    return first;
}

uint32_t probes_texts_expected(const struct probes *p, const struct process *process)
{
    uint32_t texts = (process->probing.due | process->probing.asked) & probe_text_parts();

    return texts == 0 || probes_refuse(p, process) ? 0 : texts;
}

void probes_wait(struct probes *p, const struct process *process)
{
    while (process->probing.asked) {
        prober_wait(p->prober, prober_look_again(p->prober, clock_monotonic_ns(), p->deadline_ns));
        look(p, clock_monotonic_ns());
    }
}

static bool is_waiting(const struct probes *p, const struct process *process)
{
    return process->seen == p->parts.table->cycle && !process->unread &&
           process->probing.due != 0 && !process->probing.asked;
}

/* The next process that waits, after at most one turn through the table; NULL: there is none. */
static struct process *next_waiting(struct probes *p)
{
    const struct table *t = p->parts.table;

    for (size_t i = 0; i < t->n_processes; i++) {
        struct process *process;

        if (p->next >= t->n_processes)
            p->next = 0;
        process = table_process(t, p->next++);
        if (is_waiting(p, process))
            return process;
    }
    return NULL;
}

/* Opens the process anew to ask for it; one that is gone is no longer due. */
static int ask_late(struct probes *p, struct process *process, struct sample *scratch)
{
    struct faults uncounted = {0};
    int r = process_begin(p->parts.procfs, process->identity.pid, &uncounted, scratch);

    if (r == 0 && identity_equal(scratch->identity, process->identity))
        r = ask(p, process);
    else if (r >= 0)
        process->probing.due = 0;
    process_end(p->parts.procfs);
    return r < 0 ? r : 0;
}

static void ask_waiting(struct probes *p, struct sample *scratch)
{
    while (p->waiting > 0 && prober_has_room(p->prober)) {
        struct process *process = next_waiting(p);

        if (!process) {
            p->waiting = 0;
        } else if (ask_late(p, process, scratch) < 0) {
            p->next--; /* it goes first when there is room again */
            break;
        } else {
            p->waiting--;
        }
    }
}

uint64_t probes_cpu_ns(const struct probes *p)
{
    return prober_cpu_ns(p->prober);
}

uint64_t probes_between(struct probes *p, struct sample *scratch, uint64_t now_ns)
{
    uint64_t again_ns;

    look(p, now_ns);
    if (probes_are_off(p))
        return UINT64_MAX;
    ask_waiting(p, scratch);
    again_ns = prober_look_again(p->prober, now_ns, p->deadline_ns);
    if (p->waiting > 0 && now_ns + WAITING_PAUSE_NS < again_ns)
        again_ns = now_ns + WAITING_PAUSE_NS;
    return again_ns;
}

void probes_wait_all(struct probes *p, struct sample *scratch, uint64_t until_ns)
{
    for (;;) {
        uint64_t again_ns = probes_between(p, scratch, clock_monotonic_ns());

        if (again_ns == UINT64_MAX || clock_monotonic_ns() >= until_ns)
            return;
        prober_wait(p->prober, again_ns < until_ns ? again_ns : until_ns);
    }
}
