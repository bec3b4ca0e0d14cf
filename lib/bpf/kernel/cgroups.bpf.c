/*
 * cgroups - one record for each control group of version 2 that is made.
 *
 * Whoever lives in it for less than a cycle was never seen there, and its end tells the control
 * group's number alone, whose path may be gone by then.
 */
#include "bpf/kernel/ring.h"
#include "bpf/kernel/types.h"
#include "bpf/record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(note_cgroup, struct cgroup *cgroup, const char *path)
{
    struct cgroup_record record = {.head.kind = RECORD_CGROUP};
    long n;

    /* The hierarchy of version 2 is the one with number 0. */
    if (cgroup->root->hierarchy_id != 0)
        return 0;
    record.id = cgroup->kn->id;
    n = bpf_probe_read_kernel_str(record.path, sizeof(record.path), path);
    /* A path that was cut is another's. */
    if (n <= 1 || n >= (long)sizeof(record.path))
        return 0;
    /* One that is not told is read as text by and by. */
    (void)ring_add(&record, sizeof(record) - sizeof(record.path) + (__u64)n);
    return 0;
}
