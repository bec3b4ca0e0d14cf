/*
 * Processes out of records in every order in which a walk may bring them.
 *
 * Linked with --wrap of the allocators, to refuse them.
 */
#include "bpf/gather.h"

#include "chance.h"
#include "heap.h"
#include "records.h"

#include <errno.h>

static int setup(void **state)
{
    struct gather *g = calloc(1, sizeof(*g));

    gather_init(g);
    gather_begin(g);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    gather_deinit(*state);
    free(*state);
    return 0;
}

/* Takes a record that is not all of its process. */
static void take(struct gather *g, const void *record)
{
    static const struct look none;
    const struct look *look = &none;

    assert_int_equal(gather_take(g, record, &look), 0);
    assert_null(look);
}

static const struct look *only_look(const struct gather *g)
{
    size_t at = 0;
    const struct look *look = gather_next(g, &at);

    assert_non_null(look);
    assert_null(gather_next(g, &at));
    assert_null(gather_next(g, &at));
    return look;
}

static void check_nobody(const struct gather *g)
{
    size_t at = 0;

    assert_null(gather_next(g, &at));
}

static void one_thread_is_whole(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 1);
    struct gather *g = *state;
    const struct look *look = NULL;

    for (uint32_t threads = 0; threads < 2; threads++) {
        leader.threads = threads;
        assert_int_equal(gather_take(g, &leader.task.head, &look), 0);
        assert_non_null(look);
        assert_memory_equal(&look->record, &leader, sizeof(leader));
        check_usage(&look->usage, 1000, 1);
        check_own(&look->own, 1000, 1);
        assert_true(look->has_leader);
        assert_false(look->has_stand_in);
    }
    check_nobody(g);
}

/* Threads it once had are in its sums. */
static void one_thread_of_several(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 1);
    const struct look *look = NULL;

    leader.task.ended = usage_of(5000);
    assert_int_equal(gather_take(*state, &leader.task.head, &look), 0);
    assert_non_null(look);
    check_usage(&look->usage, 6000, 2);
    check_own(&look->own, 1000, 1);
    check_nobody(*state);
}

static void leader_first(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 3);
    struct thread_record a = thread_of(7, 70, 20000), b = thread_of(7, 70, 300000);
    const struct look *look;

    take(*state, &leader);
    take(*state, &a);
    take(*state, &b);
    look = only_look(*state);
    check_usage(&look->usage, 321000, 3);
    check_own(&look->own, 321000, 3);
    assert_memory_equal(&look->record, &leader, sizeof(leader));
    assert_true(look->has_leader);
    assert_false(look->has_stand_in);
}

static void threads_first(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 3);
    struct thread_record a = thread_of(7, 70, 20000), b = thread_of(7, 70, 300000);
    const struct look *look;

    take(*state, &a);
    take(*state, &b);
    take(*state, &leader);
    look = only_look(*state);
    check_usage(&look->usage, 321000, 3);
    check_own(&look->own, 321000, 3);
    assert_memory_equal(&look->record, &leader, sizeof(leader));
    assert_false(look->has_stand_in);
}

/*
 * A thread that ends while the walk is under way was counted itself, and is in the sums that
 * later records bring: those of the first alone are taken.
 */
static void sums_of_ended_threads_once(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 3);
    struct thread_record a = thread_of(7, 70, 20000), b = thread_of(7, 70, 300000);
    const struct look *look;

    for (int order = 0; order < 3; order++) {
        const void *records[] = {&leader, &a, &b};

        leader.task.ended = usage_of(order == 0 ? 4000000 : 9000000);
        a.ended = usage_of(order == 1 ? 4000000 : 9000000);
        b.ended = usage_of(order == 2 ? 4000000 : 9000000);
        gather_begin(*state);
        for (int i = 0; i < 3; i++)
            take(*state, records[(order + i) % 3]);
        look = only_look(*state);
        check_usage(&look->usage, 4321000, 4);
        check_own(&look->own, 321000, 3);
    }
}

/* Who it is comes of the leader, what it has of the thread that lives. */
static void check_exited_leader(const struct look *look, const struct process_record *leader,
                                const struct process_record *stand_in)
{
    struct process_record expected = *leader;

    expected.state = stand_in->state;
    expected.flags = stand_in->flags;
    expected.open_fds = stand_in->open_fds;
    expected.mappings = stand_in->mappings;
    expected.virtual_pages = stand_in->virtual_pages;
    expected.anon_pages = stand_in->anon_pages;
    expected.file_pages = stand_in->file_pages;
    expected.shmem_pages = stand_in->shmem_pages;
    expected.swap_pages = stand_in->swap_pages;
    expected.peak_pages = stand_in->peak_pages;
    assert_memory_equal(&look->record, &expected, sizeof(expected));
    assert_true(look->has_leader);
    assert_true(look->has_stand_in);
}

