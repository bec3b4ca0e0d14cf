#pragma once
/*
 * http - the listeners, which have requests answered. The only user of libmicrohttpd.
 *
 * One thread of the library per address; each only sends variants of the current snapshot and
 * never reads the kernel or waits for a cycle.
 */
#include "base/buf.h"
#include "daemon/address.h"
#include "daemon/publish.h"
#include "model/self.h"

#include <stddef.h>
#include <stdint.h>

struct http;

struct http_settings {
    const struct address *listen;
    size_t n_listen;
    /* Listening sockets in the place of `listen`, if there are any; taken over. */
    const int *sockets;
    size_t n_sockets;
    const char *telemetry_path;
    uint32_t max_connections;             /* over all addresses */
    uint32_t max_connections_per_address; /* of clients, likewise */
    uint64_t request_deadline_ns;
};

/*
 * Binds the addresses and listens; whoever connects has to wait for http_serve(). The settings
 * are copied; the publisher must outlive the result. Returns 0, or a negative errno with one line
 * in `error` that names the address.
 */
int http_open(const struct http_settings *settings, struct publisher *publisher, struct http **ret,
              struct buf *error);

/* How many descriptors connections may take at n listeners, with those that are being closed. */
uint64_t http_descriptors_max(uint64_t max_connections, size_t n);

/* Starts to answer. Returns 0, or a negative errno with one line in `error`. */
int http_serve(struct http *http, struct buf *error);

/*
 * Takes no more connections (to a socket that was given they wait for the next who has it), gives
 * those in the middle of a request up to two seconds, closes all, and withdraws the snapshot from
 * the publisher. To be called when the collector has stopped. Returns NULL.
 */
struct http *http_stop(struct http *http);

/*
 * Cuts the connections that are past their deadline. Returns in how many nanoseconds to look again,
 * which is never long: a connection that begins right after may be due before all others.
 */
uint64_t http_sweep(struct http *http);

/* Where a listener listens, with the real port; NULL beyond the last one. */
const char *http_place(const struct http *http, size_t listener);

/* Requests answered so far. */
void http_requests(const struct http *http, uint64_t ret[HTTP_PATH_N][HTTP_CODE_N]);

/* The library's version, such as "0.9.75". */
const char *http_library_version(void);
