/* fuzz_pid_limits - limits. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_limits)
