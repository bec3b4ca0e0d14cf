/*
 * Names of users from a resolver that hangs, fails, and changes its mind.
 *
 * Linked with --wrap of the heap, whose calls by the owner are counted and can be refused, and of
 * pthread_create().
 */
#include "daemon/users.h"

#include "chance.h"
#include "daemon/clock.h"
#include "hang.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

static const uint64_t SECOND = 1000000000u;
static const uint64_t MINUTE = 60000000000u;
static const uint64_t DEADLINE = 15000000000u;

static _Thread_local bool is_owner;
static unsigned heap_calls;
static bool heap_refuses;
static int create_error;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);

static void count_call(void)
{
    if (is_owner)
        heap_calls++;
}

static bool refused(void)
{
    count_call();
    return is_owner && heap_refuses;
}

void *__wrap_malloc(size_t n)
{
    return refused() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
    return refused() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refused() ? NULL : __real_realloc(p, n);
}

void __wrap_free(void *p)
{
    count_call();
    __real_free(p);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg)
{
    return create_error ? create_error : __real_pthread_create(thread, attr, start, arg);
}

/* The name service: user 1000 is "a1000", then "b1000", ... */
static _Atomic unsigned generation;
static _Atomic int look_error;
static _Atomic size_t look_needs;
static _Atomic bool look_nameless;
static const char *_Atomic look_name; /* of all, if not NULL */
static _Atomic unsigned looks;

static int look(uint32_t uid, char *room, size_t n, const char **ret)
{
    hang_here(uid);
    looks++;
    if (n < look_needs)
        return -ERANGE;
    if (look_error)
        return look_error;
    if (look_name)
        snprintf(room, n, "%s", (const char *)look_name);
    else
        snprintf(room, n, "%c%u", (char)('a' + generation), uid);
    *ret = look_nameless ? NULL : room;
    return 0;
}

struct users_fixture {
    struct users *users;
    uint64_t now_ns;
    unsigned threads;
};

static unsigned count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void pass(struct users_fixture *f, uint64_t ns)
{
    f->now_ns += ns;
    users_begin(f->users, f->now_ns, DEADLINE);
}

