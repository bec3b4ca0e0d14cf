/*
 * Whole cycles over a kernel that counts: who is there, who has ended, and who came and went.
 *
 * Linked with --wrap of what bpf_host.h says.
 */
#include "bpf_host.h"

/* ---- who is there ---- */

static void counts_to_the_nanosecond(void **state)
{
    struct fixture *h = *state;
    const struct group *web;

    begin_with_web(h);
    assert_int_equal(cpu(h, "web"), 0);
    assert_int_equal(total(h, "web", COUNTER_STORAGE_READ_BYTES), 0);
    for (uint64_t i = 1; i <= 20; i++) {
        work(h, 10, 1234567 * i, 333, 512);
        run(h);
        assert_int_equal(sum(h, USER) + sum(h, SYSTEM), h->used_ns);
        assert_int_equal(cpu(h, "web"), h->used_ns);
        assert_int_equal(total(h, "web", COUNTER_STORAGE_READ_BYTES), 512 * i);
        assert_int_equal(total(h, "web", COUNTER_RUN_QUEUE_NS), 7 * i);
        assert_int_equal(total(h, "web", COUNTER_VOLUNTARY_SWITCHES), i);
    }
    BEAR(h, .pid = 11, .comm = "web", .user_ns = 99, .system_ns = 1, .read_bytes = 10);
    run(h);
    assert_int_equal(cpu(h, "web"), h->used_ns);
    assert_int_equal(total(h, "web", STARTED), 1);
    web = group(h, "web");
    assert_int_equal(web->members, 2);
    assert_int_equal(web->gauge[GAUGE_RESIDENT_ANON_BYTES], 2 * 100 * 4096);
    assert_int_equal(web->gauge[GAUGE_OPEN_FDS], 6);
    assert_int_equal(web->gauge[GAUGE_MAPPINGS], 10);
    assert_true(web->worst_fds_ratio == 3.0 / 1024);
    for (int part = 0; part < PART_N; part++)
        assert_int_equal(web->unread[part], 0);
    assert_int_equal(h->cycle.processes, 3);
    assert_int_equal(h->cycle.faults.count[FAULT_STAT][FAULT_READ], 0);
}

/* What a walk could not count text says, of those processes alone. */
static void text_fills_in(void **state)
{
    struct fixture *h = *state;

    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    BEAR(h, .pid = 10, .comm = "fds", .start_ns = 2 * SECOND, .flags = TASK_FDS_COUNTED);
    BEAR(h, .pid = 11, .comm = "mem", .start_ns = 2 * SECOND, .flags = TASK_MEMORY_KNOWN);
    /* Gone from text since, or another by then. */
    BEAR(h, .pid = 12, .comm = "gone", .start_ns = 2 * SECOND, .flags = TASK_FDS_COUNTED);
    host_tree_take(&h->tree, 12);
    BEAR(h, .pid = 13, .comm = "reused", .start_ns = 2 * SECOND, .flags = TASK_FDS_COUNTED);
    HOST_PUT(&h->tree, .pid = 13, .comm = "reused", .start = 77, .fds = 5);
    run(h);
    assert_int_equal(group(h, "fds")->gauge[GAUGE_OPEN_FDS], 3);
    assert_int_equal(group(h, "fds")->gauge[GAUGE_RESIDENT_ANON_BYTES], 100 * 4096);
    assert_int_equal(group(h, "mem")->gauge[GAUGE_RESIDENT_ANON_BYTES], 1 << 20);
    assert_int_equal(group(h, "mem")->gauge[GAUGE_OPEN_FDS], 3);
    for (int i = 0; i < 2; i++) {
        const struct group *g = group(h, i ? "gone" : "reused");

        assert_int_equal(g->members, 1);
        assert_int_equal(g->have_gauges >> GAUGE_OPEN_FDS & 1, 0);
        assert_int_equal(g->unread[PART_FD], 1);
    }
}

