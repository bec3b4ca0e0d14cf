/* render - families outside, groups inside: each family's lines stand together. */
#include "expose/render.h"

#include "expose/compat.h"
#include "expose/families.h"
#include "expose/openmetrics.h"
#include "expose/text.h"

static bool is_rendered(const struct snapshot *s, const struct selection *only, unsigned family)
{
    if (!s->up && families[family].scope != FAMILY_SELF)
        return false;
    return selection_has(&s->families, family) && (!only || selection_has(only, family));
}

static void render_family(struct page *p, const struct snapshot *s, const struct family *f)
{
    page_family(p, f);
    switch (f->scope) {
    case FAMILY_GROUP:
        for (size_t i = 0; i < s->n_groups; i++)
            f->emit.group(p, &s->groups[i], f->field);
        break;
    case FAMILY_PROCESS:
        for (size_t i = 0; i < s->n_processes; i++)
            f->emit.process(p, &s->processes[i], f->field);
        break;
    case FAMILY_HOST:
    case FAMILY_SELF:
        f->emit.snapshot(p, s, f->field);
        break;
    case FAMILY_COMPAT:
        compat_family(p, s, f);
        break;
    }
}

void render(const struct snapshot *s, enum format format, const struct selection *only,
            struct buf *out)
{
    struct page p = {.out = out, .format = format};

    for (unsigned i = 0; i < FAMILY_N; i++)
        if (is_rendered(s, only, i))
            render_family(&p, s, &families[i]);
    if (format == FORMAT_OPENMETRICS)
        openmetrics_end(out);
}

const char *format_content_type(enum format format)
{
    return format == FORMAT_OPENMETRICS ? OPENMETRICS_CONTENT_TYPE : TEXT_CONTENT_TYPE;
}
