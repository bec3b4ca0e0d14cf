/*
 * procfarm - hold a population of idle processes for /proc measurements.
 *
 *   procfarm [-n N] [-f FDS] [-t THREADS] [-m MAPS] [-r KIB] [-g GROUPS]
 *            [-x] [-a ARGBYTES] [-e ENVBYTES] [-s SECONDS] [-w FILE]
 *
 *   -n N        processes (default 100)
 *   -f FDS      descriptors each process holds, no others
 *               (default 0; they are dups of one /dev/null)
 *   -t THREADS  extra threads each process runs (default 0)
 *   -m MAPS     extra memory mappings each process has; neighbours differ in
 *               protection, so the kernel cannot merge them (default 0)
 *   -r KIB      private anonymous memory each process touches (default 0)
 *   -g GROUPS   distinct command names, farm-0 .. farm-(GROUPS-1) (default 1)
 *   -x          each process execs the program afresh: an own address space,
 *               command line and environment, as unrelated daemons have
 *               (implied by -a and -e)
 *   -a BYTES    pad the command line by about BYTES (default 0)
 *   -e BYTES    pad the environment by about BYTES (default 0)
 *   -s SECONDS  leave after SECONDS (default: on SIGINT or SIGTERM)
 *   -w FILE     write "<parent pid> <first child pid> <last child pid>\n" to
 *               FILE once every process is ready
 *
 * A line "ready ..." goes to standard output once every process has set
 * itself up. Every process sleeps from then on. They die with the parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
    long procs, fds, threads, maps, kib, groups, arg_bytes, env_bytes, seconds;
    int exec;
    const char *ready_file;
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "procfarm: %s: %s\n", what, strerror(errno));
    exit(1);
}

__attribute__((noreturn)) static void usage(void)
{
    fputs("usage: procfarm [-n N] [-f FDS] [-t THREADS] [-m MAPS] [-r KIB]"
          " [-g GROUPS]\n                [-x] [-a ARGBYTES] [-e ENVBYTES]"
          " [-s SECONDS] [-w FILE]\n",
          stderr);
    exit(2);
}

static long number(const char *s)
{
    char *end;
    errno = 0;
    long v = strtol(s, &end, 10);
    if (errno || end == s || *end || v < 0 || v > 100000000)
        usage();
    return v;
}

static long file_number(const char *path)
{
    long v = -1;
    FILE *f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%ld", &v) != 1)
            v = -1;
        fclose(f);
    }
    return v;
}

/* Refuse early what the system would refuse half way. */
static void check_limits(const struct options *o)
{
    long pid_max = file_number("/proc/sys/kernel/pid_max");
    long map_max = file_number("/proc/sys/vm/max_map_count");
    long tasks = o->procs * (1 + o->threads);
    struct rlimit r;

    if (pid_max > 0 && tasks > pid_max - 1000) {
        fprintf(stderr, "procfarm: %ld tasks do not fit pid_max %ld\n", tasks, pid_max);
        exit(1);
    }
    if (map_max > 0 && o->maps + o->threads * 2 + 32 > map_max) {
        fprintf(stderr, "procfarm: %ld mappings do not fit max_map_count %ld\n", o->maps, map_max);
        exit(1);
    }
    if (getrlimit(RLIMIT_NPROC, &r) == 0 && r.rlim_cur != RLIM_INFINITY && geteuid() != 0 &&
        (rlim_t)tasks + 50 > r.rlim_cur) {
        fprintf(stderr, "procfarm: %ld tasks do not fit ulimit -u %lu\n", tasks,
                (unsigned long)r.rlim_cur);
        exit(1);
    }
    rlim_t want = (rlim_t)o->fds + 16;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < want) {
        r.rlim_cur = want;
        if (r.rlim_max < want)
            r.rlim_max = want;
        if (setrlimit(RLIMIT_NOFILE, &r) != 0)
            die("setrlimit RLIMIT_NOFILE");
    }
}

