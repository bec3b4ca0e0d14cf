/* What kernels differ in, of the one that runs: by its description, against its version. */
#include "bpf/kernel_traits.h"

#include "check.h"
#include "kernel_version.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void need_description(void)
{
    if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
        return;
    print_message("skipped: the kernel does not describe itself\n");
    skip();
}

static void as_the_version_says(void **state)
{
    struct kernel_traits traits;

    (void)state;
    need_description();
    assert_int_equal(kernel_traits(&traits), 0);
    assert_int_equal(traits.memory_in_parts, kernel_is(6, 2));
    assert_int_equal(traits.casts, kernel_is(6, 2));
}

/* In a process that has got all the address space that it may have. */
static int traits_without_memory(void)
{
    struct rlimit none = {0, RLIM_INFINITY};
    struct kernel_traits traits;
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_AS, &none);
        _exit(-kernel_traits(&traits));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void a_want_of_memory_is_told(void **state)
{
    (void)state;
    need_description();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: sanitizers take what they like\n");
    skip();
#endif
    assert_int_equal(traits_without_memory(), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_version_says),
        cmocka_unit_test(a_want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
