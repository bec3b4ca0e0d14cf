#pragma once
/*
 * pid_cmdline - /proc/PID/cmdline, the arguments as the process shows them now.
 *
 * The text is the process's own memory: it may rewrite it, with or without NULs, and it may hold
 * any bytes. Reading it takes the target's memory lock and can stall.
 */
#include "procfs/procfs.h"

#include <stdbool.h>

/*
 * More is cut (kernels before 4.2 cut at 4096): arguments may take megabytes, and what tells
 * programs apart comes first as a rule. The name of a Java program comes behind its class path.
 */
enum { PID_CMDLINE_MAX = 16 * 1024 };

/* Arguments with a NUL between each two and none at the end. Empty: nothing to see. */
struct cmdline {
    struct span text;
};

/*
 * NULs at the end are padding, left where a title was written over longer arguments; so empty
 * arguments in last place are not seen. Kernel threads, zombies, and those who cleared it all
 * have no argument.
 */
struct cmdline pid_cmdline_parse(struct span text);

/*
 * Takes the next argument, which may be empty; false at the end. Start with a copy of the
 * cmdline:
 *
 *     for (struct cmdline rest = all; pid_cmdline_next(&rest, &argument);)
 */
bool pid_cmdline_next(struct cmdline *rest, struct span *ret);

/* Writes all arguments, one blank between each two: exactly as many bytes as cmdline.text has. */
void pid_cmdline_join(struct cmdline cmdline, char *to);

/*
 * What the first argument says is run, for where pid_exe.h may not read it; a part of the text,
 * empty if it says nothing. It is the caller's word: a path, a mere name or a lie.
 *
 * The dash by which login marks a shell ("-bash") is left out. One sole argument with blanks in it
 * is a title ("nginx: master process") or a whole command line written over ("/opt/c/chrome
 * --type=gpu"): its first word counts, without a colon at the end. So the path of a program that
 * has blanks in it, and got no arguments, is cut; with arguments it is not.
 */
struct span pid_cmdline_program(struct cmdline cmdline);

/* Reads `cmdline` in `dir`, at most its first PID_CMDLINE_MAX bytes. Dies at fs's next read. */
int pid_cmdline_read(struct procfs *fs, int dir, struct cmdline *ret);
