/*
 * keyed - `Key: number` lines looked up in a small table.
 *
 * This is most of what parsing costs, so: of status four lines in five are told by two of their
 * bytes; a key whose colon is not where the row's would be is not compared; and once every row
 * was found the rest is left unread.
 */
#include "procfs/keyed.h"

#include "base/scan.h"

/* No wanted key is shorter. */
enum { KEYED_SHORTEST = 3 };

static uint64_t keyed_marks(const struct keyed_row *rows, size_t n)
{
    uint64_t marks = 0;

    for (size_t i = 0; i < n; i++)
        marks |= rows[i].mark;
    return marks;
}

static bool keyed_is(struct span line, struct span key)
{
    return line.n >= key.n && line.p[key.n - 1] == ':' && memcmp(line.p, key.p, key.n) == 0;
}

/* The row of a line, or n. The kernel's order is the table's, so `next` is the best guess. */
static size_t keyed_find(struct span line, const struct keyed_row *rows, size_t n, size_t next)
{
    if (next < n && keyed_is(line, rows[next].key))
        return next;
    for (size_t i = 0; i < n; i++)
        if (keyed_is(line, rows[i].key))
            return i;
    return n;
}

/* The number ends with its word: "12x" is none. */
static bool keyed_value(struct span rest, const struct keyed_row *row, uint64_t *ret)
{
    uint64_t value;

    for (uint32_t i = 0; i < row->skip; i++)
        (void)scan_word(&rest);
    if (scan_u64(&rest, &value) < 0 || (rest.n > 0 && *rest.p != ' ' && *rest.p != '\t'))
        return false;
    if (__builtin_mul_overflow(value, (uint64_t)row->unit, &value) || value > INT64_MAX)
        return false;
    *ret = value;
    return true;
}

struct keyed keyed_parse(struct span text, const struct keyed_row *rows, size_t n,
                         uint64_t *ret_values)
{
    const uint32_t all = (uint32_t)((UINT64_C(1) << n) - 1);
    const uint64_t marks = keyed_marks(rows, n);
    struct keyed found = {0};
    uint32_t seen = 0;
    struct span line;
    size_t row = 0;

    while (seen != all && scan_line(&text, &line)) {
        if (line.n < KEYED_SHORTEST || !(marks & KEYED_MARK(line.p)))
            continue;
        row = keyed_find(line, rows, n, row);
        if (row == n || seen >> row & 1)
            continue;
        seen |= UINT32_C(1) << row;
        if (keyed_value(span_skip(line, rows[row].key.n), &rows[row], &ret_values[row]))
            found.have |= UINT32_C(1) << row;
        else
            found.malformed = true;
        row++;
    }
    return found;
}
