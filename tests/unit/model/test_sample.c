/* Fields, their parts, and what a sample lacks of what is wanted. */
#include "model/sample.h"

#include "check.h"

static void every_field_is_of_one_part(void **state)
{
    uint32_t counters = 0, gauges = 0;

    (void)state;
    for (int i = 0; i < PART_N; i++) {
        assert_int_equal(counters & part_counters((enum part)i), 0);
        assert_int_equal(gauges & part_gauges((enum part)i), 0);
        counters |= part_counters((enum part)i);
        gauges |= part_gauges((enum part)i);
    }
    assert_int_equal(counters, (1u << COUNTER_N) - 1);
    assert_int_equal(gauges, (1u << GAUGE_N) - 1);
    for (int i = 0; i < COUNTER_N; i++)
        assert_true(part_counters(counter_part((enum counter)i)) >> i & 1);
    for (int i = 0; i < GAUGE_N; i++)
        assert_true(part_gauges(gauge_part((enum gauge)i)) >> i & 1);
}

static void setting(void **state)
{
    struct sample s = {0};

    (void)state;
    assert_false(sample_has_gauge(&s, GAUGE_SWAP_BYTES));
    sample_set_gauge(&s, GAUGE_SWAP_BYTES, 0);
    assert_true(sample_has_gauge(&s, GAUGE_SWAP_BYTES));
    sample_set_counter(&s, COUNTER_WRITE_SYSCALLS, 5);
    assert_true(sample_has_counter(&s, COUNTER_WRITE_SYSCALLS));
    assert_int_equal(s.counter[COUNTER_WRITE_SYSCALLS], 5);
    assert_int_equal(s.have_counters, 1u << COUNTER_WRITE_SYSCALLS);
    assert_int_equal(s.have_gauges, 1u << GAUGE_SWAP_BYTES);
}

/* As proc(5) names them; what a future kernel shows is some other one. */
static void letters(void **state)
{
    (void)state;
    assert_int_equal(state_of_letter('R'), STATE_RUNNING);
    assert_int_equal(state_of_letter('S'), STATE_SLEEPING);
    assert_int_equal(state_of_letter('D'), STATE_DISK_SLEEP);
    assert_int_equal(state_of_letter('T'), STATE_STOPPED);
    assert_int_equal(state_of_letter('Z'), STATE_ZOMBIE);
    for (const char *other = "tXIPKWxQ \377"; *other; other++)
        assert_int_equal(state_of_letter(*other), STATE_OTHER);
    assert_int_equal(state_of_letter('\0'), STATE_OTHER);
}

static void lacking(void **state)
{
    struct wanted nothing = {0},
                  all = {.counters = (1u << COUNTER_N) - 1, .gauges = (1u << GAUGE_N) - 1};
    struct wanted some = {.counters = 1u << COUNTER_CPU_USER_NS | 1u << COUNTER_STORAGE_READ_BYTES,
                          .gauges = 1u << GAUGE_OPEN_FDS};
    struct sample s = {0};

    (void)state;
    assert_int_equal(sample_lacks(&s, &nothing), 0);
    assert_int_equal(sample_lacks(&s, &some),
                     part_bit(PART_STAT) | part_bit(PART_IO) | part_bit(PART_FD));
    s.have_counters = all.counters;
    s.have_gauges = all.gauges;
    assert_int_equal(sample_lacks(&s, &all), 0);
    /* One field of a part is enough to lack the part; an unwanted one is not. */
    s.have_counters &= ~(1u << COUNTER_WRITE_SYSCALLS);
    assert_int_equal(sample_lacks(&s, &all), part_bit(PART_IO));
    assert_int_equal(sample_lacks(&s, &some), 0);
    s.have_gauges &= ~(1u << GAUGE_MAPPINGS);
    assert_int_equal(sample_lacks(&s, &all), part_bit(PART_IO) | part_bit(PART_MAPS));
}

static void identities(void **state)
{
    struct identity a = {42, 5000}, pid = {43, 5000}, start = {42, 5001};

    (void)state;
    assert_true(identity_equal(a, a));
    assert_false(identity_equal(a, pid));
    assert_false(identity_equal(a, start));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_of_one_part),
        cmocka_unit_test(setting),
        cmocka_unit_test(letters),
        cmocka_unit_test(lacking),
        cmocka_unit_test(identities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
