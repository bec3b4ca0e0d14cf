#pragma once
/*
 * heap - counts heap calls.
 *
 * A program that links heap.c has its malloc, calloc, realloc, aligned allocations and free
 * counted, those made by the C library included.
 */
#include <stdint.h>

/* Calls of this thread so far. */
uint64_t heap_calls(void);
