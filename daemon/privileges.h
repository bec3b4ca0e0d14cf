#pragma once
/*
 * privileges - what it takes to load programs into the kernel, and no longer than that. The only
 * user of libcap.
 *
 * Capabilities are a thread's own, and a new thread begins with those of its maker. So they are
 * given up before there is a second one.
 */
#include <stdbool.h>

/* Whether the calling thread has CAP_BPF and CAP_PERFMON in effect, or CAP_SYS_ADMIN for both. */
bool privileges_to_load(void);

/*
 * Takes CAP_BPF and CAP_PERFMON from the calling thread for good, from its ambient and inheritable
 * capabilities and, where it may, from those it could get by executing something; others stay. One
 * that `walks` keeps CAP_BPF on kernels before 5.19, where no walk begins without it. Returns 0, or
 * a negative errno: it still has them.
 */
int privileges_drop(bool walks);

/* Whether beginning a walk takes CAP_BPF, by the kernel's release as uname(2) tells it. */
bool privileges_walks_take_bpf(const char *release);
