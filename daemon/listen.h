#pragma once
/* listen - a listening socket for an address. */
#include "daemon/address.h"

/*
 * Opens, binds and listens. *ret is the address with the port that the kernel picked for port 0;
 * `:port` falls back to IPv4 where there is no IPv6. Returns the descriptor, nonblocking and
 * closed on exec, which the caller owns, or a negative errno.
 */
int listen_open(const struct address *wanted, struct address *ret);

/* Where a listener is, with its NUL: host:port, or the path of a Unix socket. */
enum { LISTEN_PLACE_MAX = 128 };

/* Where a socket that was given listens; *ret stays as it is if that cannot be told. */
void listen_place(int fd, char ret[static LISTEN_PLACE_MAX]);
