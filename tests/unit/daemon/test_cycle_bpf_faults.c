/*
 * Cycles over a kernel that counts, without memory, and with a source that fails: text takes over,
 * and gives back. Nothing is lost, counted twice, or falls.
 *
 * Linked with --wrap of what bpf_host.h says, and of the allocators.
 */
#include "bpf_host.h"
#include "chance.h"

/* ---- memory ---- */

static _Thread_local struct {
    bool armed;
    unsigned calls, at; /* of the one that fails, from 1; 0: each does */
    unsigned hits;
} heap;

static bool heap_fails(void)
{
    if (!heap.armed || (++heap.calls != heap.at && heap.at != 0))
        return false;
    heap.hits++;
    return true;
}

#define WRAP_HEAP(name, parameters, arguments)                \
    void *__real_##name parameters;                           \
    void *__wrap_##name parameters;                           \
    void *__wrap_##name parameters                            \
    {                                                         \
        return heap_fails() ? NULL : __real_##name arguments; \
    }

WRAP_HEAP(malloc, (size_t n), (n))
WRAP_HEAP(calloc, (size_t n, size_t size), (n, size))
WRAP_HEAP(realloc, (void *p, size_t n), (p, n))

/* ---- no memory ---- */

static const struct rule_text family_rules[] = {
    {.name = "web", .comm = "lead", .children = true},
    {.name = "app-${1}", .comm = "app", .cmdline = "-n (\\w+)"},
    {.name = "-noise", .comm = "noise"},
};

/* A host on which everything happens in one interval; one end is still to be told. */
static struct process_end make_eventful(struct fixture *h)
{
    struct process_end late, later;

    set_rules(h, family_rules, sizeof(family_rules) / sizeof(*family_rules), 1000);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    for (uint32_t pid = 10; pid < 20; pid++)
        BEAR(h, .pid = pid, .comm = pid < 12 ? "lead" : "x", .start_ns = pid * SECOND);
    run(h);
    late = end_process(h, 10, SIGTERM);
    run(h);
    for (uint32_t pid = 11; pid < 20; pid++)
        work(h, pid, 1000 + pid, pid, 10);
    tell(h, late);
    end_and_tell(h, 11, EXIT_FAILED);
    end_and_tell(h, 12, 0);
    later = end_process(h, 13, SIGKILL);
    for (uint32_t i = 0; i < 80; i++) {
        char comm[TASK_COMM_SIZE];

        snprintf(comm, sizeof(comm), "g%u", i);
        PASS(h, .pid = 1000 + i, .comm = comm, .user_ns = 1 + i);
    }
    for (uint32_t i = 0; i < 200; i++)
        PASS(h, .pid = 2000 + i, .comm = i % 2 ? "app" : "job", .user_ns = 1, .read_bytes = 1);
    PASS(h, .pid = 3000, .comm = "lead", .user_ns = 5);
    PASS(h, .pid = 3001, .comm = "child", .parent = 3000, .user_ns = 50);
    PASS(h, .pid = 3002, .comm = "noise", .parent = 3000, .user_ns = 500);
    for (uint32_t i = 0; i < 20; i++) {
        char comm[TASK_COMM_SIZE];

        snprintf(comm, sizeof(comm), i % 4 ? "n%u" : "app", i);
        BEAR(h, .pid = 4000 + i, .comm = comm, .cgroup = i % 3 ? 0 : 20 + i, .user_ns = i);
    }
    return later;
}

static void end_eventful(struct fixture *h, struct process_end later)
{
    tell(h, later);
    run_times(h, 4);
    assert_int_equal(h->cycle.table.n_awaited, 0);
    assert_int_equal(ends_waiting(&h->source.ends), 0);
}

static void check_same(struct fixture *h, const struct fixture *twin, unsigned at)
{
    assert_int_equal(h->cycle.groups.n_order, twin->cycle.groups.n_order);
    for (size_t i = 0; i < h->cycle.groups.n_order; i++) {
        uint32_t number = twin->cycle.groups.order[i];
        const struct group *g = &twin->cycle.groups.groups[number];
        struct stand *stand = stand_of(h, h->cycle.groups.order[i]);

        check_span_at(group_name(&twin->cycle.groups, number), stand->name, strlen(stand->name),
                      __FILE__, __LINE__);
        for (unsigned k = 0; k < GROUP_COUNTER_N; k++)
            if (g->total[k] != stand->total[k])
                fail_msg("allocation %u: %s: counter %u is %lu, not %lu", at, stand->name, k,
                         stand->total[k], g->total[k]);
    }
}

