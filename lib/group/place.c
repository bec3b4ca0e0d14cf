/* place - what is known of a process, by name. */
#include "group/place.h"

static const char *const names[PLACE_NAMED_N] = {
    [PLACE_COMM] = "comm",           [PLACE_EXE] = "exe",   [PLACE_EXE_PATH] = "exe_path",
    [PLACE_USER] = "user",           [PLACE_UNIT] = "unit", [PLACE_SLICE] = "slice",
    [PLACE_CONTAINER] = "container", [PLACE_POD] = "pod",   [PLACE_CGROUP] = "cgroup",
};

enum place place_from_name(struct span name)
{
    for (int i = 0; i < PLACE_NAMED_N; i++)
        if (span_equal(name, span_from_str(names[i])))
            return (enum place)i;
    return PLACE_N;
}

const char *place_name(enum place place)
{
    return names[place];
}

uint32_t place_needs(enum place place)
{
    switch (place) {
    case PLACE_EXE:
    case PLACE_EXE_PATH:
        return subject_bit(SUBJECT_EXE);
    case PLACE_CMDLINE:
        return subject_bit(SUBJECT_CMDLINE);
    case PLACE_USER:
        return subject_bit(SUBJECT_USER);
    case PLACE_UNIT:
    case PLACE_SLICE:
    case PLACE_CONTAINER:
    case PLACE_CONTAINER_ID:
    case PLACE_POD:
    case PLACE_CGROUP:
        return subject_bit(SUBJECT_CGROUP);
    case PLACE_COMM:
    case PLACE_N:
        break;
    }
    return 0;
}

/* Of a path that ends in a slash it is the path. */
static struct span last_component(struct span path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    struct span last = slash ? span_skip(path, (size_t)(slash - path.p) + 1) : path;

    return last.n > 0 ? last : path;
}

static struct span cgroup_value(enum place place, const struct cgroup_identity *cgroup)
{
    switch (place) {
    case PLACE_UNIT:
        return cgroup->unit;
    case PLACE_SLICE:
        return cgroup->slice;
    case PLACE_CONTAINER:
        return cgroup->container;
    case PLACE_CONTAINER_ID:
        return cgroup->container_id;
    case PLACE_POD:
        return cgroup->pod;
    default:
        return cgroup->path;
    }
}

static struct span value_of(enum place place, const struct subject *s)
{
    switch (place) {
    case PLACE_COMM:
        return s->comm;
    case PLACE_EXE:
        return last_component(s->exe);
    case PLACE_EXE_PATH:
        return s->exe;
    case PLACE_CMDLINE:
        return s->cmdline;
    case PLACE_USER:
        return s->user;
    default:
        return s->cgroup ? cgroup_value(place, s->cgroup) : span_of(NULL, 0);
    }
}

/* Whether a kernel thread does without it, whatever the kernel says. */
static bool kernel_thread_lacks(enum place place, const struct subject *s)
{
    switch (place_needs(place)) {
    case 1 << SUBJECT_EXE:
    case 1 << SUBJECT_CMDLINE:
        return true;
    case 1 << SUBJECT_CGROUP:
        return s->cgroup && span_equal(s->cgroup->path, SPAN_LITERAL("/"));
    }
    return false;
}

enum place_state place_value(enum place place, const struct subject *s, struct span *ret)
{
    struct span value;

    if (s->kernel_thread && kernel_thread_lacks(place, s))
        return PLACE_NONE;
    if (s->expected & place_needs(place))
        return PLACE_EXPECTED;
    value = value_of(place, s);
    if (value.n == 0)
        return PLACE_NONE;
    *ret = value;
    return PLACE_KNOWN;
}
