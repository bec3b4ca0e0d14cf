/*
 * Records of ended tasks, as the ring brings them: in any order, and not all of them what they
 * should be.
 *
 * Linked with --wrap of the allocators, to refuse them.
 */
#include "bpf/ends.h"

#include "heap.h"
#include "records.h"

struct fixture {
    struct accounts accounts;
    struct ends ends;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    accounts_init(&f->accounts);
    ends_init(&f->ends, &f->accounts);
    f->ends.now_ns = 1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ends_deinit(&f->ends);
    accounts_deinit(&f->accounts);
    free(f);
    return 0;
}

static void take_thread(struct fixture *f, uint32_t pid, uint64_t process, uint64_t n)
{
    struct thread_end end = thread_end_of(pid, process, n);

    ends_take(&f->ends, &end, sizeof(end));
}

/* It began so many ns after boot as its pid says: in their order they are given out. */
static void take_process(struct fixture *f, uint32_t pid, uint64_t process, uint64_t n)
{
    struct process_end end = process_end_of(pid, process, n);

    end.start_ns = pid;
    ends_take(&f->ends, &end, sizeof(end));
}

/* The only one that waits, joined. */
static const struct process_end *join_one(struct fixture *f)
{
    const struct process_ended *list;
    size_t n = 0;

    assert_int_equal(ends_waiting(&f->ends), 1);
    list = ends_join(&f->ends, &n);
    assert_int_equal(n, 1);
    return &list->end;
}

static void nobody_ended(void **state)
{
    struct fixture *f = *state;
    size_t n = 1;

    assert_int_equal(ends_waiting(&f->ends), 0);
    ends_join(&f->ends, &n);
    assert_int_equal(n, 0);
    ends_forget(&f->ends, ends_waiting(&f->ends));
    assert_int_equal(f->ends.lost, 0);
}

static void a_process_of_one_thread(void **state)
{
    struct process_end expected = process_end_of(7, 70, 1000);
    struct fixture *f = *state;

    expected.start_ns = 7;
    take_process(f, 7, 70, 1000);
    assert_memory_equal(join_one(f), &expected, sizeof(expected));
    assert_int_equal(f->ends.lost, 0);
}

static void threads_before_and_after(void **state)
{
    struct fixture *f = *state;
    const struct process_end *end;

    take_thread(f, 7, 70, 20000);
    take_process(f, 7, 70, 1000);
    take_thread(f, 7, 70, 300000);
    assert_int_equal(f->accounts.n_used, 1);
    end = join_one(f);
    check_own(&end->task.own, 321000, 3);
    /* The kernel has added these up itself. */
    check_usage(&end->usage, 1000, 1);
    assert_int_equal(f->accounts.n_used, 0);
    assert_int_equal(f->ends.lost, 0);
}

static void flags_of_all_threads(void **state)
{
    struct fixture *f = *state;
    struct thread_end thread = thread_end_of(7, 70, 0);
    struct process_end end = process_end_of(7, 70, 0);

    end.task.flags = TASK_KERNEL_THREAD;
    ends_take(&f->ends, &end, sizeof(end));
    thread.flags = TASK_OOM_VICTIM;
    ends_take(&f->ends, &thread, sizeof(thread));
    assert_int_equal(join_one(f)->task.flags, TASK_KERNEL_THREAD | TASK_OOM_VICTIM);
}

static void others_are_left_alone(void **state)
{
    struct fixture *f = *state;
    const struct process_ended *list;
    size_t n;

    take_thread(f, 7, 70, 100);
    take_thread(f, 8, 80, 2000);
    take_thread(f, 9, 90, 30000);
    take_process(f, 8, 80, 5);
    take_process(f, 7, 71, 6);
    list = ends_join(&f->ends, &n);
    assert_int_equal(n, 2);
    check_own(&list[0].end.task.own, 6, 1);
    check_own(&list[1].end.task.own, 2005, 2);
    check_own(&accounts_look(&f->accounts, 70, 7, 1)->own, 100, 1);
    check_own(&accounts_look(&f->accounts, 90, 9, 1)->own, 30000, 1);
    assert_int_equal(f->accounts.n_used, 2);
}

