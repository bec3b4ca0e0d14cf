#pragma once
/*
 * fifty_rules - fifty rules as people write them, of which twenty have an expression.
 *
 * Expressions are held against every process that no rule before took, so that the command lines of
 * all of those are read. The last rule takes everybody.
 */
#include "group/rule.h"

#include <stdbool.h>

enum {
    GLOB_RULES = 30,
    REGEX_RULES = 20,
};

/* `compiled`: with PCRE2's machine code where that can be had, else without. */
void fifty_rules(struct rules *rules, bool compiled);
