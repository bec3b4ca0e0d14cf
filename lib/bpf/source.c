/* source - processes as the kernel counts them: who is there, and who has ended. */
#include "bpf/source.h"

#include <errno.h>
#include <unistd.h>

/* Threads whose process' end never came are told of no more. */
static const uint64_t ACCOUNT_PATIENCE_NS = 60000000000u;
/* The end of a task comes some milliseconds after its exit, later under load. */
static const uint64_t TOLD_NS = 1000000000u;

int bpf_source_open(struct bpf_source *ret, const struct task_units *units,
                    enum programs_failure *ret_failure)
{
    *ret = (struct bpf_source){.units = *units, .fd = -1};
    walk_init(&ret->walk);
    gather_init(&ret->gather);
    accounts_init(&ret->accounts);
    ends_init(&ret->ends, &ret->accounts);
    new_cgroups_init(&ret->new_cgroups);
    return programs_load(&ret->programs, ret_failure);
}

void bpf_source_close(struct bpf_source *s)
{
    bpf_source_end(s);
    programs_free(s->programs);
    s->programs = NULL;
    new_cgroups_deinit(&s->new_cgroups);
    ends_deinit(&s->ends);
    accounts_deinit(&s->accounts);
    gather_deinit(&s->gather);
    walk_deinit(&s->walk);
}

static void take_record(void *arg, const void *bytes, size_t n)
{
    struct bpf_source *s = arg;

    if (!new_cgroups_take(&s->new_cgroups, bytes, n))
        ends_take(&s->ends, bytes, n);
}

void bpf_source_drain(struct bpf_source *s, uint64_t now_ns)
{
    s->now_ns = s->ends.now_ns = now_ns;
    programs_drain(s->programs, take_record, s);
}

static bool is_thread(void *arg, const struct process_end *end)
{
    (void)arg;
    return end->task.head.kind == RECORD_THREAD_END;
}

static void forget_exit(void *arg, const struct process_end *end)
{
    (void)arg;
    (void)end;
}

/* What was noted of threads is older than whatever is looked at after the pause. */
static void forget_threads(struct bpf_source *s)
{
    static const struct programs_sweeper sweeper = {is_thread, forget_exit, NULL};

    programs_sweep(s->programs, s->now_ns, UINT64_MAX, &sweeper);
    (void)accounts_sweep(&s->accounts, s->now_ns, 0);
}

void bpf_source_pause(struct bpf_source *s)
{
    programs_pause(s->programs);
    bpf_source_drain(s, s->now_ns);
    ends_forget(&s->ends, ends_waiting(&s->ends));
    new_cgroups_forget(&s->new_cgroups);
    forget_threads(s);
}

int bpf_source_resume(struct bpf_source *s)
{
    return programs_resume(s->programs);
}

const struct process_ended *bpf_source_ended(struct bpf_source *s, size_t *ret_n)
{
    return ends_join(&s->ends, ret_n);
}

void bpf_source_ends_counted(struct bpf_source *s, size_t n)
{
    ends_forget(&s->ends, n);
}

int bpf_source_begin(struct bpf_source *s)
{
    bpf_source_end(s);
    s->fd = programs_walk(s->programs);
    if (s->fd < 0)
        return s->fd;
    walk_begin(&s->walk, s->fd);
    gather_begin(&s->gather);
    s->gathered = 0;
    s->walked = false;
    return 0;
}

void bpf_source_end(struct bpf_source *s)
{
    if (s->fd < 0)
        return;
    close(s->fd);
    s->fd = -1;
    /* A walk that was given up asked after some of those that are there, and not after others. */
    if (s->walked)
        s->ends.lost += accounts_sweep(&s->accounts, s->now_ns, ACCOUNT_PATIENCE_NS);
}

/* The next look: as the records come, then those that were gathered. Returns as walk_next(). */
static int next_look(struct bpf_source *s, const struct look **ret)
{
    const struct record_head *head;
    int r;

    while ((r = walk_next(&s->walk, &head)) > 0) {
        /* Who has no number is not of the reader's namespace. */
        if (head->pid == 0)
            continue;
        r = gather_take(&s->gather, head, ret);
        if (r < 0)
            return r;
        if (*ret)
            return 1;
    }
    if (r < 0)
        return r;
    *ret = gather_next(&s->gather, &s->gathered);
    s->walked = *ret == NULL;
    return !s->walked;
}

int bpf_source_next(struct bpf_source *s, struct sample *ret, struct task_cgroup *ret_cgroup)
{
    const struct account *account;
    const struct look *look;
    const struct record_head *head;
    int r = next_look(s, &look);

    if (r <= 0)
        return r;
    head = &look->record.task.head;
    account = accounts_look(&s->accounts, head->process, head->pid, s->now_ns);
    task_sample(look, account ? &account->own : NULL, &s->units, ret);
    *ret_cgroup = (struct task_cgroup){look->record.cgroup, look->record.cgroup_set};
    return 1;
}

struct sweep {
    struct bpf_source *source;
    bpf_source_is_there *is_there;
    void *arg;
};

/* A thread goes when it ends, unless a debugger has it; its process is asked about instead. */
static bool is_over(void *arg, const struct process_end *end)
{
    struct sweep *sweep = arg;
    struct sample sample;

    if (end->task.head.kind == RECORD_THREAD_END)
        return true;
    task_sample_end(&(struct process_ended){*end}, &sweep->source->units, &sample);
    return !sweep->is_there(sweep->arg, sample.identity);
}

static void take_exit(void *arg, const struct process_end *end)
{
    struct sweep *sweep = arg;
    struct ends *ends = &sweep->source->ends;

    if (end->task.head.kind == RECORD_THREAD_END)
        ends_take(ends, &end->task, sizeof(end->task));
    else
        ends_take(ends, end, sizeof(*end));
}

void bpf_source_sweep(struct bpf_source *s, bpf_source_is_there *is_there, void *arg)
{
    struct sweep sweep = {s, is_there, arg};
    struct programs_sweeper sweeper = {is_over, take_exit, &sweep};

    programs_sweep(s->programs, s->now_ns, s->now_ns - (s->now_ns < TOLD_NS ? s->now_ns : TOLD_NS),
                   &sweeper);
}

uint64_t bpf_source_lost(const struct bpf_source *s)
{
    return programs_lost(s->programs) + s->ends.lost;
}
