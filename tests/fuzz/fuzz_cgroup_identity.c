/*
 * fuzz_cgroup_identity - paths of control groups.
 *
 * What comes out is of the path alone, lies in the path or in the struct, and has the form that it
 * is to have.
 */
#include "group/cgroup_identity.h"

#include "fuzz.h"

static void must(bool what)
{
    if (!what)
        abort();
}

static bool ends_with(struct span s, struct span suffix)
{
    return s.n >= suffix.n && span_equal(span_skip(s, s.n - suffix.n), suffix);
}

static void check_inside(struct span s, struct span path, const struct cgroup_identity *id)
{
    const char *own = (const char *)id;

    must(s.n == 0 || (s.p >= path.p && s.p + s.n <= path.p + path.n) ||
         (s.p >= own && s.p + s.n <= own + sizeof(*id)));
}

static void check_form(const struct cgroup_identity *id)
{
    must(id->container.n <= id->container_id.n);
    must((id->container.n == 0) == (id->container_id.n == 0));
    must(id->pod.n == 0 || id->pod.n == 36 || id->pod.n == 32);
    must(id->pod.n == 0 || !memchr(id->pod.p, '_', id->pod.n));
    must(id->unit.n < CGROUP_UNIT_MAX);
    must(id->service.n == 0 || ends_with(id->service, SPAN_LITERAL(".service")));
    must(id->slice.n == 0 || ends_with(id->slice, SPAN_LITERAL(".slice")));
    must(id->has_session || id->session_uid == 0);
    must(!memchr(id->service.p ? id->service.p : "", '/', id->service.n));
}

static void digest_cgroup_identity(struct span text, struct buf *to)
{
    struct cgroup_identity id;

    cgroup_identify(text, &id);
    for (size_t i = 0; i < 7; i++) {
        struct span s = (const struct span[]){id.path, id.container, id.container_id, id.pod,
                                              id.unit, id.service,   id.slice}[i];

        check_inside(s, text, &id);
        digest_span(to, s);
    }
    check_form(&id);
    digest_number(to, id.has_session);
    digest_number(to, id.session_uid);
}

FUZZ_TARGET(digest_cgroup_identity)
