/* What kernels differ in, of the one that runs: by its description, against its version. */
#include "bpf/kernel_traits.h"

#include "check.h"
#include "kernel_version.h"

#include <unistd.h>

static void as_the_version_says(void **state)
{
    struct kernel_traits traits = {true, true};
    bool described = access("/sys/kernel/btf/vmlinux", R_OK) == 0;

    (void)state;
    kernel_traits(&traits);
    assert_int_equal(traits.memory_in_parts, described && kernel_is(6, 2));
    assert_int_equal(traits.casts, described && kernel_is(6, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_version_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
