#pragma once
/*
 * faults - read errors counted by file and reason.
 *
 * What counts is a file that is there and cannot be read or understood. A process that is gone
 * (ENOENT, ESRCH) is normal life and counts nowhere. The library only counts; the daemon logs
 * each kind once.
 */
#include <stdbool.h>
#include <stdint.h>

enum fault_file {
    FAULT_STAT,
    FAULT_STATUS,
    FAULT_IO,
    FAULT_FD,
    FAULT_LIMITS,
    FAULT_EXE,
    FAULT_CMDLINE,
    FAULT_MAPS,
    FAULT_SMAPS_ROLLUP,
    FAULT_CGROUP,
    FAULT_TASK,
    FAULT_HOST_STAT,
    FAULT_HOST_LOADAVG,
    FAULT_HOST_SYS,
    FAULT_FILE_N,
};

enum fault_reason {
    FAULT_PERMISSION, /* EACCES, EPERM */
    FAULT_MALFORMED,  /* read, but not as the kernel writes it */
    FAULT_TOO_LARGE,  /* over the buffer's maximum */
    FAULT_READ,       /* EIO, EINVAL and all others */
    FAULT_REASON_N,
};

struct faults {
    uint64_t count[FAULT_FILE_N][FAULT_REASON_N];
    /* Of the first fault of each kind: the process (0: a host file) and the errno (0: malformed).
     */
    uint32_t first_pid[FAULT_FILE_N][FAULT_REASON_N];
    int first_errno[FAULT_FILE_N][FAULT_REASON_N];
};

/*
 * Counts the failure `error` (a negative errno; -EBADMSG is malformed, -EFBIG too large) of a
 * file of process pid, 0 for the host's. ENOENT and ESRCH count nothing. Returns whether it
 * counted.
 */
bool faults_count(struct faults *f, enum fault_file file, uint32_t pid, int error);

/* Label values, such as "smaps_rollup" and "permission". */
const char *fault_file_name(enum fault_file file);
const char *fault_reason_name(enum fault_reason reason);
