/*
 * http - the listeners: from requests to questions, from answers to responses.
 *
 * Each address has a daemon of the library with one epoll thread, and each request is answered as
 * soon as its headers are there. Responses of whole pages are made once per variant and shared by
 * all connections; a response holds its variant until the library frees it, which is after the
 * last connection has sent it.
 */
#include "daemon/http.h"

#include "daemon/accept.h"
#include "daemon/clock.h"
#include "daemon/connections.h"
#include "daemon/listen.h"
#include "daemon/log.h"
#include "daemon/removal.h"
#include "daemon/site.h"
#include "daemon/target.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Longer than scrapes are apart as a rule, so that scrapers keep their connection. */
    HTTP_IDLE_SECONDS = 75,
    /* Of one connection: its request's line and headers must fit, or 431 is the answer. */
    HTTP_CONNECTION_MEMORY = 32 * 1024,
    /*
     * The library accepts up to 11 at once, and closes those that were cut for them on its next
     * turn; until then it may have as many more.
     */
    HTTP_SPARE_CONNECTIONS = 16,
};

static const uint64_t SECOND_NS = 1000000000u;

/* Fewer where few may be, as under a low limit of open files: the library accepts less at once. */
static uint64_t spare_connections(uint64_t max_connections)
{
    uint64_t half = max_connections / 2 + 1;

    return half < HTTP_SPARE_CONNECTIONS ? half : HTTP_SPARE_CONNECTIONS;
}
static const struct timespec no_descriptor_pause = {.tv_nsec = 100000000};
static const uint64_t STOP_PATIENCE_NS = 2000000000u;

/* The Accept header of the last scrape, which is the next one's too, and what it comes to. */
struct last_accept {
    char text[512]; /* empty: there is none */
    enum format format;
};

struct listener {
    struct http *http;
    struct MHD_Daemon *daemon; /* NULL until it serves */
    int fd;                    /* the daemon's from then on */
    char place[LISTEN_PLACE_MAX];
    struct last_accept accept; /* of the listener's own thread */
};

struct http {
    struct site site;
    struct listener *listeners;
    size_t n_listeners; /* opened */
    _Atomic uint64_t requests[HTTP_PATH_N][HTTP_CODE_N];
    struct connections *connections;
    struct http_settings settings; /* its pointers are not used after the start */
};

/* One request, from its headers to its end; the library keeps it. */
struct request {
    struct http *http;
    struct listener *listener;
    size_t connection;
    uint64_t sequence; /* of the snapshot that is being sent whole; 0: something else is */
};

const char *http_library_version(void)
{
    return MHD_get_version();
}

static void count_request(struct http *http, enum http_path path, enum http_code code)
{
    atomic_fetch_add_explicit(&http->requests[path][code], 1, memory_order_relaxed);
}

void http_requests(const struct http *http, uint64_t ret[HTTP_PATH_N][HTTP_CODE_N])
{
    for (size_t path = 0; path < HTTP_PATH_N; path++)
        for (size_t code = 0; code < HTTP_CODE_N; code++)
            ret[path][code] = atomic_load_explicit(&((struct http *)http)->requests[path][code],
                                                   memory_order_relaxed);
}

static void release_variant(void *cls)
{
    struct variant *variant = cls;

    publisher_release(variant->publisher, variant);
}

static void add_headers(struct MHD_Response *response, const struct answer *answer)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (answer->allow)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
    if (answer->scrape)
        MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
    if (answer->gzip)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

/* A response that becomes the variant's shared one, if *ret_own does not say otherwise. */
static struct MHD_Response *new_variant_response(const struct answer *answer, bool *ret_own)
{
    struct variant *variant = answer->variant;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        variant->bytes.len, variant->bytes.data, release_variant, variant);

    if (!response)
        return NULL;
    add_headers(response, answer);
    *ret_own = !publisher_share_response(variant->publisher, variant, response);
    return response;
}

/* The page is the response's from then on. */
static struct MHD_Response *new_page_response(struct answer *answer)
{
    struct MHD_Response *response;

    if (answer->page.len == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    /* The library frees what malloc() gave. */
    response =
        MHD_create_response_from_buffer(answer->page.len, answer->page.data, MHD_RESPMEM_MUST_FREE);
    if (response)
        buf_init(&answer->page, 0);
    return response;
}

static struct MHD_Response *new_response(struct answer *answer)
{
    struct MHD_Response *response;

