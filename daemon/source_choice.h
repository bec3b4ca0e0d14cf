#pragma once
/*
 * source_choice - which source of processes the daemon takes, and why.
 *
 * Chosen once, at the start.
 */
#include "base/buf.h"
#include "daemon/config.h"

struct bpf_source;

/* Label `reason` of proctally_source_info. */
enum source_reason {
    SOURCE_CONFIGURED,
    SOURCE_NOT_BUILT,
    SOURCE_NOT_NEEDED, /* one look tells as much without programs */
    SOURCE_FOREIGN_PROCFS,
    SOURCE_NOT_PERMITTED,
    SOURCE_NO_BTF,
    SOURCE_REFUSED,
    SOURCE_NO_MEMORY,
    SOURCE_SELF_TEST_PASSED,
    SOURCE_SELF_TEST_FAILED,
    SOURCE_LOST, /* it failed while it was in use */
    SOURCE_REASON_N,
};

const char *source_reason_name(enum source_reason reason);

struct source_choice {
    struct bpf_source *bpf; /* loaded, and noting ends; NULL: the procfs */
    enum source_reason reason;
};

/*
 * Chooses as configured, loads what that takes, and gives up the privileges for it (privileges.h).
 * What `auto` did not get is logged in one line. To be called before there is a second thread.
 * Returns 0, and *ret is to be given to source_choice_deinit(); or a negative errno, with one line
 * in `error`, if a source was asked for that cannot be had.
 */
int source_choice_make(struct source_choice *ret, const struct config *c, struct buf *error);
void source_choice_deinit(struct source_choice *s);

/* Why --once and --explain take the procfs, which they always do. */
enum source_reason source_choice_of_one_look(const struct config *c);

/* Name and version of the library that the bpf source has, or that there is none; static. */
const char *source_choice_library(void);

/* The source's name: label `source` of proctally_source_info. */
const char *source_choice_name(const struct source_choice *s);
