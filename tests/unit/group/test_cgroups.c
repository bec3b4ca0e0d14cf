/* Control groups by number: shared, kept, dropped, and never taken for one another. */
#include "group/cgroups.h"

#include "chance.h"
#include "check.h"

#include <errno.h>

static unsigned heap_calls;
static int64_t heap_live;   /* blocks */
static int heap_calls_left; /* before one fails; negative: none does */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);

static bool heap_fails(void)
{
    heap_calls++;
    return heap_calls_left >= 0 && heap_calls_left-- == 0;
}

void *__wrap_malloc(size_t n)
{
    void *p = heap_fails() ? NULL : __real_malloc(n);

    heap_live += p != NULL;
    return p;
}

void *__wrap_realloc(void *old, size_t n)
{
    void *p = heap_fails() ? NULL : __real_realloc(old, n);

    heap_live += p && !old;
    return p;
}

void __wrap_free(void *p)
{
    heap_live -= p != NULL;
    __real_free(p);
}

static int setup(void **state)
{
    struct cgroups *c = test_malloc(sizeof(*c));

    cgroups_init(c);
    heap_calls_left = -1;
    heap_live = 0;
    *state = c;
    return 0;
}

static int teardown(void **state)
{
    cgroups_deinit(*state);
    assert_int_equal(heap_live, 0);
    test_free(*state);
    return 0;
}

static uint32_t enter(struct cgroups *c, const char *path)
{
    struct span copy = check_copy(span_from_str(path));
    uint32_t number = CGROUPS_NONE;

    assert_int_equal(cgroups_enter(c, copy, &number), 0);
    assert_int_not_equal(number, CGROUPS_NONE);
    free((char *)copy.p);
    return number;
}

static struct span path_of(const struct cgroups *c, uint32_t number)
{
    const struct cgroup_identity *id = cgroups_identity(c, number);

    return id ? id->path : SPAN_LITERAL("none");
}

static void shared(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/system.slice/sshd@1.service"), b = enter(c, "/b"), root;
    const struct cgroup_identity *id = cgroups_identity(c, a);

    assert_int_not_equal(a, b);
    check_span(id->service, "sshd@.service");
    check_span(id->unit, "sshd@1.service");
    assert_int_equal(enter(c, "/system.slice/sshd@1.service"), a);
    assert_int_equal(enter(c, "/b (deleted)"), b);
    check_span(path_of(c, b), "/b");
    assert_int_equal(c->n_entries, 2);
    root = enter(c, "/");
    assert_int_equal(enter(c, "/"), root);
    assert_int_equal(enter(c, ""), enter(c, ""));
    assert_int_equal(enter(c, "/x (deleted) (deleted)"), enter(c, "/x (deleted) (deleted)"));
    assert_int_equal(c->n_entries, 5);
    assert_null(cgroups_identity(c, CGROUPS_NONE));
    assert_null(cgroups_identity(c, 77));
    assert_null(cgroups_identity(c, UINT32_MAX));
    assert_false(cgroups_keep(c, CGROUPS_NONE));
    cgroups_sweep(c);
}

static void known_paths_take_no_memory(void **state)
{
    struct cgroups *c = *state;
    static const char path[] = "/system.slice/a.service";
    uint32_t number = enter(c, path), again;
    unsigned before = heap_calls;

    for (int cycle = 0; cycle < 100; cycle++) {
        for (int process = 0; process < 100; process++) {
            assert_int_equal(cgroups_enter(c, span_from_str(path), &again), 0);
            assert_int_equal(again, number);
            assert_true(cgroups_keep(c, number));
        }
        cgroups_sweep(c);
    }
    assert_int_equal(heap_calls, before);
}

