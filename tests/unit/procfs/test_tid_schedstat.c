/* How long one thread waited for a CPU. */
#include "procfs/tid_schedstat.h"

#include "check.h"

#include <errno.h>

static int parse(const char *text, uint64_t *ret)
{
    struct span copy = check_copy(span_from_str(text));
    int r = tid_schedstat_parse(copy, ret);

    free((char *)copy.p);
    return r;
}

static void the_second_number(void **state)
{
    uint64_t ns = 7;

    (void)state;
    assert_int_equal(parse("501432775 376888009 551\n", &ns), 0);
    assert_int_equal(ns, 376888009);
    assert_int_equal(parse("1 0 1", &ns), 0);
    assert_int_equal(ns, 0);
    assert_int_equal(parse("1 9223372036854775807 1\n", &ns), 0);
    assert_int_equal(ns, INT64_MAX);
}

/* What a kernel without this account writes, and of a thread that never ran. */
static void zeros_say_nothing(void **state)
{
    uint64_t ns = 7;

    (void)state;
    assert_int_equal(parse("0 0 0\n", &ns), TID_SCHEDSTAT_UNKNOWN);
    assert_int_equal(ns, 7);
}

static void malformed(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "1\n",
        "1 2\n",
        "1 2 x\n",
        "1 -2 3\n",
        "x 2 3\n",
        "1 2x 3\n",
        "1 9223372036854775808 3\n",
        "1 18446744073709551616 3\n",
    };
    uint64_t ns = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(parse(texts[i], &ns), -EBADMSG);
    assert_int_equal(ns, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_number),
        cmocka_unit_test(zeros_say_nothing),
        cmocka_unit_test(malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
