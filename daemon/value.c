/*
 * value - a parser and a printer per kind of option.
 *
 * Every parser builds its result aside and hands it over at its end, so that a failure leaves the
 * field as it was.
 */
#include "daemon/value.h"

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "daemon/config.h"
#include "daemon/escape.h"
#include "daemon/quantity.h"
#include "group/rule.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 80, /* bytes of a wrong value that an error quotes */
    URL_PATH_MAX = 255,
};

/* Choices are written through a pointer to unsigned. */
_Static_assert(sizeof(enum config_source) == sizeof(unsigned), "enums are as wide as unsigned");
_Static_assert(sizeof(enum config_compat) == sizeof(unsigned), "enums are as wide as unsigned");
_Static_assert(sizeof(enum top_key) == sizeof(unsigned), "enums are as wide as unsigned");
_Static_assert(sizeof(enum rule_kernel) == sizeof(unsigned), "enums are as wide as unsigned");
_Static_assert(sizeof(enum log_level) == sizeof(unsigned), "enums are as wide as unsigned");
_Static_assert(sizeof(enum log_format) == sizeof(unsigned), "enums are as wide as unsigned");

static void *field_of(const struct option_spec *spec, const void *base)
{
    return (char *)base + spec->offset;
}

/* `"value" reason`, as the end of an error. */
static int refuse(struct buf *what, struct span value, const char *reason)
{
    escape_append_quoted(what, value, SHOWN_MAX);
    buf_append_char(what, ' ');
    buf_append_str(what, reason);
    return -EINVAL;
}

static int refuse_memory(struct buf *what)
{
    buf_append_str(what, "not enough memory");
    return -ENOMEM;
}

int value_check_bytes(struct span text, struct buf *what)
{
    while (text.n > 0) {
        size_t n = utf8_character(text);
        unsigned char c = (unsigned char)*text.p;

        if (n == 0 || (c < 0x20 && c != '\t') || c == 0x7f) {
            buf_printf(what, n == 0 ? "byte 0x%02x is no UTF-8" : "control character 0x%02x", c);
            return -EINVAL;
        }
        text = span_skip(text, n);
    }
    return 0;
}

int value_check_comment(struct span text, struct buf *what)
{
    bool blank = true;

    for (size_t i = 0; i < text.n; i++) {
        if (blank && (text.p[i] == ';' || text.p[i] == '#')) {
            buf_printf(what,
                       "\" %c\" begins no comment here; those have lines of their own "
                       "(where one is meant, write \\%c)",
                       text.p[i], text.p[i]);
            return -EINVAL;
        }
        blank = text.p[i] == ' ' || text.p[i] == '\t';
    }
    return 0;
}

/* ---- words and lists ---- */

/* The next word of a list: ends at a blank that no backslash precedes. False at the end. */
static bool take_word(struct span *rest, struct span *ret)
{
    size_t n = 0;

    scan_blanks(rest);
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n += rest->p[n] == '\\' && n + 1 < rest->n ? 2 : 1;
    *ret = span_of(rest->p, n);
    *rest = span_skip(*rest, n);
    return n > 0;
}

static size_t count_words(struct span text)
{
    struct span word;
    size_t n = 0;

    while (take_word(&text, &word))
        n++;
    return n;
}

static void list_clear(struct config_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){0};
}

static int check_glob(struct span glob, struct buf *what)
{
    static const char *const faults[] = {
        [GLOB_E_UNFINISHED] = "is no glob: a [ is not closed, or a \\ is last",
        [GLOB_E_REVERSED] = "has a range in [ ] that runs backwards, so nothing is in it",
    };
    int r;

    if (*glob.p == '"' || *glob.p == '\'')
        return refuse(what, glob,
                      "begins with a quote, which means nothing here; put \\ before a "
                      "blank, or before a quote that is meant");
    r = glob_check(glob);
    return r > 0 ? refuse(what, glob, faults[r]) : 0;
}

static int check_family(struct span glob, struct buf *what)
{
    struct selection scratch = {0};

    if (check_glob(glob, what) < 0)
        return -EINVAL;
    if (selection_include(&scratch, glob) == 0)
        return refuse(what, glob, "matches no metric");
    return 0;
}

