/*
 * When cycles begin, in simulated time: scrapers and the collector take turns, and what is held is
 * the age of the snapshot that each scrape finds, and what the cycles cost.
 */
#include "daemon/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint64_t S = 1000000000, MS = 1000000;

struct scraper {
    uint64_t period, phase;
    uint64_t jitter;      /* arrivals come up to so much late */
    uint64_t away, back;  /* no scrapes in between */
    unsigned wander;      /* per cent of the period that gaps differ by */
    uint64_t next, turns; /* of the simulation */
};

struct world {
    struct schedule_settings settings;
    uint64_t duration, cpu; /* of a cycle */
    struct scraper scrapers[4];
    size_t n_scrapers;
};

struct ages {
    uint64_t least, most, scrapes;
};

struct outcome {
    struct ages ages[4]; /* in the second half, per scraper */
    uint64_t cycles, added, longest_gap;
    uint64_t effective_interval;
};

struct simulation {
    struct world *world;
    struct schedule schedule;
    struct arrivals arrivals;
    uint64_t begin, half, now, published, last_begun;
    struct outcome outcome;
};

static uint64_t chance(uint64_t n)
{
    return n ? (uint64_t)rand() % n : 0;
}

static void turn(struct simulation *sim, struct scraper *s)
{
    s->turns++;
    if (s->wander)
        s->next +=
            s->period - s->period * s->wander / 100 + chance(2 * s->period * s->wander / 100);
    else
        s->next = sim->begin + s->phase + s->turns * s->period + chance(s->jitter);
}

static struct scraper *first_scraper(struct simulation *sim)
{
    struct scraper *first = NULL;

    for (size_t i = 0; i < sim->world->n_scrapers; i++)
        if (!first || sim->world->scrapers[i].next < first->next)
            first = &sim->world->scrapers[i];
    return first;
}

static void scrape(struct simulation *sim, struct scraper *s)
{
    struct ages *ages = &sim->outcome.ages[s - sim->world->scrapers];
    uint64_t age = s->next - sim->published, at = s->next;

    turn(sim, s);
    if (at - sim->begin > s->away && at - sim->begin < s->back)
        return;
    arrivals_note(&sim->arrivals, at);
    if (at < sim->half)
        return;
    ages->least = ages->scrapes == 0 || age < ages->least ? age : ages->least;
    ages->most = age > ages->most ? age : ages->most;
    ages->scrapes++;
}

static void scrapes_until(struct simulation *sim, uint64_t time)
{
    struct scraper *s;

    while ((s = first_scraper(sim)) && s->next < time)
        scrape(sim, s);
}

static void cycle(struct simulation *sim, const struct schedule_next *next)
{
    const struct world *w = sim->world;
    uint64_t duration = w->duration + chance(w->duration / 5);

    if (sim->last_begun && sim->now - sim->last_begun > sim->outcome.longest_gap)
        sim->outcome.longest_gap = sim->now - sim->last_begun;
    sim->last_begun = sim->now;
    scrapes_until(sim, sim->now + duration);
    schedule_note(&sim->schedule, sim->now, duration, w->cpu, next->scrape_ns);
    sim->now += duration;
    sim->published = sim->now;
    sim->outcome.cycles++;
    sim->outcome.added += next->scrape_ns > 0;
}

static struct outcome simulate(struct world *w, uint64_t seconds)
{
    struct simulation sim = {.world = w, .begin = 1000 * S, .now = 1000 * S};

    srand(11);
    sim.half = sim.begin + seconds / 2 * S;
    schedule_init(&sim.schedule, &w->settings, sim.now);
    arrivals_init(&sim.arrivals);
    for (size_t i = 0; i < w->n_scrapers; i++) {
        w->scrapers[i].next = sim.begin + w->scrapers[i].phase;
        w->scrapers[i].turns = 0;
    }
    while (sim.now < sim.begin + seconds * S) {
        struct schedule_next next;

        arrivals_pass(&sim.arrivals, sim.now);
        next = schedule_next(&sim.schedule, &sim.arrivals, sim.now);
        assert_true(next.begin_ns >= sim.now);
        /* The collector plans when a cycle ended, and learns of scrapes by then only. */
        scrapes_until(&sim, next.begin_ns);
        sim.now = next.begin_ns;
        cycle(&sim, &next);
    }
    sim.outcome.effective_interval = schedule_effective_interval(&sim.schedule);
    return sim.outcome;
}

