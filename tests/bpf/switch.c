/*
 * switch - the source of processes is changed back and forth under load, and no total falls or
 * jumps.
 *
 * A storm (storm.c) runs while cycles of the daemon take this host's processes, some of them as
 * text and some as the kernel counts them. After each cycle no counter of any group has fallen,
 * none of the storm's is more than what was done by then, and none grew by more CPU time than there
 * was.
 *
 *     switch STORM [SEED]
 *
 * Exits with 0, 1, or 77 and the reason where the kernel does not let it.
 */
#include "bpf/source.h"
#include "daemon/clock.h"
#include "daemon/cycle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SKIP = 77,
    GROUPS_MAX = 200,
    /* So many cycles of one source in a row, at most. */
    ROW_MAX = 4,
    PAUSE_MS = 30,
    OWN_BYTES = 64, /* that it tells us */
    /* What a thread writes; so many ends are told later than LATE_NS. */
    WRITTEN = 16 * 1024,
    LATE = 4,
    NOTED_MAX = 256,
    SWITCHES_LEAST = 10,
};

static const uint64_t SECOND_NS = 1000000000u;
/* Text tells of user and system time in ticks, so each of a process comes up to one late. */
static const uint64_t TICKS_NS = 20000000u;
/* The kernel lets go of a task some time after its end; what it did is told then. */
static const uint64_t LATE_NS = 300000000u;

/* As storm.c has it. */
struct tally {
    uint64_t started, ended, written;
};

/* ---- the storm ---- */

struct storm {
    char name[16], path[64];
    struct tally *tally;
    pid_t pid;
    FILE *to, *from;
    double used_s;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void open_tally(struct storm *s)
{
    int fd;

    snprintf(s->path, sizeof(s->path), "/dev/shm/proctally-switch-%d", (int)getpid());
    fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*s->tally)) < 0)
        die(s->path);
    s->tally = mmap(NULL, sizeof(*s->tally), PROT_READ, MAP_SHARED, fd, 0);
    if (s->tally == MAP_FAILED)
        die("mmap");
    close(fd);
}

static void hear(struct storm *s, const char *expected)
{
    char line[32] = "";

    if (fgets(line, sizeof(line), s->from) && strncmp(line, expected, strlen(expected)) == 0)
        return;
    fprintf(stderr, "storm says %s in place of %s\n", line, expected);
    exit(1);
}

static void go_on(struct storm *s)
{
    if (fputc('\n', s->to) == EOF || fflush(s->to) == EOF)
        die("storm");
}

static void storm_open(struct storm *s, const char *program)
{
    char *argv[] = {(char *)"storm", s->name,        s->path, (char *)"2000",
                    (char *)"150",   (char *)"2000", NULL};
    char *environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];

    snprintf(s->name, sizeof(s->name), "storm-%d", (int)getpid());
    open_tally(s);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        die("pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    errno = posix_spawn(&s->pid, program, &actions, NULL, argv, environment);
    if (errno != 0)
        die(program);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    s->to = fdopen(in[1], "w");
    s->from = fdopen(out[0], "r");
    hear(s, "ready");
}

static struct tally storm_tally(const struct storm *s)
{
    return (struct tally){__atomic_load_n(&s->tally->started, __ATOMIC_SEQ_CST),
                          __atomic_load_n(&s->tally->ended, __ATOMIC_SEQ_CST),
                          __atomic_load_n(&s->tally->written, __ATOMIC_SEQ_CST)};
}

static bool storm_is_over(const struct storm *s)
{
    struct tally t = storm_tally(s);

    return t.started > 0 && t.started == t.ended;
}

/* What was used is known when all are reaped: from then on text has their I/O twice. */
static void storm_reap(struct storm *s)
{
    double own, children;

    hear(s, "over");
    go_on(s);
    if (fscanf(s->from, "%lf %lf", &own, &children) != 2)
        die("storm");
    s->used_s = own + children;
}

static void storm_close(struct storm *s)
{
    int status = -1;

    fclose(s->to);
    fclose(s->from);
    if (waitpid(s->pid, &status, 0) != s->pid || status != 0)
        die("storm");
    munmap(s->tally, sizeof(*s->tally));
    unlink(s->path);
}

/* ---- cycles ---- */

/* What the storm's group has counted. */
struct counted {
    uint64_t started, exited, cpu_ns, written, members;
};