static void dropped_after_a_cycle_more(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/a"), b = enter(c, "/b"), d;

    cgroups_sweep(c);
    /* Found ended. */
    assert_true(cgroups_keep(c, b));
    check_span(path_of(c, a), "/a");
    cgroups_sweep(c);
    /* It could still turn out to live. */
    check_span(path_of(c, a), "/a");
    assert_true(cgroups_keep(c, b));
    cgroups_sweep(c);
    check_span(path_of(c, a), "none");
    check_span(path_of(c, b), "/b");
    assert_false(cgroups_keep(c, a));
    assert_int_equal(c->n_entries, 1);
    /* The place is taken again, by another number. */
    d = enter(c, "/d");
    assert_int_not_equal(d, a);
    assert_int_equal(c->n_slots, 2);
    assert_false(cgroups_keep(c, a));
    check_span(path_of(c, d), "/d");
    assert_int_not_equal(enter(c, "/a"), a);
}

static void who_returns_is_kept(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/a");

    for (int i = 0; i < 10; i++) {
        cgroups_sweep(c);
        cgroups_sweep(c);
        assert_true(cgroups_keep(c, a));
    }
    check_span(path_of(c, a), "/a");
}

/* Each cycle 100 processes in groups of their own, beside some that stay. */
static void churn_takes_no_more_memory(void **state)
{
    enum { STAY = 50, FRESH = 100, CYCLES = 200 };
    struct cgroups *c = *state;
    uint32_t staying[STAY];
    char path[64];
    int64_t blocks = 0;
    size_t index = 0;

    for (int i = 0; i < STAY; i++) {
        snprintf(path, sizeof(path), "/system.slice/stays%d.service", i);
        staying[i] = enter(c, path);
    }
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int i = 0; i < STAY; i++)
            assert_true(cgroups_keep(c, staying[i]));
        for (int i = 0; i < FRESH; i++) {
            snprintf(path, sizeof(path), "/system.slice/run-u%d.service", cycle * FRESH + i);
            enter(c, path);
        }
        cgroups_sweep(c);
        assert_true(c->n_entries <= STAY + 2 * FRESH);
        if (cycle == 5) {
            blocks = heap_live;
            index = c->by_path.size;
        }
    }
    assert_int_equal(heap_live, blocks);
    assert_true(c->n_slots <= STAY + 3 * FRESH);
    assert_int_equal(c->by_path.size, index);
    for (int i = 0; i < STAY; i++)
        assert_non_null(cgroups_identity(c, staying[i]));
}

/* A number long out of date finds nothing, however often its place was given away meanwhile. */
static void old_numbers_find_nothing(void **state)
{
    struct cgroups *c = *state;
    uint32_t first = enter(c, "/first");

    for (int i = 0; i < 1000; i++) {
        char path[32];

        for (int k = 0; k < 3; k++)
            cgroups_sweep(c);
        assert_null(cgroups_identity(c, first));
        snprintf(path, sizeof(path), "/%d", i);
        assert_int_not_equal(enter(c, path), first);
        assert_null(cgroups_identity(c, first));
        assert_int_equal(c->n_slots, 1);
    }
}

static void without_memory_nothing_changes(void **state)
{
    struct cgroups *c = *state;
    char path[32];
    uint32_t number;

    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/%d", i);
        for (int calls = 0;; calls++) {
            int r;

            heap_calls_left = calls;
            r = cgroups_enter(c, span_from_str(path), &number);
            heap_calls_left = -1;
            if (r == 0)
                break;
            assert_int_equal(r, -ENOMEM);
            assert_int_equal(c->n_entries, i);
        }
        assert_int_equal(c->n_entries, i + 1);
        check_span_at(path_of(c, number), path, strlen(path), __FILE__, __LINE__);
    }
}

