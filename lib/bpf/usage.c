/* usage - sums over tasks. */
#include "bpf/usage.h"

#include <stddef.h>
#include <stdint.h>

static void add(__u64 *sum, __u64 more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX;
}

void task_usage_add(struct task_usage *sum, const struct task_usage *more)
{
    add(&sum->runtime_ns, more->runtime_ns);
    add(&sum->user_ns, more->user_ns);
    add(&sum->system_ns, more->system_ns);
    add(&sum->minor_faults, more->minor_faults);
    add(&sum->major_faults, more->major_faults);
    add(&sum->voluntary_switches, more->voluntary_switches);
    add(&sum->involuntary_switches, more->involuntary_switches);
}

void task_own_add(struct task_own *sum, const struct task_own *more)
{
    add(&sum->run_queue_ns, more->run_queue_ns);
    for (size_t i = 0; i < TASK_IO_N; i++)
        add(&sum->io[i], more->io[i]);
}
