/* fuzz_glob - shell patterns: the pattern, a line feed, the subject. */
#include "fuzz.h"

FUZZ_TARGET(digest_glob)
