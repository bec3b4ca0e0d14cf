/* Records of control groups that were made: kept in order, and what is none let go. Linked with
 * --wrap of the allocators. */
#include "bpf/new_cgroups.h"

#include "bpf/record.h"

#include "check.h"
#include "heap.h"

#include <stdlib.h>

static int setup(void **state)
{
    static struct new_cgroups c;

    new_cgroups_init(&c);
    *state = &c;
    return 0;
}

static int teardown(void **state)
{
    new_cgroups_deinit(*state);
    return 0;
}

/* Handed over in memory of its own, where a sanitizer sees a read behind it. */
static bool take(struct new_cgroups *c, uint64_t id, const char *path, size_t path_n)
{
    struct cgroup_record record = {.head.kind = RECORD_CGROUP, .id = id};
    size_t n = offsetof(struct cgroup_record, path) + path_n;
    char *bytes = malloc(n);
    bool taken;

    assert_non_null(bytes);
    memcpy(record.path, path, path_n);
    memcpy(bytes, &record, n);
    taken = new_cgroups_take(c, bytes, n);
    free(bytes);
    return taken;
}

#define TAKE(c, id, path) assert_true(take(c, id, path, sizeof(path)))

static void check_next(const struct new_cgroups *c, size_t *at, uint64_t id, const char *path)
{
    struct span got;
    uint64_t got_id;

    assert_true(new_cgroups_next(c, at, &got_id, &got));
    assert_int_equal(got_id, id);
    check_span_at(got, path, strlen(path), __FILE__, __LINE__);
}

static void check_end(const struct new_cgroups *c, size_t at)
{
    struct span path;
    uint64_t id;

    assert_false(new_cgroups_next(c, &at, &id, &path));
}

static void in_order(void **state)
{
    struct new_cgroups *c = *state;
    size_t at = 0;

    check_end(c, 0);
    TAKE(c, 70, "/system.slice/a.service");
    TAKE(c, UINT64_MAX, "/x");
    TAKE(c, 70, "/again");
    check_next(c, &at, 70, "/system.slice/a.service");
    check_next(c, &at, UINT64_MAX, "/x");
    check_next(c, &at, 70, "/again");
    check_end(c, at);
    /* They stay until they are forgotten. */
    at = 0;
    check_next(c, &at, 70, "/system.slice/a.service");
    new_cgroups_forget(c);
    check_end(c, 0);
    TAKE(c, 3, "/later");
    at = 0;
    check_next(c, &at, 3, "/later");
    check_end(c, at);
}

static void longest(void **state)
{
    char path[CGROUP_PATH_SIZE];
    struct new_cgroups *c = *state;
    size_t at = 0;

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_true(take(c, 1, path, sizeof(path)));
    check_next(c, &at, 1, path);
    check_end(c, at);
}

static void of_another_kind(void **state)
{
    struct thread_end thread = {.head.kind = RECORD_THREAD_END};
    struct process_end process = {.task.head.kind = RECORD_PROCESS_END};
    struct record_head head = {.kind = RECORD_CGROUP};
    struct new_cgroups *c = *state;

    assert_false(new_cgroups_take(c, &thread, sizeof(thread)));
    assert_false(new_cgroups_take(c, &process, sizeof(process)));
    assert_false(new_cgroups_take(c, &head, sizeof(head) - 1));
    assert_false(new_cgroups_take(c, &head, 0));
    check_end(c, 0);
}

/* Of its kind, but of no use: nobody else is to count it. */
static void malformed(void **state)
{
    struct cgroup_record record = {.head.kind = RECORD_CGROUP, .id = 5, .path = "/a"};
    struct new_cgroups *c = *state;

    assert_true(new_cgroups_take(c, &record, sizeof(record.head)));
    assert_true(new_cgroups_take(c, &record, offsetof(struct cgroup_record, path)));
    TAKE(c, 5, "");
    TAKE(c, 5, "relative");
    TAKE(c, 5, "/a\0b");
    assert_true(take(c, 5, "/a", 2));
    check_end(c, 0);
}

/* However many come before a cycle does. */
static void too_many(void **state)
{
    struct new_cgroups *c = *state;
    size_t at = 0, n = 0;
    struct span path;
    uint64_t id;

    for (uint64_t i = 0; i < 100000; i++)
        TAKE(c, i, "/system.slice/some.service");
    for (; new_cgroups_next(c, &at, &id, &path); n++) {
        assert_int_equal(id, n);
        check_span(path, "/system.slice/some.service");
    }
    assert_in_range(n, 1000, 99999);
    new_cgroups_forget(c);
    TAKE(c, 9, "/b");
    at = 0;
    check_next(c, &at, 9, "/b");
}

static void without_memory(void **state)
{
    struct cgroup_record record = {.head.kind = RECORD_CGROUP, .id = 5, .path = "/a"};
    size_t n = offsetof(struct cgroup_record, path) + sizeof("/a"), at = 0;
    struct new_cgroups *c = *state;

    heap_allows = 0;
    assert_true(new_cgroups_take(c, &record, n));
    heap_allows = SIZE_MAX;
    check_end(c, 0);
    new_cgroups_forget(c);
    TAKE(c, 6, "/b");
    check_next(c, &at, 6, "/b");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_order),  TEST(longest),  TEST(of_another_kind),
        TEST(malformed), TEST(too_many), TEST(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
