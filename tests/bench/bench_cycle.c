/*
 * bench_cycle - a whole cycle of the daemon against its system calls alone.
 *
 *     bench_cycle [--small] [--processes N] [--rounds N] [--typ] [--instructions | --rules]
 *
 * A farm of idle processes is read by cycle_run() and cycle_snapshot(), and in turn by floor_run(),
 * which makes the same system calls and parses nothing. Both are counted first and must make the
 * same ones. Mappings are left out: the prober's threads read them, in their own time. --typ makes
 * the farm one of ordinary processes rather than bare ones; --instructions counts the instructions
 * of a warm cycle in user space by callgrind instead; --rules those of warm cycles and of all that
 * the collector does between them, with fifty rules and without.
 */
#include "bench.h"
#include "calls.h"
#include "fifty_rules.h"
#include "floor.h"
#include "heap.h"
#include "measured.h"

#include "daemon/clock.h"
#include "daemon/cycle.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    /* All turns of limits. */
    COUNTED_CYCLES = 16,
    INSTRUCTION_CYCLES = 3,
    /* All turns of what rules have read, and of control groups. */
    TURN_CYCLES = 48,
    SKIP = 77,
};

/*
 * The budget is 1.1. The difference to be judged is two microseconds of twenty, and what they are
 * of those depends on how fast the kernel is at the moment: medians of one binary went from 1.08
 * to 1.13 while others used the machine. So the time is held with some room, and what is ours
 * alone, the instructions in user space, without. (Some 10,860 since there are two sources.)
 */
static const double CYCLE_BOUND = 1.1 + 0.05;
static const double INSTRUCTIONS_BOUND = 11000;
/* Of unchanged processes, with rules to without. */
static const double RULES_BOUND = 1.1;

/* A cycle and its system calls. */
struct compared {
    struct measured ours;
    struct floor floor;
};

static double run_floor(void *arg)
{
    struct compared *s = arg;

    return (double)floor_run(&s->floor);
}

static double run_ours(void *arg)
{
    struct compared *s = arg;

    return measured_run(&s->ours);
}

static void warm_up(struct measured *s)
{
    for (int i = 0; i < 3; i++)
        (void)measured_run(s);
}

/* The same processes' limits are due in both. */
static void set_floor(struct compared *s)
{
    s->floor.cycle = s->ours.cycle.table.cycle;
}

static struct calls count_calls(struct compared *s, double (*run)(void *arg), double *ret_units)
{
    calls = (struct calls){0};
    *ret_units = 0;
    for (int i = 0; i < COUNTED_CYCLES; i++)
        *ret_units += run(s);
    return calls;
}

static bool counts_agree(double ours, double floor, bool isolated)
{
    double difference = ours > floor ? ours - floor : floor - ours;

    /* Other people's processes may come and go between two readings. */
    return isolated ? difference == 0 : difference <= floor * 0.02;
}

/* Prints the calls per process of both, and tells whether they are the same. */
static bool check_calls(struct compared *s, bool isolated)
{
    double ours_units, floor_units;
    struct calls ours = count_calls(s, run_ours, &ours_units);
    struct calls floor = count_calls(s, run_floor, &floor_units);
    bool agree = true;

    printf("system calls per process and cycle, %s families:  ours   floor\n", s->ours.families);
    for (int i = 0; i < CALL_N; i++) {
        agree = counts_agree((double)ours.made[i], (double)floor.made[i], isolated) && agree;
        printf("  %-48s %7.3f %7.3f\n", call_name((enum call)i), (double)ours.made[i] / ours_units,
               (double)floor.made[i] / floor_units);
    }
    printf("  %-48s %7.1f %7.1f\n", "bytes read", (double)ours.bytes / ours_units,
           (double)floor.bytes / floor_units);
    if (!agree)
        fputs("bench_cycle: the floor does not make the calls of the cycle; see floor.h\n", stderr);
    return agree;
}

