#pragma once
/* ring - how records of what happens come to the reader: in order, or counted as lost. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

enum {
    RING_BYTES = 512 * 1024,
    /* The reader is woken when so much waits, and comes by itself before. */
    RING_WAKE_BYTES = RING_BYTES / 4,
};

typedef struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} ring_t;

extern ring_t ring SEC(".maps");

static __always_inline __u64 wake(void)
{
    return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > RING_WAKE_BYTES ? BPF_RB_FORCE_WAKEUP
                                                                         : BPF_RB_NO_WAKEUP;
}

/* Returns 0, or a negative number: there was no room. */
static __always_inline long ring_add(const void *record, __u64 size)
{
    return bpf_ringbuf_output(&ring, (void *)record, size, wake());
}
