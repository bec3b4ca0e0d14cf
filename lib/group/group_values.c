/* group_values - label values of a group's own counters. */
#include "group/group_values.h"

const char *exit_reason_name(enum exit_reason reason)
{
    static const char *const names[EXIT_REASON_N] = {
        [EXIT_REASON_SUCCESS] = "success",       [EXIT_REASON_FAILURE] = "failure",
        [EXIT_REASON_TERMINATED] = "terminated", [EXIT_REASON_KILLED] = "killed",
        [EXIT_REASON_CRASHED] = "crashed",       [EXIT_REASON_OOM] = "oom",
        [EXIT_REASON_UNKNOWN] = "unknown",
    };

    return names[reason];
}