/* Rules that need texts have them of the prober, and what was used meanwhile is not lost. */
static void texts_of_the_prober(void **state)
{
    struct fixture *h = *state;

    RULES(h, {.name = "app-${1}", .comm = "app", .cmdline = "-n (\\w+)"});
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    BEAR(h, .pid = 10, .comm = "app", .user_ns = 50);
    tree_pid(&h->tree, 10, "cmdline", "%s", "app -n one");
    run(h);
    assert_int_equal(h->cycle.groups.n_pending, 1);
    settle(h);
    work(h, 10, 5, 0, 0);
    run(h);
    assert_int_equal(cpu(h, "app-one"), 55);
    assert_int_equal(total(h, "app-one", STARTED), 1);
    /* And one that ends before they come. */
    BEAR(h, .pid = 11, .comm = "app", .user_ns = 7);
    run(h);
    end_and_tell(h, 11, 0);
    settle(h);
    run(h);
    assert_int_equal(cpu(h, "app"), 7);
    assert_int_equal(total(h, "app", STARTED), 1);
    assert_int_equal(total(h, "app", EXITED + EXIT_REASON_SUCCESS), 1);
    assert_int_equal(h->cycle.groups.held.n_used, 0);
}

/* Each control group is read once, whoever is in it, and who is moved is found by its number. */
static void control_groups(void **state)
{
    struct fixture *h = *state;

    assert_true(h->cycle.placing.ids_tell);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    for (uint32_t pid = 10; pid < 20; pid++)
        BEAR(h, .pid = pid, .comm = "x", .start_ns = pid * SECOND, .cgroup = 1 + pid % 2);
    run(h);
    assert_int_equal(group(h, "s1.service")->members, 5);
    assert_int_equal(group(h, "s2.service")->members, 5);
    /* Text is not asked any more. */
    for (uint32_t pid = 10; pid < 20; pid++)
        tree_pid(&h->tree, pid, "cgroup", "%s", "0::/wrong.service\n");
    run_times(h, 5);
    task_of(10)->record.cgroup = 2;
    run(h);
    assert_int_equal(group(h, "s1.service")->members, 4);
    assert_int_equal(group(h, "s2.service")->members, 6);
    assert_null(find_group(h, "wrong.service"));
}

/* ---- ends ---- */

/* Told before the snapshot that finds it gone: all it did, and how it ended. */
static void end_before_a_snapshot(void **state)
{
    struct fixture *h = *state;

    begin_with_web(h);
    work(h, 10, 1000, 10, 100);
    run(h);
    work(h, 10, 500, 5, 50);
    end_and_tell(h, 10, SIGSEGV);
    run(h);
    assert_int_equal(cpu(h, "web"), 1515);
    assert_int_equal(total(h, "web", COUNTER_STORAGE_READ_BYTES), 150);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_CRASHED), 1);
    assert_int_equal(exits(h, "web"), 1);
    assert_int_equal(group(h, "web")->members, 0);
    run_times(h, 5);
    assert_int_equal(exits(h, "web"), 1);
    assert_int_equal(h->cycle.table.n_awaited, 0);
}

/* Told after it: it leaves at once, and has ended when that is told. */
static void end_after_a_snapshot(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    begin_with_web(h);
    work(h, 10, 1000, 10, 100);
    end = end_process(h, 10, SIGKILL);
    for (int i = 0; i < 3; i++) {
        run(h);
        assert_int_equal(group(h, "web")->members, 0);
        assert_int_equal(exits(h, "web"), 0);
        assert_int_equal(h->cycle.table.n_awaited, 1);
    }
    tell(h, end);
    run(h);
    assert_int_equal(cpu(h, "web"), 1010);
    assert_int_equal(total(h, "web", COUNTER_STORAGE_READ_BYTES), 100);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_KILLED), 1);
    assert_int_equal(h->cycle.table.n_awaited, 0);
    run_times(h, 5);
    assert_int_equal(exits(h, "web"), 1);
    /* It was stopped for good. */
    assert_int_equal(total(h, "web", RESTARTS), 0);
}

/* Never told: it is given up after half a minute, and what is told later is no news. */
static void end_that_is_not_told(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    begin_with_web(h);
    work(h, 10, 1000, 0, 0);
    run(h);
    end = end_process(h, 10, SIGKILL);
    run_times(h, 3);
    assert_int_equal(exits(h, "web"), 0);
    run(h);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_UNKNOWN), 1);
    assert_int_equal(h->cycle.table.n_awaited, 0);
    tell(h, end);
    run_times(h, 3);
    assert_int_equal(cpu(h, "web"), 1000);
    assert_int_equal(exits(h, "web"), 1);
    assert_int_equal(total(h, "web", STARTED), 0);
}

