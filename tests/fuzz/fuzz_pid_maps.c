/*
 * fuzz_pid_maps - maps, behind which the buffer is never cleared: poisoned and zeroed must give
 * the same. Counting in pieces must give what counting at once does.
 */
#include "fuzz.h"

static uint64_t count_cut(struct span text, size_t piece)
{
    struct pid_maps_count c = {0};

    while (text.n > 0) {
        size_t n = piece < text.n ? piece : text.n;

        pid_maps_count_feed(&c, span_of(text.p, n));
        text = span_skip(text, n);
    }
    return pid_maps_count_finish(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);

    if (!digest_is_of_text_alone(digest_pid_maps, text))
        abort();
    if (count_cut(text, 1) != count_cut(text, size) || count_cut(text, 7) != count_cut(text, size))
        abort();
    return 0;
}
