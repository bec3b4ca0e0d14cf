/*
 * options - the table, and a parser of flags by hand: getopt_long(3) takes any prefix of a name,
 * so that a flag added later would change what old command lines mean.
 */
#include "daemon/options.h"

#include "base/scan.h"
#include "daemon/config.h"
#include "daemon/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct option_spec option_specs[OPTION_N] = {
#define OPTION(id, field, section, key, flag, kind, low, high, initial, value, help) \
    [OPTION_##id] = {section, key,     flag,  kind, low,                             \
                     high,    initial, value, help, offsetof(struct config, field)},
#define GROUP_OPTION(id, ...)
#define ACTION(id, ...)
#include "daemon/options.def"
#undef OPTION
#undef GROUP_OPTION
#undef ACTION
};

const struct option_spec group_option_specs[GROUP_OPTION_N] = {
#define OPTION(id, ...)
#define GROUP_OPTION(id, field, key, kind, value, help) \
    [GROUP_OPTION_##id] = {NULL, key,  NULL,  kind, 0,  \
                           0,    NULL, value, help, offsetof(struct config_rule, field)},
#define ACTION(id, ...)
#include "daemon/options.def"
#undef OPTION
#undef GROUP_OPTION
#undef ACTION
};

/* The field is a bool, or a const char * if the flag takes a value. */
struct action_spec {
    const char *flag;
    char letter;
    const char *initial;
    const char *value;
    const char *help;
    size_t offset;
};

static const struct action_spec action_specs[] = {
#define OPTION(id, ...)
#define GROUP_OPTION(id, ...)
#define ACTION(id, field, flag, letter, initial, value, help) \
    {flag, letter, initial, value, help, offsetof(struct options, field)},
#include "daemon/options.def"
#undef OPTION
#undef GROUP_OPTION
#undef ACTION
};

#define ACTION_N (sizeof(action_specs) / sizeof(action_specs[0]))

enum {
    ARGUMENT_SHOWN_MAX = 80, /* bytes of a wrong argument that an error quotes */
    HELP_COLUMN = 42,
};

/* What one argument turned out to be: exactly one of the two is set. */
struct flag {
    const struct option_spec *option;
    const struct action_spec *action;
    struct span name;         /* dashes and all, as it was written */
    const char *inline_value; /* behind the `=`, or NULL */
};

static int complain(struct buf *error, struct span argument, const char *what)
{
    buf_reset(error);
    escape_append_quoted(error, argument, ARGUMENT_SHOWN_MAX);
    buf_printf(error, " %s (see --help)", what);
    return -EINVAL;
}

static bool flag_find(struct flag *f, struct span name)
{
    for (size_t i = 0; i < OPTION_N && !f->option; i++)
        if (option_specs[i].flag && span_equal(name, span_from_str(option_specs[i].flag)))
            f->option = &option_specs[i];
    for (size_t i = 0; i < ACTION_N && !f->action; i++)
        if (span_equal(name, span_from_str(action_specs[i].flag)))
            f->action = &action_specs[i];
    return f->option || f->action;
}

static bool flag_find_letter(struct flag *f, char letter)
{
    for (size_t i = 0; i < ACTION_N && !f->action; i++)
        if (action_specs[i].letter == letter)
            f->action = &action_specs[i];
    return f->action;
}

static int flag_parse(const char *argument, struct flag *ret, struct buf *error)
{
    const char *equals = strchr(argument, '=');
    struct flag f = {.name = span_from_str(argument)};

    if (argument[0] != '-' || argument[1] == '\0')
        return complain(error, f.name, "is no flag, and there are no other arguments");
    if (argument[1] != '-' && argument[2] == '\0' && flag_find_letter(&f, argument[1])) {
        *ret = f;
        return 0;
    }
    if (equals) {
        f.name.n = (size_t)(equals - argument);
        f.inline_value = equals + 1;
    }
    if (!span_starts_with(f.name, SPAN_LITERAL("--")) || !flag_find(&f, span_skip(f.name, 2)))
        return complain(error, f.name, "is an unknown flag");
    *ret = f;
    return 0;
}

/* The flag's value: behind its `=`, or the next argument, which is used up then. */
static int flag_value(const struct flag *f, int argc, char **argv, int *i, const char **ret,
                      struct buf *error)
{
    const char *value = f->inline_value;

    if (!value && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
        value = argv[++*i];
    if (!value || *value == '\0')
        return complain(error, f->name, "needs a value");
    *ret = value;
    return 0;
}

static int options_add(struct options *o, const struct flag *f, const char *value,
                       struct buf *error)
{
    enum option_id id = (enum option_id)(f->option - option_specs);