/* As young as one may be, and given up: what is told then is no news either. */
static void end_that_is_told_too_late(void **state)
{
    struct fixture *h = *state;
    struct process_end end, other;

    begin_with_web(h);
    BEAR(h, .pid = 20, .comm = "job", .user_ns = 1000, .read_bytes = 10);
    run(h);
    other = pass(h, (struct passer){.pid = 100, .comm = "job", .user_ns = 1});
    end = end_process(h, 20, 0);
    run_times(h, 4);
    assert_int_equal(total(h, "job", EXITED + EXIT_REASON_UNKNOWN), 1);
    tell(h, end);
    run_times(h, 2);
    assert_int_equal(cpu(h, "job"), 1000);
    assert_int_equal(total(h, "job", STARTED), 1);
    assert_int_equal(exits(h, "job"), 1);
    /* Of one that nobody saw it is, however late. */
    tell(h, other);
    run(h);
    assert_int_equal(cpu(h, "job"), 1001);
    assert_int_equal(total(h, "job", STARTED), 2);
    assert_int_equal(exits(h, "job"), 2);
}

/* Seen in text, and found ended there: its end was counted, and has left no remains by now. */
static void end_told_after_text_saw_it(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    h->slack_ns = 2 * TICK;
    begin_with_web(h);
    cycle_use_bpf(&h->cycle, NULL);
    BEAR(h, .pid = 20, .comm = "job", .user_ns = 5 * TICK);
    run(h);
    end = end_process(h, 20, 0);
    run_times(h, 3);
    assert_int_equal(total(h, "job", EXITED + EXIT_REASON_UNKNOWN), 1);
    cycle_use_bpf(&h->cycle, &h->source);
    tell(h, end);
    run(h);
    tell(h, end);
    run(h);
    assert_int_equal(total(h, "job", STARTED), 1);
    assert_int_equal(exits(h, "job"), 1);
    assert_int_equal(cpu(h, "job"), 5 * TICK);
}

/* Known by its exit alone: it is counted by that, once no walk comes to it. */
static void end_known_by_its_exit(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    begin_with_web(h);
    work(h, 10, 1000, 0, 0);
    /* A zombie is there as long as nobody waits for it. */
    task_of(10)->record.state = 'Z';
    end = end_of(task_of(10), SIGTERM);
    leave_untold(end);
    run_times(h, 3);
    assert_int_equal(exits(h, "web"), 0);
    assert_int_equal(group(h, "web")->state[STATE_ZOMBIE], 1);
    (void)end_process(h, 10, SIGTERM);
    leave_untold(pass(h, (struct passer){.pid = 100, .comm = "job", .user_ns = 5}));
    run(h);
    assert_int_equal(cpu(h, "web"), 1000);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_TERMINATED), 1);
    assert_int_equal(cpu(h, "job"), 5);
    assert_int_equal(total(h, "job", STARTED), 1);
    assert_int_equal(exits(h, "job"), 1);
    assert_int_equal(h->cycle.table.n_awaited, 0);
    assert_int_equal(ends_waiting(&h->source.ends), 0);
    run_times(h, 5);
    assert_int_equal(exits(h, "web"), 1);
    assert_int_equal(exits(h, "job"), 1);
}

/* Missed by walks for a while, it goes on from what it had, and has not ended. */
static void missed_by_walks(void **state)
{
    struct fixture *h = *state;

    begin_with_web(h);
    for (int i = 0; i < 3; i++) {
        /* Nor is it in the text, or it would be read there. */
        task_of(10)->hidden = true;
        host_tree_take(&h->tree, 10);
        run_times(h, 2);
        assert_int_equal(group(h, "web")->members, 0);
        task_of(10)->hidden = false;
        work(h, 10, 1000, 0, 0);
        run(h);
        assert_int_equal(group(h, "web")->members, 1);
        assert_int_equal(cpu(h, "web"), h->used_ns);
    }
    assert_int_equal(exits(h, "web"), 0);
    end_and_tell(h, 10, 0);
    run(h);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_SUCCESS), 1);
}

/* A service that fails over and over: its ends come in any order with its successors. */
static void restarts(void **state)
{
    struct fixture *h = *state;
    struct process_end late = {0};

    begin_with_web(h);
    for (uint32_t i = 0; i < 6; i++) {
        struct process_end end = end_process(h, 10 + i, EXIT_FAILED);

        BEAR(h, .pid = 11 + i, .comm = "web", .user_ns = 10);
        if (i % 2)
            tell(h, end);
        run(h);
        if (i % 2 == 0)
            late = end;
        else
            tell(h, late);
        assert_int_equal(total(h, "web", RESTARTS), i + 1);
    }
    run_times(h, 5);
    assert_int_equal(total(h, "web", RESTARTS), 6);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_FAILURE), 6);
    assert_int_equal(exits(h, "web"), 6);
    assert_int_equal(total(h, "web", STARTED), 6);
    assert_int_equal(cpu(h, "web"), 60);
}

