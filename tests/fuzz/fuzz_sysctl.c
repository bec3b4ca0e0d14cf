/* fuzz_sysctl - one-number files and file-nr. */
#include "fuzz.h"

FUZZ_TARGET(digest_sysctl)
