/* Every enumeration that becomes a label has a name for each value, and no two alike. */
#include "model/faults.h"
#include "model/host.h"
#include "model/parts.h"
#include "model/sample.h"
#include "model/self.h"

#include "check.h"

/* Metric labels: lower case, digits and underscores. */
static bool is_label(const char *s)
{
    return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(s);
}

#define CHECK_NAMES(type, name_of, n, well_formed)                           \
    do {                                                                     \
        for (int i = 0; i < (n); i++) {                                      \
            assert_non_null(name_of((type)i));                               \
            assert_true(well_formed(name_of((type)i)));                      \
            for (int k = 0; k < i; k++)                                      \
                assert_string_not_equal(name_of((type)i), name_of((type)k)); \
        }                                                                    \
    } while (0)

static bool is_anything(const char *s)
{
    return *s != '\0';
}

static void names(void **state)
{
    (void)state;
    CHECK_NAMES(enum counter, counter_name, COUNTER_N, is_label);
    CHECK_NAMES(enum gauge, gauge_name, GAUGE_N, is_label);
    CHECK_NAMES(enum state, state_name, STATE_N, is_label);
    CHECK_NAMES(enum part, part_name, PART_N, is_label);
    CHECK_NAMES(enum fault_file, fault_file_name, FAULT_FILE_N, is_label);
    CHECK_NAMES(enum fault_reason, fault_reason_name, FAULT_REASON_N, is_label);
    CHECK_NAMES(enum cpu_mode, cpu_mode_name, CPU_MODE_N, is_label);
    CHECK_NAMES(enum softirq, softirq_name, SOFTIRQ_N, is_label);
    CHECK_NAMES(enum phase, phase_name, PHASE_N, is_label);
    CHECK_NAMES(enum cycle_failure, cycle_failure_name, CYCLE_FAILURE_N, is_label);
    CHECK_NAMES(enum http_path, http_path_name, HTTP_PATH_N, is_anything);
    CHECK_NAMES(enum http_code, http_code_name, HTTP_CODE_N, is_label);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
