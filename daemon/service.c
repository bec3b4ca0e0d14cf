/*
 * service - what systemd gives, and what it is told.
 *
 * sd_journal_sendv(3) waits while the journal's queue is full, and a log line must not: so a
 * socket of ours, connected to the same place, is asked before whether there is room, by one
 * thread at a time.
 */
#include "daemon/service.h"

#include "base/scan.h"
#include "daemon/log.h"

#ifdef PROCTALLY_LIBSYSTEMD

#define SD_JOURNAL_SUPPRESS_LOCATION

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

enum {
    JOURNAL_FIELDS_MAX = 24,
    JOURNAL_BYTES_MAX = 2 * LOG_LINE_MAX,
    STATUS_MAX = 512,
};

/* ---- sockets ---- */

static void name_socket(struct buf *error, int fd, char **names, int i)
{
    buf_printf(error, "descriptor %d (%s), given by systemd, ", fd,
               names && names[i] ? names[i] : "unnamed");
}

static int check_socket(int fd, char **names, int i, struct buf *error)
{
    int r = sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1);

    if (r > 0)
        return 0;
    name_socket(error, fd, names, i);
    if (r < 0)
        buf_printf(error, "cannot be used: %s", strerror(-r));
    else
        buf_append_str(error, "is no listening stream socket");
    return r < 0 ? r : -EINVAL;
}

static int check_sockets(struct service_sockets *ret, int n, char **names, struct buf *error)
{
    if (n > SERVICE_SOCKETS_MAX) {
        buf_printf(error, "systemd gives %d sockets, more than %d", n, SERVICE_SOCKETS_MAX);
        return -E2BIG;
    }
    for (int i = 0; i < n; i++) {
        int r = check_socket(SD_LISTEN_FDS_START + i, names, i, error);

        if (r < 0)
            return r;
        ret->fd[i] = SD_LISTEN_FDS_START + i;
    }
    ret->n = (size_t)n;
    return 0;
}

int service_take_sockets(struct service_sockets *ret, struct buf *error)
{
    char **names = NULL;
    int n = sd_listen_fds_with_names(0, &names), r = 0;

    ret->n = 0;
    if (n > 0)
        r = check_sockets(ret, n, names, error);
    if (n < 0) {
        buf_printf(error, "cannot take what systemd gives: %s", strerror(-n));
        r = n;
    }
    for (int i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
    return r;
}

/* ---- the journal ---- */

static struct {
    pthread_mutex_t lock; /* from the look for room to the sending */
    int probe;            /* connected to the journal; -1: it cannot be asked */
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER, .probe = -1};

/* Fields of one entry, their text one after the other. What does not fit is left out. */
struct entry {
    struct iovec fields[JOURNAL_FIELDS_MAX];
    int n;
    size_t used;
    char bytes[JOURNAL_BYTES_MAX];
};

static void entry_add(struct entry *e, const char *prefix, const char *key, struct span value)
{
    size_t prefix_n = strlen(prefix), key_n = strlen(key), n = prefix_n + key_n + 1 + value.n;
    char *p = e->bytes + e->used;

    if (e->n == JOURNAL_FIELDS_MAX || n > sizeof(e->bytes) - e->used)
        return;
    e->fields[e->n++] = (struct iovec){p, n};
    e->used += n;
    memcpy(p, prefix, prefix_n);
    p += prefix_n;
    for (size_t i = 0; i < key_n; i++)
        *p++ = (char)toupper((unsigned char)key[i]);
    *p++ = '=';
    if (value.n > 0)
        memcpy(p, value.p, value.n);
}

static const char *priority_of(enum log_level level)
{
    static const char *const priorities[] = {
        [LOG_LEVEL_DEBUG] = "7",
        [LOG_LEVEL_INFO] = "6",
        [LOG_LEVEL_WARN] = "4",
        [LOG_LEVEL_ERROR] = "3",
    };

    return priorities[level];
}

static bool journal_has_room(void)
{
    struct pollfd room = {.fd = journal.probe, .events = POLLOUT};

    return journal.probe < 0 || (poll(&room, 1, 0) == 1 && room.revents & POLLOUT);
}

static bool journal_take(const struct log_entry *entry)
{
    char scratch[LOG_TEXT_MAX];
    struct entry e = {.n = 0};
    bool sent;

    entry_add(&e, "", "MESSAGE", entry->text);
    entry_add(&e, "", "PRIORITY", span_from_str(priority_of(entry->level)));
    for (const struct log_field *f = entry->fields; f->type != LOG_FIELD_END; f++)
        entry_add(&e, "PROCTALLY_", f->key, log_field_text(f, scratch));
    pthread_mutex_lock(&journal.lock);
    sent = journal_has_room() && sd_journal_sendv(e.fields, e.n) >= 0;
    pthread_mutex_unlock(&journal.lock);
    return sent;
}

/* That $JOURNAL_STREAM is set says nothing: stderr may have been redirected since. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct span rest = span_from_str(stream ? stream : "");
    uint64_t device, inode;
    struct stat st;

    return scan_u64(&rest, &device) == 0 && scan_literal(&rest, SPAN_LITERAL(":")) &&
           scan_whole_u64(rest, &inode) == 0 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

static int journal_connect(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void service_log_to_journal(void)
{
    if (!stderr_is_journal())
        return;
    journal.probe = journal_connect();
    log_set_sink(journal_take);
}

/* ---- notifications ---- */

void service_tell_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

/* Both in one message: a manager that sent the SIGHUP itself compares the time. */
void service_tell_reloading(uint64_t monotonic_ns)
{
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, monotonic_ns / 1000);
}

void service_tell_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void service_tell_status(const char *text)
{
    char message[STATUS_MAX];

    snprintf(message, sizeof(message), "STATUS=%s", text);
    (void)sd_notify(0, message);
}

void service_extend_start(uint64_t ns)
{
    (void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, ns / 1000);
}

uint64_t service_watchdog(void)
{
    uint64_t us;

    return sd_watchdog_enabled(0, &us) > 0 ? us * 1000 : 0;
}

void service_set_watchdog(uint64_t ns)
{
    (void)sd_notifyf(0, "WATCHDOG_USEC=%" PRIu64, ns / 1000);
}

void service_feed_watchdog(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}

const char *service_library(void)
{
    return "libsystemd " PROCTALLY_LIBSYSTEMD;
}

#else

int service_take_sockets(struct service_sockets *ret, struct buf *error)
{
    (void)error;
    ret->n = 0;
    return 0;
}

void service_log_to_journal(void)
{
}

void service_tell_ready(void)
{
}

void service_tell_reloading(uint64_t monotonic_ns)
{
    (void)monotonic_ns;
}

void service_tell_stopping(void)
{
}

void service_tell_status(const char *text)
{
    (void)text;
}

void service_extend_start(uint64_t ns)
{
    (void)ns;
}

uint64_t service_watchdog(void)
{
    return 0;
}

void service_set_watchdog(uint64_t ns)
{
    (void)ns;
}

void service_feed_watchdog(void)
{
}

const char *service_library(void)
{
    return "no libsystemd";
}

#endif
