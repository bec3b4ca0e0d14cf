/*
 * fuzz_ends - records of the ring of anything, between cycles of anything.
 *
 * A byte says what comes: a record of a thread's size, of a process' or of the size that the next
 * byte gives; a cycle that counts some, or none; or time that passes. Each record is kept, added
 * up, or lost, but for those of control groups; and what nobody asks for any more is gone at last.
 */
#include "bpf/ends.h"
#include "bpf/new_cgroups.h"
#include "bpf/task_sample.h"

#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_THREAD,
    STEP_PROCESS,
    STEP_ANY,
    STEP_CYCLE,
    STEP_JOIN,
    STEP_WAIT,
    STEP_N,
};

enum { PATIENCE = 100 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static uint8_t take_byte(struct span *rest)
{
    uint8_t byte = 0;

    if (rest->n > 0)
        byte = (uint8_t)*rest->p;
    *rest = span_skip(*rest, rest->n > 0);
    return byte;
}

/* Those that are kept are paths. */
static void check_cgroups(const struct new_cgroups *c)
{
    struct span path;
    uint64_t id;

    for (size_t at = 0; new_cgroups_next(c, &at, &id, &path);)
        must(path.n > 0 && path.p[0] == '/' && !memchr(path.p, '\0', path.n));
}

/* Whether it is a control group's. */
static bool take_cgroup(const char *bytes, size_t n)
{
    struct new_cgroups c;
    bool taken;

    new_cgroups_init(&c);
    taken = new_cgroups_take(&c, bytes, n);
    check_cgroups(&c);
    new_cgroups_deinit(&c);
    return taken;
}

static void take_end(struct ends *e, const char *bytes, size_t n)
{
    size_t waiting = ends_waiting(e), used = e->accounts->n_used;
    uint64_t lost = e->lost;

    ends_take(e, bytes, n);
    must(ends_waiting(e) - waiting + e->accounts->n_used - used + e->lost - lost <= 1);
    if (n != sizeof(struct thread_end) && n != sizeof(struct process_end))
        must(e->lost == lost + 1);
}

/* Handed over in memory of its own, where a sanitizer sees a read behind it. */
static void take_record(struct ends *e, struct span *rest, size_t n)
{
    char *bytes;

    n = n < rest->n ? n : rest->n;
    bytes = malloc(n ? n : 1);
    must(bytes != NULL);
    if (n > 0)
        memcpy(bytes, rest->p, n);
    if (!take_cgroup(bytes, n))
        take_end(e, bytes, n);
    free(bytes);
    *rest = span_skip(*rest, n);
}

static void join(struct ends *e)
{
    static const struct task_units units = {100, 4096};
    size_t n, used = e->accounts->n_used, waiting = ends_waiting(e);
    const struct process_ended *list = ends_join(e, &n);

    must(n == waiting && e->accounts->n_used <= used && used - e->accounts->n_used <= n);
    for (size_t i = 0; i < n; i++) {
        struct sample s;

        must(list[i].end.task.head.kind == RECORD_PROCESS_END);
        must(i == 0 || list[i - 1].end.start_ns <= list[i].end.start_ns);
        must(!accounts_look(e->accounts, list[i].end.task.head.process, list[i].end.task.head.pid,
                            e->now_ns));
        task_sample_end(&list[i], &units, &s);
        must(s.comm_len <= TASK_COMM_SIZE && s.have_gauges == 0);
        must(s.have_counters == (UINT32_C(1) << COUNTER_N) - 1);
    }
}

/* Counts the first of them. */
static void cycle(struct ends *e, size_t most)
{
    size_t waiting = ends_waiting(e), n = waiting < most ? waiting : most;

    join(e);
    ends_forget(e, n);
    must(ends_waiting(e) == waiting - n);
    accounts_sweep(e->accounts, e->now_ns, PATIENCE);
}

static void take_step(struct ends *e, struct span *rest)
{
    switch ((enum step)(take_byte(rest) % STEP_N)) {
    case STEP_THREAD:
        take_record(e, rest, sizeof(struct thread_end));
        break;
    case STEP_PROCESS:
        take_record(e, rest, sizeof(struct process_end));
        break;
    case STEP_ANY:
        take_record(e, rest, take_byte(rest));
        break;
    case STEP_CYCLE:
        cycle(e, take_byte(rest));
        break;
    case STEP_JOIN:
        join(e);
        break;
    case STEP_WAIT:
    case STEP_N:
        e->now_ns += take_byte(rest);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = span_of((const char *)data, size);
    struct accounts accounts;
    struct ends ends;

    accounts_init(&accounts);
    ends_init(&ends, &accounts);
    while (rest.n > 0)
        take_step(&ends, &rest);
    ends.now_ns += PATIENCE;
    cycle(&ends, SIZE_MAX);
    must(accounts.n_used == 0 && accounts.by_process.count == 0);
    ends_deinit(&ends);
    accounts_deinit(&accounts);
    return 0;
}
