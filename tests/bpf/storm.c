/*
 * storm - forks, execs and threads without end, all of whose doings are known while they are under
 * way. Prints "ready", begins with the first line of input, prints "over" when all is done, reaps
 * what wrote with the second line, prints what was used, and stays until input ends. It calls
 * itself NAME, whatever it executes.
 *
 *     storm NAME TALLY FORKS EXECS THREADS
 *
 * FORKS children in bursts, of which every fourth executes this program; 4 chains of EXECS execs,
 * of which every other is done by another thread than the first; 2 processes with THREADS threads,
 * 20 at a time. TALLY is a file in memory for struct tally, where everything is noted before it is
 * done: so whoever has counted more than stands there has counted too much.
 *
 * The last line: CPU seconds of itself, of its children, processes and bytes as in the tally.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 25, CHAINS = 4, CROWDS = 2, CROWD_AT_ONCE = 20, WRITTEN = 16 * 1024 };

static struct tally {
    uint64_t started, ended, written; /* processes, processes, bytes */
} * tally;

static const char *name, *tally_path;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void note(uint64_t *what, uint64_t n)
{
    __atomic_fetch_add(what, n, __ATOMIC_SEQ_CST);
}

static void open_tally(void)
{
    int fd = open(tally_path, O_RDWR | O_CLOEXEC);

    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || tally == MAP_FAILED)
        die(tally_path);
    close(fd);
}

static void use_cpu(long ns)
{
    struct timespec t;
    long until;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    until = t.tv_sec * 1000000000 + t.tv_nsec + ns;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000000000 + t.tv_nsec < until);
}

/* Ends the process that calls it. */
static void leave(void)
{
    note(&tally->ended, 1);
    _exit(0);
}

static pid_t start(void)
{
    pid_t pid;

    note(&tally->started, 1);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void reap_one(void)
{
    while (wait(NULL) < 0)
        if (errno != EINTR)
            die("wait");
}

/* ---- execs ---- */

static void exec_again(int left)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", left);
    execl("/proc/self/exe", name, name, tally_path, number, (char *)NULL);
    die("exec");
}

static void *exec_in_thread(void *left)
{
    use_cpu(300000);
    exec_again(*(int *)left);
    return left;
}

/* So many are left to do, each by the program that the one before brought. */
static void chain(int left)
{
    pthread_t thread;

    use_cpu(1000000);
    if (left == 0)
        leave();
    left--;
    if (left % 2 == 0)
        exec_again(left);
    if (pthread_create(&thread, NULL, exec_in_thread, &left) != 0)
        die("pthread_create");
    for (;;)
        pause();
}

/* ---- forks ---- */

static void fork_all(int n)
{
    for (int done = 0; done < n;) {
        int burst = 0;

        for (; burst < BURST && done < n; burst++, done++)
            if (start() == 0) {
                if (done % 4 == 0)
                    exec_again(0);
                use_cpu(200000);
                leave();
            }
        while (burst-- > 0)
            reap_one();
    }
    leave();
}

/* ---- threads ---- */

static void *thread(void *unused)
{
    static const char bytes[WRITTEN];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    use_cpu(500000);
    note(&tally->written, WRITTEN);
    if (fd < 0 || write(fd, bytes, WRITTEN) != WRITTEN)
        die("/dev/null");
    close(fd);
    return unused;
}

static void crowd(int n)
{
    pthread_t ids[CROWD_AT_ONCE];

    for (int i = 0; i < n; i += CROWD_AT_ONCE) {
        for (int t = 0; t < CROWD_AT_ONCE; t++)
            if (pthread_create(&ids[t], NULL, thread, NULL) != 0)
                die("pthread_create");
        for (int t = 0; t < CROWD_AT_ONCE; t++)
            pthread_join(ids[t], NULL);
    }
    leave();
}

/* ---- all of it ---- */

static void wait_for(pid_t pid, int how)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | how) < 0)
        if (errno != EINTR)
            die("waitid");
}

static void start_all(int forks, int execs, int threads, pid_t crowds[CROWDS])
{
    pid_t others[CHAINS + 1];

    for (int i = 0; i < CROWDS; i++) {
        crowds[i] = start();
        if (crowds[i] == 0)
            crowd(threads);
    }
    for (int i = 0; i <= CHAINS; i++) {
        others[i] = start();
        if (others[i] == 0 && i < CHAINS)
            chain(execs);
        if (others[i] == 0)
            fork_all(forks);
    }
    for (int i = 0; i <= CHAINS; i++)
        wait_for(others[i], 0);
    for (int i = 0; i < CROWDS; i++)
        wait_for(crowds[i], WNOWAIT);
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
    printf("%.6f %.6f %llu %llu\n", seconds(&self), seconds(&children),
           (unsigned long long)tally->started, (unsigned long long)tally->written);
    fflush(stdout);
}

static void say(const char *what)
{
    puts(what);
    fflush(stdout);
}

static bool wait_for_line(void)
{
    char c = 0;

    while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
        ;
    return c == '\n';
}

static void storm(int forks, int execs, int threads)
{
    pid_t crowds[CROWDS];

    say("ready");
    if (!wait_for_line())
        return;
    start_all(forks, execs, threads, crowds);
    say("over");
    if (!wait_for_line())
        return;
    for (int i = 0; i < CROWDS; i++)
        wait_for(crowds[i], 0);
    tell();
    while (wait_for_line())
        ;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 4 && argc != 6)
        return 2;
    name = argv[1];
    tally_path = argv[2];
    prctl(PR_SET_NAME, name);
    open_tally();
    if (argc == 4)
        chain(atoi(argv[3]));
    storm(atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
    return 0;
}
