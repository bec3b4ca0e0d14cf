/* bpf_trial - whether a source of the kernel's programs tells the truth where that is known. */
#include "daemon/bpf_trial.h"

#ifdef PROCTALLY_WITH_BPF

#include "bpf/source.h"
#include "daemon/clock.h"
#include "procfs/process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILD_STATUS = 42,
    /* Some kernels do not tell of one in a thousand; the source finds those, but later. */
    CHILDREN_MAX = 2,
    WALKS_MAX = 3,
    /*
     * From 6.2 on each CPU keeps back what it has not added up yet, at most so many pages, or twice
     * as many as there are CPUs; and /proc/PID/status leaves that out up to 6.16. One thread has
     * been on few of them.
     */
    PAGES_KEPT_BACK = 32,
    CPUS_BEEN_ON = 4,
};

/* The kernel tells of an end when it lets go of the task, some milliseconds after its parent did.
 */
static const uint64_t END_PATIENCE_NS = 2000000000u;
static const uint64_t FIRST_PAUSE_NS = 500000, LONGEST_PAUSE_NS = 16000000;

/* ---- an end ---- */

/* Returns the pid of a child that has ended and was waited for, or a negative errno. */
static pid_t end_child(void)
{
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(CHILD_STATUS);
    /* Where SIGCHLD is ignored it waits as well, and then says that there is no such child. */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return pid;
}

/* Whether the end was told by now; *ret_status as wait(2) gives it. */
static bool find_end(struct bpf_source *source, uint32_t pid, uint64_t now_ns, uint32_t *ret_status)
{
    const struct process_ended *ended;
    size_t n;

    bpf_source_drain(source, now_ns);
    ended = bpf_source_ended(source, &n);
    for (size_t i = 0; i < n; i++)
        if (ended[i].end.task.head.pid == pid) {
            *ret_status = ended[i].end.status;
            return true;
        }
    return false;
}

static bool wait_for_end(struct bpf_source *source, uint32_t pid, uint32_t *ret_status)
{
    uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + END_PATIENCE_NS;
    uint64_t pause_ns = FIRST_PAUSE_NS;

    while (!find_end(source, pid, now_ns, ret_status)) {
        struct timespec pause = {.tv_nsec = (long)pause_ns};

        if (now_ns >= deadline_ns)
            return false;
        (void)nanosleep(&pause, NULL);
        pause_ns = 2 * pause_ns < LONGEST_PAUSE_NS ? 2 * pause_ns : LONGEST_PAUSE_NS;
        now_ns = clock_monotonic_ns();
    }
    return true;
}

/* Returns 1 if the end of a child was told, 0 if it was not, or a negative errno. */
static int try_child(struct bpf_source *source, struct buf *what, uint32_t *ret_status)
{
    pid_t pid = end_child();

    if (pid < 0) {
        buf_printf(what, "cannot make a child: %s", strerror(-pid));
        return pid;
    }
    return wait_for_end(source, (uint32_t)pid, ret_status);
}

static int try_end(struct bpf_source *source, struct buf *what)
{
    uint32_t status = 0;
    int r = 0;

    for (int i = 0; i < CHILDREN_MAX && r == 0; i++)
        r = try_child(source, what, &status);
    if (r < 0)
        return r;
    if (r == 0) {
        buf_append_str(what, "the end of a child is not told");
        return -EPROTO;
    }
    if (status != W_EXITCODE(CHILD_STATUS, 0)) {
        buf_printf(what, "a child is told to have ended with 0x%" PRIx32 " in place of 0x%x",
                   status, W_EXITCODE(CHILD_STATUS, 0));
        return -EPROTO;
    }
    return 0;
}

/* ---- the own process ---- */

