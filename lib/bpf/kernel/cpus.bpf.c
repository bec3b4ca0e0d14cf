/*
 * cpus - where the kernel keeps what each CPU has of its own.
 *
 * Run once, from 6.2 on: how far a value of a CPU is from the address that stands for it on all of
 * them, learnt from a map of which both are known.
 */
#include "bpf/kernel/memory.h"
#include "bpf/kernel/types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} anchor SEC(".maps");

/* The pointer as a number: the kernel does not let one calculate with what it knows to be one. */
static __always_inline __u64 address_of(const void *p)
{
    __u64 address = 0;

    bpf_probe_read_kernel(&address, sizeof(address), &p);
    return address;
}

/* Returns how many CPUs were learnt. */
SEC("syscall")
int learn_cpus(void *ctx)
{
    __u64 array = address_of(&anchor), base = 0;
    __u32 key = 0, n = 0;

    (void)ctx;
    bpf_probe_read_kernel(&base, sizeof(base),
                          (const void *)(array + bpf_core_field_offset(struct bpf_array, pptrs)));
    for (__u32 cpu = 0; cpu < CPUS_MAX; cpu++) {
        const void *value;

        if (cpu >= n_cpus)
            break;
        value = bpf_map_lookup_percpu_elem(&anchor, &key, cpu);
        if (!value)
            return 0;
        cpu_offsets[cpu] = address_of(value) - base;
        n++;
    }
    return (int)n;
}
