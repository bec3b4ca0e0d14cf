/*
 * sys_stat - a push tokenizer.
 *
 * The state is where in a line the text stopped, and what of that line is needed later: the key
 * while it is read, then the number at hand and those before it. Lines of one number are done
 * with the first; the rest of intr, and every unknown line, is passed over by memchr(3).
 *
 * A line takes effect as a whole or not at all, so that a row with a bad number shows nothing.
 */
#include "procfs/sys_stat.h"

#include "base/cleanup.h"
#include "base/scan.h"
#include "base/ticks.h"

#include <errno.h>
#include <fcntl.h>

enum {
    SYS_STAT_PIECE = 16 * 1024,
    SYS_STAT_CPU_NUMBER_MAX = 65535,
};

/* What a line is: a field of the host (its enum value), or one of these. */
enum {
    LINE_CPU = HOST_FIELD_N,
    LINE_SOFTIRQ,
    LINE_CPU_ROW,
    LINE_UNWANTED,
};

void sys_stat_init(struct sys_stat *s, uint32_t ticks_per_second, struct host *host,
                   struct buf *rows)
{
    const uint32_t second = 1000000000;

    *s = (struct sys_stat){.ticks_per_second = ticks_per_second, .host = host, .rows = rows};
    /* Found out once: a machine has thousands of numbers to convert. */
    if (second % ticks_per_second == 0)
        s->tick_ns = second / ticks_per_second;
    if (rows)
        buf_reset(rows);
}

/* Takes the number of `cpu12`; no sign, no zero in front. */
static bool sys_stat_cpu_number(struct span digits, uint32_t *ret)
{
    uint32_t number = 0;

    if (digits.n == 0 || digits.n > 5 || (digits.n > 1 && *digits.p == '0'))
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(digits.p[i] - '0');
    }
    *ret = number;
    return number <= SYS_STAT_CPU_NUMBER_MAX;
}

static uint32_t sys_stat_line_of(struct sys_stat *s, struct span key)
{
    static const struct {
        struct span key;
        uint32_t line;
    } lines[] = {
        {SPAN_LITERAL("cpu"), LINE_CPU},
        {SPAN_LITERAL("intr"), HOST_INTERRUPTS},
        {SPAN_LITERAL("ctxt"), HOST_CONTEXT_SWITCHES},
        {SPAN_LITERAL("btime"), HOST_BOOT_TIME_SECONDS},
        {SPAN_LITERAL("processes"), HOST_TASKS_CREATED},
        {SPAN_LITERAL("procs_running"), HOST_PROCESSES_RUNNING},
        {SPAN_LITERAL("procs_blocked"), HOST_PROCESSES_BLOCKED},
        {SPAN_LITERAL("softirq"), LINE_SOFTIRQ},
    };

    if (key.n > 3 && span_starts_with(key, SPAN_LITERAL("cpu")))
        return s->rows && sys_stat_cpu_number(span_skip(key, 3), &s->cpu) ? LINE_CPU_ROW
                                                                          : LINE_UNWANTED;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (span_equal(key, lines[i].key))
            return lines[i].line;
    return LINE_UNWANTED;
}

static uint32_t sys_stat_columns(uint32_t line)
{
    if (line < HOST_FIELD_N)
        return 1;
    return line == LINE_SOFTIRQ ? SOFTIRQ_N + 1 : CPU_MODE_N;
}

static void sys_stat_begin_numbers(struct sys_stat *s)
{
    s->at = SYS_STAT_AT_NUMBERS;
    s->columns = sys_stat_columns(s->line);
    s->column = 0;
    s->digits = 0;
    s->value = 0;
}

/*
 * Decides by its key what a line is and whether it is wanted. Of one longer than SYS_STAT_KEY_MAX
 * the front is enough.
 */
