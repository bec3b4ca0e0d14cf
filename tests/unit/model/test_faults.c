/* Which failures count, and as what. */
#include "model/faults.h"

#include "check.h"

#include <errno.h>

static void reasons(void **state)
{
    static const struct {
        int error;
        enum fault_reason reason;
    } rows[] = {
        {-EACCES, FAULT_PERMISSION}, {-EPERM, FAULT_PERMISSION}, {-EBADMSG, FAULT_MALFORMED},
        {-EFBIG, FAULT_TOO_LARGE},   {-EIO, FAULT_READ},         {-EINVAL, FAULT_READ},
        {-EISDIR, FAULT_READ},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct faults f = {0};

        assert_true(faults_count(&f, FAULT_IO, 7, rows[i].error));
        for (int k = 0; k < FAULT_REASON_N; k++)
            assert_int_equal(f.count[FAULT_IO][k], k == (int)rows[i].reason);
    }
}

static void gone_counts_nowhere(void **state)
{
    struct faults f = {0}, zero = {0};

    (void)state;
    assert_false(faults_count(&f, FAULT_STATUS, 7, -ENOENT));
    assert_false(faults_count(&f, FAULT_STATUS, 7, -ESRCH));
    assert_memory_equal(&f, &zero, sizeof(f));
}

static void the_first_is_remembered(void **state)
{
    struct faults f = {0};

    (void)state;
    faults_count(&f, FAULT_MAPS, 7, -EIO);
    faults_count(&f, FAULT_MAPS, 8, -EINVAL);
    faults_count(&f, FAULT_MAPS, 9, -EBADMSG);
    assert_int_equal(f.count[FAULT_MAPS][FAULT_READ], 2);
    assert_int_equal(f.first_pid[FAULT_MAPS][FAULT_READ], 7);
    assert_int_equal(f.first_errno[FAULT_MAPS][FAULT_READ], EIO);
    assert_int_equal(f.first_pid[FAULT_MAPS][FAULT_MALFORMED], 9);
    assert_int_equal(f.first_errno[FAULT_MAPS][FAULT_MALFORMED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(gone_counts_nowhere),
        cmocka_unit_test(the_first_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
