/*
 * life - processes whose life is hard to follow. Prints "ready" when it is under way.
 *
 *     life bomb N      N children at once that use a little CPU and stay until input ends
 *     life names N R   N children at once that stay until input ends, named rR-1 to rR-N
 *     life reuse N     N children one after the other, each 2 ms of CPU: pids come round
 *     life orphans N   N grandchildren whose parents end at once; they stay until input ends
 *     life rename N    N changes of its name, a and b in turn, each with 2 ms of CPU
 *     life exec N      the same by an exec of itself, N more times
 *     life threads N   N threads that use 1 ms of CPU, at most 50 at a time
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_AT_ONCE = 50 };

static void die(const char *what)
{
    perror(what);
    exit(1);
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

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void until_input_ends(void)
{
    char c;

    while (read(STDIN_FILENO, &c, 1) > 0 || errno == EINTR)
        ;
}

static pid_t must_fork(void)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    return pid;
}

static void stay(const char *name)
{
    prctl(PR_SET_NAME, name);
    use_cpu(200000);
    until_input_ends();
    _exit(0);
}

static void bomb(int n)
{
    for (int i = 0; i < n; i++)
        if (must_fork() == 0)
            stay("life-bomb");
    ready();
    until_input_ends();
    while (wait(NULL) > 0)
        ;
}

static void names(int n, const char *round)
{
    char name[16];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "r%s-%d", round, i);
        if (must_fork() == 0)
            stay(name);
    }
    ready();
    until_input_ends();
    while (wait(NULL) > 0)
        ;
}

static void reuse(int n)
{
    ready();
    for (int i = 0; i < n; i++) {
        pid_t pid = must_fork();

        if (pid == 0) {
            prctl(PR_SET_NAME, i % 2 ? "life-odd" : "life-even");
            use_cpu(2000000);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static void orphans(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = must_fork();

        if (pid == 0) {
            if (must_fork() == 0)
                stay("life-orphan");
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    ready();
    until_input_ends();
}

static void rename_itself(int n)
{
    ready();
    for (int i = 0; i < n; i++) {
        prctl(PR_SET_NAME, i % 2 ? "life-b" : "life-a");
        use_cpu(2000000);
    }
}

static void exec_itself(int n, char **argv)
{
    char left[16], name[16];

    if (strcmp(argv[1], "exec") == 0)
        ready();
    use_cpu(2000000);
    if (n == 0)
        return;
    snprintf(left, sizeof(left), "%d", n - 1);
    snprintf(name, sizeof(name), "go-on-%d", n % 2);
    execl("/proc/self/exe", name, "go-on", left, (char *)NULL);
    die("exec");
}

static void *thread(void *arg)
{
    use_cpu(1000000);
    return arg;
}

static void threads(int n)
{
    pthread_t ids[THREADS_AT_ONCE];

    ready();
    for (int i = 0; i < n; i += THREADS_AT_ONCE) {
        for (int t = 0; t < THREADS_AT_ONCE; t++)
            if (pthread_create(&ids[t], NULL, thread, NULL) != 0)
                die("pthread_create");
        for (int t = 0; t < THREADS_AT_ONCE; t++)
            pthread_join(ids[t], NULL);
    }
}

int main(int argc, char **argv)
{
    int n = argc >= 3 ? atoi(argv[2]) : 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "bomb") == 0)
        bomb(n);
    else if (strcmp(argv[1], "names") == 0 && argc == 4)
        names(n, argv[3]);
    else if (strcmp(argv[1], "reuse") == 0)
        reuse(n);
    else if (strcmp(argv[1], "orphans") == 0)
        orphans(n);
    else if (strcmp(argv[1], "rename") == 0)
        rename_itself(n);
    else if (strcmp(argv[1], "exec") == 0 || strcmp(argv[1], "go-on") == 0)
        exec_itself(n, argv);
    else if (strcmp(argv[1], "threads") == 0)
        threads(n);
    else
        return 2;
    return 0;
}
