/* probe - the files of a process whose reading may take long. */
#include "procfs/probe.h"

#include "procfs/pid_cmdline.h"
#include "procfs/pid_exe.h"
#include "procfs/pid_maps.h"
#include "procfs/pid_smaps.h"

#include <errno.h>

_Static_assert((int)PROBE_EXE_MAX >= (int)PID_EXE_MAX, "exe has its room");
_Static_assert((int)PROBE_CMDLINE_MAX >= (int)PID_CMDLINE_MAX, "cmdline has its room");

void probe_texts_reset(struct probe_texts *t)
{
    memset(t, 0, offsetof(struct probe_texts, bytes));
}

void probe_texts_copy(struct probe_texts *to, const struct probe_texts *from)
{
    memcpy(to, from, offsetof(struct probe_texts, bytes) + from->used);
}

/* Room for n bytes; there is enough for one text of each part. */
static struct probe_text probe_texts_take(struct probe_texts *t, size_t n)
{
    struct probe_text text = {.at = t->used, .n = (uint32_t)n};

    t->used += text.n;
    return text;
}

uint32_t probe_stand_in(enum part part, int error)
{
    return part == PART_EXE && (error == -EACCES || error == -EPERM) ? part_bit(PART_CMDLINE) : 0;
}

static int probe_read_exe(struct procfs *fs, int dir, struct probe_texts *t)
{
    struct span exe = span_of(NULL, 0);
    int r = pid_exe_read(fs, dir, &exe);

    t->exe_refused = probe_stand_in(PART_EXE, r) != 0;
    /* Only stat tells who is gone: this one runs no program. */
    if (r < 0 && r != -ENOENT)
        return r;
    t->exe = probe_texts_take(t, exe.n);
    if (exe.n > 0)
        memcpy(t->bytes + t->exe.at, exe.p, exe.n);
    t->have |= part_bit(PART_EXE);
    return 0;
}

static int probe_read_cmdline(struct procfs *fs, int dir, struct probe_texts *t)
{
    struct cmdline cmdline;
    struct span program;
    int r = pid_cmdline_read(fs, dir, &cmdline);

    if (r < 0)
        return r;
    t->cmdline = probe_texts_take(t, cmdline.text.n);
    pid_cmdline_join(cmdline, t->bytes + t->cmdline.at);
    program = pid_cmdline_program(cmdline);
    t->program = (struct probe_text){.at = t->cmdline.at, .n = (uint32_t)program.n};
    if (program.n > 0)
        t->program.at += (uint32_t)(program.p - cmdline.text.p);
    t->have |= part_bit(PART_CMDLINE);
    return 0;
}

static int probe_read_maps(struct procfs *fs, int dir, struct sample *s)
{
    uint64_t count;
    int r = pid_maps_count_read(fs, dir, &count);

    if (r == 0)
        sample_set_gauge(s, GAUGE_MAPPINGS, count);
    return r;
}

static int probe_read_smaps(struct procfs *fs, int dir, struct sample *s)
{
    struct pid_smaps smaps;
    int r = pid_smaps_read(fs, dir, &smaps);

    if (r < 0)
        return r;
    if (pid_smaps_has(&smaps, PID_SMAPS_PSS_BYTES))
        sample_set_gauge(s, GAUGE_PROPORTIONAL_BYTES, smaps.field[PID_SMAPS_PSS_BYTES]);
    return smaps.malformed ? -EBADMSG : 0;
}

int probe_read(struct procfs *fs, int dir, enum part part, struct sample *s, struct probe_texts *t)
{
    switch (part) {
    case PART_EXE:
        return probe_read_exe(fs, dir, t);
    case PART_CMDLINE:
        return probe_read_cmdline(fs, dir, t);
    case PART_MAPS:
        return probe_read_maps(fs, dir, s);
    default:
        return probe_read_smaps(fs, dir, s);
    }
}

enum fault_file probe_fault_file(enum part part)
{
    switch (part) {
    case PART_EXE:
        return FAULT_EXE;
    case PART_CMDLINE:
        return FAULT_CMDLINE;
    case PART_MAPS:
        return FAULT_MAPS;
    default:
        return FAULT_SMAPS_ROLLUP;
    }
}
