/*
 * bench_scrape - a scrape of a rendered variant against libmicrohttpd sending a constant buffer.
 *
 * Both servers live in this program and are asked by the same loop over a kept connection on
 * loopback, with the headers that Prometheus sends. What counts is the CPU time of the server's
 * threads: all of the program's but that of the thread that asks. The baseline answers
 * with one response made beforehand and does nothing else, which is the least there can be.
 */
#include "bench.h"

#include "daemon/collector.h"
#include "daemon/http.h"
#include "daemon/publish.h"
#include "group/group_values.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    RESPONSE_MAX = 64 * 1024 * 1024,
    HEAD_MAX = 8192,
    IDLE_SECONDS = 30,
    CONNECTIONS = 64,
};

/* What the design allows, and the noise that medians of one binary showed between runs. */
static const double SCRAPE_BOUND = 1.2 + 0.05;

struct client {
    int fd;
    const char *request;
    char *response;
    size_t body; /* bytes of the last one */
    unsigned loops;
};

static size_t head_length(const char *p, size_t n)
{
    const char *end = memmem(p, n, "\r\n\r\n", 4);

    return end ? (size_t)(end - p) + 4 : 0;
}

static size_t content_length(const char *head, size_t n)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *at = memmem(head, n, name, sizeof(name) - 1);

    if (!at || strncmp(head, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "not as expected: %.*s\n", (int)n, head);
        exit(2);
    }
    return strtoul(at + sizeof(name) - 1, NULL, 10);
}

static void ask(struct client *c)
{
    size_t got = 0, head = 0, whole = 0;

    if (write(c->fd, c->request, strlen(c->request)) < 0)
        bench_die("write");
    while (whole == 0 || got < whole) {
        ssize_t n = read(c->fd, c->response + got, RESPONSE_MAX - got);

        if (n <= 0)
            bench_die("read");
        got += (size_t)n;
        if (whole == 0 && (head = head_length(c->response, got)) > 0) {
            c->body = content_length(c->response, head);
            whole = head + c->body;
        }
    }
}

static double ask_often(void *arg)
{
    struct client *c = arg;

    for (unsigned i = 0; i < c->loops; i++)
        ask(c);
    return c->loops;
}

static void client_open(struct client *c, uint16_t port, const char *request, unsigned loops)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int on = 1;

    *c = (struct client){.request = request, .loops = loops};
    c->response = malloc(RESPONSE_MAX);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!c->response || c->fd < 0 || connect(c->fd, (const void *)&to, sizeof(to)) < 0)
        bench_die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void client_close(struct client *c)
{
    close(c->fd);
    free(c->response);
}

static uint64_t server_ns(void)
{
    return bench_process_ns() - bench_thread_ns();
}

static enum MHD_Result send_constant(void *cls, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version, const char *body,
                                     size_t *body_size, void **con_cls)
{
    (void)url;
    (void)method;
    (void)version;
    (void)body;
    (void)body_size;
    /* A response queued at the first call ends the connection. */
    if (!*con_cls) {
        *con_cls = cls;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, cls);
}

static struct MHD_Daemon *start_constant(struct MHD_Response *response, uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, send_constant, response,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);

    if (!d)
        bench_die("MHD_start_daemon");
    *ret_port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
    return d;
}

static void make_group(struct arena *arena, struct snapshot_group *g, size_t i)
{
    char name[32];
    int n = snprintf(name, sizeof(name), "farm-%zu", i);

    memset(g, 0, sizeof(*g));
    g->name = arena_copy(arena, span_of(name, (size_t)n));
    g->label = snapshot_label(arena, g->name);
    g->values.have_counters = UINT32_MAX >> (32 - GROUP_COUNTER_N);
    g->values.have_gauges = UINT32_MAX >> (32 - GAUGE_N);
    for (size_t k = 0; k < GROUP_COUNTER_N; k++)
        g->values.counter[k] = 123456789 * (i + k + 1);
    for (size_t k = 0; k < GAUGE_N; k++)
        g->values.gauge[k] = 4096 * (i + k + 1);
    g->values.processes = g->values.state[STATE_SLEEPING] = i + 1;
    g->values.worst_fds_ratio = 0.015625;
    g->values.worst_mappings_ratio = 0.0009;
}