static void end_of_an_oom_victim(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    begin_with_web(h);
    end = end_process(h, 10, SIGKILL);
    end.task.flags |= TASK_OOM_VICTIM;
    tell(h, end);
    run(h);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_OOM), 1);
    assert_int_equal(exits(h, "web"), 1);
}

/* What ended before the daemon looked is of no time of its. */
static void ends_before_the_first_cycle(void **state)
{
    struct fixture *h = *state;

    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    PASS(h, .pid = 50, .comm = "old", .start_ns = 40 * SECOND, .user_ns = 1000);
    PASS(h, .pid = 51, .comm = "young", .start_ns = 5001 * SECOND, .user_ns = 1000);
    run(h);
    assert_null(find_group(h, "old"));
    assert_null(find_group(h, "young"));
    assert_int_equal(sum_exits(h) + sum(h, STARTED), 0);
    assert_int_equal(h->cycle.table.n_present, 1);
    /* And later, of one that was hidden from it until then. */
    PASS(h, .pid = 52, .comm = "hidden", .start_ns = 4000 * SECOND, .user_ns = 1000);
    run(h);
    assert_null(find_group(h, "hidden"));
    assert_int_equal(sum_exits(h) + sum(h, STARTED), 0);
}

/* ---- those that nobody saw ---- */

static void short_lives(void **state)
{
    enum { MANY = 5000 };
    struct fixture *h = *state;
    uint64_t expected = 0;

    begin_with_web(h);
    for (uint32_t i = 0; i < MANY; i++) {
        PASS(h, .pid = 100 + i, .comm = i % 5 ? "job" : "other", .user_ns = i, .system_ns = 1,
             .read_bytes = 3, .status = i % 2 ? 0 : EXIT_FAILED);
        expected += i % 5 ? i + 1 : 0;
        h->birth_ns -= TICK * 9 / 10;
    }
    run(h);
    assert_int_equal(total(h, "job", STARTED), MANY / 5 * 4);
    assert_int_equal(total(h, "other", STARTED), MANY / 5);
    assert_int_equal(exits(h, "job"), MANY / 5 * 4);
    assert_int_equal(total(h, "job", EXITED + EXIT_REASON_SUCCESS), MANY / 5 * 2);
    assert_int_equal(total(h, "job", EXITED + EXIT_REASON_FAILURE), MANY / 5 * 2);
    assert_int_equal(cpu(h, "job"), expected);
    assert_int_equal(sum(h, USER) + sum(h, SYSTEM), h->used_ns);
    assert_int_equal(total(h, "job", COUNTER_STORAGE_READ_BYTES), MANY / 5 * 4 * 3);
    assert_int_equal(total(h, "job", COUNTER_RUN_QUEUE_NS), MANY / 5 * 4 * 7);
    /* Nobody of them is there, or was. */
    assert_int_equal(group(h, "job")->members, 0);
    assert_int_equal(h->cycle.processes, 2);
    assert_int_equal(h->cycle.table.n_present, 2);
    assert_int_equal(ends_waiting(&h->source.ends), 0);
    run_times(h, 3);
    assert_int_equal(total(h, "job", STARTED), MANY / 5 * 4);
    assert_int_equal(exits(h, "job"), MANY / 5 * 4);
}

/* The kernel may let go of them long after they ended, a walk or more behind. */
static void short_lives_told_late(void **state)
{
    struct fixture *h = *state;
    struct process_end ends[6];

    begin_with_web(h);
    for (uint32_t i = 0; i < 6; i++)
        ends[i] = pass(h, (struct passer){.pid = 100 + i, .comm = "job", .user_ns = 1u << i});
    for (uint32_t i = 0; i < 6; i++) {
        run(h);
        tell(h, ends[i]);
        assert_int_equal(i ? cpu(h, "job") : 0, (1u << i) - 1);
    }
    run(h);
    assert_int_equal(cpu(h, "job"), 63);
    assert_int_equal(total(h, "job", STARTED), 6);
    assert_int_equal(exits(h, "job"), 6);
}