/* Random cycles against plain arrays: every number in use is good and says its path. */
static void random_cycles(void **state)
{
    enum { PROCESSES = 300, PATHS = 400, CYCLES = 400 };
    struct chance chance = chance_of_test();
    struct cgroups *c = *state;
    uint32_t number[PROCESSES] = {0};
    size_t at[PROCESSES] = {0};
    bool used[PATHS];

    for (int cycle = 0; cycle < CYCLES; cycle++) {
        size_t distinct = 0;

        memset(used, 0, sizeof(used));
        for (int i = 0; i < PROCESSES; i++) {
            char path[64];

            if (chance_below(&chance, 20) == 0)
                number[i] = CGROUPS_NONE;
            if (number[i] == CGROUPS_NONE && chance_below(&chance, 2) == 0) {
                at[i] = chance_below(&chance, PATHS);
                snprintf(path, sizeof(path), "/docker/%zu/x.service", at[i]);
                number[i] = enter(c, path);
            }
            if (number[i] == CGROUPS_NONE)
                continue;
            assert_true(cgroups_keep(c, number[i]));
            used[at[i]] = true;
        }
        if (chance_below(&chance, 10) > 0)
            cgroups_sweep(c);
        for (int i = 0; i < PROCESSES; i++) {
            char path[64];

            if (number[i] == CGROUPS_NONE)
                continue;
            snprintf(path, sizeof(path), "/docker/%zu/x.service", at[i]);
            check_span_at(path_of(c, number[i]), path, strlen(path), __FILE__, __LINE__);
        }
        for (int i = 0; i < PATHS; i++)
            distinct += used[i];
        assert_true(c->n_entries >= distinct);
        assert_int_equal(c->n_entries, c->by_path.count);
    }
    for (int i = 0; i < 3; i++)
        cgroups_sweep(c);
    assert_int_equal(c->n_entries, 0);
    assert_int_equal(c->by_path.count, 0);
}

/* ---- the kernel's ids ---- */

static void found_by_id(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/a"), b = enter(c, "/b");

    assert_int_equal(cgroups_of_id(c, 5), CGROUPS_NONE);
    assert_int_equal(cgroups_of_id(c, 0), CGROUPS_NONE);
    cgroups_set_id(c, a, 5);
    cgroups_set_id(c, b, UINT64_MAX);
    assert_int_equal(cgroups_of_id(c, 5), a);
    assert_int_equal(cgroups_of_id(c, UINT64_MAX), b);
    assert_int_equal(cgroups_of_id(c, 6), CGROUPS_NONE);
    assert_int_equal(cgroups_of_id(c, 0), CGROUPS_NONE);
    /* Said again it is no news. */
    for (int i = 0; i < 100; i++)
        cgroups_set_id(c, a, 5);
    assert_int_equal(c->by_id.count, 2);
    /* The path is as before. */
    assert_int_equal(enter(c, "/a"), a);
    assert_int_equal(cgroups_of_id(c, 5), a);
    /* No number, none that was given, and one that is not good. */
    cgroups_set_id(c, CGROUPS_NONE, 7);
    cgroups_set_id(c, 77, 7);
    cgroups_set_id(c, UINT32_MAX, 7);
    assert_int_equal(cgroups_of_id(c, 7), CGROUPS_NONE);
    assert_int_equal(c->by_id.count, 2);
}

/* Removed and made again, the path has another id, and the old one is nobody's. */
static void another_id(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/a"), b = enter(c, "/b");

    for (uint64_t id = 1; id < 1000; id++) {
        cgroups_set_id(c, a, id);
        assert_int_equal(cgroups_of_id(c, id), a);
        assert_int_equal(cgroups_of_id(c, id - 1), CGROUPS_NONE);
        assert_int_equal(c->by_id.count, 1);
    }
    /* What one path gave up another may have. */
    cgroups_set_id(c, a, 1000);
    cgroups_set_id(c, b, 999);
    assert_int_equal(cgroups_of_id(c, 999), b);
    assert_int_equal(cgroups_of_id(c, 1000), a);
}

