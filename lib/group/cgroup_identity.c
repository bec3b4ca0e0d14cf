/*
 * cgroup_identity - reading the names of control groups.
 *
 * A path is walked from the root down, and each name is held against the forms that are known. What
 * a deeper name says replaces what an outer one said, so there is no table of whole paths: parents
 * can be configured, and a cgroup namespace hides some of them.
 *
 * Ids are believed where they look as the runtimes make them, 64 digits of a hash or a UUID, since
 * other names may be anybody's choice. Whoever may make control groups can forge them all the same:
 * a user with a delegated subtree, for processes of his own.
 */
#include "group/cgroup_identity.h"

#include "base/scan.h"

enum {
    ID_DIGITS = 64,
    SHORT_ID_DIGITS = 12, /* what the runtimes show of an id */
    UUID_CHARS = 36,
    HASH_DIGITS = 32, /* a UUID without dashes; an MD5 sum */
};

/* The name looked at, and where it stands. */
struct walk {
    struct span name;
    struct span before; /* the name above */
    struct span rest;   /* the path below */
    bool has_slice_uid;
    uint32_t slice_uid; /* of the innermost user-UID.slice */
};

/* ---- pieces of names ---- */

static bool ends_with(struct span s, struct span suffix)
{
    return s.n >= suffix.n && span_equal(span_skip(s, s.n - suffix.n), suffix);
}

/* Takes `suffix` off the end of s if it is there. */
static bool take_end(struct span *s, struct span suffix)
{
    if (!ends_with(*s, suffix))
        return false;
    s->n -= suffix.n;
    return true;
}

/* Takes `head` off the front and `tail` off the end of s if both are there. */
static bool take_ends(struct span *s, struct span head, struct span tail)
{
    struct span inner = *s;

    if (!scan_literal(&inner, head) || !take_end(&inner, tail))
        return false;
    *s = inner;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Upper case is never written in an id. */
static bool is_hex(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_hex_digit(s.p[i]))
            return false;
    return s.n > 0;
}

/* Takes decimal digits, at least one. */
static bool take_digits(struct span *s)
{
    size_t n = 0;

    while (n < s->n && is_digit(s->p[n]))
        n++;
    *s = span_skip(*s, n);
    return n > 0;
}

/* 8-4-4-4-12 hexadecimal digits; systemd's slices have `_` in the place of dashes. */
static bool is_uuid(struct span s)
{
    if (s.n != UUID_CHARS)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s.p[i] != '-' && s.p[i] != '_' : !is_hex_digit(s.p[i]))
            return false;
    }
    return true;
}

/* Takes the next name of a path; false at its end. */
static bool take_name(struct span *rest, struct span *ret)
{
    const char *slash;

    while (scan_literal(rest, SPAN_LITERAL("/")))
        ;
    if (rest->n == 0)
        return false;
    slash = memchr(rest->p, '/', rest->n);
    *ret = span_of(rest->p, slash ? (size_t)(slash - rest->p) : rest->n);
    *rest = span_skip(*rest, ret->n);
    return true;
}

/* ---- containers ---- */

/* Those who look after a container from outside have groups with its id too. */
static bool is_monitor(struct span engine)
{
    return ends_with(engine, SPAN_LITERAL("conmon"));
}

/*
 * An id of 64 digits: alone, or behind an engine's name as in `docker-ID.scope`,
 * `libpod-payload-ID` and `...:cri-containerd:ID`. podman's pods are groups of such a name too,
 * below its own.
 */
static bool container_by_id(const struct walk *w, struct span *ret)
{
    struct span engine = w->name;
    struct span id;

    (void)take_end(&engine, SPAN_LITERAL(".scope"));
    if (engine.n < ID_DIGITS)
        return false;
    id = span_skip(engine, engine.n - ID_DIGITS);
    if (!is_hex(id))
        return false;
    engine.n -= ID_DIGITS;
    if (engine.n == 0 && span_equal(w->before, SPAN_LITERAL("libpod_parent")))
        return false;
    if (engine.n > 0) {
        if (!take_end(&engine, SPAN_LITERAL("-")) && !take_end(&engine, SPAN_LITERAL(":")))
            return false;
        if (is_monitor(engine))
            return false;
    }
    *ret = id;
    return true;
}

static bool is_container_name(struct span s)
{
    static const char others[] = "-_.";

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return s.n > 0 && s.n <= CGROUP_CONTAINER_MAX;
}