static void exited_leader(void **state)
{
    struct process_record leader = dead_leader_of(7, 70, 1000, 3);
    struct process_record a = stand_in_of(7, 70, 20000, 3), b = stand_in_of(7, 70, 300000, 3);
    const void *orders[][3] = {{&leader, &a, &b}, {&a, &leader, &b}, {&a, &b, &leader}};
    const struct look *look;

    /* The second one is like the first, for they share it all; were it not, it would not show. */
    b.anon_pages = 999;
    b.state = 'R';
    for (int i = 0; i < 3; i++) {
        gather_begin(*state);
        for (int k = 0; k < 3; k++)
            take(*state, orders[i][k]);
        look = only_look(*state);
        check_exited_leader(look, &leader, &a);
        check_usage(&look->usage, 321000, 3);
        check_own(&look->own, 321000, 3);
    }
}

/* A thread that has ended as well does not stand in for its leader; it counts all the same. */
static void exited_threads_do_not_stand_in(void **state)
{
    struct process_record leader = dead_leader_of(7, 70, 1000, 3);
    struct process_record dead = stand_in_of(7, 70, 20000, 3);
    struct process_record alive = stand_in_of(7, 70, 300000, 3);
    const void *orders[][3] = {
        {&leader, &dead, &alive}, {&dead, &alive, &leader}, {&dead, &leader, &alive}};
    const struct look *look;

    dead.flags = TASK_DEAD | TASK_EXITING;
    dead.anon_pages = dead.virtual_pages = 0;
    for (int i = 0; i < 3; i++) {
        gather_begin(*state);
        for (int k = 0; k < 3; k++)
            take(*state, orders[i][k]);
        look = only_look(*state);
        check_exited_leader(look, &leader, &alive);
        check_usage(&look->usage, 321000, 3);
    }
    gather_begin(*state);
    take(*state, &dead);
    take(*state, &leader);
    look = only_look(*state);
    assert_memory_equal(&look->record, &leader, sizeof(leader));
    assert_false(look->has_stand_in);
    check_usage(&look->usage, 21000, 2);
}

/* One that is about to end has let go of memory that others still have. */
static void exiting_threads_stand_in_for_want_of_others(void **state)
{
    struct process_record leader = dead_leader_of(7, 70, 1000, 3);
    struct process_record exiting = stand_in_of(7, 70, 20000, 3);
    struct process_record alive = stand_in_of(7, 70, 300000, 3);
    const void *orders[][3] = {{&leader, &exiting, &alive},
                               {&exiting, &alive, &leader},
                               {&exiting, &leader, &alive},
                               {&alive, &leader, &exiting}};
    const struct look *look;

    exiting.flags = TASK_EXITING;
    exiting.anon_pages = exiting.virtual_pages = 0;
    for (int i = 0; i < 4; i++) {
        gather_begin(*state);
        for (int k = 0; k < 3; k++)
            take(*state, orders[i][k]);
        look = only_look(*state);
        check_exited_leader(look, &leader, &alive);
        check_usage(&look->usage, 321000, 3);
    }
    gather_begin(*state);
    take(*state, &exiting);
    take(*state, &leader);
    check_exited_leader(only_look(*state), &leader, &exiting);
}

/* Threads of a process that ended, or came, while its leader was passed. */
static void without_a_leader(void **state)
{
    struct process_record stand_in = stand_in_of(7, 70, 20000, 3), other = leader_of(8, 80, 500, 2);
    struct thread_record thread = thread_of(7, 70, 1000);
    const struct look *look;

    take(*state, &thread);
    check_nobody(*state);
    take(*state, &stand_in);
    check_nobody(*state);
    take(*state, &other);
    look = only_look(*state);
    assert_int_equal(look->record.task.head.pid, 8);
    check_usage(&look->usage, 500, 1);
}

/* A thread ended before its leader was looked at, which is alone then: it is in the sums. */
static void the_last_thread_of_several(void **state)
{
    struct thread_record thread = thread_of(7, 70, 20000);
    struct process_record leader = leader_of(7, 70, 1000, 1);
    const struct look *look = NULL;

    leader.task.ended = usage_of(20000);
    take(*state, &thread);
    assert_int_equal(gather_take(*state, &leader.task.head, &look), 0);
    assert_non_null(look);
    check_usage(&look->usage, 21000, 2);
    check_nobody(*state);
}

