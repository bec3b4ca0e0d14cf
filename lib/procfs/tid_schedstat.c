/* tid_schedstat - the second of three numbers. */
#include "procfs/tid_schedstat.h"

#include "base/scan.h"

#include <errno.h>

enum { TID_SCHEDSTAT_NUMBERS = 3 };

int tid_schedstat_parse(struct span text, uint64_t *ret_run_queue_ns)
{
    uint64_t number[TID_SCHEDSTAT_NUMBERS];
    struct span line;

    if (!scan_line(&text, &line))
        return -EBADMSG;
    for (int i = 0; i < TID_SCHEDSTAT_NUMBERS; i++) {
        struct span word = scan_word(&line);

        if (scan_whole_u64(word, &number[i]) < 0)
            return -EBADMSG;
    }
    if (number[1] > INT64_MAX)
        return -EBADMSG;
    if (number[2] == 0)
        return TID_SCHEDSTAT_UNKNOWN;
    *ret_run_queue_ns = number[1];
    return 0;
}

int tid_schedstat_read(struct procfs *fs, int dir, uint64_t *ret_run_queue_ns)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "schedstat", PROCFS_RECORD, PROCFS_FILE_MAX, &text);
    return r < 0 ? r : tid_schedstat_parse(text, ret_run_queue_ns);
}
