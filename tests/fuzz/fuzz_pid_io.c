/* fuzz_pid_io - io. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_io)
