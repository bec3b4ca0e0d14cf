/* That the clocks are the ones their names say. */
#include "daemon/clock.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000u;

static uint64_t clock_of(clockid_t id)
{
    struct timespec t;

    assert_int_equal(clock_gettime(id, &t), 0);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void test_clocks(void **state)
{
    static const struct {
        uint64_t (*ns)(void);
        clockid_t id;
    } rows[] = {
        {clock_realtime_ns, CLOCK_REALTIME},
        {clock_monotonic_ns, CLOCK_MONOTONIC},
        {clock_boottime_ns, CLOCK_BOOTTIME},
        {clock_process_cpu_ns, CLOCK_PROCESS_CPUTIME_ID},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t before = clock_of(rows[i].id), between = rows[i].ns(),
                 after = clock_of(rows[i].id);

        assert_true(before <= between && between <= after);
    }
}

struct other {
    clockid_t clock;
    uint64_t seen_ns;
};

static void *look_at_other(void *arg)
{
    struct other *o = arg;

    o->seen_ns = clock_other_cpu_ns(o->clock);
    return NULL;
}

/* One thread sees what another has used, which is not what it used itself. */
static void test_clock_of_another_thread(void **state)
{
    struct other other = {.clock = clock_of_thread()};
    uint64_t before;
    pthread_t thread;

    (void)state;
    while (clock_thread_cpu_ns() < SECOND / 50)
        ;
    before = clock_thread_cpu_ns();
    assert_int_equal(pthread_create(&thread, NULL, look_at_other, &other), 0);
    pthread_join(thread, NULL);
    assert_in_range(other.seen_ns, before, clock_thread_cpu_ns());
}

static void test_watch(void **state)
{
    int fd = clock_watch_open();

    (void)state;
    if (fd == -EINVAL)
        skip();
    assert_true(fd >= 0);
    assert_false(clock_was_set(fd));
    assert_false(clock_was_set(fd));
    close(fd);
    assert_false(clock_was_set(-1));
    assert_false(clock_was_set(-EINVAL));
}

/*
 * Sets the wall clock to what it says, which is a setting nonetheless. Only where it is asked for:
 * it disturbs whoever keeps the time.
 */
static void test_set(void **state)
{
    struct timespec now;
    int fd;

    (void)state;
    if (!getenv("PROCTALLY_TEST_SET_CLOCK"))
        skip();
    fd = clock_watch_open();
    assert_true(fd >= 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_int_equal(clock_settime(CLOCK_REALTIME, &now), 0);
    assert_true(clock_was_set(fd));
    /* Told once, and the watch goes on. */
    assert_false(clock_was_set(fd));
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    assert_int_equal(clock_settime(CLOCK_REALTIME, &now), 0);
    assert_true(clock_was_set(fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_clock_of_another_thread),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
