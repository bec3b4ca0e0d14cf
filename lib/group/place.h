#pragma once
/*
 * place - what is known of a process, by the names that conditions and templates call it.
 *
 * A kernel thread has no exe and no cmdline, and in the root of the control groups, where nearly
 * all of them are, it is nobody's: it has no cgroup there either.
 */
#include "base/span.h"
#include "group/subject.h"

#include <stdint.h>

enum place {
    PLACE_COMM,
    PLACE_EXE, /* the last component of the path */
    PLACE_EXE_PATH,
    PLACE_USER,
    PLACE_UNIT,
    PLACE_SLICE,
    PLACE_CONTAINER,
    PLACE_POD,
    PLACE_CGROUP,
    PLACE_NAMED_N, /* those below have no name */
    PLACE_CONTAINER_ID = PLACE_NAMED_N,
    PLACE_CMDLINE,
    PLACE_N,
};

enum place_state {
    PLACE_NONE,     /* it is not to be had */
    PLACE_EXPECTED, /* it is not known yet */
    PLACE_KNOWN,    /* and not empty */
};

/* The place of this name; PLACE_N: none. */
enum place place_from_name(struct span name);
const char *place_name(enum place place);

/* The subject_bit() that the place needs; 0: none, it is always known. */
uint32_t place_needs(enum place place);

/* *ret is set when the state is PLACE_KNOWN. */
enum place_state place_value(enum place place, const struct subject *s, struct span *ret);
