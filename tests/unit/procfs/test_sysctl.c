/* Files of one number, and file-nr. */
#include "procfs/sysctl.h"

#include "check.h"

#include <errno.h>

static void one_number(void **state)
{
    static const char *const bad[] = {
        "", "\n", "x\n", "-1\n", "1x\n", "1 2\n", "9223372036854775808\n", "18446744073709551616\n",
    };
    uint64_t n = 0;

    (void)state;
    assert_int_equal(sysctl_parse(SPAN_LITERAL("4194304\n"), &n), 0);
    assert_int_equal(n, 4194304);
    assert_int_equal(sysctl_parse(SPAN_LITERAL(" 5\t \nmore"), &n), 0);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(sysctl_parse(span_from_str(bad[i]), &n), -EBADMSG);
    assert_int_equal(n, 5);
}

static void file_nr(void **state)
{
    uint64_t n = 0, limit = 0;

    (void)state;
    assert_int_equal(
        sysctl_parse_file_nr(SPAN_LITERAL("1184\t0\t9223372036854775807\n"), &n, &limit), 0);
    assert_int_equal(n, 1184);
    assert_int_equal(limit, INT64_MAX);
    assert_int_equal(sysctl_parse_file_nr(SPAN_LITERAL("1184\t0\n"), &n, &limit), -EBADMSG);
    assert_int_equal(sysctl_parse_file_nr(SPAN_LITERAL("1184\tx\t3\n"), &n, &limit), -EBADMSG);
    assert_int_equal(
        sysctl_parse_file_nr(SPAN_LITERAL("1184\t0\t18446744073709551615\n"), &n, &limit),
        -EBADMSG);
    assert_int_equal(n, 1184);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number),
        cmocka_unit_test(file_nr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
