/*
 * privileges - what it takes to load programs into the kernel, and no longer than that.
 *
 * Root is no exception: it keeps all capabilities but these two.
 */
#include "daemon/privileges.h"

#include "base/scan.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/utsname.h>

/* In the order in which they become useless. */
static const cap_value_t CAPABILITIES[] = {CAP_PERFMON, CAP_BPF};
enum { CAPABILITIES_N = sizeof(CAPABILITIES) / sizeof(CAPABILITIES[0]) };

static const cap_flag_t FLAGS[] = {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE};
enum { FLAGS_N = sizeof(FLAGS) / sizeof(FLAGS[0]) };

static bool has(cap_t caps, cap_value_t which, cap_flag_t flag)
{
    cap_flag_value_t value;

    return cap_get_flag(caps, which, flag, &value) == 0 && value == CAP_SET;
}

bool privileges_to_load(void)
{
    cap_t caps = cap_get_proc();
    bool may;

    if (!caps)
        return false;
    may = has(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE) ||
          (has(caps, CAP_BPF, CAP_EFFECTIVE) && has(caps, CAP_PERFMON, CAP_EFFECTIVE));
    cap_free(caps);
    return may;
}

bool privileges_walks_take_bpf(const char *release)
{
    struct span rest = span_from_str(release);
    uint64_t major, minor;

    if (scan_u64(&rest, &major) < 0 || !scan_literal(&rest, SPAN_LITERAL(".")) ||
        scan_u64(&rest, &minor) < 0)
        return true;
    return major < 5 || (major == 5 && minor < 19);
}

static bool walks_take_bpf_here(void)
{
    struct utsname name;

    return uname(&name) < 0 || privileges_walks_take_bpf(name.release);
}

static bool has_any(cap_t caps, int n)
{
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FLAGS_N; f++)
            if (has(caps, CAPABILITIES[i], FLAGS[f]))
                return true;
    return false;
}

/* Ambient ones go with those that are inheritable. */
static int lower(cap_t caps, int n)
{
    for (int f = 0; f < FLAGS_N; f++)
        if (cap_set_flag(caps, FLAGS[f], n, CAPABILITIES, CAP_CLEAR) < 0)
            return -errno;
    return cap_set_proc(caps) < 0 ? -errno : 0;
}

int privileges_drop(bool walks)
{
    int n = walks && walks_take_bpf_here() ? 1 : CAPABILITIES_N, r = 0;
    cap_t caps = cap_get_proc();

    if (!caps)
        return -errno;
    /* The bounding set takes CAP_SETPCAP to change, and matters only to who may execute as root. */
    for (int i = 0; i < n; i++)
        (void)cap_drop_bound(CAPABILITIES[i]);
    if (has_any(caps, n))
        r = lower(caps, n);
    cap_free(caps);
    return r;
}
