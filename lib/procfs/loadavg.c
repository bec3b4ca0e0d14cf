/* loadavg - "0.10 0.20 0.30 3/88 4242": runnable and all tasks around the slash. */
#include "procfs/loadavg.h"

#include "base/scan.h"

#include <errno.h>

int loadavg_parse(struct span text, uint64_t *ret_tasks)
{
    struct span line, word = {NULL, 0};
    uint64_t runnable, tasks;

    if (!scan_line(&text, &line))
        return -EBADMSG;
    for (int field = 1; field <= 4; field++)
        word = scan_word(&line);
    if (scan_u64(&word, &runnable) < 0 || !scan_literal(&word, SPAN_LITERAL("/")) ||
        scan_whole_u64(word, &tasks) < 0 || tasks > INT64_MAX)
        return -EBADMSG;
    *ret_tasks = tasks;
    return 0;
}

int loadavg_read(struct procfs *fs, uint64_t *ret_tasks)
{
    struct span text;
    int r;

    r = procfs_read(fs, fs->root, "loadavg", PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    return loadavg_parse(text, ret_tasks);
}