static int set_list(const struct option_spec *spec, struct config_list *field, struct span text,
                    struct buf *what)
{
    size_t n = count_words(text);
    struct config_list list = {.items = calloc(n > 0 ? n : 1, sizeof(*list.items))};
    struct span word;
    int r = list.items ? 0 : refuse_memory(what);

    while (r == 0 && take_word(&text, &word)) {
        r = spec->kind == OPTION_FAMILIES ? check_family(word, what) : check_glob(word, what);
        if (r < 0)
            break;
        list.items[list.n] = strndup(word.p, word.n);
        if (list.items[list.n])
            list.n++;
        else
            r = refuse_memory(what);
    }
    if (r < 0) {
        list_clear(&list);
        return r;
    }
    list_clear(field);
    *field = list;
    return 0;
}

static void format_list(const struct config_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_append_str(out, i > 0 ? " " : "");
        buf_append_str(out, list->items[i]);
    }
}

/* ---- regular expressions ---- */

/* What rule_check_pattern() found wrong. */
static int refuse_regex(int error, const struct rule_fault *fault, struct buf *what)
{
    if (error < 0)
        return refuse_memory(what);
    escape_append_quoted(what, fault->part, SHOWN_MAX);
    if (error == RULE_E_SHADOWED)
        buf_printf(what,
                   " has a group named %1$s, but ${%1$s} is something else; take another name",
                   place_name(fault->place));
    else
        buf_printf(what, " is no regular expression: %s, behind %zu bytes", fault->regex.reason,
                   fault->regex.at);
    return -EINVAL;
}

static int check_regex(const struct config_list *list, struct span text, struct buf *what)
{
    struct rule_fault fault;
    int r;

    if (list->n == CONFIG_PATTERNS_MAX)
        return refuse(what, text, "is one expression too many");
    r = rule_check_pattern(RULE_CMDLINE, text, &fault);
    return r == 0 ? 0 : refuse_regex(r, &fault, what);
}

/* Adds the whole text, blanks and all. */
static int add_regex(struct config_list *list, struct span text, struct buf *what)
{
    char **items, *item;
    int r = check_regex(list, text, what);

    if (r < 0)
        return r;
    items = realloc(list->items, (list->n + 1) * sizeof(*items));
    if (!items)
        return refuse_memory(what);
    list->items = items;
    item = strndup(text.p, text.n);
    if (!item)
        return refuse_memory(what);
    list->items[list->n++] = item;
    return 0;
}

/* ---- addresses ---- */

/* Adds one address to the n that are there. */
static int add_address(struct address *items, size_t n, struct span word, struct buf *what)
{
    const char *reason;

    if (n == CONFIG_LISTEN_MAX)
        return refuse(what, word, "is one address too many");
    if (address_parse(word, &items[n], &reason) < 0)
        return refuse(what, word, reason);
    /* Of port 0 each is another one. */
    for (size_t i = 0; i < n && address_port(&items[n]) != 0; i++)
        if (address_equal(&items[i], &items[n]))
            return refuse(what, word, "is named twice");
    return 0;
}

static int set_listen(struct config_listen *field, struct span text, struct buf *what)
{
    cleanup_free struct address *items = calloc(CONFIG_LISTEN_MAX, sizeof(*items));
    struct span word;
    size_t n = 0;

    if (!items)
        return refuse_memory(what);
    for (; take_word(&text, &word); n++)
        if (add_address(items, n, word, what) < 0)
            return -EINVAL;
    free(field->items);
    field->items = items;
    field->n = n;
    items = NULL;
    return 0;
}

static void format_listen(const struct config_listen *listen, struct buf *out)
{
    char text[ADDRESS_TEXT_MAX];

    for (size_t i = 0; i < listen->n; i++) {
        address_format(&listen->items[i], text);
        buf_append_str(out, i > 0 ? " " : "");
        buf_append_str(out, text);
    }
}

/* ---- words of a choice ---- */

/* The choice's word of this number; empty behind the last. */
static struct span choice_word(const char *choices, unsigned number)
{
    for (; number > 0; number--) {
        choices = strchr(choices, '|');
        if (!choices)
            return span_of("", 0);
        choices++;
    }
    return span_of(choices, strcspn(choices, "|"));
}

