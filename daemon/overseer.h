#pragma once
/*
 * overseer - what main does about the collector while that runs: it withdraws a snapshot that got
 * too old, and tells systemd how things stand.
 *
 * All of it is done by looks, which never wait for the collector: one after each of its cycles,
 * and one when something is due. A collector that hangs is seen by what does not happen.
 */
#include "daemon/collector.h"
#include "daemon/freshness.h"
#include "daemon/http.h"
#include "daemon/publish.h"
#include "daemon/self.h"

#include <stdbool.h>
#include <stdint.h>

enum { OVERSEER_STATUS_MAX = 256 };

struct overseer_parts {
    struct collector *collector;
    struct publisher *publisher;
    const struct http *http;
    uint64_t stale_after; /* intervals */
};

struct overseer {
    struct overseer_parts parts;
    struct self_reader self_reader;
    struct collector_progress seen; /* at the last look */
    uint64_t started_ns;
    uint64_t extended_ns; /* when the time to start was */

    struct freshness freshness;
    uint64_t withdrawn_ns; /* when the page was replaced last; 0: it is not */

    bool ready;                             /* systemd knows */
    bool reloading;                         /* and waits for the end of it */
    bool refused;                           /* the last reload was */
    uint64_t watchdog_ns, unit_watchdog_ns; /* in effect, and as the unit has it; 0: none */
    bool watchdog_warned;

    struct {
        char text[OVERSEER_STATUS_MAX];
        uint64_t at_ns;
        uint64_t processes, groups;
        bool stale, refused;
    } told; /* as the status */
};

void overseer_init(struct overseer *o, const struct overseer_parts *parts);
void overseer_deinit(struct overseer *o);

/* Looks, and does what is to be done. Returns in how many nanoseconds to look again at the latest.
 */
uint64_t overseer_look(struct overseer *o);

/* Before a reload, and after it; the next looks see when the new settings are in effect. */
void overseer_begin_reload(struct overseer *o);
void overseer_end_reload(struct overseer *o, bool successful, uint64_t stale_after);
