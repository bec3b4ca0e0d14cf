/* How a process ended: every status that the kernel makes, and some that it made of real ones. */
#include "group/exit_reason.h"

#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CORE = 0x80, SIGNALS = 64 };

/* Those that leave a core dump, as the table in signal(7) has them. */
static bool leaves_a_core(int signal)
{
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE,  SIGILL,  SIGIOT, SIGQUIT,
                                  SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ};

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (signals[i] == signal)
            return true;
    return false;
}

static void check(uint32_t status, bool oom_victim, enum exit_reason expected)
{
    enum exit_reason got = exit_reason_of(status, oom_victim);

    if (got != expected)
        fail_msg("status %#x, victim %d: %s, not %s", status, oom_victim, exit_reason_name(got),
                 exit_reason_name(expected));
}

/* Whether a core was written depends on limits, and who wanted memory need not be killed for it. */
static void every_signal(void **state)
{
    unsigned crashes = 0;

    (void)state;
    for (int signal = 1; signal <= SIGNALS; signal++) {
        enum exit_reason expected =
            leaves_a_core(signal) ? EXIT_REASON_CRASHED : EXIT_REASON_TERMINATED;

        crashes += expected == EXIT_REASON_CRASHED;
        for (unsigned core = 0; core <= CORE; core += CORE) {
            uint32_t status = (uint32_t)signal | core;

            if (signal == SIGKILL) {
                check(status, false, EXIT_REASON_KILLED);
                check(status, true, EXIT_REASON_OOM);
                continue;
            }
            check(status, false, expected);
            check(status, true, expected);
        }
    }
    assert_int_equal(crashes, 10); /* SIGIOT is SIGABRT */
}

static void every_exit_code(void **state)
{
    (void)state;
    check(0, false, EXIT_REASON_SUCCESS);
    check(0, true, EXIT_REASON_SUCCESS);
    for (uint32_t code = 1; code <= 255; code++) {
        check(code << 8, false, EXIT_REASON_FAILURE);
        check(code << 8, true, EXIT_REASON_FAILURE);
    }
    /* A shell's way to say that a signal ended its child is an exit code all the same. */
    check((128 + SIGKILL) << 8, false, EXIT_REASON_FAILURE);
}

/* The status of a child that ends by the signal, or exits with the code. */
static uint32_t status_of_child(int signal, int code)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0};

        setrlimit(RLIMIT_CORE, &none);
        if (signal == 0)
            _exit(code);
        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        raise(signal);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return (uint32_t)status;
}

static void real_ones(void **state)
{
    (void)state;
    check(status_of_child(0, 0), false, EXIT_REASON_SUCCESS);
    check(status_of_child(0, 1), false, EXIT_REASON_FAILURE);
    check(status_of_child(0, 255), false, EXIT_REASON_FAILURE);
    check(status_of_child(SIGTERM, 0), false, EXIT_REASON_TERMINATED);
    check(status_of_child(SIGPIPE, 0), false, EXIT_REASON_TERMINATED);
    check(status_of_child(SIGRTMAX, 0), false, EXIT_REASON_TERMINATED);
    check(status_of_child(SIGKILL, 0), false, EXIT_REASON_KILLED);
    check(status_of_child(SIGKILL, 0), true, EXIT_REASON_OOM);
    check(status_of_child(SIGABRT, 0), false, EXIT_REASON_CRASHED);
    check(status_of_child(SIGSEGV, 0), false, EXIT_REASON_CRASHED);
    check(status_of_child(SIGXCPU, 0), false, EXIT_REASON_CRASHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_signal),
        cmocka_unit_test(every_exit_code),
        cmocka_unit_test(real_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