static void *sleeper(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* What every farm process is: set itself up, say so on ready_fd, sleep. */
static void child(const struct options *o, long index, int ready_fd)
{
    char name[32];
    snprintf(name, sizeof name, "farm-%ld", index % o->groups);
    if (prctl(PR_SET_NAME, name) != 0)
        die("prctl PR_SET_NAME");

    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        die("/dev/null");
    int ready = fcntl(ready_fd, F_DUPFD_CLOEXEC, (int)o->fds + 3);
    if (ready < 0)
        die("F_DUPFD");
    for (long i = 0; i < o->fds; i++)
        if (dup2(null, (int)i) < 0)
            die("dup2");
    if (o->fds < ready)
        close_range((unsigned)o->fds, (unsigned)ready - 1, 0);
    close_range((unsigned)ready + 1, ~0U, 0);

    for (long i = 0; i < o->maps; i++) {
        void *p = mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            die("mmap");
        if (!(i & 1))
            *(volatile char *)p = 1;
    }
    if (o->kib > 0) {
        char *p = mmap(NULL, (size_t)o->kib * 1024, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            die("mmap");
        memset(p, 1, (size_t)o->kib * 1024);
    }
    if (o->threads > 0) {
        pthread_attr_t attr;
        pthread_t t;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 16384);
        pthread_attr_setguardsize(&attr, 0);
        for (long i = 0; i < o->threads; i++)
            if ((errno = pthread_create(&t, &attr, sleeper, NULL)) != 0)
                die("pthread_create");
    }
    if (write(ready, "r", 1) != 1)
        die("ready");
    close(ready);
    sleeper(NULL);
}

static char *padding(const char *head, long bytes)
{
    char *s = malloc(strlen(head) + (size_t)bytes + 1);
    if (!s)
        die("malloc");
    size_t n = strlen(head);
    memcpy(s, head, n);
    memset(s + n, 'x', (size_t)bytes);
    s[n + (size_t)bytes] = 0;
    return s;
}

/* The same options again, for the exec'd program, in front of "--child". */
static void exec_child(const struct options *o, long index, int ready_fd)
{
    char spec[256];
    snprintf(spec, sizeof spec, "--child=%ld,%d,%ld,%ld,%ld,%ld,%ld", index, ready_fd, o->fds,
             o->threads, o->maps, o->kib, o->groups);
    char name[] = "procfarm", mark[] = "FARM=1";
    char *argv[] = {name, spec, NULL, NULL};
    char *envp[] = {mark, NULL, NULL};
    if (o->arg_bytes)
        argv[2] = padding("", o->arg_bytes);
    if (o->env_bytes)
        envp[1] = padding("PAD=", o->env_bytes);
    execve("/proc/self/exe", argv, envp);
    die("exec");
}

static int child_main(const char *spec)
{
    struct options o = {0};
    long index;
    int ready_fd;
    if (sscanf(spec, "--child=%ld,%d,%ld,%ld,%ld,%ld,%ld", &index, &ready_fd, &o.fds, &o.threads,
               &o.maps, &o.kib, &o.groups) != 7 ||
        o.groups < 1)
        usage();
    child(&o, index, ready_fd);
    return 0;
}

static volatile sig_atomic_t leaving;
static void on_signal(int sig)
{
    (void)sig;
    leaving = 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strncmp(argv[1], "--child=", 8) == 0)
        return child_main(argv[1]);

    struct options o = {.procs = 100, .groups = 1};
    int c;

    /* What is inherited would make the tables of all children larger than they need. */
    close_range(3, ~0U, 0);
    while ((c = getopt(argc, argv, "n:f:t:m:r:g:xa:e:s:w:")) != -1)
        switch (c) {
        case 'n':
            o.procs = number(optarg);
            break;
        case 'f':
            o.fds = number(optarg);
            break;
        case 't':
            o.threads = number(optarg);
            break;
        case 'm':
            o.maps = number(optarg);
            break;
        case 'r':
            o.kib = number(optarg);
            break;
        case 'g':
            o.groups = number(optarg);
            break;
        case 'x':
            o.exec = 1;
            break;
        case 'a':
            o.arg_bytes = number(optarg);
            o.exec = 1;
            break;
        case 'e':
            o.env_bytes = number(optarg);
            o.exec = 1;
            break;
        case 's':
            o.seconds = number(optarg);
            break;
        case 'w':
            o.ready_file = optarg;
            break;
        default:
            usage();
        }
    if (optind != argc || o.procs < 1 || o.groups < 1 || o.arg_bytes > 120000 ||
        o.env_bytes > 120000)
        usage();
    check_limits(&o);

    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGALRM, &sa, NULL);

    int ready[2];
    if (pipe(ready) != 0)
        die("pipe");
    pid_t *pids = calloc((size_t)o.procs, sizeof *pids);
    if (!pids)
        die("calloc");
    pid_t parent = getpid();
    for (long i = 0; i < o.procs; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            fprintf(stderr, "procfarm: fork %ld of %ld: %s\n", i + 1, o.procs, strerror(errno));
            for (long k = 0; k < i; k++)
                kill(pids[k], SIGKILL);
            return 1;
        }
        if (pid == 0) {
            signal(SIGINT, SIG_DFL);
            signal(SIGTERM, SIG_DFL);
            sigprocmask(SIG_SETMASK, &old, NULL);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            close(ready[0]);
            free(pids);
            if (o.exec)
                exec_child(&o, i, ready[1]);
            child(&o, i, ready[1]);
            _exit(0);
        }
        pids[i] = pid;
    }
    close(ready[1]);

    char buf[4096];
    long up = 0;
    ssize_t n;
    while ((n = read(ready[0], buf, sizeof buf)) > 0)
        up += n;
    close(ready[0]);
    if (up != o.procs)
        fprintf(stderr, "procfarm: only %ld of %ld processes came up\n", up, o.procs);
    if (o.ready_file) {
        FILE *f = fopen(o.ready_file, "we");
        if (!f)
            die(o.ready_file);
        fprintf(f, "%d %d %d\n", (int)parent, (int)pids[0], (int)pids[o.procs - 1]);
        fclose(f);
    }
    printf("ready %ld processes, pids %d..%d\n", up, (int)pids[0], (int)pids[o.procs - 1]);
    fflush(stdout);

    if (up == o.procs) {
        if (o.seconds)
            alarm((unsigned)o.seconds);
        while (!leaving)
            sigsuspend(&old);
    }
    for (long i = 0; i < o.procs; i++)
        kill(pids[i], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
    if (o.ready_file)
        unlink(o.ready_file);
    return up == o.procs ? 0 : 1;
}
