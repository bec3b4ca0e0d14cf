/* freshness - whether the snapshot on the page has got too old. */
#include "daemon/freshness.h"

uint64_t freshness_judge(struct freshness *f, const struct freshness_limits *limits,
                         uint64_t published_ns, uint64_t now_ns)
{
    uint64_t due_ns = published_ns + limits->patience_ns;

    if (now_ns < due_ns) {
        *f = (struct freshness){0};
        return due_ns;
    }
    if (f->suspected_ns == 0)
        f->suspected_ns = now_ns;
    due_ns = f->suspected_ns + limits->grace_ns;
    f->stale = f->stale || now_ns >= due_ns;
    return f->stale ? UINT64_MAX : due_ns;
}
