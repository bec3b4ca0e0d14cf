/* families - families.def turned into the table; all its meaning is in the rows. */
#include "expose/families.h"

#include "expose/emit.h"

#define ON     true
#define OPT_IN false
#define BIT(n) (UINT32_C(1) << (n))

#define FAMILY(scope_, kind, id, type_, unit_, labels_, on_, emit_, field_, help_, ...) \
    [FAMILY_ID_##id] = {                                                                \
        .name = SPAN_LITERAL(#id),                                                      \
        .unit = SPAN_LITERAL(unit_),                                                    \
        .help = SPAN_LITERAL(help_),                                                    \
        .labels = labels_,                                                              \
        .scope = scope_,                                                                \
        .type = FAMILY_##type_,                                                         \
        .on = on_,                                                                      \
        .reads = {__VA_ARGS__},                                                         \
        .emit.kind = emit_,                                                             \
        .field = field_,                                                                \
    },
#define GROUP(...)   FAMILY(FAMILY_GROUP, group, __VA_ARGS__)
#define PROCESS(...) FAMILY(FAMILY_PROCESS, process, __VA_ARGS__)
#define HOST(...)    FAMILY(FAMILY_HOST, snapshot, __VA_ARGS__)
#define SELF(...)    FAMILY(FAMILY_SELF, snapshot, __VA_ARGS__)
#define COMPAT(...)  FAMILY(FAMILY_COMPAT, group, __VA_ARGS__)

const struct family families[FAMILY_N] = {
#include "expose/families.def"
};

struct span family_openmetrics_name(const struct family *f)
{
    struct span name = f->name;

    if (f->type == FAMILY_COUNTER)
        name.n -= strlen("_total");
    return name;
}

const char *family_type_name(enum family_type type)
{
    return type == FAMILY_COUNTER ? "counter" : "gauge";
}