struct run {
    struct bpf_source source;
    struct cycle cycle;
    struct storm storm;
    uint64_t stands[2 * GROUPS_MAX][GROUP_COUNTER_N]; /* of each group, by its number */
    struct counted last;
    struct noted {
        uint64_t at_ns;
        struct tally tally;
    } noted[NOTED_MAX]; /* when the last cycles began, by number */
    unsigned cycles, switches, failures;
};

static void complain(struct run *r, const char *what, uint64_t have, uint64_t most)
{
    r->failures++;
    printf("cycle %u, by %s, after %u switches: %s %" PRIu64 ", and not %" PRIu64 "\n", r->cycles,
           r->cycle.bpf ? "bpf" : "text", r->switches, what, have, most);
}

static struct cycle_time cycle_now(void)
{
    return (struct cycle_time){.monotonic_ns = clock_monotonic_ns(),
                               .realtime_ns = clock_realtime_ns(),
                               .boottime_ns = clock_boottime_ns()};
}

static int configure(struct cycle *c, const char *comm)
{
    struct span pattern = span_from_str(comm);
    struct rule_spec spec = {
        .name = SPAN_LITERAL("storm"), .children = true, .patterns = {[RULE_COMM] = {&pattern, 1}}};
    struct cycle_settings settings = {.groups_max = GROUPS_MAX,
                                      .groups_forget_ns = 3600 * SECOND_NS,
                                      .probe_deadline_ns = 15 * SECOND_NS};
    struct rule_fault fault;
    int r;

    selection_default(&settings.families);
    if (selection_include(&settings.families,
                          SPAN_LITERAL("proctally_group_syscall_written_bytes_total")) == 0)
        return -EINVAL;
    rules_init(&settings.rules);
    r = rules_add(&settings.rules, &spec, &fault);
    return r < 0 ? r : cycle_configure(c, &settings);
}

static struct counted count(const struct run *r)
{
    const struct groups *groups = &r->cycle.groups;
    struct counted ret = {0};

    for (size_t i = 0; i < groups->n_order; i++) {
        const struct group *g = &groups->groups[groups->order[i]];

        if (!span_equal(group_name(groups, groups->order[i]), SPAN_LITERAL("storm")))
            continue;
        ret.started = g->total[GROUP_COUNTER_STARTED];
        for (unsigned reason = 0; reason < EXIT_REASON_N; reason++)
            ret.exited += g->total[GROUP_COUNTER_EXITED + reason];
        ret.cpu_ns = g->total[COUNTER_CPU_USER_NS] + g->total[COUNTER_CPU_SYSTEM_NS];
        ret.written = g->total[COUNTER_SYSCALL_WRITE_BYTES];
        ret.members = g->members;
    }
    return ret;
}

static void check_nothing_fell(struct run *r)
{
    const struct groups *groups = &r->cycle.groups;

    for (size_t i = 0; i < groups->n_order; i++) {
        uint32_t number = groups->order[i];

        for (unsigned k = 0; number < 2 * GROUPS_MAX && k < GROUP_COUNTER_N; k++) {
            uint64_t total = groups->groups[number].total[k];

            if (total < r->stands[number][k])
                complain(r, "a total fell to", total, r->stands[number][k]);
        }
    }
}

static uint64_t cpu_of(const uint64_t totals[GROUP_COUNTER_N])
{
    return totals[COUNTER_CPU_USER_NS] + totals[COUNTER_CPU_SYSTEM_NS];
}

/*
 * Of all groups but the storm's, whose processes are too many for this. Those that were there
 * before the daemon have used far more than there was since.
 */
static void check_cpu_of_others(struct run *r, uint64_t passed_ns)
{
    const struct groups *groups = &r->cycle.groups;
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

    for (size_t i = 0; i < groups->n_order; i++) {
        uint32_t number = groups->order[i];
        const struct group *g = &groups->groups[number];
        uint64_t most_ns = (passed_ns + LATE_NS) * cpus + (g->members + 1) * TICKS_NS, more_ns;

        if (number >= 2 * GROUPS_MAX ||
            span_equal(group_name(groups, number), SPAN_LITERAL("storm")))
            continue;
        more_ns = cpu_of(g->total) - cpu_of(r->stands[number]);
        if (more_ns > most_ns)
            complain(r, "CPU of another group grew by ns", more_ns, most_ns);
    }
}

