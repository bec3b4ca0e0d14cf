/* fuzz_loadavg - loadavg. */
#include "fuzz.h"

FUZZ_TARGET(digest_loadavg)
