#pragma once
/*
 * memory - what an address space occupies.
 *
 * Up to 6.1 each counter is one number. From 6.2 on it has a part on each CPU, and the number alone
 * is short by what those hold; where they are, `cpu_offsets` says.
 */
#include "bpf/kernel/cast.h"
#include "bpf/kernel/types.h"
#include "bpf/record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

/* On more CPUs the counters are not known here: adding up would take longer than reading text. */
enum { CPUS_MAX = 1024 };

extern const volatile __u32 n_cpus; /* set before loading: possible ones; 0: not to be added up */
extern __u64 cpu_offsets[CPUS_MAX];

/*
 * Without a branch: kernels before 6.2 follow all that comes after once for each of its outcomes,
 * and the four counters' together are more than a program may have.
 */
static __always_inline __s64 not_below_0(__s64 n)
{
    __s64 sign = n >> 63;

    /* The compiler would make it a branch again. */
    asm volatile("" : "+r"(sign));
    return n & ~sign;
}

static __always_inline bool counters_before_6_2(const struct mm_struct *mm, __s64 ret[MM_COUNTERS])
{
    const struct mm_struct___before_6_2 *old = (const void *)mm;
    const char *counts = (const char *)old + bpf_core_field_offset(old->rss_stat.count);

    bpf_probe_read_kernel(ret, MM_COUNTERS * sizeof(*ret), counts);
    return true;
}

/* The four parts of a CPU, where they stand side by side. */
static __always_inline void read_parts(const char *at, __s32 ret[MM_COUNTERS])
{
#ifdef KERNEL_CASTS
    /* Any structure of two whole numbers: a load for each two parts. The least comes first. */
    const struct rlimit *two = CAST(struct rlimit, at);
    __u64 low = two->rlim_cur, high = two->rlim_max;

    ret[0] = (__s32)low;
    ret[1] = (__s32)(low >> 32);
    ret[2] = (__s32)high;
    ret[3] = (__s32)(high >> 32);
#else
    bpf_probe_read_kernel(ret, MM_COUNTERS * sizeof(*ret), at);
#endif
}

/* The parts of one address space stand side by side since 6.6; before, each counter has its own. */
static __always_inline bool add_parts(const __s32 *const parts[MM_COUNTERS],
                                      __s64 sums[MM_COUNTERS])
{
    bool side_by_side =
        parts[1] == parts[0] + 1 && parts[2] == parts[0] + 2 && parts[3] == parts[0] + 3;

    for (__u32 cpu = 0; cpu < CPUS_MAX; cpu++) {
        __s32 part[MM_COUNTERS] = {};
        __u64 offset;

        if (cpu >= n_cpus)
            break;
        offset = cpu_offsets[cpu];
        if (side_by_side) {
            read_parts((const char *)parts[0] + offset, part);
        } else {
            for (int i = 0; i < MM_COUNTERS; i++)
                bpf_probe_read_kernel(&part[i], sizeof(part[i]), (const char *)parts[i] + offset);
        }
        for (int i = 0; i < MM_COUNTERS; i++)
            sums[i] += part[i];
    }
    return true;
}

/* Subscripts are written out: how large an element is, the kernel says when the code is loaded. */
#define TAKE_COUNTER(mm, which, counts, parts)       \
    do {                                             \
        counts[which] = mm->rss_stat[which].count;   \
        parts[which] = mm->rss_stat[which].counters; \
    } while (0)

static __always_inline bool counters_from_6_2(const struct mm_struct *mm, __s64 ret[MM_COUNTERS])
{
    const __s32 *parts[MM_COUNTERS];

    if (n_cpus == 0)
        return false;
    TAKE_COUNTER(mm, MM_FILE, ret, parts);
    TAKE_COUNTER(mm, MM_ANON, ret, parts);
    TAKE_COUNTER(mm, MM_SWAP, ret, parts);
    TAKE_COUNTER(mm, MM_SHMEM, ret, parts);
    return add_parts(parts, ret);
}

/* Returns whether the counters could be read whole. */
static __always_inline bool take_counters(const struct mm_struct *mm, struct process_record *ret)
{
    const struct mm_struct___before_6_2 *old = (const void *)mm;
    __u64 resident;

    /*
     * Not whether there is a struct mm_rss_stat: what the kernel itself does not have, libbpf looks
     * for in its modules, which takes CAP_SYS_ADMIN.
     */
    if (!(bpf_core_field_exists(old->rss_stat.count) ? counters_before_6_2(mm, ret->counters)
                                                     : counters_from_6_2(mm, ret->counters)))
        return false;
    for (int i = 0; i < MM_COUNTERS; i++)
        ret->counters[i] = not_below_0(ret->counters[i]);
    /* The kernel notes the peak only before it falls. */
    resident = ret->file_pages + ret->anon_pages + ret->shmem_pages;
    ret->peak_pages = mm->hiwater_rss > resident ? mm->hiwater_rss : resident;
    return true;
}
