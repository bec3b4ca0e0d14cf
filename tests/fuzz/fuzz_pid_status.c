/* fuzz_pid_status - status. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_status)
