/* maps: legal but odd lines, lines that are none, and counting in pieces. */
#include "procfs/pid_maps.h"

#include "chance.h"
#include "tree.h"

/* Parses a copy at the end of its memory; the path then points into `line` as it should. */
static int parse(struct span line, struct mapping *ret)
{
    struct span copy = check_copy(line), rest = copy;
    int r = pid_maps_next(&rest, ret);

    if (r == 0)
        ret->path.p = line.p + (ret->path.p - copy.p);
    free((void *)copy.p);
    return r;
}

static void ordinary_line(void **state)
{
    struct mapping m;

    (void)state;
    assert_int_equal(parse(SPAN_LITERAL("7fc9fe9ee000-7fc9fe9f0000 rw-p 001d3000 fe:0a 332835      "
                                        "               /usr/lib/libc.so.6\n"),
                           &m),
                     0);
    assert_int_equal(m.start, 0x7fc9fe9ee000);
    assert_int_equal(m.end, 0x7fc9fe9f0000);
    assert_memory_equal(m.perms, "rw-p", 4);
    assert_int_equal(m.offset, 0x1d3000);
    assert_int_equal(m.device_major, 0xfe);
    assert_int_equal(m.device_minor, 0x0a);
    assert_int_equal(m.inode, 332835);
    check_span(m.path, "/usr/lib/libc.so.6");
}

static void odd_paths(void **state)
{
#define AT "00010000-00011000 r--p 00000000 fe:00 1                                  "
    static const struct {
        struct span line;
        struct span path;
    } rows[] = {
        {SPAN_LITERAL("00010000-00011000 rw-p 00000000 00:00 0 \n"), SPAN_LITERAL("")},
        {SPAN_LITERAL("00010000-00011000 rw-p 00000000 00:00 0\n"), SPAN_LITERAL("")},
        {SPAN_LITERAL("00010000-00011000 rw-p 00000000 00:00 0"), SPAN_LITERAL("")},
        {SPAN_LITERAL(AT "/opt/sp ace/lib x.so\n"), SPAN_LITERAL("/opt/sp ace/lib x.so")},
        {SPAN_LITERAL(AT "/opt/two  blanks/tail  \n"), SPAN_LITERAL("/opt/two  blanks/tail  ")},
        {SPAN_LITERAL(AT "/opt/new\\012line.so\n"), SPAN_LITERAL("/opt/new\\012line.so")},
        {SPAN_LITERAL(AT "/opt/back\\slash.so\n"), SPAN_LITERAL("/opt/back\\slash.so")},
        {SPAN_LITERAL(AT "/opt/tab\there\n"), SPAN_LITERAL("/opt/tab\there")},
        {SPAN_LITERAL(AT "/opt/b\xff"
                         "d"),
         SPAN_LITERAL("/opt/b\xff"
                      "d")},
        {SPAN_LITERAL(AT "/memfd:my memfd\\012name (deleted)\n"),
         SPAN_LITERAL("/memfd:my memfd\\012name (deleted)")},
        {SPAN_LITERAL(AT "[anon:pool x]\n"), SPAN_LITERAL("[anon:pool x]")},
        {SPAN_LITERAL(AT "//anon\n"), SPAN_LITERAL("//anon")},
        {SPAN_LITERAL(AT "anon_inode:[io_uring]\n"), SPAN_LITERAL("anon_inode:[io_uring]")},
        {SPAN_LITERAL("00010000-00011000 rw-p 00000000 00:00 0 /x"), SPAN_LITERAL("/x")},
    };
    struct mapping m;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(parse(rows[i].line, &m), 0);
        check_span_at(m.path, rows[i].path.p, rows[i].path.n, __FILE__, __LINE__);
    }
}

static void odd_numbers(void **state)
{
    struct mapping m;

    (void)state;
    assert_int_equal(parse(SPAN_LITERAL("0001e000-0001f000 r--p fffff000 fffff:00 "
                                        "18446744073709551615            /opt/big.so (deleted)\n"),
                           &m),
                     0);
    assert_int_equal(m.device_major, 0xfffff);
    assert_int_equal(m.inode, UINT64_MAX);
    assert_int_equal(m.offset, 0xfffff000);
    assert_int_equal(parse(SPAN_LITERAL("0001d000-0001e000 ---s 00000000 103:03 49684469           "
                                        "               /opt/lib.so\n"),
                           &m),
                     0);
    assert_int_equal(m.device_major, 0x103);
    assert_int_equal(m.device_minor, 3);
    assert_int_equal(parse(SPAN_LITERAL("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   "
                                        "               [vsyscall]\n"),
                           &m),
                     0);
    assert_int_equal(m.start, 0xffffffffff600000);
    assert_int_equal(m.end, 0xffffffffff601000);
    check_span(m.path, "[vsyscall]");
    assert_int_equal(parse(SPAN_LITERAL("0-1 r--p 0 0:0 0 "), &m), 0);
    assert_int_equal(m.end, 1);
}

