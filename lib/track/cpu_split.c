/* cpu_split - CPU time that is known exactly, divided by figures that are not. */
#include "track/cpu_split.h"

static uint64_t share(uint64_t whole, uint64_t part, uint64_t other)
{
    unsigned __int128 sum = (unsigned __int128)part + other;

    return sum == 0 ? 0 : (uint64_t)((unsigned __int128)whole * part / sum);
}

struct cpu_parts cpu_split(uint64_t runtime_ns, struct cpu_parts ticks, struct cpu_parts before)
{
    struct cpu_parts ret;

    if (runtime_ns <= before.user_ns || runtime_ns - before.user_ns <= before.system_ns)
        return before;
    ret.system_ns = share(runtime_ns, ticks.system_ns, ticks.user_ns);
    if (ret.system_ns < before.system_ns)
        ret.system_ns = before.system_ns;
    ret.user_ns = runtime_ns - ret.system_ns;
    if (ret.user_ns < before.user_ns) {
        ret.user_ns = before.user_ns;
        ret.system_ns = runtime_ns - ret.user_ns;
    }
    return ret;
}
