#pragma once
/*
 * probes - what the cycle has the prober read, and what comes of it.
 *
 * A cycle finds out of which processes a part is due, and asks for them as it passes by, each
 * through the directory it holds open. Answers are put into the table, where the next cycle finds
 * them, so a figure is about a cycle older than the others.
 *
 * The prober has little room. Whom it had none for stays due, and is asked for in the time between
 * the cycles, in turn, so that the oldest reading comes first. While there are such, cycles ask for
 * those alone that were never read. A process that did not answer is quarantined: it is asked for
 * nothing more until it has ended. What it holds is not known any more.
 *
 * Gauges are due as the families say. The texts exe and cmdline are due when the cycle says so of a
 * process, since it depends on the rules and on what else is known of it who is asked for them; and
 * no table keeps them: they are handed to the cycle, once.
 */
#include "daemon/prober.h"
#include "model/faults.h"
#include "track/table.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that was quarantined, for the log. */
struct quarantined {
    uint32_t pid;
    uint8_t comm_len;
    char comm[SAMPLE_COMM_MAX];
    enum part part;
};

/*
 * The texts that were due of one process, PART_EXE or PART_CMDLINE or both: read, or known not to
 * be had. Raw bytes; spans are good until the callback returns.
 */
struct process_texts {
    uint32_t due;  /* 1 << enum part that this is the answer for */
    uint32_t have; /* those that were read; one not due may be among them */
    /*
     * Path of the program as pid_exe.h has it. Without its bit in `have` it is what the first
     * argument says (pid_cmdline_program()), if the link is refused. Empty: there is none.
     */
    struct span exe;
    struct span cmdline; /* arguments joined by one blank, cut at PROBE_CMDLINE_MAX */
    /*
     * Why a text has no bit in `have`, a negative errno; -ETIMEDOUT if the process does not answer,
     * or did not another time. 0: it was read, or not asked for.
     */
    int exe_error;
    int cmdline_error;
};

/*
 * May come in any function of probes that takes answers, so also in the midst of a cycle, and of a
 * process that was seen in it already, or ended a cycle ago. It must call none of those functions.
 */
typedef void probes_texts_function(void *arg, struct process *process,
                                   const struct process_texts *texts);

/* What is borrowed: the cycle's. */
struct probes_parts {
    struct procfs *procfs;
    struct table *table;
    struct faults *faults;
    const struct wanted *wanted;
    probes_texts_function *texts; /* NULL: nobody wants any */
    void *texts_arg;
};

struct probes {
    struct probes_parts parts;
    struct prober *prober;
    uint64_t deadline_ns;
    uint32_t text_parts; /* of PART_EXE and PART_CMDLINE, those that any rule needs */
    uint64_t waiting;    /* due and not asked for, since there was no room */
    bool backlog;        /* there were such when the cycle began */
    uint32_t next;       /* record that is next in the time between */
    /* Since the caller last set n_news to 0; what is beyond its room is not told. */
    struct quarantined news[PROBER_THREADS_MAX];
    size_t n_news;
};

/* Returns 0 or -ENOMEM. */
int probes_init(struct probes *p, const struct probes_parts *parts);
void probes_deinit(struct probes *p);

/* Takes the answers that are there. Begins a cycle. */
void probes_begin(struct probes *p, uint64_t now_ns);

/* Whether nothing can be had of this process, or of a new one (NULL), by asking. */
bool probes_refuse(const struct probes *p, const struct process *process);

/*
 * These parts of a process of the table are due; the procfs has it begun. Asks for them, and what
 * else is due of it, or leaves that for later. Returns those that are due for the first time: their
 * reading only begins. Of parts that no family needs, those in text_parts alone mean anything;
 * texts are never among those returned, see probes_texts_expected(). What is made due in one call
 * takes one request, and texts are read first.
 */
uint32_t probes_due(struct probes *p, struct process *process, uint32_t parts);

/*
 * Which texts of the process are to come: due, and not answered yet. A text that was made due, is
 * not expected, and did not come either is not to be had: the process is quarantined, or the prober
 * is off. One expected may take many cycles if there are no descriptors for it.
 */
uint32_t probes_texts_expected(const struct probes *p, const struct process *process);

/*
 * Waits until what was asked of the process is answered, its texts too, or it is quarantined
 * (--once).
 */
void probes_wait(struct probes *p, const struct process *process);

/* Waits until nothing is due or under way, at most until this time (monotonic); else as below. */
void probes_wait_all(struct probes *p, struct sample *scratch, uint64_t until_ns);

/*
 * Between two cycles: takes answers, and asks for whom there was no room before, to which end it
 * begins processes of the procfs. `scratch` is overwritten. Returns when to be called again at the
 * latest; UINT64_MAX: not before the next cycle.
 */
uint64_t probes_between(struct probes *p, struct sample *scratch, uint64_t now_ns);

/*
 * CPU time that the prober used so far, but for first readings of processes that nobody saw start:
 * they are made once after the daemon's own start, or after a family was enabled.
 */
uint64_t probes_cpu_ns(const struct probes *p);

/* Whether the prober is off: too many processes do not answer. */
bool probes_are_off(const struct probes *p);