/* The text of tests/cases/case_36.py. */
static void a_whole_text(void **state)
{
    static const char text[] =
        /* clang-format off */
        "00010000-00011000 rw-p 00000000 00:00 0 \n"
        "00011000-00012000 r--p 00000000 fe:00 1                                  /opt/sp ace/lib x.so\n"
        "00012000-00013000 r--p 00000000 fe:00 2                                  /opt/two  blanks/tail  \n"
        "00013000-00014000 r--p 00000000 fe:00 3                                  /opt/new\\012line.so\n"
        "00014000-00015000 r--p 00000000 fe:00 4                                  /opt/back\\slash.so\n"
        "00015000-00016000 r--p 00000000 fe:00 5                                  /opt/tab\there\n"
        "00016000-00017000 r--p 00000000 fe:00 6                                  /opt/b\xff" "d\n"
        "00017000-00018000 r--s 00000000 00:01 25                                 /memfd:my memfd\\012name (deleted)\n"
        "00018000-00019000 rw-s 00000000 00:01 26                                 /dev/zero (deleted)\n"
        "00019000-0001a000 rw-s 00000000 00:01 0                                  /SYSV00001234 (deleted)\n"
        "0001a000-0001b000 rw-p 00000000 00:00 0                                  [anon:pool x]\n"
        "0001b000-0001c000 rw-s 00000000 00:01 27                                 [anon_shmem:cache one]\n"
        "0001c000-0001d000 r-xp 00000000 00:00 0                                  //anon\n"
        "0001d000-0001e000 r--p 00000000 103:03 49684469                          /opt/app/lib.so\n"
        "0001e000-0001f000 r--p fffff000 fffff:00 18446744073709551615            /opt/app/big.so (deleted)\n"
        "0001f000-00020000 r--p 00000000 fe:00 7                                  /opt/really (deleted)\n"
        "00020000-00021000 r--p 00000000 fe:00 8                                  /tmp/[heap]\n"
        "00021000-00022000 rw-p 00000000 00:00 0                                  [stack:1234]\n"
        "00022000-00023000 rw-s 00000000 00:10 2048                               anon_inode:[io_uring]\n"
        "00023000-00024000 ---s 00000000 fe:00 9                                  /opt/gone.so (deleted)\n"
        "00024000-00025000 rw-p 00000000 00:00 0                                  [heap]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
    /* clang-format on */
    static const char mark[] = " (deleted)";
    struct span rest = span_from_str(text);
    int lines = 0, files = 0, deleted = 0;
    struct mapping m;

    (void)state;
    for (; rest.n > 0; lines++) {
        assert_int_equal(pid_maps_next(&rest, &m), 0);
        files += m.path.n > 0 && m.path.p[0] == '/';
        deleted += m.path.n >= strlen(mark) &&
                   memcmp(m.path.p + m.path.n - strlen(mark), mark, strlen(mark)) == 0;
    }
    assert_int_equal(lines, 22);
    assert_int_equal(files, 15);
    assert_int_equal(deleted, 6);
}

static void lines_that_are_none(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "x",
        "-",
        "0001-",
        "00010000-00011000",
        "00010000-00011000 rw-p",
        "0001g000-00011000 rw-p 00000000 00:00 0 ",
        "00010000-0001G000 rw-p 00000000 00:00 0 ",
        "00010000-00011000 rw- 00000000 00:00 0 ",
        "00010000-00011000 rw-pp 00000000 00:00 0 ",
        "00010000-00011000 rw-p 00000000 0000 0 ",
        "00010000-00011000 rw-p 00000000 00:00 x ",
        "00010000-00011000 rw-p 00000000 00:00 0x",
        "00010000-00011000 rw-p 00000000 00: 0 ",
        "00010000-00011000 rw-p 00000000 :00 0 ",
        "00010000-00011000 rw-p  00:00 0 ",
        "00010000-00011000 rw-p 00000000 00:00 18446744073709551616 ",
        "11112222333344445-2 rw-p 00000000 00:00 0 ",
        "00010000-00011000 rw-p 00000000 12345678:00 0 ",
        "00`10000-00011000 rw-p 00000000 00:00 0 ",
        "0001:000-00011000 rw-p 00000000 00:00 0 ",
        "0001A000-00011000 rw-p 00000000 00:00 0 ",
        "000\xe1"
        "0000-00011000 rw-p 00000000 00:00 0 ",
    };
    struct mapping m = {.start = 7};

    (void)state;
    for (size_t i = 1; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(parse(span_from_str(bad[i]), &m), -EBADMSG);
    assert_int_equal(parse(SPAN_LITERAL(""), &m), PID_MAPS_END);
    assert_int_equal(m.start, 7);
}