/* The parts of `PARENT.slice:ENGINE:ID`, which is meant for systemd, where nobody asked systemd. */
static bool split_triple(struct span name, struct span *ret_slice, struct span *ret_engine,
                         struct span *ret_id)
{
    struct span slice = name, rest;
    const char *colon = memchr(name.p, ':', name.n);

    if (!colon)
        return false;
    slice.n = (size_t)(colon - name.p);
    rest = span_skip(name, slice.n + 1);
    colon = rest.n > 0 ? memchr(rest.p, ':', rest.n) : NULL;
    if (!colon || !ends_with(slice, SPAN_LITERAL(".slice")))
        return false;
    *ret_slice = slice;
    *ret_engine = span_of(rest.p, (size_t)(colon - rest.p));
    *ret_id = span_skip(rest, ret_engine->n + 1);
    return true;
}

/* A triple says what it is, so here any id will do. */
static bool container_by_triple(const struct walk *w, struct span *ret)
{
    struct span slice, engine;

    return split_triple(w->name, &slice, &engine, ret) && !is_monitor(engine) &&
           is_container_name(*ret);
}

/* ECS on Fargate: `TASK-NUMBER`, the task in 32 digits. */
static bool container_by_task(const struct walk *w, struct span *ret)
{
    struct span number;

    if (w->name.n < HASH_DIGITS || !is_hex(span_of(w->name.p, HASH_DIGITS)))
        return false;
    number = span_skip(w->name, HASH_DIGITS);
    if (!scan_literal(&number, SPAN_LITERAL("-")) || !take_digits(&number) || number.n > 0)
        return false;
    *ret = w->name;
    return true;
}

/* LXC, LXD, Incus, Proxmox: `lxc/NAME`, `lxc.payload/NAME`, `lxc.payload.NAME`. */
static bool container_by_lxc(const struct walk *w, struct span *ret)
{
    struct span name = w->name;

    if (!span_equal(w->before, SPAN_LITERAL("lxc")) &&
        !span_equal(w->before, SPAN_LITERAL("lxc.payload")) &&
        !scan_literal(&name, SPAN_LITERAL("lxc.payload.")))
        return false;
    *ret = name;
    return name.n > 0;
}

/* The byte that `\xHH` stands for at the front of s, or -1. */
static int escaped_byte(struct span s)
{
    int byte = 0;

    if (s.n < 4 || s.p[0] != '\\' || s.p[1] != 'x')
        return -1;
    for (size_t i = 2; i < 4; i++) {
        if (!is_hex_digit(s.p[i]))
            return -1;
        byte = byte * 16 + (is_digit(s.p[i]) ? s.p[i] - '0' : s.p[i] - 'a' + 10);
    }
    return byte;
}

/* Undoes systemd's `\xHH`. Returns the length, or 0 if it does not fit. */
static size_t unescape(struct span s, char *out, size_t max)
{
    size_t n = 0;

    while (s.n > 0) {
        int byte = escaped_byte(s);

        if (n == max)
            return 0;
        out[n++] = byte < 0 ? *s.p : (char)byte;
        s = span_skip(s, byte < 0 ? 1 : 4);
    }
    return n;
}

/* libvirt's `qemu-7-NAME` has a number that is another at each start of the domain: taken out. */
static size_t drop_domain_number(char *text, size_t n)
{
    struct span name = span_of(text, n);
    char *to;

    if (!scan_literal(&name, SPAN_LITERAL("qemu-")) && !scan_literal(&name, SPAN_LITERAL("lxc-")))
        return n;
    to = text + (n - name.n);
    if (!take_digits(&name) || !scan_literal(&name, SPAN_LITERAL("-")) || name.n == 0)
        return n;
    memmove(to, name.p, name.n);
    return (size_t)(to - text) + name.n;
}

/*
 * systemd-machined's: `systemd-nspawn@NAME.service` and `machine-NAME.scope`, the container below
 * `payload`, and nspawn itself, which is not in it, below `supervisor`.
 */
static bool container_by_machine(const struct walk *w, char text[static CGROUP_CONTAINER_MAX],
                                 struct span *ret)
{
    struct span name = w->name, below, rest = w->rest;
    char plain[CGROUP_CONTAINER_MAX];
    size_t n;

