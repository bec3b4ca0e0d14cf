/* kernel_traits - what kernels differ in. */
#include "bpf/kernel_traits.h"

#include <bpf/btf.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdint.h>

static bool has(const struct btf *kernel, const char *name, uint32_t kind)
{
    return btf__find_by_name_kind(kernel, name, kind) >= 0;
}

int kernel_traits(struct kernel_traits *ret)
{
    /* btf__load_vmlinux_btf() does not tell why it fails. */
    struct btf *kernel = btf__parse("/sys/kernel/btf/vmlinux", NULL);

    if (!kernel)
        return -errno;
    /* Before 6.2 a counter of memory is one number. */
    ret->memory_in_parts = !has(kernel, "mm_rss_stat", BTF_KIND_STRUCT);
    ret->casts = has(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC);
    btf__free(kernel);
    return 0;
}
