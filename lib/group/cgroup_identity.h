#pragma once
/*
 * cgroup_identity - what the path of a control group says about who runs in it.
 *
 * A pure function of the path as /proc/PID/cgroup has it. Nothing is looked up: container ids, pod
 * uids, units and sessions are in the names that systemd and the container runtimes give.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CGROUP_CONTAINER_MAX = 64, /* bytes of a short id or of a machine's name */
    CGROUP_POD_MAX = 64,
    CGROUP_UNIT_MAX = 256, /* systemd allows 255 */
};

/*
 * Spans are empty where the path says nothing. Those of names point into the path or into the
 * arrays, so the struct is not to be moved.
 *
 * What is further down the path is what a process is in: the innermost container, pod, unit and so
 * on count. Names are as systemctl shows them, so that a unit's `\x2d` stays.
 */
struct cgroup_identity {
    struct span path;         /* without the kernel's mark " (deleted)" */
    struct span container;    /* the first 12 digits of its id, or a machine's name */
    struct span container_id; /* the whole id; of what has a name alone, that */
    struct span pod;          /* uid, with dashes; a static pod's has none */
    struct span unit;         /* innermost unit (service, scope, ...), the kernel's `_` undone */
    struct span service;      /* innermost service, instance and transient names collapsed */
    struct span slice;        /* innermost slice */
    bool has_session;
    uint32_t session_uid; /* of the user whose session or manager this is, outside containers */

    char container_text[CGROUP_CONTAINER_MAX];
    char pod_text[CGROUP_POD_MAX];
    char service_text[CGROUP_UNIT_MAX];
};

/* `path` may be anything and must outlive *ret. */
void cgroup_identify(struct span path, struct cgroup_identity *ret);

/* The path without the kernel's mark " (deleted)", which a zombie's group may have. */
struct span cgroup_path(struct span path);
