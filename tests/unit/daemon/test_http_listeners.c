/* How the listeners come and go, and what they do beside clients that are no good. */
#include "daemon/listen.h"
#include "http_of_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static void test_two_listeners(void **state)
{
    static const char *const both[] = {"127.0.0.1:0", "127.0.0.1:0"};
    uint64_t requests[HTTP_PATH_N][HTTP_CODE_N];
    struct server s;

    (void)state;
    start_at(&s, both, 2, "/metrics");
    assert_true(publish_number(s.publisher, 1));
    assert_false(address_equal(place(s.http, 0), place(s.http, 1)));
    for (uint64_t i = 1; i < 10; i++) {
        struct answer a = ask_at(place(s.http, i % 2), "GET", "/metrics", "");

        assert_int_equal(page_number(a.body), i);
        forget(&a);
        assert_true(publish_number(s.publisher, i + 1));
    }
    http_requests(s.http, requests);
    assert_int_equal(requests[HTTP_PATH_METRICS][HTTP_CODE_200], 9);
    stop(&s);
}

/* The second address is taken: the error names it, and the first is free again. */
static void test_address_in_use(void **state)
{
    struct address taken = address_of("127.0.0.1:0"), real, listen[2], free_again;
    struct http_settings settings = {.listen = listen, .n_listen = 2, .telemetry_path = "/m"};
    struct publisher *p = publisher_new(2);
    char text[ADDRESS_TEXT_MAX];
    struct http *http = NULL;
    struct buf error;
    int fd, probe;

    (void)state;
    fd = listen_open(&taken, &real);
    assert_true(fd >= 0);
    probe = listen_open(&taken, &listen[0]);
    assert_true(probe >= 0);
    close(probe);
    listen[1] = real;
    buf_init(&error, 1000);
    assert_int_equal(http_open(&settings, p, &http, &error), -EADDRINUSE);
    assert_null(http);
    address_format(&real, text);
    assert_true(contains(buf_span(&error), text));
    assert_true(contains(buf_span(&error), strerror(EADDRINUSE)));
    assert_false(contains(buf_span(&error), "\n"));
    probe = listen_open(&listen[0], &free_again);
    assert_true(probe >= 0);
    close(probe);
    close(fd);
    buf_deinit(&error);
    publisher_free(p);
}

static void test_ipv6(void **state)
{
    static const char *const both[] = {"[::1]:0", ":0"};
    struct address a = address_of("[::1]:0"), real;
    struct server s;
    int fd = listen_open(&a, &real);

    (void)state;
    if (fd < 0)
        skip();
    close(fd);
    start_at(&s, both, 2, "/metrics");
    assert_true(publish_number(s.publisher, 1));
    for (size_t i = 0; i < 2; i++) {
        struct answer answer = ask_at(place(s.http, i), "GET", "/metrics", "");

        assert_int_equal(answer.status, 200);
        forget(&answer);
    }
    a = address_of("127.0.0.1:0");
    a.socket.v4.sin_port = htons(address_port(place(s.http, 1)));
    {
        struct answer answer = ask_at(&a, "GET", "/metrics", "");

        assert_int_equal(answer.status, 200);
        forget(&answer);
    }
    stop(&s);
}

static void test_any_address_over_ipv4(void **state)
{
    static const char *const any[] = {":0"};
    struct address a = address_of("127.0.0.1:0");
    struct answer answer;
    struct server s;

    (void)state;
    start_at(&s, any, 1, "/metrics");
    a.socket.v4.sin_port = htons(address_port(place(s.http, 0)));
    answer = ask_at(&a, "GET", "/-/healthy", "");
    assert_int_equal(answer.status, 200);
    forget(&answer);
    stop(&s);
}

