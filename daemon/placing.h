#pragma once
/*
 * placing - what decides about each process of a cycle, gathered and handed to lib/group.
 *
 * The control group is read at first sight; in the next cycle, since services are forked first and
 * moved afterwards; when the comm changed (an exec); and then every half minute. Users have their
 * names from the resolver. The path of the program and the command line are read by the prober,
 * and only of processes whose group depends on them: at first sight, in the next cycle, when the
 * comm changed, and by turns.
 *
 * Rules are asked when one of these, or the rules, have changed. A new process that waits for a
 * text or a name is pending, see membership.h. Who is ending has neither program nor arguments any
 * more, nor a control group of v1, and stays where it was.
 */
#include "daemon/probes.h"
#include "daemon/users.h"
#include "group/cgroups.h"
#include "group/membership.h"
#include "model/faults.h"
#include "procfs/procfs.h"
#include "track/table.h"

#include <stdbool.h>
#include <stdint.h>

/* What is borrowed: the cycle's. */
struct placing_parts {
    struct procfs *procfs;
    struct table *table;
    struct groups *groups;
    struct probes *probes;
    struct faults *faults;
};

struct placing {
    struct placing_parts parts;
    struct users *users;
    struct cgroups cgroups;
    uint32_t needs;         /* 1 << enum subject_value that some rule looks at */
    uint64_t now_ns;        /* monotonic, of the cycle */
    bool under_way;         /* the cycle: there are processes to come */
    uint64_t users_changes; /* as of the cycle before */
    bool users_changed;     /* since then: every process is to be decided anew */
    bool ids_tell;          /* there is no other hierarchy than the one that has ids */
};

/* Returns 0 or -ENOMEM. */
int placing_init(struct placing *p, const struct placing_parts *parts);
void placing_deinit(struct placing *p);

/* The groups have new rules. Returns the parts (1 << enum part) that are to be read for them. */
uint32_t placing_configure(struct placing *p);

/* Begins a cycle. Names of users that take longer than the deadline are given up for now. */
void placing_begin(struct placing *p, uint64_t now_ns, uint64_t deadline_ns);

/* What a look at a process brings of its control group, for placing_place(). */
struct placing_read {
    bool due;
    bool is_root;    /* it says nothing of who is there */
    uint32_t cgroup; /* CGROUPS_NONE: not to be had */
    uint64_t set;    /* where it is, as a number; 0: not known */
};

/* What a kernel that counts knows of it: see bpf/source.h. Zeroes: nothing. */
struct placing_numbers {
    uint64_t id;
    uint64_t set;
};

/*
 * Whether the control group's path is to be read: `ref` is the process' record, or TABLE_NONE, and
 * `news` what table_is_news() says. If not, *ret is what there is.
 */
bool placing_is_due(struct placing *p, uint32_t ref, bool news, struct placing_numbers numbers,
                    struct placing_read *ret);

/* Reads the path of the process begun. Returns 0, or -EMFILE, -ENFILE, -ENOMEM. */
int placing_read(struct placing *p, const struct sample *s, struct placing_numbers numbers,
                 struct placing_read *ret);

/*
 * A control group was made, and these are its id and its path. It is known for two cycles, and as
 * long as processes are in it.
 */
void placing_learn(struct placing *p, uint64_t id, struct span path);

/*
 * Of a process that is not there any more, and was not seen when it was: by its id, or it was where
 * its parent is.
 */
void placing_recall(struct placing *p, const struct sample *s, struct placing_numbers numbers,
                    struct placing_read *ret);

/*
 * Places the process that table_see() saw. Returns -ENOMEM, or 0 with the texts in *ret_due
 * (1 << enum part) that the prober has to read for it.
 */
int placing_place(struct placing *p, struct process *process, enum sighting sighting,
                  const struct delta *delta, const struct sample *s,
                  const struct placing_read *read, uint32_t *ret_due);

/* Texts of a process have come; see probes.h. */
void placing_texts(void *arg, struct process *process, const struct process_texts *texts);

/*
 * Decides about a process of the last cycle anew, by what is known of it and these texts, as if
 * nothing more could be had (--explain): membership.next says where it belongs. *ret is what rules
 * look at, users included that none asks for; good until the next cycle. Returns 0 or -ENOMEM.
 */
int placing_explain(struct placing *p, struct process *process, const struct process_texts *texts,
                    struct subject *ret);

/* A known process is there that could not be read. */
void placing_keep(struct placing *p, const struct process *process);

/*
 * A process that is not there any more, before groups_exit() for any: has one that is pending
 * placed. Returns 0 or -ENOMEM.
 */
int placing_place_ended(struct placing *p, struct process *process);

/* Ends a cycle that is finished: control groups without a process are forgotten. */
void placing_end(struct placing *p);
