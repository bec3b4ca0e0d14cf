/*
 * config - what the sections, keys and values of a file mean.
 *
 * struct parse is the state of one pass over one file: what was seen, and where. Settings go to a
 * scratch struct config that becomes the result when all is well.
 */
#include "daemon/config.h"

#include "base/cleanup.h"
#include "daemon/config_rules.h"
#include "daemon/escape.h"
#include "daemon/ini_text.h"
#include "daemon/value.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SHOWN_MAX = 80,
    SECTION_N = OPTION_N, /* no more sections than options */
    PRINT_MAX = 4 * CONFIG_FILE_MAX,
};

struct parse {
    struct ini_text text;
    struct config *config;    /* the scratch */
    struct config_rule *rule; /* of a [group NAME] or [exclude NAME]; NULL in other sections */
    const struct option_spec *spec; /* of the key at hand */

    /* Lines where something was seen first; 0: not yet. */
    unsigned section_seen[SECTION_N]; /* by the number of its first option */
    unsigned option_seen[OPTION_N];
    unsigned group_option_seen[GROUP_OPTION_N];
};

/* ---- sections ---- */

/* The number of the section's first option, or -1. */
static int section_number(struct span name)
{
    for (int i = 0; i < OPTION_N; i++)
        if (span_equal(name, span_from_str(option_specs[i].section)))
            return i;
    return -1;
}

/* Fails with what a function of config_rules.h found wrong. */
static int fail_rule(struct ini_text *t, int result, const struct buf *what)
{
    ini_text_fail(t, "");
    buf_append_span(t->error, buf_span(what));
    t->result = result;
    return result;
}

/* A [group NAME] or [exclude NAME] that is over must be fit for use. */
static int end_section(struct ini_text *t)
{
    struct parse *p = t->user;
    const struct config_rule *rule = p->rule;
    struct buf what;
    int r;

    p->rule = NULL;
    if (!rule)
        return 0;
    t->key = span_of(NULL, 0);
    buf_init(&what, CONFIG_ERROR_MAX);
    r = config_rule_check(rule, &what);
    if (r < 0) {
        t->line = rule->line;
        fail_rule(t, r, &what);
    }
    buf_deinit(&what);
    return r;
}

static int begin_rule(struct parse *p, bool exclude, struct span name)
{
    struct buf what;
    int r;

    buf_init(&what, CONFIG_ERROR_MAX);
    r = config_rules_begin(&p->config->rules, exclude, name, p->text.line, &p->rule, &what);
    if (r < 0)
        fail_rule(&p->text, r, &what);
    buf_deinit(&what);
    memset(p->group_option_seen, 0, sizeof(p->group_option_seen));
    return r;
}

static int begin_section(struct ini_text *t)
{
    struct parse *p = t->user;
    struct span name;
    bool exclude;
    int number;

    if (config_rule_section(t->section, &exclude, &name))
        return begin_rule(p, exclude, name);
    number = section_number(t->section);
    if (number < 0)
        return ini_text_fail(t, "unknown section");
    if (p->section_seen[number])
        return ini_text_fail_seen(t, "is repeated", p->section_seen[number]);
    p->section_seen[number] = t->line;
    return 0;
}

/* ---- keys and values ---- */

/* Whether the option of this number may stand in the section at hand. */
static bool option_is_here(const struct parse *p, size_t i)
{
    return p->rule ? config_rule_takes(p->rule, (enum group_option_id)i)
                   : span_equal(p->text.section, span_from_str(option_specs[i].section));
}

static int find_option(struct ini_text *t)
{
    struct parse *p = t->user;
    const struct option_spec *specs = p->rule ? group_option_specs : option_specs;
    unsigned *seen = p->rule ? p->group_option_seen : p->option_seen;
    size_t n = p->rule ? (size_t)GROUP_OPTION_N : (size_t)OPTION_N;

    if (!t->section.p)
        return ini_text_fail(t, "stands before the first section");
    for (size_t i = 0; i < n; i++) {
        if (!span_equal(t->key, span_from_str(specs[i].key)) || !option_is_here(p, i))
            continue;
        if (seen[i] && specs[i].kind != OPTION_REGEX)
            return ini_text_fail_seen(t, "is repeated", seen[i]);
        seen[i] = t->line;
        p->spec = &specs[i];
        return 0;
    }
    return ini_text_fail(t, "unknown key");
}

