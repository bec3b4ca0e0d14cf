/* host_marks - the host's counters, held so that none falls and none jumps. */
#include "track/host_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_SMALLEST = 16 };

/* Idle and iowait that step by more than this, beyond what they may, are not rounding. */
static const uint64_t OTHER_ACCOUNT_NS = 3000000000u;
/* Where the kernel's counts of 32 bits wrap around, and what cannot be but that. */
static const uint64_t WRAP = UINT64_C(1) << 32;
static const uint64_t WRAPPED = UINT64_C(1) << 31;

static const enum host_field held_fields[] = {
    HOST_CONTEXT_SWITCHES,
    HOST_INTERRUPTS,
    HOST_TASKS_CREATED,
};

void host_marks_init(struct host_marks *m)
{
    *m = (struct host_marks){0};
}

void host_marks_deinit(struct host_marks *m)
{
    free(m->cpus);
    free(m->rows);
    *m = (struct host_marks){0};
}

static void hold(struct mark *mark, uint64_t *value)
{
    if (*value > mark->base) {
        mark->shown += *value - mark->base;
        mark->base = *value;
    }
    *value = mark->shown;
}

/*
 * The kernel adds up softirqs in 32 bits, and into the sum of interrupts go some of each CPU that
 * have no more.
 */
static void hold_count(struct mark *mark, uint64_t *value)
{
    uint64_t fall = mark->base > *value ? mark->base - *value : 0;

    if (fall >= WRAPPED && fall <= WRAP) {
        mark->shown += WRAP - fall;
        mark->base = *value;
    }
    hold(mark, value);
}

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* The kernel counts guest time in user, and guest_nice in nice, once more. */
static void take_guests_out(struct cpu_times *t)
{
    if (t->columns > CPU_GUEST)
        t->ns[CPU_USER] = less(t->ns[CPU_USER], t->ns[CPU_GUEST]);
    if (t->columns > CPU_GUEST_NICE)
        t->ns[CPU_NICE] = less(t->ns[CPU_NICE], t->ns[CPU_GUEST_NICE]);
}

/* ---- the CPUs' times ---- */

static bool fell_far(const struct cpu_mark *mark, const struct cpu_times *t)
{
    return t->columns > CPU_IDLE && t->ns[CPU_IDLE] + OTHER_ACCOUNT_NS < mark->mode[CPU_IDLE].base;
}

static bool rose_beyond(const struct cpu_mark *mark, const struct cpu_times *t, enum cpu_mode mode,
                        uint64_t most_ns)
{
    uint64_t base = mark->mode[mode].base;

    return mode < t->columns && mode < mark->columns && t->ns[mode] > base &&
           t->ns[mode] - base > most_ns;
}

static void hold_times(struct cpu_mark *mark, struct cpu_times *t)
{
    for (uint32_t i = 0; i < t->columns; i++)
        hold(&mark->mode[i], &t->ns[i]);
    if (t->columns > mark->columns)
        mark->columns = t->columns;
}

/* ---- the host's ---- */

/* How far idle or iowait can have come since they were held last. */
static uint64_t most_idle(const struct host_marks *m, const struct host *h, uint64_t now_ns)
{
    uint64_t cpus = m->cpus_online > h->cpus_online ? m->cpus_online : h->cpus_online, most_ns;

    if (now_ns == 0 || m->held_ns == 0 || cpus == 0 ||
        __builtin_mul_overflow(now_ns - m->held_ns, cpus, &most_ns) ||
        __builtin_add_overflow(most_ns, OTHER_ACCOUNT_NS, &most_ns))
        return UINT64_MAX;
    return most_ns;
}

static void hold_host(struct host_marks *m, struct host *h, uint64_t now_ns)
{
    struct cpu_mark *mark = &m->cpu;
    uint64_t most_ns = most_idle(m, h, now_ns);

    if (h->cpu.columns == 0)
        return;
    take_guests_out(&h->cpu);
    if (fell_far(mark, &h->cpu) || rose_beyond(mark, &h->cpu, CPU_IDLE, most_ns) ||
        rose_beyond(mark, &h->cpu, CPU_IOWAIT, most_ns)) {
        mark->mode[CPU_IDLE].base = h->cpu.ns[CPU_IDLE];
        mark->mode[CPU_IOWAIT].base = h->cpu.ns[CPU_IOWAIT];
    }
    hold_times(mark, &h->cpu);
    m->cpus_online = h->cpus_online;
    m->held_ns = now_ns;
}

/* ---- the rows ---- */

