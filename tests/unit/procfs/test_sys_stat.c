/* /proc/stat as a stream: its fields, its oddities, and the same answer for every cut. */
#include "procfs/sys_stat.h"

#include "chance.h"
#include "digest.h"
#include "tree.h"

#define ORDINARY                                    \
    "cpu  42202 24 41182 160000 900 0 266 42 7 5\n" \
    "cpu0 21101 12 20591 80000 450 0 133 21 3 2\n"  \
    "cpu1 21101 12 20591 80000 450 0 133 21 4 3\n"  \
    "intr 78305 0 0 25 0 0 0 0 1 0 0 0\n"           \
    "ctxt 1895404\n"                                \
    "btime 1700000000\n"                            \
    "processes 48425\n"                             \
    "procs_running 3\n"                             \
    "procs_blocked 1\n"                             \
    "softirq 369659 1 28561 5 4053 167817 2 4 58626 3 110593\n"

static const uint64_t tick_ns = 10000000;

static int parse(const char *text, struct host *host, struct buf *rows)
{
    struct sys_stat s;

    *host = (struct host){0};
    sys_stat_init(&s, 100, host, rows);
    sys_stat_feed(&s, span_from_str(text));
    return sys_stat_finish(&s);
}

static void every_field(void **state)
{
    static const uint64_t ticks[] = {42202, 24, 41182, 160000, 900, 0, 266, 42, 7, 5};
    static const uint64_t softirqs[] = {1, 28561, 5, 4053, 167817, 2, 4, 58626, 3, 110593};
    struct host h;

    (void)state;
    assert_int_equal(parse(ORDINARY, &h, NULL), 0);
    assert_int_equal(h.field[HOST_INTERRUPTS], 78305);
    assert_int_equal(h.field[HOST_CONTEXT_SWITCHES], 1895404);
    assert_int_equal(h.field[HOST_BOOT_TIME_SECONDS], 1700000000);
    assert_int_equal(h.field[HOST_TASKS_CREATED], 48425);
    assert_int_equal(h.field[HOST_PROCESSES_RUNNING], 3);
    assert_int_equal(h.field[HOST_PROCESSES_BLOCKED], 1);
    assert_int_equal(h.have, 0x3f);
    assert_int_equal(h.cpu.columns, CPU_MODE_N);
    for (int i = 0; i < CPU_MODE_N; i++)
        assert_int_equal(h.cpu.ns[i], ticks[i] * tick_ns);
    assert_int_equal(h.softirqs, SOFTIRQ_N);
    assert_memory_equal(h.softirq, softirqs, sizeof(softirqs));
    assert_int_equal(h.n_cpus, 0);
}

static void rows_by_their_number(void **state)
{
    struct host h;
    struct buf rows;

    (void)state;
    buf_init(&rows, 1 << 20);
    assert_int_equal(parse("cpu 1 1\ncpu8 8 80\ncpu0 0 10\ncpu65535 5 50\ncpu12 12 120\ncpu8 9 90\n"
                           "cpu65536 1\ncpu 2 2\ncpu007 7\ncpux 1\ncpu1x 1\ncpu-1 1\ncpu123456 1\n"
                           "cpu0 1 1\n",
                           &h, &rows),
                     0);
    assert_int_equal(h.n_cpus, 4);
    assert_int_equal(h.cpus_online, 12);
    assert_int_equal(h.cpus[0].cpu, 0);
    assert_int_equal(h.cpus[1].cpu, 8);
    assert_int_equal(h.cpus[2].cpu, 12);
    assert_int_equal(h.cpus[3].cpu, 65535);
    assert_int_equal(h.cpus[1].times.ns[CPU_USER], 8 * tick_ns);
    assert_int_equal(h.cpus[1].times.ns[CPU_NICE], 80 * tick_ns);
    assert_int_equal(h.cpus[1].times.columns, 2);
    assert_int_equal(h.cpu.ns[CPU_USER], tick_ns);
    /* The next text starts anew. */
    assert_int_equal(parse("cpu3 1\n", &h, &rows), 0);
    assert_int_equal(h.n_cpus, 1);
    assert_int_equal(h.cpus[0].cpu, 3);
    buf_deinit(&rows);
}

/* How many CPUs there are is known without their rows, however the text is cut. */
static void rows_are_counted(void **state)
{
    static const char text[] = "cpu 1 1\ncpu0 1\ncpu12 1\nintr 7\ncp\ncpu3";

    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        struct host h = {0};
        struct sys_stat s;

        sys_stat_init(&s, 100, &h, NULL);
        sys_stat_feed(&s, span_of(text, cut));
        sys_stat_feed(&s, span_of(text + cut, sizeof(text) - 1 - cut));
        (void)sys_stat_finish(&s);
        assert_int_equal(h.cpus_online, 3);
    }
}