    for (size_t i = 0; i < o->n_given; i++)
        if (o->given[i].option == id && f->option->kind != OPTION_LISTEN)
            return complain(error, f->name, "is given twice");
    o->given[o->n_given++] = (struct option_given){id, value};
    return 0;
}

static int options_act(struct options *o, const struct flag *f, const char *value,
                       struct buf *error)
{
    char *field = (char *)o + f->action->offset;

    if (f->action->value) {
        if (*(const char **)field)
            return complain(error, f->name, "is given twice");
        *(const char **)field = value;
    } else {
        *(bool *)field = true;
    }
    return 0;
}

static int options_take(struct options *o, int argc, char **argv, int *i, struct buf *error)
{
    const char *value = NULL;
    struct flag f = {0};
    int r;

    r = flag_parse(argv[*i], &f, error);
    if (r == 0 && (!f.action || f.action->value))
        r = flag_value(&f, argc, argv, i, &value, error);
    else if (r == 0 && f.inline_value)
        r = complain(error, f.name, "takes no value");
    if (r < 0)
        return r;
    return f.action ? options_act(o, &f, value, error) : options_add(o, &f, value, error);
}

static int take_pid(struct options *o, struct buf *error)
{
    uint64_t pid;

    if (!o->explain)
        return 0;
    if (scan_whole_u64(span_from_str(o->explain), &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return complain(error, span_from_str(o->explain), "is no process' number");
    o->explain_pid = (uint32_t)pid;
    return 0;
}

/* At most one thing to do. */
static int options_check(const struct options *o, struct buf *error)
{
    if (o->explain && (o->once || o->check_config || o->healthcheck))
        return complain(error, SPAN_LITERAL("--explain"),
                        "excludes --once, --check-config and --healthcheck");
    if (o->once && o->check_config)
        return complain(error, SPAN_LITERAL("--once"), "and --check-config exclude each other");
    if (o->healthcheck && (o->once || o->check_config))
        return complain(error, SPAN_LITERAL("--healthcheck"), "excludes --once and --check-config");
    return 0;
}

int options_parse(int argc, char **argv, struct options *ret, struct buf *error)
{
    struct options o;
    int r = 0;

    options_init(&o);
    buf_reset(error);
    /* No more settings than arguments can be given. */
    o.given = calloc(argc > 0 ? (size_t)argc : 1, sizeof(*o.given));
    if (!o.given) {
        buf_append_str(error, "not enough memory");
        return -ENOMEM;
    }
    for (int i = 1; i < argc && r == 0 && !o.help && !o.version; i++)
        r = options_take(&o, argc, argv, &i, error);
    if (r == 0)
        r = take_pid(&o, error);
    if (r == 0)
        r = options_check(&o, error);
    if (r < 0) {
        options_deinit(&o);
        return r;
    }
    options_deinit(ret);
    *ret = o;
    return 0;
}

void options_init(struct options *o)
{
    *o = (struct options){0};
}

void options_deinit(struct options *o)
{
    free(o->given);
    options_init(o);
}

static void help_line(FILE *out, char letter, const char *flag, const char *value, const char *help,
                      const char *initial)
{
    int n = 2;

    fprintf(out, "  ");
    if (letter)
        n += fprintf(out, "-%c, ", letter);
    n += fprintf(out, "--%s", flag);
    if (value)
        n += fprintf(out, "=%s", value);
    fprintf(out, "%*s%s", n < HELP_COLUMN ? HELP_COLUMN - n : 1, "", help);
    if (initial && *initial)
        fprintf(out, " [%s]", initial);
    fputc('\n', out);
}

void options_help(FILE *out)
{
    fputs("Usage: proctallyd [FLAG]...\n"
          "Serves metrics of the processes of this host to Prometheus.\n\n",
          out);
    for (size_t i = 0; i < OPTION_N; i++)
        if (option_specs[i].flag)
            help_line(out, 0, option_specs[i].flag, option_specs[i].value, option_specs[i].help,
                      option_specs[i].initial);
    fputc('\n', out);
    for (size_t i = 0; i < ACTION_N; i++)
        help_line(out, action_specs[i].letter, action_specs[i].flag, action_specs[i].value,
                  action_specs[i].help, action_specs[i].initial);
    fputs("\nFlags win over the configuration file, which has more settings: see "
          "proctallyd.ini(5).\n"
          "Exit status: 0 done, 1 failed to start or to run, 2 wrong flags or configuration.\n",
          out);
}
