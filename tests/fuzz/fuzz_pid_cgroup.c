/* fuzz_pid_cgroup - which line of cgroup is taken. */
#include "fuzz.h"

FUZZ_TARGET(digest_pid_cgroup)
