/*
 * pid_limits - one row out of a table for humans.
 *
 * The columns have a least width and no most: a wide value moves those behind it, so the value is
 * the first word behind the row's name, wherever that stands.
 */
#include "procfs/pid_limits.h"

#include "base/scan.h"
#include "model/sample.h"

#include <errno.h>

static int pid_limits_value(struct span word, uint64_t *ret)
{
    uint64_t value;
    int r;

    if (span_starts_with(word, SPAN_LITERAL("unlimited")) || span_equal(word, SPAN_LITERAL("-1"))) {
        *ret = SAMPLE_UNLIMITED;
        return 0;
    }
    r = scan_whole_u64(word, &value);
    if (r < 0)
        return -EBADMSG;
    if (value == 0)
        return PID_LIMITS_NONE;
    *ret = value > INT64_MAX ? SAMPLE_UNLIMITED : value;
    return 0;
}

int pid_limits_parse(struct span text, uint64_t *ret_open_files)
{
    struct span line;

    while (scan_line(&text, &line))
        if (scan_literal(&line, SPAN_LITERAL("Max open files")))
            return pid_limits_value(scan_word(&line), ret_open_files);
    return PID_LIMITS_NONE;
}

int pid_limits_read(struct procfs *fs, int dir, uint64_t *ret_open_files)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "limits", PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    return pid_limits_parse(text, ret_open_files);
}