    if (answer->scrape)
        response = new_page_response(answer);
    else
        /* The library wants a non-const pointer and copies. */
        response = MHD_create_response_from_buffer(
            answer->body.n, (void *)(uintptr_t)answer->body.p, MHD_RESPMEM_MUST_COPY);
    if (response)
        add_headers(response, answer);
    return response;
}

/* *ret_own is set if the caller must destroy it after queueing. */
static struct MHD_Response *response_of(struct answer *answer, bool *ret_own)
{
    struct MHD_Response *shared;

    *ret_own = true;
    if (!answer->variant)
        return new_response(answer);
    shared = publisher_response(answer->variant->publisher, answer->variant);
    if (!shared)
        return new_variant_response(answer, ret_own);
    *ret_own = false;
    return shared;
}

static void destroy_retired(struct publisher *p)
{
    struct variant *variant;

    while ((variant = publisher_take_retired(p))) {
        MHD_destroy_response(variant->response);
        publisher_release(p, variant);
    }
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct request *request,
                                   struct answer *answer)
{
    struct MHD_Response *response;
    enum MHD_Result sent;
    bool own;

    response = response_of(answer, &own);
    if (!response)
        return MHD_NO;
    if (answer->whole)
        request->sequence = answer->variant->sequence;
    sent = MHD_queue_response(connection, http_status(answer->code), response);
    if (sent == MHD_YES)
        count_request(request->http, answer->path, answer->code);
    if (own)
        MHD_destroy_response(response);
    return sent;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* To read a server's header takes as long as all else of a scrape, so the last one is kept. */
static enum format format_of(struct last_accept *last, const char *accept)
{
    enum format format;

    if (accept && *accept && strcmp(accept, last->text) == 0)
        return last->format;
    format = accept_format(accept) == ACCEPT_OPENMETRICS ? FORMAT_OPENMETRICS : FORMAT_TEXT;
    if (accept && strlen(accept) < sizeof(last->text)) {
        strcpy(last->text, accept);
        last->format = format;
    }
    return format;
}

static enum MHD_Result take_argument(void *cls, enum MHD_ValueKind kind, const char *key,
                                     const char *value)
{
    (void)kind;
    question_add_argument(cls, key, value);
    return MHD_YES;
}

static void read_question(struct MHD_Connection *connection, struct listener *listener,
                          const char *url, const char *method, struct question *ret)
{
    question_init(ret, &listener->http->site, method, url);
    if (!question_is_scrape(ret))
        return;
    ret->format = format_of(&listener->accept, header(connection, MHD_HTTP_HEADER_ACCEPT));
    ret->gzip = accept_gzip(header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_argument, ret);
}

static enum MHD_Result answer(struct MHD_Connection *connection, struct request *request,
                              const char *url, const char *method)
{
    struct site *site = &request->http->site;
    struct question question;
    struct answer answer;
    enum MHD_Result sent;

    destroy_retired(site->publisher);
    read_question(connection, request->listener, url, method, &question);
    site_answer(site, &question, clock_monotonic_ns(), &answer);
    sent = send_answer(connection, request, &answer);
    answer_deinit(&answer, site->publisher);
    return sent;
}

/* The slot that the connection took when it began. */
static size_t slot_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info && info->socket_context ? (uintptr_t)info->socket_context - 1 : CONNECTIONS_NONE;
}

/* The context of a new connection: its slot, NULL if it may not be. */
static void *begin_connection(struct http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info;
    const struct sockaddr *from;
    uint64_t now_ns = clock_monotonic_ns();
    size_t slot;
    int fd;

    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    from = info ? info->client_addr : NULL;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return NULL;
    fd = info->connect_fd;
    slot = connections_open(http->connections, fd, from, now_ns,
                            now_ns + http->settings.request_deadline_ns);
    if (slot != CONNECTIONS_NONE)
        return (void *)(uintptr_t)(slot + 1);
    shutdown(fd, SHUT_RDWR);
    return NULL;
}

/* The library tells of the end before it closes the descriptor. */
static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *http = ((struct listener *)cls)->http;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = begin_connection(http, connection);
        return;
    }
    if (*socket_context)
        connections_close(http->connections, (uintptr_t)*socket_context - 1);
    *socket_context = NULL;
}

