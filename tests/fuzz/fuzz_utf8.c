/* fuzz_utf8 - label values, which must be valid UTF-8 whatever came in. */
#include "fuzz.h"

FUZZ_TARGET(digest_utf8)
