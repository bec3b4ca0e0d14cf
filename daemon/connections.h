#pragma once
/*
 * connections - who may be connected, and until when.
 *
 * The HTTP library's own timeout counts inactivity, so a client that drips a byte now and then
 * holds its connection for ever. Here every connection has an absolute deadline: for its first
 * request to arrive, for a request to be answered, for the next request to come. A sweep shuts
 * those that are past it down, from any thread; the library then finds them ended and closes them.
 *
 * So many may be connected in all and from one address, over all listeners. Beyond that another
 * one is let in at the expense of the one that is missed least, so that who holds connections for
 * nothing keeps nobody out, not even others of his own address. In this order:
 *
 * 1. those that have not sent a whole request within 100 ms, or at all where they are three
 *    quarters or more: the oldest first;
 * 2. those that have had their answers and took them (a scraper between scrapes, who comes back
 *    when he finds his connection closed): the one that has waited longest first;
 * 3. those that do not take their answer: the one that has stood still for longest first;
 * 4. new ones, whose request may be on its way: the oldest first.
 *
 * At the limit of an address it is one of that address; at the limit of all, those of the address
 * with most that are (or are not) past their first request come first among equals. Where all are
 * being served, the new one is refused.
 *
 * A slot is taken when a connection begins, and given back before the library closes the
 * descriptor, so a descriptor is never touched that is somebody else's by then. What was cut
 * counts no more, but keeps its slot until the library has closed it. All times are nanoseconds of
 * a monotonic clock, given by the caller.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct connections;

#define CONNECTIONS_NONE SIZE_MAX

struct connections_limits {
    size_t max;
    size_t max_per_address; /* clients of Unix sockets are one address */
    size_t spare;           /* slots beyond, for those that were cut and are not closed yet */
};

enum connection_state {
    CONNECTION_WAITING,  /* for the head of a request */
    CONNECTION_ARRIVING, /* the head is there, the rest is not */
    CONNECTION_BUSY,     /* the request is being answered */
};

/* NULL when out of memory. */
struct connections *connections_new(const struct connections_limits *limits);
struct connections *connections_free(struct connections *c);

/*
 * Lets the connection on fd in, which is not owned, and cuts another one for it if need be. `from`
 * is the client's address, NULL if it has none. CONNECTIONS_NONE if it is refused: the caller
 * should shut it down.
 */
size_t connections_open(struct connections *c, int fd, const struct sockaddr *from, uint64_t now_ns,
                        uint64_t deadline_ns);

/* False if the connection was cut already, or has no slot. */
bool connections_set(struct connections *c, size_t slot, enum connection_state state,
                     uint64_t now_ns, uint64_t deadline_ns);

void connections_close(struct connections *c, size_t slot);

/* How many were not let go on, since somebody asked last. */
struct connections_losses {
    uint64_t overdue;   /* cut at their deadline */
    uint64_t displaced; /* cut for others */
    uint64_t refused;
};

/*
 * Shuts down what is past its deadline. Returns the next deadline, UINT64_MAX if there is none;
 * *ret_losses is what came about since the last sweep, this one included.
 */
uint64_t connections_sweep(struct connections *c, uint64_t now_ns,
                           struct connections_losses *ret_losses);

/* Shuts down all connections that wait for a request, and says how many others there are. */
size_t connections_shut_idle(struct connections *c);
