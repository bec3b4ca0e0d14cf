/* default_name - the group of a process that no rule takes. */
#include "group/default_name.h"

static void append(struct buf *out, const char *prefix, struct span name)
{
    buf_append_str(out, prefix);
    buf_append_span(out, name);
}

static bool is_service(struct span name)
{
    struct span suffix = SPAN_LITERAL(".service");

    return name.n >= suffix.n && span_equal(span_skip(name, name.n - suffix.n), suffix);
}

/* Whether a comm could be taken for a name that means something else. */
static bool comm_is_misleading(struct span comm)
{
    static const struct span names[] = {
        SPAN_LITERAL("kernel"),
        SPAN_LITERAL("_other"),
        SPAN_LITERAL("_empty"),
    };
    static const struct span prefixes[] = {
        SPAN_LITERAL("container/"),
        SPAN_LITERAL("pod/"),
        SPAN_LITERAL("user/"),
        SPAN_LITERAL("comm/"),
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (span_equal(comm, names[i]))
            return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (span_starts_with(comm, prefixes[i]))
            return true;
    return is_service(comm);
}

/* The user's number stands for a name that is not to be had. */
static void append_session(const struct subject *subject, struct buf *out)
{
    if (subject->session_user.n > 0)
        append(out, "user/", subject->session_user);
    else
        buf_printf(out, "user/%u", (unsigned)subject->cgroup->session_uid);
}

enum default_step default_step(const struct subject *subject)
{
    const struct cgroup_identity *cgroup = subject->cgroup;

    if (subject->kernel_thread)
        return DEFAULT_KERNEL;
    if (cgroup && cgroup->pod.n > 0)
        return DEFAULT_POD;
    if (cgroup && cgroup->container.n > 0)
        return DEFAULT_CONTAINER;
    if (cgroup && cgroup->service.n > 0)
        return DEFAULT_SERVICE;
    return cgroup && cgroup->has_session ? DEFAULT_SESSION : DEFAULT_COMM;
}

/* What the step takes the name from; 0: nothing that could be missing yet. */
static uint32_t step_needs(enum default_step step)
{
    if (step == DEFAULT_KERNEL)
        return 0;
    return subject_bit(SUBJECT_CGROUP) |
           (step == DEFAULT_SESSION ? subject_bit(SUBJECT_SESSION_USER) : 0);
}

bool default_name(const struct subject *subject, struct buf *out)
{
    enum default_step step = default_step(subject);

    if (subject->expected & step_needs(step))
        return false;
    switch (step) {
    case DEFAULT_KERNEL:
        buf_append_str(out, "kernel");
        break;
    case DEFAULT_POD:
        append(out, "pod/", subject->cgroup->pod);
        break;
    case DEFAULT_CONTAINER:
        append(out, "container/", subject->cgroup->container);
        break;
    case DEFAULT_SERVICE:
        buf_append_span(out, subject->cgroup->service);
        break;
    case DEFAULT_SESSION:
        append_session(subject, out);
        break;
    case DEFAULT_COMM:
        append(out, comm_is_misleading(subject->comm) ? "comm/" : "", subject->comm);
        break;
    }
    return true;
}
