#pragma once
/*
 * options - the table of options.def, and the command line.
 *
 * Flags are taken by their exact names, as `--flag=value` or `--flag value`; a value that begins
 * with `--` needs the first form. Values are kept as text and judged by config_load(), by the
 * rules that hold for the file.
 */
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_CHOICE,     /* one of the words; unsigned, its place among them */
    OPTION_SOURCE,     /* the same, and tells of sources this build lacks */
    OPTION_NUMBER,     /* uint64_t */
    OPTION_DURATION,   /* uint64_t, ns */
    OPTION_SIZE,       /* uint64_t, bytes */
    OPTION_PERCENT,    /* uint64_t, millionths */
    OPTION_PATH,       /* char *, absolute */
    OPTION_STATE_PATH, /* char *, absolute, or below $RUNTIME_DIRECTORY, or empty */
    OPTION_URL_PATH,   /* char * */
    OPTION_LISTEN,     /* struct config_listen, at least one */
    OPTION_GLOBS,      /* struct config_list, at least one */
    OPTION_GROUPS,     /* struct config_list of globs, may be empty */
    OPTION_FAMILIES,   /* struct config_list of globs, each names a metric */
    OPTION_REGEX,      /* struct config_list, to which each value is added */
};

#define OPTION_MS(n)    ((n)*UINT64_C(1000000))
#define OPTION_HOURS(n) OPTION_MS((n)*UINT64_C(3600000))
#define OPTION_TIB(n)   ((n) * (UINT64_C(1) << 40))

enum option_id {
#define OPTION(id, ...) OPTION_##id,
#define GROUP_OPTION(id, ...)
#define ACTION(id, ...)
#include "daemon/options.def"
#undef OPTION
#undef GROUP_OPTION
#undef ACTION
    OPTION_N,
};

enum group_option_id {
#define OPTION(id, ...)
#define GROUP_OPTION(id, ...) GROUP_OPTION_##id,
#define ACTION(id, ...)
#include "daemon/options.def"
#undef OPTION
#undef GROUP_OPTION
#undef ACTION
    GROUP_OPTION_N,
};

struct option_spec {
    const char *section; /* NULL: of [group NAME] and [exclude NAME] */
    const char *key;
    const char *flag; /* NULL: none */
    enum option_kind kind;
    uint64_t low, high;
    const char *initial; /* the default, as text */
    const char *value;
    const char *help;
    size_t offset; /* of the field in struct config or struct config_rule */
};

extern const struct option_spec option_specs[OPTION_N];
extern const struct option_spec group_option_specs[GROUP_OPTION_N];

/* A setting given as a flag. */
struct option_given {
    enum option_id option;
    const char *text; /* points into argv */
};

struct options {
    const char *config_file; /* points into argv; NULL: not given */
    bool once;
    bool check_config;
    const char *explain; /* points into argv; NULL: not given */
    uint32_t explain_pid;
    bool healthcheck;
    bool version;
    bool help;
    struct option_given *given; /* in the order of the command line */
    size_t n_given;
};

/* No flags at all. */
void options_init(struct options *o);
void options_deinit(struct options *o);

/*
 * Parses argv[1..]; argv must outlive *ret, which was inited and is overwritten. `--help` and
 * `--version` end the parsing: what follows them is not judged. On failure *ret is untouched, the
 * result is -EINVAL (or -ENOMEM), and error holds one line without LF.
 */
int options_parse(int argc, char **argv, struct options *ret, struct buf *error);

/* The text of --help. */
void options_help(FILE *out);