/* Whichever allocation fails, the cycles after it count what that one did not, once. */
static void no_memory(void **state)
{
    struct fixture *twin = *state, *h = calloc(1, sizeof(*h));
    unsigned failed = 0, at = 0;
    bool hit;

    assert_non_null(h);
    {
        struct process_end later = make_eventful(twin);

        run(twin);
        end_eventful(twin, later);
    }
    do {
        struct process_end later;
        int r;

        open_fixture(h);
        later = make_eventful(h);
        heap.calls = heap.hits = 0;
        heap.at = ++at;
        heap.armed = true;
        r = try_run(h);
        heap.armed = false;
        hit = heap.hits > 0;
        assert_true(r == 0 || r == -ENOMEM);
        failed += r < 0;
        run(h);
        end_eventful(h, later);
        check_same(h, twin, at);
        close_fixture(h);
    } while (hit);
    assert_true(failed > 10);
    free(h);
}

/* Cycle after cycle: nothing is lost, and once there is some it is all counted. */
static void no_memory_for_long(void **state)
{
    enum { CYCLES = 40 };
    struct fixture *h = *state;
    unsigned failed = 0;

    tell(h, make_eventful(h));
    heap.at = 0;
    for (uint32_t i = 0; i < CYCLES; i++) {
        heap.armed = true;
        failed += try_run(h) < 0;
        heap.armed = false;
        PASS(h, .pid = 5000 + i, .comm = "more", .user_ns = 1);
    }
    assert_int_equal(failed, CYCLES);
    run_times(h, 4);
    assert_int_equal(total(h, "more", STARTED), CYCLES);
    assert_int_equal(exits(h, "more"), CYCLES);
    assert_int_equal(sum(h, USER) + sum(h, SYSTEM), h->used_ns - 500); /* noise */
}

/* Whom no walk comes to is looked for again when that failed, not some day. */
static void no_memory_for_the_blind_spot(void **state)
{
    struct fixture *h = *state;
    unsigned failed = 0;

    for (heap.at = 1;; heap.at++) {
        BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
        BEAR(h, .pid = 20, .comm = "blind", .start_ns = 50 * SECOND, .hidden = true);
        BEAR(h, .pid = 21, .comm = "spot", .start_ns = 50 * SECOND, .hidden = true);
        heap.calls = heap.hits = 0;
        heap.armed = true;
        failed += try_run(h) < 0;
        heap.armed = false;
        run(h);
        assert_int_equal(h->cycle.processes, 3);
        assert_int_equal(group(h, "blind")->members, 1);
        assert_int_equal(group(h, "spot")->members, 1);
        if (heap.hits == 0)
            break;
        close_fixture(h);
        open_fixture(h);
    }
    assert_true(failed > 5);
}

/* ---- a source that fails ---- */

static bool shows(struct fixture *h, const char *name, unsigned counter)
{
    struct groups_moment moment = {.sequence = 1, .now_ns = h->now.monotonic_ns};
    struct group_values values;

    groups_values(&h->cycle.groups, (uint32_t)(group(h, name) - h->cycle.groups.groups), &moment,
                  &values);
    return values.have_counters >> counter & 1;
}

/* A failure of the walk: where, and how. */
struct failure {
    int begin_error, error;
    size_t error_at;
};