/* A cycle that fails after it joined asks again, and nothing counts twice. */
static void joined_again(void **state)
{
    struct fixture *f = *state;

    take_thread(f, 7, 70, 20000);
    take_process(f, 7, 70, 1000);
    check_own(&join_one(f)->task.own, 21000, 2);
    check_own(&join_one(f)->task.own, 21000, 2);
    take_thread(f, 7, 70, 300000);
    check_own(&join_one(f)->task.own, 321000, 3);
}

static void forgotten(void **state)
{
    struct fixture *f = *state;

    take_thread(f, 7, 70, 20000);
    take_process(f, 7, 70, 1000);
    join_one(f);
    ends_forget(&f->ends, ends_waiting(&f->ends));
    assert_int_equal(ends_waiting(&f->ends), 0);
    /* The next of this number and this pid has but its own. */
    take_process(f, 7, 70, 5);
    check_own(&join_one(f)->task.own, 5, 1);
    ends_forget(&f->ends, ends_waiting(&f->ends));
    /* A thread that comes late belongs to nobody; it is dropped by age, as its time tells. */
    f->ends.now_ns = 5000;
    take_thread(f, 7, 70, 1);
    assert_int_equal(accounts_sweep(&f->accounts, 5099, 100), 0);
    assert_int_equal(accounts_sweep(&f->accounts, 5100, 100), 1);
}

static void check_pids(struct fixture *f, const uint32_t *pids, size_t expected)
{
    const struct process_ended *list;
    size_t n;

    list = ends_join(&f->ends, &n);
    assert_int_equal(n, expected);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i].end.task.head.pid, pids[i]);
        check_own(&list[i].end.task.own, pids[i] * UINT64_C(100), 1);
    }
}

/* Parents before their children: in the order of their starts, not of their ends. */
static void in_the_order_of_their_starts(void **state)
{
    static const uint32_t ended[] = {5, 3, 9, 1, 7}, sorted[] = {1, 3, 5, 7, 9};
    struct fixture *f = *state;

    for (size_t i = 0; i < 5; i++)
        take_process(f, ended[i], 70 + ended[i], ended[i] * UINT64_C(100));
    check_pids(f, sorted, 5);
    check_pids(f, sorted, 5);
}

/* A cycle that failed on its way counted some, and others come before it is tried again. */
static void forgotten_in_part(void **state)
{
    static const uint32_t ended[] = {8, 7, 3, 5, 4}, sorted[] = {3, 4, 5, 7, 8};
    static const uint32_t left[] = {5, 6, 7, 8}, last[] = {8};
    struct fixture *f = *state;

    for (size_t i = 0; i < 5; i++)
        take_process(f, ended[i], 70 + ended[i], ended[i] * UINT64_C(100));
    check_pids(f, sorted, 5);
    ends_forget(&f->ends, 0);
    check_pids(f, sorted, 5);
    take_process(f, 6, 60, 600);
    ends_forget(&f->ends, 2);
    check_pids(f, left, 4);
    ends_forget(&f->ends, 3);
    check_pids(f, last, 1);
    ends_forget(&f->ends, 1);
    check_pids(f, NULL, 0);
}

static void check_lost(struct fixture *f, const void *bytes, size_t n)
{
    uint64_t before = f->ends.lost;

    ends_take(&f->ends, bytes, n);
    if (f->ends.lost != before + 1)
        fail_msg("%zu bytes of kind %u: taken", n, n >= 4 ? *(const uint32_t *)bytes : 0);
    assert_int_equal(ends_waiting(&f->ends), 0);
    assert_int_equal(f->accounts.n_used, 0);
}

/* Copied to the end of its own memory, where a sanitizer sees a read behind it. */
static void check_lost_copy(struct fixture *f, const void *bytes, size_t n)
{
    struct span copy = check_copy(span_of(bytes, n));

    check_lost(f, copy.p, n);
    free((void *)copy.p);
}

