/* faults - read errors counted by file and reason. */
#include "model/faults.h"

#include <errno.h>

static enum fault_reason fault_reason_of(int error)
{
    switch (error) {
    case -EACCES:
    case -EPERM:
        return FAULT_PERMISSION;
    case -EBADMSG:
        return FAULT_MALFORMED;
    case -EFBIG:
        return FAULT_TOO_LARGE;
    default:
        return FAULT_READ;
    }
}

bool faults_count(struct faults *f, enum fault_file file, uint32_t pid, int error)
{
    enum fault_reason reason;

    if (error == -ENOENT || error == -ESRCH)
        return false;
    reason = fault_reason_of(error);
    if (f->count[file][reason]++ == 0) {
        f->first_pid[file][reason] = pid;
        f->first_errno[file][reason] = error == -EBADMSG ? 0 : -error;
    }
    return true;
}

const char *fault_file_name(enum fault_file file)
{
    static const char *const names[FAULT_FILE_N] = {
        [FAULT_STAT] = "stat",
        [FAULT_STATUS] = "status",
        [FAULT_IO] = "io",
        [FAULT_FD] = "fd",
        [FAULT_LIMITS] = "limits",
        [FAULT_EXE] = "exe",
        [FAULT_CMDLINE] = "cmdline",
        [FAULT_MAPS] = "maps",
        [FAULT_SMAPS_ROLLUP] = "smaps_rollup",
        [FAULT_CGROUP] = "cgroup",
        [FAULT_TASK] = "task",
        [FAULT_HOST_STAT] = "host_stat",
        [FAULT_HOST_LOADAVG] = "host_loadavg",
        [FAULT_HOST_SYS] = "host_sys",
    };

    return names[file];
}

const char *fault_reason_name(enum fault_reason reason)
{
    static const char *const names[FAULT_REASON_N] = {
        [FAULT_PERMISSION] = "permission",
        [FAULT_MALFORMED] = "malformed",
        [FAULT_TOO_LARGE] = "too_large",
        [FAULT_READ] = "read",
    };

    return names[reason];
}
