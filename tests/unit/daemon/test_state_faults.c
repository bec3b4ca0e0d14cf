/*
 * The state file when its system calls fail, each at each place: whoever starts next goes on from
 * what was scraped, or from 0, but from nothing in between.
 *
 * Linked with --wrap of those calls.
 */
#include "state_host.h"

#include "daemon/log.h"

#include <stdio.h>
#include <sys/file.h>

static struct {
    bool armed;
    unsigned calls, at;
    unsigned times; /* calls that fail, from there on */
    int error;      /* 0: half of it is done */
    unsigned hits;
} plan;

static bool hits(void)
{
    if (!plan.armed || ++plan.calls < plan.at || plan.calls - plan.at >= plan.times)
        return false;
    plan.hits++;
    errno = plan.error;
    return true;
}

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t offset)
{
    if (!hits())
        return __real_pwrite(fd, p, n, offset);
    return plan.error ? -1 : __real_pwrite(fd, p, (n + 1) / 2, offset);
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t offset);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t offset);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t offset)
{
    if (!hits())
        return __real_pread(fd, p, n, offset);
    return plan.error ? -1 : __real_pread(fd, p, (n + 1) / 2, offset);
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
    return hits() && plan.error ? -1 : __real_fstat(fd, st);
}

int __real_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st)
{
    return hits() && plan.error ? -1 : __real_lstat(path, st);
}

/* This one returns its errno. */
int __real_posix_fallocate(int fd, off_t offset, off_t n);
int __wrap_posix_fallocate(int fd, off_t offset, off_t n);
int __wrap_posix_fallocate(int fd, off_t offset, off_t n)
{
    return hits() && plan.error ? plan.error : __real_posix_fallocate(fd, offset, n);
}

int __real_flock(int fd, int what);
int __wrap_flock(int fd, int what);
int __wrap_flock(int fd, int what)
{
    return hits() && plan.error ? -1 : __real_flock(fd, what);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    /* The procfs is opened too; that is another test's. */
    if (flags & O_CREAT && hits() && plan.error)
        return -1;
    return __real_open(path, flags, S_IRUSR | S_IWUSR);
}

static const int errors[] = {EACCES, EIO,    EINTR,  EMFILE, ENFILE, ENOENT,
                             ENOMEM, EINVAL, ENOSPC, EDQUOT, EFBIG,  0};

enum { ERRORS = sizeof(errors) / sizeof(*errors) };

static void arm(unsigned at, unsigned times, int error)
{
    plan.armed = true;
    plan.calls = plan.hits = 0;
    plan.at = at;
    plan.times = times;
    plan.error = error;
}

static void use(struct host_fixture *h, uint64_t ticks)
{
    HOST_PUT(&h->tree, .pid = 42, .comm = "web", .start = 50, .user_ticks = 1000 + ticks);
}

static int lowest_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* Of a daemon that showed 50 while its write of them failed. False: there were not as many calls.
 */
static bool write_fails(unsigned at, unsigned times, int error, bool recovers)
{
    int descriptor = lowest_descriptor();
    struct host_fixture h;
    uint64_t next;
    bool hit;

    setup(&h);
    start(&h);
    for (uint64_t ticks = 0; ticks <= 25; ticks += 25) {
        use(&h, ticks);
        run(&h);
    }
    use(&h, 50);
    h.state.reserved = 0; /* so that room is asked for */
    arm(at, times, error);
    run(&h);
    plan.armed = false;
    hit = plan.hits > 0;
    assert_int_equal(cpu(&h, "web"), 50);
    if (recovers)
        run(&h);
    stop(&h);
    next = cpu_of_next(&h);
    if (next != 50 && (next != 0 || recovers || !hit || error == EINTR || error == 0))
        fail_msg("call %u, %u times, %s: %llu", at, times, error ? strerrorname_np(error) : "half",
                 (unsigned long long)next);
    assert_int_equal(lowest_descriptor(), descriptor);
    teardown(&h);
    return hit;
}

static void test_writes(void **state)
{
    unsigned n = 0;

    (void)state;
    for (size_t e = 0; e < ERRORS; e++)
        for (unsigned times = 1; times <= 3; times++)
            for (int recovers = 0; recovers < 2; recovers++)
                for (unsigned at = 1; write_fails(at, times, errors[e], recovers); at++)
                    n++;
    print_message("%u daemons\n", n);
    assert_true(n >= ERRORS * 3 * 2 * 2);
}

/* Of a daemon that cannot take up the file. */
static bool open_fails(struct host_fixture *h, unsigned at, int error)
{
    int descriptor = lowest_descriptor();
    uint64_t shown;
    bool hit;

    arm(at, 1, error);
    start(h);
    plan.armed = false;
    hit = plan.hits > 0;
    run(h);
    shown = cpu(h, "web");
    stop(h);
    assert_int_equal(lowest_descriptor(), descriptor);
    if (shown != 50 && (shown != 0 || !hit))
        fail_msg("call %u, %s: %llu", at, error ? strerrorname_np(error) : "half",
                 (unsigned long long)shown);
    return hit;
}

static void test_opens(void **state)
{
    unsigned n = 0;

    (void)state;
    for (size_t e = 0; e < ERRORS; e++)
        for (bool hit = true; hit; n++) {
            struct host_fixture h;

            setup(&h);
            leave_state(&h);
            hit = open_fails(&h, 1 + n % 8, errors[e]);
            teardown(&h);
            hit = hit || n % 8 != 7;
        }
    print_message("%u daemons\n", n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_opens),
    };

    /* Each of them has its line. */
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_LOGFMT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
