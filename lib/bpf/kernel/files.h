#pragma once
/* files - how many descriptors a process has open, by the kernel's bits of those that are. */
#include "bpf/kernel/types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

enum {
    WORD_BITS = 8 * sizeof(unsigned long),
    /* Of larger tables the size of /proc/PID/fd tells, or its entries do. */
    FILES_WORDS_MAX = 128,
    FILES_WORDS_AT_ONCE = 4,
};

/*
 * Without a branch: the verifiers of 5.10 and 6.1 follow both sides of each, of every word.
 * Returns how many bits are set in so many words, 4 at most.
 */
static __always_inline __u32 count_words(const unsigned long *open, __u32 words)
{
    unsigned long bits[FILES_WORDS_AT_ONCE] = {};
    __u32 n = 0;

    bpf_probe_read_kernel(bits, words * sizeof(*bits), open);
    for (int i = 0; i < FILES_WORDS_AT_ONCE; i++)
        n += (__u32)__builtin_popcountl(bits[i]);
    return n;
}

/* Where the bits are, unless they were counted already; nothing, of a process without any. */
struct open_files {
    const unsigned long *bits;
    __u32 words;
    __u32 counted;
};

/* A table that never had to grow is within the structure, and so are its bits. */
static __always_inline struct open_files open_files_of(const struct files_struct *files)
{
    const struct fdtable *table = files->fdt;

    if (table == &files->fdtab)
        return (struct open_files){.counted = (__u32)__builtin_popcountl(files->open_fds_init[0])};
    return (struct open_files){.bits = table->open_fds, .words = table->max_fds / WORD_BITS};
}

/* Of tables with fewer words than are read at once: 1 or 2. */
static __always_inline __u32 count_few(const struct open_files *open)
{
    return open->words == 2   ? count_words(open->bits, 2)
           : open->words == 1 ? count_words(open->bits, 1)
                              : open->counted;
}

static __always_inline __u32 count_many(const struct open_files *open)
{
    __u32 n = 0;

    for (__u32 word = 0; word < FILES_WORDS_MAX; word += FILES_WORDS_AT_ONCE) {
        if (word >= open->words)
            break;
        n += count_words(open->bits + word, FILES_WORDS_AT_ONCE);
    }
    return n;
}

/* Returns whether the table is small enough to count: 1 word, 2, or a multiple of 4. */
static __always_inline bool count_files(const struct open_files *open, __u32 *ret)
{
    __u32 words = open->words;

    if (words > FILES_WORDS_MAX || (words > 2 && words % FILES_WORDS_AT_ONCE))
        return false;
    *ret = words < FILES_WORDS_AT_ONCE ? count_few(open) : count_many(open);
    return true;
}
