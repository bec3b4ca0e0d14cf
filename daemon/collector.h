#pragma once
/*
 * collector - the thread that runs a cycle per interval and publishes its snapshot.
 *
 * It owns the cycle: process table, groups, sources. Others talk to it through the functions
 * here, which never wait for a cycle but to hand over settings.
 */
#include "base/buf.h"
#include "daemon/cycle.h"
#include "daemon/http.h"
#include "daemon/publish.h"
#include "daemon/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct collector;

struct collector_settings {
    struct cycle_settings cycle;
    struct schedule_settings schedule;
};

struct collector_parts {
    const char *procfs;
    const char *state_file; /* as state_file_open() takes it */
    struct publisher *publisher;
    const struct http *http;   /* for its counts of requests */
    struct bpf_source *bpf;    /* NULL: processes are read as text; borrowed */
    const char *source_reason; /* a fixed word */
};

/*
 * Opens the procfs and starts the thread; the first cycle begins at once. The settings are taken
 * over. Returns 0, or a negative errno with one line in `error`.
 */
int collector_start(const struct collector_parts *parts, struct collector_settings *settings,
                    struct collector **ret, struct buf *error);

/*
 * Ends the thread after at most the current cycle, and frees all. Returns NULL; or c, with nothing
 * freed, if that cycle has not ended after patience_ns: then nothing that the thread uses may go
 * away, and nothing is left but to end the process.
 */
struct collector *collector_stop(struct collector *c, uint64_t patience_ns);

/*
 * Hands new settings over for the next cycle, and takes them over. If others were handed over
 * before and not used yet, these replace them.
 */
void collector_configure(struct collector *c, struct collector_settings *settings);

/* A reload was tried: what proctally_config_last_reload_* show from the next snapshot on. */
void collector_note_reload(struct collector *c, bool successful);

/* How far the collector has come. */
struct collector_progress {
    uint64_t cycles;      /* that ended, with a snapshot or without */
    uint64_t snapshots;   /* published; the sequence of the last one */
    uint64_t snapshot_ns; /* when that was, on the monotonic clock */
    uint64_t duration_ns; /* of the last cycle */
    uint64_t interval_ns; /* in effect: see schedule_effective_interval() */
    bool in_effect;       /* a cycle with the settings handed over last has ended */
    size_t groups;        /* in the last snapshot */
    struct selection families;
    struct self self; /* of the last snapshot, with the failures and reloads since */
};

/*
 * A descriptor to wait on, which stays the collector's: readable when a cycle has ended since the
 * last call of collector_progress().
 */
int collector_fd(const struct collector *c);
void collector_progress(struct collector *c, struct collector_progress *ret);

/* What is the same in every snapshot of this program, and where processes come from. */
void collector_describe(struct self *ret, bool by_bpf, const char *source_reason);
