/* loadavg: the number behind the slash. */
#include "procfs/loadavg.h"

#include "check.h"

#include <errno.h>

static void tasks(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "0.10 0.20 0.30\n",
        "0.10 0.20 0.30 3 88\n",
        "0.10 0.20 0.30 3/ 88\n",
        "0.10 0.20 0.30 /88 1\n",
        "0.10 0.20 0.30 3/88x 1\n",
        "0.10 0.20 0.30 3/-1 1\n",
        "0.10 0.20 0.30 3/9223372036854775808 1\n",
        "0.10 0.20\n0.30 3/88 1\n",
    };
    uint64_t n = 0;

    (void)state;
    assert_int_equal(loadavg_parse(SPAN_LITERAL("0.10 0.20 0.30 3/88 4242\n"), &n), 0);
    assert_int_equal(n, 88);
    assert_int_equal(loadavg_parse(SPAN_LITERAL("0.00 0.00 0.00 0/0"), &n), 0);
    assert_int_equal(n, 0);
    n = 5;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(loadavg_parse(span_from_str(bad[i]), &n), -EBADMSG);
    assert_int_equal(n, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tasks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
