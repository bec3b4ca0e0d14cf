#pragma once
/* exit_reason - how a process ended, in few words. */
#include "group/group_values.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * By its status as wait(2) gives it. Of signals, those whose default action is a core dump
 * (signal(7)) are a crash, whether one was written or not; SIGKILL is `killed`, or `oom` if the
 * kernel chose the process because memory was short; any other is `terminated`.
 */
enum exit_reason exit_reason_of(uint32_t status, bool oom_victim);
