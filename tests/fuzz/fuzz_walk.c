/*
 * fuzz_walk - records of anything, read as a walk, gathered to processes, and those to samples.
 *
 * The first byte says how many of those that follow are lengths of reads, used over and over; the
 * rest is what the kernel hands over. However it is cut, the same comes of it; and there are no
 * more processes than records of leaders.
 *
 * Linked with --wrap of read(2), which gives no more than the length whose turn it is.
 */
#include "bpf/task_sample.h"
#include "bpf/walk.h"

#include "digest.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct digest_cuts cuts;
static size_t cut;

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
    size_t most = cuts.n ? (size_t)cuts.lengths[cut++ % cuts.n] + 1 : n;

    return __real_read(fd, p, n < most ? n : most);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

struct totals {
    size_t bytes, leaders, processes;
};

static void digest_sample(const struct sample *s, struct buf *to)
{
    must(s->comm_len <= TASK_COMM_SIZE && s->state < STATE_N);
    must(s->have_counters >> COUNTER_N == 0 && s->have_gauges >> GAUGE_N == 0);
    digest_number(to, s->identity.pid);
    digest_number(to, s->identity.start_ticks);
    digest_number(to, s->parent_pid);
    digest_number(to, s->uid);
    digest_number(to, s->state);
    digest_number(to, (uint64_t)s->kernel_thread << 2 | (uint64_t)s->exited_leader << 1 |
                          (uint64_t)s->ending);
    digest_number(to, s->cpu_runtime_ns);
    digest_span(to, span_of(s->comm, s->comm_len));
    digest_fields(to, s->have_counters, s->counter, COUNTER_N);
    digest_fields(to, s->have_gauges, s->gauge, GAUGE_N);
}

static void take_look(const struct look *look, struct totals *t, struct buf *to)
{
    static const struct task_units units = {100, 4096};
    struct sample s;

    memset(&s, 0, sizeof(s));
    must(look->has_leader);
    task_sample(look, NULL, &units, &s);
    must(s.have_uid && s.have_cpu_runtime);
    digest_sample(&s, to);
    task_sample(look, &look->own, &units, &s);
    digest_sample(&s, to);
    t->processes++;
}

static void take_record(struct gather *g, const struct record_head *head, struct totals *t,
                        struct buf *to)
{
    const struct look *look;

    must(head->kind == RECORD_PROCESS || head->kind == RECORD_STAND_IN ||
         head->kind == RECORD_THREAD);
    t->bytes +=
        head->kind == RECORD_THREAD ? sizeof(struct thread_record) : sizeof(struct process_record);
    t->leaders += head->kind == RECORD_PROCESS;
    must(gather_take(g, head, &look) == 0);
    if (look)
        take_look(look, t, to);
}

static void walk_all(struct walk *w, struct gather *g, int fd, size_t size, struct buf *to)
{
    const struct record_head *head;
    const struct look *look;
    struct totals t = {0};
    size_t at = 0;
    int r;

    cut = 0;
    must(lseek(fd, 0, SEEK_SET) == 0);
    walk_begin(w, fd);
    gather_begin(g);
    while ((r = walk_next(w, &head)) > 0)
        take_record(g, head, &t, to);
    must(r == 0 ? t.bytes == size : r == -EBADMSG && t.bytes <= size);
    must(walk_next(w, &head) == r);
    while ((look = gather_next(g, &at)))
        take_look(look, &t, to);
    must(t.processes <= t.leaders);
    digest_number(to, (uint64_t)r);
}

static void check(int fd, size_t size)
{
    static struct walk w;
    static struct gather g;
    static struct buf at_once, in_pieces;
    struct digest_cuts given = cuts;

    if (at_once.max == 0) {
        walk_init(&w);
        gather_init(&g);
        buf_init(&at_once, 1 << 24);
        buf_init(&in_pieces, 1 << 24);
    }
    buf_reset(&at_once);
    buf_reset(&in_pieces);
    walk_all(&w, &g, fd, size, &in_pieces);
    cuts.n = 0;
    walk_all(&w, &g, fd, size, &at_once);
    cuts = given;
    must(!buf_failed(&at_once) && span_equal(buf_span(&at_once), buf_span(&in_pieces)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    size_t n;

    if (size == 0 || (size_t)(data[0] & 15) > size - 1)
        return 0;
    if (fd < 0)
        fd = memfd_create("walk", MFD_CLOEXEC);
    cuts = (struct digest_cuts){data + 1, data[0] & 15};
    n = size - 1 - cuts.n;
    must(ftruncate(fd, 0) == 0);
    must(pwrite(fd, data + 1 + cuts.n, n, 0) == (ssize_t)n);
    check(fd, n);
    return 0;
}