static void sys_stat_begin_line(struct sys_stat *s, struct span key)
{
    s->line = key.n <= SYS_STAT_KEY_MAX ? sys_stat_line_of(s, key) : LINE_UNWANTED;
    s->at = SYS_STAT_AT_REST;
    s->cpus += key.n > 3 && memcmp(key.p, "cpu", 3) == 0;
    if (s->line == LINE_UNWANTED)
        return;
    if (s->line < LINE_CPU_ROW) {
        if (s->seen >> s->line & 1)
            return;
        s->seen |= UINT32_C(1) << s->line;
    }
    sys_stat_begin_numbers(s);
}

/* Gives the line at hand up for a bad number. */
static void sys_stat_spoil_line(struct sys_stat *s)
{
    s->malformed = true;
    s->at = SYS_STAT_AT_REST;
}

static inline bool sys_stat_time(const struct sys_stat *s, uint64_t ticks, uint64_t *ret)
{
    if (s->tick_ns == 0)
        return ticks_to_ns(ticks, s->ticks_per_second, ret);
    return !__builtin_mul_overflow(ticks, s->tick_ns, ret) && *ret <= INT64_MAX;
}

static bool sys_stat_times(const struct sys_stat *s, struct cpu_times *ret)
{
    for (uint32_t i = 0; i < s->column; i++)
        if (!sys_stat_time(s, s->numbers[i], &ret->ns[i]))
            return false;
    ret->columns = s->column;
    return true;
}

/*
 * Puts a row in its place by number, first come first kept. The kernel prints them rising, so
 * the place is the end, but nothing depends on it.
 */
static void sys_stat_add_row(struct buf *rows, const struct cpu_row *row)
{
    size_t low = 0, n = rows->len / sizeof(*row), high = n;
    struct cpu_row *array;

    if (!buf_reserve(rows, sizeof(*row)))
        return;
    array = (void *)rows->data;
    if (n > 0 && array[n - 1].cpu < row->cpu)
        low = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (array[middle].cpu < row->cpu)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < n && array[low].cpu == row->cpu)
        return;
    memmove(array + low + 1, array + low, (n - low) * sizeof(*array));
    array[low] = *row;
    buf_commit(rows, sizeof(*row));
}

static void sys_stat_take_softirqs(struct sys_stat *s)
{
    /* The first number is their sum. */
    s->host->softirqs = s->column - 1;
    for (uint32_t i = 1; i < s->column; i++)
        s->host->softirq[i - 1] = s->numbers[i];
}

/* Gives a line its effect; false if it has no number, or one that does not fit. */
static bool sys_stat_store(struct sys_stat *s)
{
    struct cpu_row row = {.cpu = s->cpu};

    if (s->column == 0)
        return false;
    if (s->line < HOST_FIELD_N)
        host_set(s->host, (enum host_field)s->line, s->numbers[0]);
    else if (s->line == LINE_SOFTIRQ)
        sys_stat_take_softirqs(s);
    else if (!sys_stat_times(s, &row.times))
        return false;
    else if (s->line == LINE_CPU)
        s->host->cpu = row.times;
    else
        sys_stat_add_row(s->rows, &row);
    return true;
}

/* A wanted line is complete, or all of it that is wanted. */
static void sys_stat_take_line(struct sys_stat *s)
{
    s->at = SYS_STAT_AT_REST;
    if (!sys_stat_store(s))
        sys_stat_spoil_line(s);
}

static void sys_stat_next_line(struct sys_stat *s)
{
    s->at = SYS_STAT_AT_KEY;
    s->key_len = 0;
}

/* Whether a piece begins with the key of a CPU's row: of a hundred lines eighty do. */
static bool sys_stat_is_row(const struct sys_stat *s, struct span piece)
{
    return s->key_len == 0 && piece.n > 3 && memcmp(piece.p, "cpu", 3) == 0 && piece.p[3] > ' ';
}

/* Counts this row and those behind it, and passes them over. */
static struct span sys_stat_pass_rows(struct sys_stat *s, struct span piece)
{
    do {
        size_t lf = scan_newline(piece);

        s->cpus++;
        if (lf == piece.n) {
            s->at = SYS_STAT_AT_REST;
            return span_skip(piece, lf);
        }
        piece = span_skip(piece, lf + 1);
    } while (sys_stat_is_row(s, piece));
    return piece;
}

