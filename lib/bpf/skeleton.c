/* skeleton - the programs as they are built into the daemon. */
#include "bpf/skeleton.h"

#include "bpf/proctally_casts.skel.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Both builds have the same programs, maps and variables, and so one skeleton. */
static_assert(sizeof(struct proctally_bpf) == sizeof(struct proctally_casts_bpf),
              "the builds differ");

#define SAME_PLACE(section, variable)                                            \
    static_assert(offsetof(struct proctally_bpf__##section, variable) ==         \
                      offsetof(struct proctally_casts_bpf__##section, variable), \
                  "the builds differ")

SAME_PLACE(rodata, namespaced);
SAME_PLACE(rodata, n_cpus);
SAME_PLACE(bss, lost_ends);

static void take_bytes(struct bpf_object_skeleton *s, enum skeleton_build build)
{
    if (build == SKELETON_CASTS)
        s->data = proctally_casts_bpf__elf_bytes(&s->data_sz);
}

struct proctally_bpf *skeleton_open(enum skeleton_build build)
{
    struct proctally_bpf *ret = calloc(1, sizeof(*ret));
    int r;

    if (!ret)
        return NULL;
    r = proctally_bpf__create_skeleton(ret);
    if (r == 0) {
        take_bytes(ret->skeleton, build);
        r = bpf_object__open_skeleton(ret->skeleton, NULL);
    }
    if (r == 0)
        return ret;
    proctally_bpf__destroy(ret);
    errno = -r;
    return NULL;
}
