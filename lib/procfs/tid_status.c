/* tid_status - the last keys of status. */
#include "procfs/tid_status.h"

#include "procfs/keyed.h"

static const struct keyed_row tid_status_rows[TID_STATUS_FIELD_N] = {
    [TID_STATUS_VOLUNTARY_SWITCHES] = KEYED_ROW("voluntary_ctxt_switches:", 0, 1),
    [TID_STATUS_INVOLUNTARY_SWITCHES] = KEYED_ROW("nonvoluntary_ctxt_switches:", 0, 1),
};

void tid_status_parse(struct span text, struct tid_status *ret)
{
    struct keyed found = keyed_parse(text, tid_status_rows, TID_STATUS_FIELD_N, ret->field);

    ret->have = found.have;
    ret->malformed = found.malformed;
}

int tid_status_read(struct procfs *fs, int dir, struct tid_status *ret)
{
    struct span text;
    int r;

    r = procfs_read(fs, dir, "status", PROCFS_RECORD, PROCFS_TEXT_MAX, &text);
    if (r < 0)
        return r;
    tid_status_parse(text, ret);
    return 0;
}
