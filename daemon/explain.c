/*
 * explain - which group a process is in, and why.
 *
 * A whole cycle is run, without families: children follow ancestors, and the number of groups is
 * bounded. Then the one process is decided anew, by the code that always decides, with all that
 * rules could look at. Its texts are overheard when the cycle has them read, since a process that
 * hangs is not asked twice, and those that no rule needed are read afterwards.
 */
#include "daemon/explain.h"

#include "base/ticks.h"
#include "daemon/cycle.h"
#include "daemon/explanation.h"
#include "daemon/once.h"
#include "daemon/settings.h"
#include "procfs/probe.h"
#include "procfs/process.h"

#include <errno.h>
#include <string.h>

enum { EXPLAIN_MAX_BYTES = 64 * 1024 * 1024 };

struct explain {
    const struct config *config;
    uint32_t pid;
    struct cycle cycle;
    /* The texts of the process as they came last. */
    struct process_texts texts;
    char exe[PROBE_EXE_MAX];
    char cmdline[PROBE_CMDLINE_MAX];
};

/* ---- texts ---- */

static struct span keep(char *to, struct span text)
{
    if (text.n > 0)
        memcpy(to, text.p, text.n);
    return span_of(to, text.n);
}

/* One that was not due may have come with another. */
static void take_texts(void *arg, struct process *process, const struct process_texts *texts)
{
    struct explain *x = arg;
    uint32_t came = texts->due | texts->have;

    if (process->identity.pid != x->pid)
        return;
    if (came & part_bit(PART_EXE)) {
        x->texts.exe = keep(x->exe, texts->exe);
        x->texts.exe_error = texts->exe_error;
    }
    if (came & part_bit(PART_CMDLINE)) {
        x->texts.cmdline = keep(x->cmdline, texts->cmdline);
        x->texts.cmdline_error = texts->cmdline_error;
    }
    x->texts.due |= came;
    x->texts.have = (x->texts.have & ~came) | texts->have;
}

static void overhear(void *arg, struct process *process, const struct process_texts *texts)
{
    struct explain *x = arg;

    take_texts(x, process, texts);
    placing_texts(&x->cycle.placing, process, texts);
}

/* Has those read that nobody needed so far. */
static int read_texts(struct explain *x, struct process *process)
{
    uint32_t missing = probe_text_parts() & ~x->texts.due;
    struct cycle *c = &x->cycle;
    struct faults uncounted = {0};
    int r;

    if (missing == 0 || process->kernel_thread || process->state == STATE_ZOMBIE)
        return 0;
    c->probes.parts.texts = take_texts;
    c->probes.text_parts |= missing;
    r = process_begin(&c->procfs, x->pid, &uncounted, &c->sample);
    if (r == 0 && identity_equal(c->sample.identity, process->identity)) {
        (void)probes_due(&c->probes, process, missing);
        probes_wait(&c->probes, process);
    }
    process_end(&c->procfs);
    return r < 0 ? r : 0;
}

/* ---- the process ---- */

static int complain_reading(const struct explain *x, int error, struct buf *what)
{
    buf_printf(what, "cannot read %s/%u/stat: %s", x->config->procfs, (unsigned)x->pid,
               error == -EBADMSG ? "it is malformed" : strerror(-error));
    return error;
}

static int complain_gone(const struct explain *x, struct buf *what)
{
    buf_printf(what, "there is no process %u in %s", (unsigned)x->pid, x->config->procfs);
    return -ESRCH;
}

/* Why its stat could not be read. */
static int stat_error(const struct faults *faults)
{
    for (int i = 0; i < FAULT_REASON_N; i++)
        if (faults->count[FAULT_STAT][i] > 0)
            return faults->first_errno[FAULT_STAT][i] ? -faults->first_errno[FAULT_STAT][i]
                                                      : -EBADMSG;
    return -EIO;
}

/* Before anything is collected. */
static int look_for_process(struct explain *x, struct buf *error)
{
    struct procfs *fs = &x->cycle.procfs;
    struct faults faults = {0};
    int r = process_begin(fs, x->pid, &faults, &x->cycle.sample);

    process_end(fs);
    if (r == PROCESS_GONE)
        return complain_gone(x, error);
    if (r == PROCESS_UNREADABLE)
        r = stat_error(&faults);
    return r < 0 ? complain_reading(x, r, error) : 0;
}

/* A thread has a directory of its number as well, but is not listed. */
static struct process *find_process(struct explain *x, struct buf *error)
{
    uint32_t ref = table_find_pid(&x->cycle.table, x->pid);

    if (ref != TABLE_NONE)
        return table_process(&x->cycle.table, ref);
    (void)complain_gone(x, error);
    buf_append_str(error, ": it is a thread of one, or ended just now");
    return NULL;
}

