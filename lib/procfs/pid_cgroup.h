#pragma once
/*
 * pid_cgroup - /proc/PID/cgroup: in which control group a process is.
 *
 * The file has a line for each hierarchy, `ID:CONTROLLERS:PATH`: one with cgroup v2, a dozen with
 * v1, and both on a hybrid host. Paths may differ then, and one is taken:
 *
 *     1. `name=systemd`, where systemd and the container runtimes keep every process by its name
 *     2. the unified hierarchy, `0::`
 *     3. the others in the file's order
 *
 * The first of these that is not a root, which says nothing of a process; if all are roots, the
 * first. A path is never to be used as the name of a file: seen from inside a cgroup namespace
 * it may begin with `/..`, and it may not exist any more.
 */
#include "procfs/procfs.h"

/* Outcomes other than 0 and errors. */
enum {
    PID_CGROUP_NONE = 1, /* the text is empty */
};

/*
 * The path as the kernel has it: a mark ` (deleted)` stays, and it may be empty. Returns 0,
 * PID_CGROUP_NONE, or -EBADMSG if no line has the two colons behind a number.
 */
int pid_cgroup_parse(struct span text, struct span *ret_path);

/*
 * Whether the path says nothing of who is there: the root, or `/..` and the like, which lies above
 * the root of the reader's cgroup namespace.
 */
bool pid_cgroup_is_root(struct span path);

/*
 * Whether the text shows the unified hierarchy and no other. It is one's own or anybody's: all have
 * the same hierarchies.
 */
bool pid_cgroup_is_unified(struct span text);

/*
 * Reads and parses `cgroup` in `dir`, of a process or of one of its threads. With cgroup v1 a
 * process that is ending, or a zombie, is shown in the root. The path dies at fs's next read.
 */
int pid_cgroup_read(struct procfs *fs, int dir, struct span *ret_path);
