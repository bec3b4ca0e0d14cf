/*
 * Names of threads: which there are, and what they show.
 *
 * Linked with --wrap=realloc, to refuse memory and to count.
 */
#include "group/thread_names.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>

#define BIT(n) (UINT32_C(1) << (n))

static const uint64_t SECOND = 1000000000u;

static bool no_memory;
static size_t heap_calls;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    heap_calls++;
    return no_memory ? NULL : __real_realloc(p, n);
}

struct fixture {
    struct thread_names names;
    struct groups groups; /* three that are listed: as much of them as is looked at */
    struct group group[3];
    struct groups_moment moment;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    thread_names_init(&f->names);
    f->groups.groups = f->group;
    f->groups.forget_ns = 100 * SECOND;
    for (size_t i = 0; i < 3; i++)
        f->group[i].used = f->group[i].threads = true;
    f->moment.now_ns = 1000 * SECOND;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    thread_names_deinit(&f->names);
    free(f);
    return 0;
}

static uint32_t get(struct fixture *f, uint32_t group, const char *comm)
{
    uint32_t name;

    assert_int_equal(
        thread_names_get(&f->names, group, span_from_str(comm), THREAD_NAME_NONE, &name), 0);
    return name;
}

/* A thread of this comm is there, and used so much CPU time. */
static void count(struct fixture *f, uint32_t group, const char *comm, uint64_t used)
{
    struct thread_delta delta = {.known = BIT(THREAD_CPU_USER_NS), .counter[0] = used};
    uint32_t name = get(f, group, comm);

    thread_names_take(&f->names, name, &delta);
    thread_names_count(&f->names, name);
}

static void begin(struct fixture *f)
{
    f->moment.now_ns += 10 * SECOND;
    thread_names_begin(&f->names);
}

static void end(struct fixture *f)
{
    thread_names_end(&f->names, &f->groups, f->moment.now_ns);
}

/* The names of a group, joined by blanks. */
static void check_names(const struct fixture *f, uint32_t group, const char *expected)
{
    char text[4096] = "";
    size_t first, n = thread_names_of(&f->names, group, &first), at = 0;

    for (size_t i = 0; i < n; i++) {
        struct span name = thread_names_name(&f->names, f->names.order[first + i]);

        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i ? " " : "", (int)name.n,
                               name.p);
    }
    assert_string_equal(text, expected);
}

static struct thread_values show(struct fixture *f, uint32_t group, const char *comm)
{
    struct thread_values v;

    f->moment.sequence++;
    thread_names_values(&f->names, get(f, group, comm), GROUPS_FIRST_AT_ZERO, &f->moment, &v);
    f->moment.served_sequence = f->moment.sequence;
    return v;
}

static void by_group_and_name(void **state)
{
    struct fixture *f = *state;

    begin(f);
    count(f, 1, "b", 1);
    count(f, 0, "b", 1);
    count(f, 1, "a", 1);
    count(f, 2, "a", 1);
    count(f, 1, "b", 1);
    count(f, 1, "bb", 1);
    end(f);
    check_names(f, 0, "b");
    check_names(f, 1, "a b bb");
    check_names(f, 2, "a");
    assert_int_equal(show(f, 1, "b").threads, 2);
    assert_int_equal(show(f, 0, "b").threads, 1);
    assert_int_equal(f->names.n_order, 5);
}

static void names_are_label_values(void **state)
{
    struct fixture *f = *state;
    char longest[SAMPLE_COMM_MAX + 1];

    memset(longest, '\xff', SAMPLE_COMM_MAX);
    longest[SAMPLE_COMM_MAX] = '\0';
    begin(f);
    count(f, 0, "", 1);
    count(f, 0, "a\x01\xff", 1);
    count(f, 0, "a\x02\xc3", 1); /* the same as a label */
    count(f, 1, longest, 1);
    end(f);
    check_names(f, 0, "_empty a\xef\xbf\xbd\xef\xbf\xbd");
    assert_int_equal(f->names.names[f->names.order[2]].name_len, THREAD_NAME_SIZE);
}

