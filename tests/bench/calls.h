#pragma once
/*
 * calls - counts the system calls by which /proc is read.
 *
 * A program that links calls.c with --wrap of the functions below has the calls of all its parts
 * counted, so two pieces can be shown to make the same ones. Those that the C library makes inside
 * are not seen.
 */
#include <stdint.h>

enum call {
    CALL_OPENAT,
    CALL_READ,
    CALL_CLOSE,
    CALL_FSTATAT,
    CALL_GETDENTS64,
    CALL_LSEEK,
    CALL_N,
};

struct calls {
    uint64_t made[CALL_N];
    uint64_t bytes; /* given by reads */
};

/* Of the whole program so far. */
extern struct calls calls;

const char *call_name(enum call call);