static int setup(void **state)
{
    struct users_fixture *f = calloc(1, sizeof(*f));

    is_owner = true;
    generation = 0;
    look_error = 0;
    look_needs = 0;
    look_nameless = false;
    look_name = NULL;
    looks = 0;
    hang_begin();
    f->threads = count_threads();
    f->now_ns = 5000 * SECOND;
    f->users = users_new(look);
    assert_non_null(f->users);
    pass(f, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct users_fixture *f = *state;

    hang_end();
    f->users = users_free(f->users);
    HANG_WAIT(count_threads() == f->threads);
    is_owner = false;
    free(f);
    return 0;
}

static void check_name(struct users_fixture *f, uint32_t uid, const char *expected)
{
    struct span name;

    assert_int_equal(users_name(f->users, uid, &name), USERS_KNOWN);
    check_span_at(name, expected, strlen(expected), __FILE__, __LINE__);
}

static void not_yet(struct users_fixture *f, uint32_t uid)
{
    struct span name = {NULL, 0};

    assert_int_equal(users_name(f->users, uid, &name), USERS_EXPECTED);
    assert_null(name.p);
}

/* Until the resolver was asked so often, and answered all. */
static void wait_looks(unsigned n)
{
    HANG_WAIT(looks >= n);
    assert_int_equal(looks, n);
    HANG_WAIT(hang_count(&hang_now) == 0);
}

/* Until the thread has nothing to do: a clock that goes on before would have it seem stuck. */
static void settle(struct users_fixture *f)
{
    users_begin(f->users, f->now_ns, 20 * SECOND);
    users_wait(f->users);
    pass(f, 0);
}

/* Until an answer has come; the clock stands still. */
static void wait_known(struct users_fixture *f, uint32_t uid)
{
    struct span name;

    for (int i = 0; i < 20000 && users_name(f->users, uid, &name) == USERS_EXPECTED; i++) {
        usleep(1000);
        pass(f, 0);
    }
    assert_int_equal(users_name(f->users, uid, &name), USERS_KNOWN);
}

/* Until the name of a known one is this. */
static void wait_name(struct users_fixture *f, uint32_t uid, const char *expected)
{
    struct span name = {NULL, 0};

    for (int i = 0; i < 20000 && !span_equal(name, span_from_str(expected)); i++) {
        usleep(1000);
        pass(f, 0);
        assert_int_equal(users_name(f->users, uid, &name), USERS_KNOWN);
    }
    check_name(f, uid, expected);
}

static void names(void **state)
{
    struct users_fixture *f = *state;

    assert_int_equal(count_threads(), f->threads);
    for (uint32_t uid = 0; uid < 300; uid++)
        not_yet(f, uid);
    assert_int_equal(count_threads(), f->threads + 1);
    for (uint32_t uid = 0; uid < 300; uid++) {
        char expected[32];

        wait_known(f, uid);
        snprintf(expected, sizeof(expected), "a%u", uid);
        check_name(f, uid, expected);
    }
    not_yet(f, UINT32_MAX);
    wait_known(f, UINT32_MAX);
    check_name(f, UINT32_MAX, "a4294967295");
    assert_int_equal(looks, 301);
    assert_int_equal(users_changes(f->users), 0);
}

/* Within a cycle nothing changes, however soon the answer comes. */
static void not_within_a_cycle(void **state)
{
    struct users_fixture *f = *state;

    not_yet(f, 7);
    wait_looks(1);
    usleep(10000);
    not_yet(f, 7);
    assert_int_equal(looks, 1);
}

static void without_a_name(void **state)
{
    struct users_fixture *f = *state;

    look_nameless = true;
    not_yet(f, 1001);
    wait_known(f, 1001);
    check_name(f, 1001, "1001");
    look_nameless = false;
    look_name = "";
    not_yet(f, 1002);
    wait_known(f, 1002);
    check_name(f, 1002, "1002");
    look_name = NULL;
    look_error = -ENOENT;
    not_yet(f, UINT32_MAX);
    wait_known(f, UINT32_MAX);
    check_name(f, UINT32_MAX, "4294967295");
}

static void large_records(void **state)
{
    struct users_fixture *f = *state;

    look_needs = 1024 * 1024;
    not_yet(f, 1);
    wait_known(f, 1);
    check_name(f, 1, "a1");
    look_needs = 1024 * 1024 + 1;
    not_yet(f, 2);
    wait_known(f, 2);
    check_name(f, 2, "2");
}

static void odd_names(void **state)
{
    static char longest[USERS_NAME_MAX + 1], longer[USERS_NAME_MAX + 2];
    struct users_fixture *f = *state;

    look_name = "a b\n\xff\x1b[31m";
    not_yet(f, 1);
    wait_known(f, 1);
    check_name(f, 1, "a b\n\xff\x1b[31m");
    memset(longest, 'x', USERS_NAME_MAX);
    memset(longer, 'x', USERS_NAME_MAX + 1);
    look_name = longer;
    not_yet(f, 2);
    wait_known(f, 2);
    check_name(f, 2, longest);
}

/* The old answer stands until the new one is there. */
static void renamed(void **state)
{
    struct users_fixture *f = *state;
    struct span name;

    not_yet(f, 1);
    wait_known(f, 1);
    generation = 1;
    pass(f, 5 * MINUTE - 1);
    check_name(f, 1, "a1");
    pass(f, 1);
    assert_int_equal(looks, 1);
    hang_add(1);
    assert_int_equal(users_name(f->users, 1, &name), USERS_KNOWN);
    pass(f, SECOND);
    check_name(f, 1, "a1");
    pass(f, 10 * MINUTE); /* even though it hangs */
    check_name(f, 1, "a1");
    assert_int_equal(users_name(f->users, 1, &name), USERS_KNOWN);
    hang_end();
    wait_looks(2);
    usleep(10000);
    /* What was given is good until the next cycle begins. */
    check_span(name, "a1");
    check_name(f, 1, "a1");
    wait_name(f, 1, "b1");
    assert_int_equal(users_changes(f->users), 1);
    assert_int_equal(looks, 2);
}

static void renewed_without_news(void **state)
{
    struct users_fixture *f = *state;

    not_yet(f, 1);
    wait_known(f, 1);
    for (unsigned i = 2; i < 6; i++) {
        pass(f, 6 * MINUTE);
        check_name(f, 1, "a1");
        users_wait(f->users);
        assert_int_equal(looks, i);
        check_name(f, 1, "a1");
    }
    assert_int_equal(users_changes(f->users), 0);
}

/* No name service in the meantime takes no name away; a user that was removed loses it. */
static void fails_later(void **state)
{
    struct users_fixture *f = *state;

    not_yet(f, 1);
    wait_known(f, 1);
    look_error = -EIO;
    pass(f, 6 * MINUTE);
    check_name(f, 1, "a1");
    users_wait(f->users);
    assert_int_equal(looks, 2);
    check_name(f, 1, "a1");
    look_error = 0;
    look_nameless = true;
    /* After an error it does not take long. */
    pass(f, MINUTE - 1);
    check_name(f, 1, "a1");
    assert_int_equal(looks, 2);
    pass(f, 1);
    check_name(f, 1, "a1");
    wait_name(f, 1, "1");
    assert_int_equal(users_changes(f->users), 1);
}

static void fails_first(void **state)
{
    struct users_fixture *f = *state;

    look_error = -EIO;
    not_yet(f, 1);
    wait_known(f, 1);
    check_name(f, 1, "1");
    look_error = 0;
    pass(f, MINUTE);
    check_name(f, 1, "1");
    wait_name(f, 1, "a1");
    assert_int_equal(users_changes(f->users), 1);
}

static void hangs(void **state)
{
    struct users_fixture *f = *state;

    hang_add(1);
    not_yet(f, 1);
    HANG_WAIT(hang_count(&hang_now) == 1);
    not_yet(f, 2);
    pass(f, DEADLINE - 1);
    not_yet(f, 1);
    not_yet(f, 2);
    not_yet(f, 3);
    pass(f, 1);
    check_name(f, 1, "1");
    check_name(f, 2, "2");
    pass(f, DEADLINE - 1);
    /* The resolver was not seen to hang before that, and now everybody knows. */
    check_name(f, 3, "3");
    check_name(f, 4, "4");
    assert_int_equal(count_threads(), f->threads + 1);
    hang_end();
    wait_name(f, 1, "a1");
    wait_name(f, 4, "a4");
    wait_name(f, 3, "a3");
    wait_name(f, 2, "a2");
    assert_int_equal(users_changes(f->users), 4);
    not_yet(f, 5);
    wait_known(f, 5);
    check_name(f, 5, "a5");
}

/* Neither a look-up that hangs nor those behind it hold up the stop. */
static void stop(void **state)
{
    struct users_fixture *f = *state;
    uint64_t begin;

    not_yet(f, 9);
    wait_known(f, 9);
    hang_add(1);
    for (uint32_t uid = 1; uid < 50; uid++) {
        struct span name;

        (void)users_name(f->users, uid, &name);
    }
    HANG_WAIT(hang_count(&hang_now) == 1);
    begin = clock_monotonic_ns();
    f->users = users_free(f->users);
    assert_true(clock_monotonic_ns() - begin < 3 * SECOND);
    assert_int_equal(count_threads(), f->threads + 1);
    hang_end();
}

static void stop_before_the_start(void **state)
{
    struct users_fixture *f = *state;

    f->users = users_free(f->users);
    f->users = users_free(f->users);
}

static void forgotten(void **state)
{
    struct users_fixture *f = *state;

    for (uint32_t uid = 1; uid < 100; uid++)
        not_yet(f, uid);
    wait_known(f, 1);
    wait_looks(99);
    for (uint32_t uid = 1; uid < 100; uid++)
        wait_known(f, uid);
    for (int i = 0; i < 59; i++) {
        pass(f, MINUTE);
        check_name(f, 50, "a50");
        settle(f);
    }
    check_name(f, 7, "a7");
    settle(f);
    pass(f, MINUTE);
    check_name(f, 7, "a7");
    check_name(f, 50, "a50");
    not_yet(f, 1);
    not_yet(f, 99);
    wait_known(f, 99);
    check_name(f, 99, "a99");
}

/* However many there are, it takes no more memory, and room comes back. */
static void too_many(void **state)
{
    struct users_fixture *f = *state;
    unsigned calls;
    struct span a, b;

    for (uint32_t uid = 0; uid < USERS_MAX; uid++)
        not_yet(f, uid);
    wait_looks(USERS_MAX);
    settle(f);
    calls = heap_calls;
    for (uint32_t uid = 0; uid < 10000; uid++) {
        assert_int_equal(users_name(f->users, 100000 + uid, &a), USERS_KNOWN);
        assert_int_equal(users_name(f->users, 4000000000u + uid, &b), USERS_KNOWN);
    }
    assert_int_equal(heap_calls, calls);
    check_span(a, "109999");
    check_span(b, "4000009999");
    for (uint32_t uid = 0; uid < USERS_MAX; uid++)
        wait_known(f, uid);
    pass(f, MINUTE);
    not_yet(f, 100000);
    not_yet(f, 5);
    wait_known(f, 100000);
    check_name(f, 100000, "a100000");
}

static void warm(void **state)
{
    struct users_fixture *f = *state;
    unsigned calls;

    for (uint32_t uid = 0; uid < 100; uid++)
        not_yet(f, uid);
    for (uint32_t uid = 0; uid < 100; uid++)
        wait_known(f, uid);
    calls = heap_calls;
    for (int i = 0; i < 20000 && looks < 1000; i++) {
        struct span name;

        /* Renames too. */
        generation = (unsigned)i % 20;
        pass(f, MINUTE);
        usleep(100);
        for (uint32_t uid = 0; uid < 100; uid++)
            assert_int_equal(users_name(f->users, uid, &name), USERS_KNOWN);
    }
    assert_true(looks >= 1000);
    assert_true(users_changes(f->users) > 0);
    assert_int_equal(heap_calls, calls);
}

static void no_memory(void **state)
{
    struct users_fixture *f = *state;

    heap_refuses = true;
    check_name(f, 1, "1");
    heap_refuses = false;
    not_yet(f, 1);
    wait_known(f, 1);
    check_name(f, 1, "a1");
    heap_refuses = true;
    check_name(f, 2, "2");
    check_name(f, 1, "a1");
    heap_refuses = false;
    not_yet(f, 2);
}

static void no_thread(void **state)
{
    struct users_fixture *f = *state;

    create_error = EAGAIN;
    check_name(f, 1, "1");
    pass(f, MINUTE);
    check_name(f, 1, "1");
    create_error = 0;
    not_yet(f, 2);
    pass(f, MINUTE);
    check_name(f, 1, "1");
    wait_name(f, 1, "a1");
    assert_int_equal(users_changes(f->users), 1);
}

static void waits(void **state)
{
    struct users_fixture *f = *state;
    uint64_t begin;

    for (uint32_t uid = 0; uid < 50; uid++)
        not_yet(f, uid);
    users_wait(f->users);
    for (uint32_t uid = 0; uid < 50; uid++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "a%u", uid);
        check_name(f, uid, expected);
    }
    users_wait(f->users);
    users_begin(f->users, f->now_ns, SECOND / 20);
    hang_add(100);
    not_yet(f, 100);
    begin = clock_monotonic_ns();
    users_wait(f->users);
    assert_true(clock_monotonic_ns() - begin >= SECOND / 20);
    check_name(f, 100, "100");
    /* Nobody waits for the next one. */
    check_name(f, 101, "101");
}

