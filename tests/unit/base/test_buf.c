/* Growable bytes: the latch, the reset, the giving back, and random use against a plain copy. */
#include "base/buf.h"

#include "chance.h"
#include "check.h"

static void grows_to_its_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_null(b.data);
    for (int i = 0; i < 1000; i++)
        buf_append_char(&b, (char)('a' + i % 26));
    assert_false(buf_failed(&b));
    assert_int_equal(b.len, 1000);
    assert_int_equal(b.cap, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(b.data[i], 'a' + i % 26);
    buf_append_char(&b, 'x');
    assert_true(buf_failed(&b));
    assert_int_equal(b.len, 1000);
    buf_deinit(&b);
}

static void a_failure_latches(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 8);
    buf_append_str(&b, "12345");
    buf_append_str(&b, "6789");
    assert_true(buf_failed(&b));
    /* Would fit, and does nothing. */
    buf_append_char(&b, 'x');
    buf_append_span(&b, SPAN_LITERAL("y"));
    buf_printf(&b, "%d", 1);
    assert_null(buf_reserve(&b, 1));
    check_span(buf_span(&b), "12345");
    buf_reset(&b);
    assert_false(buf_failed(&b));
    buf_append_str(&b, "12345678");
    check_span(buf_span(&b), "12345678");
    buf_deinit(&b);
}

static void a_front_is_dropped(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 8);
    buf_drop(&b, 0);
    buf_append_str(&b, "12345678");
    buf_append_char(&b, '9');
    assert_true(buf_failed(&b));
    buf_drop(&b, 3);
    assert_false(buf_failed(&b));
    check_span(buf_span(&b), "45678");
    buf_append_str(&b, "9ab");
    check_span(buf_span(&b), "456789ab");
    buf_drop(&b, 0);
    check_span(buf_span(&b), "456789ab");
    buf_append_char(&b, 'c');
    buf_drop(&b, 8);
    assert_false(buf_failed(&b));
    assert_int_equal(b.len, 0);
    buf_deinit(&b);
}

static void sizes_near_the_top(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    buf_append_str(&b, "abc");
    assert_null(buf_reserve(&b, SIZE_MAX));
    assert_null(buf_reserve(&b, SIZE_MAX - 2));
    buf_reset(&b);
    assert_non_null(buf_reserve(&b, 100));
    assert_null(buf_reserve(&b, 101));
    buf_deinit(&b);
    buf_init(&b, 0);
    buf_append_char(&b, 'x');
    assert_true(buf_failed(&b));
    assert_int_equal(buf_span(&b).n, 0);
    buf_deinit(&b);
}

static void printing(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 12);
    buf_printf(&b, "%d-%s", 42, "abc");
    check_span(buf_span(&b), "42-abc");
    buf_printf(&b, "%s", "");
    check_span(buf_span(&b), "42-abc");
    buf_printf(&b, "%s", "toolong");
    assert_true(buf_failed(&b));
    check_span(buf_span(&b), "42-abc");
    buf_deinit(&b);
}

static void a_reset_keeps_the_memory(void **state)
{
    struct buf b;
    char *data;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_append_str(&b, "hello");
    data = b.data;
    buf_reset(&b);
    buf_append_str(&b, "J");
    assert_ptr_equal(b.data, data);
    /* Not cleared. */
    assert_memory_equal(b.data, "Jello", 5);
    buf_deinit(&b);
    buf_deinit(&b);
}

static void memory_is_given_back_slowly(void **state)
{
    struct buf b;
    size_t before;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_non_null(buf_reserve(&b, 1 << 20));
    buf_commit(&b, 1 << 20);
    before = b.cap;
    for (int i = 0; i < 256; i++)
        buf_reset(&b);
    /* Its peak lies in this window. */
    assert_int_equal(b.cap, before);
    for (int i = 0; i < 256; i++)
        buf_reset(&b);
    assert_int_equal(b.cap, before / 2);
    for (int i = 0; i < 256 * 20; i++)
        buf_reset(&b);
    assert_in_range(b.cap, 32 * 1024, 64 * 1024);
    buf_deinit(&b);
}

static void random_operations(void **state)
{
    enum { MOST = 5000 };
    struct chance chance = chance_of_test();
    char model[MOST], piece[600];
    size_t len = 0;
    bool failed = false;
    struct buf b;

    (void)state;
    buf_init(&b, MOST);
    for (int i = 0; i < 200000; i++) {
        size_t n = chance_below(&chance, sizeof(piece));

        if (chance_below(&chance, 40) == 0) {
            buf_reset(&b);
            len = 0;
            failed = false;
        } else {
            memset(piece, (char)chance_u64(&chance), n);
            buf_append(&b, piece, n);
            failed = failed || (n > 0 && n > MOST - len);
            if (!failed) {
                memcpy(model + len, piece, n);
                len += n;
            }
        }
        assert_int_equal(b.failed, failed);
        assert_true(b.len <= b.cap && b.cap <= b.max);
        assert_true((b.data == NULL) == (b.cap == 0));
        assert_int_equal(b.len, len);
        if (len > 0 && i % 16 == 0)
            assert_memory_equal(b.data, model, len);
    }
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_to_its_maximum),
        cmocka_unit_test(a_failure_latches),
        cmocka_unit_test(a_front_is_dropped),
        cmocka_unit_test(sizes_near_the_top),
        cmocka_unit_test(printing),
        cmocka_unit_test(a_reset_keeps_the_memory),
        cmocka_unit_test(memory_is_given_back_slowly),
        cmocka_unit_test(random_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
