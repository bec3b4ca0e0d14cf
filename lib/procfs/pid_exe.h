#pragma once
/*
 * pid_exe - the program a process runs, the link /proc/PID/exe.
 *
 * The path is one of the process's own root and mount namespace. It is never followed: a link in
 * /proc tells a path that need not be there for us, or names another file here.
 */
#include "procfs/procfs.h"

/* As long as the kernel writes a link, its terminator counted in. */
enum { PID_EXE_MAX = 4096 };

/*
 * The path in the text of the link, without the mark " (deleted)" that the kernel appends once the
 * program's file is no longer under its name, after an upgrade as a rule; and to every program
 * without a name, such as those that containers are started by,
 * "/memfd:runc_cloned:/proc/self/exe". It appends the mark once, so of a name that ends so by
 * itself no more goes than that.
 */
struct span pid_exe_parse(struct span link);

/*
 * Reads the link in `dir`. The span dies at fs's next read. Returns 0, or a negative errno:
 * -ENOENT also for who runs no program, a kernel thread or a zombie, and -EACCES where the right
 * to ptrace lacks.
 */
int pid_exe_read(struct procfs *fs, int dir, struct span *ret);
