/*
 * pid_smaps - Pss and SwapPss of smaps_rollup.
 *
 * Later kernels added Pss_Dirty, Pss_Anon and others: a key is taken with its colon or not at
 * all.
 */
#include "procfs/pid_smaps.h"

#include "procfs/keyed.h"

static const struct keyed_row pid_smaps_rows[PID_SMAPS_FIELD_N] = {
    [PID_SMAPS_PSS_BYTES] = KEYED_ROW("Pss:", 0, 1024),
    [PID_SMAPS_SWAP_PSS_BYTES] = KEYED_ROW("SwapPss:", 0, 1024),
};

void pid_smaps_parse(struct span text, struct pid_smaps *ret)
{
    struct keyed found = keyed_parse(text, pid_smaps_rows, PID_SMAPS_FIELD_N, ret->field);

    ret->have = found.have;
    ret->malformed = found.malformed;
}

int pid_smaps_read(struct procfs *fs, int dir, struct pid_smaps *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "smaps_rollup", PROCFS_WHOLE, PROCFS_FILE_MAX, &text);
    if (r < 0)
        return r;
    pid_smaps_parse(text, ret);
    return 0;
}
