/*
 * ini_text - the one user of inih, which is kept on a short lead.
 *
 * inih cuts lines at the size of its buffer and parses the rest as another line, cuts names at 49
 * bytes, joins indented lines, ends values at ` ;` and at NUL, and passes repeated keys on; how
 * much of that depends on how it was built. So each physical line is judged here before inih gets
 * it, by the reader that feeds it, and inih's reading of the line is compared with ours when it
 * comes back. A line that the two read differently is an error, whatever build of inih it is.
 *
 * After the first error the reader reports the end of the input.
 */
#include "daemon/ini_text.h"

#include "base/scan.h"
#include "daemon/escape.h"
#include "daemon/value.h"

#include <errno.h>
#include <ini.h>
#include <string.h>

/*
 * Variables of Debian's inih, which others lack. With them lines may be long; without, they may
 * be as long as the buffer that inih was built with, which is what it tells the reader. Its other
 * variables are of no use here: what they would turn off is refused.
 */
extern bool ini_use_stack __attribute__((weak));
extern int ini_max_line __attribute__((weak));
extern int ini_initial_alloc __attribute__((weak));

enum {
    LINE_MAX_BYTES = 64 * 1024, /* where inih lets us choose */
    NAME_MAX_BYTES = 49,        /* of sections and keys, in every build */
};

/* What stands on the line at hand. */
enum line_kind {
    LINE_NOTHING, /* blank or a comment */
    LINE_SECTION,
    LINE_PAIR,
};

/* ---- errors ---- */

static void begin_error(struct ini_text *t)
{
    buf_reset(t->error);
    escape_append(t->error, span_from_str(t->file));
    if (t->line > 0)
        buf_printf(t->error, ":%u", t->line);
    buf_append_str(t->error, ": ");
    if (t->section.p) {
        buf_append_char(t->error, '[');
        buf_append_span(t->error, t->section);
        buf_append_char(t->error, ']');
    }
    if (t->key.n > 0) {
        buf_append_str(t->error, t->section.p ? " " : "");
        buf_append_span(t->error, t->key);
    }
    if (t->section.p || t->key.n > 0)
        buf_append_str(t->error, ": ");
}

int ini_text_fail(struct ini_text *t, const char *what)
{
    begin_error(t);
    buf_append_str(t->error, what);
    t->result = -EINVAL;
    return t->result;
}

int ini_text_fail_seen(struct ini_text *t, const char *what, unsigned line)
{
    ini_text_fail(t, what);
    buf_printf(t->error, ", first in line %u", line);
    return t->result;
}

int ini_text_fail_memory(struct ini_text *t)
{
    ini_text_fail(t, "not enough memory");
    t->result = -ENOMEM;
    return t->result;
}

/* Fails if check() finds something wrong with the text. */
static int check_text(struct ini_text *t, struct span text,
                      int (*check)(struct span text, struct buf *what))
{
    struct buf what;

    buf_init(&what, t->error->max);
    if (check(text, &what) < 0) {
        ini_text_fail(t, "");
        buf_append_span(t->error, buf_span(&what));
    }
    buf_deinit(&what);
    return t->result;
}

/* ---- lines ---- */

static int judge_section(struct ini_text *t, struct span line)
{
    const char *end = memchr(line.p, ']', line.n);
    struct span name;

    if (t->calls->end_section(t) < 0)
        return t->result;
    t->section = span_of(NULL, 0);
    if (check_text(t, line, value_check_bytes) < 0)
        return t->result;
    if (!end)
        return ini_text_fail(t, "this section lacks its ]");
    if (end != line.p + line.n - 1)
        return ini_text_fail(t,
                             "something follows the section's ]; comments have lines of their own");
    name = span_of(line.p + 1, line.n - 2);
    if (name.n > NAME_MAX_BYTES)
        return ini_text_fail(t, "the section's name is longer than 49 bytes");
    t->section = name;
    if (check_text(t, name, value_check_comment) < 0)
        return t->result;
    return t->calls->begin_section(t);
}

/* Takes the key, its bytes checked, up to the `=`. */
static int take_key(struct ini_text *t, struct span *rest)
{
    struct span key;
    size_t n = 0;

    while (n < rest->n && rest->p[n] != '=' && rest->p[n] != ':')
        n++;
    key = span_trim(span_of(rest->p, n));
    if (check_text(t, key, value_check_bytes) < 0)
        return t->result;
    if (n == rest->n)
        return ini_text_fail(t, "this line is no \"key = value\"");
    if (rest->p[n] == ':')
        return ini_text_fail(t, "this line is no \"key = value\": a \":\" comes before any \"=\"");
    if (key.n == 0)
        return ini_text_fail(t, "the key before the \"=\" is missing");
    if (key.n > NAME_MAX_BYTES)
        return ini_text_fail(t, "the key is longer than 49 bytes");
    t->key = key;
    *rest = span_skip(*rest, n + 1);
    return 0;
}

