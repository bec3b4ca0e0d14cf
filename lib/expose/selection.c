/* selection - bits over the rows of families.def. */
#include "expose/selection.h"

#include "base/glob.h"
#include "expose/families.h"
#include "model/sample.h"

static void selection_set(struct selection *s, unsigned family, bool on)
{
    uint64_t bit = UINT64_C(1) << (family % 64);

    if (on)
        s->on[family / 64] |= bit;
    else
        s->on[family / 64] &= ~bit;
}

void selection_turn_on(struct selection *s, enum family_scope scope)
{
    for (unsigned i = 0; i < FAMILY_N; i++)
        if (families[i].scope == scope && families[i].on)
            selection_set(s, i, true);
}

void selection_turn_off(struct selection *s, enum family_scope scope)
{
    for (unsigned i = 0; i < FAMILY_N; i++)
        if (families[i].scope == scope)
            selection_set(s, i, false);
}

void selection_default(struct selection *ret)
{
    *ret = (struct selection){0};
    selection_turn_on(ret, FAMILY_GROUP);
    selection_turn_on(ret, FAMILY_HOST);
    selection_turn_on(ret, FAMILY_SELF);
}

static size_t selection_set_matching(struct selection *s, struct span glob, bool on)
{
    size_t matched = 0;

    for (unsigned i = 0; i < FAMILY_N; i++) {
        if (!glob_match(glob, families[i].name))
            continue;
        selection_set(s, i, on);
        matched++;
    }
    return matched;
}

size_t selection_include(struct selection *s, struct span glob)
{
    return selection_set_matching(s, glob, true);
}

size_t selection_exclude(struct selection *s, struct span glob)
{
    return selection_set_matching(s, glob, false);
}

bool selection_is_empty(const struct selection *s)
{
    for (size_t i = 0; i < SELECTION_WORDS; i++)
        if (s->on[i])
            return false;
    return true;
}

bool selection_add(struct selection *s, struct span name)
{
    for (unsigned i = 0; i < FAMILY_N; i++) {
        if (!span_equal(name, families[i].name) &&
            !span_equal(name, family_openmetrics_name(&families[i])))
            continue;
        selection_set(s, i, true);
        return true;
    }
    return false;
}

void selection_wanted(const struct selection *s, struct wanted *ret)
{
    struct wanted w = {0};

    for (unsigned i = 0; i < FAMILY_N; i++) {
        if (!selection_has(s, i))
            continue;
        w.parts |= families[i].reads.parts;
        w.counters |= families[i].reads.counters;
        w.gauges |= families[i].reads.gauges;
        w.host_parts |= families[i].reads.host_parts;
        w.threads |= families[i].reads.threads;
    }
    w.parts = parts_wanted(&w);
    *ret = w;
}