#define WORLD(...) ((struct world){.settings = {10 * S, 20000}, __VA_ARGS__})

/* The age is at most a cycle and 0.2 s, and varies by at most 0.2 s. */
static void check_fresh(const struct world *w, const struct ages *ages)
{
    assert_true(ages->scrapes > 10);
    assert_true(ages->most <= w->duration * 6 / 5 + 200 * MS);
    assert_true(ages->most - ages->least <= 200 * MS);
}

static void test_no_scraper(void **state)
{
    struct world w = WORLD(.duration = 50 * MS, .cpu = 40 * MS);
    struct outcome o = simulate(&w, 3600);

    (void)state;
    assert_in_range(o.cycles, 360, 361);
    assert_int_equal(o.added, 0);
}

static void test_one_scraper(void **state)
{
    static const uint64_t periods[] = {1, 5, 10, 15, 30, 60};

    (void)state;
    for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
        struct world w = WORLD(.duration = 12 * MS, .cpu = 10 * MS, .n_scrapers = 1,
                               .scrapers = {{periods[i] * S, 700 * MS, .jitter = 5 * MS}});
        struct outcome o = simulate(&w, 3600);

        check_fresh(&w, &o.ages[0]);
        assert_true(o.longest_gap <= 10 * S + 100 * MS);
    }
}

static void test_pair(void **state)
{
    static const uint64_t apart_ms[] = {0, 50, 150, 300, 4000, 7500};

    (void)state;
    for (size_t i = 0; i < sizeof(apart_ms) / sizeof(*apart_ms); i++) {
        uint64_t second = 3 * S + apart_ms[i] * MS;
        struct world w = WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 2,
                               .scrapers = {{15 * S, 3 * S, .jitter = 5 * MS},
                                            {15 * S, second, .jitter = 5 * MS}});
        struct outcome o = simulate(&w, 3600);

        check_fresh(&w, &o.ages[0]);
        check_fresh(&w, &o.ages[1]);
    }
}

static void test_different_periods(void **state)
{
    struct world w =
        WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 2,
              .scrapers = {{15 * S, 3 * S, .jitter = 5 * MS}, {60 * S, 7 * S, .jitter = 5 * MS}});
    struct outcome o = simulate(&w, 7200);

    (void)state;
    check_fresh(&w, &o.ages[0]);
    check_fresh(&w, &o.ages[1]);
}

static void test_jitter(void **state)
{
    struct world w = WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 1,
                           .scrapers = {{15 * S, 3 * S, .jitter = 100 * MS}});
    struct outcome o = simulate(&w, 7200);

    (void)state;
    check_fresh(&w, &o.ages[0]);
}

/* Prometheus comes back at the same phase, since that follows from the target. */
static void test_scraper_restarts(void **state)
{
    struct world w =
        WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 1,
              .scrapers = {{15 * S, 3 * S, .jitter = 5 * MS, .away = 2500 * S, .back = 2560 * S}});
    struct outcome o = simulate(&w, 3600);

    (void)state;
    check_fresh(&w, &o.ages[0]);
}

static void test_person_beside(void **state)
{
    struct world w =
        WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 2,
              .scrapers = {{15 * S, 3 * S, .jitter = 5 * MS}, {40 * S, 2 * S, .wander = 90}});
    struct outcome o = simulate(&w, 7200);

    (void)state;
    check_fresh(&w, &o.ages[0]);
}

/* Nothing to lock on to: the interval goes on as without it, and the budget bounds what is added.
 */
