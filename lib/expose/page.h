#pragma once
/*
 * page - a page of samples being written, in either text format.
 *
 * The formats differ in what stands above a family and at the page's end; a sample line is the
 * same in both, and is written here and nowhere else. What stands above a family is written with
 * its first sample, so a family without samples leaves no trace. Errors latch in the buffer.
 */
#include "base/buf.h"
#include "base/span.h"
#include "expose/families.h"

#include <stdbool.h>
#include <stdint.h>

enum format {
    FORMAT_TEXT,        /* Prometheus text 0.0.4 */
    FORMAT_OPENMETRICS, /* OpenMetrics 1.0.0 */
    FORMAT_N,
};

enum {
    PAGE_LABELS = 32,
    PAGE_LABEL_MAX = 64,
};

/* A label as it stands between the braces. */
struct page_label {
    char text[PAGE_LABEL_MAX];
    size_t n; /* 0: not built yet */
};

struct page {
    struct buf *out; /* not owned */
    enum format format;
    const struct family *family; /* whose samples come now */
    bool described;              /* its HELP and TYPE are written */
    struct page_label labels[PAGE_LABELS];
};

#define NO_LABEL ((struct span){NULL, 0})

/* Several labels, written as they stand between the braces. */
struct label_set {
    char text[512];
    size_t n;
};

static inline struct span label_set_span(const struct label_set *set)
{
    return span_of(set->text, set->n);
}

/* Adds a label, its value escaped. One that does not fit any more is left out. */
void label_set_add(struct label_set *set, const char *name, struct span value);

/* Samples belong to f from here on. */
void page_family(struct page *p, const struct family *f);

/* Builds the label of a slot; page_label() calls it. */
void page_build_label(struct page_label *label, const char *name, const char *value);

/*
 * The label of this name and value, built once per family: a slot, below PAGE_LABELS, stands for
 * one value as long as the family lasts. The value is a plain word that needs no escaping.
 */
static inline struct span page_label(struct page *p, unsigned slot, const char *name,
                                     const char *value)
{
    struct page_label *label = &p->labels[slot];

    if (label->n == 0)
        page_build_label(label, name, value);
    return span_of(label->text, label->n);
}

/*
 * Write one sample each, with up to two pieces of labels as they stand between the braces; either
 * may be empty. Seconds are given in nanoseconds. A double that is negative or not finite is no
 * value: nothing is written.
 */
void page_u64(struct page *p, struct span labels, struct span more, uint64_t value);
void page_seconds(struct page *p, struct span labels, struct span more, uint64_t ns);
void page_double(struct page *p, struct span labels, struct span more, double value);
