/*
 * bench_sys_stat - the streaming tokenizer against getline(3) and sscanf(3).
 *
 * The baseline takes the same fields off the same text, and is spared what it can be: its stream
 * is opened once and rewound, its line buffer kept. Both are checked to agree first.
 */
#include "bench.h"
#include "heap.h"

#include "procfs/boot_time.h"
#include "procfs/sys_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TICKS_PER_SECOND = 100,
    ROWS_MAX_BYTES = 8 * 1024 * 1024,
    TEXT_MAX_BYTES = 64 * 1024 * 1024,
    BASELINE_CPUS = 4096,
    /* Interrupts of a large machine: most of its file. */
    MANY_INTERRUPTS = 100000,
};

/* What the baseline takes; ticks as they stand. */
struct fields {
    uint64_t cpu[CPU_MODE_N];
    uint64_t rows[BASELINE_CPUS][CPU_MODE_N];
    size_t n_rows;
    uint64_t interrupts, switches, boot_time, processes, running, blocked;
    uint64_t softirq[SOFTIRQ_N + 1];
};

struct subject {
    struct span text;
    FILE *stream; /* over the text */
    char *line;   /* getline's */
    size_t line_size;
    struct fields fields;
    bool rows_wanted;

    struct procfs fs; /* over a directory with the text as its stat */
    const char *path; /* of that stat */
    struct buf rows;
    struct host host;
    struct boot_time boot_time;
    unsigned loops;
};

static void take_row(struct fields *f, const char *line)
{
    uint64_t v[CPU_MODE_N];
    unsigned cpu;

    if (f->n_rows < BASELINE_CPUS &&
        sscanf(line,
               "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &cpu, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9]) == 11)
        memcpy(f->rows[f->n_rows++], v, sizeof(v));
}

static void take_total(struct fields *f, const char *line)
{
    uint64_t *v = f->cpu;

    (void)sscanf(line,
                 "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                 &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9]);
}

static void take_softirqs(struct fields *f, const char *line)
{
    uint64_t *v = f->softirq;

    (void)sscanf(line,
                 "softirq %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                 &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10]);
}

static void take_line(struct subject *s, const char *line)
{
    struct fields *f = &s->fields;

    if (strncmp(line, "cpu ", 4) == 0)
        take_total(f, line);
    else if (strncmp(line, "cpu", 3) == 0 && s->rows_wanted)
        take_row(f, line);
    else if (strncmp(line, "intr ", 5) == 0)
        (void)sscanf(line, "intr %" SCNu64, &f->interrupts);
    else if (strncmp(line, "ctxt ", 5) == 0)
        (void)sscanf(line, "ctxt %" SCNu64, &f->switches);
    else if (strncmp(line, "btime ", 6) == 0)
        (void)sscanf(line, "btime %" SCNu64, &f->boot_time);
    else if (strncmp(line, "processes ", 10) == 0)
        (void)sscanf(line, "processes %" SCNu64, &f->processes);
    else if (strncmp(line, "procs_running ", 14) == 0)
        (void)sscanf(line, "procs_running %" SCNu64, &f->running);
    else if (strncmp(line, "procs_blocked ", 14) == 0)
        (void)sscanf(line, "procs_blocked %" SCNu64, &f->blocked);
    else if (strncmp(line, "softirq ", 8) == 0)
        take_softirqs(f, line);
}

static void take_stream(struct subject *s, FILE *stream)
{
    s->fields.n_rows = 0;
    while (getline(&s->line, &s->line_size, stream) > 0)
        take_line(s, s->line);
}

static double baseline_memory(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        rewind(s->stream);
        take_stream(s, s->stream);
        bench_use(&s->fields);
    }
    return s->loops;
}

static double baseline_file(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        FILE *stream = fopen(s->path, "re");

        if (!stream)
            bench_die(s->path);
        take_stream(s, stream);
        fclose(stream);
        bench_use(&s->fields);
    }
    return s->loops;
}

static struct buf *wanted_rows(struct subject *s)
{
    return s->rows_wanted ? &s->rows : NULL;
}

static double ours_memory(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        struct sys_stat state;

        s->host = (struct host){0};
        sys_stat_init(&state, TICKS_PER_SECOND, &s->host, wanted_rows(s));
        sys_stat_feed(&state, s->text);
        if (sys_stat_finish(&state) != 0)
            bench_die("sys_stat_finish");
        bench_use(&s->host);
    }
    return s->loops;
}

static double ours_file(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        s->host = (struct host){0};
        if (sys_stat_read(&s->fs, &s->host, wanted_rows(s)) != 0)
            bench_die("sys_stat_read");
        bench_use(&s->host);
    }
    return s->loops;
}

