/* listen - a listening socket for an address. */
#include "daemon/listen.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 4096 };

static int open_socket(const struct address *a)
{
    int fd = socket(a->socket.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, v6only = !a->both_families;

    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        (a->socket.any.sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) < 0) ||
        bind(fd, &a->socket.any, a->length) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

/* `:port` where the kernel has no IPv6: every address of IPv4. */
static struct address without_ipv6(const struct address *a)
{
    struct address v4 = {.length = sizeof(v4.socket.v4)};

    v4.socket.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = a->socket.v6.sin6_port};
    return v4;
}

int listen_open(const struct address *wanted, struct address *ret)
{
    int fd;

    *ret = *wanted;
    fd = open_socket(ret);
    if (wanted->both_families && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)) {
        *ret = without_ipv6(wanted);
        fd = open_socket(ret);
    }
    if (fd < 0)
        return fd;
    ret->length = sizeof(ret->socket);
    if (getsockname(fd, &ret->socket.any, &ret->length) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

void listen_place(int fd, char ret[static LISTEN_PLACE_MAX])
{
    union {
        struct sockaddr any;
        struct sockaddr_un local;
    } name = {0};
    struct address a = {.length = sizeof(a.socket)};
    socklen_t n = sizeof(name);

    if (getsockname(fd, &name.any, &n) < 0)
        return;
    if (name.any.sa_family != AF_UNIX) {
        (void)getsockname(fd, &a.socket.any, &a.length);
        address_format(&a, ret);
        return;
    }
    /* The path need not end in NUL; an abstract name begins with one. */
    snprintf(ret, LISTEN_PLACE_MAX, "%s%.*s", name.local.sun_path[0] ? "" : "@",
             (int)sizeof(name.local.sun_path) - 1,
             name.local.sun_path + (name.local.sun_path[0] ? 0 : 1));
}
