#pragma once
/*
 * pid_maps - /proc/PID/maps, the mappings of an address space.
 *
 * Needs the right to ptrace. The kernel takes the target's memory lock to write it, in pieces of
 * at most about a page: one read never gives a long file.
 */
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

struct mapping {
    uint64_t start;
    uint64_t end;          /* behind the last byte */
    char perms[4];         /* r, w, x or '-', and p (private) or s (shared); not terminated */
    uint64_t offset;       /* into the file, bytes */
    uint32_t device_major; /* up to five hexadecimal digits */
    uint32_t device_minor;
    uint64_t inode;
    /*
     * All from the padding to the end of the line, blanks at its end included, as the kernel
     * escapes it (a line feed is \012, a backslash stays). Empty for anonymous memory. Whether
     * " (deleted)" is the kernel's mark or part of a name cannot be told. Points into the text.
     */
    struct span path;
};

/* Outcomes other than 0 and errors. */
enum {
    PID_MAPS_END = 1,
};

/*
 * Takes the next line off *rest. The last one may lack its line feed. Returns 0; PID_MAPS_END;
 * or -EBADMSG for a line that is no mapping: *rest is behind it, so the caller may go on.
 */
int pid_maps_next(struct span *rest, struct mapping *ret);

/* How many lines a text has that comes in pieces, cut anywhere. Starts zeroed. */
struct pid_maps_count {
    uint64_t lines;
    bool open; /* the last line has begun and not ended */
};

void pid_maps_count_feed(struct pid_maps_count *c, struct span piece);

static inline uint64_t pid_maps_count_finish(const struct pid_maps_count *c)
{
    return c->lines + c->open;
}

/*
 * Counts the mappings of `maps` in `dir`, in a fixed piece of memory however many there are; 0
 * for a process without an address space. Leaves the text buffer alone.
 */
int pid_maps_count_read(struct procfs *fs, int dir, uint64_t *ret);

/* Reads the whole of `maps` for pid_maps_next(); -EFBIG above PROCFS_TEXT_MAX. */
int pid_maps_read(struct procfs *fs, int dir, struct span *ret);
