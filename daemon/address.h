#pragma once
/*
 * address - where to listen: `host:port` to a socket address and back.
 *
 *     127.0.0.1:19256   this IPv4 address
 *     [::1]:19256       this IPv6 address; [::] is every one of IPv6 alone
 *     localhost:19256   the same as 127.0.0.1
 *     :19256            every address of both families
 *
 * Port 0 lets the kernel pick one. Names are not resolved: a daemon that starts before the
 * network would depend on it.
 */
#include "base/span.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Longest text of address_format() with its NUL: an IPv6 address, brackets, colon, port. */
enum { ADDRESS_TEXT_MAX = INET6_ADDRSTRLEN + 8 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    /* Of the member in use. getsockname(fd, &a.socket.any, &a.length) fills in the real port. */
    socklen_t length;
    /*
     * `:port`: socket is [::], and whoever opens it clears IPV6_V6ONLY (sets it otherwise), or
     * listens on 0.0.0.0 where the kernel has no IPv6 (EAFNOSUPPORT).
     */
    bool both_families;
};

/*
 * Parses the whole of text. On failure the result is -EINVAL and *ret_reason a constant text that
 * says what is wrong.
 */
int address_parse(struct span text, struct address *ret, const char **ret_reason);

/* Writes the address as address_parse() takes it. */
void address_format(const struct address *a, char dst[static ADDRESS_TEXT_MAX]);

uint16_t address_port(const struct address *a);

/* Whether both are the same address and port. */
bool address_equal(const struct address *a, const struct address *b);