static void test_wandering_scraper(void **state)
{
    struct world w = WORLD(.duration = 50 * MS, .cpu = 40 * MS, .n_scrapers = 1,
                           .scrapers = {{15 * S, 3 * S, .wander = 30}});
    struct outcome o = simulate(&w, 7200);

    (void)state;
    assert_true(o.ages[0].most <= 10 * S + 200 * MS);
    assert_true(o.longest_gap <= 10 * S + 200 * MS);
    assert_true(o.added * w.cpu <= 7200 * S / 50);
}

/* Added cycles never cost more than the budget, be there ever so many scrapers. */
static void test_budget_bounds(void **state)
{
    struct world w = WORLD(.duration = 60 * MS, .cpu = 50 * MS, .n_scrapers = 3,
                           .scrapers = {{2 * S, 300 * MS}, {3 * S, 700 * MS}, {5 * S, 900 * MS}});
    struct outcome o = simulate(&w, 3600);

    (void)state;
    /* The credit of a minute may be used on top. */
    assert_true(o.added * w.cpu <= (3600 + 60) * S / 50);
    assert_true(o.longest_gap <= 10 * S + 200 * MS);
}

static void test_interval_grows(void **state)
{
    struct world w = WORLD(.duration = 500 * MS, .cpu = 400 * MS);
    struct outcome o = simulate(&w, 3600);

    (void)state;
    assert_int_equal(o.effective_interval, 20 * S);
    assert_in_range(o.cycles, 180, 182);
}

/* Where the interval had to grow, cycles still end at scrapes, as often as is paid for. */
static void test_grown_interval_meets_scrapes(void **state)
{
    struct world w = WORLD(.duration = 300 * MS, .cpu = 250 * MS, .n_scrapers = 1,
                           .scrapers = {{15 * S, 3 * S, .jitter = 5 * MS}});
    struct outcome o = simulate(&w, 7200);

    (void)state;
    assert_int_equal(o.effective_interval, 12500 * MS);
    assert_true(o.cycles * w.cpu <= 7300 * S / 50);
    assert_true(o.ages[0].least <= 500 * MS);
}

static void test_cycle_longer_than_interval(void **state)
{
    struct world w = WORLD(.duration = 15 * S, .cpu = 10 * MS);
    struct outcome o = simulate(&w, 3600);

    (void)state;
    assert_true(o.cycles > 150);
}

/* New settings bring a cycle forward; the grid stays where it was. */
static void test_grid_stays(void **state)
{
    struct schedule_settings settings = {10 * S, 20000}, faster = {2 * S, 20000};
    struct arrivals a;
    struct schedule s;

    (void)state;
    arrivals_init(&a);
    schedule_init(&s, &settings, 100 * S);
    assert_int_equal(schedule_next(&s, &a, 100 * S).begin_ns, 100 * S);
    schedule_note(&s, 100 * S + MS, 50 * MS, MS, 0);
    assert_int_equal(schedule_next(&s, &a, 101 * S).begin_ns, 110 * S);
    schedule_note(&s, 104 * S, 50 * MS, MS, 0);
    assert_int_equal(schedule_next(&s, &a, 105 * S).begin_ns, 110 * S);
    schedule_configure(&s, &faster);
    assert_int_equal(schedule_next(&s, &a, 105 * S).begin_ns, 106 * S);
    /* Suspended for a day. */
    schedule_note(&s, 86400 * S + MS, 50 * MS, MS, 0);
    assert_int_equal(schedule_next(&s, &a, 86401 * S).begin_ns, 86402 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_scraper),
        cmocka_unit_test(test_one_scraper),
        cmocka_unit_test(test_pair),
        cmocka_unit_test(test_different_periods),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_scraper_restarts),
        cmocka_unit_test(test_person_beside),
        cmocka_unit_test(test_wandering_scraper),
        cmocka_unit_test(test_budget_bounds),
        cmocka_unit_test(test_interval_grows),
        cmocka_unit_test(test_grown_interval_meets_scrapes),
        cmocka_unit_test(test_cycle_longer_than_interval),
        cmocka_unit_test(test_grid_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
