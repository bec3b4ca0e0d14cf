/*
 * Cycles without end over a host where processes come, go and change their names, and every name is
 * a new one, as is every control group: what is live on the heap after many is what was live after
 * the first thousand. Half of them are pending at first, and some end so.
 *
 * SOAK_CYCLES says how many (5,000). Linked with --wrap of the allocators, to count bytes.
 */
#include "daemon/cycle.h"

#include "comm_rule.h"
#include "host_tree.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>

static const uint64_t SECOND = 1000000000u;

enum {
    WARM_UP = 1000,
    SLOTS = 32, /* processes that come and go, one change a cycle */
    FIRST_PID = 100,
    STEADY = 12,
    GROUPS_MAX = 20,
};

/* ---- bytes on the heap ---- */

static _Atomic long live_bytes;

static void *count_in(void *p)
{
    if (p)
        live_bytes += (long)malloc_usable_size(p);
    return p;
}

static void count_out(void *p)
{
    if (p)
        live_bytes -= (long)malloc_usable_size(p);
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return count_in(__real_malloc(n));
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return count_in(__real_calloc(n, size));
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    long before = p ? (long)malloc_usable_size(p) : 0;
    void *moved = __real_realloc(p, n);

    if (moved)
        live_bytes += (long)malloc_usable_size(moved) - before;
    return moved;
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
    count_out(p);
    __real_free(p);
}

/* ---- the host ---- */

struct changing_host {
    struct tree tree;
    bool present[SLOTS];
    unsigned n;
};

/* A process comes and goes by the name of its directory; its files but stat stay as they are. */
static void move(struct tree *t, unsigned pid, bool away)
{
    char here[512], there[512];

    snprintf(here, sizeof(here), "%s/%u", t->root, pid);
    snprintf(there, sizeof(there), "%s/away-%u", t->root, pid);
    assert_int_equal(rename(away ? here : there, away ? there : here), 0);
}

static void make_host(struct changing_host *h)
{
    *h = (struct changing_host){.n = STEADY};
    host_tree_new(&h->tree);
    for (unsigned i = 1; i <= STEADY; i++)
        HOST_PUT(&h->tree, .pid = i, .comm = "steady", .fds = 3, .mappings = 2);
    for (unsigned i = 0; i < SLOTS; i++) {
        HOST_PUT(&h->tree, .pid = FIRST_PID + i, .fds = 2, .mappings = 3);
        tree_pid(&h->tree, FIRST_PID + i, "cmdline", "-n %u", i % 5);
        move(&h->tree, FIRST_PID + i, true);
    }
}

static void write_stat(struct changing_host *h, unsigned pid, uint64_t start, uint64_t ticks,
                       const char *comm)
{
    struct host_process p = {
        .pid = pid, .comm = comm, .start = start, .user_ticks = ticks, .parent = 1};

    host_tree_stat(&h->tree, &p, "stat", pid % 7 ? 'S' : 'Z');
}

/* One process comes or goes, another one uses time and, now and then, has a new name. */
static void change(struct changing_host *h, uint64_t cycle)
{
    unsigned slot = (unsigned)(cycle * 7 % SLOTS), pid = FIRST_PID + slot;
    char comm[24];

    snprintf(comm, sizeof(comm), "n%llu", (unsigned long long)cycle);
    if (!h->present[slot]) {
        move(&h->tree, pid, false);
        /* The same identity never comes twice; the same pid does. */
        write_stat(h, pid, 1000 + cycle, 5, cycle % 4 ? comm : "worker");
        tree_pid(&h->tree, pid, "cgroup", "0::/run-%llu.scope\n", (unsigned long long)cycle);
    } else {
        move(&h->tree, pid, true);
    }
    h->present[slot] = !h->present[slot];
    h->n += h->present[slot] ? 1 : -1u;
    write_stat(h, 5, 0, cycle, cycle % 3 ? "steady" : comm);
}

/* ---- cycles ---- */

