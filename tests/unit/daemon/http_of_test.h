#pragma once
/* http_of_test - a server on sockets of loopback, and a client that asks it one thing at a time. */
#include "daemon/clock.h"
#include "daemon/http.h"
#include "page_of_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const uint64_t SECOND = 1000000000u;

enum { LISTENERS_MAX = 4 };

struct server {
    struct publisher *publisher;
    struct http *http;
};

static inline struct address address_of(const char *text)
{
    const char *reason;
    struct address a;

    assert_int_equal(address_parse(span_from_str(text), &a, &reason), 0);
    return a;
}

/* Where a listener listens. */
static inline const struct address *place(const struct http *http, size_t listener)
{
    static _Thread_local struct address places[LISTENERS_MAX];

    places[listener] = address_of(http_place(http, listener));
    return &places[listener];
}

/* Starts at these addresses, with what else the settings say. */
static inline void start_with(struct server *s, struct http_settings settings,
                              const char *const *texts, size_t n)
{
    struct address listen[LISTENERS_MAX];
    struct buf error;

    for (size_t i = 0; i < n; i++)
        listen[i] = address_of(texts[i]);
    settings.listen = listen;
    settings.n_listen = n;
    buf_init(&error, 1000);
    s->publisher = publisher_new(n);
    if (http_open(&settings, s->publisher, &s->http, &error) < 0 || http_serve(s->http, &error) < 0)
        fail_msg("%.*s", (int)error.len, error.data);
    buf_deinit(&error);
}

static inline void start_at(struct server *s, const char *const *texts, size_t n, const char *path)
{
    struct http_settings settings = {.telemetry_path = path,
                                     .max_connections = 64,
                                     .max_connections_per_address = 64,
                                     .request_deadline_ns = 10 * SECOND};

    start_with(s, settings, texts, n);
}

static inline void start(struct server *s)
{
    static const char *const loopback[] = {"127.0.0.1:0"};

    start_at(s, loopback, 1, "/metrics");
}

static inline void stop(struct server *s)
{
    s->http = http_stop(s->http);
    s->publisher = publisher_free(s->publisher);
}

static inline int connect_to(const struct address *to)
{
    struct timeval patience = {.tv_sec = 20};
    struct address a = *to;
    int fd = socket(a.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (a.socket.any.sa_family == AF_INET6 && a.both_families)
        a.socket.v6.sin6_addr = in6addr_loopback;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(connect(fd, &a.socket.any, a.length), 0);
    return fd;
}

/* The server may close before it has taken all, so the result is not looked at. */
static inline void send_all(int fd, struct span text)
{
    while (text.n > 0) {
        ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        text = span_skip(text, (size_t)n);
    }
}

struct answer {
    unsigned status; /* 0: closed without an answer */
    struct span head, body;
    struct buf bytes;
};

/* The value of a header, empty if it is not there. */
static inline struct span header_of(const struct answer *a, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i + n + 2 < a->head.n; i++)
        if (a->head.p[i] == '\n' && strncasecmp(a->head.p + i + 1, name, n) == 0 &&
            a->head.p[i + 1 + n] == ':') {
            const char *value = a->head.p + i + 1 + n + 1;
            const char *cr = memchr(value, '\r', (size_t)(a->head.p + a->head.n - value));

            return span_trim(span_of(value, (size_t)(cr - value)));
        }
    return span_of(NULL, 0);
}

/* Takes the answer that the bytes begin with apart; false if it is not whole yet. */
static inline bool parse(struct answer *a, bool head)
{
    const char *end = a->bytes.len ? memmem(a->bytes.data, a->bytes.len, "\r\n\r\n", 4) : NULL;
    struct span length;
    uint64_t n = 0;

    if (!end)
        return false;
    a->head = span_of(a->bytes.data, (size_t)(end + 2 - a->bytes.data));
    a->status = (unsigned)strtoul(a->bytes.data + 9, NULL, 10);
    length = header_of(a, "Content-Length");
    for (size_t i = 0; i < length.n; i++)
        n = n * 10 + (uint64_t)(length.p[i] - '0');
    if (head)
        n = 0;
    if (a->bytes.len - a->head.n - 2 < n)
        return false;
    a->body = span_of(end + 4, n);
    return true;
}

/* Receives one whole answer, or what comes before the server closes. */
static inline void receive(int fd, bool head, struct answer *ret)
{
    *ret = (struct answer){.status = 0};
    buf_init(&ret->bytes, 256 << 20);
    while (!parse(ret, head)) {
        char *room = buf_reserve(&ret->bytes, 64 * 1024);
        ssize_t n = recv(fd, room, ret->bytes.len ? 64 * 1024 : 1, 0);

        if (n <= 0)
            return;
        buf_commit(&ret->bytes, (size_t)n);
    }
}

static inline struct answer ask_at(const struct address *to, const char *method, const char *target,
                                   const char *headers)
{
    struct answer answer;
    struct buf request;
    int fd = connect_to(to);

    buf_init(&request, 16 << 20);
    buf_printf(&request, "%s ", method);
    buf_append_str(&request, target);
    buf_append_str(&request, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    buf_append_str(&request, headers);
    buf_append_str(&request, "\r\n");
    assert_false(buf_failed(&request));
    send_all(fd, buf_span(&request));
    receive(fd, strcmp(method, "HEAD") == 0, &answer);
    buf_deinit(&request);
    close(fd);
    return answer;
}

static inline struct answer ask(const struct server *s, const char *method, const char *target,
                                const char *headers)
{
    return ask_at(place(s->http, 0), method, target, headers);
}

static inline void forget(struct answer *a)
{
    buf_deinit(&a->bytes);
}

static inline bool contains(struct span s, const char *part)
{
    return s.n > 0 && memmem(s.p, s.n, part, strlen(part));
}

static inline void pause_shortly(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};

    nanosleep(&pause, NULL);
}
