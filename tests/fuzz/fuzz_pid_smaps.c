/* fuzz_pid_smaps - smaps_rollup. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_smaps)