/*
 * A thread with a lower pid than its leader's was looked at, did an exec, took the leader's pid and
 * was looked at again. All the others have ended.
 */
static void an_exec_from_a_thread(void **state)
{
    struct thread_record before = thread_of(7, 70, 20000), other = thread_of(7, 70, 4000);
    struct thread_record after = thread_of(7, 70, 300000);
    struct process_record leader = leader_of(7, 70, 20100, 2);
    const struct look *look;

    leader.task.ended = usage_of(1004000);
    leader.task.memory = after.memory = before.memory + 1;
    take(*state, &before);
    take(*state, &other);
    take(*state, &leader);
    take(*state, &after);
    look = only_look(*state);
    check_usage(&look->usage, 1324100, 3);
    check_own(&look->own, 320100, 2);
    assert_memory_equal(&look->record, &leader, sizeof(leader));
}

/* The same, where the leader had ended, and the thread stood in for it. */
static void an_exec_instead_of_an_exited_leader(void **state)
{
    struct process_record before = stand_in_of(7, 70, 20000, 2);
    struct process_record leader = leader_of(7, 70, 20100, 2);
    const struct look *look;

    leader.task.ended = usage_of(1000000);
    leader.task.memory = before.task.memory + 1;
    leader.anon_pages = 5;
    take(*state, &before);
    take(*state, &leader);
    look = only_look(*state);
    check_usage(&look->usage, 1020100, 2);
    check_own(&look->own, 20100, 1);
    assert_memory_equal(&look->record, &leader, sizeof(leader));
    assert_false(look->has_stand_in);
}

/* Who is about to end has let go of its memory, and is no other for that. */
static void without_memory_it_is_no_exec(void **state)
{
    struct thread_record a = thread_of(7, 70, 20000), b = thread_of(7, 70, 300000);
    struct process_record leader = leader_of(7, 70, 1000, 3);

    for (int i = 0; i < 3; i++) {
        gather_begin(*state);
        a.memory = i == 0 ? 0 : 75;
        b.memory = i == 1 ? 0 : 75;
        leader.task.memory = i == 2 ? 0 : 75;
        take(*state, &a);
        take(*state, &leader);
        take(*state, &b);
        check_usage(&only_look(*state)->usage, 321000, 3);
    }
}

static void interleaved(void **state)
{
    struct process_record a = leader_of(7, 70, 1000, 3), b = dead_leader_of(8, 80, 2000, 3);
    struct thread_record a1 = thread_of(7, 70, 10000), a2 = thread_of(7, 70, 100000);
    struct process_record b1 = stand_in_of(8, 80, 20000, 3), b2 = stand_in_of(8, 80, 200000, 3);
    struct process_record single = leader_of(9, 90, 5, 1);
    const struct look *look = NULL, *seen[2];
    size_t at = 0;

    take(*state, &a1);
    take(*state, &b1);
    take(*state, &a);
    take(*state, &b2);
    assert_int_equal(gather_take(*state, &single.task.head, &look), 0);
    assert_non_null(look);
    check_usage(&look->usage, 5, 1);
    take(*state, &b);
    take(*state, &a2);
    seen[0] = gather_next(*state, &at);
    seen[1] = gather_next(*state, &at);
    assert_null(gather_next(*state, &at));
    assert_non_null(seen[0]);
    assert_non_null(seen[1]);
    assert_memory_equal(&seen[0]->record, &a, sizeof(a));
    check_usage(&seen[0]->usage, 111000, 3);
    check_exited_leader(seen[1], &b, &b1);
    check_usage(&seen[1]->usage, 222000, 3);
}

/* Whether a process is the same, its number alone says: pids are those of a namespace. */
static void numbers_tell_processes_apart(void **state)
{
    struct process_record a = leader_of(7, 70, 1000, 2), b = leader_of(7, 71, 2000, 2);
    size_t at = 0;

    take(*state, &a);
    take(*state, &b);
    check_usage(&gather_next(*state, &at)->usage, 1000, 1);
    check_usage(&gather_next(*state, &at)->usage, 2000, 1);
    assert_null(gather_next(*state, &at));
}

enum { MANY = 3000 };

