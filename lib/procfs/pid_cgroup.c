/*
 * pid_cgroup - one path out of the lines of all hierarchies.
 *
 * Names of control groups may hold colons and anything else but a line feed, so a line is split at
 * its first two colons only.
 *
 * A dozen lines take longer to look through than all other files of a process, and most processes
 * are where the one before was: kernel threads, workers, all of a service or a container. So the
 * last text is kept, and a text that is the same has the same path.
 */
#include "procfs/pid_cgroup.h"

#include "base/scan.h"

/* How good a hierarchy is to tell who somebody is; the lower the better. */
enum pid_cgroup_rank {
    PID_CGROUP_SYSTEMD,
    PID_CGROUP_UNIFIED,
    PID_CGROUP_OTHER,
    PID_CGROUP_ROOTS, /* added for a path that is the root: these come behind all others */
};

/* Takes all up to the first colon, and the colon. */
static bool pid_cgroup_column(struct span *rest, struct span *ret)
{
    const char *colon = rest->n > 0 ? memchr(rest->p, ':', rest->n) : NULL;

    if (!colon)
        return false;
    *ret = span_of(rest->p, (size_t)(colon - rest->p));
    *rest = span_skip(*rest, ret->n + 1);
    return true;
}

bool pid_cgroup_is_root(struct span path)
{
    while (scan_literal(&path, SPAN_LITERAL("/..")))
        ;
    return path.n == 0 || span_equal(path, SPAN_LITERAL("/"));
}

/* False if the line is not as the kernel writes it. */
static bool pid_cgroup_line(struct span line, unsigned *ret_rank, struct span *ret_path)
{
    struct span number, controllers;
    uint64_t id;

    if (!pid_cgroup_column(&line, &number) || !pid_cgroup_column(&line, &controllers) ||
        scan_whole_u64(number, &id) < 0)
        return false;
    *ret_rank = PID_CGROUP_OTHER;
    if (span_equal(controllers, SPAN_LITERAL("name=systemd")))
        *ret_rank = PID_CGROUP_SYSTEMD;
    else if (id == 0 && controllers.n == 0)
        *ret_rank = PID_CGROUP_UNIFIED;
    if (pid_cgroup_is_root(line))
        *ret_rank += PID_CGROUP_ROOTS;
    *ret_path = line;
    return true;
}

int pid_cgroup_parse(struct span text, struct span *ret_path)
{
    unsigned rank, best = UINT32_MAX;
    struct span line, path;

    if (text.n == 0)
        return PID_CGROUP_NONE;
    while (scan_line(&text, &line))
        if (pid_cgroup_line(line, &rank, &path) && rank < best) {
            best = rank;
            *ret_path = path;
        }
    return best == UINT32_MAX ? -EBADMSG : 0;
}

bool pid_cgroup_is_unified(struct span text)
{
    static const struct span unified = SPAN_LITERAL("0::");
    struct span line;
    size_t lines = 0;

    while (scan_line(&text, &line)) {
        if (line.n < unified.n || memcmp(line.p, unified.p, unified.n) != 0)
            return false;
        lines++;
    }
    return lines == 1;
}

static void pid_cgroup_keep(struct procfs_cgroup *last, struct span text, struct span path)
{
    last->n = text.n <= sizeof(last->text) ? text.n : 0;
    memcpy(last->text, text.p, last->n);
    last->path_at = (size_t)(path.p - text.p);
    last->path_n = path.n;
}

int pid_cgroup_read(struct procfs *fs, int dir, struct span *ret_path)
{
    struct procfs_cgroup *last = &fs->cgroup;
    struct span text;
    int r;

    r = procfs_read(fs, dir, "cgroup", PROCFS_RECORD, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    if (text.n == last->n && text.n > 0 && memcmp(text.p, last->text, text.n) == 0) {
        *ret_path = span_of(text.p + last->path_at, last->path_n);
        return 0;
    }
    r = pid_cgroup_parse(text, ret_path);
    if (r == 0)
        pid_cgroup_keep(last, text, *ret_path);
    return r;
}