static void rows_that_do_not_fit(void **state)
{
    struct host h;
    struct buf rows;

    (void)state;
    buf_init(&rows, 2 * sizeof(struct cpu_row));
    assert_int_equal(parse("cpu0 1\ncpu1 1\n", &h, &rows), 0);
    assert_int_equal(parse("cpu0 1\ncpu1 1\ncpu2 1\n", &h, &rows), -ENOMEM);
    buf_deinit(&rows);
}

static void first_wins(void **state)
{
    struct host h;

    (void)state;
    assert_int_equal(parse("btime 5\nbtime 6\ncpu 1\ncpu 2\nsoftirq 9 1\nsoftirq 9 2\n", &h, NULL),
                     0);
    assert_int_equal(h.field[HOST_BOOT_TIME_SECONDS], 5);
    assert_int_equal(h.cpu.ns[CPU_USER], tick_ns);
    assert_int_equal(h.softirq[0], 1);
}

static void a_bad_number_costs_its_field(void **state)
{
    struct host h;

    (void)state;
    assert_int_equal(
        parse("ctxt 7\nprocesses -2045677862\nprocs_running -1\nbtime 17x\nintr 4 x\n", &h, NULL),
        SYS_STAT_MALFORMED);
    assert_int_equal(h.have, 1 << HOST_CONTEXT_SWITCHES | 1 << HOST_INTERRUPTS);
    assert_int_equal(
        parse("cpu 1 2 x 4\ncpu 1 2 3\nctxt\nbtime \nsoftirq 1 -2 3\nprocesses 3\n", &h, NULL),
        SYS_STAT_MALFORMED);
    assert_int_equal(h.cpu.columns, 0);
    assert_int_equal(h.softirqs, 0);
    assert_int_equal(h.have, 1 << HOST_TASKS_CREATED);
}

static void the_largest_numbers(void **state)
{
    struct host h;

    (void)state;
    assert_int_equal(parse("ctxt 9223372036854775807\n", &h, NULL), 0);
    assert_int_equal(h.field[HOST_CONTEXT_SWITCHES], INT64_MAX);
    assert_int_equal(parse("ctxt 00000000000000000000000009\n", &h, NULL), 0);
    assert_int_equal(h.field[HOST_CONTEXT_SWITCHES], 9);
    assert_int_equal(parse("ctxt 9223372036854775808\nbtime 1\n", &h, NULL), SYS_STAT_MALFORMED);
    assert_int_equal(h.have, 1 << HOST_BOOT_TIME_SECONDS);
    assert_int_equal(parse("ctxt 99999999999999999999999999999\nbtime 1\n", &h, NULL),
                     SYS_STAT_MALFORMED);
    assert_int_equal(h.have, 1 << HOST_BOOT_TIME_SECONDS);
    /* Ticks that are fine, but not as nanoseconds. */
    assert_int_equal(parse("cpu 1 922337203686\n", &h, NULL), SYS_STAT_MALFORMED);
    assert_int_equal(h.cpu.columns, 0);
}

static void lines_of_other_kernels(void **state)
{
    struct host h;

    (void)state;
    assert_int_equal(
        parse("cpu 1 2 3 4\nsoftirq 5\nnewkey 1 2\nctx 1\nctxtt 1\nprocs_running_more 1\n\n"
              " btime 3\nbtime\t4\n",
              &h, NULL),
        0);
    assert_int_equal(h.cpu.columns, 4);
    assert_int_equal(h.softirqs, 0);
    assert_int_equal(h.have, 0);
    assert_int_equal(
        parse("cpu 1 2 3 4 5 6 7 8 9 10 11 12x\nsoftirq 0 1 2 3 4 5 6 7 8 9 10 11 y\n", &h, NULL),
        0);
    assert_int_equal(h.cpu.columns, 10);
    assert_int_equal(h.softirqs, 10);
    assert_int_equal(parse("", &h, NULL), 0);
    assert_int_equal(h.have, 0);
    assert_int_equal(parse("btime 0\n", &h, NULL), 0);
    assert_true(host_has(&h, HOST_BOOT_TIME_SECONDS));
}

static void no_last_line_feed(void **state)
{
    struct host h;

    (void)state;
    assert_int_equal(parse("ctxt 1\nbtime 1700000000", &h, NULL), 0);
    assert_int_equal(h.field[HOST_BOOT_TIME_SECONDS], 1700000000);
    assert_int_equal(parse("ctxt 1\nbtime", &h, NULL), SYS_STAT_MALFORMED);
    assert_int_equal(parse("ctxt 1\nbtim", &h, NULL), 0);
    assert_int_equal(parse("cpu 1 2", &h, NULL), 0);
    assert_int_equal(h.cpu.columns, 2);
}