static size_t unescape(void *cls, struct MHD_Connection *connection, char *s)
{
    (void)cls;
    (void)connection;
    return target_unescape(s);
}

/* The request has come so far; from here on it has that long again. False: it was cut already. */
static bool set_state(const struct request *request, enum connection_state state)
{
    struct http *http = request->http;
    uint64_t now_ns = clock_monotonic_ns();

    return connections_set(http->connections, request->connection, state, now_ns,
                           now_ns + http->settings.request_deadline_ns +
                               (state == CONNECTION_WAITING ? HTTP_IDLE_SECONDS * SECOND_NS : 0));
}

/* Called with the headers, then per piece of a body (which nobody wants), then at its end. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_size, void **con_cls)
{
    struct listener *listener = cls;
    struct request *request = *con_cls;

    (void)version;
    (void)body;
    if (!request) {
        request = calloc(1, sizeof(*request));
        if (!request)
            return MHD_NO;
        request->http = listener->http;
        request->listener = listener;
        request->connection = slot_of(connection);
        *con_cls = request;
        /* Of a connection that was cut, what was there before is still read. */
        return set_state(request, CONNECTION_ARRIVING) ? MHD_YES : MHD_NO;
    }
    if (*body_size > 0) {
        *body_size = 0;
        return MHD_YES;
    }
    if (!set_state(request, CONNECTION_BUSY))
        return MHD_NO;
    return answer(connection, request, url, method);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode why)
{
    struct request *request = *con_cls;

    (void)cls;
    (void)connection;
    if (!request)
        return;
    if (request->sequence > 0 && why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        publisher_note_served(request->http->site.publisher, request->sequence);
    /* On a kept connection the next request may be long in coming, but must then be whole. */
    (void)set_state(request, CONNECTION_WAITING);
    free(request);
    *con_cls = NULL;
}

/*
 * What the library answers itself, before it knows which path was meant, it tells nobody but the
 * log: a version that says it in other words is not counted.
 */
static void count_answer_of_library(struct http *http, const char *format, va_list ap)
{
    static const struct {
        unsigned status;
        enum http_code code;
    } known[] = {
        {MHD_HTTP_BAD_REQUEST, HTTP_CODE_400},
        {MHD_HTTP_CONTENT_TOO_LARGE, HTTP_CODE_413},
        {MHD_HTTP_URI_TOO_LONG, HTTP_CODE_414},
        {MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, HTTP_CODE_431},
        {MHD_HTTP_INTERNAL_SERVER_ERROR, HTTP_CODE_500},
        {MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED, HTTP_CODE_505},
    };
    unsigned status;
    va_list copy;

    if (!strstr(format, "HTTP response code is %u"))
        return;
    va_copy(copy, ap);
    status = va_arg(copy, unsigned);
    va_end(copy);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            count_request(http, HTTP_PATH_OTHER, known[i].code);
}

static void on_library_message(void *cls, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));
static void on_library_message(void *cls, const char *format, va_list ap)
{
    char text[512];
    size_t n;

    count_answer_of_library(((struct listener *)cls)->http, format, ap);
    /*
     * Out of descriptors and without a connection whose end it could wait for, the library tries
     * to accept again at once and for ever. This is its thread, which has nothing else to do.
     */
    if (strstr(format, "limit at FIRST connection"))
        nanosleep(&no_descriptor_pause, NULL);
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    vsnprintf(text, sizeof(text), format, ap);
    n = strlen(text);
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = '\0';
    log_debug("libmicrohttpd", LOG_STR("text", text));
}

static int listener_open(struct listener *listener, const struct http_settings *settings, size_t i,
                         struct buf *error)
{
    struct address address;

    if (settings->n_sockets > 0) {
        listener->fd = settings->sockets[i];
        listen_place(listener->fd, listener->place);
        return 0;
    }
    listener->fd = listen_open(&settings->listen[i], &address);
    address_format(listener->fd < 0 ? &settings->listen[i] : &address, listener->place);
    if (listener->fd >= 0)
        return 0;
    buf_printf(error, "cannot listen on %s: %s", listener->place, strerror(-listener->fd));
    return listener->fd;
}

