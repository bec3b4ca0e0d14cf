/* Bump memory: pieces never overlap, stay where they are, and a warm arena asks for no more. */
#include "base/arena.h"

#include "chance.h"
#include "check.h"

#include <stdalign.h>

static void pieces_are_apart_and_aligned(void **state)
{
    enum { PIECES = 2000 };
    struct chance chance = chance_of_test();
    struct arena a;

    (void)state;
    arena_init(&a, 64 << 20);
    for (int round = 0; round < 20; round++) {
        static unsigned char *piece[PIECES];
        static size_t size[PIECES];

        for (int i = 0; i < PIECES; i++) {
            size[i] = chance_below(&chance, chance_below(&chance, 20) ? 100 : 20000);
            piece[i] = arena_alloc(&a, size[i]);
            assert_non_null(piece[i]);
            assert_int_equal((uintptr_t)piece[i] % alignof(max_align_t), 0);
            memset(piece[i], i & 0xff, size[i]);
        }
        /* Had two overlapped, or one moved, the older would show the younger's bytes. */
        for (int i = 0; i < PIECES; i++)
            for (size_t k = 0; k < size[i]; k++)
                assert_int_equal(piece[i][k], i & 0xff);
        assert_true(a.used <= a.max);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    arena_deinit(&a);
    arena_deinit(&a);
}

static void warm_after_one_round(void **state)
{
    struct arena a;
    size_t footprint;
    void *first = NULL;

    (void)state;
    arena_init(&a, 64 << 20);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 1000; i++)
            assert_non_null(arena_alloc(&a, 1000));
        arena_reset(&a);
        if (round == 1) {
            footprint = arena_footprint(&a);
            first = arena_alloc(&a, 1);
            arena_reset(&a);
        }
    }
    assert_int_equal(arena_footprint(&a), footprint);
    assert_ptr_equal(arena_alloc(&a, 1), first);
    arena_deinit(&a);
    assert_int_equal(arena_footprint(&a), 0);
}

static void a_failure_latches(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 1000);
    assert_non_null(arena_alloc(&a, 600));
    assert_null(arena_alloc(&a, 600));
    assert_true(arena_failed(&a));
    assert_null(arena_alloc(&a, 1));
    assert_int_equal(arena_copy(&a, SPAN_LITERAL("x")).n, 0);
    arena_reset(&a);
    assert_false(arena_failed(&a));
    assert_non_null(arena_alloc(&a, 1000));
    arena_reset(&a);
    assert_null(arena_alloc(&a, SIZE_MAX));
    arena_reset(&a);
    /* Added to what is used already, this would wrap around to little. */
    assert_non_null(arena_alloc(&a, 100));
    assert_null(arena_alloc(&a, SIZE_MAX - 20));
    arena_reset(&a);
    assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 3));
    assert_true(arena_failed(&a));
    arena_deinit(&a);
}

static void copies(void **state)
{
    struct span copy;
    struct arena a;
    char text[] = "a\0b";

    (void)state;
    arena_init(&a, 1000);
    copy = arena_copy(&a, span_of(text, 3));
    text[0] = 'x';
    check_span(copy, "a\0b");
    assert_int_equal(arena_copy(&a, span_of(NULL, 0)).n, 0);
    assert_false(arena_failed(&a));
    assert_ptr_not_equal(arena_alloc(&a, 0), arena_alloc(&a, 0));
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart_and_aligned),
        cmocka_unit_test(warm_after_one_round),
        cmocka_unit_test(a_failure_latches),
        cmocka_unit_test(copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
