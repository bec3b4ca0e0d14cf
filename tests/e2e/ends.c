/*
 * ends - processes and threads that end, all of whose use is known. Prints "ready", begins with the
 * first line of input, prints what was used in one line, and stays until input ends. It calls
 * itself NAME.
 *
 *     ends NAME burst N     N times /bin/true, four at a time
 *     ends NAME reasons N   N children for each way to end: exit 0, exit 3, TERM, KILL, SEGV
 *     ends NAME threads N   N threads one after the other, 2 ms of CPU and 64 KiB written by each
 *     ends NAME tree N      N shells, each with a shell that has a child write 1 MiB to a file
 *
 * The line: CPU seconds of itself, of its children, minor faults of its children.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 4, WRITTEN = 64 * 1024 };

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void reap_one(void)
{
    while (wait(NULL) < 0)
        if (errno != EINTR)
            die("wait");
}

static void spawn(const char *const argv[])
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    pid_t pid;
    int r = posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv,
                        (char *const *)(uintptr_t)environment);

    if (r != 0) {
        errno = r;
        die(argv[0]);
    }
}

static void spawn_all(int n, const char *const argv[])
{
    int running = 0;

    for (int i = 0; i < n; i++) {
        if (running == AT_ONCE) {
            reap_one();
            running--;
        }
        spawn(argv);
        running++;
    }
    while (running-- > 0)
        reap_one();
}

static void burst(int n)
{
    const char *const argv[] = {"/bin/true", NULL};

    spawn_all(n, argv);
}

/* A number below 256 is a status to exit with, others are 256 and a signal. */
static void end_by(int how)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid == 0) {
        struct rlimit none = {0};

        setrlimit(RLIMIT_CORE, &none);
        if (how < 256)
            _exit(how);
        signal(how - 256, SIG_DFL);
        raise(how - 256);
        _exit(99);
    }
    reap_one();
}

static void reasons(int n)
{
    static const int ways[] = {0, 3, 256 + SIGTERM, 256 + SIGKILL, 256 + SIGSEGV};

    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
            end_by(ways[k]);
}

static void use_cpu(long ns)
{
    struct timespec t;

    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec == 0 && t.tv_nsec < ns);
}

static void *thread(void *arg)
{
    static const char bytes[WRITTEN];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    use_cpu(2000000);
    if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
        die("/dev/null");
    close(fd);
    return arg;
}

static void threads(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t t;

        if (pthread_create(&t, NULL, thread, NULL) != 0)
            die("pthread_create");
        pthread_join(t, NULL);
    }
}

/* Shells that do not give their process to what they run. */
static void tree(int n)
{
    const char *const argv[] = {
        "/bin/sh", "-c",
        "sh -c 'dd if=/dev/zero of=/dev/null bs=64k count=16 2>/dev/null; :'; :", NULL};

    spawn_all(n, argv);
}

static double seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static void tell(void)
{
    struct rusage self, children;

    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    printf("%.6f %.6f %ld\n", seconds(&self), seconds(&children), children.ru_minflt);
    fflush(stdout);
}

static char wait_for_input(void)
{
    char c = 0;

    while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
        ;
    return c;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int n);
    } kinds[] = {{"burst", burst}, {"reasons", reasons}, {"threads", threads}, {"tree", tree}};
    size_t kind = 0;

    if (argc != 4)
        return 2;
    while (kind < sizeof(kinds) / sizeof(*kinds) && strcmp(kinds[kind].name, argv[2]) != 0)
        kind++;
    if (kind == sizeof(kinds) / sizeof(*kinds))
        return 2;
    prctl(PR_SET_NAME, argv[1]);
    puts("ready");
    fflush(stdout);
    if (wait_for_input() != '\n')
        return 1;
    kinds[kind].run(atoi(argv[3]));
    tell();
    while (wait_for_input() == '\n')
        ;
    return 0;
}