static void foreign_bytes(void **state)
{
    static const uint32_t kinds[] = {
        0, RECORD_PROCESS, RECORD_STAND_IN, RECORD_THREAD, RECORD_THREAD_END + 1, UINT32_MAX};
    struct fixture *f = *state;
    struct {
        struct process_end end;
        char more[64];
    } room = {0};
    size_t sizes[] = {sizeof(struct thread_end), sizeof(struct process_end),
                      sizeof(struct thread_record), sizeof(struct process_record)};

    check_lost(f, NULL, 0);
    for (size_t n = 0; n <= sizeof(room); n++) {
        room.end = process_end_of(7, 70, 1);
        if (n != sizeof(struct process_end))
            check_lost_copy(f, &room, n);
        room.end.task = thread_end_of(7, 70, 1);
        if (n != sizeof(struct thread_end))
            check_lost_copy(f, &room, n);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
            struct process_record record = leader_of(7, 70, 1, 1);

            record.task.head.kind = kinds[i];
            check_lost_copy(f, &record, sizes[k]);
        }
}

/* 0 is the number of no process: nobody would ever ask for what its threads left. */
static void threads_of_nobody(void **state)
{
    struct thread_end end = thread_end_of(7, 0, 1);

    check_lost(*state, &end, sizeof(end));
}

static void fill(struct fixture *f)
{
    for (uint32_t i = 0; i < ENDS_MAX + 3; i++) {
        take_process(f, i + 1, 70 + i, i);
        take_thread(f, i + 1, 70 + i, 1000000);
        assert_int_equal(ends_waiting(&f->ends), i < ENDS_MAX ? i + 1 : ENDS_MAX);
    }
}

static void more_than_there_is_room_for(void **state)
{
    struct fixture *f = *state;
    const struct process_ended *list;
    size_t n;

    for (int round = 0; round < 2; round++) {
        f->ends.lost = 0;
        fill(f);
        assert_int_equal(f->ends.lost, 3);
        list = ends_join(&f->ends, &n);
        assert_int_equal(n, ENDS_MAX);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(list[i].end.task.head.pid, i + 1);
            check_own(&list[i].end.task.own, 1000000 + i, 2);
        }
        /* What threads left of those that were lost. */
        assert_int_equal(accounts_sweep(&f->accounts, 1, 0), 3);
        /* There is room for as many as were counted. */
        ends_forget(&f->ends, 2);
        for (uint32_t i = 0; i < 3; i++)
            take_process(f, i + 1, 70 + i, i);
        assert_int_equal(f->ends.lost, 4);
        assert_int_equal(ends_waiting(&f->ends), ENDS_MAX);
        ends_forget(&f->ends, ENDS_MAX);
    }
}

static void no_memory(void **state)
{
    struct fixture *f = *state;

    heap_allows = 0;
    take_process(f, 7, 70, 1000);
    assert_int_equal(f->ends.lost, 1);
    take_thread(f, 8, 80, 1);
    assert_int_equal(f->ends.lost, 2);
    heap_allows = SIZE_MAX;
    assert_int_equal(ends_waiting(&f->ends), 0);
    ends_forget(&f->ends, ends_waiting(&f->ends));
    take_process(f, 7, 70, 1000);
    check_own(&join_one(f)->task.own, 1000, 1);
    assert_int_equal(f->ends.lost, 2);
}

/* One that was refused memory is lost; once some were counted, others are not for that. */
static void no_memory_for_a_while(void **state)
{
    struct fixture *f = *state;
    uint32_t taken = 0;

    while (taken < 3)
        take_process(f, ++taken, 70, 0);
    heap_allows = 0;
    while (f->ends.lost == 0)
        take_process(f, ++taken, 70, 0);
    heap_allows = SIZE_MAX;
    assert_int_equal(ends_waiting(&f->ends), taken - 1);
    ends_forget(&f->ends, 1);
    take_process(f, taken, 70, 0);
    assert_int_equal(ends_waiting(&f->ends), taken - 1);
    assert_int_equal(f->ends.lost, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_ended),
        TEST(a_process_of_one_thread),
        TEST(threads_before_and_after),
        TEST(flags_of_all_threads),
        TEST(others_are_left_alone),
        TEST(joined_again),
        TEST(forgotten),
        TEST(in_the_order_of_their_starts),
        TEST(forgotten_in_part),
        TEST(foreign_bytes),
        TEST(threads_of_nobody),
        TEST(more_than_there_is_room_for),
        TEST(no_memory),
        TEST(no_memory_for_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
