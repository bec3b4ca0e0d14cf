#pragma once
/*
 * heap - the allocators, counted, and refused when told to.
 *
 * For a test linked with --wrap=malloc,--wrap=realloc; included once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static size_t heap_calls;
/* So many more calls are answered, and none after them. */
static size_t heap_allows = SIZE_MAX;

static inline bool heap_refuses(void)
{
    heap_calls++;
    if (heap_allows == SIZE_MAX)
        return false;
    if (heap_allows == 0)
        return true;
    heap_allows--;
    return false;
}

#define HEAP_WRAP(name, parameters, arguments)                  \
    void *__real_##name parameters;                             \
    void *__wrap_##name parameters;                             \
    void *__wrap_##name parameters                              \
    {                                                           \
        return heap_refuses() ? NULL : __real_##name arguments; \
    }

HEAP_WRAP(malloc, (size_t n), (n))
HEAP_WRAP(realloc, (void *p, size_t n), (p, n))