/* Names change at any time, and what is given is whole and stands still through a cycle. */
static void at_random(void **state)
{
    struct chance chance = chance_of_test();
    struct users_fixture *f = *state;

    for (int cycle = 0; cycle < 200000 && looks < 2000; cycle++) {
        struct span spans[40];
        char copies[40][32];
        size_t n = 0;

        generation = (unsigned)chance_below(&chance, 20);
        look_error = chance_below(&chance, 10) ? 0 : -EIO;
        look_nameless = chance_below(&chance, 10) == 0;
        pass(f, chance_below(&chance, 20 * MINUTE));
        usleep(100); /* so that the resolver gets its turn */
        for (int i = 0; i < 40; i++) {
            uint32_t uid = (uint32_t)chance_below(&chance, 200);
            char *end;

            if (users_name(f->users, uid, &spans[n]) == USERS_EXPECTED)
                continue;
            assert_in_range(spans[n].n, 1, sizeof(copies[n]) - 1);
            memcpy(copies[n], spans[n].p, spans[n].n);
            copies[n][spans[n].n] = '\0';
            assert_int_equal(strtoul(copies[n] + (copies[n][0] >= 'a'), &end, 10), uid);
            assert_true(*end == '\0');
            n++;
        }
        for (size_t i = 0; i < n; i++)
            check_span_at(spans[i], copies[i], strlen(copies[i]), __FILE__, __LINE__);
    }
    assert_true(looks >= 2000);
}

static void as_the_system_has_it(void **state)
{
    const char *name = NULL;
    char room[1024];

    (void)state;
    assert_int_equal(users_look(0, room, sizeof(room), &name), 0);
    assert_string_equal(name, "root");
    assert_int_equal(users_look(0, room, 1, &name), -ERANGE);
    name = room;
    assert_int_equal(users_look(3999999999u, room, sizeof(room), &name), 0);
    assert_null(name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names),
        TEST(not_within_a_cycle),
        TEST(without_a_name),
        TEST(large_records),
        TEST(odd_names),
        TEST(renamed),
        TEST(renewed_without_news),
        TEST(fails_later),
        TEST(fails_first),
        TEST(hangs),
        TEST(stop),
        TEST(stop_before_the_start),
        TEST(forgotten),
        TEST(too_many),
        TEST(warm),
        TEST(no_memory),
        TEST(no_thread),
        TEST(waits),
        TEST(at_random),
        cmocka_unit_test(as_the_system_has_it),
    };

    hang_first_thread();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
