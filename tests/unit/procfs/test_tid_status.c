/* The context switches of one thread. */
#include "procfs/tid_status.h"

#include "check.h"

static struct tid_status parse(const char *text)
{
    struct span copy = check_copy(span_from_str(text));
    struct tid_status s;

    memset(&s, 0xff, sizeof(s));
    tid_status_parse(copy, &s);
    free((char *)copy.p);
    return s;
}

static void both(void **state)
{
    struct tid_status s = parse("Name:\tnonvoluntary_ctxt_switches: 9\nThreads:\t1\n"
                                "voluntary_ctxt_switches:\t150545\n"
                                "nonvoluntary_ctxt_switches:\t545\n");

    (void)state;
    assert_int_equal(s.have, 3);
    assert_false(s.malformed);
    assert_int_equal(s.field[TID_STATUS_VOLUNTARY_SWITCHES], 150545);
    assert_int_equal(s.field[TID_STATUS_INVOLUNTARY_SWITCHES], 545);
}

static void what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(parse("").have, 0);
    assert_int_equal(parse("Name:\tx\nThreads:\t1\n").have, 0);
    assert_int_equal(parse("voluntary_ctxt_switches:\t1\n").have,
                     1u << TID_STATUS_VOLUNTARY_SWITCHES);
    assert_false(parse("Name:\tx\n").malformed);
}

static void what_is_no_number(void **state)
{
    struct tid_status s = parse("voluntary_ctxt_switches:\tx\n"
                                "nonvoluntary_ctxt_switches:\t9223372036854775808\n");

    (void)state;
    assert_int_equal(s.have, 0);
    assert_true(s.malformed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_is_no_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
