/* Listen addresses: the socket address they become, their text, and what is wrong with others. */
#include "daemon/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct address parsed(const char *text)
{
    const char *reason = NULL;
    struct address a;

    if (address_parse(span_from_str(text), &a, &reason) < 0)
        fail_msg("%s: %s", text, reason);
    return a;
}

static void check_text(const char *text, const char *expected)
{
    struct address a = parsed(text);
    char got[ADDRESS_TEXT_MAX];

    address_format(&a, got);
    assert_string_equal(got, expected);
}

static void check_refused(const char *text, const char *reason)
{
    struct address a = {.length = 42};
    const char *got = NULL;

    assert_int_equal(address_parse(span_from_str(text), &a, &got), -EINVAL);
    assert_string_equal(got, reason);
    assert_int_equal(a.length, 42);
}

static void test_ipv4(void **state)
{
    struct address a = parsed("192.0.2.7:80");

    (void)state;
    assert_int_equal(a.length, sizeof(struct sockaddr_in));
    assert_int_equal(a.socket.any.sa_family, AF_INET);
    assert_int_equal(a.socket.v4.sin_addr.s_addr, htonl(0xc0000207));
    assert_int_equal(a.socket.v4.sin_port, htons(80));
    assert_int_equal(address_port(&a), 80);
    assert_false(a.both_families);
    check_text("127.0.0.1:19256", "127.0.0.1:19256");
    check_text("0.0.0.0:0", "0.0.0.0:0");
    check_text("localhost:65535", "127.0.0.1:65535");
    check_text("127.0.0.1:0080", "127.0.0.1:80");
}

static void test_ipv6(void **state)
{
    struct address a = parsed("[::1]:19256");

    (void)state;
    assert_int_equal(a.length, sizeof(struct sockaddr_in6));
    assert_int_equal(a.socket.any.sa_family, AF_INET6);
    assert_true(IN6_IS_ADDR_LOOPBACK(&a.socket.v6.sin6_addr));
    assert_int_equal(address_port(&a), 19256);
    assert_false(a.both_families);
    check_text("[::]:1", "[::]:1");
    check_text("[2001:DB8::0:1]:19256", "[2001:db8::1]:19256");
    check_text("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
               "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

static void test_every_address(void **state)
{
    struct address a = parsed(":9256");

    (void)state;
    assert_true(a.both_families);
    assert_int_equal(a.socket.any.sa_family, AF_INET6);
    assert_true(IN6_IS_ADDR_UNSPECIFIED(&a.socket.v6.sin6_addr));
    check_text(":9256", ":9256");
    check_text(":0", ":0");
}

static void test_refused(void **state)
{
    static const char no_ip[] = "has a host that is no IP address; names are not resolved, but for "
                                "localhost";
    static const char several[] = "has several colons; an IPv6 address stands in brackets";

    (void)state;
    check_refused("", "lacks a port, such as :19256");
    check_refused("127.0.0.1", "lacks a port, such as :19256");
    check_refused("9256", "lacks a port, such as :19256");
    check_refused("127.0.0.1:", "lacks the port behind its colon");
    check_refused(":", "lacks the port behind its colon");
    check_refused(":99999", "has a port above 65535");
    check_refused(":65536", "has a port above 65535");
    check_refused(":99999999999999999999", "has a port above 65535");
    check_refused(":-1", "has a port that is no number");
    check_refused(":+1", "has a port that is no number");
    check_refused(":http", "has a port that is no number");
    check_refused(":80 ", "has a port that is no number");
    check_refused("example.org:80", no_ip);
    check_refused("LOCALHOST:80", no_ip);
    check_refused("256.1.1.1:9", no_ip);
    check_refused("127.1:9", no_ip);
    check_refused("0x7f000001:9", no_ip);
    check_refused("127.0.0.1.1.1.1.1.1:9", no_ip);
    check_refused("127.0.0.01:9", no_ip);
    check_refused("[127.0.0.1]:9", "is no IPv6 address");
    check_refused("[]:9", "is no IPv6 address");
    check_refused("[::g]:9", "is no IPv6 address");
    check_refused("[fe80::1%eth0]:9", "has a zone (%), which is not supported");
    check_refused("[::ffff:127.0.0.1]:9", "is an IPv4 address in IPv6 form; write it plainly");
    check_refused("[::1", "is no [address]:port");
    check_refused("[::1]", "is no [address]:port");
    check_refused("[:80", "is no [address]:port");
    check_refused("::1", several);
    check_refused("nohost.invalid::x", several);
    check_refused("::1:19256", several);
    check_refused("/no/such/dir/sock", "lacks a port, such as :19256");
    check_refused("http://localhost:80", several);
}

static void test_nul_does_not_end_a_host(void **state)
{
    const char *reason;
    struct address a;

    (void)state;
    assert_int_equal(address_parse(SPAN_LITERAL("127.0.0.1\0x:1"), &a, &reason), -EINVAL);
    assert_int_equal(address_parse(SPAN_LITERAL("[::1\0x]:1"), &a, &reason), -EINVAL);
}

static bool equal(const char *one, const char *other)
{
    struct address a = parsed(one), b = parsed(other);

    assert_int_equal(address_equal(&a, &b), address_equal(&b, &a));
    return address_equal(&a, &b);
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(equal("localhost:1", "127.0.0.1:1"));
    assert_true(equal("[::1]:1", "[0::1]:1"));
    assert_true(equal(":1", ":1"));
    assert_false(equal("127.0.0.1:1", "127.0.0.1:2"));
    assert_false(equal("127.0.0.1:1", "127.0.0.2:1"));
    assert_false(equal("[::1]:1", "[::2]:1"));
    assert_false(equal("[::]:1", ":1"));
    assert_false(equal("0.0.0.0:1", "[::]:1"));
    assert_true(equal("127.0.0.1:0", "127.0.0.1:0"));
}

/* The kernel's answer goes straight into a struct address. */
static void test_real_port(void **state)
{
    struct address a = parsed("127.0.0.1:0"), bound = a;
    char text[ADDRESS_TEXT_MAX];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, &a.socket.any, a.length), 0);
    assert_int_equal(getsockname(fd, &bound.socket.any, &bound.length), 0);
    assert_true(address_port(&bound) > 0);
    address_format(&bound, text);
    assert_true(span_starts_with(span_from_str(text), SPAN_LITERAL("127.0.0.1:")));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipv4),          cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_every_address), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_equal),         cmocka_unit_test(test_nul_does_not_end_a_host),
        cmocka_unit_test(test_real_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
