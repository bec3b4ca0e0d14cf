#pragma once
/*
 * live - the kernel that runs, for tests of what is loaded into it.
 *
 * A test that may not load anything is skipped, with the reason: see live_refuses().
 */
#include "bpf/programs.h"
#include "bpf/record.h"

#include "check.h"
#include "kernel_version.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LIVE_SKIPPED = 77,
    LIVE_STEPS_MAX = 16,
    /* How long is waited for what comes within milliseconds on an idle machine. */
    LIVE_DEADLINE_S = 60,
    LIVE_DEADLINE_HIDING_S = 3,
    LIVE_TRIES_HIDING = 20,
};

/*
 * Whether process 1 is there, but is not shown to programs. Some virtual machines keep their
 * supervisor to themselves so: no program runs while one of its threads does. Records of ends are
 * made in interrupts, so those that come upon its threads are never made.
 */
static bool live_hides;

/* The size of a walk's record; 0: there is no such kind. */
static inline size_t live_size_of(uint32_t kind)
{
    return kind == RECORD_THREAD                               ? sizeof(struct thread_record)
           : kind == RECORD_PROCESS || kind == RECORD_STAND_IN ? sizeof(struct process_record)
                                                               : 0;
}

/* Whether some record of a walk is of process 1. */
static inline bool live_shows_first(struct programs *p)
{
    static _Alignas(8) char bytes[1 << 24];
    const struct record_head *head;
    int fd = programs_walk(p);
    bool shows = false;
    size_t n = 0;
    ssize_t r;

    assert_true(fd >= 0);
    while ((r = read(fd, bytes + n, sizeof(bytes) - n)) > 0)
        n += (size_t)r;
    close(fd);
    for (size_t at = 0; at < n && !shows; at += live_size_of(head->kind)) {
        head = (const struct record_head *)(bytes + at);
        assert_true(live_size_of(head->kind) > 0);
        shows = head->pid == 1;
    }
    return shows;
}

/* Why nothing can be loaded, which is no fault; NULL if it can, or if it should. */
static inline const char *live_obstacle(void)
{
    enum programs_failure failure = PROGRAMS_REFUSED;
    struct programs *p;
    int r = programs_load(&p, &failure);

    if (r == 0) {
        live_hides = getenv("PROCTALLY_TEST_HIDES") ||
                     (access("/proc/1/stat", R_OK) == 0 && !live_shows_first(p));
        programs_free(p);
        return NULL;
    }
    if (failure == PROGRAMS_NO_BTF)
        return "the kernel has no BTF";
    if (r == -ENOSYS)
        return "there is no bpf(2)";
    if (failure == PROGRAMS_DENIED && geteuid() != 0)
        return "bpf(2) is denied: not root";
    if (failure == PROGRAMS_DENIED)
        return "bpf(2) is denied: capabilities, seccomp or lockdown";
    return kernel_is(5, 10) ? NULL : "the kernel is older than 5.10";
}

/*
 * Whether the tests are not to be run, with what main() returns then: LIVE_SKIPPED, and the reason
 * is printed; or with --hides, for in_namespace.sh, 0 if process 1 is hidden.
 */
static inline bool live_refuses(int argc, char **argv, int *ret)
{
    const char *obstacle = live_obstacle();
    bool asked = argc > 1 && strcmp(argv[1], "--hides") == 0;

    *ret = asked ? obstacle || !live_hides : LIVE_SKIPPED;
    if (asked)
        return true;
    if (obstacle)
        printf("skipped: %s\n", obstacle);
    else if (live_hides)
        printf("process 1 is hidden from programs: what misses a record for it is tried again\n");
    fflush(stdout);
    return obstacle != NULL;
}

/* Whether both the pid namespace and that of control groups are the kernel's first ones. */
static inline bool live_is_first_namespace(void)
{
    struct stat pid, cgroup;

    return stat("/proc/self/ns/pid", &pid) == 0 && pid.st_ino == 0xeffffffc &&
           stat("/proc/self/ns/cgroup", &cgroup) == 0 && cgroup.st_ino == 0xeffffffb;
}

static inline void live_need(bool fact, const char *what)
{
    if (fact)
        return;
    print_message("skipped: %s\n", what);
    skip();
}

static inline uint64_t live_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits a little; false once that has been done for too long since `begin_ns`. */
static inline bool live_has_time(uint64_t begin_ns)
{
    uint64_t seconds = live_hides ? LIVE_DEADLINE_HIDING_S : LIVE_DEADLINE_S;

    if (live_now_ns() - begin_ns > seconds * 1000000000u)
        return false;
    poll(NULL, 0, 2);
    return true;
}

/*
 * A test of records of ends: false if one that was awaited did not come, which is a failure
 * wherever process 1 is not hidden. Each try has what it asks loaded anew.
 */
typedef bool live_try(void);

static inline void live_run(live_try *try, int (*load)(void **state), int (*unload)(void **state))
{
    for (int tries = live_hides ? LIVE_TRIES_HIDING : 1; !try(); tries--) {
        if (tries == 1)
            fail_msg("records of ends did not come");
        assert_int_equal(unload(NULL), 0);
        assert_int_equal(load(NULL), 0);
    }
}

/* What bpf_child is to do, as its file has it. */
#define LIVE_STEPS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void live_arguments(const char *const *steps, char *argv[LIVE_STEPS_MAX + 2])
{
    size_t n = 0;

    argv[n++] = (char *)"bpf_child";
    for (; *steps; steps++) {
        assert_true(n <= LIVE_STEPS_MAX);
        argv[n++] = (char *)*steps;
    }
    argv[n] = NULL;
}

static inline pid_t live_spawn(const char *const *steps)
{
    char *environment[] = {NULL}, *argv[LIVE_STEPS_MAX + 2];
    pid_t pid;

    live_arguments(steps, argv);
    assert_int_equal(posix_spawn(&pid, BPF_CHILD, NULL, NULL, argv, environment), 0);
    return pid;
}

/* The same, as this pid; negative if it cannot be had. */
static inline pid_t live_spawn_at(pid_t pid, const char *const *steps)
{
    struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
    char *environment[] = {NULL}, *argv[LIVE_STEPS_MAX + 2];
    pid_t child;

    live_arguments(steps, argv);
    child = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
    if (child != 0)
        return child;
    execve(BPF_CHILD, argv, environment);
    _exit(99);
}

/* Until it has stopped. */
static inline void live_stopped(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_code, CLD_STOPPED);
}

static inline void live_go_on(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    assert_int_equal(kill(pid, SIGCONT), 0);
}

/* Reaps it. Returns its status as wait(2) gives it. */
static inline int live_reap(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void live_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    live_reap(pid);
}

static inline unsigned live_descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
