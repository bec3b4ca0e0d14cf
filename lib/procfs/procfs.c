/*
 * procfs - one mounted procfs and the reading of its files.
 *
 * Files are opened relative to a directory that is held open, so that a reused pid cannot mix
 * in, and read to their end into one buffer that is never cleared: what is behind the length is
 * older text, and no parser may look there.
 */
#include "procfs/procfs.h"

#include "base/cleanup.h"
#include "procfs/dirents.h"
#include "procfs/pid_fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum {
    /* Least room offered to a read: a page, the unit in which the kernel renders. */
    PROCFS_READ_ROOM = 4096,
    /* The kernel's own bound of pids (PID_MAX_LIMIT); a tree of files has no more either. */
    PROCFS_PIDS_MAX = 4 * 1024 * 1024,
    PROCFS_CPUS_MAX = 65536,
    PROCFS_CPU_ROW_MAX = 128,
    /* Descriptors of the own process come and go while they are counted. */
    PROCFS_PROBE_TRIES = 4,
    /* Processes looked at for descriptors where none is the own. */
    PROCFS_PROBE_PIDS = 256,
};

/* Whether the size of self/fd is what counting its entries gives: 1, 0, or -errno. */
static int procfs_probe_self(struct procfs *fs)
{
    cleanup_close int dir = openat(fs->root, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    uint64_t by_size, by_name;
    int r;

    if (dir < 0)
        return -errno;
    for (int i = 0; i < PROCFS_PROBE_TRIES; i++) {
        /* Counting holds one more descriptor open than taking the size does. */
        r = pid_fd_count_by_name(fs, dir, &by_name);
        if (r < 0)
            return r;
        r = pid_fd_count_by_size(dir, &by_size);
        if (r < 0)
            return r;
        if (by_size + 1 == by_name)
            return 1;
    }
    return 0;
}

/*
 * For a mount in which this process has no pid. Kernels before 6.2 say 0 for all, later ones say
 * 0 only for a process without descriptors, so one size above 0 decides.
 */
static bool procfs_probe_others(struct procfs *fs)
{
    const uint32_t *pids;
    size_t n = 0;

    if (procfs_list(fs, &pids, &n) < 0)
        return false;
    for (size_t i = 0; i < n && i < PROCFS_PROBE_PIDS; i++) {
        cleanup_close int dir = procfs_open_pid(fs->root, pids[i]);
        uint64_t count;

        if (dir >= 0 && pid_fd_count_by_size(dir, &count) == 0 && count > 0)
            return true;
    }
    return false;
}

static bool procfs_probe_fd_count(struct procfs *fs)
{
    int r;

    if (!fs->live)
        return false;
    r = procfs_probe_self(fs);
    return r < 0 ? procfs_probe_others(fs) : r > 0;
}

int procfs_open_rootless(struct procfs *ret)
{
    struct procfs fs = {.root = -1, .process = {.dir = -1, .thread = -1}};

    fs.block = malloc(PROCFS_BLOCK_SIZE);
    if (!fs.block)
        return -ENOMEM;
    buf_init(&fs.text, PROCFS_TEXT_MAX + 2 * PROCFS_READ_ROOM);
    buf_init(&fs.pids, PROCFS_PIDS_MAX * sizeof(uint32_t));
    buf_init(&fs.cpus, (size_t)PROCFS_CPUS_MAX * PROCFS_CPU_ROW_MAX);
    /* A text that fits into the first read, and the room for the read that finds its end. */
    if (!buf_reserve(&fs.text, (size_t)2 * PROCFS_READ_ROOM)) {
        free(fs.block);
        return -ENOMEM;
    }
    *ret = fs;
    return 0;
}

int procfs_open(struct procfs *ret, const char *root, uint32_t ticks_per_second, uint32_t page_size)
{
    struct procfs fs;
    struct statfs st;
    int r = procfs_open_rootless(&fs);

    if (r < 0)
        return r;
    fs.ticks_per_second = ticks_per_second;
    fs.page_size = page_size;
    fs.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fs.root < 0) {
        r = -errno;
        procfs_close(&fs);
        return r;
    }
    fs.live = fstatfs(fs.root, &st) == 0 && st.f_type == PROC_SUPER_MAGIC;
    fs.fd_count_in_size = procfs_probe_fd_count(&fs);
    *ret = fs;
    return 0;
}