/* One pid, used again and again within an interval, and once within a tick. */
static void pids_used_again(void **state)
{
    struct fixture *h = *state;

    begin_with_web(h);
    for (int i = 0; i < 100; i++)
        PASS(h, .pid = 50, .comm = "job", .user_ns = 10);
    BEAR(h, .pid = 50, .comm = "job", .user_ns = 10);
    run(h);
    assert_int_equal(total(h, "job", STARTED), 101);
    assert_int_equal(exits(h, "job"), 100);
    assert_int_equal(cpu(h, "job"), 1010);
    assert_int_equal(group(h, "job")->members, 1);
    end_and_tell(h, 50, 0);
    PASS(h, .pid = 50, .comm = "job", .user_ns = 10);
    run(h);
    assert_int_equal(total(h, "job", STARTED), 102);
    assert_int_equal(exits(h, "job"), 102);
    assert_int_equal(cpu(h, "job"), 1020);
    /* The pid of one that is awaited. */
    BEAR(h, .pid = 60, .comm = "job", .user_ns = 10);
    run(h);
    {
        struct process_end end = end_process(h, 60, 0);

        run(h);
        BEAR(h, .pid = 60, .comm = "job", .user_ns = 10);
        run(h);
        tell(h, end);
        end_and_tell(h, 60, 0);
        run(h);
    }
    assert_int_equal(total(h, "job", STARTED), 104);
    assert_int_equal(exits(h, "job"), 104);
    assert_int_equal(cpu(h, "job"), 1040);
    assert_int_equal(sum(h, USER) + sum(h, SYSTEM), h->used_ns);
}

/*
 * Of two with one pid that began in the same tick nobody can tell which is meant: they are one,
 * and no more is counted than was used.
 */
static void one_pid_twice_in_a_tick(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    begin_with_web(h);
    for (uint32_t i = 0; i < 3; i++) {
        end = pass(h, (struct passer){.pid = 50, .comm = "job", .user_ns = 10});
        tell(h, end);
        end.start_ns++;
        end.usage = usage_of(i * 10, 0);
        h->used_ns += i * 10;
        tell(h, end);
    }
    BEAR(h, .pid = 60, .comm = "job", .user_ns = 10);
    run(h);
    assert_int_equal(total(h, "job", STARTED), 4);
    assert_int_equal(exits(h, "job"), 3);
    assert_int_equal(cpu(h, "job"), 10 + 10 + 20 + 10);
    end = end_process(h, 60, 0);
    tell(h, end);
    tell(h, end);
    run(h);
    assert_int_equal(exits(h, "job"), 4);
    assert_int_equal(cpu(h, "job"), 50);
    assert_int_equal(h->cycle.table.n_present, 2);
}

static const struct rule_text lead_rule = {.name = "web", .comm = "lead", .children = true};

/* Who led them has come and gone as well, or leads still, or is awaited. */
static void children_of_those_that_led(void **state)
{
    struct fixture *h = *state;
    struct process_end end;

    RULES(h, lead_rule);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    BEAR(h, .pid = 10, .comm = "lead", .start_ns = 50 * SECOND);
    run(h);
    /* Of one that is known, and that ends itself. */
    PASS(h, .pid = 100, .parent = 10, .comm = "a", .user_ns = 1);
    run(h);
    assert_int_equal(cpu(h, "web"), 1);
    PASS(h, .pid = 101, .parent = 10, .comm = "b", .user_ns = 10);
    end_and_tell(h, 10, 0);
    run(h);
    assert_int_equal(cpu(h, "web"), 11);
    /* Of one that nobody saw, told after it, and on over the child. */
    end = pass(h, (struct passer){.pid = 102, .comm = "lead", .user_ns = 100});
    PASS(h, .pid = 103, .parent = 102, .comm = "c", .user_ns = 1000);
    PASS(h, .pid = 104, .parent = 103, .comm = "d", .user_ns = 10000);
    tell(h, end);
    run(h);
    assert_int_equal(cpu(h, "web"), 11111);
    assert_int_equal(total(h, "web", STARTED), 5);
    assert_int_equal(exits(h, "web"), 6);
    assert_int_equal(sum(h, STARTED), 5);
}

/* Its leader is as new as they are, and there: a build, a job that has just begun. */
static void children_of_a_new_leader(void **state)
{
    struct fixture *h = *state;

    RULES(h, lead_rule);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    BEAR(h, .pid = 10, .comm = "lead", .user_ns = 1);
    for (uint32_t i = 0; i < 10; i++)
        PASS(h, .pid = 100 + i, .parent = 10, .comm = "cc", .user_ns = 10);
    run(h);
    assert_int_equal(cpu(h, "web"), 101);
    assert_int_equal(total(h, "web", STARTED), 11);
    assert_int_equal(exits(h, "web"), 10);
    assert_null(find_group(h, "cc"));
}