static int reserve_rows(struct host_marks *m, size_t n)
{
    struct cpu_row *rows;

    if (n <= m->rows_capacity)
        return 0;
    rows = realloc(m->rows, n * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    m->rows = rows;
    m->rows_capacity = n;
    return 0;
}

static int reserve_mark(struct host_marks *m)
{
    size_t capacity = m->capacity ? 2 * m->capacity : CPUS_SMALLEST;
    struct cpu_mark *cpus;

    if (m->n_cpus < m->capacity)
        return 0;
    cpus = realloc(m->cpus, capacity * sizeof(*cpus));
    if (!cpus)
        return -ENOMEM;
    m->cpus = cpus;
    m->capacity = capacity;
    return 0;
}

/* The mark of this CPU at or behind *at, where *at moves to; made if there is none. */
static int mark_of(struct host_marks *m, size_t *at, uint32_t cpu, struct cpu_mark **ret)
{
    int r;

    while (*at < m->n_cpus && m->cpus[*at].cpu < cpu)
        (*at)++;
    if (*at == m->n_cpus || m->cpus[*at].cpu != cpu) {
        r = reserve_mark(m);
        if (r < 0)
            return r;
        memmove(&m->cpus[*at + 1], &m->cpus[*at], (m->n_cpus - *at) * sizeof(*m->cpus));
        m->cpus[*at] = (struct cpu_mark){.cpu = cpu};
        m->n_cpus++;
    }
    *ret = &m->cpus[*at];
    return 0;
}

static void hold_row(struct cpu_mark *mark, struct cpu_times *t)
{
    struct mark *iowait = &mark->mode[CPU_IOWAIT];

    take_guests_out(t);
    if (fell_far(mark, t)) {
        mark->mode[CPU_IDLE] = (struct mark){0};
        /* It began anew with idle, unless it did not and only stepped back. */
        if (t->ns[CPU_IOWAIT] < iowait->base / 2)
            *iowait = (struct mark){0};
    }
    hold_times(mark, t);
}

static int hold_rows(struct host_marks *m, struct host *h)
{
    size_t at = 0;
    int r;

    r = reserve_rows(m, h->n_cpus);
    for (size_t i = 0; r == 0 && i < h->n_cpus; i++) {
        struct cpu_mark *mark;

        r = mark_of(m, &at, h->cpus[i].cpu, &mark);
        if (r < 0)
            break;
        m->rows[i] = h->cpus[i];
        hold_row(mark, &m->rows[i].times);
    }
    if (r == 0)
        h->cpus = m->rows;
    return r;
}

int host_marks_hold(struct host_marks *m, struct host *h, uint64_t now_ns)
{
    int r;

    for (size_t i = 0; i < sizeof(held_fields) / sizeof(*held_fields); i++)
        if (host_has(h, held_fields[i]))
            hold_count(&m->field[held_fields[i]], &h->field[held_fields[i]]);
    for (uint32_t i = 0; i < h->softirqs; i++)
        hold_count(&m->softirq[i], &h->softirq[i]);
    hold_host(m, h, now_ns);
    r = hold_rows(m, h);
    if (r < 0)
        h->n_cpus = 0;
    return r;
}

/* ---- over a restart ---- */

enum {
    HELD_FIELDS = sizeof(held_fields) / sizeof(*held_fields),
    HELD_MARKS = HELD_FIELDS + SOFTIRQ_N + CPU_MODE_N,
    /* Of another version; more is nonsense. */
    HELD_MARKS_MAX = 1024,
};

/* Where marks follow each other in bytes. */
static struct mark *mark_at(struct host_marks *m, size_t i)
{
    if (i < HELD_FIELDS)
        return &m->field[held_fields[i]];
    if (i < HELD_FIELDS + SOFTIRQ_N)
        return &m->softirq[i - HELD_FIELDS];
    return &m->cpu.mode[i - HELD_FIELDS - SOFTIRQ_N];
}

void host_marks_encode(const struct host_marks *m, struct buf *out)
{
    struct host_marks copy = *m;
    uint64_t head[] = {HELD_MARKS, m->cpu.columns};

    buf_append(out, (const char *)head, sizeof(head));
    for (size_t i = 0; i < HELD_MARKS; i++)
        buf_append(out, (const char *)mark_at(&copy, i), sizeof(struct mark));
}

int host_marks_decode(struct span *bytes, struct host_marks *ret)
{
    uint64_t head[2], n;
    struct span rest = *bytes;
    struct host_marks found = *ret;

    if (rest.n < sizeof(head))
        return -EBADMSG;
    memcpy(head, rest.p, sizeof(head));
    rest = span_skip(rest, sizeof(head));
    n = head[0];
    if (n > HELD_MARKS_MAX || head[1] > n || rest.n < n * sizeof(struct mark))
        return -EBADMSG;
    *bytes = span_skip(rest, n * sizeof(struct mark));
    if (n != HELD_MARKS || head[1] > CPU_MODE_N)
        return 0;
    found.cpu.columns = (uint32_t)head[1];
    for (size_t i = 0; i < n; i++) {
        struct mark *mark = mark_at(&found, i);

        memcpy(mark, rest.p + i * sizeof(*mark), sizeof(*mark));
        /* No count of things that happened comes near. */
        if (mark->base > INT64_MAX || mark->shown > INT64_MAX)
            return 0;
    }
    *ret = found;
    return 0;
}
