/* Sockets of addresses. Without IPv6 those tests are skipped. */
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static struct address address_of(const char *text)
{
    const char *reason;
    struct address a;

    assert_int_equal(address_parse(span_from_str(text), &a, &reason), 0);
    return a;
}

static bool have_ipv6(void)
{
    struct address a = address_of("[::1]:0"), real;
    int fd = listen_open(&a, &real);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Whether somebody accepts at this address with the port of another. */
static bool connects(const char *host, uint16_t port)
{
    struct address a = address_of(host);
    bool connected;
    int fd = socket(a.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (a.socket.any.sa_family == AF_INET6)
        a.socket.v6.sin6_port = htons(port);
    else
        a.socket.v4.sin_port = htons(port);
    connected = connect(fd, &a.socket.any, a.length) == 0;
    close(fd);
    return connected;
}

static void test_port_0(void **state)
{
    struct address wanted = address_of("127.0.0.1:0"), real;
    char text[ADDRESS_TEXT_MAX];
    int fd = listen_open(&wanted, &real);

    (void)state;
    assert_true(fd >= 0);
    assert_int_not_equal(address_port(&real), 0);
    address_format(&real, text);
    assert_int_equal(strncmp(text, "127.0.0.1:", 10), 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(connects("127.0.0.1:0", address_port(&real)));
    close(fd);
    assert_false(connects("127.0.0.1:0", address_port(&real)));
}

static void test_address_in_use(void **state)
{
    struct address wanted = address_of("127.0.0.1:0"), real, again;
    int fd = listen_open(&wanted, &real);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(listen_open(&real, &again), -EADDRINUSE);
    close(fd);
    /* A restart gets its port back at once, connections of before or not. */
    fd = listen_open(&real, &again);
    assert_true(fd >= 0);
    assert_true(address_equal(&real, &again));
    close(fd);
}

static void test_foreign_address(void **state)
{
    struct address wanted = address_of("192.0.2.1:0"), real;

    (void)state;
    assert_int_equal(listen_open(&wanted, &real), -EADDRNOTAVAIL);
}

static void test_ipv6_alone(void **state)
{
    struct address wanted = address_of("[::]:0"), real;
    int fd;

    (void)state;
    if (!have_ipv6())
        skip();
    fd = listen_open(&wanted, &real);
    assert_true(fd >= 0);
    assert_true(connects("[::1]:0", address_port(&real)));
    assert_false(connects("127.0.0.1:0", address_port(&real)));
    close(fd);
}

static void test_both_families(void **state)
{
    struct address wanted = address_of(":0"), real;
    char text[ADDRESS_TEXT_MAX];
    int fd = listen_open(&wanted, &real);

    (void)state;
    assert_true(fd >= 0);
    assert_true(connects("127.0.0.1:0", address_port(&real)));
    assert_int_equal(connects("[::1]:0", address_port(&real)), have_ipv6());
    address_format(&real, text);
    if (have_ipv6())
        assert_int_equal(text[0], ':');
    else
        assert_int_equal(strncmp(text, "0.0.0.0:", 8), 0);
    close(fd);
}

static void check_place(int family, const void *name, size_t n, const char *expected)
{
    char place[LISTEN_PLACE_MAX] = "";
    int fd = socket(family, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, name, (socklen_t)n), 0);
    listen_place(fd, place);
    assert_string_equal(place, expected);
    close(fd);
}

/* Sockets that somebody else opened. */
static void test_places(void **state)
{
    static const struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_un path = {.sun_family = AF_UNIX}, name = {.sun_family = AF_UNIX};
    char directory[] = "/tmp/proctally.XXXXXX";
    char expected[LISTEN_PLACE_MAX], place[LISTEN_PLACE_MAX];
    struct address a = {.socket.v4 = v4, .length = sizeof(v4)}, real;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path.sun_path, sizeof(path.sun_path), "%s/s", directory);
    check_place(AF_UNIX, &path, sizeof(path), path.sun_path);
    unlink(path.sun_path);
    rmdir(directory);
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s", directory + 1);
    snprintf(expected, sizeof(expected), "@%s", directory + 1);
    check_place(AF_UNIX, &name, offsetof(struct sockaddr_un, sun_path) + strlen(directory),
                expected);
    fd = listen_open(&a, &real);
    assert_true(fd >= 0);
    address_format(&real, expected);
    listen_place(fd, place);
    assert_string_equal(place, expected);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_0),          cmocka_unit_test(test_address_in_use),
        cmocka_unit_test(test_foreign_address), cmocka_unit_test(test_ipv6_alone),
        cmocka_unit_test(test_both_families),   cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
