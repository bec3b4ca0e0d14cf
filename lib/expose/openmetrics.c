/* openmetrics - metadata and end mark of OpenMetrics 1.0.0. */
#include "expose/openmetrics.h"

#include "expose/escape.h"

static void openmetrics_line(struct buf *out, const char *keyword, const struct family *f)
{
    buf_append_str(out, keyword);
    buf_append_span(out, family_openmetrics_name(f));
    buf_append_char(out, ' ');
}

void openmetrics_family(struct buf *out, const struct family *f)
{
    char *help;

    openmetrics_line(out, "# TYPE ", f);
    buf_append_str(out, family_type_name(f->type));
    if (f->unit.n > 0) {
        openmetrics_line(out, "\n# UNIT ", f);
        buf_append_span(out, f->unit);
    }
    openmetrics_line(out, "\n# HELP ", f);
    help = buf_reserve(out, 2 * f->help.n);
    if (help)
        buf_commit(out, escape_quoted(help, f->help));
    buf_append_char(out, '\n');
}

void openmetrics_end(struct buf *out)
{
    buf_append_str(out, "# EOF\n");
}
