/*
 * pid_stat - one line of blank-separated fields behind a name that may hold anything.
 *
 * Fields are taken one after the other; those nobody wants are skipped unread, since some of
 * them are negative or near 2^64 by right (tty, nice, rsslim). A record that ends early is
 * refused as a whole: its last number may be cut, and a cut start time would be another
 * identity.
 */
#include "procfs/pid_stat.h"

#include "base/scan.h"
#include "base/ticks.h"

#include <errno.h>

enum { PF_EXITING = 0x00000004, PF_KTHREAD = 0x00200000 };

/* Takes the comm and leaves *rest behind its last parenthesis. */
static bool pid_stat_take_comm(struct span *rest, struct span *ret)
{
    const char *first, *last;

    if (rest->n == 0)
        return false;
    first = memchr(rest->p, '(', rest->n);
    last = memrchr(rest->p, ')', rest->n);
    if (!first || !last || last < first)
        return false;
    *ret = span_of(first + 1, (size_t)(last - first - 1));
    *rest = span_skip(*rest, (size_t)(last + 1 - rest->p));
    return true;
}

static bool pid_stat_is_end(struct span rest)
{
    return rest.n == 0 || *rest.p == ' ' || *rest.p == '\n';
}

/* Takes the next field; empty when the record has no more. */
static struct span pid_stat_next(struct span *rest)
{
    size_t blank = rest->n > 0 && *rest->p == ' ', n = blank;
    struct span word;

    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\n')
        n++;
    word = span_of(rest->p + blank, n - blank);
    *rest = span_skip(*rest, n);
    return word;
}

static void pid_stat_skip(struct span *rest, int fields)
{
    while (fields-- > 0)
        (void)pid_stat_next(rest);
}

/* Takes the next field. False, and 0 stored, if it is no number or 2^63 or more. */
static bool pid_stat_take_u64(struct span *rest, uint64_t *ret)
{
    struct span field;

    *ret = 0;
    if (rest->n < 2 || rest->p[1] == ' ')
        return false;
    field = span_skip(*rest, 1);
    if (scan_u64(&field, ret) == 0 && pid_stat_is_end(field) && *ret <= INT64_MAX) {
        *rest = field;
        return true;
    }
    *ret = 0;
    pid_stat_skip(rest, 1);
    return false;
}

static void pid_stat_set(struct pid_stat *s, enum pid_stat_field field, bool good, uint64_t value)
{
    if (!good) {
        s->malformed = true;
        return;
    }
    s->field[field] = value;
    s->have |= UINT32_C(1) << field;
}

static void pid_stat_take(struct pid_stat *s, struct span *rest, enum pid_stat_field field)
{
    uint64_t value = 0;
    bool good = pid_stat_take_u64(rest, &value);

    pid_stat_set(s, field, good, value);
}

static void pid_stat_take_ticks(struct pid_stat *s, struct span *rest, enum pid_stat_field field,
                                uint32_t ticks_per_second)
{
    uint64_t ticks = 0, ns = 0;
    bool good = pid_stat_take_u64(rest, &ticks) && ticks_to_ns(ticks, ticks_per_second, &ns);

    pid_stat_set(s, field, good, ns);
}

int pid_stat_parse(struct span text, uint32_t ticks_per_second, struct pid_stat *ret)
{
    struct pid_stat s;
    struct span rest = text, word;
    uint64_t number = 0;

    s.have = 0;
    s.malformed = false;
    if (!pid_stat_take_comm(&rest, &s.comm)) /* (2) comm */
        return -EBADMSG;
    word = pid_stat_next(&rest); /* (3) state */
    if (word.n != 1)
        return -EBADMSG;
    s.state = *word.p;
    if (!pid_stat_take_u64(&rest, &number) || number > INT32_MAX) /* (4) ppid */
        return -EBADMSG;
    s.parent_pid = (uint32_t)number;
    pid_stat_skip(&rest, 4);                /* (5) pgrp to (8) tpgid */
    if (!pid_stat_take_u64(&rest, &number)) /* (9) flags */
        number = 0;
    s.kernel_thread = number & PF_KTHREAD;
    s.exiting = number & PF_EXITING;
    pid_stat_take(&s, &rest, PID_STAT_MINOR_FAULTS);                      /* (10) minflt */
    pid_stat_skip(&rest, 1);                                              /* (11) cminflt */
    pid_stat_take(&s, &rest, PID_STAT_MAJOR_FAULTS);                      /* (12) majflt */
    pid_stat_skip(&rest, 1);                                              /* (13) cmajflt */
    pid_stat_take_ticks(&s, &rest, PID_STAT_USER_NS, ticks_per_second);   /* (14) utime */
    pid_stat_take_ticks(&s, &rest, PID_STAT_SYSTEM_NS, ticks_per_second); /* (15) stime */
    pid_stat_skip(&rest, 4);                       /* (16) cutime to (19) nice */
    pid_stat_take(&s, &rest, PID_STAT_THREADS);    /* (20) num_threads */
    pid_stat_skip(&rest, 1);                       /* (21) itrealvalue */
    if (!pid_stat_take_u64(&rest, &s.start_ticks)) /* (22) starttime */
        return -EBADMSG;
    pid_stat_take(&s, &rest, PID_STAT_VIRTUAL_BYTES); /* (23) vsize */
    if (pid_stat_next(&rest).n == 0)                  /* (24) rss */
        return -EBADMSG;
    *ret = s;
    return 0;
}

int pid_stat_read(struct procfs *fs, int dir, struct pid_stat *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "stat", PROCFS_RECORD, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    if (text.n == 0)
        return -ESRCH;
    return pid_stat_parse(text, fs->ticks_per_second, ret);
}
