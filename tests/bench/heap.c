/* heap - the C library's allocator behind a counter. */
#include "heap.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

void *memalign(size_t alignment, size_t size);

static _Thread_local uint64_t calls;

uint64_t heap_calls(void)
{
    return calls;
}

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    calls++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    calls++;
    return __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    calls++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);

    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

void free(void *p)
{
    calls++;
    __libc_free(p);
}
