/* zoo - processes of every kind that sources may see differently, held still. */
#include "zoo.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_SIZE = 64 * 1024,
    NOBODY = 65534,
    BUSY_NS = 150000000,
};

const char *animal_name(enum animal animal)
{
    static const char *const names[ANIMAL_N] = {
        [ANIMAL_IDLE] = "idle",
        [ANIMAL_CHURNING] = "churning",
        [ANIMAL_THREADED] = "threaded",
        [ANIMAL_THREADS_ENDED] = "threads_ended",
        [ANIMAL_DESCRIPTORS] = "descriptors",
        [ANIMAL_EXITED_LEADER] = "exited_leader",
        [ANIMAL_ZOMBIE] = "zombie",
        [ANIMAL_OTHER_USER] = "other_user",
        [ANIMAL_EXECUTED] = "executed",
        [ANIMAL_VFORK] = "vfork",
    };

    return names[animal];
}

/* What the child is told: how large to be, and where to say that it is ready. */
struct cage {
    struct zoo_size size;
    int ready;
};

static void say_ready(const struct cage *cage)
{
    if (write(cage->ready, "r", 1) != 1)
        _exit(3);
}

static _Noreturn void wait_for_ever(void)
{
    for (;;)
        pause();
}

static _Noreturn void stop_for_ever(void)
{
    for (;;)
        raise(SIGSTOP);
}

static void burn(long ns)
{
    struct timespec used;
    volatile unsigned long n = 0;

    do {
        for (int i = 0; i < 10000; i++)
            n += (unsigned long)i;
        (void)syscall(SYS_getppid);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < ns);
}

static void use_memory(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, bytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || shared == MAP_FAILED)
        _exit(3);
    memset(p, 1, bytes);
    memset(shared, 2, bytes / 2);
    munmap(p, bytes / 2);
}

static void use_files(void)
{
    char block[4096];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    FILE *to = tmpfile();

    if (from < 0)
        _exit(3);
    for (int i = 0; i < 50 && read(from, block, sizeof(block)) > 0; i++)
        if (to && fwrite(block, sizeof(block), 1, to) != 1)
            break;
    if (to)
        (void)fsync(fileno(to));
    close(from);
}

static void reap_children(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            burn(BUSY_NS / 5);
            use_files();
            _exit(0);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}

static void be_idle(const struct cage *cage)
{
    say_ready(cage);
    wait_for_ever();
}

static void be_churning(const struct cage *cage)
{
    burn(BUSY_NS);
    use_memory(4 << 20);
    use_files();
    reap_children();
    say_ready(cage);
    stop_for_ever();
}

static pthread_t start_thread(void *(*function)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    if (pthread_create(&thread, &attr, function, arg) != 0)
        _exit(4);
    pthread_attr_destroy(&attr);
    return thread;
}

static void *wait_thread(void *arg)
{
    (void)arg;
    wait_for_ever();
    return NULL;
}

static void *busy_thread(void *arg)
{
    burn(BUSY_NS / 5);
    use_files();
    return arg;
}

static void be_threaded(const struct cage *cage)
{
    for (unsigned i = 0; i < cage->size.threads; i++)
        start_thread(wait_thread, NULL);
    say_ready(cage);
    stop_for_ever();
}

static void be_threads_ended(const struct cage *cage)
{
    for (int i = 0; i < 5; i++)
        pthread_join(start_thread(busy_thread, NULL), NULL);
    start_thread(wait_thread, NULL);
    say_ready(cage);
    stop_for_ever();
}

