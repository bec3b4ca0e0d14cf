#pragma once
/*
 * default_name - the group of a process that no rule takes.
 *
 * The first of these that there is:
 *
 *     kernel                    a kernel thread
 *     pod/UID
 *     container/ID              12 digits, or a name
 *     NAME.service              the innermost service, instances and transient names collapsed
 *     user/NAME                 of a login session, or what the user's manager runs beside services
 *     its comm
 *
 * A comm that reads like one of the others, or like a name that groups have otherwise, gets
 * `comm/` put before it: a process chooses its comm, and may not choose its way into them.
 */
#include "base/buf.h"
#include "group/subject.h"

#include <stdbool.h>

/* Which of these it is. */
enum default_step {
    DEFAULT_KERNEL,
    DEFAULT_POD,
    DEFAULT_CONTAINER,
    DEFAULT_SERVICE,
    DEFAULT_SESSION,
    DEFAULT_COMM,
};

/* By what is known now, whatever is expected. */
enum default_step default_step(const struct subject *subject);

/*
 * Appends the name, raw bytes; it is empty for an empty comm. False: what decides is still expected
 * (SUBJECT_CGROUP, or SUBJECT_SESSION_USER where it comes to that), and nothing was appended.
 */
bool default_name(const struct subject *subject, struct buf *out);
