/*
 * compare - the same processes by text and as the kernel counts them.
 *
 * Every process of the host is read as text, then by the kernel's programs, then as text again. A
 * counter has to lie between the two texts; a gauge has to be what both say, where they say the
 * same. What may differ, and by how much, stands in the tables below with the reason.
 *
 *     compare [--threads N] [--descriptors N]
 *
 * Exits with 0, 1, or 77 and the reason where the kernel does not let it.
 */
#include "bpf/source.h"
#include "procfs/probe.h"
#include "procfs/process.h"
#include "zoo.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SKIP = 77, LOOKS_MAX = 65536, KEPT_AWAY_MAX = 2 };

struct text_look {
    struct sample sample;
    bool there;
};

struct text_looks {
    struct text_look *list;
    size_t n;
};

static struct procfs procfs;
static struct faults faults;
static uint64_t tick_ns, page_size;
static unsigned failures, compared;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool read_text(uint32_t pid, struct sample *s)
{
    const uint32_t parts =
        part_bit(PART_STATUS) | part_bit(PART_IO) | part_bit(PART_FD) | part_bit(PART_LIMITS);
    static struct probe_texts texts;
    bool read = process_begin(&procfs, pid, &faults, s) == 0 &&
                process_read(&procfs, parts, &faults, s) == 0;

    if (read && !sample_has_gauge(s, GAUGE_MAPPINGS))
        (void)probe_read(&procfs, process_memory_dir(&procfs), PART_MAPS, s, &texts);
    process_end(&procfs);
    return read;
}

static void read_texts(struct text_looks *ret)
{
    const uint32_t *pids;
    uint32_t *copy;
    size_t n;

    ret->n = 0;
    if (procfs_list(&procfs, &pids, &n) < 0)
        return;
    copy = malloc(n * sizeof(*copy));
    memcpy(copy, pids, n * sizeof(*copy));
    for (size_t i = 0; i < n && ret->n < LOOKS_MAX; i++)
        ret->n += read_text(copy[i], &ret->list[ret->n].sample);
    free(copy);
}

static const struct sample *find(const struct text_looks *looks, struct identity identity)
{
    for (size_t i = 0; i < looks->n; i++)
        if (identity_equal(looks->list[i].sample.identity, identity))
            return &looks->list[i].sample;
    return NULL;
}

static void fail(const struct sample *s, const char *what, uint64_t before, uint64_t got,
                 uint64_t after)
{
    printf("DIFFERS %-22s pid %" PRIu32 " (%.*s): text %" PRIu64 ", kernel %" PRIu64
           ", text %" PRIu64 "\n",
           what, s->identity.pid, (int)s->comm_len, s->comm, before, got, after);
    failures++;
}

/* Of one process, three times. */
struct three {
    const struct sample *before, *got, *after;
    bool reaped_children; /* it may have: its I/O as text holds theirs */
    bool threads_ended;   /* some had before the kernel was asked: their I/O is in the text alone */
};

static const struct {
    enum counter field;
    bool io;
} counters[] = {
    {COUNTER_MINOR_FAULTS, false},         {COUNTER_MAJOR_FAULTS, false},
    {COUNTER_STORAGE_READ_BYTES, true},    {COUNTER_STORAGE_WRITE_BYTES, true},
    {COUNTER_CANCELLED_WRITE_BYTES, true}, {COUNTER_SYSCALL_READ_BYTES, true},
    {COUNTER_SYSCALL_WRITE_BYTES, true},   {COUNTER_READ_SYSCALLS, true},
    {COUNTER_WRITE_SYSCALLS, true},
};

static void compare_counters(const struct three *t)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        enum counter field = counters[i].field;
        uint64_t got = t->got->counter[field];

        if (!sample_has_counter(t->before, field) || !sample_has_counter(t->after, field))
            continue;
        if (!sample_has_counter(t->got, field)) {
            fail(t->got, counter_name(field), t->before->counter[field], UINT64_MAX,
                 t->after->counter[field]);
            continue;
        }
        compared++;
        /* Each byte once: reaped children and, before the first look, ended threads are not in. */
        if (counters[i].io && got <= t->after->counter[field] &&
            (t->reaped_children || t->threads_ended))
            continue;
        if (got < t->before->counter[field] || got > t->after->counter[field])
            fail(t->got, counter_name(field), t->before->counter[field], got,
                 t->after->counter[field]);
    }
}

static uint64_t text_cpu(const struct sample *s)
{
    return s->counter[COUNTER_CPU_USER_NS] + s->counter[COUNTER_CPU_SYSTEM_NS];
}

/*
 * The text cuts both parts to ticks, and lags by what running threads did since their last tick:
 * a tick each. How it divides depends on who read the text before, and is not compared.
 */