static void check_cut(struct span text, struct digest_cuts cuts, struct span whole)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    digest_sys_stat_cut(text, cuts, &out);
    check_span_at(buf_span(&out), whole.p, whole.n, __FILE__, __LINE__);
    buf_deinit(&out);
}

/* One cut at every place, then all pieces of one length. */
static void every_cut(void **state)
{
    static const struct span texts[] = {
        SPAN_LITERAL(ORDINARY),
        SPAN_LITERAL("cpu 1 2 x 4\nctxt\nbtime 17x\nintr 9223372036854775808 1\nprocesses -1\n"
                     "procs_running_and_much_longer 5\ncpu3 1 922337203686\ncpu2 9\nctxt 5\nbtime"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct buf whole;

        buf_init(&whole, 1 << 20);
        digest_sys_stat(texts[i], &whole);
        for (size_t cut = 1; cut < texts[i].n; cut++) {
            struct host h = {0};
            struct sys_stat s;
            unsigned char length = (unsigned char)(cut - 1);

            sys_stat_init(&s, 100, &h, NULL);
            sys_stat_feed(&s, span_of(texts[i].p, cut));
            sys_stat_feed(&s, span_of(NULL, 0));
            sys_stat_feed(&s, span_skip(texts[i], cut));
            (void)sys_stat_finish(&s);
            if (i == 0)
                assert_int_equal(h.have, 0x3f);
            if (cut <= 256)
                check_cut(texts[i], (struct digest_cuts){&length, 1}, buf_span(&whole));
        }
        buf_deinit(&whole);
    }
}

static void random_cuts(void **state)
{
    struct chance chance = chance_of_test();
    struct buf whole;

    (void)state;
    buf_init(&whole, 1 << 20);
    digest_sys_stat(SPAN_LITERAL(ORDINARY), &whole);
    for (int i = 0; i < 3000; i++) {
        unsigned char lengths[16];

        for (size_t k = 0; k < sizeof(lengths); k++)
            lengths[k] = (unsigned char)chance_below(&chance, i % 2 ? 8 : 64);
        check_cut(SPAN_LITERAL(ORDINARY), (struct digest_cuts){lengths, sizeof(lengths)},
                  buf_span(&whole));
    }
    buf_deinit(&whole);
}

/* 4096 CPUs and 100,001 interrupts, so that tokens straddle every edge of the reader's buffer. */
static void a_large_machine(void **state)
{
    enum { CPUS = 4096 };
    struct procfs fs;
    struct host h = {0};
    struct tree t;
    FILE *f;

    (void)state;
    tree_new(&t);
    f = fopen(tree_path(&t, "stat"), "w");
    assert_non_null(f);
    fprintf(f, "cpu  1 2 3 4 5 6 7 8 9 10\n");
    for (int i = 0; i < CPUS; i++)
        fprintf(f, "cpu%d %d 12 20591 80000 450 0 133 21 0 0\n", i, 1000000 + i);
    fprintf(f, "intr 4711");
    for (int i = 0; i < 100000; i++)
        fprintf(f, " %d", i % 997);
    fprintf(f, "\nctxt 12\nbtime 1700000000\nprocesses 34\n");
    fclose(f);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(sys_stat_read(&fs, &h, &fs.cpus), 0);
    assert_int_equal(h.n_cpus, CPUS);
    for (int i = 0; i < CPUS; i++) {
        assert_int_equal(h.cpus[i].cpu, i);
        assert_int_equal(h.cpus[i].times.ns[CPU_USER], (1000000 + i) * tick_ns);
    }
    assert_int_equal(h.field[HOST_INTERRUPTS], 4711);
    assert_int_equal(h.field[HOST_BOOT_TIME_SECONDS], 1700000000);
    assert_int_equal(h.field[HOST_TASKS_CREATED], 34);
    procfs_close(&fs);
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),         cmocka_unit_test(rows_by_their_number),
        cmocka_unit_test(rows_are_counted),    cmocka_unit_test(rows_that_do_not_fit),
        cmocka_unit_test(first_wins),          cmocka_unit_test(a_bad_number_costs_its_field),
        cmocka_unit_test(the_largest_numbers), cmocka_unit_test(lines_of_other_kernels),
        cmocka_unit_test(no_last_line_feed),   cmocka_unit_test(every_cut),
        cmocka_unit_test(random_cuts),         cmocka_unit_test(a_large_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
