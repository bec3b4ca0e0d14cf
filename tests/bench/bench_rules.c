/*
 * bench_rules - what it costs to find a process' group among 50 rules, 20 of them by command line.
 *
 * A decision is made at a process' first sight and when it changes, so its cost matters where many
 * processes come and go. It is counted in instructions, below callgrind, for a process that the
 * last rule takes: all are tried.
 */
#include "bench.h"
#include "fifty_rules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SKIP = 77,
    LOOPS = 100,
};

/* Per process, 170,000 and 345,000 as measured: nearly all of it is PCRE2's. */
static const double BOUND_COMPILED = 250000, BOUND_INTERPRETED = 500000;

static const char cmdline[] =
    "/usr/lib/jvm/java-17/bin/java -Xmx4g -XX:+UseG1GC -Dfile.encoding=UTF-8 -Dapp.home=/opt/app "
    "-cp /opt/app/lib/a.jar:/opt/app/lib/b.jar:/opt/app/lib/c.jar example.orders.Main --port 8080";

/* Callgrind counts within. */
__attribute__((noinline)) static void measured_match(const struct rules *rules,
                                                     const struct subject *s, struct buf *name)
{
    for (int i = 0; i < LOOPS; i++) {
        buf_reset(name);
        if (rules_match(rules, s, name).rule != rules->n_rules - 1)
            bench_die("another rule");
    }
}

static int run_measured(const char *engine)
{
    static const struct cgroup_identity cgroup = {.path = {"/system.slice/orders.service", 28},
                                                  .unit = {"orders.service", 14},
                                                  .slice = {"system.slice", 12}};
    const struct subject s = {.comm = {"java", 4},
                              .exe = {"/usr/lib/jvm/java-17/bin/java", 29},
                              .cmdline = {cmdline, sizeof(cmdline) - 1},
                              .user = {"orders", 6},
                              .cgroup = &cgroup};
    struct rules rules;
    struct buf name;

    buf_init(&name, 4096);
    fifty_rules(&rules, strcmp(engine, "compiled") == 0);
    measured_match(&rules, &s, &name);
    printf("%d\n", LOOPS);
    buf_deinit(&name);
    rules_deinit(&rules);
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

static bool count_instructions(const char *program, const char *engine, double bound)
{
    char command[2 * PATH_MAX], path[64];
    double each;

    snprintf(path, sizeof(path), "callgrind.out.rules.%s", engine);
    snprintf(command, sizeof(command),
             "valgrind -q --tool=callgrind --toggle-collect=measured_match "
             "--callgrind-out-file='%s' '%s' --measured %s >/dev/null",
             path, program, engine);
    if (system(command) != 0)
        bench_die("callgrind");
    each = read_totals(path) / LOOPS;
    printf("instructions to hold one process against %d rules, %d of them %s expressions: %.0f <= "
           "%g (details in %s)\n",
           GLOB_RULES + REGEX_RULES, REGEX_RULES, engine, each, bound, path);
    fflush(stdout);
    return each <= bound;
}

int main(int argc, char **argv)
{
    char program[PATH_MAX];
    bool holds;

    if (argc == 3 && strcmp(argv[1], "--measured") == 0)
        return run_measured(argv[2]);
    if (!realpath("/proc/self/exe", program))
        bench_die("/proc/self/exe");
    if (system("valgrind --version >/dev/null 2>&1") != 0) {
        puts("skipped: valgrind is not installed");
        return SKIP;
    }
    holds = count_instructions(program, "compiled", BOUND_COMPILED);
    return count_instructions(program, "interpreted", BOUND_INTERPRETED) && holds ? 0 : 1;
}
