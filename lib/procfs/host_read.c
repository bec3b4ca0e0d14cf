/* host_read - one file after the other; none depends on another. */
#include "procfs/host_read.h"

#include "model/parts.h"
#include "procfs/loadavg.h"
#include "procfs/sys_stat.h"
#include "procfs/sysctl.h"

#include <errno.h>

static bool host_wants(uint32_t host_parts, enum host_part part)
{
    return host_parts >> part & 1;
}

/* Counts what is a fault of the file and hands on what is our own. */
static int host_settle(struct faults *faults, enum fault_file file, int r)
{
    if (procfs_own_trouble(r))
        return r;
    if (r < 0)
        (void)faults_count(faults, file, 0, r);
    return 0;
}

static int host_read_stat(struct procfs *fs, uint32_t host_parts, struct faults *faults,
                          struct host *host)
{
    int r;

    if (!host_wants(host_parts, HOST_PART_STAT))
        return 0;
    r = sys_stat_read(fs, host, host_wants(host_parts, HOST_PART_CPUS) ? &fs->cpus : NULL);
    return host_settle(faults, FAULT_HOST_STAT, r == SYS_STAT_MALFORMED ? -EBADMSG : r);
}

static int host_read_loadavg(struct procfs *fs, uint32_t host_parts, struct faults *faults,
                             struct host *host)
{
    uint64_t tasks;
    int r;

    if (!host_wants(host_parts, HOST_PART_LOADAVG))
        return 0;
    r = loadavg_read(fs, &tasks);
    if (r == 0)
        host_set(host, HOST_TASKS, tasks);
    return host_settle(faults, FAULT_HOST_LOADAVG, r);
}

static int host_read_sysctls(struct procfs *fs, uint32_t host_parts, struct faults *faults,
                             struct host *host)
{
    static const struct {
        enum host_part part;
        enum host_field field;
        const char *name;
    } files[] = {
        {HOST_PART_PID_MAX, HOST_PID_MAX, "sys/kernel/pid_max"},
        {HOST_PART_THREADS_MAX, HOST_THREADS_MAX, "sys/kernel/threads-max"},
        {HOST_PART_MAX_MAP_COUNT, HOST_MAX_MAP_COUNT, "sys/vm/max_map_count"},
    };
    uint64_t value;
    int r;

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (!host_wants(host_parts, files[i].part))
            continue;
        r = sysctl_read(fs, files[i].name, &value);
        if (r == 0)
            host_set(host, files[i].field, value);
        r = host_settle(faults, FAULT_HOST_SYS, r);
        if (r < 0)
            return r;
    }
    return 0;
}

static int host_read_file_nr(struct procfs *fs, uint32_t host_parts, struct faults *faults,
                             struct host *host)
{
    uint64_t open_files, limit;
    int r;

    if (!host_wants(host_parts, HOST_PART_FILE_NR))
        return 0;
    r = sysctl_read_file_nr(fs, &open_files, &limit);
    if (r == 0) {
        host_set(host, HOST_OPEN_FILES, open_files);
        host_set(host, HOST_OPEN_FILES_LIMIT, limit);
    }
    return host_settle(faults, FAULT_HOST_SYS, r);
}

int host_read(struct procfs *fs, uint32_t host_parts, struct faults *faults, struct host *ret)
{
    int r;

    *ret = (struct host){0};
    r = host_read_stat(fs, host_parts, faults, ret);
    if (r == 0)
        r = host_read_loadavg(fs, host_parts, faults, ret);
    if (r == 0)
        r = host_read_sysctls(fs, host_parts, faults, ret);
    if (r == 0)
        r = host_read_file_nr(fs, host_parts, faults, ret);
    return r;
}