    if (take_name(&rest, &below) && span_equal(below, SPAN_LITERAL("supervisor")))
        return false;
    if (take_ends(&name, SPAN_LITERAL("systemd-nspawn@"), SPAN_LITERAL(".service")))
        n = unescape(name, plain, sizeof(plain));
    else if (take_ends(&name, SPAN_LITERAL("machine-"), SPAN_LITERAL(".scope")))
        n = drop_domain_number(plain, unescape(name, plain, sizeof(plain)));
    else
        return false;
    if (n == 0)
        return false;
    memcpy(text, plain, n);
    *ret = span_of(text, n);
    return true;
}

static void identify_container(const struct walk *w, struct cgroup_identity *ret)
{
    struct span id;

    if (!container_by_id(w, &id) && !container_by_triple(w, &id) && !container_by_task(w, &id) &&
        !container_by_lxc(w, &id) && !container_by_machine(w, ret->container_text, &id))
        return;
    ret->container = ret->container_id = id;
    if (id.n > SHORT_ID_DIGITS && is_hex(id))
        ret->container.n = SHORT_ID_DIGITS;
}

/* ---- pods ---- */

/* The uid behind the last `pod` of `kubepods-burstable-podUID` or `podUID`. */
static bool pod_uid(struct span name, struct span *ret)
{
    static const size_t lengths[] = {UUID_CHARS, HASH_DIGITS};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct span uid, head = name;

        if (name.n < lengths[i])
            continue;
        uid = span_skip(name, name.n - lengths[i]);
        head.n -= lengths[i];
        if (!take_end(&head, SPAN_LITERAL("pod")) ||
            (head.n > 0 && !ends_with(head, SPAN_LITERAL("-"))))
            continue;
        if (lengths[i] == UUID_CHARS ? is_uuid(uid) : is_hex(uid)) {
            *ret = uid;
            return true;
        }
    }
    return false;
}

static void identify_pod(const struct walk *w, struct cgroup_identity *ret)
{
    struct span name = w->name, slice, engine, id, uid;

    if (split_triple(name, &slice, &engine, &id))
        name = slice;
    (void)take_end(&name, SPAN_LITERAL(".slice"));
    if (!pod_uid(name, &uid))
        return;
    memcpy(ret->pod_text, uid.p, uid.n);
    if (uid.n == UUID_CHARS)
        ret->pod_text[8] = ret->pod_text[13] = ret->pod_text[18] = ret->pod_text[23] = '-';
    ret->pod = span_of(ret->pod_text, uid.n);
}

/* ---- units and sessions ---- */

static bool is_unit_name(struct span s)
{
    static const char others[] = ":-_.\\@";

    if (s.n == 0 || s.n >= CGROUP_UNIT_MAX || *s.p == '@' || *s.p == '.')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return true;
}

/* A uid in decimal; the kernel's "no user" is none. */
static bool parse_uid(struct span s, uint32_t *ret)
{
    uint64_t uid;

    if (scan_whole_u64(s, &uid) < 0 || uid >= UINT32_MAX)
        return false;
    *ret = (uint32_t)uid;
    return true;
}

/* What systemd-run calls its units: run-123, run-u123, run-r and 32 digits, run-p12-i34; -s5. */
static bool is_run_number(struct span s)
{
    if (s.n == HASH_DIGITS + 1 && *s.p == 'r' && is_hex(span_skip(s, 1)))
        return true;
    if (scan_literal(&s, SPAN_LITERAL("p"))) {
        if (!take_digits(&s) || !scan_literal(&s, SPAN_LITERAL("-i")))
            return false;
    } else {
        (void)scan_literal(&s, SPAN_LITERAL("u"));
    }
    if (!take_digits(&s))
        return false;
    return s.n == 0 || (scan_literal(&s, SPAN_LITERAL("-s")) && take_digits(&s) && s.n == 0);
}

/* s up to and with the dash before a random end: a UUID, or 32 digits and more; else all of it. */
static struct span cut_random_end(struct span s)
{
    struct span head = s;
    size_t digits = 0;

    if (s.n > UUID_CHARS && is_uuid(span_skip(s, s.n - UUID_CHARS)))
        head.n -= UUID_CHARS;
    else {
        while (digits < s.n && is_hex_digit(s.p[s.n - 1 - digits]))
            digits++;
        if (digits >= HASH_DIGITS)
            head.n -= digits;
    }
    return ends_with(head, SPAN_LITERAL("-")) ? head : s;
}

/* The part of a service's name, without `.service`, that all of its kind share. */
static struct span lasting_part(struct span stem)
{
    const char *at = memchr(stem.p, '@', stem.n);
    struct span number = stem;