static bool is_built(enum config_source source)
{
#ifdef PROCTALLY_WITH_BPF
    (void)source;
    return true;
#else
    return source != CONFIG_SOURCE_BPF;
#endif
}

static int set_choice(const struct option_spec *spec, unsigned *field, struct span text,
                      struct buf *what)
{
    struct span word;

    for (unsigned i = 0; (word = choice_word(spec->value, i)).n > 0; i++)
        if (span_equal(word, text)) {
            if (spec->kind == OPTION_SOURCE && !is_built(i))
                return refuse(what, text, "cannot be had: this build has no bpf source");
            *field = i;
            return 0;
        }
    refuse(what, text, "is none of ");
    buf_append_str(what, spec->value);
    return -EINVAL;
}

/* ---- numbers ---- */

static int parse_number(struct span text, uint64_t *ret, const char **ret_reason)
{
    int r = scan_whole_u64(text, ret);

    *ret_reason = r == -ERANGE ? "is too large" : "is no whole number";
    return r;
}

static void format_number(const struct option_spec *spec, uint64_t value, struct buf *out)
{
    char text[QUANTITY_TEXT_MAX];

    if (spec->kind == OPTION_DURATION) {
        quantity_format_duration(value, text);
        buf_append_str(out, text);
    } else if (spec->kind == OPTION_SIZE) {
        quantity_format_size(value, text);
        buf_append_str(out, text);
    } else if (spec->kind == OPTION_PERCENT) {
        quantity_format_percent(value, text);
        buf_append_str(out, text);
    } else {
        buf_printf(out, "%" PRIu64, value);
    }
}

static int set_number(const struct option_spec *spec, uint64_t *field, struct span text,
                      struct buf *what)
{
    const char *reason;
    uint64_t value = 0;
    int r;

    if (spec->kind == OPTION_DURATION)
        r = quantity_parse_duration(text, &value, &reason);
    else if (spec->kind == OPTION_SIZE)
        r = quantity_parse_size(text, &value, &reason);
    else if (spec->kind == OPTION_PERCENT)
        r = quantity_parse_percent(text, &value, &reason);
    else
        r = parse_number(text, &value, &reason);
    if (r < 0)
        return refuse(what, text, reason);
    if (value < spec->low || value > spec->high) {
        refuse(what, text, "is not within ");
        format_number(spec, spec->low, what);
        buf_append_str(what, "..");
        format_number(spec, spec->high, what);
        return -EINVAL;
    }
    *field = value;
    return 0;
}

/* ---- paths ---- */

static const char *path_fault(struct span path)
{
    if (*path.p != '/')
        return "is no absolute path";
    return path.n >= PATH_MAX ? "is too long" : NULL;
}

bool value_path_climbs(struct span path)
{
    while (path.n > 0) {
        size_t n = 0;

        while (n < path.n && path.p[n] != '/')
            n++;
        if (span_equal(span_of(path.p, n), SPAN_LITERAL("..")))
            return true;
        path = span_skip(path, n < path.n ? n + 1 : n);
    }
    return false;
}

static const char *state_path_fault(struct span path)
{
    bool below = span_starts_with(path, SPAN_LITERAL(CONFIG_RUNTIME_DIRECTORY));

    if (path.n == 0)
        return NULL;
    if (!below && *path.p != '/')
        return "is neither an absolute path nor below $RUNTIME_DIRECTORY";
    if (below && value_path_climbs(path))
        return "is not below $RUNTIME_DIRECTORY, for there is a .. in it";
    if (path.p[path.n - 1] == '/')
        return "names no file, since it ends in /";
    return path.n >= PATH_MAX ? "is too long" : NULL;
}

static bool is_url_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           strchr("-._~/", c);
}

static bool under(struct span path, struct span prefix)
{
    return span_starts_with(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
}

/* Whether a segment of the path is empty or made of dots alone. */
static bool has_odd_segment(struct span path)
{
    size_t letters = 0;

    for (size_t i = 1; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/') {
            letters += path.p[i] != '.';
            continue;
        }
        if (letters == 0)
            return true;
        letters = 0;
    }
    return false;
}

