#pragma once
/*
 * explanation - why a process is in its group, as text for people.
 *
 * The text is fit for a terminal: what processes and the configuration say is quoted and escaped,
 * and cut where it is long.
 */
#include "base/buf.h"
#include "daemon/config.h"
#include "daemon/probes.h"
#include "group/group.h"
#include "group/subject.h"
#include "track/table.h"

#include <stdint.h>

/* All that is known of the process, and what was decided; nothing is owned. */
struct explanation {
    const struct config *config; /* its sections are those of the groups' rules, in their order */
    const struct groups *groups;
    const struct process *process;
    const struct subject *subject;
    const struct process_texts *texts; /* where the subject has exe and cmdline from */
    uint64_t start_ns;                 /* since the epoch; 0: not known */
    const struct process *parent;      /* NULL: not known */
    struct decision decision;
    const struct process *leader; /* whom it follows, if that is decided; NULL: not known */
};

/* Appends the text. */
void explanation_render(const struct explanation *e, struct buf *out);
