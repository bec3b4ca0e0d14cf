/*
 * crowd - a process whose threads come and go as it is told on standard input.
 *
 *     crowd NAME
 *
 * A line each, answered by one:
 *     start NAME N      N threads of that name, which use CPU and sleep, in turns
 *     still NAME N      N that sleep until they are ended
 *     end NAME          ends all threads of that name and waits for them
 *     storm SECONDS     threads one after the other, each of a name of its own
 *     exec NAME         a thread that is not the main one executes this program as NAME
 *     usage             context switches of the whole process: voluntary, involuntary
 *
 * Bytes of a name may be written as %xx.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS_MAX = 8192, NAME_MAX = 64, STACK = 64 * 1024 };

struct member {
    pthread_t thread;
    char name[NAME_MAX];
    bool (*use)(void);
    atomic_bool ends;
    bool used;
};

static struct member members[MEMBERS_MAX];
static volatile uint64_t sink;
static atomic_uint named;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static void burn(int rounds)
{
    uint64_t x = 88172645463325252u;

    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

static bool use_cpu(void)
{
    burn(200000);
    return nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL) == 0;
}

static bool use_nothing(void)
{
    return nanosleep(&(struct timespec){.tv_sec = 1}, NULL) == 0;
}

static void *live(void *p)
{
    struct member *m = p;

    prctl(PR_SET_NAME, m->name);
    named++;
    while (!m->ends)
        (void)m->use();
    return NULL;
}

static int spawn(pthread_t *ret, void *(*function)(void *), void *p)
{
    pthread_attr_t attr;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    r = pthread_create(ret, &attr, function, p);
    pthread_attr_destroy(&attr);
    return r;
}

static void start(const char *name, int n, bool (*use)(void))
{
    unsigned goal = named + (unsigned)n;

    for (size_t i = 0; i < MEMBERS_MAX && n > 0; i++) {
        struct member *m = &members[i];

        if (m->used)
            continue;
        m->used = true;
        m->ends = false;
        m->use = use;
        snprintf(m->name, sizeof(m->name), "%s", name);
        if (spawn(&m->thread, live, m) != 0) {
            m->used = false;
            puts("cannot");
            return;
        }
        n--;
    }
    while (named < goal)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    puts("done");
}

static void end(const char *name)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < MEMBERS_MAX; i++) {
            struct member *m = &members[i];

            if (!m->used || strcmp(m->name, name) != 0)
                continue;
            m->ends = true;
            if (pass == 1) {
                pthread_join(m->thread, NULL);
                m->used = false;
            }
        }
    puts("done");
}

static void *live_shortly(void *p)
{
    char name[NAME_MAX];

    snprintf(name, sizeof(name), "s%u", (unsigned)(uintptr_t)p);
    prctl(PR_SET_NAME, name);
    burn(1000);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return NULL;
}

static void storm(int seconds)
{
    struct timespec begin, now;
    uintptr_t n = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        pthread_t threads[16];

        for (int i = 0; i < 16; i++)
            if (spawn(&threads[i], live_shortly, (void *)n++) != 0)
                die("pthread_create");
        for (int i = 0; i < 16; i++)
            pthread_join(threads[i], NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < seconds);
    printf("%lu\n", (unsigned long)n);
}

static void *execute(void *name)
{
    burn(300000000);
    execl("/proc/self/exe", "crowd", name, NULL);
    die("execl");
}

static void usage(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_SELF, &u) < 0)
        die("getrusage");
    printf("%ld %ld\n", u.ru_nvcsw, u.ru_nivcsw);
}

static void unescape(char *name)
{
    char *to = name;

    for (unsigned byte; *name; to++) {
        if (*name == '%' && sscanf(name + 1, "%2x", &byte) == 1) {
            *to = (char)byte;
            name += 3;
        } else {
            *to = *name++;
        }
    }
    *to = '\0';
}

static void obey(const char *command, char *name, int n)
{
    pthread_t thread;

    if (strcmp(command, "usage") == 0) {
        usage();
    } else if (strcmp(command, "storm") == 0) {
        storm(atoi(name));
    } else if (strcmp(command, "exec") == 0) {
        if (spawn(&thread, execute, name) != 0)
            die("pthread_create");
        pthread_join(thread, NULL);
    } else {
        unescape(name);
        if (strcmp(command, "end") == 0)
            end(name);
        else
            start(name, n, strcmp(command, "still") == 0 ? use_nothing : use_cpu);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[256], command[16], name[NAME_MAX];

    if (argc != 2) {
        fprintf(stderr, "usage: crowd NAME\n");
        return 2;
    }
    prctl(PR_SET_NAME, argv[1]);
    prctl(PR_SET_PDEATHSIG, 9);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        int n = 0;

        name[0] = '\0';
        if (sscanf(line, "%15s %63s %d", command, name, &n) >= 1)
            obey(command, name, n);
    }
    return 0;
}