    if (at)
        return span_of(stem.p, (size_t)(at - stem.p) + 1);
    if (scan_literal(&number, SPAN_LITERAL("run-")) && is_run_number(number))
        return span_of(stem.p, stem.n - number.n);
    return cut_random_end(stem);
}

/* Behind `dbus-`, dbus-broker has the name of its own connection, `:1.2-`, which is skipped. */
static struct span skip_connection(struct span s)
{
    struct span rest = s;

    if (scan_literal(&rest, SPAN_LITERAL(":")) && take_digits(&rest) &&
        scan_literal(&rest, SPAN_LITERAL(".")) && take_digits(&rest) &&
        scan_literal(&rest, SPAN_LITERAL("-")))
        return rest;
    return s;
}

/* podman runs its health checks in services named by the container's id: those are no service's. */
static bool is_health_check(struct span stem)
{
    return stem.n >= ID_DIGITS && is_hex(span_of(stem.p, ID_DIGITS)) &&
           (stem.n == ID_DIGITS || stem.p[ID_DIGITS] == '-');
}

static size_t put(char *to, size_t at, struct span s)
{
    if (s.n)
        memcpy(to + at, s.p, s.n);
    return at + s.n;
}

static void identify_service(struct span name, struct span stem, struct cgroup_identity *ret)
{
    struct span tail = lasting_part(stem);
    struct span head = span_of(tail.p, 0);
    size_t n;

    if (is_health_check(stem))
        return;
    if (span_starts_with(tail, SPAN_LITERAL("dbus-"))) {
        head.n = sizeof("dbus-") - 1;
        tail = skip_connection(span_skip(tail, head.n));
    }
    if (head.n + tail.n == stem.n) {
        ret->service = name;
        return;
    }
    n = put(ret->service_text, 0, head);
    n = put(ret->service_text, n, tail);
    n = put(ret->service_text, n, SPAN_LITERAL(".service"));
    ret->service = span_of(ret->service_text, n);
}

/* Numbers of users inside a container mean nothing outside. */
static void identify_session(uint32_t uid, struct cgroup_identity *ret)
{
    if (ret->container.n > 0)
        return;
    ret->has_session = true;
    ret->session_uid = uid;
}

static void identify_slice(struct span name, struct span stem, struct walk *w,
                           struct cgroup_identity *ret)
{
    uint32_t uid;

    ret->slice = name;
    if (scan_literal(&stem, SPAN_LITERAL("user-")) && parse_uid(stem, &uid)) {
        w->has_slice_uid = true;
        w->slice_uid = uid;
    }
}

static void identify_unit(struct walk *w, struct cgroup_identity *ret)
{
    struct span name = w->name, stem, instance;
    uint32_t uid;

    /* systemd puts one before names that the kernel could take for its own files. */
    (void)scan_literal(&name, SPAN_LITERAL("_"));
    if (!is_unit_name(name))
        return;
    stem = name;
    if (take_end(&stem, SPAN_LITERAL(".slice"))) {
        identify_slice(name, stem, w, ret);
        return;
    }
    if (take_end(&stem, SPAN_LITERAL(".service"))) {
        instance = stem;
        /* The manager of a user is no service of the host. */
        if (scan_literal(&instance, SPAN_LITERAL("user@")) && parse_uid(instance, &uid))
            identify_session(uid, ret);
        else
            identify_service(name, stem, ret);
    } else if (take_end(&stem, SPAN_LITERAL(".scope"))) {
        if (span_starts_with(stem, SPAN_LITERAL("session-")) && w->has_slice_uid)
            identify_session(w->slice_uid, ret);
    } else if (!take_end(&stem, SPAN_LITERAL(".socket")) &&
               !take_end(&stem, SPAN_LITERAL(".mount")) &&
               !take_end(&stem, SPAN_LITERAL(".swap"))) {
        return;
    }
    ret->unit = name;
}

/* ---- the whole ---- */

struct span cgroup_path(struct span path)
{
    (void)take_end(&path, SPAN_LITERAL(" (deleted)"));
    return path;
}

void cgroup_identify(struct span path, struct cgroup_identity *ret)
{
    struct walk w = {.rest = cgroup_path(path)};

    *ret = (struct cgroup_identity){.path = w.rest};
    while (take_name(&w.rest, &w.name)) {
        identify_container(&w, ret);
        identify_pod(&w, ret);
        identify_unit(&w, ret);
        w.before = w.name;
    }
}
