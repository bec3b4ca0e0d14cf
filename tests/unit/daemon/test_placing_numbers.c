/* Control groups by the numbers that the kernel has for them: when no text has to be read. */
#include "placing_of_test.h"

enum { SECONDS_OF_A_LONG_TURN = 1800 };

/* What a kernel that counts would bring of the process with this record. */
static struct placing_read look_by(struct placing_fixture *h, unsigned pid, uint32_t ref,
                                   struct placing_numbers numbers)
{
    struct placing *p = &h->cycle.placing;
    struct placing_read read;
    struct sample s;

    if (!placing_is_due(p, ref, ref == TABLE_NONE, numbers, &read))
        return read;
    assert_int_equal(process_begin(&h->cycle.procfs, pid, &h->cycle.faults, &s), 0);
    assert_int_equal(placing_read(p, &s, numbers, &read), 0);
    process_end(&h->cycle.procfs);
    return read;
}

#define LOOK_BY(h, pid, ...) \
    look_by(h, pid, table_find_pid(&(h)->cycle.table, pid), (struct placing_numbers){__VA_ARGS__})

static void check_path(const struct placing_fixture *h, struct placing_read read, const char *path,
                       int line)
{
    const struct cgroup_identity *id = cgroups_identity(&h->cycle.placing.cgroups, read.cgroup);

    assert_int_equal(read.cgroup == CGROUPS_NONE, path == NULL);
    if (path)
        check_span_at(id ? id->path : SPAN_LITERAL("none"), path, strlen(path), __FILE__, line);
}

#define CHECK_PATH(h, read, path) check_path(h, read, path, __LINE__)

/* Whatever the process: who is where somebody was before needs no text. */
static void ids_need_no_text(void **state)
{
    struct placing_fixture *h = *state;
    struct placing_read read;

    h->cycle.placing.ids_tell = true;
    for (unsigned pid = 10; pid < 14; pid++)
        PUT_IN(h, pid < 13 ? "/a.service" : "/b.service", .pid = pid, .comm = "x");
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    read = LOOK_BY(h, 10, .id = 5, .set = 77);
    assert_int_equal(cgroup_reads[10], 1);
    assert_true(read.due);
    assert_int_equal(read.set, 77);
    CHECK_PATH(h, read, "/a.service");
    for (int i = 0; i < 3; i++)
        for (unsigned pid = 10; pid < 13; pid++) {
            read = LOOK_BY(h, pid, .id = 5, .set = 78 + pid);
            assert_true(read.due);
            assert_false(read.is_root);
            assert_int_equal(read.set, 78 + pid);
            CHECK_PATH(h, read, "/a.service");
        }
    assert_int_equal(cgroup_reads[10], 1);
    assert_int_equal(cgroup_reads[11] + cgroup_reads[12], 0);
    /* A new one is read, once. */
    for (int i = 0; i < 3; i++)
        CHECK_PATH(h, LOOK_BY(h, 13, .id = 6, .set = 77), "/b.service");
    assert_int_equal(cgroup_reads[13], 1);
    /* Who was moved is where his number says, at once. */
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 6, .set = 77), "/b.service");
    assert_int_equal(cgroup_reads[10], 1);
    /* Without a number it is as ever. */
    CHECK_PATH(h, LOOK_BY(h, 10, .set = 77), "/a.service");
    assert_int_equal(cgroup_reads[10], 2);
}