static void compare_cpu(const struct three *t)
{
    uint64_t slack = 2 * tick_ns, got = t->got->cpu_runtime_ns;

    if (t->got->state == STATE_RUNNING)
        slack += tick_ns * t->got->gauge[GAUGE_THREADS];
    compared++;
    if (got + slack < text_cpu(t->before) || got > text_cpu(t->after) + slack)
        fail(t->got, "cpu", text_cpu(t->before), got, text_cpu(t->after));
}

/*
 * Kernels from 6.2 on keep counters of memory in parts, and show in text what does not sum them up
 * (until 6.16): short or long by a batch of pages for each CPU.
 */
static uint64_t memory_slack(void)
{
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF), batch = cpus * 2 > 32 ? cpus * 2 : 32;

    return cpus * batch * page_size;
}

static uint64_t gauge_slack(enum gauge field, const struct three *t)
{
    switch (field) {
    case GAUGE_RESIDENT_ANON_BYTES:
    case GAUGE_RESIDENT_FILE_BYTES:
    case GAUGE_RESIDENT_SHMEM_BYTES:
    case GAUGE_SWAP_BYTES:
        return memory_slack();
    case GAUGE_PEAK_RESIDENT_BYTES:
        return 3 * memory_slack();
    case GAUGE_MAPPINGS:
        /* The line [vsyscall], which is no mapping of the process. */
        return t->got->gauge[field] > 0;
    default:
        return 0;
    }
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void compare_gauges(const struct three *t)
{
    for (enum gauge field = 0; field < GAUGE_N; field++) {
        uint64_t before = t->before->gauge[field], after = t->after->gauge[field];

        if (field == GAUGE_PROPORTIONAL_BYTES || !sample_has_gauge(t->before, field) ||
            !sample_has_gauge(t->after, field) || before != after)
            continue;
        if (!sample_has_gauge(t->got, field)) {
            /* Of very many there is nothing to hand over: the daemon asks the text. */
            if (field != GAUGE_OPEN_FDS || before < 4096)
                fail(t->got, gauge_name(field), before, UINT64_MAX, after);
            continue;
        }
        compared++;
        if (distance(before, t->got->gauge[field]) > gauge_slack(field, t))
            fail(t->got, gauge_name(field), before, t->got->gauge[field], after);
    }
}

static bool same_comm(const struct sample *text, const struct sample *got)
{
    /* Text has more of kernel threads' names than a task has room for. */
    size_t n =
        got->kernel_thread && text->comm_len > got->comm_len ? got->comm_len : text->comm_len;

    return n == got->comm_len && memcmp(text->comm, got->comm, n) == 0;
}

/* States of others than the animals change all the time. */
static void compare_facts(const struct three *t, bool at_rest)
{
    const struct sample *b = t->before, *g = t->got, *a = t->after;

    compared++;
    if (g->parent_pid != b->parent_pid && b->parent_pid == a->parent_pid)
        fail(g, "parent", b->parent_pid, g->parent_pid, a->parent_pid);
    if (b->have_uid && g->uid != b->uid && b->uid == a->uid)
        fail(g, "uid", b->uid, g->uid, a->uid);
    if (g->kernel_thread != b->kernel_thread)
        fail(g, "kernel_thread", b->kernel_thread, g->kernel_thread, a->kernel_thread);
    if (g->exited_leader != b->exited_leader && b->exited_leader == a->exited_leader)
        fail(g, "exited_leader", b->exited_leader, g->exited_leader, a->exited_leader);
    if (at_rest && g->state != b->state && b->state == a->state)
        fail(g, "state", b->state, g->state, a->state);
    if (!same_comm(b, g) && !same_comm(a, g))
        fail(g, "comm", b->comm_len, g->comm_len, a->comm_len);
}

static void compare_one(const struct text_looks *before, const struct sample *got,
                        const struct text_looks *after, const struct zoo *zoo)
{
    pid_t pid = (pid_t)got->identity.pid;
    struct three t = {
        .before = find(before, got->identity), .got = got, .after = find(after, got->identity)};
    bool ours = false;

    if (!t.before || !t.after || pid == getpid())
        return;
    for (int i = 0; i < ANIMAL_N; i++)
        ours = ours || zoo->pid[i] == pid;
    t.reaped_children = !ours || pid == zoo->pid[ANIMAL_CHURNING];
    t.threads_ended =
        !ours || pid == zoo->pid[ANIMAL_THREADS_ENDED] || pid == zoo->pid[ANIMAL_EXECUTED];
    compare_facts(&t, ours);
    compare_cpu(&t);
    compare_counters(&t);
    /* Others' may go up and down in between. */
    if (ours || got->kernel_thread)
        compare_gauges(&t);
}

/* Whether every animal was seen by both. */
static void check_seen(const struct zoo *zoo, const struct sample *got, size_t n)
{
    for (int i = 0; i < ANIMAL_N; i++) {
        bool seen = false;

        for (size_t k = 0; k < n; k++)
            seen = seen || (pid_t)got[k].identity.pid == zoo->pid[i];
        if (seen)
            continue;
        printf("MISSED the process %s\n", animal_name((enum animal)i));
        failures++;
    }
}

/*
 * And the other way round: who is in both texts has to be in the walk. Some kernels keep a task or
 * two of their own from it, which the daemon reads as text.
 */
static void check_complete(const struct text_looks *before, const struct text_looks *after,
                           const struct sample *got, size_t n)
{
    unsigned kept_away = 0;

    for (size_t i = 0; i < before->n; i++) {
        const struct sample *s = &before->list[i].sample;
        bool seen = !find(after, s->identity);

        for (size_t k = 0; k < n && !seen; k++)
            seen = identity_equal(got[k].identity, s->identity);
        if (!seen) {
            printf("not walked to: pid %" PRIu32 " (%.*s)\n", s->identity.pid, (int)s->comm_len,
                   s->comm);
            failures += ++kept_away > KEPT_AWAY_MAX;
        }
    }
}

static int walk(struct bpf_source *source, struct sample *ret, size_t *ret_n)
{
    struct task_cgroup cgroup;
    int r = bpf_source_begin(source);

    *ret_n = 0;
    while (r >= 0 && *ret_n < LOOKS_MAX && (r = bpf_source_next(source, &ret[*ret_n], &cgroup)) > 0)
        (*ret_n)++;
    bpf_source_end(source);
    return r;
}

static int compare(struct bpf_source *source, const struct zoo *zoo)
{
    static struct text_look first[LOOKS_MAX], second[LOOKS_MAX];
    static struct sample got[LOOKS_MAX];
    struct text_looks before = {.list = first}, after = {.list = second};
    size_t n;
    int r;

    read_texts(&before);
    bpf_source_drain(source, now_ns());
    r = walk(source, got, &n);
    read_texts(&after);
    if (r < 0) {
        printf("walk: %s\n", strerror(-r));
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        compare_one(&before, &got[i], &after, zoo);
    check_seen(zoo, got, n);
    check_complete(&before, &after, got, n);
    printf("%zu processes, %u values compared, %u differ\n", n, compared, failures);
    return failures > 0;
}

static const char *failure_name(enum programs_failure failure)
{
    static const char *const names[] = {
        [PROGRAMS_NO_BTF] = "the kernel has no BTF",
        [PROGRAMS_DENIED] = "bpf(2) is not permitted",
        [PROGRAMS_REFUSED] = "the kernel refuses the programs",
        [PROGRAMS_NO_MEMORY] = "no memory",
    };

    return names[failure];
}

/* A refusal is no reason to skip where the programs are known to be taken. */
static int refused(enum programs_failure failure, int r)
{
    bool fails = failure == PROGRAMS_REFUSED;

    printf("%s: %s (%s)\n", fails ? "FAILED" : "skipped", failure_name(failure), strerror(-r));
    return fails ? 1 : SKIP;
}

static bool parse(int argc, char **argv, struct zoo_size *size)
{
    static const struct option options[] = {{"threads", required_argument, NULL, 't'},
                                            {"descriptors", required_argument, NULL, 'd'},
                                            {"stand", required_argument, NULL, 's'},
                                            {"plain", no_argument, NULL, 'p'},
                                            {0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            zoo_stand(atoi(optarg));
        else if (option == 'p')
            programs_use_casts(false);
        else if (option == 't')
            size->threads = (unsigned)atoi(optarg);
        else if (option == 'd')
            size->descriptors = (unsigned)atoi(optarg);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct zoo_size size = {.threads = 2000, .descriptors = 3000};
    struct task_units units = {.ticks_per_second = (uint32_t)sysconf(_SC_CLK_TCK),
                               .page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
    struct bpf_source source;
    enum programs_failure failure;
    struct zoo zoo;
    int r;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(argc, argv, &size))
        return 2;
    /* What is inherited may have made the table of descriptors, and those of children, larger. */
    close_range(3, UINT_MAX, 0);
    tick_ns = 1000000000u / units.ticks_per_second;
    page_size = units.page_size;
    r = bpf_source_open(&source, &units, &failure);
    if (r < 0) {
        bpf_source_close(&source);
        return refused(failure, r);
    }
    r = procfs_open(&procfs, "/proc", units.ticks_per_second, units.page_size);
    if (r == 0)
        r = zoo_open(&zoo, &size);
    if (r == 0)
        r = compare(&source, &zoo);
    else
        printf("FAILED: %s\n", strerror(-r));
    zoo_close(&zoo);
    procfs_close(&procfs);
    bpf_source_close(&source);
    return r != 0;
}
