#pragma once
/*
 * families - the rows of families.def as a table.
 *
 * The order of rows is the order of the page, and a row's number is its bit in a selection.
 * Everything here is constant and lives for ever.
 */
#include "base/span.h"
#include "expose/selection.h"
#include "model/parts.h"

#include <stdbool.h>

enum family_type {
    FAMILY_COUNTER,
    FAMILY_GAUGE,
};

struct page;
struct snapshot;
struct snapshot_group;
struct snapshot_process;

struct family {
    struct span name;   /* of its samples, with the `_total` of counters */
    struct span unit;   /* base unit, or empty */
    struct span help;   /* not escaped */
    const char *labels; /* names by commas, for the manual; "" for none */
    enum family_scope scope;
    enum family_type type;
    bool on; /* by default; of processes and compat: when a setting turns those on */
    /* Fields and host files the values come from; the parts follow from the fields. */
    struct wanted reads;
    /* Writes the family's samples: of one group or process, or of the snapshot, by the scope. */
    union {
        void (*group)(struct page *p, const struct snapshot_group *g, unsigned field);
        void (*process)(struct page *p, const struct snapshot_process *r, unsigned field);
        void (*snapshot)(struct page *p, const struct snapshot *s, unsigned field);
    } emit;
    unsigned field; /* which value, as the emit function understands it */
};

enum {
#define GROUP(name, ...)   FAMILY_ID_##name,
#define PROCESS(name, ...) FAMILY_ID_##name,
#define HOST(name, ...)    FAMILY_ID_##name,
#define SELF(name, ...)    FAMILY_ID_##name,
#define COMPAT(name, ...)  FAMILY_ID_##name,
#include "expose/families.def"
#undef GROUP
#undef PROCESS
#undef HOST
#undef SELF
#undef COMPAT
    FAMILY_N,
};

_Static_assert(FAMILY_N <= 64 * SELECTION_WORDS, "a selection has a bit per family");

extern const struct family families[FAMILY_N];

/* The name in OpenMetrics metadata: counters lose their `_total`. */
struct span family_openmetrics_name(const struct family *f);

/* "counter", "gauge" */
const char *family_type_name(enum family_type type);
