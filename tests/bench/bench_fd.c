/*
 * bench_fd - ways to count the open descriptors of one process.
 *
 * A child holds them; the parent counts. All ways look the directory of the process up once, as
 * the daemon does, and are checked to find the same number.
 */
#include "bench.h"

#include "base/cleanup.h"
#include "procfs/dirents.h"
#include "procfs/pid_fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct subject {
    struct procfs fs;
    int dir; /* of the child */
    uint64_t count;
    unsigned loops;
};

static void count_failed(const char *what, int r)
{
    errno = -r;
    bench_die(what);
}

static double by_size(void *arg)
{
    struct subject *s = arg;
    /* One call is too short for the clock. */
    unsigned loops = s->loops * 1000;

    for (unsigned i = 0; i < loops; i++) {
        int r = pid_fd_count_by_size(s->dir, &s->count);

        if (r < 0)
            count_failed("pid_fd_count_by_size", r);
    }
    return loops;
}

static double by_name(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        int r = pid_fd_count_by_name(&s->fs, s->dir, &s->count);

        if (r < 0)
            count_failed("pid_fd_count_by_name", r);
    }
    return s->loops;
}

/* The same listing, and a stat of each entry. */
static uint64_t count_names_and_stat(struct subject *s)
{
    cleanup_close int fd = openat(s->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirents d = dirents_of(fd, s->fs.block, PROCFS_BLOCK_SIZE);
    const struct dirent64 *entry;
    uint64_t count = 0;
    struct stat st;
    int r;

    while ((r = dirents_next(&d, &entry)) > 0)
        count += fstatat(fd, entry->d_name, &st, 0) == 0;
    if (r < 0)
        count_failed("dirents_next", r);
    return count;
}

static double by_name_and_stat(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++)
        s->count = count_names_and_stat(s);
    return s->loops;
}

static uint64_t count_readdir(struct subject *s, bool stat_each)
{
    int fd = openat(s->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    uint64_t count = 0;
    struct stat st;

    if (!dir)
        bench_die("fd");
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            count += !stat_each || fstatat(fd, entry->d_name, &st, 0) == 0;
    closedir(dir);
    return count;
}

static double by_readdir(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++)
        s->count = count_readdir(s, false);
    return s->loops;
}

static double by_readdir_and_stat(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++)
        s->count = count_readdir(s, true);
    return s->loops;
}

/* As many descriptors as wanted, or as the limits allow. */
static long raise_limit(long wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        bench_die("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return (rlim_t)wanted < limit.rlim_cur ? wanted : (long)limit.rlim_cur;
}

/* Holds descriptors 0 to n - 1, says so, and sleeps until it is killed. */
static void hold_descriptors(long n, int ready)
{
    int null = open("/dev/null", O_RDWR);
    char yes = 'y';

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 0; fd < n; fd++)
        if (fd != ready && fd != null && dup2(null, fd) < 0)
            _exit(1);
    if (write(ready, &yes, 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static pid_t start_holder(long n)
{
    int ready[2];
    char yes;
    pid_t pid;

    if (pipe(ready) < 0 || (pid = fork()) < 0)
        bench_die("fork");
    if (pid == 0)
        hold_descriptors(n, ready[1]);
    close(ready[1]);
    if (read(ready[0], &yes, 1) != 1)
        bench_die("the child");
    close(ready[0]);
    return pid;
}

static bool ways_agree(struct subject *s, const struct bench_piece *pieces, size_t n,
                       uint64_t expected)
{
    unsigned loops = s->loops;
    bool agree = true;

    s->loops = 1;
    for (size_t i = 0; i < n; i++) {
        (void)pieces[i].run(s);
        if (s->count != expected)
            fprintf(stderr, "%s: %" PRIu64 " instead of %" PRIu64 "\n", pieces[i].name, s->count,
                    expected);
        agree = agree && s->count == expected;
    }
    s->loops = loops;
    return agree;
}

static bool run(struct subject *s, long n, unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"names, 64 KiB blocks", by_name, s},
        {"readdir", by_readdir, s},
        {"names and stat, 64 KiB blocks", by_name_and_stat, s},
        {"readdir and stat", by_readdir_and_stat, s},
        {"size of the directory", by_size, s},
    };
    const struct bench_pair pairs[] = {
        {1, 0, BENCH_SHOW, 0},
        {2, 0, BENCH_FASTER, 1.3},
        {3, 0, BENCH_FASTER, 1.3},
        {0, 4, BENCH_FASTER, 100},
    };
    struct bench b = {.title = "open descriptors of one process",
                      .unit = "count",
                      .pieces = pieces,
                      .n_pieces = 4,
                      .pairs = pairs,
                      .n_pairs = 3,
                      .rounds = rounds};

    if (s->fs.fd_count_in_size) {
        b.n_pieces++;
        b.n_pairs++;
    } else {
        printf("this kernel is older than 6.2: the directory's size is not the count\n");
    }
    printf("%ld descriptors\n", n);
    return ways_agree(s, pieces, b.n_pieces, (uint64_t)n) && bench_run(&b);
}

int main(int argc, char **argv)
{
    bool small = bench_flag(argc, argv, "--small");
    unsigned rounds = (unsigned)bench_number(argc, argv, "--rounds", small ? 11 : 41);
    long n = raise_limit(bench_number(argc, argv, "--descriptors", 10000));
    static struct subject s;
    pid_t child = start_holder(n);
    bool holds;

    if (procfs_open(&s.fs, "/proc", 100, 4096) < 0)
        bench_die("/proc");
    s.dir = procfs_open_pid(s.fs.root, (uint32_t)child);
    if (s.dir < 0)
        bench_die("the child's directory");
    s.loops = small ? 1 : 3;
    holds = run(&s, n, rounds);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(s.dir);
    procfs_close(&s.fs);
    return holds ? 0 : 1;
}
