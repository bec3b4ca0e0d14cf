/* pid_exe - the program a process runs. */
#include "procfs/pid_exe.h"

#include <errno.h>
#include <unistd.h>

_Static_assert((int)PID_EXE_MAX <= (int)PROCFS_BLOCK_SIZE, "a link must fit into the block");

struct span pid_exe_parse(struct span link)
{
    struct span mark = SPAN_LITERAL(" (deleted)");

    if (link.n > mark.n && span_equal(span_skip(link, link.n - mark.n), mark))
        link.n -= mark.n;
    return link;
}

int pid_exe_read(struct procfs *fs, int dir, struct span *ret)
{
    ssize_t n = readlinkat(dir, "exe", fs->block, PID_EXE_MAX);

    if (n < 0)
        return -errno;
    /* It may have been cut. */
    if (n == PID_EXE_MAX)
        return -EFBIG;
    *ret = pid_exe_parse(span_of(fs->block, (size_t)n));
    return 0;
}