static const struct process *parent_of(const struct cycle *c, const struct process *p)
{
    uint32_t ref = p->parent_pid
                       ? table_find_parent(&c->table, p->parent_pid, p->identity.start_ticks)
                       : TABLE_NONE;

    return ref == TABLE_NONE ? NULL : table_process(&c->table, ref);
}

static const struct decision *decision_of(const struct process *p)
{
    const struct membership *m = &p->membership;

    return m->next.standing != STANDING_NONE ? &m->next : &m->now;
}

/* The nearest ancestor that is in its group by itself; NULL: the process is. */
static const struct process *leader_of(const struct cycle *c, const struct process *p)
{
    const struct process *leader = p;

    /* A made tree may go in a circle. */
    for (size_t left = c->table.n_present; left > 0 && decision_of(leader)->follows; left--) {
        const struct process *parent = parent_of(c, leader);

        if (!parent)
            break;
        leader = parent;
    }
    return leader == p ? NULL : leader;
}

static uint64_t start_ns(const struct cycle *c, const struct process *p)
{
    uint64_t ns = 0;

    if (c->boot_time.known)
        (void)ticks_since_epoch(c->boot_time.seconds, p->identity.start_ticks,
                                c->procfs.ticks_per_second, &ns);
    return ns;
}

/* ---- running ---- */

static int explain_process(struct explain *x, struct process *process, struct buf *text)
{
    struct explanation e = {.config = x->config,
                            .groups = &x->cycle.groups,
                            .process = process,
                            .texts = &x->texts,
                            .start_ns = start_ns(&x->cycle, process),
                            .parent = parent_of(&x->cycle, process)};
    struct subject subject;
    int r;

    r = read_texts(x, process);
    if (r == 0)
        r = placing_explain(&x->cycle.placing, process, &x->texts, &subject);
    if (r < 0)
        return r;
    e.subject = &subject;
    e.decision = *decision_of(process);
    e.leader = leader_of(&x->cycle, process);
    explanation_render(&e, text);
    return buf_failed(text) ? -ENOMEM : 0;
}

/* What a process that does not answer has of texts is that it does not. */
static void forget_texts(struct explain *x)
{
    x->texts = (struct process_texts){.exe_error = -ETIMEDOUT, .cmdline_error = -ETIMEDOUT};
}

static int configure(struct explain *x, struct cycle_settings *settings)
{
    struct cycle *c = &x->cycle;
    int r;

    settings->families = (struct selection){0};
    settings->top = 0;
    c->probes.parts.texts = overhear;
    c->probes.parts.texts_arg = x;
    forget_texts(x);
    r = cycle_configure(c, settings);
    /* The user is shown whether or not a rule asks for it. */
    c->wanted.parts |= part_bit(PART_STATUS);
    return r;
}

static int explain(struct explain *x, struct cycle_settings *settings, struct cycle_time *now,
                   struct buf *text, struct buf *error)
{
    struct process *process;
    int r;

    r = look_for_process(x, error);
    if (r < 0)
        return r;
    r = configure(x, settings);
    if (r == 0)
        r = once_collect(&x->cycle, now);
    if (r == 0) {
        process = find_process(x, error);
        if (!process)
            return -ESRCH;
        r = explain_process(x, process, text);
    }
    if (r < 0)
        buf_printf(error, "cannot collect from %s: %s", x->config->procfs, strerror(-r));
    return r;
}

/* With the procfs open. */
static int explain_and_write(struct explain *x, struct cycle_settings *settings,
                             struct cycle_time *now, FILE *out, struct buf *error)
{
    struct buf text;
    int r;

    buf_init(&text, EXPLAIN_MAX_BYTES);
    r = explain(x, settings, now, &text, error);
    if (r == 0) {
        r = once_write(&text, out);
        if (r < 0)
            buf_printf(error, "cannot write the explanation: %s", strerror(-r));
    }
    buf_deinit(&text);
    return r;
}

int explain_run(const struct config *c, uint32_t pid, FILE *out, struct buf *error)
{
    struct explain x = {.config = c, .pid = pid};
    struct cycle_time now = once_now();
    struct collector_settings settings;
    int r;

    r = settings_make(c, &settings, error);
    if (r < 0)
        return r;
    r = cycle_open(&x.cycle, CYCLE_ONCE, c->procfs, &now);
    if (r < 0) {
        buf_printf(error, "cannot read %s: %s", c->procfs, strerror(-r));
    } else {
        r = explain_and_write(&x, &settings.cycle, &now, out, error);
        cycle_close(&x.cycle);
    }
    cycle_settings_deinit(&settings.cycle);
    return r;
}
