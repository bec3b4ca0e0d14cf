/* text - metadata of the text format 0.0.4; it has no end mark. */
#include "expose/text.h"

#include "expose/escape.h"

void text_family(struct buf *out, const struct family *f)
{
    char *help;

    buf_append_str(out, "# HELP ");
    buf_append_span(out, f->name);
    buf_append_char(out, ' ');
    help = buf_reserve(out, 2 * f->help.n);
    if (help)
        buf_commit(out, escape_help(help, f->help));
    buf_append_str(out, "\n# TYPE ");
    buf_append_span(out, f->name);
    buf_append_char(out, ' ');
    buf_append_str(out, family_type_name(f->type));
    buf_append_char(out, '\n');
}
