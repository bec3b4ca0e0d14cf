#pragma once
/* skeleton - the programs as they are built into the daemon, which is done for two kinds of
 * kernels. */
#include "bpf/proctally.skel.h"

enum skeleton_build {
    SKELETON_PLAIN,
    SKELETON_CASTS, /* for kernels that let programs cast addresses */
};

/*
 * The programs of a build, opened and not loaded: proctally_bpf__destroy() ends it. NULL with errno
 * set on failure.
 */
struct proctally_bpf *skeleton_open(enum skeleton_build build);