static double boot_time_cached(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++)
        if (boot_time_read(&s->boot_time, &s->fs) != 0)
            bench_die("boot_time_read");
    return s->loops;
}

static double boot_time_uncached(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        boot_time_forget(&s->boot_time);
        if (boot_time_read(&s->boot_time, &s->fs) != 0)
            bench_die("boot_time_read");
    }
    return s->loops;
}

static bool times_agree(const struct cpu_times *ours, const uint64_t *ticks)
{
    for (int mode = 0; mode < CPU_MODE_N; mode++)
        if (ours->ns[mode] != ticks[mode] * (1000000000u / TICKS_PER_SECOND))
            return false;
    return ours->columns == CPU_MODE_N;
}

static bool fields_agree(const struct fields *f, const struct host *h)
{
    const uint64_t numbers[] = {
        [HOST_BOOT_TIME_SECONDS] = f->boot_time, [HOST_CONTEXT_SWITCHES] = f->switches,
        [HOST_INTERRUPTS] = f->interrupts,       [HOST_TASKS_CREATED] = f->processes,
        [HOST_PROCESSES_RUNNING] = f->running,   [HOST_PROCESSES_BLOCKED] = f->blocked,
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (!host_has(h, (enum host_field)i) || h->field[i] != numbers[i])
            return false;
    return memcmp(h->softirq, f->softirq + 1, sizeof(h->softirq)) == 0 &&
           times_agree(&h->cpu, f->cpu);
}

static bool rows_agree(const struct fields *f, const struct host *h)
{
    if (h->n_cpus != f->n_rows)
        return false;
    for (size_t i = 0; i < h->n_cpus; i++)
        if (h->cpus[i].cpu != i || !times_agree(&h->cpus[i].times, f->rows[i]))
            return false;
    return true;
}

/* Both must have taken the same, or their times say nothing. */
static void check_agreement(struct subject *s)
{
    unsigned loops = s->loops;

    s->loops = 1;
    s->rows_wanted = true;
    baseline_memory(s);
    ours_memory(s);
    s->loops = loops;
    if (fields_agree(&s->fields, &s->host) && rows_agree(&s->fields, &s->host))
        return;
    fputs("bench_sys_stat: the tokenizer and the baseline disagree\n", stderr);
    exit(2);
}

/* A /proc/stat of so many CPUs and interrupts. */
static void make_text(struct buf *text, unsigned cpus, unsigned interrupts)
{
    buf_reset(text);
    buf_append_str(text, "cpu  768944 10288 1072079 11045715258 3486 0 5444 0 0 0\n");
    for (unsigned i = 0; i < cpus; i++)
        buf_printf(text, "cpu%u 8786 70 6308 137988080 26 0 67 0 0 0\n", i);
    buf_append_str(text, "intr 1136940775");
    for (unsigned i = 0; i < interrupts; i++)
        buf_append_str(text, i % 16 ? " 0" : " 4958786");
    buf_append_str(text, "\nctxt 1918526774\nbtime 1691617230\nprocesses 501797\n"
                         "procs_running 39\nprocs_blocked 0\n"
                         "softirq 272142382 51064 32640104 523 8408436 152655 0 4696 152439652 "
                         "131 78445121\n");
    if (buf_failed(text))
        bench_die("buf");
}

static void write_file(const char *path, struct span text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n)
        bench_die(path);
    close(fd);
}

static bool print_memory(struct subject *s, unsigned cpus, bool rows)
{
    uint64_t heap_before;
    size_t bytes_before, bytes;

    s->rows_wanted = rows;
    s->loops = 1;
    ours_file(s);
    heap_before = heap_calls();
    bytes_before = s->rows.cap + s->fs.text.cap;
    for (int i = 0; i < 10; i++)
        ours_file(s);
    bytes = rows ? s->rows.cap : 0;
    printf("  %4u CPUs, %6d interrupts, %9s per-CPU rows: state %zu bytes, heap %zu bytes, heap "
           "calls %" PRIu64 "\n",
           cpus, MANY_INTERRUPTS, rows ? "with" : "without", sizeof(struct sys_stat), bytes,
           heap_calls() - heap_before);
    return heap_calls() == heap_before && bytes_before == s->rows.cap + s->fs.text.cap;
}

