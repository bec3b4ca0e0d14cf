#pragma once
/*
 * service - what systemd gives, and what it is told. The only user of libsystemd.
 *
 * Where no service manager waits for an answer, and in a build without libsystemd, these functions
 * do nothing: no sockets are given, log lines go to stderr.
 */
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVICE_SOCKETS_MAX = 16 };

struct service_sockets {
    int fd[SERVICE_SOCKETS_MAX];
    size_t n; /* 0: none was given */
};

/*
 * The sockets of the service's socket unit, closed on exec and the caller's. Returns 0, or a
 * negative errno with one line in `error` that names the one which does not listen for streams.
 */
int service_take_sockets(struct service_sockets *ret, struct buf *error);

/*
 * Sends what is logged to the journal, with its level as PRIORITY and its fields as
 * PROCTALLY_<KEY>, if stderr is connected to it. After log_init().
 */
void service_log_to_journal(void);

/* The states of sd_notify(3). Ready once there is something to serve, and after each reload. */
void service_tell_ready(void);
void service_tell_reloading(uint64_t monotonic_ns);
void service_tell_stopping(void);

/* One line for `systemctl status`. */
void service_tell_status(const char *text);

/* Starting takes longer: until so much after now at least. */
void service_extend_start(uint64_t ns);

/*
 * How often service_feed_watchdog() must be called, lest systemd kills and restarts the daemon; 0:
 * there is no watchdog. Another time can be set while it runs.
 */
uint64_t service_watchdog(void);
void service_set_watchdog(uint64_t ns);
void service_feed_watchdog(void);

/* What this is built with, such as "libsystemd 252" or "no libsystemd". */
const char *service_library(void);
