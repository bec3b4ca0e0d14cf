/*
 * connections - who may be connected, and until when.
 *
 * One lock guards all, and is held over the system calls as well, so that a slot given back is
 * never shut and a slot that was found free is taken by the same connection. Places are only
 * looked for one by one: there are some tens, and only at a limit are the kernel's figures asked.
 */
#include "daemon/connections.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>
#include <linux/tcp.h>

static const uint64_t MILLISECOND_NS = 1000000u;

enum {
    /* Who connects has his request ready. */
    REQUEST_MS = 100,
    /*
     * Who goes on reading takes what was sent within some round trips, and says so at once, or up
     * to 40 ms later where nothing more comes.
     */
    READING_MS = 10,
    ACKNOWLEDGEMENT_MS = 50,
    ROUND_TRIPS = 4,
    QUIET_MS_MAX = 1000, /* who answers late has any round trip he likes */
};

/* Connections counted: those that never sent a whole request, and the others. */
struct count {
    size_t n[2];
};

/* An address that has connections. */
struct peer {
    struct in6_addr address;
    struct count count;
};

struct connection {
    int fd; /* -1: the slot is free */
    struct peer *peer;
    enum connection_state state;
    bool asked;        /* has sent a whole request; which count of the peer's it is in */
    bool shut;         /* it is in no count any more */
    uint64_t since_ns; /* it is let in, is being answered, or has been */
    uint64_t deadline_ns;
};

struct connections {
    pthread_mutex_t lock;
    struct connections_limits limits;
    struct connections_losses losses;
    struct count count;
    struct peer *peers; /* one more than connections may be: there is always one without any */
    size_t n_slots;
    struct connection slots[];
};

/* In the order in which they are cut for others. */
enum standing {
    STANDING_SILENT,
    STANDING_WAITING,
    STANDING_STUCK,
    STANDING_NEW,
    STANDING_SERVED, /* never */
};

/* One that might be cut. */
struct candidate {
    struct connection *connection; /* NULL: there is none yet */
    enum standing standing;
    size_t alike; /* as many of its address */
    uint64_t time_ns;
};

struct connections *connections_new(const struct connections_limits *limits)
{
    size_t n_slots = limits->max + limits->spare;
    struct connections *c = calloc(1, sizeof(*c) + n_slots * sizeof(c->slots[0]));

    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->limits = *limits;
    c->n_slots = n_slots;
    for (size_t i = 0; i < n_slots; i++)
        c->slots[i].fd = -1;
    c->peers = calloc(limits->max + 1, sizeof(*c->peers));
    return c->peers ? c : connections_free(c);
}

struct connections *connections_free(struct connections *c)
{
    if (!c)
        return NULL;
    pthread_mutex_destroy(&c->lock);
    free(c->peers);
    free(c);
    return NULL;
}

/* Counts the connection in (1) or out (-1) as what it is now. */
static void tally(struct connections *c, const struct connection *connection, int by)
{
    connection->peer->count.n[connection->asked] += (size_t)by;
    c->count.n[connection->asked] += (size_t)by;
}

/* IPv4 as IPv6 has it, so that a client is the same at every listener; Unix sockets are `::`. */
static struct in6_addr address_of(const struct sockaddr *from)
{
    struct in6_addr address = {0};

    if (from && from->sa_family == AF_INET6)
        return ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
    if (from && from->sa_family == AF_INET) {
        address.s6_addr[10] = address.s6_addr[11] = 0xff;
        memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)(const void *)from)->sin_addr,
               4);
    }
    return address;
}

static size_t total(const struct count *count)
{
    return count->n[false] + count->n[true];
}

/* The peer of the address, or one that becomes it when it gets a connection. */
static struct peer *find_peer(struct connections *c, struct in6_addr address)
{
    struct peer *unused = NULL;