static void fail_in_an_interval(struct fixture *h, struct failure f)
{
    struct process_end late;
    uint64_t read, waited;

    BEAR(h, .pid = 1, .comm = "x", .start_ns = 1);
    for (uint32_t pid = 10; pid < 20; pid++)
        BEAR(h, .pid = pid, .comm = "x", .start_ns = pid * SECOND, .user_ns = pid * 777777,
             .system_ns = pid * 3333333, .read_bytes = 1000);
    run(h);
    for (uint32_t pid = 10; pid < 20; pid++)
        work(h, pid, 123456789, 23456789, 100);
    late = end_process(h, 10, 0);
    run(h);
    assert_int_equal(h->cycle.table.n_awaited, 1);
    assert_int_equal(cpu(h, "x"), 9 * 146913578u);
    for (uint32_t pid = 11; pid < 20; pid++)
        work(h, pid, 123456789, 23456789, 100);
    end_and_tell(h, 11, SIGABRT);
    (void)end_process(h, 12, 0);
    PASS(h, .pid = 100, .comm = "x", .user_ns = 1000, .read_bytes = 5, .status = EXIT_FAILED);
    BEAR(h, .pid = 30, .comm = "x", .user_ns = 5 * TICK, .read_bytes = 50);
    kernel.begin_error = f.begin_error;
    kernel.error = f.error;
    kernel.error_at = f.error_at;
    read = total(h, "x", COUNTER_STORAGE_READ_BYTES);
    waited = total(h, "x", COUNTER_RUN_QUEUE_NS);
    h->slack_ns = 20 * TICK;
    /* What text has of it is what the new one read. */
    run(h);
    assert_null(h->cycle.bpf);
    assert_true(h->cycle.bpf_failed);
    assert_int_equal(h->cycle.processes, 9);
    assert_int_equal(group(h, "x")->members, 9);
    assert_int_equal(total(h, "x", EXITED + EXIT_REASON_CRASHED), 1);
    assert_int_equal(total(h, "x", EXITED + EXIT_REASON_FAILURE), 1);
    /* Nobody will tell of them any more. */
    assert_int_equal(total(h, "x", EXITED + EXIT_REASON_UNKNOWN), 2);
    assert_int_equal(exits(h, "x"), 4);
    assert_int_equal(h->cycle.table.n_awaited, 0);
    assert_int_equal(total(h, "x", STARTED), 2);
    assert_true(cpu(h, "x") + 20 * TICK >= h->used_ns - 2 * 146913578u);
    assert_true(total(h, "x", COUNTER_STORAGE_READ_BYTES) >= read + 55);
    assert_false(shows(h, "x", COUNTER_RUN_QUEUE_NS));
    assert_true(total(h, "x", COUNTER_RUN_QUEUE_NS) >= waited);
    (void)late;
}

/* Text has the I/O of children, which is no news when it takes over; and from then on it counts. */
static void go_on_with_text(struct fixture *h)
{
    uint64_t before = total(h, "x", COUNTER_STORAGE_READ_BYTES), waited, used;

    h->cycle.bpf_failed = false;
    kernel.begin_error = 0;
    kernel.error_at = NEVER;
    for (uint32_t pid = 13; pid < 20; pid++)
        work(h, pid, 10 * TICK, 10 * TICK, 7);
    used = cpu(h, "x");
    waited = total(h, "x", COUNTER_RUN_QUEUE_NS);
    run(h);
    assert_int_equal(total(h, "x", COUNTER_STORAGE_READ_BYTES), before + 7 * 7);
    assert_true(cpu(h, "x") >= used + (7 * 20 - 9 * 2) * TICK);
    assert_int_equal(exits(h, "x"), 4);
    assert_int_equal(total(h, "x", COUNTER_RUN_QUEUE_NS), waited);
    /* And back: the first look is base, of what text did not know or knew otherwise. */
    ends_forget(&h->source.ends, ends_waiting(&h->source.ends));
    cycle_use_bpf(&h->cycle, &h->source);
    work(h, 13, 10 * TICK, 10 * TICK, 7);
    run(h);
    assert_int_equal(total(h, "x", COUNTER_STORAGE_READ_BYTES), before + 7 * 7);
    assert_int_equal(total(h, "x", COUNTER_RUN_QUEUE_NS), waited);
    assert_true(shows(h, "x", COUNTER_RUN_QUEUE_NS));
    used = cpu(h, "x");
    work(h, 13, 100, 1, 9);
    run(h);
    assert_int_equal(total(h, "x", COUNTER_STORAGE_READ_BYTES), before + 7 * 7 + 9);
    assert_int_equal(total(h, "x", COUNTER_RUN_QUEUE_NS), waited + 7);
    assert_int_equal(cpu(h, "x"), used + 101);
    assert_int_equal(exits(h, "x"), 4);
}

static void source_fails(void **state)
{
    static const struct failure failures[] = {
        {-EPERM, 0, NEVER}, {-EINVAL, 0, NEVER}, {0, -EBADMSG, 0}, {0, -EIO, 1},
        {0, -EBADMSG, 5},   {0, -EAGAIN, 10},    {0, 0, 0}, /* and one that shows nobody */
    };
    struct fixture *h = *state;

    for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
        fail_in_an_interval(h, failures[i]);
        go_on_with_text(h);
        close_fixture(h);
        open_fixture(h);
    }
}

