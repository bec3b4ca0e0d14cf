/* Sums that belong to nobody yet. Linked with --wrap=realloc, to have no memory. */
#include "group/held.h"

#include "check.h"

#include <errno.h>

#define BIT(n) (UINT32_C(1) << (n))
#define CPU    COUNTER_CPU_USER_NS
#define READ   COUNTER_STORAGE_READ_BYTES

static bool no_memory;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

/* Leftovers stand where nothing is known. */
static struct delta cpu_alone(uint64_t cpu)
{
    struct delta d = {.known = BIT(CPU)};

    memset(d.counter, 0x55, sizeof(d.counter));
    d.counter[CPU] = cpu;
    return d;
}

static struct delta both(uint64_t cpu, uint64_t read)
{
    struct delta d = cpu_alone(cpu);

    d.known |= BIT(READ);
    d.counter[READ] = read;
    return d;
}

static uint32_t must_new(struct held *h)
{
    uint32_t ref;

    assert_int_equal(held_new(h, &ref), 0);
    return ref;
}

static void add(struct held *h, uint32_t ref, struct delta d)
{
    held_add(h, ref, &d);
}

static void test_sums(void **state)
{
    struct held h;
    uint32_t a, b;

    (void)state;
    held_init(&h);
    a = must_new(&h);
    b = must_new(&h);
    assert_int_equal(held_sum(&h, a)->known, 0);
    add(&h, a, cpu_alone(7));
    assert_int_equal(held_sum(&h, a)->known, BIT(CPU));
    add(&h, a, both(3, 100));
    add(&h, b, both(1000, 1));
    assert_int_equal(held_sum(&h, a)->known, BIT(CPU) | BIT(READ));
    assert_int_equal(held_sum(&h, a)->counter[CPU], 10);
    assert_int_equal(held_sum(&h, a)->counter[READ], 100);
    assert_int_equal(held_sum(&h, b)->counter[CPU], 1000);
    held_deinit(&h);
}

static void test_no_overflow(void **state)
{
    struct held h;
    uint32_t a;

    (void)state;
    held_init(&h);
    a = must_new(&h);
    add(&h, a, cpu_alone(UINT64_MAX - 1));
    add(&h, a, cpu_alone(5));
    assert_int_equal(held_sum(&h, a)->counter[CPU], UINT64_MAX);
    held_deinit(&h);
}

/* A reference that is used again holds nothing of the one before. */
static void test_references_are_reused(void **state)
{
    struct held h;
    uint32_t refs[100];

    (void)state;
    held_init(&h);
    for (uint32_t i = 0; i < 100; i++) {
        refs[i] = must_new(&h);
        add(&h, refs[i], both(i, i));
    }
    for (uint32_t i = 0; i < 100; i += 2)
        held_drop(&h, refs[i]);
    for (uint32_t i = 0; i < 100; i += 2) {
        refs[i] = must_new(&h);
        assert_true(refs[i] < 100);
        assert_int_equal(held_sum(&h, refs[i])->known, 0);
        add(&h, refs[i], cpu_alone(1));
        assert_int_equal(held_sum(&h, refs[i])->counter[CPU], 1);
    }
    for (uint32_t i = 1; i < 100; i += 2)
        assert_int_equal(held_sum(&h, refs[i])->counter[READ], i);
    assert_int_equal(h.n_used, 100);
    assert_int_equal(h.n, 100);
    held_deinit(&h);
}

/* Whose family is turned off and on again begins at 0. */
static void test_forgotten_counters(void **state)
{
    struct held h;
    uint32_t a;

    (void)state;
    held_init(&h);
    a = must_new(&h);
    add(&h, a, both(7, 100));
    held_forget(&h, BIT(READ));
    assert_int_equal(held_sum(&h, a)->known, BIT(CPU));
    add(&h, a, both(1, 5));
    assert_int_equal(held_sum(&h, a)->counter[CPU], 8);
    assert_int_equal(held_sum(&h, a)->counter[READ], 5);
    held_deinit(&h);
}

static void test_trim(void **state)
{
    struct held h;
    uint32_t refs[1000], last;

    (void)state;
    held_init(&h);
    held_trim(&h);
    for (int i = 0; i < 1000; i++)
        refs[i] = must_new(&h);
    last = refs[0];
    add(&h, last, cpu_alone(3));
    for (int i = 1; i < 1000; i++)
        held_drop(&h, refs[i]);
    held_trim(&h);
    assert_int_equal(held_sum(&h, last)->counter[CPU], 3);
    assert_true(h.capacity >= 1000);
    held_drop(&h, last);
    held_trim(&h);
    assert_int_equal(h.capacity, 0);
    /* The little that a cycle may need stays. */
    held_drop(&h, must_new(&h));
    held_trim(&h);
    assert_true(h.capacity > 0);
    assert_int_equal(must_new(&h), 0);
    held_deinit(&h);
}

static void test_no_memory(void **state)
{
    struct held h;
    uint32_t ref = 77, a;

    (void)state;
    held_init(&h);
    no_memory = true;
    assert_int_equal(held_new(&h, &ref), -ENOMEM);
    assert_int_equal(ref, 77);
    no_memory = false;
    a = must_new(&h);
    add(&h, a, cpu_alone(1));
    while (h.n < h.capacity)
        (void)must_new(&h);
    no_memory = true;
    assert_int_equal(held_new(&h, &ref), -ENOMEM);
    assert_int_equal(held_sum(&h, a)->counter[CPU], 1);
    /* What was given back needs none. */
    held_drop(&h, a);
    assert_int_equal(must_new(&h), a);
    no_memory = false;
    held_deinit(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_no_overflow),
        cmocka_unit_test(test_references_are_reused),
        cmocka_unit_test(test_forgotten_counters),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
