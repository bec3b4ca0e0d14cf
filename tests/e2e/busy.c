/*
 * busy - a process to be measured.
 *
 *     busy NAME THREADS DESCRIPTORS FILE [zombie|leaderless]
 *
 * Calls itself NAME, holds DESCRIPTORS more descriptors, and in THREADS threads uses CPU, touches
 * fresh memory of all kinds, and writes, syncs and reads back FILE, until it is killed. `zombie`:
 * keeps a child that has ended and is not waited for. `leaderless`: its main thread ends, the
 * others go on. Prints a line when all of it is set up.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024, PAGES = 16, PAGE = 4096 };

static const char *file_name;
static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static volatile uint64_t sink;

static void burn(void)
{
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < 400000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

static void touch(int flags)
{
    char *p =
        mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        die("mmap");
    for (size_t i = 0; i < PAGES; i++)
        p[i * PAGE] = 1;
    munmap(p, (size_t)PAGES * PAGE);
}

static void use_file(int fd, char *block)
{
    if (pwrite(fd, block, BLOCK, 0) != BLOCK || fsync(fd) < 0)
        die("write");
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (pread(fd, block, BLOCK, 0) != BLOCK)
        die("read");
}

static void *work(void *number)
{
    static char blocks[64][BLOCK];
    char *block = blocks[(uintptr_t)number % 64];
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s.%u", file_name, (unsigned)(uintptr_t)number);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    for (unsigned round = 0;; round++) {
        burn();
        touch(MAP_PRIVATE);
        touch(MAP_SHARED);
        if (round % 8 == 0)
            use_file(fd, block);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return NULL;
}

/* Memory of the kinds that a look at the process tells apart. */
static void hold_memory(void)
{
    size_t n = (size_t)1 << 20;
    char *anon = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, n / 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (anon == MAP_FAILED || shared == MAP_FAILED)
        die("mmap");
    memset(anon, 1, n);
    memset(shared, 1, n / 2);
}

int main(int argc, char **argv)
{
    const char *extra = argc > 5 ? argv[5] : "";

    if (argc < 5) {
        fprintf(stderr, "usage: busy NAME THREADS DESCRIPTORS FILE [zombie|leaderless]\n");
        return 2;
    }
    prctl(PR_SET_NAME, argv[1]);
    prctl(PR_SET_PDEATHSIG, 9);
    file_name = argv[4];
    for (int i = 0; i < atoi(argv[3]); i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            die("open");
    hold_memory();
    if (strcmp(extra, "zombie") == 0) {
        pid_t child = fork();

        if (child < 0)
            die("fork");
        if (child == 0)
            _exit(0);
    }
    for (int i = 1; i < atoi(argv[2]); i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i) != 0)
            die("pthread_create");
    }
    puts("ready");
    fflush(stdout);
    if (strcmp(extra, "leaderless") == 0)
        pthread_exit(NULL);
    work((void *)(uintptr_t)0);
}
