/*
 * pid_status - the wanted keys of status.
 *
 * Name comes first and may hold anything but a line feed, which the kernel escapes; so a key
 * counts only at the start of a line.
 */
#include "procfs/pid_status.h"

#include "procfs/keyed.h"

static const struct keyed_row pid_status_rows[PID_STATUS_FIELD_N] = {
    [PID_STATUS_UID] = KEYED_ROW("Uid:", 1, 1),
    [PID_STATUS_PEAK_BYTES] = KEYED_ROW("VmHWM:", 0, 1024),
    [PID_STATUS_RESIDENT_BYTES] = KEYED_ROW("VmRSS:", 0, 1024),
    [PID_STATUS_ANON_BYTES] = KEYED_ROW("RssAnon:", 0, 1024),
    [PID_STATUS_FILE_BYTES] = KEYED_ROW("RssFile:", 0, 1024),
    [PID_STATUS_SHMEM_BYTES] = KEYED_ROW("RssShmem:", 0, 1024),
    [PID_STATUS_SWAP_BYTES] = KEYED_ROW("VmSwap:", 0, 1024),
    [PID_STATUS_THREADS] = KEYED_ROW("Threads:", 0, 1),
};

_Static_assert(PID_STATUS_THREADS == PID_STATUS_FIELD_N - 1, "threads come last");

void pid_status_parse(struct span text, bool threads, struct pid_status *ret)
{
    size_t n = threads ? PID_STATUS_FIELD_N : PID_STATUS_THREADS;
    struct keyed found = keyed_parse(text, pid_status_rows, n, ret->field);

    ret->have = found.have;
    ret->malformed = found.malformed;
    /* 4294967295 is the kernel's "no user"; more is none. */
    if (pid_status_has(ret, PID_STATUS_UID) && ret->field[PID_STATUS_UID] > UINT32_MAX) {
        ret->have &= ~(UINT32_C(1) << PID_STATUS_UID);
        ret->malformed = true;
    }
}

int pid_status_read(struct procfs *fs, int dir, bool threads, struct pid_status *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "status", PROCFS_WHOLE, PROCFS_TEXT_MAX, &text);
    if (r < 0)
        return r;
    pid_status_parse(text, threads, ret);
    return 0;
}