static bool listener_serve(struct listener *listener)
{
    const struct http_settings *settings = &listener->http->settings;

    /* TURBO: who is accepted is read from on the same turn, before others can come. */
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, on_request, listener, MHD_OPTION_EXTERNAL_LOGGER, on_library_message, listener,
        MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(settings->max_connections + spare_connections(settings->max_connections)),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_MEMORY,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_END);
    return listener->daemon;
}

static int open_listeners(struct http *http, const struct http_settings *settings, size_t n,
                          struct buf *error)
{
    for (size_t i = 0; i < n; i++) {
        int r = listener_open(&http->listeners[i], settings, i, error);

        if (r < 0)
            return r;
        http->listeners[i].http = http;
        http->n_listeners++;
    }
    return 0;
}

int http_open(const struct http_settings *settings, struct publisher *publisher, struct http **ret,
              struct buf *error)
{
    size_t n = settings->n_sockets > 0 ? settings->n_sockets : settings->n_listen;
    struct http *http = calloc(1, sizeof(*http));
    int r = -ENOMEM;

    if (!http)
        goto fail;
    http->settings = *settings;
    if (site_init(&http->site, publisher, settings->telemetry_path) < 0)
        goto fail;
    http->connections = connections_new(
        &(struct connections_limits){.max = settings->max_connections,
                                     .max_per_address = settings->max_connections_per_address,
                                     .spare = n * spare_connections(settings->max_connections)});
    http->listeners = calloc(n, sizeof(*http->listeners));
    if (!http->connections || !http->listeners)
        goto fail;
    r = open_listeners(http, settings, n, error);
    if (r < 0)
        goto fail;
    *ret = http;
    return 0;
fail:
    if (error->len == 0)
        buf_printf(error, "cannot start HTTP: %s", strerror(-r));
    if (http)
        http_stop(http);
    return r;
}

uint64_t http_descriptors_max(uint64_t max_connections, size_t n)
{
    return max_connections + n * spare_connections(max_connections);
}

int http_serve(struct http *http, struct buf *error)
{
    for (size_t i = 0; i < http->n_listeners; i++)
        if (!listener_serve(&http->listeners[i])) {
            buf_printf(error, "cannot serve on %s: libmicrohttpd does not start",
                       http->listeners[i].place);
            return -ENOMEM;
        }
    return 0;
}

/*
 * Until requests in hand are answered; connections that wait for one are cut. Not at once: of
 * those accepted last the request may be on its way.
 */
static void wait_for_requests(const struct http *http)
{
    static const struct timespec on_its_way = {.tv_nsec = 50000000}, pause = {.tv_nsec = 2000000};
    uint64_t deadline = clock_monotonic_ns() + STOP_PATIENCE_NS;

    nanosleep(&on_its_way, NULL);
    while (connections_shut_idle(http->connections) > 0 && clock_monotonic_ns() < deadline)
        nanosleep(&pause, NULL);
}

/* Stopping without quiescing first would shut a socket down that others may share. */
static void listener_quiesce(struct listener *listener)
{
    int fd = listener->daemon ? MHD_quiesce_daemon(listener->daemon) : listener->fd;

    if (fd >= 0)
        close(fd);
}

struct http *http_stop(struct http *http)
{
    /* The library's thread may be doing the same at this moment. */
    removal_forgive();
    for (size_t i = 0; i < http->n_listeners; i++)
        listener_quiesce(&http->listeners[i]);
    if (http->n_listeners > 0)
        wait_for_requests(http);
    for (size_t i = 0; i < http->n_listeners; i++)
        if (http->listeners[i].daemon)
            MHD_stop_daemon(http->listeners[i].daemon);
    publisher_withdraw(http->site.publisher);
    destroy_retired(http->site.publisher);
    connections_free(http->connections);
    free(http->listeners);
    site_deinit(&http->site);
    free(http);
    return NULL;
}

const char *http_place(const struct http *http, size_t listener)
{
    return listener < http->n_listeners ? http->listeners[listener].place : NULL;
}

uint64_t http_sweep(struct http *http)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct connections_losses losses;
    uint64_t next = connections_sweep(http->connections, now_ns, &losses);
    uint64_t soon = http->settings.request_deadline_ns / 4;

    if (losses.overdue + losses.displaced + losses.refused > 0)
        log_debug("connections cut", LOG_U64("overdue", losses.overdue),
                  LOG_U64("displaced", losses.displaced), LOG_U64("refused", losses.refused));
    return next > now_ns + soon ? soon : next - now_ns;
}
