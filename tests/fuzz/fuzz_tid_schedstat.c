/* fuzz_tid_schedstat - schedstat of a thread. */
#include "fuzz.h"

FUZZ_TARGET(digest_tid_schedstat)
