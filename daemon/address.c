/*
 * address - the parts of `host:port`, each judged on its own so that the error names it.
 *
 * Only inet_pton(3) reads the numbers: unlike inet_aton(3) it takes no 127.1 and no 0x7f000001.
 */
#include "daemon/address.h"

#include "base/scan.h"

#include <arpa/inet.h>
#include <stdio.h>

static int address_fail(const char **ret_reason, const char *reason)
{
    *ret_reason = reason;
    return -EINVAL;
}

static int address_parse_port(struct span text, in_port_t *ret, const char **ret_reason)
{
    uint64_t port;
    int r;

    if (text.n == 0)
        return address_fail(ret_reason, "lacks the port behind its colon");
    r = scan_whole_u64(text, &port);
    if (r == -EINVAL)
        return address_fail(ret_reason, "has a port that is no number");
    if (r < 0 || port > UINT16_MAX)
        return address_fail(ret_reason, "has a port above 65535");
    *ret = htons((in_port_t)port);
    return 0;
}

static struct address address_v4(struct in_addr host, in_port_t port)
{
    struct address a = {.length = sizeof(a.socket.v4)};

    a.socket.v4.sin_family = AF_INET;
    a.socket.v4.sin_addr = host;
    a.socket.v4.sin_port = port;
    return a;
}

static struct address address_v6(struct in6_addr host, in_port_t port)
{
    struct address a = {.length = sizeof(a.socket.v6)};

    a.socket.v6.sin6_family = AF_INET6;
    a.socket.v6.sin6_addr = host;
    a.socket.v6.sin6_port = port;
    return a;
}

/* host is what stands between the brackets. */
static int address_parse_v6(struct span host, in_port_t port, struct address *ret,
                            const char **ret_reason)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr number;

    if (host.n > 0 && memchr(host.p, '%', host.n))
        return address_fail(ret_reason, "has a zone (%), which is not supported");
    if (host.n >= sizeof(text) || memchr(host.p, '\0', host.n))
        return address_fail(ret_reason, "is no IPv6 address");
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    if (inet_pton(AF_INET6, text, &number) != 1)
        return address_fail(ret_reason, "is no IPv6 address");
    /* Such a socket cannot be bound once it is told to keep to IPv6. */
    if (IN6_IS_ADDR_V4MAPPED(&number))
        return address_fail(ret_reason, "is an IPv4 address in IPv6 form; write it plainly");
    *ret = address_v6(number, port);
    return 0;
}

static int address_parse_v4(struct span host, in_port_t port, struct address *ret,
                            const char **ret_reason)
{
    static const char no_host[] = "has a host that is no IP address; names are not resolved, but "
                                  "for localhost";
    char text[INET_ADDRSTRLEN];
    struct in_addr number = {.s_addr = htonl(INADDR_LOOPBACK)};

    if (!span_equal(host, SPAN_LITERAL("localhost"))) {
        if (host.n >= sizeof(text) || memchr(host.p, '\0', host.n))
            return address_fail(ret_reason, no_host);
        memcpy(text, host.p, host.n);
        text[host.n] = '\0';
        if (inet_pton(AF_INET, text, &number) != 1)
            return address_fail(ret_reason, no_host);
    }
    *ret = address_v4(number, port);
    return 0;
}

int address_parse(struct span text, struct address *ret, const char **ret_reason)
{
    const char *colon = text.n > 0 ? memrchr(text.p, ':', text.n) : NULL;
    struct span host;
    in_port_t port;

    if (!colon)
        return address_fail(ret_reason, "lacks a port, such as :19256");
    host = span_of(text.p, (size_t)(colon - text.p));
    if (host.n > 0 && *host.p == '[' && host.p[host.n - 1] != ']')
        return address_fail(ret_reason, "is no [address]:port");
    if (host.n > 0 && *host.p != '[' && memchr(host.p, ':', host.n))
        return address_fail(ret_reason, "has several colons; an IPv6 address stands in brackets");
    if (address_parse_port(span_skip(text, host.n + 1), &port, ret_reason) < 0)
        return -EINVAL;
    if (host.n == 0) {
        *ret = address_v6(in6addr_any, port);
        ret->both_families = true;
        return 0;
    }
    if (*host.p == '[')
        return address_parse_v6(span_of(host.p + 1, host.n - 2), port, ret, ret_reason);
    return address_parse_v4(host, port, ret, ret_reason);
}

uint16_t address_port(const struct address *a)
{
    return ntohs(a->socket.any.sa_family == AF_INET ? a->socket.v4.sin_port
                                                    : a->socket.v6.sin6_port);
}

void address_format(const struct address *a, char dst[static ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    unsigned port = address_port(a);

    if (a->both_families) {
        snprintf(dst, ADDRESS_TEXT_MAX, ":%u", port);
    } else if (a->socket.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->socket.v4.sin_addr, host, sizeof(host));
        snprintf(dst, ADDRESS_TEXT_MAX, "%s:%u", host, port);
    } else {
        inet_ntop(AF_INET6, &a->socket.v6.sin6_addr, host, sizeof(host));
        snprintf(dst, ADDRESS_TEXT_MAX, "[%s]:%u", host, port);
    }
}

bool address_equal(const struct address *a, const struct address *b)
{
    if (a->socket.any.sa_family != b->socket.any.sa_family ||
        a->both_families != b->both_families || address_port(a) != address_port(b))
        return false;
    if (a->socket.any.sa_family == AF_INET)
        return a->socket.v4.sin_addr.s_addr == b->socket.v4.sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&a->socket.v6.sin6_addr, &b->socket.v6.sin6_addr);
}
