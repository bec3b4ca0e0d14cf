/*
 * healthcheck - a client of one request, by hand: an image without a shell has no other.
 *
 * One deadline holds for all of it. Nothing blocks but ppoll(), which gets what is left of it.
 */
#include "daemon/healthcheck.h"

#include "daemon/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const uint64_t HEALTHCHECK_PATIENCE_NS = 2000000000u;

#define REQUEST "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

/* Bytes of an answer that can matter: `HTTP/1.1 200` and what ends the number. */
enum { ANSWER_BYTES = 13 };

/* Of `every address` the loopback one; of both families that of IPv4, which is always there. */
static struct address reachable(const struct address *listen)
{
    struct address a = *listen;

    if (listen->both_families) {
        a = (struct address){.length = sizeof(a.socket.v4)};
        a.socket.v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                           .sin_port = htons(address_port(listen))};
    } else if (a.socket.any.sa_family == AF_INET) {
        if (a.socket.v4.sin_addr.s_addr == htonl(INADDR_ANY))
            a.socket.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (IN6_IS_ADDR_UNSPECIFIED(&a.socket.v6.sin6_addr)) {
        a.socket.v6.sin6_addr = in6addr_loopback;
    }
    return a;
}

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;

    do {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                                .tv_nsec = (long)(left_ns % 1000000000u)};

        n = ppoll(&p, 1, &left, NULL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return n == 0 ? -ETIMEDOUT : 0;
}

static int finish_connect(int fd, const struct address *a, uint64_t deadline_ns)
{
    socklen_t length = sizeof(int);
    int r, failure = 0;

    if (connect(fd, &a->socket.any, a->length) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return -errno;
    r = wait_for(fd, POLLOUT, deadline_ns);
    if (r < 0)
        return r;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) < 0)
        return -errno;
    return -failure;
}

static int send_request(int fd, uint64_t deadline_ns)
{
    struct span rest = SPAN_LITERAL(REQUEST);

    while (rest.n > 0) {
        ssize_t n = send(fd, rest.p, rest.n, MSG_NOSIGNAL);
        int r = 0;

        if (n >= 0)
            rest = span_skip(rest, (size_t)n);
        else if (errno == EAGAIN)
            r = wait_for(fd, POLLOUT, deadline_ns);
        else if (errno != EINTR)
            r = -errno;
        if (r < 0)
            return r;
    }
    return 0;
}

/* The first bytes of the answer; fewer only where it ends before. */
static int read_answer(int fd, uint64_t deadline_ns, char dst[static ANSWER_BYTES], size_t *ret)
{
    size_t got = 0;

    while (got < ANSWER_BYTES) {
        ssize_t n = recv(fd, dst + got, ANSWER_BYTES - got, 0);
        int r = 0;

        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
        else if (errno == EAGAIN)
            r = wait_for(fd, POLLIN, deadline_ns);
        else if (errno != EINTR)
            r = -errno;
        if (r < 0)
            return r;
    }
    *ret = got;
    return 0;
}

/* 0, or the three digits of a status that is not 200, or -EPROTO. */
static int judge(const char answer[static ANSWER_BYTES], size_t n)
{
    int status = 0;

    if (n < ANSWER_BYTES || memcmp(answer, "HTTP/1.", 7) != 0 || answer[8] != ' ' ||
        (answer[12] != ' ' && answer[12] != '\r'))
        return -EPROTO;
    for (size_t i = 9; i < 12; i++) {
        if (answer[i] < '0' || answer[i] > '9')
            return -EPROTO;
        status = 10 * status + (answer[i] - '0');
    }
    return status == 200 ? 0 : status;
}

static int ask(int fd, const struct address *a, uint64_t deadline_ns)
{
    char answer[ANSWER_BYTES];
    size_t n = 0;
    int r;

    r = finish_connect(fd, a, deadline_ns);
    if (r == 0)
        r = send_request(fd, deadline_ns);
    if (r == 0)
        r = read_answer(fd, deadline_ns, answer, &n);
    return r < 0 ? r : judge(answer, n);
}

int healthcheck_run(const struct address *listen, struct buf *error)
{
    uint64_t deadline_ns = clock_monotonic_ns() + HEALTHCHECK_PATIENCE_NS;
    struct address a = reachable(listen);
    char place[ADDRESS_TEXT_MAX];
    int fd, r;

    address_format(&a, place);
    fd = socket(a.socket.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    r = fd < 0 ? -errno : ask(fd, &a, deadline_ns);
    if (fd >= 0)
        close(fd);
    if (r == -EPROTO)
        buf_printf(error, "not healthy: %s does not answer as HTTP does", place);
    else if (r < 0)
        buf_printf(error, "not healthy: %s: %s", place, strerror(-r));
    else if (r > 0)
        buf_printf(error, "not healthy: %s answered with status %d", place, r);
    return r > 0 ? -EPROTO : r;
}
