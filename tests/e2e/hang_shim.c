/*
 * hang_shim - makes the memory files of chosen processes hang, preloaded into the daemon.
 *
 * No process can be made to hold its memory lock for as long as a test likes, so the read of its
 * maps, smaps_rollup or cmdline never returns instead: for the pids, parted by blanks, in the file
 * that HANG_FILE names, which may change at any time. `PID:NAME` stands for one of these files
 * alone, or for the link exe, which needs no lock. HANG_CALLS names a file to which a byte is
 * appended for each such open that a thread named `collector` makes; there may be none.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is called instead of the C library's. */
int openat(int dir, const char *name, int flags, ...);
int openat64(int dir, const char *name, int flags, ...);
ssize_t readlinkat(int dir, const char *name, char *to, size_t n);

static int real_openat(int dir, const char *name, int flags, int mode)
{
    return (int)syscall(SYS_openat, dir, name, flags, mode);
}

static bool blocks(const char *name)
{
    return strcmp(name, "maps") == 0 || strcmp(name, "smaps_rollup") == 0 ||
           strcmp(name, "cmdline") == 0;
}

static void note_collector(void)
{
    const char *path = getenv("HANG_CALLS");
    char thread[16] = "";
    int fd;

    prctl(PR_GET_NAME, thread);
    if (!path || strcmp(thread, "collector") != 0)
        return;
    fd = real_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        abort();
    close(fd);
}

/* The number at the end of the directory's path, 0 if there is none. */
static long pid_of(int dir)
{
    char link[64], path[PATH_MAX];
    const char *slash;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return 0;
    path[n] = '\0';
    slash = strrchr(path, '/');
    return slash ? strtol(slash + 1, NULL, 10) : 0;
}

/* Whether the file is meant by what follows a pid in the list. */
static bool is_meant(const char *rest, const char *name)
{
    size_t n = strlen(name);

    if (*rest != ':')
        return strcmp(name, "exe") != 0;
    return strncmp(rest + 1, name, n) == 0 && (rest[1 + n] == ' ' || rest[1 + n] == '\0');
}

static bool hangs(long pid, const char *name)
{
    const char *path = getenv("HANG_FILE");
    int fd = path ? real_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    char text[1024];
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    for (char *rest = text, *end; *rest; rest = end) {
        long listed = strtol(rest, &end, 10);

        if (end == rest)
            break;
        if (listed == pid && is_meant(end, name))
            return true;
        end += strcspn(end, " ");
    }
    return false;
}

static void come_to(int dir, const char *name)
{
    note_collector();
    if (hangs(pid_of(dir), name))
        for (;;)
            pause();
}

static int shim_openat(int dir, const char *name, int flags, int mode)
{
    if (blocks(name))
        come_to(dir, name);
    return real_openat(dir, name, flags, mode);
}

ssize_t readlinkat(int dir, const char *name, char *to, size_t n)
{
    if (strcmp(name, "exe") == 0)
        come_to(dir, name);
    return syscall(SYS_readlinkat, dir, name, to, n);
}

int openat(int dir, const char *name, int flags, ...)
{
    int mode = 0;

    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list ap;

        va_start(ap, flags);
        mode = va_arg(ap, int);
        va_end(ap);
    }
    return shim_openat(dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...)
{
    int mode = 0;

    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list ap;

        va_start(ap, flags);
        mode = va_arg(ap, int);
        va_end(ap);
    }
    return shim_openat(dir, name, flags | O_LARGEFILE, mode);
}
