#pragma once
/*
 * process - the reader of one process into a struct sample.
 *
 * In two steps, since only who a process is decides what else is worth reading:
 *
 *     r = process_begin(fs, pid, faults, &sample);
 *     if (r == 0)
 *         r = process_read(fs, parts, faults, &sample);
 *     process_end(fs);
 *
 * All files are opened relative to the directory opened at the begin, so what is read belongs to
 * one process even if it ends and its pid is given to another in between.
 *
 * Faults count each file that is there and cannot be read or understood, once per reading. A
 * file that is not there counts nowhere: its fields just have no bit.
 */
#include "model/faults.h"
#include "model/sample.h"
#include "procfs/procfs.h"

/* Outcomes of process_begin() other than 0 and errors. */
enum {
    PROCESS_GONE = 1,       /* ended, or never was a process */
    PROCESS_UNREADABLE = 2, /* its stat is there, but refused or malformed; counted */
};

/* Outcome of process_read_cgroup() other than 0 and errors. */
enum {
    PROCESS_NO_CGROUP = 1, /* not to be had: what was known of it before still holds */
};

/*
 * Opens process `pid` and reads its stat: identity, parent, state, comm, CPU time, faults,
 * threads and virtual size. Clears all bits and flags of *ret first, also on failure. An exited
 * leader is told here, and its state and virtual size are those of a thread that lives; that
 * alone opens task/. A process begun before is ended. Returns 0, one of the outcomes above, or
 * -EMFILE, -ENFILE, -ENOMEM, which are no fault of the process: the cycle cannot go on.
 */
int process_begin(struct procfs *fs, uint32_t pid, struct faults *faults, struct sample *ret);

/*
 * Reads further files of the process begun: a mask of part_bit() of PART_STATUS, PART_IO, PART_FD
 * and PART_LIMITS. PART_MAPS and PART_SMAPS are never read here, for that may block (see probe.h);
 * but where there is no address space, 0 is known of them. Other bits mean nothing. May be called
 * again for more parts. `s` is the sample that process_begin() filled. Where stat has no number of
 * threads, status is read unasked. Returns 0 or -EMFILE, -ENFILE, -ENOMEM.
 */
int process_read(struct procfs *fs, uint32_t parts, struct faults *faults, struct sample *s);

/*
 * Reads the path of the control group of the process begun, as pid_cgroup.h has it; `s` is its
 * sample. Of an exited leader a thread that lives is asked. PROCESS_NO_CGROUP: there is no such
 * file, it could not be read (counted), or it says the root of one that is ending, as cgroup v1
 * does of them all. Returns also -EMFILE, -ENFILE, -ENOMEM. The path dies at the next read.
 */
int process_read_cgroup(struct procfs *fs, struct faults *faults, const struct sample *s,
                        struct span *ret_path);

/* Closes the process. Also good after a begin that did not return 0, and twice. */
void process_end(struct procfs *fs);

/*
 * The directory through which memory and descriptors of the process begun are read, of type O_PATH
 * and owned by fs: the process', or of a thread that lives where the leader has ended. For probe.h
 * to duplicate: a duplicate outlives process_end() and never shows another process.
 */
int process_memory_dir(const struct procfs *fs);