/*
 * Goes from the key of a CPU's row to what of it is wanted, if all of the key is in the piece. Of
 * one that is cut, or is none after all, nothing is taken: false.
 */
static bool sys_stat_take_row_key(struct sys_stat *s, struct span *piece)
{
    size_t n = 4;

    if (!s->rows) {
        *piece = sys_stat_pass_rows(s, *piece);
        return true;
    }
    while (n < piece->n && n < SYS_STAT_KEY_MAX && piece->p[n] > ' ')
        n++;
    if (n == piece->n || piece->p[n] != ' ' ||
        !sys_stat_cpu_number(span_of(piece->p + 3, n - 3), &s->cpu))
        return false;
    s->cpus++;
    s->line = LINE_CPU_ROW;
    sys_stat_begin_numbers(s);
    *piece = span_skip(*piece, n + 1);
    return true;
}

/* Each of these takes what it can off the piece, at least one byte, or goes over to the next. */

/* Keeps the front of a key that the pieces cut; its length counts on to one more than fits. */
static void sys_stat_keep_key(struct sys_stat *s, struct span part)
{
    size_t n = SYS_STAT_KEY_MAX - s->key_len;

    if (s->key_len > SYS_STAT_KEY_MAX)
        return;
    memcpy(s->key + s->key_len, part.p, part.n < n ? part.n : n);
    s->key_len += (uint32_t)(part.n <= n ? part.n : n + 1);
}

static struct span sys_stat_feed_key(struct sys_stat *s, struct span piece)
{
    struct span key;
    size_t n = 0;
    char c;

    if (sys_stat_is_row(s, piece) && sys_stat_take_row_key(s, &piece))
        return piece;
    while (n < piece.n && piece.p[n] != ' ' && piece.p[n] != '\n')
        n++;
    key = span_of(piece.p, n);
    if (s->key_len > 0 || n == piece.n) {
        sys_stat_keep_key(s, key);
        if (n == piece.n)
            return span_skip(piece, n);
        key = span_of(s->key, s->key_len);
    }
    c = piece.p[n];
    piece = span_skip(piece, n + 1);
    sys_stat_begin_line(s, key);
    if (c == '\n') {
        if (s->at == SYS_STAT_AT_NUMBERS)
            sys_stat_take_line(s);
        sys_stat_next_line(s);
    }
    return piece;
}

/* The number at hand has one more digit; false if it would reach 2^63. */
static inline bool sys_stat_add_digit(uint64_t *value, unsigned digit)
{
    /* The exact bound costs a division, so it is asked near it only. */
    if (*value >= INT64_MAX / 10 && *value > (INT64_MAX - (uint64_t)digit) / 10)
        return false;
    *value = *value * 10 + digit;
    return true;
}

/*
 * Takes what stands behind a number. Columns that later kernels add are passed over. What spoils
 * the line, such as a digit too many, is left in place: false.
 */
static bool sys_stat_take_separator(struct sys_stat *s, char c)
{
    if (c != ' ' && c != '\n') {
        sys_stat_spoil_line(s);
        return false;
    }
    if (s->digits > 0) {
        s->numbers[s->column++] = s->value;
        s->digits = 0;
        s->value = 0;
    }
    if (c == '\n' || s->column == s->columns)
        sys_stat_take_line(s);
    if (c == '\n')
        sys_stat_next_line(s);
    return true;
}

enum { SYS_STAT_AT_ONCE = 16 };

/* The front of a number, sixteen digits of it at most, which never overflow. */
static inline size_t sys_stat_digits(const char p[static SYS_STAT_AT_ONCE], uint64_t *ret)
{
    static const uint32_t powers[9] = {1,      10,      100,      1000,     10000,
                                       100000, 1000000, 10000000, 100000000};
    size_t n = scan_eight(p, ret);
    uint64_t low = 0;
    unsigned more;

    if (n < 8)
        return n;
    more = scan_eight(p + 8, &low);
    *ret = *ret * powers[more] + low;
    return n + more;
}

