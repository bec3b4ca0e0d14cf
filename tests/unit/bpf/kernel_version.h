#pragma once
/* kernel_version - which kernel runs, for tests of what came with one. */
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

/* Whether it is this version or a later one. */
static inline bool kernel_is(int major_wanted, int minor_wanted)
{
    int have_major = 0, have_minor = 0;
    struct utsname u;

    uname(&u);
    sscanf(u.release, "%d.%d", &have_major, &have_minor);
    return have_major > major_wanted || (have_major == major_wanted && have_minor >= minor_wanted);
}
