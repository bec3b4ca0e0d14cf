#pragma once
/* kernel_traits - what kernels differ in, as far as it decides how the programs are loaded. */
#include <stdbool.h>

struct kernel_traits {
    bool memory_in_parts; /* counters of memory have a part on each CPU: from 6.2 on */
    bool casts;           /* programs may cast addresses: from 6.2 on, unless built without a JIT */
};

/*
 * Of the running kernel, by its own description (BTF). Returns 0, -ENOMEM, or another negative
 * errno if there is none.
 */
int kernel_traits(struct kernel_traits *ret);