    for (size_t i = 0; i <= c->limits.max; i++) {
        struct peer *peer = &c->peers[i];

        if (total(&peer->count) == 0)
            unused = unused ? unused : peer;
        else if (memcmp(&peer->address, &address, sizeof(address)) == 0)
            return peer;
    }
    unused->address = address;
    return unused;
}

/* What was written to the connection, and the client has not taken. */
static bool has_unsent(const struct connection *connection)
{
    int n = 0;

    return ioctl(connection->fd, SIOCOUTQ, &n) == 0 && n > 0;
}

/* For how long nothing went to the client or came from it, and how long that may be. */
static uint64_t quiet_ms(const struct connection *connection, uint64_t now_ns, uint64_t *ret_may_ms)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof(info);

    *ret_may_ms = ACKNOWLEDGEMENT_MS;
    /* A Unix socket tells no more than that something is left. */
    if (getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return (now_ns - connection->since_ns) / MILLISECOND_NS;
    /* With more to come there is no reason to put an acknowledgement off. */
    if (info.tcpi_notsent_bytes > 0)
        *ret_may_ms = READING_MS;
    *ret_may_ms += (uint64_t)info.tcpi_min_rtt * ROUND_TRIPS / 1000;
    if (*ret_may_ms > QUIET_MS_MAX)
        *ret_may_ms = QUIET_MS_MAX;
    /* The one stands still where the client does not read, the other where it is gone. */
    return info.tcpi_last_data_sent > info.tcpi_last_ack_recv ? info.tcpi_last_data_sent
                                                              : info.tcpi_last_ack_recv;
}

/* `crowded`: too many have sent no request for new ones to get their time. */
static enum standing standing_of(const struct connection *connection, bool crowded, uint64_t now_ns,
                                 uint64_t *ret_time_ns)
{
    uint64_t may_ms;

    *ret_time_ns = now_ns - connection->since_ns;
    if (!connection->asked)
        return crowded || *ret_time_ns >= REQUEST_MS * MILLISECOND_NS ? STANDING_SILENT
                                                                      : STANDING_NEW;
    /* With nothing to take, it is for us to go on with an answer under way. */
    if (!has_unsent(connection))
        return connection->state == CONNECTION_BUSY ? STANDING_SERVED : STANDING_WAITING;
    *ret_time_ns = quiet_ms(connection, now_ns, &may_ms) * MILLISECOND_NS;
    return *ret_time_ns < may_ms * MILLISECOND_NS ? STANDING_SERVED : STANDING_STUCK;
}

static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    if (a->standing != b->standing)
        return a->standing < b->standing;
    if (a->alike != b->alike)
        return a->alike > b->alike;
    return a->time_ns > b->time_ns;
}

/* Who is missed least, of the peer or (NULL) of all; NULL if all are being served. */
static struct connection *find_dispensable(struct connections *c, const struct peer *peer,
                                           uint64_t now_ns)
{
    const struct count *count = peer ? &peer->count : &c->count;
    bool crowded = count->n[false] * 4 >= total(count) * 3;
    struct candidate best = {.standing = STANDING_SERVED};

    for (size_t i = 0; i < c->n_slots; i++) {
        struct connection *connection = &c->slots[i];
        struct candidate other;

        if (connection->fd < 0 || connection->shut || (peer && connection->peer != peer))
            continue;
        if (connection->asked && best.standing == STANDING_SILENT)
            continue;
        other.connection = connection;
        other.alike = connection->peer->count.n[connection->asked];
        other.standing = standing_of(connection, crowded, now_ns, &other.time_ns);
        if (other.standing != STANDING_SERVED && goes_before(&other, &best))
            best = other;
    }
    return best.connection;
}

static void shut(struct connections *c, struct connection *connection)
{
    connection->shut = true;
    tally(c, connection, -1);
    shutdown(connection->fd, SHUT_RDWR);
}

