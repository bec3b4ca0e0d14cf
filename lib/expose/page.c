/*
 * page - sample lines.
 *
 * A page may have ten thousand of them: each makes room in the buffer once and then only copies.
 */
#include "expose/page.h"

#include "expose/escape.h"
#include "expose/number.h"
#include "expose/openmetrics.h"
#include "expose/text.h"

#include <assert.h>
#include <math.h>

static char *put(char *at, const char *p, size_t n)
{
    memcpy(at, p, n);
    return at + n;
}

void label_set_add(struct label_set *set, const char *name, struct span value)
{
    size_t name_n = strlen(name);
    char *at = set->text + set->n;

    /* Comma, `="` and `"` around a value of which every byte may need a backslash. */
    if (name_n + 4 + 2 * value.n > sizeof(set->text) - set->n)
        return;
    if (set->n > 0)
        *at++ = ',';
    at = put(at, name, name_n);
    at = put(at, "=\"", 2);
    at += escape_quoted(at, value);
    *at++ = '"';
    set->n = (size_t)(at - set->text);
}

void page_family(struct page *p, const struct family *f)
{
    p->family = f;
    p->described = false;
    for (unsigned i = 0; i < PAGE_LABELS; i++)
        p->labels[i].n = 0;
}

void page_build_label(struct page_label *label, const char *name, const char *value)
{
    size_t name_n = strlen(name), value_n = strlen(value);
    char *at = label->text;

    /* Both are constants of the program. */
    assert(name_n + value_n + 3 <= sizeof(label->text));
    at = put(at, name, name_n);
    at = put(at, "=\"", 2);
    at = put(at, value, value_n);
    *at++ = '"';
    label->n = (size_t)(at - label->text);
}

static void page_describe(struct page *p)
{
    p->described = true;
    if (p->format == FORMAT_OPENMETRICS)
        openmetrics_family(p->out, p->family);
    else
        text_family(p->out, p->family);
}

/* Room for n bytes; nearly always there is some, and calling buf is saved. */
static inline char *page_room(struct buf *out, size_t n)
{
    if (!out->failed && n <= out->cap - out->len)
        return out->data + out->len;
    return buf_reserve(out, n);
}

/* Writes a line up to its value. Returns where the value goes, or NULL if there is no room. */
static inline char *page_begin(struct page *p, struct span labels, struct span more)
{
    struct span name = p->family->name;
    char *at;

    if (!p->described)
        page_describe(p);
    /* Punctuation: {,} and a blank, LF. */
    at = page_room(p->out, name.n + labels.n + more.n + NUMBER_MAX + 5);
    if (!at)
        return NULL;
    at = put(at, name.p, name.n);
    if (labels.n + more.n > 0) {
        *at++ = '{';
        if (labels.n > 0)
            at = put(at, labels.p, labels.n);
        if (labels.n > 0 && more.n > 0)
            *at++ = ',';
        if (more.n > 0)
            at = put(at, more.p, more.n);
        *at++ = '}';
    }
    *at++ = ' ';
    return at;
}

static inline void page_end(struct page *p, char *at)
{
    *at++ = '\n';
    p->out->len = (size_t)(at - p->out->data);
}

void page_u64(struct page *p, struct span labels, struct span more, uint64_t value)
{
    char *at = page_begin(p, labels, more);

    if (at)
        page_end(p, number_u64(at, value));
}

void page_seconds(struct page *p, struct span labels, struct span more, uint64_t ns)
{
    char *at = page_begin(p, labels, more);

    if (at)
        page_end(p, number_seconds(at, ns));
}

void page_double(struct page *p, struct span labels, struct span more, double value)
{
    char *at;

    if (!isfinite(value) || value < 0)
        return;
    at = page_begin(p, labels, more);
    if (at)
        page_end(p, number_double(at, value));
}
