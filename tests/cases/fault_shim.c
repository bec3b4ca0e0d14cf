/*
 * fault_shim - makes chosen calls fail, preloaded into the daemon.
 *
 * FAULT_RULES names a file that may change at any time, a rule a line:
 *
 *     ID CALL NAME ERROR SKIP TIMES EVERY
 *
 * CALL is open, read, list or accept; NAME the end of the file's path, * for any; ERROR an errno, 0
 * for a result of 0 (of a read: the end), -1 for none: the call is noted and made. Of the calls
 * that match, SKIP go through; then each EVERY-th fails, TIMES calls in all (0: without end).
 * Counts are kept by ID, below 64. Each failure appends its ID to the file that FAULT_LOG names, so
 * that a test can tell that it happened.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RULES_MAX = 64 };

static unsigned matched[RULES_MAX], failed[RULES_MAX];

/* What is called instead of the C library's. */
int openat(int dir, const char *name, int flags, ...);
int openat64(int dir, const char *name, int flags, ...);

static int real_openat(int dir, const char *name, int flags, int mode)
{
    return (int)syscall(SYS_openat, dir, name, flags, mode);
}

static size_t real_read(const char *path, char *text, size_t size)
{
    int fd = path ? real_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);

    if (fd >= 0)
        syscall(SYS_close, fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void note(int id)
{
    const char *path = getenv("FAULT_LOG");
    char line[16];
    int n = snprintf(line, sizeof(line), "%d\n", id);
    int fd = real_openat(AT_FDCWD, path ? path : "/dev/null",
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
        abort();
    syscall(SYS_close, fd);
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return strcmp(end, "*") == 0 || (n >= m && strcmp(path + n - m, end) == 0);
}

static void path_of(int fd, const char *name, char ret[static PATH_MAX + 256])
{
    char link[64];
    ssize_t n = 0;

    if (fd >= 0 && (!name || name[0] != '/')) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, ret, PATH_MAX);
    }
    ret[n > 0 ? n : 0] = '\0';
    if (name)
        snprintf(ret + strlen(ret), 256, "%s%s", n > 0 ? "/" : "", name);
}

/* 1: the call is to fail, with errno set; 2: it gives 0; 0: it is made. */
static int verdict(const char *call, int fd, const char *name)
{
    char text[2048], path[PATH_MAX + 256], what[16], end[256];
    int id, error, used;
    unsigned skip, times, every, nth;

    if (real_read(getenv("FAULT_RULES"), text, sizeof(text)) == 0)
        return 0;
    path_of(fd, name, path);
    for (const char *p = text; sscanf(p, "%d %15s %255s %d %u %u %u\n%n", &id, what, end, &error,
                                      &skip, &times, &every, &used) == 7;
         p += used) {
        if (strcmp(what, call) != 0 || !ends_in(path, end))
            continue;
        nth = __atomic_add_fetch(&matched[id % RULES_MAX], 1, __ATOMIC_RELAXED);
        if (nth <= skip || (nth - skip) % every != 0)
            continue;
        if (__atomic_add_fetch(&failed[id % RULES_MAX], 1, __ATOMIC_RELAXED) > times && times > 0)
            continue;
        note(id);
        if (error < 0)
            continue;
        errno = error;
        return error ? 1 : 2;
    }
    return 0;
}

static int shim_openat(int dir, const char *name, int flags, int mode)
{
    return verdict("open", dir, name) ? -1 : real_openat(dir, name, flags, mode);
}

static int mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return shim_openat(dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return shim_openat(dir, name, flags | O_LARGEFILE, mode);
}

ssize_t read(int fd, void *p, size_t n)
{
    int how = verdict("read", fd, NULL);

    return how ? how - 2 : syscall(SYS_read, fd, p, n);
}

ssize_t getdents64(int fd, void *p, size_t n)
{
    int how = verdict("list", fd, NULL);

    return how ? how - 2 : syscall(SYS_getdents64, fd, p, n);
}

int accept4(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    return verdict("accept", fd, NULL) ? -1 : (int)syscall(SYS_accept4, fd, from, length, flags);
}
