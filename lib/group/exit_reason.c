/* exit_reason - how a process ended, in few words. */
#include "group/exit_reason.h"

#include <signal.h>
#include <sys/wait.h>

static enum exit_reason reason_of_signal(int signal, bool oom_victim)
{
    switch (signal) {
    case SIGKILL:
        return oom_victim ? EXIT_REASON_OOM : EXIT_REASON_KILLED;
    case SIGQUIT:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGSYS:
        return EXIT_REASON_CRASHED;
    default:
        return EXIT_REASON_TERMINATED;
    }
}

enum exit_reason exit_reason_of(uint32_t status, bool oom_victim)
{
    int s = (int)status;

    if (WIFSIGNALED(s))
        return reason_of_signal(WTERMSIG(s), oom_victim);
    return WEXITSTATUS(s) == 0 ? EXIT_REASON_SUCCESS : EXIT_REASON_FAILURE;
}
