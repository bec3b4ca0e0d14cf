/*
 * log - lines on stderr.
 *
 * A line is put together on the caller's stack and handed over in one piece. Where lines go is
 * settled once by log_init(); level and format are atomics that a reload may change at any time.
 *
 * Not to wait: a socket (the journal's) is sent to with MSG_DONTWAIT. A pipe or terminal is opened
 * anew through /proc/self/fd, since O_NONBLOCK belongs to the open file and would otherwise be
 * forced on everyone who shares it, such as the shell. Where that cannot be done, poll(2) is asked
 * before each write, under a lock so that another thread cannot take the room in between. Writes
 * to regular files do not wait.
 */
#include "daemon/log.h"

#include "daemon/escape.h"
#include "daemon/timestamp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* Kept free while fields are added: `truncated` and `dropped` (20 digits), the line's end. */
    LOG_TAIL = 72,
    /* Bytes of one value that are shown. */
    LOG_VALUE_MAX = 1024,
};

enum log_way {
    LOG_WAY_WRITE,
    LOG_WAY_SEND,
    LOG_WAY_POLL,
};

static struct {
    int fd;
    enum log_way way;
    bool owned; /* fd was opened here */
    uint64_t (*realtime_ns)(void);
    bool (*take)(const struct log_entry *entry); /* NULL: lines go to fd */
    pthread_mutex_t lock;                        /* from poll(2) to write(2) */
    atomic_int level;
    atomic_int format;
    atomic_uint_fast64_t dropped; /* since the last line that got through */
} logger = {
    .fd = STDERR_FILENO,
    .way = LOG_WAY_POLL,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .level = LOG_LEVEL_INFO,
    .format = LOG_FORMAT_LOGFMT,
};

static const char *const level_names[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_ERROR] = "error",
};

/* A line being made. What does not fit below `limit` sets `full`; nothing is written then. */
struct line {
    enum log_format format;
    size_t len;
    size_t limit;
    bool full;
    bool started; /* has a field */
    char data[LOG_LINE_MAX];
};

static void line_append(struct line *l, struct span s)
{
    if (l->full || s.n > l->limit - l->len) {
        l->full = true;
        return;
    }
    memcpy(l->data + l->len, s.p, s.n);
    l->len += s.n;
}

static void line_append_str(struct line *l, const char *s)
{
    line_append(l, span_from_str(s));
}

static void line_append_quoted(struct line *l, struct span s)
{
    struct span rest = s;
    char text[ESCAPE_MAX];

    line_append_str(l, "\"");
    while (rest.n > 0 && s.n - rest.n < LOG_VALUE_MAX) {
        size_t n = escape_next(&rest, text);

        line_append(l, span_of(text, n));
    }
    line_append_str(l, rest.n > 0 ? "...\"" : "\"");
}

/* Whether logfmt shows s without quotes. */
static bool is_bare(struct span s)
{
    char text[ESCAPE_MAX];

    if (s.n == 0 || s.n > LOG_VALUE_MAX)
        return false;
    while (s.n > 0) {
        escape_next(&s, text);
        if (*text == '\\' || *text == ' ' || *text == '=')
            return false;
    }
    return true;
}

static void line_append_text(struct line *l, struct span s)
{
    if (l->format == LOG_FORMAT_LOGFMT && is_bare(s))
        line_append(l, s);
    else
        line_append_quoted(l, s);
}

struct span log_field_text(const struct log_field *f, char scratch[static LOG_TEXT_MAX])
{
    switch (f->type) {
    case LOG_FIELD_TEXT:
        return f->value.text;
    case LOG_FIELD_U64:
        snprintf(scratch, LOG_TEXT_MAX, "%" PRIu64, f->value.u64);
        break;
    case LOG_FIELD_I64:
        snprintf(scratch, LOG_TEXT_MAX, "%" PRId64, f->value.i64);
        break;
    case LOG_FIELD_BOOL:
        return f->value.u64 ? SPAN_LITERAL("true") : SPAN_LITERAL("false");
    case LOG_FIELD_ERRNO:
        return span_from_str(strerror((int)(f->value.i64 < 0 ? -f->value.i64 : f->value.i64)));
    case LOG_FIELD_END:
        scratch[0] = '\0';
        break;
    }
    return span_from_str(scratch);
}

static bool is_bare_in_json(const struct log_field *f)
{
    return f->type == LOG_FIELD_U64 || f->type == LOG_FIELD_I64 || f->type == LOG_FIELD_BOOL;
}

static void line_append_value(struct line *l, const struct log_field *f)
{
    char scratch[LOG_TEXT_MAX];
    struct span text = log_field_text(f, scratch);

    if (is_bare_in_json(f))
        line_append(l, text);
    else
        line_append_text(l, text);
}

