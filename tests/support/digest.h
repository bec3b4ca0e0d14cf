#pragma once
/*
 * digest - every parser as a function from a text to bytes that say all it found.
 *
 * So all can be held to the same: the answer depends on the text alone. Read buffers are reused
 * and never cleared, so what lies behind a text is the end of an older one; digest_compare()
 * gives the same text with different bytes behind it. The unit test test_stale.c and the fuzz
 * targets both work on these.
 */
#include "base/buf.h"
#include "base/glob.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "procfs/loadavg.h"
#include "procfs/pid_cgroup.h"
#include "procfs/pid_cmdline.h"
#include "procfs/pid_io.h"
#include "procfs/pid_limits.h"
#include "procfs/pid_maps.h"
#include "procfs/pid_smaps.h"
#include "procfs/pid_stat.h"
#include "procfs/pid_status.h"
#include "procfs/sys_stat.h"
#include "procfs/sysctl.h"
#include "procfs/tid_schedstat.h"
#include "procfs/tid_status.h"

#include <stdlib.h>

typedef void digest_function(struct span text, struct buf *to);

/* Plain bytes: printing would cost most of a fuzz target's time. */
static inline void digest_number(struct buf *to, uint64_t number)
{
    buf_append(to, (const char *)&number, sizeof(number));
}

static inline void digest_span(struct buf *to, struct span s)
{
    digest_number(to, s.n);
    buf_append_span(to, s);
}

static inline void digest_fields(struct buf *to, uint32_t have, const uint64_t *field, size_t n)
{
    digest_number(to, have);
    for (size_t i = 0; i < n; i++)
        if (have >> i & 1)
            digest_number(to, field[i]);
}

static inline void digest_pid_stat(struct span text, struct buf *to)
{
    struct pid_stat s;
    int r = pid_stat_parse(text, 100, &s);

    digest_number(to, (uint64_t)r);
    if (r < 0)
        return;
    digest_span(to, s.comm);
    digest_number(to, (unsigned char)s.state);
    digest_number(to, s.parent_pid);
    digest_number(to, s.kernel_thread);
    digest_number(to, s.exiting);
    digest_number(to, s.start_ticks);
    digest_number(to, s.malformed);
    digest_fields(to, s.have, s.field, PID_STAT_FIELD_N);
}

static inline void digest_pid_status(struct span text, struct buf *to)
{
    struct pid_status s;

    pid_status_parse(text, true, &s);
    digest_number(to, s.malformed);
    digest_fields(to, s.have, s.field, PID_STATUS_FIELD_N);
}

static inline void digest_tid_status(struct span text, struct buf *to)
{
    struct tid_status s;

    tid_status_parse(text, &s);
    digest_number(to, s.malformed);
    digest_fields(to, s.have, s.field, TID_STATUS_FIELD_N);
}

static inline void digest_tid_schedstat(struct span text, struct buf *to)
{
    uint64_t run_queue_ns = 0;

    digest_number(to, (uint64_t)tid_schedstat_parse(text, &run_queue_ns));
    digest_number(to, run_queue_ns);
}

static inline void digest_pid_io(struct span text, struct buf *to)
{
    struct pid_io s;

    pid_io_parse(text, &s);
    digest_number(to, s.malformed);
    digest_fields(to, s.have, s.field, PID_IO_FIELD_N);
}

static inline void digest_pid_smaps(struct span text, struct buf *to)
{
    struct pid_smaps s;

    pid_smaps_parse(text, &s);
    digest_number(to, s.malformed);
    digest_fields(to, s.have, s.field, PID_SMAPS_FIELD_N);
}

static inline void digest_pid_limits(struct span text, struct buf *to)
{
    uint64_t limit = 0;

    digest_number(to, (uint64_t)pid_limits_parse(text, &limit));
    digest_number(to, limit);
}

static inline void digest_pid_cgroup(struct span text, struct buf *to)
{
    struct span path = {0};

    digest_number(to, (uint64_t)pid_cgroup_parse(text, &path));
    digest_span(to, path);
}

static inline void digest_pid_cmdline(struct span text, struct buf *to)
{
    struct cmdline all = pid_cmdline_parse(text), rest = all;
    struct span argument;

    while (pid_cmdline_next(&rest, &argument))
        digest_span(to, argument);
    digest_span(to, pid_cmdline_program(all));
    if (all.text.n > 0 && buf_reserve(to, all.text.n)) {
        pid_cmdline_join(all, to->data + to->len);
        buf_commit(to, all.text.n);
    }
}

static inline void digest_pid_maps(struct span text, struct buf *to)
{
    struct pid_maps_count count = {0};
    struct mapping m;
    int r;

    pid_maps_count_feed(&count, text);
    digest_number(to, pid_maps_count_finish(&count));
    while ((r = pid_maps_next(&text, &m)) != PID_MAPS_END) {
        digest_number(to, (uint64_t)r);
        if (r < 0)
            continue;
        digest_number(to, m.start);
        digest_number(to, m.end);
        digest_span(to, span_of(m.perms, sizeof(m.perms)));
        digest_number(to, m.offset);
        digest_number(to, m.device_major);
        digest_number(to, m.device_minor);
        digest_number(to, m.inode);
        digest_span(to, m.path);
    }
}