static bool check_heap(struct measured *s)
{
    uint64_t before = heap_calls();

    for (int i = 0; i < COUNTED_CYCLES; i++)
        (void)measured_run(s);
    printf("heap calls of %d warm cycles: %" PRIu64 "\n", COUNTED_CYCLES, heap_calls() - before);
    return heap_calls() == before;
}

static bool compare(struct compared *s, unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"system calls alone", run_floor, s},
        {"cycle and snapshot", run_ours, s},
    };
    const struct bench_pair pairs[] = {{0, 1, BENCH_WITHIN, CYCLE_BOUND}};
    char title[128];
    const struct bench b = {.title = title,
                            .unit = "process",
                            .pieces = pieces,
                            .n_pieces = 2,
                            .pairs = pairs,
                            .n_pairs = 1,
                            .rounds = rounds};

    snprintf(title, sizeof(title), "cycle, %s families, %" PRIu64 " processes in %zu groups",
             s->ours.families, s->ours.cycle.processes, s->ours.snapshot.n_groups);
    return bench_run(&b);
}

static bool measure(const char *families, bool isolated, unsigned rounds)
{
    static struct compared s;
    const struct procfs *fs = &s.ours.cycle.procfs;
    bool holds;

    measured_open(&s.ours, families, false);
    floor_init(&s.floor, fs->root, &s.ours.cycle.wanted, fs->fd_count_in_size);
    warm_up(&s.ours);
    set_floor(&s);
    holds = check_calls(&s, isolated) && check_heap(&s.ours);
    set_floor(&s);
    holds = holds && compare(&s, rounds);
    floor_deinit(&s.floor);
    measured_close(&s.ours);
    return holds;
}

/* What callgrind is told to count; it finds it by name. */
void measured_cycles(struct measured *s);
__attribute__((noinline)) void measured_cycles(struct measured *s)
{
    for (int i = 0; i < INSTRUCTION_CYCLES; i++)
        (void)measured_run(s);
}

/* Runs below callgrind, see count_instructions(); says what its count is to be divided by. */
static int run_measured(const char *families)
{
    static struct measured s;

    measured_open(&s, families, false);
    warm_up(&s);
    measured_cycles(&s);
    printf("%" PRIu64 "\n", s.cycle.processes * INSTRUCTION_CYCLES);
    measured_close(&s);
    return 0;
}

/* A cycle, and what the collector does until the next one; as if that took no time. */
static void run_whole_cycle(struct measured *s)
{
    (void)measured_run(s);
    probes_wait_all(&s->cycle.probes, &s->cycle.sample, clock_monotonic_ns() + MEASURED_BETWEEN_NS);
}

/* As measured_cycles(). */
void measured_turns(struct measured *s);
__attribute__((noinline)) void measured_turns(struct measured *s)
{
    for (int i = 0; i < TURN_CYCLES; i++)
        run_whole_cycle(s);
}

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

/* The daemon has threads, so that the C library sees to cancellation in each call; so it does here.
 */
static void be_threaded(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        bench_die("pthread_create");
}

/* As run_measured(). */
static int run_measured_turns(bool rules)
{
    static struct measured s;

    be_threaded();
    measured_open(&s, "default", rules);
    for (int i = 0; i < 3; i++) {
        run_whole_cycle(&s);
        users_wait(s.cycle.placing.users);
    }
    measured_turns(&s);
    if (rules != (s.cycle.probes.text_parts != 0) || s.cycle.groups.n_pending > 0)
        bench_die("the rules are not in effect");
    printf("%" PRIu64 "\n", s.cycle.processes * TURN_CYCLES);
    measured_close(&s);
    return 0;
}

/* The first number of the file's line `totals:`. */
static double read_totals(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[4096];
    double total = 0;

    if (!f)
        bench_die(path);
    while (fgets(line, sizeof(line), f))
        (void)sscanf(line, "totals: %lf", &total);
    fclose(f);
    return total;
}