static int set_value(struct ini_text *t)
{
    struct parse *p = t->user;
    void *base = p->rule ? (void *)p->rule : (void *)p->config;
    struct buf what;
    int r;

    buf_init(&what, CONFIG_ERROR_MAX);
    r = value_set(p->spec, base, t->value, &what);
    if (r < 0) {
        ini_text_fail(t, "");
        buf_append_span(t->error, buf_span(&what));
        t->result = r;
    }
    buf_deinit(&what);
    return r;
}

static const struct ini_text_calls parse_calls = {
    .begin_section = begin_section,
    .end_section = end_section,
    .find_key = find_option,
    .set_value = set_value,
};

/* ---- from text to settings ---- */

static int set_default(struct config *c, const struct option_spec *spec, struct buf *error)
{
    buf_reset(error);
    return value_set(spec, c, span_from_str(spec->initial), error);
}

/* The value that the flags give to the option, joined by blanks if it is given several times. */
static int apply_flag(struct config *c, const struct options *flags, enum option_id id,
                      struct buf *error)
{
    const struct option_spec *spec = &option_specs[id];
    struct buf text;
    int r = 0;

    buf_init(&text, CONFIG_FILE_MAX);
    for (size_t i = 0; i < flags->n_given; i++)
        if (flags->given[i].option == id) {
            buf_append_str(&text, text.len > 0 ? " " : "");
            buf_append_str(&text, flags->given[i].text);
        }
    buf_reset(error);
    if (buf_failed(&text)) {
        buf_append_str(error, "not enough memory");
        r = -ENOMEM;
    } else if (text.len > 0) {
        buf_printf(error, "--%s: ", spec->flag ? spec->flag : "");
        r = value_set(spec, c, buf_span(&text), error);
    }
    buf_deinit(&text);
    return r;
}

/* The error is about an option that stands in the file. */
static int fail_option(struct parse *p, enum option_id id, const char *what)
{
    p->text.line = p->option_seen[id];
    p->text.section = span_from_str(option_specs[id].section);
    p->text.key = span_from_str(option_specs[id].key);
    return ini_text_fail(&p->text, what);
}

/* An address may not have more than there are: where that is not what the file says, it follows. */
static int check_connections(struct parse *p)
{
    struct config *c = p->config;

    if (c->max_connections_per_address <= c->max_connections)
        return 0;
    if (p->option_seen[OPTION_WEB_MAX_CONNECTIONS_PER_ADDRESS] == 0) {
        c->max_connections_per_address = c->max_connections;
        return 0;
    }
    fail_option(p, OPTION_WEB_MAX_CONNECTIONS_PER_ADDRESS, "");
    buf_printf(p->text.error, "is more than max_connections, %" PRIu64, c->max_connections);
    return p->text.result;
}

static int select_families(struct parse *p)
{
    struct config *c = p->config;

    selection_default(&c->families);
    if (c->top > 0)
        selection_turn_on(&c->families, FAMILY_PROCESS);
    if (c->compat == CONFIG_COMPAT_PROCESS_EXPORTER)
        selection_turn_on(&c->families, FAMILY_COMPAT);
    for (size_t i = 0; i < c->include.n; i++)
        selection_include(&c->families, span_from_str(c->include.items[i]));
    for (size_t i = 0; i < c->exclude.n; i++)
        selection_exclude(&c->families, span_from_str(c->exclude.items[i]));
    /* Nothing is read for series that nobody has. */
    if (c->top == 0)
        selection_turn_off(&c->families, FAMILY_PROCESS);
    if (c->compat == CONFIG_COMPAT_NONE)
        selection_turn_off(&c->families, FAMILY_COMPAT);
    if (!selection_is_empty(&c->families))
        return 0;
    return fail_option(p, OPTION_METRICS_EXCLUDE, "leaves no metric at all");
}

static int fill(struct span text, const char *file, const struct options *flags, struct config *c,
                struct buf *error)
{
    struct parse p = {.config = c};
    int r = 0;

    p.text = (struct ini_text){
        .file = file ? file : "", .rest = text, .calls = &parse_calls, .user = &p, .error = error};
    if (file) {
        c->file = strdup(file);
        r = c->file ? 0 : ini_text_fail_memory(&p.text);
    }
    for (int i = 0; i < OPTION_N && r == 0; i++)
        r = set_default(c, &option_specs[i], error);
    if (r == 0)
        r = ini_text_parse(&p.text);
    for (int i = 0; i < OPTION_N && r == 0; i++)
        r = apply_flag(c, flags, (enum option_id)i, error);
    if (r == 0)
        r = check_connections(&p);
    return r == 0 ? select_families(&p) : r;
}

