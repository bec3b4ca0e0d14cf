/* delta - what a process used between two looks. */
#include "track/delta.h"

void delta_take(struct bases *bases, const struct sample *s, uint32_t counters,
                enum first_total first, uint64_t steps_back[static COUNTER_N], struct delta *ret)
{
    uint32_t fields = counters & s->have_counters;

    for (uint32_t rest = fields; rest; rest &= rest - 1) {
        enum counter field = (enum counter)__builtin_ctz(rest);

        ret->counter[field] = delta_step(&bases->highest[field], bases->have >> field & 1,
                                         s->counter[field], first, &steps_back[field]);
        bases->have |= UINT32_C(1) << field;
    }
    for (uint32_t rest = counters & ~fields; rest; rest &= rest - 1)
        ret->counter[__builtin_ctz(rest)] = 0;
    ret->known = bases->have & counters;
}