/* Runs this program below callgrind, and returns the units it printed. */
static double run_callgrind(const char *program, const char *function, const char *arguments,
                            const char *path)
{
    char command[2 * PATH_MAX];
    double units = 0;
    FILE *output;

    snprintf(command, sizeof(command),
             "valgrind -q --tool=callgrind --toggle-collect=%s --callgrind-out-file='%s' '%s' %s",
             function, path, program, arguments);
    output = popen(command, "re");
    if (!output || fscanf(output, "%lf", &units) != 1 || pclose(output) != 0 || units == 0)
        bench_die("callgrind");
    return units;
}

static bool count_instructions(const char *program, const char *families)
{
    char path[64], arguments[64];
    double units, per_process;

    snprintf(path, sizeof(path), "callgrind.out.cycle.%s", families);
    snprintf(arguments, sizeof(arguments), "--measured %s", families);
    units = run_callgrind(program, "measured_cycles", arguments, path);
    per_process = read_totals(path) / units;
    printf("instructions in user space per process, %s families: %.0f <= %g (details in %s)\n",
           families, per_process, INSTRUCTIONS_BOUND, path);
    fflush(stdout);
    return per_process <= INSTRUCTIONS_BOUND;
}

static double count_turns(const char *program, const char *which)
{
    char path[64], arguments[64];
    double units;

    snprintf(path, sizeof(path), "callgrind.out.rules.%s", which);
    snprintf(arguments, sizeof(arguments), "--measured-turns %s", which);
    units = run_callgrind(program, "measured_turns", arguments, path);
    return read_totals(path) / units;
}

static bool compare_rules(const char *program)
{
    double without = count_turns(program, "none"), with = count_turns(program, "fifty");

    printf("instructions in user space per process and cycle, of unchanged processes:\n"
           "  no rule %.0f, %d rules with %d expressions %.0f, ratio %.3f <= %g\n",
           without, GLOB_RULES + REGEX_RULES, REGEX_RULES, with, with / without, RULES_BOUND);
    fflush(stdout);
    return with / without <= RULES_BOUND;
}

static bool count_all(const char *program)
{
    bool holds = count_instructions(program, "default");

    return count_instructions(program, "peer") && holds;
}

static int run_callgrinds(const char *program, long n, bool typ, bool rules)
{
    struct farm farm;
    bool holds;

    if (system("valgrind --version >/dev/null 2>&1") != 0) {
        puts("skipped: valgrind is not installed");
        return SKIP;
    }
    measured_farm(&farm, n, typ);
    holds = rules ? compare_rules(program) : count_all(program);
    farm_stop(&farm);
    return holds ? 0 : 1;
}

static int run_comparisons(long n, bool typ, bool isolated, unsigned rounds)
{
    struct farm farm;
    bool holds;

    measured_farm(&farm, n, typ);
    holds = measure("default", isolated, rounds);
    holds = measure("peer", isolated, rounds) && holds;
    farm_stop(&farm);
    return holds ? 0 : 1;
}

int main(int argc, char **argv)
{
    bool small = bench_flag(argc, argv, "--small");
    bool rules = bench_flag(argc, argv, "--rules");
    bool instructions = bench_flag(argc, argv, "--instructions") || rules;
    bool typ = bench_flag(argc, argv, "--typ");
    long n = bench_number(argc, argv, "--processes", instructions ? 200 : small ? 500 : 5000);
    unsigned rounds = (unsigned)bench_number(argc, argv, "--rounds", small ? 31 : 41);
    char program[PATH_MAX];
    bool isolated;

    if (argc == 3 && strcmp(argv[1], "--measured") == 0)
        return run_measured(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--measured-turns") == 0)
        return run_measured_turns(strcmp(argv[2], "fifty") == 0);
    /* Before: within a chroot the link leads to the mounts of before, which nobody reaches then. */
    if (!realpath("/proc/self/exe", program))
        bench_die("/proc/self/exe");
    isolated = farm_isolate();
    if (!isolated)
        puts("not root: other processes are measured with the farm");
    fflush(stdout);
    return instructions ? run_callgrinds(program, n, typ, rules)
                        : run_comparisons(n, typ, isolated, rounds);
}
