/* status: the wanted keys, and what reduced kernels and kernel threads leave out. */
#include "procfs/pid_status.h"

#include "check.h"

static struct pid_status parse(const char *text)
{
    struct pid_status s;

    pid_status_parse(span_from_str(text), true, &s);
    return s;
}

static void as_6_18_prints_it(void **state)
{
    struct pid_status s = parse(
        "Name:\tcanary\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4242\nPid:\t4242\nPPid:\t1\n"
        "TracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\nFDSize:\t64\nGroups:\t \n"
        "Kthread:\t0\nVmPeak:\t    9000 kB\nVmSize:\t    8192 kB\nVmLck:\t       0 kB\n"
        "VmHWM:\t    2049 kB\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\nRssFile:\t     900 kB\n"
        "RssShmem:\t     124 kB\nVmData:\t    2048 kB\nVmStk:\t     132 kB\nVmSwap:\t      16 kB\n"
        "THP_enabled:\t1\nThreads:\t3\nSigQ:\t1/96365\n");

    (void)state;
    assert_int_equal(s.have, (1 << PID_STATUS_FIELD_N) - 1);
    assert_false(s.malformed);
    assert_int_equal(s.field[PID_STATUS_UID], 1001);
    assert_int_equal(s.field[PID_STATUS_PEAK_BYTES], 2049 * 1024);
    assert_int_equal(s.field[PID_STATUS_RESIDENT_BYTES], 2048 * 1024);
    assert_int_equal(s.field[PID_STATUS_ANON_BYTES], 1024 * 1024);
    assert_int_equal(s.field[PID_STATUS_FILE_BYTES], 900 * 1024);
    assert_int_equal(s.field[PID_STATUS_SHMEM_BYTES], 124 * 1024);
    assert_int_equal(s.field[PID_STATUS_SWAP_BYTES], 16 * 1024);
    assert_int_equal(s.field[PID_STATUS_THREADS], 3);
}

static void kernel_thread(void **state)
{
    struct pid_status s = parse("Name:\tkworker/0:0H-kblockd\nUid:\t0\t0\t0\t0\nThreads:\t1\n");

    (void)state;
    assert_int_equal(s.have, 1 << PID_STATUS_UID | 1 << PID_STATUS_THREADS);
    assert_false(s.malformed);
}

/* Where stat has the number of threads, nobody looks for it behind all else. */
static void without_threads(void **state)
{
    struct pid_status s;

    (void)state;
    pid_status_parse(SPAN_LITERAL("Uid:\t0\t7\t0\t0\nThreads:\tnonsense\nVmSwap:\t 16 kB\n"), false,
                     &s);
    assert_int_equal(s.have, 1 << PID_STATUS_UID | 1 << PID_STATUS_SWAP_BYTES);
    assert_false(s.malformed);
    pid_status_parse(SPAN_LITERAL("Uid:\t0\t7\t0\t0\nThreads:\tnonsense\n"), true, &s);
    assert_true(s.malformed);
}

/* What a process names itself stands behind `Name:`, its line feeds escaped. */
static void a_name_that_looks_like_keys(void **state)
{
    struct pid_status s = parse("Name:\tUid:\t7\t7\\nVmRSS: 5\nUid:\t1\t2\t3\t4\nVmRSS:\t8 kB\n");

    (void)state;
    assert_int_equal(s.field[PID_STATUS_UID], 2);
    assert_int_equal(s.field[PID_STATUS_RESIDENT_BYTES], 8192);
}

static void other_keys_alike(void **state)
{
    (void)state;
    assert_int_equal(parse("VmRSSx:\t1 kB\nVmRS:\t2 kB\nRssAnonymous:\t3 kB\nXUid:\t1\t2\n").have,
                     0);
}

static void bad_values(void **state)
{
    struct pid_status s =
        parse("Uid:\t0\nVmSwap:\t-1 kB\nVmHWM:\t9007199254740992 kB\nThreads:\tx\n");

    (void)state;
    assert_int_equal(s.have, 0);
    assert_true(s.malformed);
    assert_int_equal(parse("Uid:\t1\t4294967295\n").have, 1 << PID_STATUS_UID);
    s = parse("Uid:\t1\t4294967296\n");
    assert_int_equal(s.have, 0);
    assert_true(s.malformed);
    assert_false(parse("").malformed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_6_18_prints_it), cmocka_unit_test(kernel_thread),
        cmocka_unit_test(without_threads),   cmocka_unit_test(a_name_that_looks_like_keys),
        cmocka_unit_test(other_keys_alike),  cmocka_unit_test(bad_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