static const char *url_path_fault(struct span path)
{
    if (*path.p != '/')
        return "does not begin with /";
    if (path.n == 1 || under(path, SPAN_LITERAL("/-")) || under(path, SPAN_LITERAL("/api")))
        return "is the path of something else: take none of /, /-/ and /api/";
    if (path.n > URL_PATH_MAX)
        return "is too long";
    for (size_t i = 0; i < path.n; i++)
        if (!is_url_byte(path.p[i]))
            return "has bytes other than letters, digits, and -._~/";
    return has_odd_segment(path) ? "has a segment that is empty or dots alone" : NULL;
}

static int set_path(const struct option_spec *spec, char **field, struct span text,
                    struct buf *what)
{
    const char *fault = spec->kind == OPTION_URL_PATH     ? url_path_fault(text)
                        : spec->kind == OPTION_STATE_PATH ? state_path_fault(text)
                                                          : path_fault(text);
    char *path;

    if (fault)
        return refuse(what, text, fault);
    path = strndup(text.p, text.n);
    if (!path)
        return refuse_memory(what);
    free(*field);
    *field = path;
    return 0;
}

/* ---- all kinds ---- */

static bool may_be_empty(enum option_kind kind)
{
    return kind == OPTION_GROUPS || kind == OPTION_FAMILIES || kind == OPTION_STATE_PATH;
}

int value_set(const struct option_spec *spec, void *base, struct span text, struct buf *what)
{
    void *field = field_of(spec, base);

    text = span_trim(text);
    if (text.n == 0 && !may_be_empty(spec->kind)) {
        buf_append_str(what, "needs a value");
        return -EINVAL;
    }
    if (value_check_bytes(text, what) < 0 || value_check_comment(text, what) < 0)
        return -EINVAL;
    switch (spec->kind) {
    case OPTION_CHOICE:
    case OPTION_SOURCE:
        return set_choice(spec, field, text, what);
    case OPTION_NUMBER:
    case OPTION_DURATION:
    case OPTION_SIZE:
    case OPTION_PERCENT:
        return set_number(spec, field, text, what);
    case OPTION_PATH:
    case OPTION_STATE_PATH:
    case OPTION_URL_PATH:
        return set_path(spec, field, text, what);
    case OPTION_LISTEN:
        return set_listen(field, text, what);
    case OPTION_GLOBS:
    case OPTION_GROUPS:
    case OPTION_FAMILIES:
        return set_list(spec, field, text, what);
    case OPTION_REGEX:
        return add_regex(field, text, what);
    }
    return -EINVAL;
}

void value_format(const struct option_spec *spec, const void *base, struct buf *out)
{
    const void *field = field_of(spec, base);

    switch (spec->kind) {
    case OPTION_CHOICE:
    case OPTION_SOURCE:
        buf_append_span(out, choice_word(spec->value, *(const unsigned *)field));
        break;
    case OPTION_NUMBER:
    case OPTION_DURATION:
    case OPTION_SIZE:
    case OPTION_PERCENT:
        format_number(spec, *(const uint64_t *)field, out);
        break;
    case OPTION_PATH:
    case OPTION_STATE_PATH:
    case OPTION_URL_PATH:
        buf_append_str(out, *(char *const *)field);
        break;
    case OPTION_LISTEN:
        format_listen(field, out);
        break;
    case OPTION_GLOBS:
    case OPTION_GROUPS:
    case OPTION_FAMILIES:
    case OPTION_REGEX:
        format_list(field, out);
        break;
    }
}

void value_clear(const struct option_spec *spec, void *base)
{
    void *field = field_of(spec, base);
    struct config_listen *listen;

    switch (spec->kind) {
    case OPTION_CHOICE:
    case OPTION_SOURCE:
        *(unsigned *)field = 0;
        break;
    case OPTION_NUMBER:
    case OPTION_DURATION:
    case OPTION_SIZE:
    case OPTION_PERCENT:
        *(uint64_t *)field = 0;
        break;
    case OPTION_PATH:
    case OPTION_STATE_PATH:
    case OPTION_URL_PATH:
        free(*(char **)field);
        *(char **)field = NULL;
        break;
    case OPTION_LISTEN:
        listen = field;
        free(listen->items);
        *listen = (struct config_listen){0};
        break;
    case OPTION_GLOBS:
    case OPTION_GROUPS:
    case OPTION_FAMILIES:
    case OPTION_REGEX:
        list_clear(field);
        break;
    }
}
