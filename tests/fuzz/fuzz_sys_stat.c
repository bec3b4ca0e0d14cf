/*
 * fuzz_sys_stat - /proc/stat fed at once against the same text cut into pieces.
 *
 * The first byte says how many of those that follow are lengths of pieces, used over and over;
 * the rest is the text.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest_cuts cuts = {NULL, 0};
    struct buf at_once, cut;
    struct span text;
    bool same;

    if (size == 0)
        return 0;
    cuts.n = data[0] & 15;
    if (cuts.n > size - 1)
        return 0;
    cuts.lengths = data + 1;
    text = span_of((const char *)data + 1 + cuts.n, size - 1 - cuts.n);
    buf_init(&at_once, 1 << 24);
    buf_init(&cut, 1 << 24);
    digest_sys_stat(text, &at_once);
    digest_sys_stat_cut(text, cuts, &cut);
    same = span_equal(buf_span(&at_once), buf_span(&cut));
    buf_deinit(&at_once);
    buf_deinit(&cut);
    if (!same || !digest_is_of_text_alone(digest_sys_stat, text))
        abort();
    return 0;
}