/* A client that keeps its connection, or never finishes its request, holds nobody up. */
static void test_stop_with_idle_clients(void **state)
{
    struct server s;
    struct answer a;
    uint64_t began;
    int kept, silent, half;
    char byte;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    kept = connect_to(place(s.http, 0));
    silent = connect_to(place(s.http, 0));
    half = connect_to(place(s.http, 0));
    send_all(half, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost"));
    send_all(kept, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    receive(kept, false, &a);
    assert_int_equal(a.status, 200);
    forget(&a);
    began = clock_monotonic_ns();
    stop(&s);
    assert_true(clock_monotonic_ns() - began < 2 * SECOND);
    assert_true(recv(kept, &byte, 1, 0) <= 0);
    assert_true(recv(half, &byte, 1, 0) <= 0);
    close(kept);
    close(silent);
    close(half);
}

/* A page of 6 MB, more than the sockets of both ends hold. */
static void publish_large(struct publisher *p)
{
    enum { GROUPS = 9000 };
    struct slot *slot = publisher_begin(p);
    struct snapshot *s = &slot->snapshot;

    *s = (struct snapshot){.sequence = 1, .up = true, .n_groups = GROUPS};
    s->self = (struct self){.version = "0",
                            .revision = "r",
                            .libmicrohttpd_version = "0",
                            .source = "procfs",
                            .source_reason = "test"};
    selection_default(&s->families);
    s->groups = arena_alloc_array(&slot->arena, GROUPS, sizeof(*s->groups));
    assert_non_null(s->groups);
    memset(s->groups, 0, GROUPS * sizeof(*s->groups));
    for (size_t i = 0; i < GROUPS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "group-%zu", i);
        s->groups[i].name = arena_copy(&slot->arena, span_from_str(name));
        s->groups[i].label = snapshot_label(&slot->arena, s->groups[i].name);
    }
    publisher_commit(p, slot, true);
}

static void *stop_in_a_thread(void *arg)
{
    struct server *s = arg;

    s->http = http_stop(s->http);
    return NULL;
}

/* Stops in the middle of an answer. False: it was not whole. */
static bool stop_within_an_answer(void)
{
    pthread_t stopping;
    struct server s;
    struct answer a;
    bool whole;
    char byte;
    int fd;

    start(&s);
    publish_large(s.publisher);
    fd = connect_to(place(s.http, 0));
    send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    /* The answer has begun, so the request is in flight. */
    assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
    assert_int_equal(pthread_create(&stopping, NULL, stop_in_a_thread, &s), 0);
    /* Time enough for a stop that does not wait to cut it. */
    for (int i = 0; i < 200; i++)
        pause_shortly();
    receive(fd, false, &a);
    pthread_join(stopping, NULL);
    assert_int_equal(a.status, 200);
    whole = a.body.n > 5 << 20 && contains(a.body, "\nproctally_up 1\n");
    assert_int_equal(publisher_state(s.publisher), PUBLISHER_EMPTY);
    assert_int_equal(publisher_served(s.publisher), whole);
    forget(&a);
    close(fd);
    publisher_free(s.publisher);
    return whole;
}

static void test_stop_lets_a_request_finish(void **state)
{
    int tries = 5;

    (void)state;
    /* A busy machine may take longer than the two seconds that are given. */
    while (!stop_within_an_answer())
        assert_int_not_equal(--tries, 0);
}

/* One who does not read is given up after two seconds, and its page was not served. */
static void test_stop_gives_up(void **state)
{
    struct server s;
    uint64_t began;
    char byte;
    int fd;

    (void)state;
    start(&s);
    publish_large(s.publisher);
    fd = connect_to(place(s.http, 0));
    send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
    began = clock_monotonic_ns();
    http_stop(s.http);
    assert_true(clock_monotonic_ns() - began < 10 * SECOND);
    assert_int_equal(publisher_served(s.publisher), 0);
    close(fd);
    publisher_free(s.publisher);
}

/* A client that goes away in the middle: nothing leaks, nothing was served. */
static void test_client_goes_away(void **state)
{
    struct server s;
    struct answer a;

    (void)state;
    start(&s);
    publish_large(s.publisher);
    for (int i = 0; i < 5; i++) {
        int fd = connect_to(place(s.http, 0));
        char byte;

        send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 1);
        close(fd);
    }
    a = ask(&s, "GET", "/-/healthy", "");
    assert_int_equal(a.status, 200);
    forget(&a);
    http_stop(s.http);
    assert_int_equal(publisher_served(s.publisher), 0);
    publisher_free(s.publisher);
}

enum { CROWD = 16 };

/* What a crowd of one address may hold, at both listeners together. */
static void start_crowded(struct server *s)
{
    static const char *const both[] = {"127.0.0.1:0", "127.0.0.1:0"};
    struct http_settings settings = {.telemetry_path = "/metrics",
                                     .max_connections = CROWD,
                                     .max_connections_per_address = CROWD / 2,
                                     .request_deadline_ns = 3600 * SECOND};

    start_with(s, settings, both, 2);
    assert_true(publish_number(s->publisher, 1));
}

static bool is_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || errno == ECONNRESET;
}

/* Until so many are left of those, over both listeners. */
static void wait_for_open(const int *fds, size_t n, size_t most)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND;
    size_t open;

    do {
        open = 0;
        for (size_t i = 0; i < n; i++)
            open += !is_closed(fds[i]);
        pause_shortly();
        assert_true(clock_monotonic_ns() < deadline);
    } while (open > most);
}

