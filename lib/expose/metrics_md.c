/*
 * metrics_md - prints docs/metrics.md, the manual of all families, out of families.def.
 *
 * A build-time program, not installed. A test compares what it prints with the file in docs.
 */
#include "expose/families.h"
#include "model/sample.h"

#include <stdio.h>

static const char *part_path(enum part part)
{
    static const char *const paths[PART_N] = {
        [PART_STAT] = "/proc/PID/stat",
        [PART_STATUS] = "/proc/PID/status",
        [PART_IO] = "/proc/PID/io",
        [PART_FD] = "/proc/PID/fd",
        [PART_LIMITS] = "/proc/PID/limits",
        [PART_EXE] = "/proc/PID/exe",
        [PART_CMDLINE] = "/proc/PID/cmdline",
        [PART_MAPS] = "/proc/PID/maps",
        [PART_SMAPS] = "/proc/PID/smaps_rollup",
        [PART_TASK] = "/proc/PID/task",
    };

    return paths[part];
}

static const char *host_part_path(enum host_part part)
{
    static const char *const paths[HOST_PART_N] = {
        [HOST_PART_STAT] = "/proc/stat",
        [HOST_PART_CPUS] = "its rows per CPU",
        [HOST_PART_LOADAVG] = "/proc/loadavg",
        [HOST_PART_PID_MAX] = "/proc/sys/kernel/pid_max",
        [HOST_PART_THREADS_MAX] = "/proc/sys/kernel/threads-max",
        [HOST_PART_FILE_NR] = "/proc/sys/fs/file-nr",
        [HOST_PART_MAX_MAP_COUNT] = "/proc/sys/vm/max_map_count",
    };

    return paths[part];
}

static uint32_t parts_read(const struct family *f)
{
    uint32_t parts = f->reads.parts;

    for (enum part i = 0; i < PART_N; i++)
        if ((f->reads.counters & part_counters(i)) | (f->reads.gauges & part_gauges(i)))
            parts |= part_bit(i);
    /* What every process is known by is always read. */
    return parts ? parts : part_bit(PART_STAT);
}

static void print_path(const char *path, bool *first)
{
    printf("%s%s", *first ? "" : ", ", path);
    *first = false;
}

/* The control group is no part: it is read for the groups, whatever families are on. */
static bool reads_cgroup(const struct family *f)
{
    return f == &families[FAMILY_ID_proctally_group_info];
}

static void print_reads(const struct family *f)
{
    bool of_processes = f->scope != FAMILY_HOST && !reads_cgroup(f);
    uint32_t parts = of_processes ? parts_read(f) : 0;
    bool first = true;

    for (enum part i = 0; i < PART_N; i++)
        if (parts & part_bit(i))
            print_path(part_path(i), &first);
    if (reads_cgroup(f))
        print_path("/proc/PID/cgroup", &first);
    for (enum host_part i = 0; i < HOST_PART_N; i++)
        if (f->reads.host_parts & host_part_bit(i))
            print_path(host_part_path(i), &first);
}

/* `group,mode` as `group`, `mode`. */
static void print_labels(const char *labels)
{
    printf("labels `");
    for (; *labels; labels++) {
        if (*labels == ',')
            printf("`, `");
        else
            putchar(*labels);
    }
    printf("`");
}

static const char *on_when(const struct family *f)
{
    if (!f->on)
        return "opt-in";
    if (f->scope == FAMILY_COMPAT)
        return "on with `compat`";
    return f->scope == FAMILY_PROCESS ? "on with `top`" : "on by default";
}

static void print_family(const struct family *f)
{
    printf("### %.*s\n\n%.*s\n\n", (int)f->name.n, f->name.p, (int)f->help.n, f->help.p);
    printf("%s", f->type == FAMILY_COUNTER ? "Counter" : "Gauge");
    if (f->unit.n > 0)
        printf(", unit %.*s", (int)f->unit.n, f->unit.p);
    if (*f->labels) {
        printf(", ");
        print_labels(f->labels);
    }
    printf(", %s.", on_when(f));
    if (f->scope != FAMILY_SELF) {
        printf(" Read from ");
        print_reads(f);
        printf(".");
    }
    printf("\n\n");
}

static void print_section(enum family_scope scope, const char *head)
{
    printf("%s\n\n", head);
    for (unsigned i = 0; i < FAMILY_N; i++)
        if (families[i].scope == scope)
            print_family(&families[i]);
}

int main(void)
{
    printf("# Metrics\n\n"
           "Written by the build out of lib/expose/families.def: change it there.\n\n"
           "`include` and `exclude` in section `[metrics]` of the configuration turn families on\n"
           "and off by globs over these names. Only the files that the enabled families need are\n"
           "read. A value that is not known is left out, never shown as 0; a family without any\n"
           "value is not on the page.\n\n"
           "Threads are read of the groups that `groups` in section `[threads]` names, and of no\n"
           "others; families that say so have series of those groups alone.\n\n"
           "OpenMetrics, too, shows each sample under the name given here; there the metadata of\n"
           "a counter has the name without `_total`.\n\n");
    print_section(FAMILY_GROUP, "## Groups");
    print_section(
        FAMILY_PROCESS,
        "## Processes\n\n"
        "Of the top processes alone, and only with `top` in section `[processes]` of the\n"
        "configuration: a process comes when it is among the first `top`, and goes when it\n"
        "is no longer among twice as many, which is the most that are shown. Counters are\n"
        "totals since the start of the process, also in the first sample of a series.");
    print_section(FAMILY_HOST, "## Host");
    print_section(FAMILY_SELF, "## The daemon itself");
    print_section(
        FAMILY_COMPAT,
        "## Groups by the names of process-exporter\n\n"
        "For dashboards that exist, and only with `compat = process-exporter` in section\n"
        "`[groups]` of the configuration. The values are those of the families that HELP\n"
        "names; what differs from process-exporter is told in docs/migration.md.");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