static void configure(struct cycle *c)
{
    struct cycle_settings settings = {.groups_max = GROUPS_MAX,
                                      .groups_forget_ns = 60 * SECOND,
                                      .probe_deadline_ns = 3600 * SECOND,
                                      .pss_max_bytes = UINT64_MAX,
                                      .top_by = TOP_MEMORY,
                                      .top = 3};
    struct span star = SPAN_LITERAL("*"), odd = SPAN_LITERAL("*[13579]"), noise = SPAN_LITERAL("4"),
                number = SPAN_LITERAL("-n (\\d)"), wrong;
    const struct rule_spec specs[] = {
        {.exclude = true,
         .name = noise,
         .patterns = {[RULE_COMM] = {&odd, 1}, [RULE_CMDLINE] = {&noise, 1}}},
        {.name = SPAN_LITERAL("${comm}-${1}"),
         .children = true,
         .patterns = {[RULE_COMM] = {&odd, 1}, [RULE_CMDLINE] = {&number, 1}}},
    };
    struct rule_fault fault;

    rules_init(&settings.rules);
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        assert_int_equal(rules_add(&settings.rules, &specs[i], &fault), 0);
    assert_int_equal(rules_add_comm(&settings.rules, SPAN_LITERAL("${comm}"), &star, 1, &wrong), 0);
    selection_default(&settings.families);
    assert_int_equal(cycle_configure(c, &settings), 0);
}

struct soak {
    struct changing_host host;
    struct cycle cycle;
    struct cycle_time now;
    struct arena arena;
    struct snapshot snapshot;
    struct buf state;
    uint64_t pending, excluded; /* in all cycles */
};

static void one_cycle(struct soak *s, uint64_t number)
{
    change(&s->host, number);
    s->now.monotonic_ns += 10 * SECOND;
    s->now.realtime_ns += 10 * SECOND;
    s->now.boottime_ns += 10 * SECOND;
    assert_int_equal(cycle_run(&s->cycle, &s->now), 0);
    arena_reset(&s->arena);
    assert_int_equal(
        cycle_snapshot(&s->cycle, number, number - number % 3, &s->now, &s->arena, &s->snapshot),
        0);
    buf_reset(&s->state);
    cycle_encode(&s->cycle, &s->state);
    assert_false(buf_failed(&s->state));
    (void)cycle_between(&s->cycle, s->now.monotonic_ns);
    assert_int_equal(s->snapshot.self.processes, s->host.n);
    s->pending += s->snapshot.self.pending_processes;
    s->excluded += s->snapshot.self.excluded_processes;
    assert_true(s->snapshot.n_groups <= GROUPS_MAX + 1);
    assert_in_range(s->snapshot.n_processes, 1, 6);
}

static void test_soak(void **state)
{
    const char *given = getenv("SOAK_CYCLES");
    uint64_t cycles = given ? strtoull(given, NULL, 10) : 5000;
    struct soak s = {.now = {.monotonic_ns = 100 * SECOND,
                             .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                             .boottime_ns = 5000 * SECOND}};
    long warm = 0;

    (void)state;
    make_host(&s.host);
    arena_init(&s.arena, 64 * 1024 * 1024);
    buf_init(&s.state, 1 << 20);
    assert_int_equal(cycle_open(&s.cycle, CYCLE_DAEMON, s.host.tree.root, &s.now), 0);
    configure(&s.cycle);
    for (uint64_t i = 1; i <= cycles; i++) {
        one_cycle(&s, i);
        if (i == WARM_UP)
            warm = live_bytes;
    }
    print_message("%llu cycles: %ld bytes live, %ld after %d; %llu assignments to _other\n",
                  (unsigned long long)cycles, (long)live_bytes, warm, WARM_UP,
                  (unsigned long long)s.snapshot.self.other_assignments);
    assert_true(s.snapshot.self.other_assignments > 0);
    assert_true(s.pending > 0 && s.excluded > 0);
    /* A buffer that was large once may have become smaller. */
    assert_true(live_bytes <= warm);
    cycle_close(&s.cycle);
    arena_deinit(&s.arena);
    buf_deinit(&s.state);
    tree_free(&s.host.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