/*
 * A walk came when the leader had ended and nobody told of it yet; then they tell of its child as
 * well, in any order.
 */
static void children_of_an_awaited_leader(void **state)
{
    struct fixture *h = *state;

    RULES(h, lead_rule);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    BEAR(h, .pid = 10, .comm = "lead", .start_ns = 50 * SECOND);
    BEAR(h, .pid = 11, .comm = "lead", .start_ns = 50 * SECOND);
    run(h);
    for (uint32_t pid = 10; pid < 12; pid++) {
        struct process_end child =
            pass(h, (struct passer){.pid = 100, .parent = pid, .comm = "late", .user_ns = 5});
        struct process_end end = end_process(h, pid, 0);

        run_times(h, 2);
        assert_int_equal(h->cycle.table.n_awaited, 1);
        if (pid == 11) {
            tell(h, child);
            run(h);
            assert_int_equal(exits(h, "web"), 3);
        }
        tell(h, end);
        if (pid == 10)
            tell(h, child);
        run(h);
        assert_int_equal(h->cycle.table.n_awaited, 0);
    }
    assert_int_equal(cpu(h, "web"), 10);
    assert_int_equal(total(h, "web", STARTED), 2);
    assert_int_equal(exits(h, "web"), 4);
    assert_null(find_group(h, "late"));
}

/* Where nobody of the family is known any more, they are counted all the same, to the last one. */
static void more_than_are_remembered(void **state)
{
    enum { MANY = 3000 };
    struct fixture *h = *state;

    RULES(h, lead_rule);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    PASS(h, .pid = 99, .comm = "lead", .user_ns = 1);
    for (uint32_t i = 0; i < MANY; i++) {
        PASS(h, .pid = 100 + i, .parent = 99, .comm = "child", .user_ns = 1);
        h->birth_ns -= TICK * 9 / 10;
    }
    run(h);
    assert_int_equal(sum(h, STARTED), MANY + 1);
    assert_int_equal(sum_exits(h), MANY + 1);
    assert_int_equal(sum(h, USER), MANY + 1);
    assert_true(exits(h, "web") > 1000);
    assert_int_equal(h->cycle.table.n_present, 1);
    assert_true(h->cycle.table.n_processes < MANY);
}

/* Of a service that is new as well: what a walk reads of it places those it does not come to. */
static void short_lives_by_control_group(void **state)
{
    struct fixture *h = *state;

    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    BEAR(h, .pid = 10, .comm = "x", .start_ns = 50 * SECOND, .cgroup = 5);
    run(h);
    PASS(h, .pid = 100, .comm = "a", .cgroup = 5, .user_ns = 1);
    /* Nobody knows that one: it was where its parent is, or by its name. */
    PASS(h, .pid = 101, .comm = "b", .cgroup = 6, .parent = 10, .user_ns = 10);
    PASS(h, .pid = 102, .comm = "c", .cgroup = 6, .user_ns = 100);
    BEAR(h, .pid = 11, .comm = "y", .cgroup = 7);
    PASS(h, .pid = 103, .comm = "d", .cgroup = 7, .user_ns = 1000);
    run(h);
    assert_int_equal(cpu(h, "s5.service"), 11);
    assert_int_equal(cpu(h, "c"), 100);
    assert_int_equal(cpu(h, "s7.service"), 1000);
    assert_null(find_group(h, "d"));
}

static void short_lives_that_are_excluded(void **state)
{
    struct fixture *h = *state;

    RULES(h, {.name = "-noise", .comm = "noise"}, lead_rule);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    PASS(h, .pid = 100, .comm = "noise", .user_ns = 1000);
    PASS(h, .pid = 101, .comm = "lead", .user_ns = 1);
    PASS(h, .pid = 102, .parent = 101, .comm = "noise", .user_ns = 1000);
    PASS(h, .pid = 103, .parent = 102, .comm = "job", .user_ns = 10);
    run(h);
    assert_int_equal(sum(h, USER), 11);
    assert_int_equal(sum(h, STARTED), 2);
    assert_int_equal(sum_exits(h), 2);
    /* An excluded one leads nobody. */
    assert_int_equal(cpu(h, "web"), 1);
    assert_int_equal(cpu(h, "job"), 10);
}

