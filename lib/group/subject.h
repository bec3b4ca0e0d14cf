#pragma once
/*
 * subject - what rules, templates and the default naming know of one process.
 *
 * Spans are raw bytes that live as long as the decision. A value whose bit is in `expected` is not
 * known yet but will be (the prober or the resolver of names was asked): nobody may decide by it
 * now. A value that is empty and not expected is not to be had: no condition on it holds. One that
 * is `lost` is not to be had any more, but may have been, so that who had a place by it keeps it.
 */
#include "base/span.h"
#include "group/cgroup_identity.h"

#include <stdbool.h>
#include <stdint.h>

enum subject_value {
    SUBJECT_EXE,
    SUBJECT_CMDLINE,
    SUBJECT_USER,         /* of the effective uid */
    SUBJECT_SESSION_USER, /* of cgroup->session_uid */
    SUBJECT_CGROUP,
};

struct subject {
    struct span comm;
    struct span exe;     /* the path, without the mark " (deleted)" */
    struct span cmdline; /* arguments joined by one blank */
    struct span user;    /* name, or the number if it has none */
    struct span session_user;
    const struct cgroup_identity *cgroup; /* NULL: not known */
    bool kernel_thread;
    uint32_t uid; /* effective; valid if have_uid */
    bool have_uid;
    uint32_t expected; /* 1 << enum subject_value */
    uint32_t lost;     /* likewise; membership.h alone looks at it */
};

static inline uint32_t subject_bit(enum subject_value value)
{
    return UINT32_C(1) << value;
}
