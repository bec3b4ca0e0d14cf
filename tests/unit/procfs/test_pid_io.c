/* io: present, partial, and odd. */
#include "procfs/pid_io.h"

#include "check.h"

static struct pid_io parse(const char *text)
{
    struct pid_io io;

    pid_io_parse(span_from_str(text), &io);
    return io;
}

static void all_seven(void **state)
{
    struct pid_io io = parse("rchar: 123456\nwchar: 654321\nsyscr: 10\nsyscw: 20\n"
                             "read_bytes: 40960\nwrite_bytes: 81920\ncancelled_write_bytes: 7\n");

    (void)state;
    assert_int_equal(io.have, (1 << PID_IO_FIELD_N) - 1);
    assert_int_equal(io.field[PID_IO_READ_CHARS], 123456);
    assert_int_equal(io.field[PID_IO_WRITE_CHARS], 654321);
    assert_int_equal(io.field[PID_IO_READ_SYSCALLS], 10);
    assert_int_equal(io.field[PID_IO_WRITE_SYSCALLS], 20);
    assert_int_equal(io.field[PID_IO_READ_BYTES], 40960);
    assert_int_equal(io.field[PID_IO_WRITE_BYTES], 81920);
    assert_int_equal(io.field[PID_IO_CANCELLED_WRITE_BYTES], 7);
}

static void other_order_and_new_keys(void **state)
{
    struct pid_io io = parse("zz_new: 5\ncancelled_write_bytes: 999\nwrite_bytes: 8192\n"
                             "read_bytes: 4096\nxread_bytes: 1\nread_bytes_x: 2\nzz_last: 6\n");

    (void)state;
    assert_int_equal(io.have, 1 << PID_IO_READ_BYTES | 1 << PID_IO_WRITE_BYTES |
                                  1 << PID_IO_CANCELLED_WRITE_BYTES);
    assert_int_equal(io.field[PID_IO_READ_BYTES], 4096);
    assert_int_equal(io.field[PID_IO_WRITE_BYTES], 8192);
    assert_int_equal(io.field[PID_IO_CANCELLED_WRITE_BYTES], 999);
    assert_false(io.malformed);
}

static void no_last_line_feed(void **state)
{
    struct pid_io io = parse("write_bytes: 8192\nread_bytes: 4096");

    (void)state;
    assert_int_equal(io.field[PID_IO_READ_BYTES], 4096);
    assert_true(pid_io_has(&io, PID_IO_READ_BYTES));
}

static void values_that_are_none(void **state)
{
    struct pid_io io = parse("rchar: 1\nread_bytes: abc\nwrite_bytes:\n");

    (void)state;
    assert_int_equal(io.have, 1 << PID_IO_READ_CHARS);
    assert_true(io.malformed);
    io = parse("read_bytes: 18446744073709551615\nwrite_bytes: 0\n");
    assert_int_equal(io.have, 1 << PID_IO_WRITE_BYTES);
    assert_true(io.malformed);
}

static void duplicates(void **state)
{
    (void)state;
    assert_int_equal(parse("read_bytes: 1\nread_bytes: 2\n").field[PID_IO_READ_BYTES], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_seven),         cmocka_unit_test(other_order_and_new_keys),
        cmocka_unit_test(no_last_line_feed), cmocka_unit_test(values_that_are_none),
        cmocka_unit_test(duplicates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