static void short_lives_beyond_the_maximum(void **state)
{
    enum { MAX = 10, MANY = 100 };
    struct fixture *h = *state;
    uint64_t ordinary = 0;

    set_rules(h, NULL, 0, MAX);
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    for (uint32_t i = 0; i < MANY; i++) {
        char comm[TASK_COMM_SIZE];

        snprintf(comm, sizeof(comm), "c%u", i);
        PASS(h, .pid = 100 + i, .comm = comm, .user_ns = 1);
    }
    run(h);
    assert_int_equal(h->cycle.groups.n_counted, MAX);
    assert_int_equal(total(h, "_other", STARTED), MANY - (MAX - 1));
    assert_int_equal(exits(h, "_other"), MANY - (MAX - 1));
    assert_int_equal(cpu(h, "_other"), MANY - (MAX - 1));
    assert_int_equal(h->cycle.groups.other_assignments, MANY - (MAX - 1));
    for (uint32_t i = 0; i < MAX - 1; i++) {
        char comm[TASK_COMM_SIZE];

        snprintf(comm, sizeof(comm), "c%u", i);
        ordinary += exits(h, comm);
    }
    assert_int_equal(ordinary, MAX - 1);
}

/* Users, and an exec since the fork, are as of the end. */
static void short_lives_without_texts(void **state)
{
    struct fixture *h = *state;

    RULES(h, {.name = "app-${1}", .comm = "app", .cmdline = "-n (\\w+)"},
          {.name = "apps", .comm = "app"});
    BEAR(h, .pid = 1, .comm = "init", .start_ns = 1);
    run(h);
    PASS(h, .pid = 100, .comm = "app", .user_ns = 5);
    run(h);
    assert_int_equal(cpu(h, "apps"), 5);
    assert_int_equal(total(h, "apps", STARTED), 1);
    assert_int_equal(exits(h, "apps"), 1);
    assert_int_equal(h->cycle.groups.held.n_used, 0);
    assert_int_equal(h->cycle.groups.n_pending, 0);
}

/* There is room for so many ends; what is lost of them is counted nowhere, and no counter falls. */
static void lost_ends(void **state)
{
    enum { MANY = ENDS_MAX + 100 };
    struct fixture *h = *state;

    begin_with_web(h);
    for (uint32_t i = 0; i < MANY; i++) {
        PASS(h, .pid = 100 + i, .comm = "job", .user_ns = 1);
        h->birth_ns -= TICK * 99 / 100;
    }
    work(h, 10, 100, 0, 0);
    end_and_tell(h, 10, 0);
    assert_int_equal(h->source.ends.lost, MANY - ENDS_MAX + 1);
    run(h);
    assert_int_equal(total(h, "job", STARTED), ENDS_MAX);
    assert_int_equal(exits(h, "job"), ENDS_MAX);
    assert_int_equal(cpu(h, "job"), ENDS_MAX);
    run_times(h, 3);
    assert_int_equal(total(h, "web", EXITED + EXIT_REASON_UNKNOWN), 1);
    assert_int_equal(cpu(h, "web"), 0);
    assert_int_equal(h->cycle.table.n_awaited, 0);
}

/* ---- the blind spot ---- */

/* Whom no walk comes to, and text does: it is read there, in every cycle. */
static void blind_spot(void **state)
{
    struct fixture *h = *state;
    uint64_t before;

    h->slack_ns = TICK;
    BEAR(h, .pid = 20, .comm = "blind", .start_ns = 50 * SECOND, .user_ns = 100 * TICK,
         .hidden = true);
    begin_with_web(h);
    for (uint64_t i = 1; i <= 5; i++) {
        work(h, 20, 3 * TICK, 2 * TICK, 10);
        work(h, 10, 1000, 0, 0);
        run(h);
        assert_int_equal(group(h, "blind")->members, 1);
        assert_int_equal(cpu(h, "blind"), i * 5 * TICK);
        assert_int_equal(cpu(h, "web"), i * 1000);
        assert_int_equal(h->cycle.processes, 3);
    }
    /* One that walks come to after all is counted there, and not twice. */
    task_of(20)->hidden = false;
    work(h, 20, 7, 0, 0);
    run(h);
    assert_int_equal(group(h, "blind")->members, 1);
    assert_int_equal(cpu(h, "blind"), 25 * TICK + 7);
    assert_int_equal(h->cycle.blind_spot.n, 0);
    assert_int_equal(h->cycle.processes, 3);
    end_and_tell(h, 20, 0);
    run(h);
    assert_int_equal(total(h, "blind", EXITED + EXIT_REASON_SUCCESS), 1);
    assert_int_equal(exits(h, "blind"), 1);
    before = h->cycle.blind_spot.looked_in;
    run_times(h, 62 - (unsigned)(h->cycle.table.cycle - before));
    assert_int_equal(h->cycle.blind_spot.looked_in, before);
}

