#pragma once
/*
 * probe - the files of a process whose reading may take long, or for ever.
 *
 * The kernel writes maps and smaps_rollup under the target's memory lock, and takes cmdline out of
 * its memory, so a process in the midst of a large change of its memory, or one that holds the lock
 * while its own storage hangs, makes the reader wait. No other reader of this library opens them:
 * who reads them must be able to wait, and holds a directory of its own, such as a duplicate of
 * process_memory_dir(). The link exe is read here since whoever wants the one wants the other.
 */
#include "model/faults.h"
#include "model/sample.h"
#include "procfs/procfs.h"

/* The parts that are read here and nowhere else: masks of 1 << enum part. */
static inline uint32_t probe_gauge_parts(void)
{
    return part_bit(PART_MAPS) | part_bit(PART_SMAPS);
}

static inline uint32_t probe_text_parts(void)
{
    return part_bit(PART_EXE) | part_bit(PART_CMDLINE);
}

static inline uint32_t probe_parts(void)
{
    return probe_gauge_parts() | probe_text_parts();
}

enum {
    PROBE_EXE_MAX = 4096, /* as pid_exe.h and pid_cmdline.h have them */
    PROBE_CMDLINE_MAX = 16 * 1024,
};

/* A piece of the bytes of probe_texts. */
struct probe_text {
    uint32_t at;
    uint32_t n;
};

/*
 * The texts read of one process, raw. A text that was read may be empty: a kernel thread and a
 * zombie have neither, and a process may have cleared its arguments.
 */
struct probe_texts {
    uint32_t have;             /* 1 << enum part that was read */
    bool exe_refused;          /* for want of a right: `program` stands in for it */
    struct probe_text exe;     /* path, without the mark " (deleted)" */
    struct probe_text cmdline; /* arguments joined by one blank, cut at PROBE_CMDLINE_MAX */
    struct probe_text program; /* of cmdline: what the first argument says is run */
    uint32_t used;             /* of the bytes */
    char bytes[PROBE_EXE_MAX + PROBE_CMDLINE_MAX];
};

/* Forgets all texts; the bytes stay and mean nothing. */
void probe_texts_reset(struct probe_texts *t);

/* Copies the texts and no byte that is not used. */
void probe_texts_copy(struct probe_texts *to, const struct probe_texts *from);

static inline struct span probe_text_span(const struct probe_texts *t, struct probe_text text)
{
    return span_of(t->bytes + text.at, text.n);
}

/*
 * Reads one of these parts in `dir`, gauges into s and texts into t, and sets the bits of what it
 * found; of fs only the memory is used. A part of t is read once after its reset. Returns 0 or as
 * the readers of procfs.h do: -EBADMSG leaves out what was malformed and no more.
 */
int probe_read(struct procfs *fs, int dir, enum part part, struct sample *s, struct probe_texts *t);

/*
 * The part to be read too, for want of this one that ended so, a mask of one or none: one that
 * comes later in their order. Where the link exe is refused, the first argument says what is run.
 */
uint32_t probe_stand_in(enum part part, int error);

/* The file that holds a part of these, as faults are counted. */
enum fault_file probe_fault_file(enum part part);
