#pragma once
/*
 * keyed - files made of lines `Key: number`, such as status, io and smaps_rollup.
 *
 * A table names the wanted keys; all other lines are skipped, whatever they hold.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyed_row {
    struct span key; /* with its colon; matched whole, at the start of a line */
    uint32_t skip;   /* how many words stand before the wanted number */
    uint32_t unit;   /* what the number is multiplied with: 1024 for kB */
    uint64_t mark;   /* of the key, see below */
};

/*
 * A key's place in a set of 64, by its first and third byte (the second is an m in all of status's
 * Vm keys). Two keys may share a place, that only costs a look at the table.
 */
#define KEYED_MARK(key) \
    (UINT64_C(1) << (((unsigned char)(key)[0] + 5 * (unsigned char)(key)[2]) & 63))

/* A row of a table; the key is a literal. */
#define KEYED_ROW(key, skip, unit)                     \
    {                                                  \
        SPAN_LITERAL(key), skip, unit, KEYED_MARK(key) \
    }

struct keyed {
    uint32_t have;  /* 1 << index of the row */
    bool malformed; /* a wanted key's value is no number, or 2^63 or more; it was left out */
};

/*
 * Stores the value of each row that the text has into ret_values. Of a key that comes twice the
 * first counts, good or bad. At most 32 rows, of keys of three bytes or more. Values of rows that
 * are not had stay untouched.
 */
struct keyed keyed_parse(struct span text, const struct keyed_row *rows, size_t n,
                         uint64_t *ret_values);