/* Its end may be told or not: then it is given up like others. */
static void blind_spot_that_ends(void **state)
{
    struct fixture *h = *state;

    h->slack_ns = 2 * TICK;
    for (uint32_t pid = 20; pid < 22; pid++)
        BEAR(h, .pid = pid, .comm = "blind", .start_ns = 50 * SECOND, .user_ns = 100 * TICK,
             .hidden = true);
    begin_with_web(h);
    work(h, 20, 2 * TICK + 5, 0, 0);
    work(h, 21, TICK + 5, 0, 0);
    run(h);
    assert_int_equal(cpu(h, "blind"), 3 * TICK);
    end_and_tell(h, 20, SIGTERM);
    (void)end_process(h, 21, SIGTERM);
    run(h);
    assert_int_equal(cpu(h, "blind"), 3 * TICK + 5);
    assert_int_equal(total(h, "blind", EXITED + EXIT_REASON_TERMINATED), 1);
    assert_int_equal(exits(h, "blind"), 1);
    assert_int_equal(h->cycle.blind_spot.n, 0);
    run_times(h, 3);
    assert_int_equal(total(h, "blind", EXITED + EXIT_REASON_UNKNOWN), 1);
    assert_int_equal(exits(h, "blind"), 2);
}

/* It is looked for now and then; who came up meanwhile was hidden. */
static void blind_spot_by_turns(void **state)
{
    struct fixture *h = *state;
    unsigned cycles = 0;

    begin_with_web(h);
    BEAR(h, .pid = 20, .comm = "blind", .user_ns = 100 * TICK, .hidden = true);
    while (!find_group(h, "blind")) {
        run(h);
        cycles++;
    }
    assert_int_equal(cycles, 64);
    assert_int_equal(cpu(h, "blind"), 0);
    assert_int_equal(total(h, "blind", STARTED), 0);
}

/* Who began when the walk was over, or so it may be, is found by the next one. */
static void blind_spot_of_the_young(void **state)
{
    struct fixture *h = *state;

    BEAR(h, .pid = 20, .comm = "young", .start_ns = 5010 * SECOND - SECOND, .hidden = true);
    BEAR(h, .pid = 21, .comm = "old", .start_ns = 5009 * SECOND - TICK, .hidden = true);
    begin_with_web(h);
    assert_null(find_group(h, "young"));
    assert_int_equal(group(h, "old")->members, 1);
    assert_int_equal(h->cycle.processes, 3);
}

/* A source that shows so few is none. */
static void blind_spot_too_large(void **state)
{
    struct fixture *h = *state;

    for (uint32_t n = 64; n <= 65; n++) {
        for (uint32_t pid = 100; pid < 100 + n; pid++)
            BEAR(h, .pid = pid, .comm = "blind", .start_ns = 50 * SECOND, .hidden = true);
        begin_with_web(h);
        assert_int_equal(group(h, "blind")->members, n);
        assert_int_equal(h->cycle.processes, n + 2);
        assert_int_equal(h->cycle.bpf_failed, n > 64);
        close_fixture(h);
        open_fixture(h);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_to_the_nanosecond),
        TEST(text_fills_in),
        TEST(texts_of_the_prober),
        TEST(control_groups),
        TEST(end_before_a_snapshot),
        TEST(end_after_a_snapshot),
        TEST(end_that_is_not_told),
        TEST(end_that_is_told_too_late),
        TEST(end_told_after_text_saw_it),
        TEST(end_known_by_its_exit),
        TEST(missed_by_walks),
        TEST(restarts),
        TEST(end_of_an_oom_victim),
        TEST(ends_before_the_first_cycle),
        TEST(short_lives),
        TEST(short_lives_told_late),
        TEST(pids_used_again),
        TEST(one_pid_twice_in_a_tick),
        TEST(children_of_those_that_led),
        TEST(children_of_a_new_leader),
        TEST(children_of_an_awaited_leader),
        TEST(more_than_are_remembered),
        TEST(short_lives_by_control_group),
        TEST(short_lives_that_are_excluded),
        TEST(short_lives_beyond_the_maximum),
        TEST(short_lives_without_texts),
        TEST(lost_ends),
        TEST(blind_spot),
        TEST(blind_spot_that_ends),
        TEST(blind_spot_by_turns),
        TEST(blind_spot_of_the_young),
        TEST(blind_spot_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
