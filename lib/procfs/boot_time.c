/* boot_time - btime of /proc/stat, kept. */
#include "procfs/boot_time.h"

#include "procfs/sys_stat.h"

#include <errno.h>

int boot_time_read(struct boot_time *b, struct procfs *fs)
{
    struct host host = {0};
    int r;

    if (b->known)
        return 0;
    r = sys_stat_read(fs, &host, NULL);
    if (r < 0)
        return r;
    if (!host_has(&host, HOST_BOOT_TIME_SECONDS))
        return -ENODATA;
    b->seconds = host.field[HOST_BOOT_TIME_SECONDS];
    b->known = true;
    return 0;
}
