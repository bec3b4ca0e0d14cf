#pragma once
/* A rule by comm alone, for tests that are about other things. */
#include "group/rule.h"

/* As rules_add(): the globs are those of comm. */
static inline int rules_add_comm(struct rules *r, struct span name, const struct span *comm,
                                 size_t n, struct span *ret_wrong)
{
    struct rule_spec text = {.name = name, .patterns[RULE_COMM] = {comm, n}};
    struct rule_fault fault = {0};
    int error = rules_add(r, &text, &fault);

    *ret_wrong = fault.part;
    return error;
}