/* As a series of a group: first at 0, then what was counted, and it never falls. */
static void first_at_zero(void **state)
{
    struct fixture *f = *state;
    struct thread_values v;

    begin(f);
    count(f, 0, "w", 70);
    end(f);
    v = show(f, 0, "w");
    assert_int_equal(v.have, BIT(THREAD_CPU_USER_NS));
    assert_int_equal(v.counter[THREAD_CPU_USER_NS], 0);
    assert_int_equal(show(f, 0, "w").counter[THREAD_CPU_USER_NS], 70);
    begin(f);
    end(f);
    v = show(f, 0, "w");
    assert_int_equal(v.threads, 0);
    assert_int_equal(v.counter[THREAD_CPU_USER_NS], 70);
    thread_names_values(&f->names, get(f, 0, "w"), GROUPS_AT_ONCE, &f->moment, &v);
    assert_int_equal(v.counter[THREAD_CPU_USER_NS], 70);
}

static void sums_have_an_end(void **state)
{
    struct fixture *f = *state;

    begin(f);
    count(f, 0, "w", UINT64_MAX - 5);
    count(f, 0, "w", 10);
    end(f);
    (void)show(f, 0, "w");
    assert_int_equal(show(f, 0, "w").counter[THREAD_CPU_USER_NS], UINT64_MAX);
}

static void as_many_as_there_is_room_for(void **state)
{
    struct fixture *f = *state;
    char comm[16];
    size_t first;

    for (int cycle = 0; cycle < 3; cycle++) {
        begin(f);
        for (int i = 0; i < THREAD_NAMES_MAX + 20; i++) {
            snprintf(comm, sizeof(comm), "w%d", i);
            count(f, 1, comm, 1);
        }
        count(f, 0, "w60", 1);
        count(f, 1, "_other", 1);
        end(f);
    }
    assert_int_equal(thread_names_of(&f->names, 1, &first), THREAD_NAMES_MAX + 1);
    assert_int_equal(show(f, 1, "w69").threads, 21);
    assert_int_equal(get(f, 1, "w69"), get(f, 1, "_other"));
    (void)show(f, 1, "_other");
    assert_int_equal(show(f, 1, "_other").counter[THREAD_CPU_USER_NS], 3 * 21);
    assert_int_equal(show(f, 1, "w7").threads, 1);
    check_names(f, 0, "w60");
}

/* Who is called _other takes nobody's place. */
static void other_is_no_name_of_its_own(void **state)
{
    struct fixture *f = *state;
    char comm[16];
    size_t first;

    begin(f);
    count(f, 1, "_other", 1);
    for (int i = 0; i < THREAD_NAMES_MAX; i++) {
        snprintf(comm, sizeof(comm), "w%d", i);
        count(f, 1, comm, 1);
    }
    end(f);
    assert_int_equal(thread_names_of(&f->names, 1, &first), THREAD_NAMES_MAX + 1);
    assert_int_equal(show(f, 1, "_other").threads, 1);
}

static void a_name_nobody_has_leaves(void **state)
{
    struct fixture *f = *state;

    begin(f);
    count(f, 0, "a", 5);
    count(f, 0, "b", 5);
    end(f);
    for (int i = 0; i < 10; i++) {
        begin(f);
        count(f, 0, "b", 1);
        end(f);
        check_names(f, 0, "a b");
    }
    begin(f);
    count(f, 0, "b", 1);
    end(f);
    check_names(f, 0, "b");
    /* One that comes back in time stays, with what it had. */
    begin(f);
    end(f);
    begin(f);
    count(f, 0, "b", 1);
    end(f);
    for (int i = 0; i < 10; i++) {
        begin(f);
        end(f);
    }
    check_names(f, 0, "b");
    (void)show(f, 0, "b");
    assert_int_equal(show(f, 0, "b").counter[THREAD_CPU_USER_NS], 17);
    begin(f);
    end(f);
    check_names(f, 0, "");
    assert_null(f->names.names);
}

