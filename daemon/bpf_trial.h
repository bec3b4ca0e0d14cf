#pragma once
/*
 * bpf_trial - whether a source of the kernel's programs tells the truth where that is known.
 *
 * Whether programs load says little: they find their way by what the kernel says of its structures,
 * and a walk that goes astray reads something all the same.
 */
#include "base/buf.h"
#include "model/sample.h"
#include "procfs/procfs.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_source;

/*
 * Makes a child that ends, whose end must be told with its status, and compares what a walk tells
 * of the calling process with what its procfs does. Before there is a second thread; takes some
 * milliseconds, 2 s where an end is not told, and 4 s where none is. Ends told by then are
 * forgotten. Returns 0, or a negative errno with what was wrong appended to `what`: -EPROTO if the
 * source is.
 */
int bpf_trial(struct bpf_source *source, struct procfs *fs, struct buf *what);

/*
 * Whether both samples are of one process: the same start, and resident memory that differs by
 * `slack_bytes` at most, unless the walk does not know it. Appends what differs.
 */
bool bpf_trial_agrees(const struct sample *walked, const struct sample *read, uint64_t slack_bytes,
                      struct buf *what);
