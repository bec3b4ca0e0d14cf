/* floor - the system calls of one cycle, and nothing else. */
#include "floor.h"

#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FLOOR_TURN = 16, /* as lib/track has it */
    /* As daemon/placing has it, in cycles of ten seconds. */
    FLOOR_CGROUP_TURN = 3,
    FLOOR_CGROUP_PHASES = 16,
    FLOOR_CGROUP_SECOND = 3, /* cycle of the second reading, from where the phases begin */
    FLOOR_PIDS_MAX = 1024 * 1024,
    FLOOR_TEXT = 8191,       /* what lib/procfs asks for once its buffer is warm */
    FLOOR_PIECE = 16 * 1024, /* of /proc/stat */
    FLOOR_BLOCK = 64 * 1024,
};

static char text[FLOOR_BLOCK];
static _Alignas(8) char block[FLOOR_BLOCK];

void floor_init(struct floor *f, int root, const struct wanted *wanted, bool fd_count_in_size)
{
    *f = (struct floor){.root = root,
                        .parts = wanted->parts,
                        .host_parts = wanted->host_parts,
                        .fd_count_in_size = fd_count_in_size};
    f->pids = malloc(FLOOR_PIDS_MAX * sizeof(*f->pids));
    if (!f->pids)
        bench_die("malloc");
}

void floor_deinit(struct floor *f)
{
    free(f->pids);
}

static bool wants(uint32_t mask, unsigned bit)
{
    return mask >> bit & 1;
}

/* Reads to the end; `once`: the kernel gives all of it at once, and is not asked again. */
static void read_file(int dir, const char *name, size_t ask, bool once)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return;
    while (read(fd, text, ask) > 0 && !once)
        ;
    close(fd);
}

static void count_fds_by_name(int dir)
{
    int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    while (getdents64(fd, block, sizeof(block)) > 0)
        ;
    close(fd);
}

static void read_host(const struct floor *f)
{
    if (wants(f->host_parts, HOST_PART_STAT))
        read_file(f->root, "stat", FLOOR_PIECE, false);
    if (wants(f->host_parts, HOST_PART_LOADAVG))
        read_file(f->root, "loadavg", FLOOR_TEXT, false);
    if (wants(f->host_parts, HOST_PART_PID_MAX))
        read_file(f->root, "sys/kernel/pid_max", FLOOR_TEXT, false);
    if (wants(f->host_parts, HOST_PART_THREADS_MAX))
        read_file(f->root, "sys/kernel/threads-max", FLOOR_TEXT, false);
    if (wants(f->host_parts, HOST_PART_MAX_MAP_COUNT))
        read_file(f->root, "sys/vm/max_map_count", FLOOR_TEXT, false);
    if (wants(f->host_parts, HOST_PART_FILE_NR))
        read_file(f->root, "sys/fs/file-nr", FLOOR_TEXT, false);
}

static void add_pid(struct floor *f, const char *name)
{
    uint32_t pid = 0;

    if (*name < '1' || *name > '9' || f->n_pids == FLOOR_PIDS_MAX)
        return;
    for (; *name; name++)
        pid = pid * 10 + (uint32_t)(*name - '0');
    f->pids[f->n_pids++] = pid;
}

static void list_pids(struct floor *f)
{
    ssize_t n;

    f->n_pids = 0;
    lseek(f->root, 0, SEEK_SET);
    while ((n = getdents64(f->root, block, sizeof(block))) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(block + at);

            add_pid(f, entry->d_name);
            at += entry->d_reclen;
        }
}

static int open_pid(int root, uint32_t pid)
{
    char name[12], *p = name + sizeof(name);

    *--p = '\0';
    do
        *--p = (char)('0' + pid % 10);
    while (pid /= 10);
    return openat(root, p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Read by turns, the first of which begins a phase after the second reading. */
static bool cgroup_is_due(const struct floor *f, uint32_t pid)
{
    uint32_t phase = pid % FLOOR_CGROUP_PHASES + 1;
    uint64_t third = FLOOR_CGROUP_SECOND +
                     (phase * FLOOR_CGROUP_TURN + FLOOR_CGROUP_PHASES - 1) / FLOOR_CGROUP_PHASES;

    return f->cycle >= third && (f->cycle - third) % FLOOR_CGROUP_TURN == 0;
}

static void read_parts(const struct floor *f, int dir, bool due)
{
    struct stat st;

    read_file(dir, "stat", FLOOR_TEXT, true);
    if (wants(f->parts, PART_STATUS))
        read_file(dir, "status", FLOOR_TEXT, false);
    if (wants(f->parts, PART_IO))
        read_file(dir, "io", FLOOR_TEXT, false);
    if (wants(f->parts, PART_FD) && f->fd_count_in_size)
        (void)fstatat(dir, "fd", &st, 0);
    else if (wants(f->parts, PART_FD))
        count_fds_by_name(dir);
    if (wants(f->parts, PART_LIMITS) && due)
        read_file(dir, "limits", FLOOR_TEXT, false);
}

size_t floor_run(struct floor *f)
{
    f->cycle++;
    read_host(f);
    list_pids(f);
    for (size_t i = 0; i < f->n_pids; i++) {
        int dir = open_pid(f->root, f->pids[i]);

        if (dir < 0)
            continue;
        read_parts(f, dir, (f->cycle + f->pids[i]) % FLOOR_TURN == 0);
        if (cgroup_is_due(f, f->pids[i]))
            read_file(dir, "cgroup", FLOOR_TEXT, true);
        close(dir);
    }
    return f->n_pids;
}
