/*
 * bpf_child - a process that does what it is told, step by step, and nothing else.
 *
 *     burn=MS      uses so much CPU time
 *     read=BYTES   reads so much, 4096 bytes at a time
 *     write=BYTES  writes so much, likewise
 *     anon=PAGES   touches private memory; shared=PAGES shared memory, of no file
 *     open=N       opens so many descriptors more; open_at=FD one of this number
 *     name=COMM
 *     threads=N    starts threads that work, and wait for ever
 *     ended=N      starts threads that work, and waits for their end
 *     leave        ends this thread; another one goes on
 *     exec         another thread goes on, by an exec of this program
 *     forks=N      starts children one by one, each of which ends at once
 *     stop         stops, until it is told to go on
 *     exit=N       exits; signal=N is killed by that signal
 *
 * It is never built with a sanitizer, which would have threads and memory of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 4096 };

static char **next_step;

static void must(bool done, const char *what)
{
    if (done)
        return;
    perror(what);
    _exit(99);
}

static void burn(long ms)
{
    struct timespec now;

    do
        must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0, "clock_gettime");
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void move_bytes(bool out, const char *path, long n)
{
    static _Thread_local char bytes[PIECE];
    int fd = open(path, (out ? O_WRONLY : O_RDONLY) | O_CLOEXEC);

    must(fd >= 0, path);
    for (long at = 0; at < n; at += PIECE)
        must((out ? write(fd, bytes, PIECE) : read(fd, bytes, PIECE)) == PIECE, path);
    close(fd);
}

static void touch(long pages, int how)
{
    size_t n = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

    must(p != MAP_FAILED, "mmap");
    memset(p, 1, n);
}

static void open_more(long n)
{
    for (long i = 0; i < n; i++)
        must(dup(STDERR_FILENO) >= 0, "dup");
}

static sem_t worked;

static void *work(void *ends)
{
    burn(2);
    move_bytes(false, "/dev/zero", 3 * PIECE);
    move_bytes(true, "/dev/null", 2 * PIECE);
    sem_post(&worked);
    while (!ends)
        pause();
    return NULL;
}

static void start_threads(long n, bool end)
{
    pthread_t thread;

    for (long i = 0; i < n; i++) {
        must(pthread_create(&thread, NULL, work, end ? &worked : NULL) == 0, "pthread_create");
        must(sem_wait(&worked) == 0, "sem_wait");
        if (end)
            must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
}

static void run(void);

static bool leader_is_left(void)
{
    char path[64], text[256] = "", *end;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, path);
    close(fd);
    end = strrchr(text, ')');
    return end && end[2] == 'Z';
}

static void *go_on(void *unused)
{
    struct timespec little = {.tv_nsec = 1000000};

    while (!leader_is_left())
        nanosleep(&little, NULL);
    run();
    return unused;
}

static void leave(long unused)
{
    pthread_t thread;

    (void)unused;
    must(pthread_create(&thread, NULL, go_on, NULL) == 0, "pthread_create");
    pthread_exit(NULL);
}

static void *exec_rest(void *unused)
{
    /* This step has the place of a name. */
    execv("/proc/self/exe", next_step - 1);
    must(false, "execv");
    return unused;
}

static void exec_from_thread(long unused)
{
    pthread_t thread;

    (void)unused;
    must(pthread_create(&thread, NULL, exec_rest, NULL) == 0, "pthread_create");
    for (;;)
        pause();
}

static void fork_many(long n)
{
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();

        must(pid >= 0, "fork");
        if (pid == 0)
            _exit(0);
        must(waitpid(pid, NULL, 0) == pid, "waitpid");
    }
}

static void end_by(long signal)
{
    /* Nobody wants a core. */
    prctl(PR_SET_DUMPABLE, 0);
    kill(getpid(), (int)signal);
    for (;;)
        pause();
}

static void read_bytes(long n)
{
    move_bytes(false, "/dev/zero", n);
}

static void write_bytes(long n)
{
    move_bytes(true, "/dev/null", n);
}

static void touch_private(long pages)
{
    touch(pages, MAP_PRIVATE);
}

static void touch_shared(long pages)
{
    touch(pages, MAP_SHARED);
}

static void open_at(long fd)
{
    must(dup2(STDERR_FILENO, (int)fd) == fd, "dup2");
}

static void start_and_keep(long n)
{
    start_threads(n, false);
}

static void start_and_end(long n)
{
    start_threads(n, true);
}

static void stop(long unused)
{
    (void)unused;
    /* Sent to this thread: one that the process gets is taken by any, and this one would go on. */
    raise(SIGSTOP);
}

static void end(long status)
{
    _exit((int)status);
}

static void take_step(const char *name, const char *value)
{
    static const struct {
        const char *name;
        void (*step)(long n);
    } steps[] = {
        {"burn", burn},
        {"read", read_bytes},
        {"write", write_bytes},
        {"anon", touch_private},
        {"shared", touch_shared},
        {"open", open_more},
        {"open_at", open_at},
        {"threads", start_and_keep},
        {"ended", start_and_end},
        {"leave", leave},
        {"exec", exec_from_thread},
        {"forks", fork_many},
        {"stop", stop},
        {"exit", end},
        {"signal", end_by},
    };
    size_t i = 0;

    if (strcmp(name, "name") == 0) {
        prctl(PR_SET_NAME, value);
        return;
    }
    while (i < sizeof(steps) / sizeof(*steps) && strcmp(steps[i].name, name) != 0)
        i++;
    must(i < sizeof(steps) / sizeof(*steps), name);
    steps[i].step(value ? strtol(value, NULL, 10) : 0);
}

static void run(void)
{
    while (*next_step) {
        char *name = *next_step++, *value = strchr(name, '=');

        if (value)
            *value++ = '\0';
        take_step(name, value);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    (void)argc;
    /* Should the test fail, nobody else ends it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(sem_init(&worked, 0, 0) == 0, "sem_init");
    next_step = argv + 1;
    run();
}