static void take_stands(struct run *r)
{
    const struct groups *groups = &r->cycle.groups;

    for (size_t i = 0; i < groups->n_order; i++) {
        uint32_t number = groups->order[i];

        if (number < 2 * GROUPS_MAX)
            memcpy(r->stands[number], groups->groups[number].total, sizeof(r->stands[number]));
    }
}

/* `before`: by the time of which all is told that is told in time; of what was noted by then. */
static void check_amount(struct run *r, const char *what, uint64_t now, uint64_t last,
                         uint64_t noted, uint64_t before, uint64_t slack)
{
    char text[64];

    snprintf(text, sizeof(text), "%s are", what);
    if (now > noted)
        complain(r, text, now, noted);
    snprintf(text, sizeof(text), "%s grew by", what);
    if (now - last > noted - before + slack)
        complain(r, text, now - last, noted - before);
}

/* What was noted so long before the last cycle began that all of it was told in that. */
static struct tally noted_before(const struct run *r)
{
    unsigned last = r->cycles - 1;
    struct tally ret = {0};

    for (unsigned i = last; i > 0 && last - i < NOTED_MAX; i--) {
        const struct noted *noted = &r->noted[i % NOTED_MAX];

        if (noted->at_ns + LATE_NS <= r->noted[last % NOTED_MAX].at_ns)
            return noted->tally;
    }
    return ret;
}

static void check_cpu(struct run *r, const struct counted *now)
{
    uint64_t passed_ns = clock_monotonic_ns() - r->noted[(r->cycles - 1) % NOTED_MAX].at_ns,
             cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
             most_ns = passed_ns * cpus + (now->members + r->last.members + 1) * TICKS_NS;

    if (now->cpu_ns - r->last.cpu_ns > most_ns)
        complain(r, "CPU grew by ns", now->cpu_ns - r->last.cpu_ns, most_ns);
    check_cpu_of_others(r, passed_ns);
}

static void check_nothing_jumped(struct run *r, const struct counted *now)
{
    const struct counted *last = &r->last;
    struct tally noted = storm_tally(&r->storm), before = noted_before(r);

    check_amount(r, "started", now->started, last->started, noted.started, before.started, LATE);
    check_amount(r, "exited", now->exited, last->exited, noted.ended, before.ended, LATE);
    check_amount(r, "bytes written", now->written, last->written, noted.written + OWN_BYTES,
                 before.written, LATE * WRITTEN);
    check_cpu(r, now);
}

static void run_cycle(struct run *r)
{
    struct cycle_time now = cycle_now();
    struct noted noted = {now.monotonic_ns, storm_tally(&r->storm)};
    struct counted counted;
    int e;

    if (r->cycle.bpf)
        bpf_source_drain(r->cycle.bpf, now.monotonic_ns);
    e = cycle_run(&r->cycle, &now);
    if (e < 0 || r->cycle.bpf_failed) {
        fprintf(stderr, "cycle: %s\n", e < 0 ? strerror(-e) : "the bpf source failed");
        exit(1);
    }
    r->cycles++;
    counted = count(r);
    check_nothing_fell(r);
    check_nothing_jumped(r, &counted);
    take_stands(r);
    r->last = counted;
    r->noted[r->cycles % NOTED_MAX] = noted;
}

/* As the collector waits: ends are taken meanwhile, and text that was read apart. */
static void wait_between(struct run *r, int ms)
{
    (void)cycle_between(&r->cycle, clock_monotonic_ns());
    poll(NULL, 0, ms / 2);
    if (r->cycle.bpf)
        bpf_source_drain(r->cycle.bpf, clock_monotonic_ns());
    poll(NULL, 0, ms / 2);
}

static void switch_source(struct run *r)
{
    int e = 0;

    r->switches++;
    if (r->cycle.bpf) {
        cycle_use_bpf(&r->cycle, NULL);
        bpf_source_pause(&r->source);
        return;
    }
    e = bpf_source_resume(&r->source);
    if (e < 0) {
        fprintf(stderr, "resume: %s\n", strerror(-e));
        exit(1);
    }
    cycle_use_bpf(&r->cycle, &r->source);
}