/*
 * A number that is whole, of ordinary size and has a blank behind it, as nearly all have. Returns
 * its length, 0 if it is not so.
 */
static inline size_t sys_stat_number(const char p[static SYS_STAT_AT_ONCE + 1], uint64_t *ret)
{
    size_t n;

    /* Half of them; and where the next one begins does not wait for the value of this. */
    if (p[1] == ' ') {
        *ret = (unsigned char)(*p - '0');
        return *ret <= 9;
    }
    n = sys_stat_digits(p, ret);
    return n < SYS_STAT_AT_ONCE && p[n] == ' ' ? n : 0;
}

/* Takes such numbers, as many as there are. What remains of the line is for others. */
static struct span sys_stat_feed_columns(struct sys_stat *s, struct span piece)
{
    uint32_t column = s->column;
    size_t n;

    while (column < s->columns && piece.n > SYS_STAT_AT_ONCE &&
           (n = sys_stat_number(piece.p, &s->numbers[column])) > 0) {
        piece = span_skip(piece, n + 1);
        column++;
    }
    s->column = column;
    if (column == s->columns)
        sys_stat_take_line(s);
    return piece;
}

/* Most bytes are digits, so the number at hand stays in variables until it ends. */
static struct span sys_stat_feed_numbers(struct sys_stat *s, struct span piece)
{
    if (s->digits == 0)
        piece = sys_stat_feed_columns(s, piece);
    while (s->at == SYS_STAT_AT_NUMBERS && piece.n > 0) {
        uint64_t value = s->value;
        unsigned digit;
        size_t i = 0;

        if (s->digits == 0 && piece.n >= SYS_STAT_AT_ONCE)
            i = sys_stat_digits(piece.p, &value);
        while (i < piece.n && (digit = (unsigned char)(piece.p[i] - '0')) <= 9 &&
               sys_stat_add_digit(&value, digit))
            i++;
        s->value = value;
        s->digits += (uint32_t)i;
        piece = span_skip(piece, i);
        if (piece.n > 0 && sys_stat_take_separator(s, *piece.p))
            piece = span_skip(piece, 1);
    }
    return piece;
}

static struct span sys_stat_feed_rest(struct sys_stat *s, struct span piece)
{
    const char *lf = memchr(piece.p, '\n', piece.n);

    if (!lf)
        return span_skip(piece, piece.n);
    sys_stat_next_line(s);
    return span_skip(piece, (size_t)(lf + 1 - piece.p));
}

void sys_stat_feed(struct sys_stat *s, struct span piece)
{
    while (piece.n > 0) {
        switch (s->at) {
        case SYS_STAT_AT_KEY:
            piece = sys_stat_feed_key(s, piece);
            break;
        case SYS_STAT_AT_NUMBERS:
            piece = sys_stat_feed_numbers(s, piece);
            break;
        case SYS_STAT_AT_REST:
            piece = sys_stat_feed_rest(s, piece);
            break;
        }
    }
}

int sys_stat_finish(struct sys_stat *s)
{
    if (s->at != SYS_STAT_AT_KEY || s->key_len > 0)
        sys_stat_feed(s, SPAN_LITERAL("\n"));
    s->host->cpus_online = s->cpus;
    if (s->rows) {
        if (buf_failed(s->rows))
            return -ENOMEM;
        s->host->cpus = (const void *)s->rows->data;
        s->host->n_cpus = s->rows->len / sizeof(struct cpu_row);
    }
    return s->malformed ? SYS_STAT_MALFORMED : 0;
}

int sys_stat_read(struct procfs *fs, struct host *host, struct buf *rows)
{
    cleanup_close int fd = openat(fs->root, "stat", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char piece[SYS_STAT_PIECE];
    struct sys_stat s;
    ssize_t n;

    if (fd < 0)
        return -errno;
    sys_stat_init(&s, fs->ticks_per_second, host, rows);
    while ((n = procfs_read_some(fd, piece, sizeof(piece))) > 0)
        sys_stat_feed(&s, span_of(piece, (size_t)n));
    if (n < 0)
        return (int)n;
    return sys_stat_finish(&s);
}
