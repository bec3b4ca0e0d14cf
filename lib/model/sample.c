/* sample - names and masks of the fields, all out of fields.def. */
#include "model/sample.h"

struct field_row {
    const char *name;
    enum part part;
};

static const struct field_row counter_rows[COUNTER_N] = {
#define COUNTER(id, name, part) [COUNTER_##id] = {name, part},
#define GAUGE(id, name, part)
#include "model/fields.def"
#undef COUNTER
#undef GAUGE
};

static const struct field_row gauge_rows[GAUGE_N] = {
#define COUNTER(id, name, part)
#define GAUGE(id, name, part) [GAUGE_##id] = {name, part},
#include "model/fields.def"
#undef COUNTER
#undef GAUGE
};

const char *counter_name(enum counter field)
{
    return counter_rows[field].name;
}

const char *gauge_name(enum gauge field)
{
    return gauge_rows[field].name;
}

enum part counter_part(enum counter field)
{
    return counter_rows[field].part;
}

enum part gauge_part(enum gauge field)
{
    return gauge_rows[field].part;
}

const char *state_name(enum state state)
{
    static const char *const names[STATE_N] = {
        [STATE_RUNNING] = "running",       [STATE_SLEEPING] = "sleeping",
        [STATE_DISK_SLEEP] = "disk_sleep", [STATE_STOPPED] = "stopped",
        [STATE_ZOMBIE] = "zombie",         [STATE_OTHER] = "other",
    };

    return names[state];
}

enum state state_of_letter(char letter)
{
    switch (letter) {
    case 'R':
        return STATE_RUNNING;
    case 'S':
        return STATE_SLEEPING;
    case 'D':
        return STATE_DISK_SLEEP;
    case 'T':
        return STATE_STOPPED;
    case 'Z':
        return STATE_ZOMBIE;
    default:
        return STATE_OTHER;
    }
}

const char *part_name(enum part part)
{
    static const char *const names[PART_N] = {
        [PART_STAT] = "stat", [PART_STATUS] = "status",   [PART_IO] = "io",
        [PART_FD] = "fd",     [PART_LIMITS] = "limits",   [PART_EXE] = "exe",
        [PART_MAPS] = "maps", [PART_CMDLINE] = "cmdline", [PART_SMAPS] = "smaps",
        [PART_TASK] = "task",
    };

    return names[part];
}

static uint32_t fields_of_part(const struct field_row *rows, int n, enum part part)
{
    uint32_t mask = 0;

    for (int i = 0; i < n; i++)
        if (rows[i].part == part)
            mask |= UINT32_C(1) << i;
    return mask;
}

uint32_t part_counters(enum part part)
{
    return fields_of_part(counter_rows, COUNTER_N, part);
}

uint32_t part_gauges(enum part part)
{
    return fields_of_part(gauge_rows, GAUGE_N, part);
}

uint32_t parts_wanted(const struct wanted *wanted)
{
    uint32_t parts = wanted->parts | part_bit(PART_STAT);

    for (uint32_t left = wanted->counters; left; left &= left - 1)
        parts |= part_bit(counter_rows[__builtin_ctz(left)].part);
    for (uint32_t left = wanted->gauges; left; left &= left - 1)
        parts |= part_bit(gauge_rows[__builtin_ctz(left)].part);
    return parts;
}

uint32_t sample_lacks(const struct sample *s, const struct wanted *wanted)
{
    uint32_t counters = wanted->counters & ~s->have_counters;
    uint32_t gauges = wanted->gauges & ~s->have_gauges;
    uint32_t lacks = 0;

    for (; counters; counters &= counters - 1)
        lacks |= part_bit(counter_rows[__builtin_ctz(counters)].part);
    for (; gauges; gauges &= gauges - 1)
        lacks |= part_bit(gauge_rows[__builtin_ctz(gauges)].part);
    return lacks;
}
