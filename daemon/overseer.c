/* overseer - what main does about the collector while that runs. */
#include "daemon/overseer.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/quantity.h"
#include "daemon/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS(n) ((n)*UINT64_C(1000000000))

/* Beyond the time that a cycle took, for what the scheduler or the disk may add to it. */
static const uint64_t GRACE_NS = SECONDS(1);
/* A page without groups shows what the daemon counts; it need not be newer than this. */
static const uint64_t WITHDRAWN_MAX_AGE_NS = SECONDS(1);

/* The first cycle of a large host on a busy disk may be long, but one that hangs is to be killed.
 */
static const uint64_t START_MAX_NS = SECONDS(300);
static const uint64_t START_EXTENSION_NS = SECONDS(30);
static const uint64_t START_EXTENDED_EVERY_NS = SECONDS(10);

/* How often the status follows small changes of its numbers. */
static const uint64_t STATUS_EVERY_NS = SECONDS(60);

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void overseer_init(struct overseer *o, const struct overseer_parts *parts)
{
    uint64_t now_ns = clock_monotonic_ns(), watchdog_ns = service_watchdog();

    *o = (struct overseer){
        .parts = *parts,
        .started_ns = now_ns,
        .extended_ns = now_ns,
        .watchdog_ns = watchdog_ns,
        .unit_watchdog_ns = watchdog_ns,
    };
    self_reader_init(&o->self_reader, (uint32_t)sysconf(_SC_CLK_TCK),
                     (uint32_t)sysconf(_SC_PAGESIZE));
}

void overseer_deinit(struct overseer *o)
{
    self_reader_deinit(&o->self_reader);
}

/* ---- staleness ---- */

/*
 * Puts a page of the daemon's own families in the place of the old snapshot. Its counters are read
 * here or were on that snapshot, so none of them falls, now or when there is a snapshot again.
 */
static void withdraw(struct overseer *o, uint64_t now_ns)
{
    struct slot *slot = publisher_begin_stale(o->parts.publisher, o->seen.snapshots);

    o->withdrawn_ns = now_ns;
    if (!slot)
        return;
    slot->snapshot = (struct snapshot){.families = o->seen.families, .self = o->seen.self};
    http_requests(o->parts.http, slot->snapshot.self.http_requests);
    self_read(&o->self_reader, &slot->snapshot.self);
    publisher_commit(o->parts.publisher, slot, false);
}

static uint64_t age_seconds(const struct overseer *o, uint64_t now_ns)
{
    return (now_ns - o->seen.snapshot_ns) / SECONDS(1);
}

/* Returns when to judge, or to bring the page up to date, again. */
static uint64_t look_at_age(struct overseer *o, bool news, uint64_t now_ns)
{
    uint64_t interval_ns = larger(o->seen.interval_ns, o->seen.duration_ns);
    struct freshness_limits limits = {.patience_ns = o->parts.stale_after * interval_ns,
                                      .grace_ns = o->seen.duration_ns + GRACE_NS};
    bool was_stale = o->freshness.stale;
    uint64_t due_ns;

    if (o->seen.snapshots == 0)
        return UINT64_MAX;
    due_ns = freshness_judge(&o->freshness, &limits, o->seen.snapshot_ns, now_ns);
    if (!o->freshness.stale)
        return due_ns;
    if (!was_stale)
        log_warn("no snapshot for too long, its figures are withdrawn",
                 LOG_U64("age_seconds", age_seconds(o, now_ns)));
    if (news || !was_stale || now_ns - o->withdrawn_ns >= WITHDRAWN_MAX_AGE_NS)
        withdraw(o, now_ns);
    return o->withdrawn_ns + WITHDRAWN_MAX_AGE_NS;
}

/* ---- what systemd is told ---- */

static uint64_t extend_start(struct overseer *o, uint64_t now_ns)
{
    if (o->seen.cycles > 0 || now_ns - o->started_ns >= START_MAX_NS)
        return UINT64_MAX;
    if (now_ns - o->extended_ns >= START_EXTENDED_EVERY_NS) {
        service_extend_start(START_EXTENSION_NS);
        o->extended_ns = now_ns;
    }
    return o->extended_ns + START_EXTENDED_EVERY_NS;
}

