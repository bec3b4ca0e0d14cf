/*
 * Which groups' threads are read, and what groups know by them alone.
 *
 * Groups are fixed ones: a, b and c.
 */
#include "group/group.h"

#include "check.h"
#include "comm_rule.h"

#define BIT(n) (UINT32_C(1) << (n))

static const uint64_t SECOND = 1000000000u;

static const char *const names[] = {"a", "b", "c"};

enum { GROUPS = sizeof(names) / sizeof(*names) };

static void set_rules(struct groups *g)
{
    struct rules rules;

    rules_init(&rules);
    for (size_t i = 0; i < GROUPS; i++) {
        struct span name = span_from_str(names[i]), wrong;

        assert_int_equal(rules_add_comm(&rules, name, &name, 1, &wrong), 0);
    }
    assert_int_equal(groups_set_rules(g, &rules, 100, 3600 * SECOND), 0);
}

static int setup(void **state)
{
    struct groups *g = calloc(1, sizeof(*g));

    groups_init(g, GROUPS_FIRST_AT_ZERO);
    set_rules(g);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    groups_deinit(*state);
    free(*state);
    return 0;
}

static void list(struct groups *g, const char *glob)
{
    struct span pattern = span_from_str(glob);
    struct globs globs;

    assert_int_equal(globs_copy(&globs, &pattern, 1), 0);
    groups_set_threads(g, &globs);
    assert_int_equal(globs.n, 0);
    assert_null(globs.text);
}

static uint32_t number(const struct groups *g, const char *name)
{
    for (size_t i = 0; i < g->n_order; i++)
        if (span_equal(group_name(g, g->order[i]), span_from_str(name)))
            return g->order[i];
    fail_msg("there is no group %s", name);
    return 0;
}

static void take(struct groups *g, const char *name, uint64_t amount)
{
    struct thread_delta delta = {.known = BIT(THREAD_COUNTER_N) - 1};

    for (unsigned i = 0; i < THREAD_COUNTER_N; i++)
        delta.counter[i] = amount + i;
    groups_take_thread(g, number(g, name), &delta);
}

/* What the group shows in a snapshot whose predecessor was served. */
static struct group_values show(struct groups *g, const char *name)
{
    static uint64_t sequence;
    struct groups_moment moment = {
        .sequence = ++sequence, .served_sequence = sequence - 1, .now_ns = SECOND};
    struct group_values v;

    groups_values(g, number(g, name), &moment, &v);
    return v;
}

static uint32_t known(struct groups *g, const char *name)
{
    return show(g, name).have_counters & part_counters(PART_TASK);
}

static void listed_groups_alone_are_marked(void **state)
{
    struct groups *g = *state;

    assert_false(g->groups[number(g, "a")].threads);
    list(g, "[ab]");
    assert_true(g->groups[number(g, "a")].threads);
    assert_true(g->groups[number(g, "b")].threads);
    assert_false(g->groups[number(g, "c")].threads);
    list(g, "b");
    assert_false(g->groups[number(g, "a")].threads);
    assert_true(g->groups[number(g, "b")].threads);
}

/* Groups that come later are marked by their names as well. */
static void a_group_that_is_made_is_marked(void **state)
{
    struct groups *g = *state;
    uint32_t made;

    list(g, "n*");
    assert_int_equal(groups_restore(g, SPAN_LITERAL("new"), &made), 0);
    assert_true(g->groups[made].threads);
    assert_int_equal(groups_restore(g, SPAN_LITERAL("other"), &made), 0);
    assert_false(g->groups[made].threads);
}

/* An empty group knows that its threads used nothing, but only if somebody would have looked. */
static void unknown_is_never_zero(void **state)
{
    struct groups *g = *state;

    list(g, "a");
    assert_int_equal(known(g, "a"), part_counters(PART_TASK));
    assert_int_equal(known(g, "b"), 0);
    /* It had members, of whom no thread was read. */
    g->groups[number(g, "a")].had_members = true;
    assert_int_equal(known(g, "a"), 0);
    take(g, "a", 0);
    assert_int_equal(known(g, "a"), part_counters(PART_TASK));
}

/* A thread's CPU time is in its process' already. */
static void what_threads_add(void **state)
{
    struct groups *g = *state;
    struct group_values v;

    list(g, "a");
    g->groups[number(g, "a")].had_members = true;
    take(g, "a", 100);
    v = show(g, "a");
    assert_int_equal(v.have_counters & (BIT(COUNTER_CPU_USER_NS) | BIT(COUNTER_CPU_SYSTEM_NS)), 0);
    assert_int_equal(v.counter[COUNTER_RUN_QUEUE_NS], 0);
    v = show(g, "a");
    assert_int_equal(v.counter[COUNTER_RUN_QUEUE_NS], 100 + THREAD_RUN_QUEUE_NS);
    assert_int_equal(v.counter[COUNTER_VOLUNTARY_SWITCHES], 100 + THREAD_VOLUNTARY_SWITCHES);
    assert_int_equal(v.counter[COUNTER_INVOLUNTARY_SWITCHES], 100 + THREAD_INVOLUNTARY_SWITCHES);
    take(g, "a", UINT64_MAX - 10);
    assert_int_equal(show(g, "a").counter[COUNTER_RUN_QUEUE_NS], INT64_MAX);
}

/* The same list again changes nothing; off and on again, they begin anew. */
static void lists_that_change(void **state)
{
    struct groups *g = *state;

    list(g, "a");
    g->groups[number(g, "a")].had_members = true;
    take(g, "a", 100);
    (void)show(g, "a");
    list(g, "[a]");
    assert_true(show(g, "a").counter[COUNTER_RUN_QUEUE_NS] > 100);
    list(g, "b");
    assert_int_equal(known(g, "a"), 0);
    list(g, "a");
    assert_int_equal(known(g, "a"), 0);
    take(g, "a", 7);
    assert_int_equal(show(g, "a").counter[COUNTER_VOLUNTARY_SWITCHES], 0);
    assert_int_equal(show(g, "a").counter[COUNTER_VOLUNTARY_SWITCHES],
                     7 + THREAD_VOLUNTARY_SWITCHES);
}

/* Parts that a member lacks can be told later than the member. */
static void lacking_parts_add_up(void **state)
{
    struct groups *g = *state;
    struct process p = {.membership.now = {.standing = STANDING_MEMBER, .group = number(g, "b")}};

    groups_begin(g);
    groups_lack(g, &p, part_bit(PART_TASK));
    groups_lack(g, &p, part_bit(PART_TASK) | part_bit(PART_IO));
    assert_int_equal(show(g, "b").unread[PART_TASK], 2);
    assert_int_equal(show(g, "b").unread[PART_IO], 1);
    groups_begin(g);
    assert_int_equal(show(g, "b").unread[PART_TASK], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(listed_groups_alone_are_marked),
        TEST(a_group_that_is_made_is_marked),
        TEST(unknown_is_never_zero),
        TEST(what_threads_add),
        TEST(lists_that_change),
        TEST(lacking_parts_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