static inline void digest_loadavg(struct span text, struct buf *to)
{
    uint64_t tasks = 0;

    digest_number(to, (uint64_t)loadavg_parse(text, &tasks));
    digest_number(to, tasks);
}

static inline void digest_sysctl(struct span text, struct buf *to)
{
    uint64_t one = 0, open_files = 0, limit = 0;

    digest_number(to, (uint64_t)sysctl_parse(text, &one));
    digest_number(to, (uint64_t)sysctl_parse_file_nr(text, &open_files, &limit));
    digest_number(to, one);
    digest_number(to, open_files);
    digest_number(to, limit);
}

/* Where the text is cut: a list of lengths less one, used over and over; empty is one piece. */
struct digest_cuts {
    const unsigned char *lengths;
    size_t n;
};

static inline void digest_cpu(struct buf *to, const struct cpu_times *t)
{
    digest_number(to, t->columns);
    for (uint32_t i = 0; i < t->columns; i++)
        digest_number(to, t->ns[i]);
}

static inline void digest_sys_stat_cut(struct span text, struct digest_cuts cuts, struct buf *to)
{
    struct host host = {0};
    struct sys_stat s;
    struct buf rows;

    buf_init(&rows, 1 << 20);
    sys_stat_init(&s, 100, &host, &rows);
    for (size_t i = 0; text.n > 0; i++) {
        size_t n = cuts.n ? (size_t)cuts.lengths[i % cuts.n] + 1 : text.n;

        n = n < text.n ? n : text.n;
        sys_stat_feed(&s, span_of(text.p, n));
        text = span_skip(text, n);
    }
    digest_number(to, (uint64_t)sys_stat_finish(&s));
    digest_fields(to, host.have, host.field, HOST_FIELD_N);
    digest_cpu(to, &host.cpu);
    digest_number(to, host.cpus_online);
    digest_number(to, host.softirqs);
    for (uint32_t i = 0; i < host.softirqs; i++)
        digest_number(to, host.softirq[i]);
    for (size_t i = 0; i < host.n_cpus; i++) {
        digest_number(to, host.cpus[i].cpu);
        digest_cpu(to, &host.cpus[i].times);
    }
    buf_deinit(&rows);
}

static inline void digest_sys_stat(struct span text, struct buf *to)
{
    digest_sys_stat_cut(text, (struct digest_cuts){NULL, 0}, to);
}

static inline void digest_utf8(struct span text, struct buf *to)
{
    char label[UTF8_LABEL_MAX];
    size_t n = utf8_label(label, text);

    for (struct span rest = span_of(label, n); rest.n > 0;) {
        size_t one = utf8_character(rest);

        if (one == 0)
            abort(); /* not valid after all */
        rest = span_skip(rest, one);
    }
    buf_append(to, label, n);
}

/* The pattern is what stands before the first line feed. */
static inline void digest_glob(struct span text, struct buf *to)
{
    struct span pattern;

    if (!scan_line(&text, &pattern))
        return;
    digest_number(to, glob_match(pattern, text));
    digest_number(to, (uint64_t)glob_check(pattern));
}

/* The digest of text with `room` bytes of `fill` behind it in the same memory. */
static inline void digest_with_behind(digest_function *digest, struct span text, const char *fill,
                                      size_t room, struct buf *to)
{
    size_t fill_n = strlen(fill);
    char *p = malloc(text.n + room ? text.n + room : 1);

    if (!p)
        abort();
    if (text.n)
        memcpy(p, text.p, text.n);
    for (size_t i = 0; i < room; i++)
        p[text.n + i] = fill_n ? fill[i % fill_n] : '\0';
    buf_reset(to);
    digest(span_of(p, text.n), to);
    free(p);
}

/*
 * Whether the answer is the same whatever lies behind the text: nothing at all (where a
 * sanitizer watches), zeros, 0xaa, digits, and what looks like more of the same.
 */
static inline bool digest_is_of_text_alone(digest_function *digest, struct span text)
{
    static const char *const fills[] = {"", "\xaa", "7", "0a", " ", "\n", "/lib/x kB\n12: 34"};
    struct buf alone, other;
    bool same = true;

    buf_init(&alone, 64 << 20);
    buf_init(&other, 64 << 20);
    digest_with_behind(digest, text, "", 0, &alone);
    for (size_t i = 0; i < sizeof(fills) / sizeof(*fills); i++) {
        digest_with_behind(digest, text, fills[i], 64, &other);
        same = same && span_equal(buf_span(&alone), buf_span(&other));
    }
    buf_deinit(&alone);
    buf_deinit(&other);
    return same;
}
