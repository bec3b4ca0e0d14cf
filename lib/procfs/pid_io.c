/*
 * pid_io - the seven keys of io.
 *
 * read_bytes of 2^64 - 1 has been seen where the kernel subtracted too much: such numbers are
 * left out like any other that is none.
 */
#include "procfs/pid_io.h"

#include "procfs/keyed.h"

static const struct keyed_row pid_io_rows[PID_IO_FIELD_N] = {
    [PID_IO_READ_CHARS] = KEYED_ROW("rchar:", 0, 1),
    [PID_IO_WRITE_CHARS] = KEYED_ROW("wchar:", 0, 1),
    [PID_IO_READ_SYSCALLS] = KEYED_ROW("syscr:", 0, 1),
    [PID_IO_WRITE_SYSCALLS] = KEYED_ROW("syscw:", 0, 1),
    [PID_IO_READ_BYTES] = KEYED_ROW("read_bytes:", 0, 1),
    [PID_IO_WRITE_BYTES] = KEYED_ROW("write_bytes:", 0, 1),
    [PID_IO_CANCELLED_WRITE_BYTES] = KEYED_ROW("cancelled_write_bytes:", 0, 1),
};

void pid_io_parse(struct span text, struct pid_io *ret)
{
    struct keyed found = keyed_parse(text, pid_io_rows, PID_IO_FIELD_N, ret->field);

    ret->have = found.have;
    ret->malformed = found.malformed;
}

int pid_io_read(struct procfs *fs, int dir, struct pid_io *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "io", PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    pid_io_parse(text, ret);
    return 0;
}