/* Adds a field, or nothing of it and returns false. */
static bool line_append_field(struct line *l, const struct log_field *f)
{
    size_t mark = l->len;

    if (l->format == LOG_FORMAT_JSON) {
        line_append_str(l, l->started ? "," : "");
        line_append_quoted(l, span_from_str(f->key));
        line_append_str(l, ":");
    } else {
        line_append_str(l, l->started ? " " : "");
        line_append_str(l, f->key);
        line_append_str(l, "=");
    }
    line_append_value(l, f);
    if (l->full) {
        l->len = mark;
        l->full = false;
        return false;
    }
    l->started = true;
    return true;
}

/* A sink knows time and level without the line. */
static void line_begin_for_sink(struct line *l, const char *message)
{
    l->format = LOG_FORMAT_LOGFMT;
    line_append_str(l, message);
    l->started = true;
}

static void line_begin(struct line *l, enum log_level level, const char *message)
{
    char time[TIMESTAMP_MAX];

    l->format = (enum log_format)atomic_load_explicit(&logger.format, memory_order_relaxed);
    l->len = 0;
    l->limit = LOG_LINE_MAX - LOG_TAIL;
    l->full = false;
    l->started = false;
    if (logger.take) {
        line_begin_for_sink(l, message);
        return;
    }
    if (l->format == LOG_FORMAT_JSON)
        line_append_str(l, "{");
    if (logger.realtime_ns) {
        timestamp_format(logger.realtime_ns(), time);
        line_append_field(l, &LOG_STR("ts", time));
    }
    line_append_field(l, &LOG_STR("level", level_names[level]));
    line_append_field(l, &LOG_STR("msg", message));
}

static void line_end(struct line *l, bool truncated, uint64_t dropped)
{
    l->limit = LOG_LINE_MAX;
    if (truncated)
        line_append_field(l, &LOG_BOOL("truncated", true));
    if (dropped > 0)
        line_append_field(l, &LOG_U64("dropped", dropped));
    line_append_str(l, l->format == LOG_FORMAT_JSON ? "}\n" : "\n");
}

/* poll(2) first, and only one thread at a time: then the write finds the room it was promised. */
static ssize_t write_if_room(const char *p, size_t n)
{
    struct pollfd ready = {.fd = logger.fd, .events = POLLOUT};
    ssize_t written = -1;

    pthread_mutex_lock(&logger.lock);
    if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
        written = write(logger.fd, p, n);
    pthread_mutex_unlock(&logger.lock);
    return written;
}

static bool hand_over(const struct line *l)
{
    ssize_t written;

    do {
        errno = EAGAIN;
        if (logger.way == LOG_WAY_SEND)
            written = send(logger.fd, l->data, l->len, MSG_DONTWAIT | MSG_NOSIGNAL);
        else if (logger.way == LOG_WAY_POLL)
            written = write_if_room(l->data, l->len);
        else
            written = write(logger.fd, l->data, l->len);
    } while (written < 0 && errno == EINTR);
    return written >= 0;
}

bool log_enabled(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&logger.level, memory_order_relaxed);
}

static bool hand_to_sink(const struct line *l, enum log_level level, const struct log_field *fields)
{
    struct log_entry entry = {level, span_of(l->data, l->len - 1), fields};

    return logger.take(&entry);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    const struct log_field *f = fields;
    int saved_errno = errno;
    bool truncated = false;
    uint64_t dropped;
    struct line l;

    if (!log_enabled(level))
        return;
    line_begin(&l, level, message);
    for (; f->type != LOG_FIELD_END; f++)
        truncated |= !line_append_field(&l, f);
    dropped = atomic_exchange(&logger.dropped, 0);
    line_end(&l, truncated, dropped);
    if (!(logger.take ? hand_to_sink(&l, level, fields) : hand_over(&l)))
        atomic_fetch_add(&logger.dropped, dropped + 1);
    errno = saved_errno;
}

static int reopen(int fd)
{
    char path[LOG_TEXT_MAX];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void log_init(int fd, uint64_t (*realtime_ns)(void))
{
    struct stat st;
    int own;

    log_deinit();
    logger.fd = fd;
    logger.realtime_ns = realtime_ns;
    if (fstat(fd, &st) < 0)
        return;
    if (S_ISSOCK(st.st_mode)) {
        logger.way = LOG_WAY_SEND;
    } else if (S_ISREG(st.st_mode)) {
        logger.way = LOG_WAY_WRITE;
    } else {
        own = reopen(fd);
        if (own < 0)
            return;
        logger.fd = own;
        logger.owned = true;
        logger.way = LOG_WAY_WRITE;
    }
}

void log_deinit(void)
{
    if (logger.owned)
        close(logger.fd);
    logger.fd = STDERR_FILENO;
    logger.owned = false;
    logger.way = LOG_WAY_POLL;
    logger.realtime_ns = NULL;
    logger.take = NULL;
    atomic_store(&logger.dropped, 0);
}

void log_set_sink(bool (*take)(const struct log_entry *entry))
{
    logger.take = take;
}

void log_configure(enum log_level level, enum log_format format)
{
    atomic_store_explicit(&logger.level, (int)level, memory_order_relaxed);
    atomic_store_explicit(&logger.format, (int)format, memory_order_relaxed);
}
