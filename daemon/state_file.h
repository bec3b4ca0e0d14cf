#pragma once
/*
 * state_file - the file by which a daemon goes on where the one before it ended.
 *
 * It is written after each snapshot was taken and before it is published, so what a scraper saw is
 * in the file, and at whatever moment the daemon is killed, the next one resumes at or above it. A
 * state is resumed only where it was written in this boot and about this procfs, and all its bytes
 * are right; else totals start at 0, as they do without a file. Whatever is wrong with the file is
 * told by one line in the log and ends nothing.
 */
#include "base/buf.h"
#include "daemon/cycle.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    STATE_FILE_BOOT_ID_SIZE = 40,
    STATE_FILE_RECORD_MAX = 64 * 1024 * 1024,
    /* The records begin here, and each at a multiple of it. */
    STATE_FILE_BLOCK = 4096,
};

/* What was counted: another boot or another procfs has other processes. */
struct state_file_origin {
    char boot_id[STATE_FILE_BOOT_ID_SIZE]; /* as the procfs has it, filled up with zeros */
    uint64_t init_start_ticks;             /* of its pid 1, which differs between pid namespaces */
};

struct state_file {
    char *path; /* NULL: no state is kept */
    struct state_file_origin origin;
    int fd; /* -1: the file is not ours, or not there */
    dev_t device;
    ino_t inode;
    uint64_t reserved; /* so many bytes of the file have their place on the disk */
    /* Of the record in effect; length 0: there is none. */
    uint64_t offset, length;
    unsigned good_writes; /* in a row */
    bool failing;
    bool loss_told;
    int fault_told;    /* why there is no file; 0: nothing was told */
    struct buf record; /* being read or written */
};

/*
 * Opens the file for this daemon alone, and resumes the cycle from it, which was just opened.
 * `file` is a path, one that begins with CONFIG_RUNTIME_DIRECTORY, or empty; with none the other
 * functions do nothing. *s is to be given to state_file_close() in any case.
 */
void state_file_open(struct state_file *s, const char *file, struct cycle *c);
void state_file_close(struct state_file *s);

/*
 * Writes what cycle_encode() says. If that fails, the file holds no state until a later write
 * succeeds: an older one would make counters fall.
 *
 * A file that could not be had before is tried again, and taken once it can: when the daemon that
 * held it has ended, or its directory is there. What it says is not resumed then, but replaced. One
 * that was removed or replaced meanwhile is made anew.
 */
void state_file_write(struct state_file *s, const struct cycle *c);