static bool print_memories(struct subject *s)
{
    static const unsigned cpus[] = {80, 4096};
    struct buf text;
    bool holds = true;

    printf("memory of ten readings once warm\n");
    buf_init(&text, TEXT_MAX_BYTES);
    for (int rows = 0; rows < 2; rows++)
        for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
            make_text(&text, cpus[i], MANY_INTERRUPTS);
            write_file(s->path, buf_span(&text));
            holds = print_memory(s, cpus[i], rows) && holds;
        }
    buf_deinit(&text);
    return holds;
}

static struct span load_sample(struct buf *text)
{
    FILE *f = fopen(BENCH_DIR "/proc_stat_80cpu.txt", "re");
    char *room = buf_reserve(text, 65536);

    if (!f || !room)
        bench_die("proc_stat_80cpu.txt");
    buf_commit(text, fread(room, 1, 65536, f));
    fclose(f);
    return buf_span(text);
}

static bool run_comparisons(struct subject *s, bool rows, unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"getline+sscanf, in memory", baseline_memory, s},
        {"tokenizer, in memory", ours_memory, s},
        {"getline+sscanf, from a file", baseline_file, s},
        {"tokenizer, from a file", ours_file, s},
    };
    const struct bench_pair pairs[] = {
        {0, 1, BENCH_FASTER, 5},
        /* The kernel's open, read and close are in both, and hide the difference. */
        {2, 3, BENCH_SHOW, 0},
    };
    const struct bench b = {.title = rows ? "80 CPUs, a row per CPU taken" : "80 CPUs, totals only",
                            .unit = "text",
                            .pieces = pieces,
                            .n_pieces = 4,
                            .pairs = pairs,
                            .n_pairs = 2,
                            .rounds = rounds};

    s->rows_wanted = rows;
    return bench_run(&b);
}

static bool run_boot_time(struct subject *s, unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"boot time, read", boot_time_uncached, s},
        {"boot time, cached", boot_time_cached, s},
    };
    const struct bench_pair pairs[] = {{0, 1, BENCH_FASTER, 20}};
    const struct bench b = {.title = "boot time, 80 CPUs",
                            .unit = "look",
                            .pieces = pieces,
                            .n_pieces = 2,
                            .pairs = pairs,
                            .n_pairs = 1,
                            .rounds = rounds};

    return bench_run(&b);
}

int main(int argc, char **argv)
{
    bool small = bench_flag(argc, argv, "--small");
    unsigned rounds = (unsigned)bench_number(argc, argv, "--rounds", small ? 21 : 101);
    char directory[] = "bench_sys_stat.XXXXXX", path[sizeof(directory) + 8];
    static struct subject s;
    struct buf text;
    bool holds;

    buf_init(&text, TEXT_MAX_BYTES);
    buf_init(&s.rows, ROWS_MAX_BYTES);
    s.text = load_sample(&text);
    s.stream = fmemopen((void *)(uintptr_t)s.text.p, s.text.n, "r");
    if (!s.stream || !mkdtemp(directory))
        bench_die("mkdtemp");
    snprintf(path, sizeof(path), "%s/stat", directory);
    s.path = path;
    write_file(path, s.text);
    if (procfs_open(&s.fs, directory, TICKS_PER_SECOND, 4096) < 0)
        bench_die(directory);
    s.loops = small ? 100 : 300;

    check_agreement(&s);
    holds = run_comparisons(&s, true, rounds);
    holds = run_comparisons(&s, false, rounds) && holds;
    holds = run_boot_time(&s, rounds) && holds;
    holds = print_memories(&s) && holds;

    unlink(path);
    rmdir(directory);
    procfs_close(&s.fs);
    buf_deinit(&s.rows);
    buf_deinit(&text);
    fclose(s.stream);
    free(s.line);
    return holds ? 0 : 1;
}