/* What is our own trouble is no fault of the source: the cycle fails, and the next one goes on. */
static void source_out_of_room(void **state)
{
    static const int errors[] = {-EMFILE, -ENFILE, -ENOMEM};
    struct fixture *h = *state;

    begin_with_web(h);
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        BEAR(h, .pid = 20, .comm = "job", .user_ns = 10);
        PASS(h, .pid = 100, .comm = "job", .user_ns = 1);
        work(h, 10, 1000, 0, 0);
        kernel.begin_error = errors[i];
        assert_int_equal(try_run(h), errors[i]);
        kernel.begin_error = 0;
        /* Half a walk takes nothing away either. */
        kernel.error = -ENOMEM;
        kernel.error_at = 2;
        assert_int_equal(try_run(h), -ENOMEM);
        kernel.error_at = NEVER;
        assert_non_null(h->cycle.bpf);
        assert_false(h->cycle.bpf_failed);
        end_and_tell(h, 20, 0);
        run(h);
        run(h);
        assert_int_equal(sum(h, USER) + sum(h, SYSTEM), h->used_ns);
        assert_int_equal(total(h, "job", STARTED), 2 * (i + 1));
        assert_int_equal(exits(h, "job"), 2 * (i + 1));
        assert_int_equal(exits(h, "web"), 0);
    }
}

/* Back and forth over a life of births, ends and failures: nothing falls, nothing jumps. */
static void back_and_forth(void **state)
{
    enum { PIDS = 12, CYCLES = 300 };
    struct chance chance = chance_of_test();
    struct fixture *h = *state;
    struct process_end late[PIDS * 4];
    unsigned failures = 0, switches = 0, told_late = 0;
    size_t n_late = 0;

    h->text_has_children = true;
    h->slack_ns = CYCLES * PIDS * TICK;
    BEAR(h, .pid = 1, .comm = "steady", .start_ns = SECOND);
    run(h);
    /* Chance may hold back what this is about for a while. */
    for (int i = 0;
         i < CYCLES || (i < 10 * CYCLES && (failures <= 3 || switches <= 10 || told_late <= 10));
         i++) {
        bool bpf = h->cycle.bpf != NULL;

        if (i >= CYCLES)
            h->slack_ns += PIDS * TICK;
        work(h, 1, chance_below(&chance, 3 * SECOND), chance_below(&chance, SECOND), 10);
        for (uint32_t pid = 10; pid < 10 + PIDS; pid++) {
            bool alive = false;

            for (size_t k = 0; k < kernel.n; k++)
                alive |= kernel.tasks[k].alive && kernel.tasks[k].record.task.head.pid == pid;
            if (alive && chance_below(&chance, 4) == 0) {
                struct process_end end =
                    end_process(h, pid, chance_below(&chance, 2) ? 0 : SIGKILL);

                if (bpf && chance_below(&chance, 2))
                    tell(h, end);
                else if (bpf && n_late < PIDS * 4 && chance_below(&chance, 3))
                    late[n_late++] = end;
            } else if (alive) {
                work(h, pid, chance_below(&chance, SECOND), chance_below(&chance, SECOND), 10);
            } else if (chance_below(&chance, 2)) {
                BEAR(h, .pid = pid, .comm = pid % 2 ? "odd" : "even", .cgroup = pid % 3,
                     .user_ns = chance_below(&chance, SECOND), .read_bytes = 10);
            }
        }
        for (size_t k = 0; bpf && k < 3; k++)
            PASS(h, .pid = 1000 + (uint32_t)k, .comm = "odd", .user_ns = 5, .read_bytes = 1);
        while (bpf && n_late > 0 && chance_below(&chance, 2)) {
            tell(h, late[--n_late]);
            told_late++;
        }
        kernel.error = chance_below(&chance, 2) ? -EIO : -ENOMEM;
        kernel.error_at = chance_below(&chance, 8) == 0 ? chance_below(&chance, PIDS) : NEVER;
        if (try_run(h) < 0) {
            kernel.error_at = NEVER;
            run(h);
        }
        kernel.error_at = NEVER;
        failures += h->cycle.bpf_failed;
        if (h->cycle.bpf_failed || chance_below(&chance, 8) == 0) {
            bool to_bpf = h->cycle.bpf == NULL && !h->cycle.bpf_failed;

            h->cycle.bpf_failed = false;
            ends_forget(&h->source.ends, ends_waiting(&h->source.ends));
            n_late = 0;
            cycle_use_bpf(&h->cycle, to_bpf ? &h->source : NULL);
            switches++;
        }
        /* Whatever reads it, to a tick or two. */
        assert_true(total(h, "steady", USER) + total(h, "steady", SYSTEM) + 3 * TICK >=
                    task_of(1)->record.task.usage.runtime_ns);
    }
    assert_true(failures > 3 && switches > 10 && told_late > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_memory),    TEST(no_memory_for_long), TEST(no_memory_for_the_blind_spot),
        TEST(source_fails), TEST(source_out_of_room), TEST(back_and_forth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
