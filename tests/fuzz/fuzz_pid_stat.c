/* fuzz_pid_stat - stat of a process. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_stat)