static void procfs_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void procfs_close(struct procfs *fs)
{
    procfs_close_fd(&fs->process.thread);
    procfs_close_fd(&fs->process.dir);
    procfs_close_fd(&fs->root);
    buf_deinit(&fs->text);
    buf_deinit(&fs->pids);
    buf_deinit(&fs->cpus);
    free(fs->block);
    fs->block = NULL;
}

ssize_t procfs_read_some(int fd, char *p, size_t n)
{
    ssize_t got;

    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/*
 * Fills the text buffer from fd. A read that gives less than was asked for is not the end: maps
 * comes about one page at a time, and any read may be cut. A record is the exception: the kernel
 * renders such a file (single_open) as a whole before the first byte is handed out, so one short
 * read that ends in LF took it all, and the read that would only say 0 is saved.
 */
static int procfs_fill(struct buf *text, int fd, enum procfs_how how, size_t max)
{
    size_t most = how == PROCFS_HEAD ? max : max + 1;

    buf_reset(text);
    while (text->len < most) {
        char *room = buf_reserve(text, PROCFS_READ_ROOM);
        size_t ask;
        ssize_t got;

        if (!room)
            return -ENOMEM;
        ask = text->cap - text->len - 1;
        ask = ask < most - text->len ? ask : most - text->len;
        got = procfs_read_some(fd, room, ask);
        if (got < 0)
            return (int)got;
        buf_commit(text, (size_t)got);
        if (got == 0)
            break;
        if (how == PROCFS_RECORD && (size_t)got < ask && room[got - 1] == '\n')
            break;
    }
    return text->len > max ? -EFBIG : 0;
}

int procfs_read(struct procfs *fs, int dir, const char *name, enum procfs_how how, size_t max,
                struct span *ret)
{
    cleanup_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return -errno;
    r = procfs_fill(&fs->text, fd, how, max);
    if (r < 0)
        return r;
    fs->text.data[fs->text.len] = '\0';
    *ret = buf_span(&fs->text);
    return 0;
}

bool procfs_parse_pid(const char *name, uint32_t *ret)
{
    uint32_t pid = 0;

    if (name[0] < '1' || name[0] > '9')
        return false;
    for (; *name; name++) {
        uint32_t digit = (unsigned char)*name - (uint32_t)'0';

        if (digit > 9 || pid > (INT32_MAX - digit) / 10)
            return false;
        pid = pid * 10 + digit;
    }
    *ret = pid;
    return true;
}

int procfs_open_pid(int dir, uint32_t pid)
{
    char name[12], *p = name + sizeof(name);
    int fd;

    *--p = '\0';
    do
        *--p = (char)('0' + pid % 10);
    while (pid /= 10);
    fd = openat(dir, p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* A symbolic link or a file with a number for a name is no process. */
static bool procfs_may_be_process(const struct dirent64 *entry)
{
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

int procfs_list(struct procfs *fs, const uint32_t **ret_pids, size_t *ret_n)
{
    const struct dirent64 *entry;
    struct dirents d;
    uint32_t pid;
    int r;

    buf_reset(&fs->pids);
    if (lseek(fs->root, 0, SEEK_SET) < 0)
        return -errno;
    d = dirents_of(fs->root, fs->block, PROCFS_BLOCK_SIZE);
    while ((r = dirents_next(&d, &entry)) > 0)
        if (procfs_may_be_process(entry) && procfs_parse_pid(entry->d_name, &pid))
            buf_append(&fs->pids, (const char *)&pid, sizeof(pid));
    if (r < 0)
        return r;
    if (buf_failed(&fs->pids))
        return -ENOMEM;
    if (fs->pids.len == 0)
        return -ENODATA;
    *ret_pids = (const void *)fs->pids.data;
    *ret_n = fs->pids.len / sizeof(pid);
    return 0;
}
