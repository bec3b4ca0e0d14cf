/* The health check against servers that answer rightly, wrongly, slowly or not at all. */
#include "daemon/healthcheck.h"

#include "daemon/clock.h"
#include "daemon/listen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { REQUEST_MAX = 512 };

/* Takes one connection, reads the request, sends the pieces of an answer, and may keep it open. */
struct server {
    const char *const *pieces; /* ends in NULL */
    bool hold;
    int fd;
    int release[2]; /* the test's end lets the server close */
    struct address address;
    char request[REQUEST_MAX];
    pthread_t thread;
};

static struct address address_of(const char *text)
{
    const char *reason;
    struct address a;

    assert_int_equal(address_parse(span_from_str(text), &a, &reason), 0);
    return a;
}

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    (void)poll(&p, 1, -1);
}

static void *serve(void *argument)
{
    struct server *s = argument;
    size_t n = 0;
    int fd;

    wait_readable(s->fd);
    fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    while (!strstr(s->request, "\r\n\r\n") && n + 1 < sizeof(s->request)) {
        ssize_t got = recv(fd, s->request + n, sizeof(s->request) - 1 - n, 0);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    for (size_t i = 0; s->pieces[i]; i++) {
        (void)send(fd, s->pieces[i], strlen(s->pieces[i]), MSG_NOSIGNAL);
        usleep(20000);
    }
    if (s->hold)
        wait_readable(s->release[0]);
    close(fd);
    return NULL;
}

static void server_start(struct server *s, const char *listen)
{
    struct address wanted = address_of(listen);

    s->fd = listen_open(&wanted, &s->address);
    assert_true(s->fd >= 0);
    s->address.both_families = wanted.both_families;
    assert_int_equal(pipe(s->release), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    close(s->release[1]);
    pthread_join(s->thread, NULL);
    close(s->release[0]);
    close(s->fd);
}

/* Runs the check, which is to fail by naming `place` and saying what is expected, or to succeed. */
static int check(const struct address *a, const char *place, const char *expected)
{
    char text[512];
    struct buf error;
    int r;

    buf_init(&error, 1024);
    r = healthcheck_run(a, &error);
    if (r == 0) {
        assert_int_equal(error.len, 0);
        assert_null(expected);
    } else {
        assert_non_null(expected);
        snprintf(text, sizeof(text), "not healthy: %s:%u%s", place, address_port(a), expected);
        buf_append_char(&error, '\0');
        assert_string_equal(error.data, text);
    }
    buf_deinit(&error);
    return r;
}

static int check_answer(const char *const *pieces, bool hold, const char *expected)
{
    struct server s = {.pieces = pieces, .hold = hold};
    int r;

    server_start(&s, "127.0.0.1:0");
    r = check(&s.address, "127.0.0.1", expected);
    server_stop(&s);
    return r;
}

#define PIECES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_healthy(void **state)
{
    (void)state;
    assert_int_equal(check_answer(PIECES("HTTP/1.1 200 OK\r\n\r\nfine"), false, NULL), 0);
    assert_int_equal(check_answer(PIECES("HTTP/1.0 200\r\n\r\n"), false, NULL), 0);
    /* In pieces, and without its end. */
    assert_int_equal(check_answer(PIECES("HTT", "P/1.1 2", "00 OK\r"), true, NULL), 0);
}

static void test_not_healthy(void **state)
{
    (void)state;
    assert_int_equal(check_answer(PIECES("HTTP/1.1 503 Service Unavailable\r\n\r\n"), false,
                                  " answered with status 503"),
                     -EPROTO);
    assert_int_equal(check_answer(PIECES("HTTP/1.1 404 \r\n"), true, " answered with status 404"),
                     -EPROTO);
}

static void test_no_http(void **state)
{
    static const char *const wrong[] = {"",
                                        "HTTP/1.1 200",
                                        "HTTP/1.1 2000 OK\r\n",
                                        "HTTP/1.1 20x OK\r\n",
                                        "HTTP/1.1  200 OK\r\n",
                                        "HTTP/2.0 200 OK\r\n",
                                        "SSH-2.0-OpenSSH_9.2\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(check_answer(PIECES(wrong[i]), false, " does not answer as HTTP does"),
                         -EPROTO);
}

/* It takes the connection, or only the kernel does, and there is no whole status. */
static void test_no_answer(void **state)
{
    struct address wanted = address_of("127.0.0.1:0"), real;
    uint64_t begin_ns = clock_monotonic_ns(), took_ns;
    int fd;

    (void)state;
    assert_int_equal(check_answer(PIECES("HTTP/1.1 20"), true, ": Connection timed out"),
                     -ETIMEDOUT);
    took_ns = clock_monotonic_ns() - begin_ns;
    assert_in_range(took_ns, 1900000000u, 4000000000u);

    fd = listen_open(&wanted, &real);
    assert_true(fd >= 0);
    assert_int_equal(check(&real, "127.0.0.1", ": Connection timed out"), -ETIMEDOUT);
    close(fd);
    assert_int_equal(check(&real, "127.0.0.1", ": Connection refused"), -ECONNREFUSED);
}

static void test_request(void **state)
{
    struct server s = {.pieces = PIECES("HTTP/1.1 200 OK\r\n\r\n")};

    (void)state;
    server_start(&s, "127.0.0.1:0");
    assert_int_equal(check(&s.address, "127.0.0.1", NULL), 0);
    server_stop(&s);
    assert_string_equal(s.request, "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n"
                                   "Connection: close\r\n\r\n");
}

/* Who listens at every address is asked at the loopback one. */
static void test_every_address(void **state)
{
    static const struct {
        const char *listen, *place;
    } rows[] = {{"0.0.0.0:0", "127.0.0.1"}, {":0", "127.0.0.1"}, {"[::]:0", "[::1]"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct server s = {.pieces = PIECES("HTTP/1.1 503 no\r\n\r\n")};
        struct address wanted = address_of(rows[i].listen), real;
        int fd = listen_open(&wanted, &real);

        if (fd < 0 && wanted.socket.any.sa_family == AF_INET6)
            continue; /* no IPv6 here */
        close(fd);
        server_start(&s, rows[i].listen);
        assert_int_equal(check(&s.address, rows[i].place, " answered with status 503"), -EPROTO);
        server_stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy), cmocka_unit_test(test_not_healthy),
        cmocka_unit_test(test_no_http), cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_request), cmocka_unit_test(test_every_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