static void be_descriptors(const struct cage *cage)
{
    for (unsigned i = 0; i < cage->size.descriptors; i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            _exit(4);
    say_ready(cage);
    stop_for_ever();
}

static bool main_thread_is_dead(void)
{
    char path[64], text[512] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    f = fopen(path, "re");
    if (!f)
        return false;
    if (!fgets(text, sizeof(text), f))
        text[0] = 0;
    fclose(f);
    return strstr(text, ") Z ") != NULL;
}

static void *last_thread(void *arg)
{
    const struct cage *cage = arg;
    const struct timespec moment = {.tv_nsec = 1000000};

    use_memory(2 << 20);
    while (!main_thread_is_dead())
        nanosleep(&moment, NULL);
    say_ready(cage);
    stop_for_ever();
}

static void be_exited_leader(const struct cage *cage)
{
    burn(BUSY_NS / 5);
    start_thread(wait_thread, NULL);
    start_thread(last_thread, (void *)cage);
    pthread_exit(NULL);
}

static void be_zombie(const struct cage *cage)
{
    burn(BUSY_NS / 5);
    say_ready(cage);
    _exit(7);
}

static void be_other_user(const struct cage *cage)
{
    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(4);
    use_memory(1 << 20);
    say_ready(cage);
    stop_for_ever();
}

/* The program is the test's own, told to stand still: see zoo_stand_in(). */
static void *execute_thread(void *arg)
{
    const struct cage *cage = arg;
    char number[16];

    burn(BUSY_NS / 5);
    snprintf(number, sizeof(number), "%d", cage->ready);
    execl("/proc/self/exe", "stands", "--stand", number, NULL);
    _exit(4);
}

static void be_executed(const struct cage *cage)
{
    burn(BUSY_NS / 5);
    (void)fcntl(cage->ready, F_SETFD, 0);
    start_thread(execute_thread, (void *)cage);
    wait_for_ever();
}

static void be_vfork(const struct cage *cage)
{
    pid_t pid = vfork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        say_ready(cage);
        wait_for_ever();
    }
    wait_for_ever();
}

static void (*const animals[ANIMAL_N])(const struct cage *) = {
    [ANIMAL_IDLE] = be_idle,
    [ANIMAL_CHURNING] = be_churning,
    [ANIMAL_THREADED] = be_threaded,
    [ANIMAL_THREADS_ENDED] = be_threads_ended,
    [ANIMAL_DESCRIPTORS] = be_descriptors,
    [ANIMAL_EXITED_LEADER] = be_exited_leader,
    [ANIMAL_ZOMBIE] = be_zombie,
    [ANIMAL_OTHER_USER] = be_other_user,
    [ANIMAL_EXECUTED] = be_executed,
    [ANIMAL_VFORK] = be_vfork,
};

void zoo_stand(int ready)
{
    say_ready(&(struct cage){.ready = ready});
    stop_for_ever();
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "", *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    if (!fgets(text, sizeof(text), f))
        text[0] = 0;
    fclose(f);
    end = strrchr(text, ')');
    return end ? end[2] : 0;
}

/* Ready, and at rest: it says so a moment before. At most 30 s. */
static int wait_for_rest(pid_t pid, int ready)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    char byte;

    if (read(ready, &byte, 1) != 1)
        return -EIO;
    for (int i = 0; i < 6000; i++) {
        char state = state_of(pid);

        if (state != 'R' && state != 0)
            return 0;
        nanosleep(&moment, NULL);
    }
    return -ETIMEDOUT;
}

static int start(enum animal animal, const struct zoo_size *size, pid_t *ret)
{
    int ready[2], r;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    *ret = fork();
    if (*ret == 0) {
        struct cage *cage = malloc(sizeof(*cage));

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!cage)
            _exit(4);
        *cage = (struct cage){.size = *size, .ready = ready[1]};
        close(ready[0]);
        animals[animal](cage);
        _exit(5);
    }
    close(ready[1]);
    r = *ret < 0 ? -errno : wait_for_rest(*ret, ready[0]);
    close(ready[0]);
    return r;
}

int zoo_open(struct zoo *ret, const struct zoo_size *size)
{
    struct rlimit files;
    int r = 0;

    memset(ret, 0, sizeof(*ret));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 0; i < ANIMAL_N && r == 0; i++) {
        r = start((enum animal)i, size, &ret->pid[i]);
        if (r < 0)
            fprintf(stderr, "zoo: no %s: %s\n", animal_name((enum animal)i), strerror(-r));
    }
    return r;
}

void zoo_close(struct zoo *z)
{
    for (int i = 0; i < ANIMAL_N; i++)
        if (z->pid[i] > 0) {
            kill(z->pid[i], SIGKILL);
            waitpid(z->pid[i], NULL, 0);
        }
}