static void publish(struct publisher *p, size_t groups)
{
    struct slot *slot = publisher_begin(p);
    struct snapshot *s;

    if (!slot)
        bench_die("publisher_begin");
    s = &slot->snapshot;
    s->sequence = 1;
    s->up = true;
    selection_default(&s->families);
    collector_describe(&s->self, false, "configured");
    s->groups = arena_alloc_array(&slot->arena, groups, sizeof(*s->groups));
    if (!s->groups)
        bench_die("arena");
    s->n_groups = groups;
    for (size_t i = 0; i < groups; i++)
        make_group(&slot->arena, &s->groups[i], i);
    publisher_commit(p, slot, true);
}

static struct http *start_ours(struct publisher *p, uint16_t *ret_port)
{
    struct http_settings settings = {.n_listen = 1,
                                     .telemetry_path = "/metrics",
                                     .max_connections = 8,
                                     .max_connections_per_address = 8,
                                     .request_deadline_ns = UINT64_C(3600000000000)};
    struct address address;
    const char *reason;
    struct http *http;
    struct buf error;

    buf_init(&error, 4096);
    if (address_parse(SPAN_LITERAL("127.0.0.1:0"), &address, &reason) < 0)
        bench_die(reason);
    settings.listen = &address;
    if (http_open(&settings, p, &http, &error) < 0 || http_serve(http, &error) < 0)
        bench_die("http_open");
    buf_deinit(&error);
    *ret_port = (uint16_t)atoi(strrchr(http_place(http, 0), ':') + 1);
    return http;
}

#define REQUEST(encoding)                                                                 \
    "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:19256\r\nUser-Agent: Prometheus/3.5.0\r\n"  \
    "Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"      \
    "application/openmetrics-text;version=0.0.1;q=0.5,"                                   \
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3," \
    "*/*;q=0.2\r\n"                                                                       \
    "Accept-Encoding: " encoding "\r\nX-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n"

/* The very bytes that ours sends, as a response made once. */
static struct MHD_Response *constant_response(const struct client *asked)
{
    size_t head = head_length(asked->response, HEAD_MAX);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(asked->body, asked->response + head, MHD_RESPMEM_MUST_COPY);

    if (!response)
        bench_die("MHD_create_response_from_buffer");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    return response;
}

static bool compare(size_t groups, struct client *ours, struct client *constant, const char *what,
                    unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"constant buffer", ask_often, constant},
        {"rendered variant", ask_often, ours},
    };
    const struct bench_pair pairs[] = {{0, 1, BENCH_WITHIN, SCRAPE_BOUND}};
    char title[128];
    const struct bench b = {.title = title,
                            .unit = "scrape",
                            .pieces = pieces,
                            .n_pieces = 2,
                            .pairs = pairs,
                            .n_pairs = 1,
                            .rounds = rounds,
                            .clock = server_ns};

    snprintf(title, sizeof(title), "scrape of %zu groups, %s, %zu bytes, server's threads", groups,
             what, ours->body);
    return bench_run(&b);
}

static bool run(uint16_t port, size_t groups, const char *request, const char *what,
                unsigned rounds, unsigned loops)
{
    struct client ours, constant;
    struct MHD_Response *response;
    struct MHD_Daemon *daemon;
    uint16_t constant_port;
    bool holds;

    client_open(&ours, port, request, loops);
    ask(&ours);
    response = constant_response(&ours);
    daemon = start_constant(response, &constant_port);
    client_open(&constant, constant_port, request, loops);
    holds = compare(groups, &ours, &constant, what, rounds);
    client_close(&constant);
    client_close(&ours);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return holds;
}

static bool run_groups(size_t groups, unsigned rounds, unsigned loops)
{
    struct publisher *p = publisher_new(1);
    struct http *http;
    uint16_t port;
    bool holds;

    if (!p)
        bench_die("publisher_new");
    publish(p, groups);
    http = start_ours(p, &port);
    holds = run(port, groups, REQUEST("identity"), "plain", rounds, loops);
    holds = run(port, groups, REQUEST("gzip"), "gzip", rounds, loops) && holds;
    http_stop(http);
    publisher_free(p);
    return holds;
}

/*
 * Client and servers take turns on one CPU: else a scrape's cost depends on where the scheduler
 * happens to put the threads, and waking another CPU of a virtual machine costs several scrapes.
 */
static void stay_on_one_cpu(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
    bool small = bench_flag(argc, argv, "--small");
    unsigned rounds = (unsigned)bench_number(argc, argv, "--rounds", small ? 21 : 101);
    unsigned loops = small ? 200 : 500;
    bool holds;

    stay_on_one_cpu();
    holds = run_groups(100, rounds, loops);
    return run_groups(1, rounds, loops) && holds ? 0 : 1;
}
