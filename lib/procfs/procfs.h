#pragma once
/*
 * procfs - one mounted procfs, or a tree that looks like one, and the means to read it.
 *
 * A struct procfs is one value for one thread: the root's descriptor, the two units the kernel
 * does not write into its files, what was found out about the mount, and all memory that reading
 * needs. That memory is reused and never cleared; once warm, no reader allocates.
 *
 * Every reader of this library fills it from files below the root and returns 0, or a negative
 * errno: -ENOENT and -ESRCH as a rule mean that a process has ended, -EACCES that the kernel
 * refuses, -EBADMSG that the text is not as the kernel writes it, -EFBIG that it is longer than
 * the stated maximum; -EMFILE, -ENFILE and -ENOMEM are the caller's own trouble.
 */
#include "base/buf.h"
#include "base/span.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    /* Most files; the longest seen is limits with 1.3 KiB. */
    PROCFS_FILE_MAX = 64 * 1024,
    /* The longest text of all: the Groups line of status may name 65,536 groups. */
    PROCFS_TEXT_MAX = 1024 * 1024,
    /* Directory entries taken by one system call; also used for texts that are only counted. */
    PROCFS_BLOCK_SIZE = 64 * 1024,
    /* Ordinary texts of `cgroup`: a dozen hierarchies, with a container's path in some. */
    PROCFS_CGROUP_MAX = 4096,
};

/* The process between process_begin() and process_end(); see process.h. */
struct procfs_process {
    int dir;    /* its directory, or -1 */
    int thread; /* of an exited leader: the directory of a thread that lives, else -1 */
    uint32_t pid;
    bool no_memory;      /* known to have no address space */
    bool memory_unknown; /* its leader has ended, and no thread that lives was found */
};

/* The text of a file `cgroup` and the path in it, of the process before: see pid_cgroup.c. */
struct procfs_cgroup {
    size_t n; /* 0: none is kept */
    size_t path_at, path_n;
    char text[PROCFS_CGROUP_MAX];
};

struct procfs {
    int root;
    uint32_t ticks_per_second; /* USER_HZ */
    uint32_t page_size;
    bool live;             /* the kernel's own procfs, not a tree of files */
    bool fd_count_in_size; /* st_size of PID/fd is the number of open descriptors (6.2) */
    struct buf text;       /* the file read last */
    struct buf pids;       /* the list read last, as uint32_t */
    struct buf cpus;       /* the per-CPU rows read last, as struct cpu_row */
    char *block;           /* PROCFS_BLOCK_SIZE bytes */
    struct procfs_cgroup cgroup;
    struct procfs_process process;
};

/*
 * Opens the procfs at path `root` and looks once whether it is live and how it counts
 * descriptors. The units are those of the host whose files are read: sysconf's _SC_CLK_TCK and
 * _SC_PAGESIZE on the spot; neither may be 0. Returns 0, or a negative errno of opening `root`
 * as a directory, or -ENOMEM.
 */
int procfs_open(struct procfs *ret, const char *root, uint32_t ticks_per_second,
                uint32_t page_size);

/*
 * A value without a root, for a thread that reads through directories given to it: nothing but
 * memory, enough for probe.h to read ordinary processes without allocating. 0 or -ENOMEM; also to
 * be given to procfs_close().
 */
int procfs_open_rootless(struct procfs *ret);

/* Closes and frees all. Takes a value that is closed, or was zeroed and has root -1. */
void procfs_close(struct procfs *fs);

/* How much of a file is wanted. */
enum procfs_how {
    PROCFS_WHOLE,  /* all; longer than the maximum is -EFBIG */
    PROCFS_RECORD, /* all of a file that the kernel writes as one record, such as stat */
    PROCFS_HEAD,   /* all, or the first `max` bytes */
};

/*
 * Reads file `name`, relative to the directory `dir`, into the text buffer. `max` is at most
 * PROCFS_TEXT_MAX. The span points into the buffer, has a NUL behind its end, and is good until
 * the next reader of this struct procfs. A file that waits for a writer, such as a FIFO, is never
 * waited for. Returns 0, -ENOMEM, -EFBIG, or what open and read say.
 */
int procfs_read(struct procfs *fs, int dir, const char *name, enum procfs_how how, size_t max,
                struct span *ret);

/* read(2), taken up again after a signal. Returns a count, 0 at the end, or a negative errno. */
ssize_t procfs_read_some(int fd, char *p, size_t n);

/*
 * Lists the processes of the root in the kernel's order. The array is owned by fs and good until
 * the next call. Returns 0, -ENODATA if there is not one process, -ENOMEM, or what the listing
 * said; nothing is handed out of a listing that failed in its midst.
 */
int procfs_list(struct procfs *fs, const uint32_t **ret_pids, size_t *ret_n);

/*
 * Whether a directory's name is a pid, or a thread's id: decimal, 1 to 2147483647, no sign and no
 * zero in front. Stores it.
 */
bool procfs_parse_pid(const char *name, uint32_t *ret);

/*
 * Opens the directory of a process, or of a thread below task/, for names to be looked up in.
 * Returns the descriptor, or a negative errno; what is no directory is -ENOTDIR.
 */
int procfs_open_pid(int dir, uint32_t pid);

/* Whether r (0 or a negative errno) is the daemon's own trouble and fails the whole cycle. */
static inline bool procfs_own_trouble(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}
