/* own_procfs - whether a procfs shows what this process itself sees of processes. */
#include "daemon/own_procfs.h"

#include "base/scan.h"

#include <errno.h>
#include <unistd.h>

/* Where the number of the calling process leads, as the mount has it; 0: it has none. */
static uint32_t pid_of_self(const struct procfs *fs)
{
    char name[16];
    ssize_t n = readlinkat(fs->root, "self", name, sizeof(name) - 1);
    uint32_t pid;

    if (n <= 0)
        return 0;
    name[n] = '\0';
    return procfs_parse_pid(name, &pid) ? pid : 0;
}

bool own_procfs_is_home(struct span status, uint32_t pid)
{
    struct span line;
    uint64_t number;

    while (scan_line(&status, &line)) {
        if (!scan_literal(&line, SPAN_LITERAL("NSpid:")))
            continue;
        return scan_u64(&line, &number) == 0 && number == pid && scan_word(&line).n == 0;
    }
    /* A kernel without pid namespaces: there is but one. */
    return true;
}

bool own_procfs(struct procfs *fs)
{
    uint32_t pid = (uint32_t)getpid();
    struct span status;

    return fs->live && pid_of_self(fs) == pid &&
           procfs_read(fs, fs->root, "self/status", PROCFS_WHOLE, PROCFS_TEXT_MAX, &status) == 0 &&
           own_procfs_is_home(status, pid);
}