/* What it has not taken by now is given up, lest the kernel keeps it for a client that is gone. */
static void cut(struct connections *c, struct connection *connection)
{
    static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (has_unsent(connection))
        (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shut(c, connection);
}

/* Whether there is room for one more of the peer, or could be made. */
static bool make_room(struct connections *c, const struct peer *peer, uint64_t now_ns)
{
    bool of_peer = total(&peer->count) >= c->limits.max_per_address;
    struct connection *dispensable;

    if (!of_peer && total(&c->count) < c->limits.max)
        return true;
    dispensable = find_dispensable(c, of_peer ? peer : NULL, now_ns);
    if (!dispensable)
        return false;
    cut(c, dispensable);
    c->losses.displaced++;
    return true;
}

static size_t find_slot(const struct connections *c)
{
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i].fd < 0)
            return i;
    return CONNECTIONS_NONE;
}

size_t connections_open(struct connections *c, int fd, const struct sockaddr *from, uint64_t now_ns,
                        uint64_t deadline_ns)
{
    struct peer *peer;
    size_t slot;

    pthread_mutex_lock(&c->lock);
    peer = find_peer(c, address_of(from));
    slot = find_slot(c);
    if (slot != CONNECTIONS_NONE && !make_room(c, peer, now_ns))
        slot = CONNECTIONS_NONE;
    if (slot == CONNECTIONS_NONE) {
        c->losses.refused++;
    } else {
        c->slots[slot] = (struct connection){
            .fd = fd, .peer = peer, .since_ns = now_ns, .deadline_ns = deadline_ns};
        tally(c, &c->slots[slot], 1);
    }
    pthread_mutex_unlock(&c->lock);
    return slot;
}

static void connection_set(struct connections *c, struct connection *connection,
                           enum connection_state state, uint64_t now_ns, uint64_t deadline_ns)
{
    connection->deadline_ns = deadline_ns;
    if (state != CONNECTION_ARRIVING)
        connection->since_ns = now_ns;
    connection->state = state;
    if (state != CONNECTION_BUSY || connection->asked)
        return;
    tally(c, connection, -1);
    connection->asked = true;
    tally(c, connection, 1);
}

bool connections_set(struct connections *c, size_t slot, enum connection_state state,
                     uint64_t now_ns, uint64_t deadline_ns)
{
    bool live;

    if (slot == CONNECTIONS_NONE)
        return false;
    pthread_mutex_lock(&c->lock);
    live = !c->slots[slot].shut;
    if (live)
        connection_set(c, &c->slots[slot], state, now_ns, deadline_ns);
    pthread_mutex_unlock(&c->lock);
    return live;
}

void connections_close(struct connections *c, size_t slot)
{
    if (slot == CONNECTIONS_NONE)
        return;
    pthread_mutex_lock(&c->lock);
    if (!c->slots[slot].shut)
        tally(c, &c->slots[slot], -1);
    c->slots[slot].fd = -1;
    pthread_mutex_unlock(&c->lock);
}

uint64_t connections_sweep(struct connections *c, uint64_t now_ns,
                           struct connections_losses *ret_losses)
{
    uint64_t next = UINT64_MAX;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_slots; i++) {
        struct connection *connection = &c->slots[i];

        if (connection->fd < 0 || connection->shut)
            continue;
        if (connection->deadline_ns <= now_ns) {
            cut(c, connection);
            c->losses.overdue++;
        } else if (connection->deadline_ns < next) {
            next = connection->deadline_ns;
        }
    }
    *ret_losses = c->losses;
    c->losses = (struct connections_losses){0};
    pthread_mutex_unlock(&c->lock);
    return next;
}

size_t connections_shut_idle(struct connections *c)
{
    size_t others = 0;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_slots; i++) {
        struct connection *connection = &c->slots[i];

        if (connection->fd < 0)
            continue;
        if (connection->state != CONNECTION_WAITING)
            others++;
        else if (!connection->shut)
            shut(c, connection);
    }
    pthread_mutex_unlock(&c->lock);
    return others;
}
