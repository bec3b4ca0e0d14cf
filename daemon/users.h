#pragma once
/*
 * users - the names of users, looked up where waiting for them hurts nobody.
 *
 * A name comes from the system's name service, which may ask a directory over the network and wait
 * for it as long as it likes. So a thread does that, one after another, and the collector gets what
 * is known: at first nothing, later the name, or the number as text where there is no name, no
 * answer within the deadline, or an error. A number given for want of an answer becomes the name
 * when that comes.
 *
 * Names are of the system that the daemon runs on. In a container those are the container's own: a
 * user that its /etc/passwd does not have goes by the number, and so does one that only a name
 * service knows which is not set up there.
 *
 * What is known is kept for as long as anybody asks, and looked up again in the background after
 * some minutes, while the old answer stands. What nobody asked for in an hour is forgotten. There
 * are at most USERS_MAX users; others go by their number.
 *
 * All functions are for one thread, the owner. None but users_wait() and users_free() ever waits.
 */
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

enum {
    USERS_MAX = 16384,
    USERS_NAME_MAX = 256, /* longer names are cut */
};

struct users;

/*
 * Looks for the name of a user in `room`, n bytes: 0 with the name, or with NULL if it has none;
 * -ERANGE if there is too little room; or another negative errno. Called by the users' thread.
 */
typedef int users_look_function(uint32_t uid, char *room, size_t n, const char **ret);

/* As the system has it: getpwuid_r(3). */
int users_look(uint32_t uid, char *room, size_t n, const char **ret);

/* Starts nothing yet: the thread comes with the first user. Returns NULL without memory. */
struct users *users_new(users_look_function *look);

/*
 * Stops. A look-up under way is waited for, but for at most a second: if it hangs, the thread keeps
 * what it needs and frees it when it comes back. Returns NULL; takes NULL.
 */
struct users *users_free(struct users *u);

/*
 * Takes what was found, which changes names here and nowhere else: all spans given before are
 * invalid then. At this time (monotonic) whoever was asked for the deadline or longer ago goes by
 * the number.
 */
void users_begin(struct users *u, uint64_t now_ns, uint64_t deadline_ns);

enum users_answer {
    USERS_KNOWN,
    USERS_EXPECTED, /* not yet: it is being looked up */
};

/*
 * The name of a user: raw bytes, never empty, good until the next users_begin() or users_wait().
 * (But if there are USERS_MAX users already, until the fourth call from now.) Nothing is stored
 * for one that is only expected. Takes no memory for a user that was asked for before.
 */
enum users_answer users_name(struct users *u, uint32_t uid, struct span *ret);

/* Waits until nobody is expected any more, for at most the deadline, and takes what was found. */
void users_wait(struct users *u);

/* How often somebody whose name or number was given got another one. */
uint64_t users_changes(const struct users *u);
