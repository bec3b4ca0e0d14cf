#pragma once
/*
 * sys_stat - /proc/stat, taken as a stream.
 *
 * The file has a row per CPU and a line of all interrupts, which is 322 KB on large machines. So
 * it is pushed through a small fixed state in pieces of any size; no line is ever kept, and
 * however the text is cut into pieces, the result is the same.
 *
 *     sys_stat_init(&s, ticks_per_second, &host, NULL);
 *     while (there is more)
 *         sys_stat_feed(&s, piece);
 *     r = sys_stat_finish(&s);
 */
#include "base/buf.h"
#include "model/host.h"
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

/* Outcomes other than 0 and errors. */
enum {
    SYS_STAT_MALFORMED = 1, /* a wanted number is none, or 2^63 or more; its field was left out */
};

enum { SYS_STAT_KEY_MAX = 16 };

enum sys_stat_at {
    SYS_STAT_AT_KEY,     /* in the first word of a line */
    SYS_STAT_AT_NUMBERS, /* in the numbers of a wanted line */
    SYS_STAT_AT_REST,    /* in what nobody wants, up to the line's end */
};

/* All members are private. */
struct sys_stat {
    uint32_t ticks_per_second;
    uint64_t tick_ns; /* length of a tick; 0 if it is no whole number */
    struct host *host;
    struct buf *rows;
    enum sys_stat_at at;
    char key[SYS_STAT_KEY_MAX];
    uint32_t key_len;                 /* SYS_STAT_KEY_MAX + 1: longer than any wanted key */
    uint32_t line;                    /* what the line is, see sys_stat.c */
    uint32_t cpu;                     /* the number in the name of a per-CPU row */
    uint32_t cpus;                    /* rows met whose key goes on behind `cpu` */
    uint32_t columns;                 /* how many numbers of the line are wanted */
    uint32_t column;                  /* how many of them were taken */
    uint32_t digits;                  /* of the number at hand */
    uint64_t value;                   /* so far */
    uint64_t numbers[CPU_MODE_N + 1]; /* of the line at hand */
    uint32_t seen;                    /* lines met before: of two alike the first counts */
    bool malformed;
};

/*
 * Starts a text. Results go into *host, which the caller has zeroed: the fields of /proc/stat,
 * `cpu`, the softirqs and, if `rows` is not NULL, the per-CPU rows. Those are held in `rows`,
 * emptied here, as struct cpu_row; host->cpus points into it. *host and *rows outlive *s.
 */
void sys_stat_init(struct sys_stat *s, uint32_t ticks_per_second, struct host *host,
                   struct buf *rows);

void sys_stat_feed(struct sys_stat *s, struct span piece);

/*
 * Ends the text; a last line without its line feed counts as a line. Fields that the text lacks
 * have no bit. A row with one bad number is left out whole. Returns 0, SYS_STAT_MALFORMED, or
 * -ENOMEM if the rows did not fit.
 */
int sys_stat_finish(struct sys_stat *s);

/*
 * Reads `stat` of the root through a fixed piece of memory. `rows` as above. Returns as
 * sys_stat_finish() does, or a negative errno of opening or reading; *host may be filled in
 * part then.
 */
int sys_stat_read(struct procfs *fs, struct host *host, struct buf *rows);