/* file is NULL if there is none. */
static int parse_all(struct span text, const char *file, const struct options *flags,
                     struct config *ret, struct buf *error)
{
    struct config c;
    int r;

    config_init(&c);
    r = fill(text, file, flags, &c, error);
    if (r < 0) {
        config_deinit(&c);
        return r;
    }
    buf_reset(error);
    config_deinit(ret);
    *ret = c;
    return 0;
}

int config_parse(struct span text, const char *file, const struct options *flags,
                 struct config *ret, struct buf *error)
{
    return parse_all(text.n > 0 ? text : span_of("", 0), file, flags, ret, error);
}

/* ---- the file ---- */

static int fail_file(const char *file, const char *what, int result, struct buf *error)
{
    buf_reset(error);
    escape_append(error, span_from_str(file));
    buf_printf(error, ": %s", what);
    return result;
}

/* O_NONBLOCK: a FIFO is refused, not waited for. */
static int open_file(const char *file, int *ret_fd, struct buf *error)
{
    cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_file(file, strerror(errno), -errno, error);
    if (S_ISDIR(st.st_mode))
        return fail_file(file, strerror(EISDIR), -EISDIR, error);
    if (!S_ISREG(st.st_mode))
        return fail_file(file, "is no regular file", -EINVAL, error);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* The buffer's maximum is one byte more than a file may have. */
static int read_file(const char *file, int fd, struct buf *text, struct buf *error)
{
    char *room;
    ssize_t n;

    for (;;) {
        size_t ask = text->max - text->len < 16384 ? text->max - text->len : 16384;

        if (ask == 0)
            return fail_file(file, "is larger than 1 MiB", -EINVAL, error);
        room = buf_reserve(text, ask);
        if (!room)
            return fail_file(file, "not enough memory", -ENOMEM, error);
        n = read(fd, room, ask);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_file(file, strerror(errno), -errno, error);
        buf_commit(text, (size_t)n);
    }
}

int config_load(const struct options *flags, struct config *ret, struct buf *error)
{
    const char *file = flags->config_file ? flags->config_file : CONFIG_DEFAULT_FILE;
    cleanup_close int fd = -1;
    struct buf text;
    int r;

    r = open_file(file, &fd, error);
    if (r == -ENOENT && !flags->config_file)
        return parse_all(span_of("", 0), NULL, flags, ret, error);
    if (r < 0)
        return r;
    buf_init(&text, CONFIG_FILE_MAX + 1);
    r = read_file(file, fd, &text, error);
    if (r == 0)
        r = config_parse(buf_span(&text), file, flags, ret, error);
    buf_deinit(&text);
    return r;
}

/* ---- the value ---- */

void config_init(struct config *c)
{
    *c = (struct config){0};
}

void config_deinit(struct config *c)
{
    for (size_t i = 0; i < OPTION_N; i++)
        value_clear(&option_specs[i], c);
    config_rules_deinit(&c->rules);
    free(c->file);
    config_init(c);
}

static void print_setting(const struct option_spec *spec, const void *base, struct buf *out)
{
    buf_printf(out, "%s = ", spec->key);
    value_format(spec, base, out);
    buf_append_char(out, '\n');
}

static void print_all(const struct config *c, struct buf *out)
{
    const char *section = "";

    buf_append_str(out, "# The settings in effect, of ");
    escape_append(out, span_from_str(c->file ? c->file : "defaults and flags alone"));
    buf_append_char(out, '\n');
    for (size_t i = 0; i < OPTION_N; i++) {
        if (strcmp(section, option_specs[i].section) != 0)
            buf_printf(out, "\n[%s]\n", option_specs[i].section);
        section = option_specs[i].section;
        print_setting(&option_specs[i], c, out);
    }
    for (size_t i = 0; i < c->rules.n; i++)
        config_rule_print(&c->rules.items[i], out);
}

int config_print(const struct config *c, FILE *out)
{
    struct buf text;
    int r = 0;

    buf_init(&text, PRINT_MAX);
    print_all(c, &text);
    if (buf_failed(&text))
        r = -ENOMEM;
    else if (fwrite(text.data, 1, text.len, out) != text.len || fflush(out) != 0)
        r = -EIO;
    buf_deinit(&text);
    return r;
}