/* Returns how often the walk told of the process, or a negative errno. */
static int walk_to(struct bpf_source *source, uint32_t pid, struct sample *ret)
{
    int r = bpf_source_begin(source), n = 0;
    struct sample sample;
    struct task_cgroup cgroup;

    if (r < 0)
        return r;
    while ((r = bpf_source_next(source, &sample, &cgroup)) > 0)
        if (sample.identity.pid == pid) {
            *ret = sample;
            n++;
        }
    bpf_source_end(source);
    return r < 0 ? r : n;
}

static int read_own(struct procfs *fs, uint32_t pid, struct sample *ret)
{
    struct faults faults = {0};
    int r = process_begin(fs, pid, &faults, ret);

    if (r == 0)
        r = process_read(fs, part_bit(PART_STATUS), &faults, ret);
    process_end(fs);
    return r > 0 ? -ESRCH : r;
}

static bool resident_bytes(const struct sample *s, uint64_t *ret)
{
    static const enum gauge kinds[] = {GAUGE_RESIDENT_ANON_BYTES, GAUGE_RESIDENT_FILE_BYTES,
                                       GAUGE_RESIDENT_SHMEM_BYTES};

    *ret = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!sample_has_gauge(s, kinds[i]))
            return false;
        *ret += s->gauge[kinds[i]];
    }
    return true;
}

bool bpf_trial_agrees(const struct sample *walked, const struct sample *read, uint64_t slack_bytes,
                      struct buf *what)
{
    uint64_t ours, theirs;

    if (walked->identity.start_ticks != read->identity.start_ticks) {
        buf_printf(what,
                   "a walk says that this process began at tick %" PRIu64 ", its procfs at %" PRIu64
                   ", as in a time namespace of its own",
                   walked->identity.start_ticks, read->identity.start_ticks);
        return false;
    }
    if (!resident_bytes(walked, &ours) || !resident_bytes(read, &theirs))
        return true;
    if (ours == 0 || (ours > theirs ? ours - theirs : theirs - ours) > slack_bytes) {
        buf_printf(what,
                   "a walk says that this process has %" PRIu64
                   " bytes of memory, its procfs %" PRIu64,
                   ours, theirs);
        return false;
    }
    return true;
}

static uint64_t slack_bytes(const struct procfs *fs)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t pages = cpus > PAGES_KEPT_BACK / 2 ? 2 * (uint64_t)cpus : PAGES_KEPT_BACK;

    return CPUS_BEEN_ON * pages * fs->page_size;
}

static int walk_and_read(struct bpf_source *source, struct procfs *fs, struct buf *what)
{
    uint32_t pid = (uint32_t)getpid();
    struct sample walked, read;
    int n = walk_to(source, pid, &walked), r = n < 0 ? n : read_own(fs, pid, &read);

    if (r < 0) {
        buf_printf(what, "cannot %s this process: %s", n < 0 ? "walk to" : "read", strerror(-r));
        return r;
    }
    if (n != 1) {
        buf_printf(what, "a walk tells of this process %d times", n);
        return -EPROTO;
    }
    return bpf_trial_agrees(&walked, &read, slack_bytes(fs), what) ? 0 : -EPROTO;
}

/*
 * A walk over thousands takes memory for what it finds, after it came by this process and before
 * that is read. The next one has that memory already.
 */
static int try_walk(struct bpf_source *source, struct procfs *fs, struct buf *what)
{
    int r = walk_and_read(source, fs, what);

    for (int i = 1; i < WALKS_MAX && r == -EPROTO; i++) {
        buf_reset(what);
        r = walk_and_read(source, fs, what);
    }
    return r;
}

/* They are of before the first cycle, in which all are found. */
static void forget_ends(struct bpf_source *source)
{
    size_t n;

    (void)bpf_source_ended(source, &n);
    bpf_source_ends_counted(source, n);
}

int bpf_trial(struct bpf_source *source, struct procfs *fs, struct buf *what)
{
    int r = try_end(source, what);

    if (r == 0)
        r = try_walk(source, fs, what);
    forget_ends(source);
    return r;
}

#endif