/* Who asks by id keeps the entry; when nobody does, the id goes with it. */
static void ids_are_swept(void **state)
{
    struct cgroups *c = *state;
    uint32_t a = enter(c, "/a"), b = enter(c, "/b"), d;

    cgroups_set_id(c, a, 5);
    cgroups_set_id(c, b, 6);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cgroups_of_id(c, 5), a);
        cgroups_sweep(c);
    }
    check_span(path_of(c, a), "/a");
    check_span(path_of(c, b), "none");
    assert_int_equal(cgroups_of_id(c, 6), CGROUPS_NONE);
    assert_int_equal(c->by_id.count, 1);
    /* Its number is out of date, and its place another's, who has no id yet. */
    cgroups_set_id(c, b, 6);
    assert_int_equal(cgroups_of_id(c, 6), CGROUPS_NONE);
    d = enter(c, "/d");
    assert_int_equal(c->n_slots, 2);
    assert_int_equal(cgroups_of_id(c, 6), CGROUPS_NONE);
    cgroups_set_id(c, b, 6);
    assert_int_equal(cgroups_of_id(c, 6), CGROUPS_NONE);
    cgroups_set_id(c, d, 6);
    assert_int_equal(cgroups_of_id(c, 6), d);
    assert_int_equal(cgroups_of_id(c, 5), a);
    for (int i = 0; i < 3; i++)
        cgroups_sweep(c);
    assert_int_equal(c->n_entries, 0);
    assert_int_equal(c->by_id.count, 0);
    assert_int_equal(cgroups_of_id(c, 5), CGROUPS_NONE);
}

static void ids_without_memory(void **state)
{
    struct cgroups *c = *state;
    uint32_t number[200];
    unsigned refused = 0;

    for (uint32_t i = 0; i < 200; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/%u", i);
        number[i] = enter(c, path);
        heap_calls_left = 0;
        cgroups_set_id(c, number[i], 1000 + i);
        heap_calls_left = -1;
        if (cgroups_of_id(c, 1000 + i) == number[i])
            continue;
        /* Not known, and that is all. */
        refused++;
        assert_int_equal(cgroups_of_id(c, 1000 + i), CGROUPS_NONE);
        cgroups_set_id(c, number[i], 1000 + i);
        assert_int_equal(cgroups_of_id(c, 1000 + i), number[i]);
    }
    assert_true(refused > 0);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(cgroups_of_id(c, 1000 + i), number[i]);
    assert_int_equal(c->by_id.count, 200);
}

/* Control groups made, removed and made again, against plain arrays. */
static void random_ids(void **state)
{
    enum { PATHS = 200, CYCLES = 600 };
    struct chance chance = chance_of_test();
    struct cgroups *c = *state;
    uint64_t ids[PATHS] = {0}, last_id = 0;
    uint32_t number[PATHS] = {0};

    for (int cycle = 0; cycle < CYCLES; cycle++) {
        size_t known = 0;

        for (size_t i = 0; i < PATHS; i++) {
            char path[64];

            /* Nobody is in it for long; or it has gone, and come again at once. */
            if (chance_below(&chance, 10) == 0)
                ids[i] = 0;
            if (chance_below(&chance, 10) == 0)
                ids[i] = ++last_id * 4096;
            if (ids[i] == 0)
                continue;
            number[i] = cgroups_of_id(c, ids[i]);
            snprintf(path, sizeof(path), "/slice/%zu.service", i);
            if (number[i] == CGROUPS_NONE) {
                number[i] = enter(c, path);
                cgroups_set_id(c, number[i], ids[i]);
            }
            check_span_at(path_of(c, number[i]), path, strlen(path), __FILE__, __LINE__);
        }
        cgroups_sweep(c);
        for (size_t i = 0; i < PATHS; i++)
            known += ids[i] != 0;
        assert_true(c->by_id.count >= known && c->by_id.count <= c->n_entries);
    }
    assert_true(c->n_slots <= PATHS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shared),
        TEST(known_paths_take_no_memory),
        TEST(dropped_after_a_cycle_more),
        TEST(who_returns_is_kept),
        TEST(churn_takes_no_more_memory),
        TEST(old_numbers_find_nothing),
        TEST(without_memory_nothing_changes),
        TEST(random_cycles),
        TEST(found_by_id),
        TEST(another_id),
        TEST(ids_are_swept),
        TEST(ids_without_memory),
        TEST(random_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