/* Where there are other hierarchies, the number of one tells nothing. */
static void ids_among_other_hierarchies(void **state)
{
    struct placing_fixture *h = *state;

    assert_false(h->cycle.placing.ids_tell); /* a tree of files is no host of ours */
    HOST_PUT(&h->tree, .pid = 10, .comm = "x");
    HOST_PUT(&h->tree, .pid = 11, .comm = "x");
    put_cgroup_1(h, 10, "/a.service");
    put_cgroup_1(h, 11, "/b.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 1, .set = 77), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 1, .set = 78), "/b.service");
    assert_int_equal(cgroup_reads[10], 1);
    assert_int_equal(cgroup_reads[11], 1);
}

/* An id lives as long as somebody is there, and its path may come again with another. */
static void ids_are_forgotten(void **state)
{
    struct placing_fixture *h = *state;

    h->cycle.placing.ids_tell = true;
    PUT_IN(h, "/a.service", .pid = 10, .comm = "x");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    assert_int_equal(cgroup_reads[10], 1);
    for (int i = 0; i < 3; i++)
        placing_end(&h->cycle.placing);
    assert_int_equal(h->cycle.placing.cgroups.n_entries, 0);
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 5), "/a.service");
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 9), "/a.service");
    assert_int_equal(cgroup_reads[10], 3);
    assert_int_equal(h->cycle.placing.cgroups.n_entries, 1);
    assert_int_equal(cgroups_of_id(&h->cycle.placing.cgroups, 5), CGROUPS_NONE);
    /* Where the text is not to be had, its id is of nobody. */
    assert_int_equal(unlink(tree_path(&h->tree, "10/cgroup")), 0);
    CHECK_PATH(h, LOOK_BY(h, 10, .id = 11), NULL);
    assert_int_equal(cgroups_of_id(&h->cycle.placing.cgroups, 11), CGROUPS_NONE);
}

/* Process 10 of a cycle in which the kernel says these numbers of it. */
static void look_in_a_cycle(struct placing_fixture *h, struct placing_numbers numbers)
{
    struct sample s = {.identity = {10, 0}, .parent_pid = 1, .comm_len = 1, .comm = "x"};
    struct placing_read read = look_by(h, 10, table_find(&h->cycle.table, s.identity), numbers);
    enum sighting sighting;
    struct delta delta;
    uint32_t ref, texts;

    assert_int_equal(table_see(&h->cycle.table, &s, 0, &h->cycle.wanted, &ref, &sighting, &delta),
                     0);
    assert_int_equal(placing_place(&h->cycle.placing, table_process(&h->cycle.table, ref), sighting,
                                   &delta, &s, &read, &texts),
                     0);
}

/* Such cycles, a minute each, until the text is read; how many it took. */
static unsigned cycles_to_a_reading(struct placing_fixture *h, uint64_t set)
{
    unsigned before = cgroup_reads[10], n = 0;

    do {
        h->now.monotonic_ns += 60 * SECOND;
        table_begin(&h->cycle.table, 0);
        groups_begin(&h->cycle.groups);
        placing_begin(&h->cycle.placing, h->now.monotonic_ns, DEADLINE);
        look_in_a_cycle(h, (struct placing_numbers){.id = 3, .set = set});
        table_end(&h->cycle.table);
        placing_end(&h->cycle.placing);
    } while (++n < 1000 && cgroup_reads[10] == before);
    return n;
}

/*
 * Who is known not to have been moved is read at first sight and in the next cycle as ever, and
 * then twice an hour, in case its number was given again; who was moved is read at once.
 */
static void sets_tell_of_moves(void **state)
{
    struct placing_fixture *h = *state;
    unsigned first;

    HOST_PUT(&h->tree, .pid = 10, .comm = "x");
    put_cgroup_1(h, 10, "/a.service");
    assert_int_equal(cycles_to_a_reading(h, 7), 1);
    assert_int_equal(cycles_to_a_reading(h, 7), 1);
    /* Those that came in one cycle are not read again in one. */
    first = cycles_to_a_reading(h, 7);
    assert_int_equal(first, SECONDS_OF_A_LONG_TURN / 60 * (10 % 16 + 1) / 16 + 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cycles_to_a_reading(h, 7), SECONDS_OF_A_LONG_TURN / 60);
    put_cgroup_1(h, 10, "/b.service");
    assert_int_equal(cycles_to_a_reading(h, 8), 1);
    CHECK_AT(h, 10, "b.service");
    assert_int_equal(cycles_to_a_reading(h, 8), SECONDS_OF_A_LONG_TURN / 60);
    /* Not known any more, it is news as well, and then as without one. */
    assert_int_equal(cycles_to_a_reading(h, 0), 1);
    assert_int_equal(cycles_to_a_reading(h, 0), 1);
    assert_int_equal(cycles_to_a_reading(h, 9), 1);
    assert_int_equal(cycles_to_a_reading(h, 9), SECONDS_OF_A_LONG_TURN / 60);
}

