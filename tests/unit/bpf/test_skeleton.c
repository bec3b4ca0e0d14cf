/* The builds of the programs: the same in both, but for what the kernel has to have. */
#include "bpf/skeleton.h"

#include "check.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>
#include <string.h>

static struct proctally_bpf *open_build(enum skeleton_build build)
{
    struct proctally_bpf *s = skeleton_open(build);

    assert_non_null(s);
    return s;
}

/* Whether it has to have this function of the kernel's. */
static bool names_function(const struct proctally_bpf *s, const char *name)
{
    return btf__find_by_name_kind(bpf_object__btf(s->obj), name, BTF_KIND_FUNC) >= 0;
}

static void casts_are_named_where_they_are_used(void **state)
{
    struct proctally_bpf *plain = open_build(SKELETON_PLAIN), *casts = open_build(SKELETON_CASTS);

    (void)state;
    assert_false(names_function(plain, "bpf_rdonly_cast"));
    assert_true(names_function(casts, "bpf_rdonly_cast"));
    assert_true(names_function(plain, "walk_tasks") && names_function(casts, "walk_tasks"));
    proctally_bpf__destroy(plain);
    proctally_bpf__destroy(casts);
}

static void the_same_programs(void **state)
{
    struct proctally_bpf *plain = open_build(SKELETON_PLAIN), *casts = open_build(SKELETON_CASTS);
    struct bpf_program *a = NULL, *b = NULL;
    unsigned n = 0;

    (void)state;
    while ((a = bpf_object__next_program(plain->obj, a))) {
        b = bpf_object__next_program(casts->obj, b);
        assert_non_null(b);
        assert_string_equal(bpf_program__name(a), bpf_program__name(b));
        n++;
    }
    assert_null(bpf_object__next_program(casts->obj, b));
    assert_true(n > 0);
    proctally_bpf__destroy(plain);
    proctally_bpf__destroy(casts);
}

/* Variables are found by one layout. */
static void the_same_maps(void **state)
{
    struct proctally_bpf *plain = open_build(SKELETON_PLAIN), *casts = open_build(SKELETON_CASTS);
    const struct bpf_map *a = NULL, *b = NULL;

    (void)state;
    while ((a = bpf_object__next_map(plain->obj, a))) {
        b = bpf_object__next_map(casts->obj, b);
        assert_non_null(b);
        assert_string_equal(bpf_map__name(a), bpf_map__name(b));
        assert_int_equal(bpf_map__value_size(a), bpf_map__value_size(b));
    }
    assert_null(bpf_object__next_map(casts->obj, b));
    assert_true(plain->rodata && casts->rodata && plain->bss && casts->bss);
    proctally_bpf__destroy(plain);
    proctally_bpf__destroy(casts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_are_named_where_they_are_used),
        cmocka_unit_test(the_same_programs),
        cmocka_unit_test(the_same_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
