/* smaps_rollup of several kernels. */
#include "procfs/pid_smaps.h"

#include "check.h"

#define HEADER "55ce7335a000-7ffc37e96000 ---p 00000000 00:00 0                          [rollup]\n"

static struct pid_smaps parse(const char *text)
{
    struct pid_smaps s;

    pid_smaps_parse(span_from_str(text), &s);
    return s;
}

static void of_4_14(void **state)
{
    struct pid_smaps s = parse(HEADER "Rss:                2048 kB\nPss:                1024 kB\n"
                                      "Shared_Clean:       1024 kB\nSwap:                  0 kB\n");

    (void)state;
    assert_int_equal(s.have, 1 << PID_SMAPS_PSS_BYTES);
    assert_int_equal(s.field[PID_SMAPS_PSS_BYTES], 1048576);
}

static void of_6_18(void **state)
{
    struct pid_smaps s = parse(HEADER "Rss:                2048 kB\nPss:                1024 kB\n"
                                      "Pss_Dirty:             7 kB\nPss_Anon:            512 kB\n"
                                      "Swap:                  3 kB\nSwapPss:               8 kB\n");

    (void)state;
    assert_int_equal(s.field[PID_SMAPS_PSS_BYTES], 1048576);
    assert_int_equal(s.field[PID_SMAPS_SWAP_PSS_BYTES], 8192);
    assert_int_equal(s.have, 3);
}

static void longer_keys_first(void **state)
{
    struct pid_smaps s = parse("Pss_Dirty:             7 kB\nPss:                1024 kB\n");

    (void)state;
    assert_int_equal(s.field[PID_SMAPS_PSS_BYTES], 1048576);
}

static void nothing_in_it(void **state)
{
    (void)state;
    assert_int_equal(parse(HEADER).have, 0);
    assert_int_equal(parse("").have, 0);
    assert_false(parse(HEADER).malformed);
    assert_true(parse("Pss: much kB\n").malformed);
    assert_int_equal(parse("Pss: much kB\n").have, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_4_14),
        cmocka_unit_test(of_6_18),
        cmocka_unit_test(longer_keys_first),
        cmocka_unit_test(nothing_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
