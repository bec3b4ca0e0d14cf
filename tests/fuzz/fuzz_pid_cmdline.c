/* fuzz_pid_cmdline - cmdline. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_cmdline)