/* Of who is gone: where its number says, else where its parent is, else nobody knows. */
static void recalled(void **state)
{
    struct placing_fixture *h = *state;
    struct placing *p = &h->cycle.placing;
    struct sample s = {.identity = {500, 9000}, .parent_pid = 10};
    struct placing_read read;

    p->ids_tell = true;
    PUT_IN(h, "/parent.service", .pid = 10, .comm = "parent", .start = 100);
    PUT_IN(h, "/other.service", .pid = 11, .comm = "other", .start = 100);
    HOST_PUT(&h->tree, .pid = 12, .comm = "nowhere", .start = 100);
    run(h);
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 5), "/other.service");
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/other.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 99}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/parent.service");
    placing_recall(p, &s, (struct placing_numbers){0}, &read);
    CHECK_PATH(h, read, "/parent.service");
    /* Younger than the child it is another's pid. */
    s.identity.start_ticks = 99;
    placing_recall(p, &s, (struct placing_numbers){0}, &read);
    assert_false(read.due);
    CHECK_PATH(h, read, NULL);
    s.identity.start_ticks = 9000;
    /* A parent of whom it is not known, one that nobody saw, and none. */
    for (unsigned i = 0; i < 3; i++) {
        s.parent_pid = (const uint32_t[]){12, 77, 0}[i];
        placing_recall(p, &s, (struct placing_numbers){.id = 99}, &read);
        assert_false(read.due);
        assert_int_equal(read.set, 0);
        CHECK_PATH(h, read, NULL);
    }
    /* Where ids tell nothing, so does this one. */
    p->ids_tell = false;
    s.parent_pid = 10;
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    CHECK_PATH(h, read, "/parent.service");
    for (unsigned pid = 0; pid < PIDS; pid++)
        assert_int_equal(cgroup_reads[pid], 0);
}

/* A control group that was made is known for two cycles, and as long as somebody is in it. */
static void learnt(void **state)
{
    struct placing_fixture *h = *state;
    struct placing *p = &h->cycle.placing;
    struct sample s = {.identity = {500, 9000}};
    struct placing_read read;

    p->ids_tell = true;
    PUT_IN(h, "/wrong.service", .pid = 11, .comm = "one", .start = 100);
    run(h);
    memset(cgroup_reads, 0, sizeof(cgroup_reads));
    placing_learn(p, 5, span_from_str("/system.slice/short.service"));
    placing_learn(p, 6, span_from_str("/system.slice/long.service"));
    CHECK_PATH(h, LOOK_BY(h, 11, .id = 6), "/system.slice/long.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_true(read.due);
    CHECK_PATH(h, read, "/system.slice/short.service");
    assert_int_equal(cgroup_reads[11], 0);
    /* Made again, it has another number. */
    placing_learn(p, 7, span_from_str("/system.slice/short.service"));
    placing_recall(p, &s, (struct placing_numbers){.id = 7}, &read);
    CHECK_PATH(h, read, "/system.slice/short.service");
    placing_recall(p, &s, (struct placing_numbers){.id = 5}, &read);
    assert_false(read.due);
    for (unsigned i = 0; i < 3; i++)
        run(h);
    placing_recall(p, &s, (struct placing_numbers){.id = 7}, &read);
    assert_false(read.due);
    /* Where there are other hierarchies, the path says nothing of where a process is. */
    p->ids_tell = false;
    placing_learn(p, 8, span_from_str("/c"));
    p->ids_tell = true;
    placing_recall(p, &s, (struct placing_numbers){.id = 8}, &read);
    assert_false(read.due);
}

/* Of this very host: whether ids tell is what its hierarchies say. */
static void ids_of_this_host(void **state)
{
    struct cycle_time now = {.monotonic_ns = SECOND, .boottime_ns = SECOND};
    struct cycle cycle;
    struct span text;

    (void)state;
    assert_int_equal(cycle_open(&cycle, CYCLE_DAEMON, "/proc", &now), 0);
    if (cycle.procfs.live && procfs_read(&cycle.procfs, cycle.procfs.root, "self/cgroup",
                                         PROCFS_RECORD, PROCFS_FILE_MAX, &text) == 0)
        assert_int_equal(cycle.placing.ids_tell, memcmp(text.p, "0::", 3) == 0);
    else
        assert_false(cycle.placing.ids_tell);
    cycle_close(&cycle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_need_no_text),  TEST(ids_among_other_hierarchies),
        TEST(ids_are_forgotten), TEST(sets_tell_of_moves),
        TEST(recalled),          TEST(learnt),
        TEST(ids_of_this_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
