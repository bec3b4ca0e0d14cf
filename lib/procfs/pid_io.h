#pragma once
/*
 * pid_io - /proc/PID/io, what a process read and wrote since its start, all threads together.
 *
 * The kernel adds what a reaped child had to its parent's numbers. Needs the right to ptrace,
 * and a kernel with CONFIG_TASK_IO_ACCOUNTING.
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

enum pid_io_field {
    PID_IO_READ_CHARS,            /* rchar, bytes through read(2) and its kin */
    PID_IO_WRITE_CHARS,           /* wchar */
    PID_IO_READ_SYSCALLS,         /* syscr */
    PID_IO_WRITE_SYSCALLS,        /* syscw */
    PID_IO_READ_BYTES,            /* read_bytes, fetched from storage */
    PID_IO_WRITE_BYTES,           /* write_bytes, sent to storage */
    PID_IO_CANCELLED_WRITE_BYTES, /* cancelled_write_bytes, sent and then truncated away */
    PID_IO_FIELD_N,
};

struct pid_io {
    uint32_t have; /* 1 << enum pid_io_field */
    uint64_t field[PID_IO_FIELD_N];
    bool malformed; /* a wanted key's value is no number in range; it was left out */
};

/* Any text parses; what it lacks has no bit. */
void pid_io_parse(struct span text, struct pid_io *ret);

/* Reads and parses `io` in `dir`. */
int pid_io_read(struct procfs *fs, int dir, struct pid_io *ret);

static inline bool pid_io_has(const struct pid_io *io, enum pid_io_field field)
{
    return io->have >> field & 1;
}
