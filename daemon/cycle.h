#pragma once
/*
 * cycle - one turn of the flow: kernel bytes -> samples -> process table -> groups -> snapshot.
 *
 * Composes the libraries and the prober; has no log of its own, and needs the clock only to tell
 * what was slow, so the collector, --once, the tests and the benchmark all run the same.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/globs.h"
#include "daemon/placing.h"
#include "daemon/probes.h"
#include "daemon/thread_watch.h"
#include "expose/selection.h"
#include "expose/snapshot.h"
#include "group/group.h"
#include "group/rule.h"
#include "model/faults.h"
#include "model/host.h"
#include "model/sample.h"
#include "procfs/boot_time.h"
#include "procfs/procfs.h"
#include "track/host_marks.h"
#include "track/table.h"
#include "track/top.h"

#include <stdbool.h>
#include <stdint.h>

/* What can change between two cycles. */
struct cycle_settings {
    struct selection families;
    struct rules rules;   /* taken over by cycle_configure() */
    struct globs threads; /* groups whose threads are read; taken over as well */
    size_t groups_max;
    uint64_t groups_forget_ns;
    uint64_t probe_deadline_ns;
    uint64_t pss_max_bytes; /* PSS of processes with more resident memory is not read */
    enum top_key top_by;
    size_t top; /* 0: no process has series of its own */
};

/* Frees what nobody took over. */
void cycle_settings_deinit(struct cycle_settings *s);

/* The clocks at the start of a cycle. */
struct cycle_time {
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t boottime_ns;
    bool clock_was_set; /* since the last cycle */
};

enum cycle_mode {
    CYCLE_DAEMON, /* counters from the first cycle on, each series first at 0 */
    CYCLE_ONCE,   /* totals since process start, in full; waits for the prober */
};

struct bpf_source;

/* Processes that are there and that walks of the kernel's programs do not come to. */
struct blind_spot {
    uint32_t pids[64];
    size_t n;
    uint64_t looked_in; /* the cycle in which it was looked for last; 0: none */
};

struct cycle {
    enum cycle_mode mode;
    struct procfs procfs;
    struct bpf_source *bpf; /* borrowed; NULL: processes are read as text */
    bool bpf_failed;        /* it did, and text is read since */
    struct blind_spot blind_spot;
    struct boot_time boot_time;
    struct selection families;
    struct wanted wanted;   /* of processes: all but what only threads know */
    uint32_t task_counters; /* wanted ones that only threads know, 1 << enum counter */
    uint64_t pss_max_bytes;

    struct table table;
    struct groups groups;
    uint64_t began_tick; /* of the last cycle; 0 unless the procfs is live */
    /*
     * Ends of who started since are news, if there is no record: when the first whole walk began
     * since bpf is the source, or the last one started whose end was given up; 0: none.
     */
    uint64_t told_since_tick;
    uint64_t youngest_tick; /* start of the youngest process that was counted, ever */
    bool resumed;           /* and no cycle was finished since */
    struct top top;
    struct host_marks host_marks;
    struct probes probes;
    struct placing placing;
    uint64_t probe_deadline_ns;
    struct thread_watch thread_watch;

    struct faults faults;
    uint64_t slow_reads;
    uint64_t quarantined_processes;    /* of the last cycle */
    uint64_t unread_processes[PART_N]; /* of the last cycle */
    uint64_t processes;
    uint64_t undecided; /* when cycle_is_to_settle() looked */

    /* Reused in every cycle. */
    struct sample sample;
    bool text_begun; /* the procfs has begun the process of the sample */
    struct host host;
    struct buf zombie_parents; /* pids, as uint32_t */
};

/*
 * Opens the procfs. Returns 0 or a negative errno (the path, memory); on success *ret is to be
 * given to cycle_close(). Nothing is collected before cycle_configure().
 */
int cycle_open(struct cycle *ret, enum cycle_mode mode, const char *procfs,
               const struct cycle_time *now);
void cycle_close(struct cycle *c);

/*
 * Takes the settings over, between two cycles; rules and threads in them are empty afterwards. 0 or
 * -ENOMEM.
 */
int cycle_configure(struct cycle *c, struct cycle_settings *settings);

/*
 * Takes processes from this source from the next cycle on, or from text (NULL), between two cycles.
 * Its programs are to note ends by then. What the sources mean differently begins anew: totals of
 * groups neither fall nor jump.
 */
void cycle_use_bpf(struct cycle *c, struct bpf_source *source);

/*
 * Goes on from what cycle_encode() of an earlier daemon wrote about the same procfs: before the
 * first cycle_configure(). The bytes may be anything. Returns 0, -EBADMSG if they are no state,
 * -ERANGE if they are one of a time that is yet to come, or -ENOMEM; nothing is resumed then.
 *
 * Groups keep their totals, and the host's counters stand where they stood. Processes that started
 * after that daemon's last cycle count in full; what older ones used since is lost. A group whose
 * oldest member ended meanwhile has restarted under the same conditions as between two cycles.
 */
int cycle_resume(struct cycle *c, struct span state);

/* Appends the state to out: after cycle_snapshot(), before anyone sees that snapshot. */
void cycle_encode(const struct cycle *c, struct buf *out);

/*
 * Runs one cycle up to the groups. A source that fails is left for text, in the same cycle. On
 * failure (a negative errno: -EMFILE, -ENFILE, -ENOMEM, or
 * what listing the processes said) nobody has ended and the next cycle goes on from there.
 */
int cycle_run(struct cycle *c, const struct cycle_time *now);

/*
 * Goes on with what the prober reads, in the time between two cycles. Returns when to be called
 * again at the latest (monotonic); UINT64_MAX: not before the next cycle.
 */
uint64_t cycle_between(struct cycle *c, uint64_t now_ns);

/*
 * Where nobody has a group yet, a page that lacks those who are pending would be wrong. If the
 * cycle left any, and no more than CYCLE_SETTLE_MAX were run for that, waits until what decides
 * about them is there, but not for long. Descendants that are seen before their ancestors follow
 * one after another, for which cycles are run as long as each of them decides about somebody. True:
 * another cycle is to be run, which places them.
 */
enum { CYCLE_SETTLE_MAX = 3 };
bool cycle_is_to_settle(struct cycle *c, unsigned run);

/*
 * The snapshot of the cycle just run, in the arena: all but `self`, which keeps what it holds but
 * for the counts this cycle knows. `served` is the newest sequence that a scraper got. Returns 0 or
 * -ENOMEM.
 */
int cycle_snapshot(struct cycle *c, uint64_t sequence, uint64_t served,
                   const struct cycle_time *now, struct arena *arena, struct snapshot *ret);