static int judge_pair(struct ini_text *t, struct span line)
{
    if (take_key(t, &line) < 0 || t->calls->find_key(t) < 0)
        return t->result;
    t->value = span_trim(line);
    if (check_text(t, t->value, value_check_bytes) < 0)
        return t->result;
    return check_text(t, t->value, value_check_comment);
}

/* What is wrong with a line before it is looked at as text. */
static int check_encoding(struct ini_text *t, struct span line)
{
    if (t->line == 1 && (span_starts_with(line, SPAN_LITERAL("\xff\xfe")) ||
                         span_starts_with(line, SPAN_LITERAL("\xfe\xff"))))
        return ini_text_fail(t, "is UTF-16; it must be UTF-8");
    if (span_starts_with(line, SPAN_LITERAL("\xef\xbb\xbf")))
        return ini_text_fail(t, "a byte order mark, and not the first one of the file");
    if (memchr(line.p, '\r', line.n))
        return ini_text_fail(t, "a CR without LF: lines end with LF or CR LF");
    return 0;
}

static int judge_line(struct ini_text *t, struct span line, enum line_kind *ret)
{
    struct span text = span_trim(line);

    t->key = t->value = span_of(NULL, 0);
    *ret = LINE_NOTHING;
    if (check_encoding(t, line) < 0)
        return t->result;
    if (text.n == 0 || *text.p == '#' || *text.p == ';')
        return check_text(t, text, value_check_bytes);
    if (text.p != line.p)
        return ini_text_fail(t, "is indented; a value cannot be continued on another line");
    if (*text.p == '[') {
        *ret = LINE_SECTION;
        return judge_section(t, text);
    }
    *ret = LINE_PAIR;
    return judge_pair(t, text);
}

/* Takes the next physical line, its end left out. */
static bool next_line(struct ini_text *t, struct span *ret)
{
    const char *end = t->rest.p + t->rest.n;

    if (t->line == 0)
        scan_literal(&t->rest, SPAN_LITERAL("\xef\xbb\xbf"));
    if (!scan_line(&t->rest, ret))
        return false;
    t->line++;
    /* The CR of a last line without LF is no end of line; it stays, and is refused. */
    if (ret->n > 0 && ret->p[ret->n - 1] == '\r' && ret->p + ret->n < end)
        ret->n--;
    return true;
}

/* ---- inih ---- */

/* inih must have handed back the pair it was given last. */
static int check_handed_back(struct ini_text *t)
{
    if (!t->awaited)
        return 0;
    return ini_text_fail(t, "the INI library reads this line as something else");
}

/* inih asks for a line of at most size - 1 bytes with its LF. */
static char *feed(char *str, int size, void *stream)
{
    struct ini_text *t = stream;
    struct span line;
    enum line_kind kind;

    if (t->result < 0 || check_handed_back(t) < 0 || !next_line(t, &line))
        return NULL;
    if (judge_line(t, line, &kind) < 0)
        return NULL;
    /* What means nothing is not shown to inih, so that its length does not matter. */
    line = kind == LINE_NOTHING ? span_of("", 0) : span_trim(line);
    if (size < 2 || line.n > (size_t)size - 2) {
        ini_text_fail(t, "");
        buf_printf(t->error, "this line is longer than the INI library takes, %d bytes",
                   size > 2 ? size - 2 : 0);
        return NULL;
    }
    memcpy(str, line.p, line.n);
    memcpy(str + line.n, "\n", 2);
    t->awaited = kind == LINE_PAIR;
    return str;
}

/* inih hands back what it made of the line it was fed. Returns 1, or 0 to tell it of an error. */
static int take(void *user, const char *section, const char *name, const char *value)
{
    struct ini_text *t = user;

    /* Some builds report the start of a section like this. */
    if (!name)
        return 1;
    if (t->result < 0)
        return 0;
    if (!t->awaited || !value || !span_equal(span_from_str(section), t->section) ||
        !span_equal(span_from_str(name), t->key) || !span_equal(span_from_str(value), t->value)) {
        ini_text_fail(t, "the INI library reads this line as something else");
        return 0;
    }
    t->awaited = false;
    return t->calls->set_value(t) == 0;
}

static void set_up_inih(void)
{
    if (!&ini_use_stack || !&ini_max_line || !&ini_initial_alloc)
        return;
    ini_use_stack = false;
    ini_max_line = LINE_MAX_BYTES;
    /* All at once: inih then has no need to ask for a line in pieces. */
    ini_initial_alloc = LINE_MAX_BYTES;
}

int ini_text_parse(struct ini_text *t)
{
    int r;

    set_up_inih();
    r = ini_parse_stream(feed, t, take, t);
    if (t->result == 0 && r == -2)
        ini_text_fail_memory(t);
    if (t->result == 0)
        check_handed_back(t);
    if (t->result == 0 && r != 0)
        ini_text_fail(t, "the INI library refuses the file");
    if (t->result == 0)
        t->calls->end_section(t);
    return t->result;
}
