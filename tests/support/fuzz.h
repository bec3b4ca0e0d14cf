#pragma once
/*
 * fuzz - the body of a fuzz target that holds one digest to its text alone.
 *
 *     FUZZ_TARGET(digest_pid_io)
 */
#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_TARGET(digest)                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                 \
    {                                                                            \
        if (!digest_is_of_text_alone(digest, span_of((const char *)data, size))) \
            abort();                                                             \
        return 0;                                                                \
    }