/* The room of names that left is for others. */
static void room_is_used_again(void **state)
{
    struct fixture *f = *state;
    char comm[16];

    for (int cycle = 0; cycle < 100; cycle++) {
        begin(f);
        for (int i = 0; i < 10; i++) {
            snprintf(comm, sizeof(comm), "w%d", cycle * 10 + i);
            count(f, 1, comm, 1);
        }
        end(f);
        assert_true(f->names.n_order <= THREAD_NAMES_MAX + 1);
    }
    assert_true(f->names.n_names <= THREAD_NAMES_MAX + 1);
    assert_true(f->names.capacity <= 64);
}

static void names_go_with_their_group(void **state)
{
    struct fixture *f = *state;

    begin(f);
    count(f, 0, "a", 1);
    count(f, 1, "a", 1);
    count(f, 2, "a", 1);
    f->group[0].used = false;
    f->group[2].threads = false;
    end(f);
    check_names(f, 0, "");
    check_names(f, 1, "a");
    check_names(f, 2, "");
    f->group[0].used = true;
    begin(f);
    count(f, 0, "a", 3);
    end(f);
    (void)show(f, 0, "a");
    assert_int_equal(show(f, 0, "a").counter[THREAD_CPU_USER_NS], 3);
}

/* What is likely is only taken where it is right. */
static void a_likely_name(void **state)
{
    struct fixture *f = *state;
    uint32_t a, b, got;

    begin(f);
    a = get(f, 1, "a");
    b = get(f, 1, "b");
    assert_int_equal(thread_names_get(&f->names, 1, SPAN_LITERAL("a"), a, &got), 0);
    assert_int_equal(got, a);
    assert_int_equal(thread_names_get(&f->names, 1, SPAN_LITERAL("b"), a, &got), 0);
    assert_int_equal(got, b);
    assert_int_equal(thread_names_get(&f->names, 2, SPAN_LITERAL("a"), a, &got), 0);
    assert_int_not_equal(got, a);
    end(f);
}

static void counters_begin_anew(void **state)
{
    struct thread_delta delta = {.known = BIT(THREAD_RUN_QUEUE_NS),
                                 .counter[THREAD_RUN_QUEUE_NS] = 9};
    struct fixture *f = *state;

    begin(f);
    count(f, 0, "a", 5);
    thread_names_take(&f->names, get(f, 0, "a"), &delta);
    end(f);
    (void)show(f, 0, "a");
    assert_int_equal(show(f, 0, "a").counter[THREAD_RUN_QUEUE_NS], 9);
    thread_names_forget_counters(&f->names, BIT(THREAD_RUN_QUEUE_NS));
    assert_int_equal(show(f, 0, "a").have, BIT(THREAD_CPU_USER_NS));
    assert_int_equal(show(f, 0, "a").counter[THREAD_CPU_USER_NS], 5);
    thread_names_take(&f->names, get(f, 0, "a"), &delta);
    assert_int_equal(show(f, 0, "a").counter[THREAD_RUN_QUEUE_NS], 0);
    assert_int_equal(show(f, 0, "a").counter[THREAD_RUN_QUEUE_NS], 9);
}

static void without_memory(void **state)
{
    struct fixture *f = *state;
    size_t before;
    uint32_t got;

    begin(f);
    no_memory = true;
    assert_int_equal(thread_names_get(&f->names, 0, SPAN_LITERAL("a"), THREAD_NAME_NONE, &got),
                     -ENOMEM);
    no_memory = false;
    check_names(f, 0, "");
    count(f, 0, "a", 5);
    end(f);
    check_names(f, 0, "a");
    /* Those that are there need none. */
    before = heap_calls;
    for (int i = 0; i < 50; i++) {
        begin(f);
        count(f, 0, "a", 5);
        end(f);
    }
    assert_int_equal(heap_calls, before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(by_group_and_name),
        TEST(names_are_label_values),
        TEST(first_at_zero),
        TEST(sums_have_an_end),
        TEST(as_many_as_there_is_room_for),
        TEST(other_is_no_name_of_its_own),
        TEST(a_name_nobody_has_leaves),
        TEST(room_is_used_again),
        TEST(names_go_with_their_group),
        TEST(a_likely_name),
        TEST(counters_begin_anew),
        TEST(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