struct one {
    uint64_t sum;
    uint64_t records;
    uint64_t ended;
    bool has_leader;
};

/* Records of many processes in any order, against plain sums. */
static void many_in_any_order(void **state)
{
    struct chance chance = chance_of_test();
    static struct one list[MANY + 1];
    const struct look *look;
    size_t at = 0, leaders = 0, found = 0;

    memset(list, 0, sizeof(list));
    for (int i = 0; i < 8 * MANY; i++) {
        uint32_t pid = (uint32_t)chance_below(&chance, MANY) + 1;
        uint64_t n = chance_below(&chance, 1000000);
        struct process_record leader = leader_of(pid, pid * UINT64_C(0x900), n, 9);
        struct thread_record thread = thread_of(pid, pid * UINT64_C(0x900), n);
        struct one *one = &list[pid];
        bool as_leader = !one->has_leader && chance_below(&chance, 4) == 0;

        leader.task.ended = thread.ended = usage_of(n * 3);
        one->ended = one->records == 0 ? n * 3 : one->ended;
        one->sum += n;
        one->records++;
        one->has_leader |= as_leader;
        leaders += as_leader;
        take(*state, as_leader ? (void *)&leader : (void *)&thread);
    }
    for (; (look = gather_next(*state, &at)); found++) {
        struct one *one = &list[look->record.task.head.pid];

        assert_true(one->has_leader);
        one->has_leader = false;
        check_usage(&look->usage, one->sum + one->ended, one->records + 1);
        check_own(&look->own, one->sum, one->records);
    }
    assert_int_equal(found, leaders);
}

/* A walk leaves nothing to the next one but memory. */
static void walks_begin_anew(void **state)
{
    struct process_record leader = leader_of(7, 70, 1000, 2);
    struct thread_record thread = thread_of(7, 70, 20000);
    size_t calls = 0;

    for (int i = 0; i < 5; i++) {
        gather_begin(*state);
        check_nobody(*state);
        take(*state, &leader);
        take(*state, &thread);
        check_usage(&only_look(*state)->usage, 21000, 2);
        assert_true(i == 0 || heap_calls == calls);
        calls = heap_calls;
    }
}

/* Takes leaders of two threads until memory is refused. Returns how many there were. */
static uint32_t take_until_refused(struct gather *g)
{
    struct process_record leader;
    const struct look *look;
    uint32_t taken = 0;
    int r;

    for (;; taken++) {
        leader = leader_of(taken + 1, taken + 70, 1000, 2);
        r = gather_take(g, &leader.task.head, &look);
        assert_null(look);
        if (r < 0)
            break;
    }
    assert_int_equal(r, -ENOMEM);
    return taken;
}

/* Whichever allocation is refused, what was gathered holds, and the next walk is a whole one. */
static void no_memory(void **state)
{
    struct process_record single = leader_of(9, 90, 5, 1), leader = leader_of(7, 70, 1000, 2);

    (void)state;
    for (size_t allowed = 0; allowed < 8; allowed++) {
        const struct look *look = NULL;
        struct gather g;
        uint32_t taken;
        size_t at = 0;

        gather_init(&g);
        gather_begin(&g);
        heap_allows = allowed;
        taken = take_until_refused(&g);
        assert_true((taken > 0) == (allowed > 1));
        /* Those with one thread need none. */
        assert_int_equal(gather_take(&g, &single.task.head, &look), 0);
        assert_non_null(look);
        for (uint32_t i = 0; i < taken; i++)
            assert_int_equal(gather_next(&g, &at)->record.task.head.pid, i + 1);
        assert_null(gather_next(&g, &at));
        heap_allows = SIZE_MAX;
        gather_begin(&g);
        take(&g, &leader);
        assert_int_equal(only_look(&g)->record.task.head.pid, 7);
        gather_deinit(&g);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_thread_is_whole),
        TEST(one_thread_of_several),
        TEST(leader_first),
        TEST(threads_first),
        TEST(sums_of_ended_threads_once),
        TEST(exited_leader),
        TEST(exited_threads_do_not_stand_in),
        TEST(exiting_threads_stand_in_for_want_of_others),
        TEST(without_a_leader),
        TEST(the_last_thread_of_several),
        TEST(an_exec_from_a_thread),
        TEST(an_exec_instead_of_an_exited_leader),
        TEST(without_memory_it_is_no_exec),
        TEST(interleaved),
        TEST(numbers_tell_processes_apart),
        TEST(many_in_any_order),
        TEST(walks_begin_anew),
        TEST(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
