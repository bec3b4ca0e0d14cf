/* Kernel strings into label values: what the kernel cut, and what was never text. */
#include "base/utf8.h"

#include "check.h"

#define FFFD "\xef\xbf\xbd"

#define check_label(src, expected) check_span(label(SPAN_LITERAL(src)), expected)

static struct span label(struct span src)
{
    static char dst[UTF8_LABEL_MAX];
    struct span copy = check_copy(src);
    size_t n = utf8_label(dst, copy);

    free((void *)copy.p);
    return span_of(dst, n);
}

static void good_text_is_kept(void **state)
{
    (void)state;
    check_label("", "");
    check_label("systemd", "systemd");
    check_label("caf\xc3\xa9", "caf\xc3\xa9");
    check_label("\xe5\x90\x8c", "\xe5\x90\x8c");
    check_label("\xf0\x9f\x98\x80ok", "\xf0\x9f\x98\x80ok");
    check_label("\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
                "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    check_label("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

static void cut_characters(void **state)
{
    (void)state;
    check_label("job-\xe5\x90\x8c\xe6\xad", "job-\xe5\x90\x8c" FFFD FFFD);
    check_label("worker-caf\xc3", "worker-caf" FFFD);
    check_label("task - \xe8\xa1", "task - " FFFD FFFD);
    check_label("\xf0\x9f\x98", FFFD FFFD FFFD);
    check_label("\xc3"
                "a",
                FFFD "a");
    check_label("\xe5\x90"
                "a\xc3\xa9",
                FFFD FFFD "a\xc3\xa9");
}

static void bytes_that_are_none(void **state)
{
    (void)state;
    check_label("\xed\xa0\x80s", FFFD FFFD FFFD "s");
    check_label("\xc0\xafo", FFFD FFFD "o");
    check_label("\xc1\xbf", FFFD FFFD);
    check_label("\xe0\x9f\xbf", FFFD FFFD FFFD);
    check_label("\xf0\x8f\xbf\xbf", FFFD FFFD FFFD FFFD);
    check_label("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD);
    check_label("\xf5\x80\x80\x80", FFFD FFFD FFFD FFFD);
    check_label("\x80\xbf\xfe\xff", FFFD FFFD FFFD FFFD);
}

static void controls(void **state)
{
    (void)state;
    check_label("a\nb", "a\nb");
    check_label("a\tb\rc\x1b[0m\x7f", "a" FFFD "b" FFFD "c" FFFD "[0m" FFFD);
    check_label("a\0b", "a" FFFD "b");
}

static void cut_at_a_character(void **state)
{
    char text[1024];
    struct span out;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(label(span_of(text, 1024)).n, UTF8_LABEL_MAX);
    assert_int_equal(label(span_of(text, 256)).n, 256);
    memcpy(text + 255, "\xc3\xa9", 2);
    assert_int_equal(label(span_of(text, 1024)).n, 255);
    memset(text, 0xff, sizeof(text));
    out = label(span_of(text, 1024));
    assert_int_equal(out.n, 255);
}

/* Against the definition: every sequence of up to three bytes, and four at the edges. */
static bool by_definition(const unsigned char *p, size_t n)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    uint32_t code = p[0] & mask[n];

    if ((p[0] & (unsigned char)~mask[n]) != lead[n])
        return false;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (p[i] & 0x3f);
    }
    return code >= smallest[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static void every_short_sequence(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1 << 24; i++) {
        unsigned char p[4] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8), (unsigned char)i,
                              0x80};
        size_t expected = 0;

        for (size_t n = 1; n <= 4; n++)
            if (by_definition(p, n))
                expected = n;
        if (utf8_character(span_of((const char *)p, 4)) != expected)
            fail_msg("%02x %02x %02x 80", p[0], p[1], p[2]);
    }
}

static void ascii(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 40; n++) {
        char *text = malloc(n + 1);

        assert_non_null(text);
        memset(text, 0x7f, n);
        assert_true(utf8_is_ascii(span_of(text, n)));
        for (size_t at = 0; at < n; at++) {
            text[at] = (char)0x80;
            assert_false(utf8_is_ascii(span_of(text, n)));
            text[at] = 0;
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascii),
        cmocka_unit_test(good_text_is_kept),
        cmocka_unit_test(cut_characters),
        cmocka_unit_test(bytes_that_are_none),
        cmocka_unit_test(controls),
        cmocka_unit_test(cut_at_a_character),
        cmocka_unit_test(every_short_sequence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