static void run_storm(struct run *r)
{
    int row = 1;

    go_on(&r->storm);
    while (!storm_is_over(&r->storm)) {
        wait_between(r, (int)(random() % PAUSE_MS));
        if (--row == 0) {
            switch_source(r);
            row = (int)(random() % ROW_MAX) + 1;
        }
        run_cycle(r);
    }
    for (int i = 0; i < 3; i++) {
        wait_between(r, PAUSE_MS);
        switch_source(r);
        run_cycle(r);
    }
}

/*
 * Text divides CPU time into user and system otherwise than the records do, so the highest of both
 * could come to more than there was: of this process, both is known.
 */
static void check_own_cpu(struct run *r)
{
    uint32_t ref = table_find_pid(&r->cycle.table, (uint32_t)getpid());
    const uint64_t *highest;
    struct timespec used;
    double seen_s;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if (ref == TABLE_NONE) {
        r->failures++;
        puts("this process was not seen");
        return;
    }
    highest = table_process(&r->cycle.table, ref)->bases.highest;
    seen_s = (double)(highest[COUNTER_CPU_USER_NS] + highest[COUNTER_CPU_SYSTEM_NS]) / 1e9;
    printf("own CPU %.3f s, user %.3f\n", seen_s, (double)highest[COUNTER_CPU_USER_NS] / 1e9);
    if (seen_s > (double)used.tv_sec + (double)used.tv_nsec / 1e9) {
        r->failures++;
        printf("%.3f s of own CPU, and not %.3f\n", seen_s,
               (double)used.tv_sec + (double)used.tv_nsec / 1e9);
    }
}

/* In the end: no more than was used, and enough to see that something was counted. */
static void check_all(struct run *r)
{
    struct tally t = storm_tally(&r->storm);
    double seen_s = (double)r->last.cpu_ns / (double)SECOND_NS;

    printf("%u cycles, %u switches; of %" PRIu64 " processes %" PRIu64 " started and %" PRIu64
           " exited, %.3f of %.3f s of CPU, %" PRIu64 " of %" PRIu64 " bytes\n",
           r->cycles, r->switches, t.started, r->last.started, r->last.exited, seen_s,
           r->storm.used_s, r->last.written, t.written);
    if (seen_s > r->storm.used_s * 1.005 + 0.01) {
        r->failures++;
        puts("more CPU than was used");
    }
    if (r->switches < SWITCHES_LEAST || r->last.started < t.started / 10 ||
        seen_s < r->storm.used_s / 4 || r->last.written == 0) {
        r->failures++;
        puts("too little to tell");
    }
}

/* ---- all of it ---- */

static unsigned descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned n = 0;

    while (directory && readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static const char *obstacle_of(enum programs_failure failure, int e)
{
    if (failure == PROGRAMS_NO_BTF)
        return "the kernel has no BTF";
    return failure == PROGRAMS_DENIED ? "bpf(2) is denied" : strerror(-e);
}

static void open_run(struct run *r, const char *storm)
{
    struct task_units units = {.ticks_per_second = (uint32_t)sysconf(_SC_CLK_TCK),
                               .page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
    struct cycle_time now = cycle_now();
    enum programs_failure failure = PROGRAMS_NO_MEMORY;
    int e = bpf_source_open(&r->source, &units, &failure);

    if (e < 0) {
        printf("skipped: %s\n", obstacle_of(failure, e));
        exit(SKIP);
    }
    storm_open(&r->storm, storm);
    e = cycle_open(&r->cycle, CYCLE_DAEMON, "/proc", &now);
    if (e == 0)
        e = configure(&r->cycle, r->storm.name);
    if (e < 0) {
        fprintf(stderr, "cycle: %s\n", strerror(-e));
        exit(1);
    }
    cycle_use_bpf(&r->cycle, &r->source);
}

static void close_run(struct run *r)
{
    storm_close(&r->storm);
    cycle_close(&r->cycle);
    bpf_source_close(&r->source);
}

int main(int argc, char **argv)
{
    static struct run run;
    unsigned before = descriptors(), seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)getpid();

    if (argc < 2)
        return 2;
    printf("seed %u\n", seed);
    srandom(seed);
    open_run(&run, argv[1]);
    run_cycle(&run);
    run_storm(&run);
    check_own_cpu(&run);
    storm_reap(&run.storm);
    check_all(&run);
    close_run(&run);
    if (descriptors() != before) {
        printf("%u descriptors, before %u\n", descriptors(), before);
        run.failures++;
    }
    return run.failures > 0;
}
