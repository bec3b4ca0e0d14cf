#pragma once
/*
 * prober - threads that read what may block, so that the collector never does.
 *
 * The collector hands over a request and goes on; a thread reads it, however long that takes, and
 * the answer is taken later. Nothing here waits for a reading: prober_wait(), for who has nothing
 * else to do, ends at a given time too.
 *
 * A reading that does not end within the deadline is given up: the answer says so, its thread is
 * left behind and another one takes its place. There are at most PROBER_THREADS_MAX threads, those
 * left behind included; when all of them hang, the prober is off. A thread that comes back in the
 * end drops what it read, and works again where one is missing.
 *
 * What the threads cost is told, those left behind included. Readings that come but once, of what
 * was there before anyone looked, are told apart: prober_cpu_ns() leaves them out.
 *
 * Times are given, as values. A reading is counted from the first prober_look() that finds it, so
 * one that hangs is given up within two deadlines, and the time that a request waits behind others
 * never counts against it.
 *
 * All functions are for one thread, the owner.
 */
#include "model/identity.h"
#include "model/parts.h"
#include "model/sample.h"
#include "procfs/probe.h"
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROBER_THREADS = 4,      /* that read at a time */
    PROBER_THREADS_MAX = 16, /* those that hang included */
    /*
     * Requests under way, from prober_ask() until their answers are taken. Each holds up to two
     * descriptors, and so does each thread left behind.
     */
    PROBER_ROOM = 64,
};

struct prober;

/* Reads one part in a directory, as probe_read() of procfs/probe.h. Must leave the heap alone. */
typedef int prober_read_function(struct procfs *fs, int dir, enum part part, struct sample *s,
                                 struct probe_texts *t);

struct probe_answer {
    struct sample sample; /* the identity asked for, and gauges with their bits; no more */
    uint32_t asked;       /* 1 << enum part */
    /*
     * Of these, and of what stood in for one of them (probe_stand_in()), read or known not to be
     * readable; the others were not tried. Texts are settled all or none.
     */
    uint32_t parts;
    bool hung; /* given up while it read `hung_part` */
    enum part hung_part;
    int error[PART_N]; /* of each of the parts: 0 or a negative errno */
    /* Also what was read before it hung. Good until the next prober_take(). */
    const struct probe_texts *texts;
};

/* Starts nothing yet: the threads come with the first request. Returns NULL without memory. */
struct prober *prober_new(prober_read_function *read);

/*
 * Stops: requests not begun are dropped, readings are waited for, but for at most a second. Threads
 * that hang keep what they need and free it when they come back. Returns NULL; takes NULL.
 */
struct prober *prober_free(struct prober *p);

/* Whether prober_ask() would find room. */
bool prober_has_room(struct prober *p);

/* What is asked for: parts (1 << enum part) of a process. */
struct probe_request {
    struct identity identity;
    uint32_t parts;
    bool once; /* such a request comes but once: it is not part of what going on costs */
};

/*
 * Asks for that, to be read in `dir`, which is duplicated. Returns 0, or -EAGAIN (no room, or the
 * prober is off), or why there is no duplicate; nothing is asked then.
 */
int prober_ask(struct prober *p, const struct probe_request *request, int dir);

/*
 * Sees to the threads at this time (monotonic): readings over the deadline are given up, threads
 * that lack are started.
 */
void prober_look(struct prober *p, uint64_t now_ns, uint64_t deadline_ns);

/* Takes the next answer, in no order. False: there is none now. */
bool prober_take(struct prober *p, struct probe_answer *ret);

/* When to look again: UINT64_MAX if nothing is under way. As prober_look() is called. */
uint64_t prober_look_again(struct prober *p, uint64_t now_ns, uint64_t deadline_ns);

/* Waits for an answer to take, at most until this time (monotonic). */
void prober_wait(struct prober *p, uint64_t until_ns);

/* Whether all threads hang, or none could be started. False before the first request. */
bool prober_is_off(struct prober *p);

/* Threads left behind that have not come back. */
unsigned prober_hanging(struct prober *p);

/*
 * CPU time of all threads so far, but for requests of `once` that were answered in time or still
 * may be. Never falls.
 */
uint64_t prober_cpu_ns(struct prober *p);