static void a_bad_line_costs_itself(void **state)
{
    struct span rest = SPAN_LITERAL("0-1 r--p 0 0:0 0 \nbad\n\n2-3 r--p 0 0:0 0 \n");
    struct mapping m;

    (void)state;
    assert_int_equal(pid_maps_next(&rest, &m), 0);
    assert_int_equal(pid_maps_next(&rest, &m), -EBADMSG);
    assert_int_equal(pid_maps_next(&rest, &m), -EBADMSG);
    assert_int_equal(pid_maps_next(&rest, &m), 0);
    assert_int_equal(m.start, 2);
    assert_int_equal(pid_maps_next(&rest, &m), PID_MAPS_END);
}

/* The eight digits at once against the C library, over digits and their neighbours. */
static void hexadecimal(void **state)
{
    static const char bytes[] = "0123456789abcdef0123456789abcdef0123456789abcdef/:`gAF @\x7f\xe1";
    struct chance chance = chance_of_test();

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t n = 1 + chance_below(&chance, 16), good;
        char line[64] = "";
        struct mapping m;
        int r;

        for (size_t k = 0; k < n; k++)
            line[k] = bytes[chance_below(&chance, sizeof(bytes) - 1)];
        good = strspn(line, "0123456789abcdef");
        strcpy(line + n, "-1 r--p 0 0:0 0 ");
        r = parse(span_from_str(line), &m);
        assert_int_equal(r, good == n ? 0 : -EBADMSG);
        if (r == 0)
            assert_int_equal(m.start, strtoull(line, NULL, 16));
    }
}

static void counting_at_every_cut(void **state)
{
    static const struct {
        struct span text;
        uint64_t lines;
    } rows[] = {
        {SPAN_LITERAL(""), 0},      {SPAN_LITERAL("\n"), 1},         {SPAN_LITERAL("a"), 1},
        {SPAN_LITERAL("a\n"), 1},   {SPAN_LITERAL("a\nb"), 2},       {SPAN_LITERAL("a\nb\n"), 2},
        {SPAN_LITERAL("\n\na"), 3}, {SPAN_LITERAL("aa\nbb\ncc"), 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t cut = 0; cut <= rows[i].text.n; cut++) {
            struct pid_maps_count c = {0};

            pid_maps_count_feed(&c, span_of(rows[i].text.p, cut));
            pid_maps_count_feed(&c, span_skip(rows[i].text, cut));
            assert_int_equal(pid_maps_count_finish(&c), rows[i].lines);
        }
}

static void reading(void **state)
{
    struct span text;
    struct procfs fs;
    struct tree t;
    uint64_t count;
    FILE *f;
    int dir;

    (void)state;
    tree_new(&t);
    f = fopen(tree_path(&t, "1/maps"), "w");
    assert_non_null(f);
    for (int i = 0; i < 65530; i++)
        fprintf(f, "%08x-%08x rw-p 00000000 00:00 0 \n", i, i + 1);
    fclose(f);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    dir = procfs_open_pid(fs.root, 1);
    assert_int_equal(pid_maps_count_read(&fs, dir, &count), 0);
    assert_int_equal(count, 65530);
    assert_int_equal(pid_maps_read(&fs, dir, &text), -EFBIG);
    close(dir);
    procfs_close(&fs);
    tree_free(&t);
}

static void own_mappings(void **state)
{
    struct span text, rest;
    uint64_t count, parsed = 0;
    struct procfs fs;
    struct mapping m;
    bool found = false;
    int dir;

    (void)state;
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    dir = open("/proc/self", O_PATH | O_DIRECTORY);
    if (dir < 0 || pid_maps_read(&fs, dir, &text) < 0) {
        print_message("own maps cannot be read\n");
        skip();
    }
    for (rest = text; pid_maps_next(&rest, &m) == 0; parsed++)
        found |= m.start <= (uintptr_t)&own_mappings && (uintptr_t)&own_mappings < m.end &&
                 memcmp(m.perms, "r-xp", 4) == 0;
    assert_int_equal(rest.n, 0);
    assert_true(found);
    assert_int_equal(pid_maps_count_read(&fs, dir, &count), 0);
    /* The buffer that held the text may be a mapping of its own. */
    assert_in_range(count, parsed, parsed + 2);
    close(dir);
    procfs_close(&fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_line),
        cmocka_unit_test(odd_paths),
        cmocka_unit_test(odd_numbers),
        cmocka_unit_test(a_whole_text),
        cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test(a_bad_line_costs_itself),
        cmocka_unit_test(hexadecimal),
        cmocka_unit_test(counting_at_every_cut),
        cmocka_unit_test(reading),
        cmocka_unit_test(own_mappings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
