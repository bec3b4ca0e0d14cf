/* stat: the name between its parentheses, the fields behind it, and records that are none. */
#include "procfs/pid_stat.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>

#define TAIL                                                                                 \
    " 18446744073709551615 94237284638720 94237284658601 140724685356928 0 0 0 0 0 0 0 0 0 " \
    "17 1 0 0 0 0 0 94237284674608 94237284676224 94237920583680 140724685359749 "           \
    "140724685359769 140724685359769 140724685361131 0\n"
#define BODY "S 1 4242 4242 0 -1 4194304 100 7 2 8 1234 567 9 9 20 0 3 0 50000 8388608 512"

static int parse(const char *text, struct pid_stat *ret)
{
    return pid_stat_parse(span_from_str(text), 100, ret);
}

static void every_field(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(parse("4242 (canary) " BODY TAIL, &s), 0);
    check_span(s.comm, "canary");
    assert_int_equal(s.state, 'S');
    assert_int_equal(s.parent_pid, 1);
    assert_false(s.kernel_thread);
    assert_int_equal(s.start_ticks, 50000);
    assert_int_equal(s.have, (1 << PID_STAT_FIELD_N) - 1);
    assert_int_equal(s.field[PID_STAT_MINOR_FAULTS], 100);
    assert_int_equal(s.field[PID_STAT_MAJOR_FAULTS], 2);
    assert_int_equal(s.field[PID_STAT_USER_NS], 12340000000);
    assert_int_equal(s.field[PID_STAT_SYSTEM_NS], 5670000000);
    assert_int_equal(s.field[PID_STAT_THREADS], 3);
    assert_int_equal(s.field[PID_STAT_VIRTUAL_BYTES], 8388608);
    assert_false(s.malformed);
}

static void comm_may_hold_anything(void **state)
{
    static const char *const names[] = {
        "(sd-pam)",
        "a) R 1 2 (b",
        ") ) ) ) ) )",
        "sp  ace ",
        "x (y) S 1 1 1 0",
        "two\nlines",
        "",
        "\xff\xfe\x01\x7f",
        "kworker/u257:12-events_freezable_power_efficient_x_y_z_01234567",
    };
    struct pid_stat s;
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(text, sizeof(text), "7 (%s) " BODY TAIL, names[i]);
        assert_int_equal(parse(text, &s), 0);
        check_span_at(s.comm, names[i], strlen(names[i]), __FILE__, __LINE__);
        assert_int_equal(s.state, 'S');
        assert_int_equal(s.start_ticks, 50000);
    }
}

static void comm_with_a_nul(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(pid_stat_parse(SPAN_LITERAL("7 (a\0b) " BODY TAIL), 100, &s), 0);
    check_span(s.comm, "a\0b");
}

static void other_counts_of_fields(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(parse("7 (a) " BODY, &s), 0);
    assert_int_equal(parse("7 (a) " BODY "\n", &s), 0);
    assert_int_equal(
        parse("7 (a) " BODY " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n", &s), 0);
    assert_int_equal(s.have, (1 << PID_STAT_FIELD_N) - 1);
}

static void kernel_thread(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(
        parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 23 0 0" TAIL, &s), 0);
    assert_true(s.kernel_thread);
    assert_int_equal(s.parent_pid, 0);
    assert_int_equal(s.field[PID_STAT_VIRTUAL_BYTES], 0);
}

/* From its exit on, long before it is a zombie where much memory is to be freed. */
static void exiting(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(parse("7 (a) " BODY TAIL, &s), 0);
    assert_false(s.exiting);
    assert_int_equal(
        parse("7 (a) D 1 1 1 0 -1 4194564 0 0 0 0 0 1 0 0 20 0 1 0 23 4096 1" TAIL, &s), 0);
    assert_true(s.exiting);
    assert_false(s.kernel_thread);
}

/* A number cut in its midst would be another start time, so another process. */
static void a_cut_record_is_refused(void **state)
{
    static const char whole[] = "7 (a) " BODY;
    struct pid_stat s;

    (void)state;
    for (size_t n = 0; n < sizeof(whole) - sizeof("512"); n++) {
        struct span cut = check_copy(span_of(whole, n));

        assert_int_equal(pid_stat_parse(cut, 100, &s), -EBADMSG);
        free((void *)cut.p);
    }
}

static void needed_numbers(void **state)
{
    static const char *const bad[] = {
        "7 (a) SS 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a)  1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a) S x 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a) S -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a) S 2147483648 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5x 0 0",
        "7 (a) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 -5 0 0",
        "7 (a) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 9223372036854775808 0 0",
        "7 (a) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 99999999999999999999 0 0",
        "7 a S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 )a( S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0",
        "7 (a S 1",
        "(",
        ")",
        "()",
        "() ",
        "\n",
        "garbage",
    };
    struct pid_stat s = {.start_ticks = 77};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(parse(bad[i], &s), -EBADMSG);
    assert_int_equal(pid_stat_parse(span_of(NULL, 0), 100, &s), -EBADMSG);
    assert_int_equal(s.start_ticks, 77);
}

static void optional_numbers(void **state)
{
    struct pid_stat s;

    (void)state;
    assert_int_equal(parse("7 (a) S 1 0 0 0 0 x -3 0 y 0 5z 922337203686 0 0 0 0 -1 0 5 "
                           "18446744073709551615 18446744073709551613",
                           &s),
                     0);
    assert_int_equal(s.have, 0);
    assert_true(s.malformed);
    assert_false(s.kernel_thread);
    assert_int_equal(s.start_ticks, 5);
    /* Fields nobody wants may be anything. */
    assert_int_equal(parse("7 (a) S 1 x x x x 0 1 x 2 x 3 4 x x x x 5 x 6 7 -3\n", &s), 0);
    assert_int_equal(s.have, (1 << PID_STAT_FIELD_N) - 1);
    assert_false(s.malformed);
}

static void dead_states(void **state)
{
    (void)state;
    for (int c = 1; c < 128; c++) {
        struct pid_stat s = {.state = (char)c};

        assert_int_equal(pid_stat_is_dead(&s), c == 'Z' || c == 'X' || c == 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field),
        cmocka_unit_test(comm_may_hold_anything),
        cmocka_unit_test(comm_with_a_nul),
        cmocka_unit_test(other_counts_of_fields),
        cmocka_unit_test(kernel_thread),
        cmocka_unit_test(exiting),
        cmocka_unit_test(a_cut_record_is_refused),
        cmocka_unit_test(needed_numbers),
        cmocka_unit_test(optional_numbers),
        cmocka_unit_test(dead_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
