#pragma once
/*
 * cast - an address read as if a structure of the kernel's were there.
 *
 * Without a call, and so for a tenth of what bpf_probe_read_kernel() takes; what is not there reads
 * as 0. The kernel has bpf_rdonly_cast() since 6.2. Of one that has not, libbpf would look for it
 * in modules, which takes CAP_SYS_ADMIN; so whoever uses this is built twice: kernels that can cast
 * get what was built with KERNEL_CASTS, and the others the calls.
 */
#include "bpf/kernel/types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#ifdef KERNEL_CASTS

extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym;

#define CAST(type, address)          ((const type *)bpf_rdonly_cast(address, bpf_core_type_id_kernel(type)))
#define READ_FIELD(structure, field) ((structure)->field)

#else

#define CAST(type, address)          ((const type *)(address))
#define READ_FIELD(structure, field) BPF_CORE_READ(structure, field)

#endif
