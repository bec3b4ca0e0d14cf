#pragma once
/* usage - sums over tasks. They stop at their largest value and do not wrap. */
#include "bpf/record.h"

void task_usage_add(struct task_usage *sum, const struct task_usage *more);
void task_own_add(struct task_own *sum, const struct task_own *more);
