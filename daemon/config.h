#pragma once
/*
 * config - the settings: defaults, overlaid by the file, overlaid by the flags.
 *
 * A configuration is a plain value that owns its strings and arrays. It is loaded as a whole or
 * not at all: whatever is wrong anywhere in the file or the flags leaves the old one as it was.
 *
 * Errors are one line without LF, for people: `FILE:LINE: [section] key: what`, `FILE: what` or
 * `--flag: what`. Bytes of the input in it are escaped.
 */
#include "base/buf.h"
#include "base/span.h"
#include "daemon/address.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "expose/selection.h"
#include "group/rule.h"
#include "track/top.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Read when no --config.file is given, if there is such a file. */
#ifndef CONFIG_DEFAULT_FILE
#define CONFIG_DEFAULT_FILE "/etc/proctally/proctallyd.ini"
#endif

/* How a path begins that is below the directory which systemd makes for the daemon, if it does. */
#define CONFIG_RUNTIME_DIRECTORY "$RUNTIME_DIRECTORY/"

enum {
    CONFIG_FILE_MAX = 1 << 20,   /* bytes of a file */
    CONFIG_ERROR_MAX = 8 * 1024, /* enough for the longest error */
    CONFIG_RULES_MAX = 1000,     /* [group NAME] and [exclude NAME] sections */
    CONFIG_PATTERNS_MAX = 100,   /* regular expressions of one section */
    CONFIG_LISTEN_MAX = 16,
};

/* In the order of options.def. */
enum config_source {
    CONFIG_SOURCE_AUTO,
    CONFIG_SOURCE_PROCFS,
    CONFIG_SOURCE_BPF, /* never in a build without it */
};

enum config_compat {
    CONFIG_COMPAT_NONE,
    CONFIG_COMPAT_PROCESS_EXPORTER,
};

struct config_list {
    char **items;
    size_t n;
};

struct config_listen {
    struct address *items;
    size_t n;
};

/* A [group NAME] or [exclude NAME] section, which is fit for rules_add(). */
struct config_rule {
    bool exclude;
    char *name; /* of a group: a template */
    struct config_list patterns[RULE_KEY_N];
    enum rule_kernel kernel;
    unsigned children; /* 0 or 1 */
    unsigned line;     /* of the section, for errors found later */
};

/* In the file's order. */
struct config_rules {
    struct config_rule *items;
    size_t n;
    size_t room;
};

struct config {
    char *file; /* what was read; NULL: no file */

    enum config_source source;
    char *procfs;
    uint64_t interval_ns;
    uint64_t cpu_budget_ppm; /* millionths of one CPU */
    uint64_t stale_after;    /* intervals */
    uint64_t probe_deadline_ns;
    uint64_t pss_max_bytes;

    struct config_listen listen; /* never empty; no address twice but of port 0 */
    char *telemetry_path;
    uint64_t max_connections;
    uint64_t max_connections_per_address;
    uint64_t request_deadline_ns;

    uint64_t groups_max;
    uint64_t groups_forget_ns;
    enum config_compat compat;
    struct config_rules rules;

    struct config_list threads; /* globs of groups whose threads are read */

    struct config_list include;
    struct config_list exclude;
    struct selection families; /* what include and exclude come to, and what turns more on */

    uint64_t top;
    enum top_key top_by;

    char *state_file; /* may be empty, or begin with CONFIG_RUNTIME_DIRECTORY */

    enum log_level log_level;
    enum log_format log_format;
};

/* An empty value, fit for config_deinit() and to be loaded into. These are not the defaults. */
void config_init(struct config *c);
void config_deinit(struct config *c);

/*
 * Reads the file the flags name, else CONFIG_DEFAULT_FILE if it exists, and replaces *ret (which
 * was inited). On failure *ret is untouched, error holds the line, and the result is -EINVAL for
 * what the input says, -ENOMEM, or the errno of the file.
 */
int config_load(const struct options *flags, struct config *ret, struct buf *error);

/* The same with the file's content in memory; `file` is its name, in errors and in *ret. */
int config_parse(struct span text, const char *file, const struct options *flags,
                 struct config *ret, struct buf *error);

/*
 * Writes all settings as a file that loads to the same values. Returns 0, -ENOMEM, or -EIO when
 * out fails.
 */
int config_print(const struct config *c, FILE *out);