/* Others of its address that say nothing keep nobody out, nor cost him his connection. */
static void test_crowd(void **state)
{
    int silent[40], kept;
    struct server s;
    struct answer a;

    (void)state;
    start_crowded(&s);
    kept = connect_to(place(s.http, 0));
    for (size_t i = 0; i < 40; i++) {
        send_all(kept, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
        receive(kept, false, &a);
        assert_int_equal(a.status, 200);
        forget(&a);
        silent[i] = connect_to(place(s.http, i % 2));
        send_all(silent[i], SPAN_LITERAL("GET /met"));
        a = ask_at(place(s.http, i / 2 % 2), "GET", "/metrics", "");
        assert_int_equal(a.status, 200);
        forget(&a);
    }
    wait_for_open(silent, 40, CROWD / 2 - 1);
    assert_false(is_closed(kept));
    for (size_t i = 0; i < 40; i++)
        close(silent[i]);
    close(kept);
    stop(&s);
}

/* Those that do not read, of a page that is more than the sockets hold. */
static void test_crowd_that_does_not_read(void **state)
{
    uint64_t deadline = clock_monotonic_ns() + 20 * SECOND;
    int deaf[CROWD / 2];
    struct server s;
    unsigned status;

    (void)state;
    start_crowded(&s);
    publish_large(s.publisher);
    for (size_t i = 0; i < CROWD / 2; i++) {
        char byte;

        deaf[i] = connect_to(place(s.http, 0));
        send_all(deaf[i], SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_int_equal(recv(deaf[i], &byte, 1, MSG_PEEK), 1);
    }
    /* They have to stand still for a moment. */
    do {
        struct answer a = ask_at(place(s.http, 1), "GET", "/-/healthy", "");

        status = a.status;
        forget(&a);
        assert_true(clock_monotonic_ns() < deadline);
    } while (status != 200);
    for (size_t i = 0; i < CROWD / 2; i++)
        close(deaf[i]);
    stop(&s);
}

static void *say_half(void *arg)
{
    const struct address *where = arg;

    for (size_t i = 0; i < 300; i++) {
        int fd = connect_to(where);

        send_all(fd, SPAN_LITERAL("GET /met"));
        pause_shortly();
        close(fd);
    }
    return NULL;
}

/* Both listeners make room at once, and main sweeps; for the thread sanitizer. */
static void test_crowds_at_two_listeners(void **state)
{
    struct address where[2];
    pthread_t crowd[4];
    struct server s;
    size_t good = 0;

    (void)state;
    start_crowded(&s);
    for (size_t i = 0; i < 2; i++)
        where[i] = *place(s.http, i);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&crowd[i], NULL, say_half, &where[i % 2]), 0);
    for (size_t i = 0; i < 100; i++) {
        struct answer a = ask_at(&where[i % 2], "GET", "/metrics", "");

        good += a.status == 200;
        forget(&a);
        http_sweep(s.http);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(crowd[i], NULL);
    assert_true(good >= 50);
    stop(&s);
}

enum {
    CLIENTS = 4,
    SCRAPES = 60,
};

static void *scrape(void *arg)
{
    struct server *s = arg;
    uint64_t newest = 0, bad = 0;

    for (int i = 0; i < SCRAPES; i++) {
        struct answer a = ask_at(place(s->http, (size_t)i % 2), "GET", "/metrics", "");
        uint64_t number = page_number(a.body);

        bad += a.status != 200 || number == UINT64_MAX || number < newest;
        newest = number;
        forget(&a);
    }
    return (void *)(uintptr_t)bad;
}

/* Clients of two listeners while snapshots come and go; for the thread sanitizer. */
static void test_clients_and_collector(void **state)
{
    static const char *const both[] = {"127.0.0.1:0", "127.0.0.1:0"};
    pthread_t clients[CLIENTS];
    struct server s;

    (void)state;
    start_at(&s, both, 2, "/metrics");
    assert_true(publish_number(s.publisher, 1));
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, scrape, &s), 0);
    for (uint64_t i = 2; i < 200; i++) {
        assert_true(publish_number(s.publisher, i));
        pause_shortly();
    }
    for (int i = 0; i < CLIENTS; i++) {
        void *bad;

        pthread_join(clients[i], &bad);
        assert_null(bad);
    }
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_listeners),
        cmocka_unit_test(test_address_in_use),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_any_address_over_ipv4),
        cmocka_unit_test(test_stop_with_idle_clients),
        cmocka_unit_test(test_stop_lets_a_request_finish),
        cmocka_unit_test(test_stop_gives_up),
        cmocka_unit_test(test_client_goes_away),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_crowd_that_does_not_read),
        cmocka_unit_test(test_crowds_at_two_listeners),
        cmocka_unit_test(test_clients_and_collector),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
