/* What is known of a process, by name. */
#include "group/place.h"

#include "check.h"

static const struct cgroup_identity in_pod = {
    .path = {"/kubepods/pod1/abc", 18},
    .container = {"0123456789ab", 12},
    .container_id = {"0123456789abcdef", 16},
    .pod = {"pod1", 4},
    .unit = {"u@1.service", 11},
    .service = {"u@.service", 10},
    .slice = {"s.slice", 7},
};
static const struct cgroup_identity root = {.path = {"/", 1}};
static const struct cgroup_identity owners = {.path = {"/vm.slice", 9}, .slice = {"vm.slice", 8}};

static const struct subject all_known = {
    .comm = {"c", 1},
    .exe = {"/opt/bin/app", 12},
    .cmdline = {"app -v", 6},
    .user = {"alice", 5},
    .cgroup = &in_pod,
};

static const char *value_of(enum place place, const struct subject *s, char text[static 64])
{
    struct span value = {0};

    switch (place_value(place, s, &value)) {
    case PLACE_NONE:
        return "none";
    case PLACE_EXPECTED:
        return "expected";
    case PLACE_KNOWN:
        break;
    }
    memcpy(text, value.p, value.n);
    text[value.n] = '\0';
    return text;
}

#define CHECK_VALUE(place, s, expected) \
    assert_string_equal(value_of(place, s, (char[64]){""}), expected)

static void test_known(void **state)
{
    (void)state;
    CHECK_VALUE(PLACE_COMM, &all_known, "c");
    CHECK_VALUE(PLACE_EXE, &all_known, "app");
    CHECK_VALUE(PLACE_EXE_PATH, &all_known, "/opt/bin/app");
    CHECK_VALUE(PLACE_USER, &all_known, "alice");
    CHECK_VALUE(PLACE_UNIT, &all_known, "u@1.service");
    CHECK_VALUE(PLACE_SLICE, &all_known, "s.slice");
    CHECK_VALUE(PLACE_CONTAINER, &all_known, "0123456789ab");
    CHECK_VALUE(PLACE_CONTAINER_ID, &all_known, "0123456789abcdef");
    CHECK_VALUE(PLACE_POD, &all_known, "pod1");
    CHECK_VALUE(PLACE_CGROUP, &all_known, "/kubepods/pod1/abc");
    CHECK_VALUE(PLACE_CMDLINE, &all_known, "app -v");
}

static void test_nothing_known(void **state)
{
    struct subject nobody = {0};

    (void)state;
    for (int i = 0; i < PLACE_N; i++)
        CHECK_VALUE((enum place)i, &nobody, "none");
}

/* Whatever the subject holds already of what is still to come. */
static void test_expected(void **state)
{
    struct subject s = all_known;

    (void)state;
    s.expected = UINT32_MAX;
    for (int i = 0; i < PLACE_N; i++)
        CHECK_VALUE((enum place)i, &s, i == PLACE_COMM ? "c" : "expected");
    for (int i = 0; i < PLACE_N; i++) {
        s.expected = ~place_needs((enum place)i);
        assert_string_not_equal(value_of((enum place)i, &s, (char[64]){""}), "expected");
    }
}

static void test_exe(void **state)
{
    static const struct {
        const char *path, *exe;
    } rows[] = {{"/a", "a"},        {"a", "a"},   {"/", "/"},
                {"/a/b/", "/a/b/"}, {"", "none"}, {"/memfd:x", "memfd:x"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct subject s = {.exe = span_from_str(rows[i].path)};

        CHECK_VALUE(PLACE_EXE, &s, rows[i].exe);
    }
}

static void test_kernel_threads(void **state)
{
    struct subject s = all_known;

    (void)state;
    s.kernel_thread = true;
    s.expected = subject_bit(SUBJECT_EXE) | subject_bit(SUBJECT_CMDLINE);
    CHECK_VALUE(PLACE_EXE, &s, "none");
    CHECK_VALUE(PLACE_EXE_PATH, &s, "none");
    CHECK_VALUE(PLACE_CMDLINE, &s, "none");
    CHECK_VALUE(PLACE_USER, &s, "alice");
    s.cgroup = &owners;
    CHECK_VALUE(PLACE_CGROUP, &s, "/vm.slice");
    CHECK_VALUE(PLACE_SLICE, &s, "vm.slice");
    s.cgroup = &root;
    CHECK_VALUE(PLACE_CGROUP, &s, "none");
    s.kernel_thread = false;
    CHECK_VALUE(PLACE_CGROUP, &s, "/");
    s.kernel_thread = true;
    s.cgroup = NULL;
    s.expected = subject_bit(SUBJECT_CGROUP);
    CHECK_VALUE(PLACE_CGROUP, &s, "expected");
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < PLACE_NAMED_N; i++)
        assert_int_equal(place_from_name(span_from_str(place_name((enum place)i))), i);
    assert_int_equal(place_from_name(SPAN_LITERAL("cmdline")), PLACE_N);
    assert_int_equal(place_from_name(SPAN_LITERAL("")), PLACE_N);
    assert_int_equal(place_from_name(SPAN_LITERAL("exe_")), PLACE_N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),          cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_expected),       cmocka_unit_test(test_exe),
        cmocka_unit_test(test_kernel_threads), cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
