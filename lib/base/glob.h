#pragma once
/*
 * glob - shell patterns over bytes: `*` any run, `?` any one byte, `[a-z]` `[!a-z]` sets, `\`
 * takes the next byte as it is. The whole subject must match; `/` and a leading dot are ordinary.
 *
 * Time is at most pattern times subject: no pattern makes it explode, unlike fnmatch(3).
 */
#include "base/span.h"

#include <stdbool.h>

bool glob_match(struct span pattern, struct span subject);

enum glob_outcome {
    GLOB_E_UNFINISHED = 1, /* a set is not closed, or the last byte is a single `\` */
    GLOB_E_REVERSED,       /* a set has a range such as z-a, which nothing is in */
};

/* 0 if the pattern is well formed, or the first thing that is wrong with it: an enum glob_outcome.
 */
int glob_check(struct span pattern);
