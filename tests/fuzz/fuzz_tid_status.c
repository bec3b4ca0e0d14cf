/* fuzz_tid_status - status of a thread. */
#include "fuzz.h"

FUZZ_TARGET(digest_tid_status)