/* The watchdog is fed once per cycle, so it must not bite before the next one can have ended. */
static void fit_watchdog(struct overseer *o)
{
    uint64_t interval_ns = o->seen.interval_ns;
    uint64_t wanted_ns =
        2 * interval_ns < o->unit_watchdog_ns ? o->unit_watchdog_ns : 3 * interval_ns;

    if (o->unit_watchdog_ns == 0 || wanted_ns == o->watchdog_ns)
        return;
    o->watchdog_ns = wanted_ns;
    service_set_watchdog(wanted_ns);
    if (wanted_ns == o->unit_watchdog_ns || o->watchdog_warned)
        return;
    o->watchdog_warned = true;
    log_warn("the interval is not below half of WatchdogSec, which is raised to three intervals",
             LOG_U64("interval_seconds", interval_ns / SECONDS(1)),
             LOG_U64("watchdog_seconds", o->unit_watchdog_ns / SECONDS(1)));
}

static void tell_ready(struct overseer *o)
{
    if (o->seen.snapshots == 0 || (o->ready && !o->reloading))
        return;
    if (o->reloading && !o->seen.in_effect)
        return;
    o->ready = true;
    o->reloading = false;
    service_tell_ready();
}

static void format_status(const struct overseer *o, uint64_t now_ns,
                          char ret[static OVERSEER_STATUS_MAX])
{
    const char *refused = o->refused ? "; the configuration was refused at the last reload" : "";
    uint64_t interval_ns = o->seen.interval_ns;
    char every[QUANTITY_TEXT_MAX];

    quantity_format_duration(
        interval_ns < SECONDS(10) ? interval_ns : interval_ns / SECONDS(1) * SECONDS(1), every);
    if (o->seen.snapshots == 0)
        snprintf(ret, OVERSEER_STATUS_MAX, "Waiting for the first snapshot%s", refused);
    else if (o->freshness.stale)
        snprintf(ret, OVERSEER_STATUS_MAX,
                 "Stale: no snapshot for %" PRIu64 " s, its figures are withdrawn%s",
                 age_seconds(o, now_ns), refused);
    else
        snprintf(ret, OVERSEER_STATUS_MAX,
                 "%" PRIu64 " processes in %zu groups, from %s; a snapshot every %s%s",
                 o->seen.self.processes, o->seen.groups, o->seen.self.source, every, refused);
}

/* More than a tenth. */
static bool differs(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) > larger(a, b) / 10;
}

/* Numbers change with every cycle; not each change is worth a message to all who listen. */
static void tell_status(struct overseer *o, uint64_t now_ns)
{
    char text[OVERSEER_STATUS_MAX];
    bool same = o->told.stale == o->freshness.stale && o->told.refused == o->refused &&
                !differs(o->told.processes, o->seen.self.processes) &&
                !differs(o->told.groups, o->seen.groups);

    if (o->told.at_ns > 0 && same && now_ns - o->told.at_ns < STATUS_EVERY_NS)
        return;
    format_status(o, now_ns, text);
    if (strcmp(text, o->told.text) == 0)
        return;
    memcpy(o->told.text, text, sizeof(text));
    o->told.at_ns = now_ns;
    o->told.processes = o->seen.self.processes;
    o->told.groups = o->seen.groups;
    o->told.stale = o->freshness.stale;
    o->told.refused = o->refused;
    service_tell_status(text);
}

/* ---- all of it ---- */

uint64_t overseer_look(struct overseer *o)
{
    uint64_t cycles = o->seen.cycles, now_ns, due_ns;

    collector_progress(o->parts.collector, &o->seen);
    now_ns = clock_monotonic_ns();
    if (o->seen.cycles != cycles) {
        fit_watchdog(o);
        service_feed_watchdog();
    }
    due_ns = smaller(look_at_age(o, o->seen.cycles != cycles, now_ns), extend_start(o, now_ns));
    tell_status(o, now_ns);
    tell_ready(o);
    return due_ns > now_ns ? due_ns - now_ns : 0;
}

void overseer_begin_reload(struct overseer *o)
{
    o->reloading = true;
    service_tell_reloading(clock_monotonic_ns());
}

void overseer_end_reload(struct overseer *o, bool successful, uint64_t stale_after)
{
    o->refused = !successful;
    o->parts.stale_after = stale_after;
}
