/* sysctl - a line of one or three numbers, parted by tabs. */
#include "procfs/sysctl.h"

#include "base/scan.h"

#include <errno.h>

static bool sysctl_take(struct span *line, uint64_t *ret)
{
    return scan_whole_u64(scan_word(line), ret) == 0 && *ret <= INT64_MAX;
}

int sysctl_parse(struct span text, uint64_t *ret)
{
    struct span line;
    uint64_t value;

    if (!scan_line(&text, &line) || !sysctl_take(&line, &value) || span_trim(line).n > 0)
        return -EBADMSG;
    *ret = value;
    return 0;
}

int sysctl_parse_file_nr(struct span text, uint64_t *ret_open, uint64_t *ret_limit)
{
    uint64_t open_files, unused, limit;
    struct span line;

    if (!scan_line(&text, &line) || !sysctl_take(&line, &open_files) ||
        !sysctl_take(&line, &unused) || !sysctl_take(&line, &limit))
        return -EBADMSG;
    *ret_open = open_files;
    *ret_limit = limit;
    return 0;
}

int sysctl_read(struct procfs *fs, const char *name, uint64_t *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, fs->root, name, PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    return sysctl_parse(text, ret);
}

int sysctl_read_file_nr(struct procfs *fs, uint64_t *ret_open, uint64_t *ret_limit)
{
    struct span text;
    int r;

    r = procfs_read(fs, fs->root, "sys/fs/file-nr", PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    return sysctl_parse_file_nr(text, ret_open, ret_limit);
}
