#pragma once
/*
 * log - one event, one line on stderr: logfmt or JSON, with a time, a level, a message and typed
 * fields.
 *
 *     log_warn("configuration refused, the old one stays", LOG_STR("file", path),
 *              LOG_ERRNO("error", r));
 *
 * Messages and keys are constants of ours, keys in snake_case; values may hold any bytes, they
 * are quoted, and control bytes never reach the terminal raw. A line has at most LOG_LINE_MAX
 * bytes: values are cut, and fields that do not fit are left out and `truncated` is added.
 *
 * Any thread may log. A line is one write, so lines never mix. Logging never fails and does not
 * wait: a line that stderr does not take at once (a full pipe, a stopped terminal) is dropped,
 * and the next one that gets through says how many were, in the field `dropped`. The caller
 * ignores SIGPIPE, and keeps descriptor 2 open on something, if on /dev/null.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* No longer than PIPE_BUF: so long is a write to a pipe atomic. */
enum { LOG_LINE_MAX = 4096 };

/* In the order of options.def. */
enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
};

enum log_format {
    LOG_FORMAT_LOGFMT,
    LOG_FORMAT_JSON,
};

enum log_field_type {
    LOG_FIELD_END,
    LOG_FIELD_TEXT,
    LOG_FIELD_U64,
    LOG_FIELD_I64,
    LOG_FIELD_BOOL,
    LOG_FIELD_ERRNO,
};

struct log_field {
    const char *key;
    enum log_field_type type;
    union {
        struct span text;
        uint64_t u64;
        int64_t i64;
    } value;
};

static inline struct span log_span_from_str(const char *s)
{
    return span_from_str(s ? s : "(null)");
}

#define LOG_FIELD(key_, type_, member_, value_) \
    ((struct log_field){.key = (key_), .type = (type_), .value.member_ = (value_)})

#define LOG_STR(key, value)  LOG_FIELD(key, LOG_FIELD_TEXT, text, log_span_from_str(value))
#define LOG_SPAN(key, value) LOG_FIELD(key, LOG_FIELD_TEXT, text, value)
#define LOG_U64(key, value)  LOG_FIELD(key, LOG_FIELD_U64, u64, value)
#define LOG_I64(key, value)  LOG_FIELD(key, LOG_FIELD_I64, i64, value)
#define LOG_BOOL(key, value) LOG_FIELD(key, LOG_FIELD_BOOL, u64, value)
/* The text of an errno, given as it is or negative. */
#define LOG_ERRNO(key, value) LOG_FIELD(key, LOG_FIELD_ERRNO, i64, value)
#define LOG_END               LOG_FIELD(NULL, LOG_FIELD_END, u64, 0)

/*
 * Where lines go and what time they carry; once, before there is a second thread. realtime_ns
 * returns nanoseconds since the epoch; NULL leaves the time out. Before this call, lines go to
 * descriptor 2 without a time. fd is not owned.
 */
void log_init(int fd, uint64_t (*realtime_ns)(void));

/* Gives back what log_init() took; lines go to descriptor 2 again. */
void log_deinit(void);

/* An event for another place than descriptor 2. */
struct log_entry {
    enum log_level level;
    struct span text;               /* message and fields on one line, as logfmt has them */
    const struct log_field *fields; /* the last one is LOG_END */
};

/*
 * Hands events to `take` until log_deinit(), instead of writing lines; after log_init(), before
 * there is a second thread. `take` runs on any thread and must not wait; it returns false for an
 * event that it drops, which is counted as above.
 */
void log_set_sink(bool (*take)(const struct log_entry *entry));

/* Room for a number, or a time, with its NUL. */
enum { LOG_TEXT_MAX = 64 };

/* What a field holds, as text; scratch is where numbers are written. */
struct span log_field_text(const struct log_field *f, char scratch[static LOG_TEXT_MAX]);

/* Takes effect for the next line, on any thread. At first: LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT. */
void log_configure(enum log_level level, enum log_format format);

/* Whether a line of this level would be written: to spare the making of costly fields. */
bool log_enabled(enum log_level level);

/* Writes one line; fields end with LOG_END. The macros below are easier. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

#define log_event(level, message, ...) \
    log_write(level, message, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ) LOG_END})

#define log_debug(...) log_event(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)  log_event(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...)  log_event(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_event(LOG_LEVEL_ERROR, __VA_ARGS__)
