/*
 * collector - the thread that runs a cycle per interval and publishes its snapshot.
 *
 * The lock guards what others hand over (settings, the outcome of a reload, the stop) and what they
 * are told; the thread takes it for moments only. Everything else is the thread's own. A cycle that
 * fails is logged when failing begins and when it ends, counted each time, and leaves the last page
 * in place.
 */
#include "daemon/collector.h"

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/schedule.h"
#include "daemon/self.h"
#include "daemon/source.h"
#include "daemon/source_choice.h"
#include "daemon/state_file.h"
#include "daemon/version.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { PLAN_SCRAPES = 64 };

/* The longest that a busy machine is expected to let a thread wait after its time has come. */
static const uint64_t LATE_MAX_NS = 100000000u;

struct collector {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the thread has ended */
    int wake;               /* an eventfd: there is a stop, or there are settings */
    bool stop;
    bool have_settings;
    struct collector_settings settings;
    bool reload_successful;
    uint64_t reload_success_time_ns;
    uint64_t settings_given;
    struct collector_progress progress; /* but for the reloads */
    bool ended;                         /* the thread has */
    int ended_cycles;                   /* an eventfd */

    /* Of the thread alone. */
    struct publisher *publisher;
    const struct http *http;
    struct bpf_source *bpf; /* the cycle's, or the one that it left */
    const char *source_reason;
    struct cycle cycle;
    struct state_file state;
    struct self_reader self_reader;
    int clock_watch;
    struct arrivals arrivals;
    struct schedule schedule; /* changed by the thread under the lock */
    uint64_t snapshots;
    uint64_t failures[CYCLE_FAILURE_N];
    uint64_t render_ns; /* of the last snapshot */
    uint64_t cpu_ns;    /* that collecting had used when the schedule heard of it last */
    struct self told;   /* in the last snapshot */
    uint64_t settings_taken;
    bool failing;
    bool fault_logged[FAULT_FILE_N][FAULT_REASON_N];
    bool boot_time_logged;
    bool interval_logged;
    bool prober_off;
    bool lost_ends_logged;
    uint64_t probe_ns; /* when to see to the prober, if no cycle comes before */
};

void collector_describe(struct self *ret, bool by_bpf, const char *source_reason)
{
    ret->version = PROCTALLY_VERSION;
    ret->revision = PROCTALLY_REVISION;
    ret->libmicrohttpd_version = http_library_version();
    ret->source = by_bpf ? "bpf" : "procfs";
    ret->source_reason = source_reason;
}

static enum cycle_failure failure_of(int r)
{
    switch (r) {
    case -EMFILE:
    case -ENFILE:
        return CYCLE_FAILURE_DESCRIPTORS;
    case -ENOMEM:
        return CYCLE_FAILURE_MEMORY;
    case -EBUSY:
        return CYCLE_FAILURE_BUSY;
    default:
        return CYCLE_FAILURE_PROCFS;
    }
}

static void note_failure(struct collector *c, int r)
{
    enum cycle_failure failure = failure_of(r);

    c->failures[failure]++;
    if (!c->failing)
        log_warn(c->snapshots > 0 ? "cycle failed, the last snapshot stays"
                                  : "cycle failed, there is no snapshot yet",
                 LOG_STR("reason", cycle_failure_name(failure)), LOG_ERRNO("error", r));
    c->failing = true;
}

static void note_success(struct collector *c)
{
    c->snapshots++;
    if (c->snapshots == 1)
        log_info("first snapshot", LOG_U64("processes", c->cycle.processes));
    else if (c->failing)
        log_info("cycles succeed again");
    c->failing = false;
}

static void log_fault(struct collector *c, enum fault_file file, enum fault_reason reason)
{
    const struct faults *f = &c->cycle.faults;

    if (f->count[file][reason] == 0 || c->fault_logged[file][reason])
        return;
    c->fault_logged[file][reason] = true;
    log_warn("some files cannot be read; said once, see proctally_read_errors_total",
             LOG_STR("file", fault_file_name(file)), LOG_STR("reason", fault_reason_name(reason)),
             LOG_U64("pid", f->first_pid[file][reason]),
             LOG_STR("error", f->first_errno[file][reason]
                                  ? strerrordesc_np(f->first_errno[file][reason])
                                  : "not as the kernel writes it"));
}

/* Each kind of fault is worth one line, however often it comes. */
static void log_faults(struct collector *c)
{
    for (size_t file = 0; file < FAULT_FILE_N; file++)
        for (size_t reason = 0; reason < FAULT_REASON_N; reason++)
            log_fault(c, (enum fault_file)file, (enum fault_reason)reason);
    /* A /proc/stat that is not understood was spoken of above. */
    if (!c->cycle.boot_time.known && !c->boot_time_logged &&
        !c->fault_logged[FAULT_HOST_STAT][FAULT_MALFORMED]) {
        c->boot_time_logged = true;
        log_warn("the time of boot is not known, so times of start are left out");
    }
}

/* Each process is quarantined once, so each is worth a line. */
static void log_prober(struct collector *c)
{
    struct probes *p = &c->cycle.probes;
    bool off = probes_are_off(p);

    for (size_t i = 0; i < p->n_news; i++)
        log_info("a process does not answer, its memory is not read any more",
                 LOG_U64("pid", p->news[i].pid),
                 LOG_SPAN("comm", span_of(p->news[i].comm, p->news[i].comm_len)),
                 LOG_STR("part", part_name(p->news[i].part)));
    p->n_news = 0;
    if (off && !c->prober_off)
        log_warn(
            "too many processes do not answer, nobody's executable, command line, mappings and "
            "PSS are read any more",
            LOG_U64("hanging", prober_hanging(p->prober)));
    else if (!off && c->prober_off)
        log_info("executables, command lines, mappings and PSS are read again");
    c->prober_off = off;
}

static void log_lost_ends(struct collector *c)
{
    uint64_t lost = source_lost(c->bpf);

    if (lost == 0 || c->lost_ends_logged)
        return;
    c->lost_ends_logged = true;
    log_warn("ends of processes or threads were lost, what they used since the last snapshot is "
             "counted nowhere; said once, see proctally_lost_end_records_total",
             LOG_U64("lost", lost));
}

/* One line for each rule, however often it happens. */
static void log_rules(struct collector *c)
{
    struct rules *rules = &c->cycle.groups.rules;
    size_t number;

    while (rules_tell_limit(rules, &number))
        log_warn("a search of a command line takes too long and does not match; said once, see "
                 "proctally_rule_searches_given_up_total",
                 LOG_STR("section", rules->rules[number].own.exclude ? "exclude" : "group"),
                 LOG_SPAN("rule", rules->rules[number].own.name));
}

/* What the daemon tells of itself in this snapshot, but for what the cycle counted. */
static void fill_self(struct collector *c, struct self *ret)
{
    *ret = (struct self){0};
    collector_describe(ret, c->cycle.bpf != NULL, c->source_reason);
    ret->snapshots = c->snapshots + 1;
    memcpy(ret->failures, c->failures, sizeof(ret->failures));
    ret->phase_ns[PHASE_RENDER] = c->render_ns;
    ret->interval_ns = schedule_effective_interval(&c->schedule);
    pthread_mutex_lock(&c->lock);
    ret->reload_successful = c->reload_successful;
    ret->reload_success_time_ns = c->reload_success_time_ns;
    pthread_mutex_unlock(&c->lock);
    http_requests(c->http, ret->http_requests);
    ret->lost_end_records = source_lost(c->bpf);
    self_read(&c->self_reader, ret);
}

/* Takes the snapshot of the cycle just run, and publishes it. */
static int publish_cycle(struct collector *c, const struct cycle_time *began, bool scrape_expected)
{
    uint64_t collected_ns = clock_monotonic_ns(), taken_ns;
    struct slot *slot = publisher_begin(c->publisher);
    struct snapshot *snapshot;
    int r;

    if (!slot)
        return -EBUSY;
    snapshot = &slot->snapshot;
    fill_self(c, &snapshot->self);
    r = cycle_snapshot(&c->cycle, c->snapshots + 1, publisher_served(c->publisher), began,
                       &slot->arena, snapshot);
    if (r < 0) {
        publisher_abandon(c->publisher, slot);
        return r;
    }
    taken_ns = clock_monotonic_ns();
    snapshot->self.snapshot_time_ns = clock_realtime_ns();
    snapshot->self.phase_ns[PHASE_COLLECT] = collected_ns - began->monotonic_ns;
    snapshot->self.phase_ns[PHASE_TRACK] = taken_ns - collected_ns;
    c->told = snapshot->self;
    state_file_write(&c->state, &c->cycle);
    publisher_commit(c->publisher, slot, scrape_expected);
    c->render_ns = clock_monotonic_ns() - taken_ns;
    return 0;
}

static struct cycle_time clock_now(int watch)
{
    return (struct cycle_time){
        .clock_was_set = clock_was_set(watch),
        .monotonic_ns = clock_monotonic_ns(),
        .realtime_ns = clock_realtime_ns(),
        .boottime_ns = clock_boottime_ns(),
    };
}

/* The programs stay loaded, but note nothing that nobody asks for. */
static void leave_bpf(struct collector *c)
{
    if (!c->cycle.bpf_failed)
        return;
    c->cycle.bpf_failed = false;
    c->source_reason = source_reason_name(SOURCE_LOST);
    log_warn("the bpf source failed, processes are read from /proc from now on");
    source_pause(c->bpf);
}

static int run_once(struct collector *c, struct cycle_time *now)
{
    int r;

    *now = clock_now(c->clock_watch);
    source_drain(c->cycle.bpf, now->monotonic_ns);
    r = cycle_run(&c->cycle, now);
    leave_bpf(c);
    return r;
}

static void run_cycle(struct collector *c, bool scrape_expected)
{
    struct cycle_time now;
    int r;

    r = run_once(c, &now);
    for (unsigned run = 1; r == 0 && c->snapshots == 0 && cycle_is_to_settle(&c->cycle, run); run++)
        r = run_once(c, &now);
    if (r == 0)
        r = publish_cycle(c, &now, scrape_expected);
    log_faults(c);
    log_prober(c);
    log_rules(c);
    log_lost_ends(c);
    c->probe_ns = 0; /* at once: there may be answers already, and room */
    if (r < 0)
        note_failure(c, r);
    else
        note_success(c);
}

/* Puts settings that were handed over into effect; the lock is held. */
static void take_settings(struct collector *c)
{
    if (!c->have_settings)
        return;
    c->have_settings = false;
    c->settings_taken = c->settings_given;
    schedule_configure(&c->schedule, &c->settings.schedule);
    c->interval_logged = false;
    if (cycle_configure(&c->cycle, &c->settings.cycle) < 0)
        log_error("out of memory for the new settings, some fixed groups are missing");
}

/* Goes on with the prober between two cycles; the lock is held before and after. */
static void see_to_prober(struct collector *c)
{
    pthread_mutex_unlock(&c->lock);
    c->probe_ns = cycle_between(&c->cycle, clock_monotonic_ns());
    log_prober(c);
    pthread_mutex_lock(&c->lock);
}

/* Takes ends that the kernel has noted. True: so many wait that a cycle should not. */
static bool see_to_ends(struct collector *c)
{
    source_drain(c->cycle.bpf, clock_monotonic_ns());
    return source_is_full(c->cycle.bpf);
}

/* Sleeps until the time, unless others wake the thread or ends come in. */
static void sleep_until(struct collector *c, uint64_t until_ns, struct pollfd news[static 2])
{
    uint64_t now_ns = clock_monotonic_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                            .tv_nsec = (long)(left_ns % 1000000000u)};
    eventfd_t woken;

    news[0] = (struct pollfd){.fd = c->wake, .events = POLLIN};
    news[1] = (struct pollfd){.fd = source_fd(c->cycle.bpf), .events = POLLIN};
    pthread_mutex_unlock(&c->lock);
    if (ppoll(news, 2, &left, NULL) <= 0)
        news[0].revents = news[1].revents = 0;
    if (news[0].revents)
        (void)eventfd_read(c->wake, &woken);
    pthread_mutex_lock(&c->lock);
}

/*
 * Waits for the time, for new settings, for the stop, or until so many have ended that they should
 * be counted; the lock is held. False: stop.
 */
static bool wait_until(struct collector *c, uint64_t time_ns)
{
    bool over = false;

    while (!c->stop && !c->have_settings && !over) {
        uint64_t until_ns = c->probe_ns < time_ns ? c->probe_ns : time_ns;
        struct pollfd news[2];

        sleep_until(c, until_ns, news);
        if (c->stop || c->have_settings)
            break;
        if (news[1].revents)
            over = see_to_ends(c);
        if (over || clock_monotonic_ns() < until_ns)
            continue;
        over = until_ns == time_ns;
        if (!over)
            see_to_prober(c);
    }
    return !c->stop;
}

/* When to begin next, by the scrapes seen so far. */
static struct schedule_next plan(struct collector *c)
{
    uint64_t scrapes[PLAN_SCRAPES], now_ns = clock_monotonic_ns();
    size_t n = publisher_take_scrapes(c->publisher, scrapes, PLAN_SCRAPES);

    for (size_t i = 0; i < n; i++)
        arrivals_note(&c->arrivals, scrapes[i]);
    arrivals_pass(&c->arrivals, now_ns);
    return schedule_next(&c->schedule, &c->arrivals, now_ns);
}

/* Another interval than the configured one is in effect: said once, to who wants to know. */
static void log_interval(struct collector *c)
{
    uint64_t interval_ns = schedule_effective_interval(&c->schedule);

    if (c->interval_logged || interval_ns <= c->schedule.settings.interval_ns)
        return;
    c->interval_logged = true;
    log_debug("the interval grows to keep to cpu_budget",
              LOG_U64("interval_ms", interval_ns / 1000000));
}

/* Lets main know that a cycle has ended; the lock is held. */
static void note_progress(struct collector *c, uint64_t begun_ns, uint64_t ended_ns)
{
    struct collector_progress *p = &c->progress;

    p->cycles++;
    p->duration_ns = ended_ns - begun_ns;
    p->interval_ns = schedule_effective_interval(&c->schedule);
    if (p->snapshots != c->snapshots) {
        p->snapshots = c->snapshots;
        p->snapshot_ns = ended_ns;
        p->groups = c->cycle.groups.n_order;
    }
    p->families = c->cycle.families;
    p->self = c->told;
    p->self.interval_ns = p->interval_ns;
    memcpy(p->self.failures, c->failures, sizeof(p->self.failures));
    p->in_effect = c->settings_taken == c->settings_given;
    (void)eventfd_write(c->ended_cycles, 1);
}

/*
 * From when on the cycle counts. How late we were woken belongs to it, so that the next ones begin
 * so much sooner; but not how long we were stopped, or new settings brought it forward.
 */
static uint64_t counts_from(const struct schedule_next *planned, uint64_t begun_ns)
{
    if (begun_ns <= planned->begin_ns)
        return begun_ns;
    return begun_ns - planned->begin_ns < LATE_MAX_NS ? planned->begin_ns : begun_ns - LATE_MAX_NS;
}

/* CPU time of this thread and of those that read for it. */
static uint64_t cpu_used(const struct collector *c)
{
    return clock_thread_cpu_ns() + probes_cpu_ns(&c->cycle.probes);
}

/* What was used since the last call: by a cycle, and between it and the one before. */
static uint64_t cpu_of_cycle(struct collector *c)
{
    uint64_t before_ns = c->cpu_ns;

    c->cpu_ns = cpu_used(c);
    return c->cpu_ns - before_ns;
}

/* Runs a cycle and measures what it took; the lock is held before and after. */
static void run_planned(struct collector *c, const struct schedule_next *planned)
{
    uint64_t begun_ns = clock_monotonic_ns(), from_ns, ended_ns;
    /* What new settings brought forward is not near the scrape that was planned for. */
    uint64_t scrape_ns = begun_ns >= planned->begin_ns ? planned->scrape_ns : 0;

    /* Before the first cycle, and for what that one leaves behind, there is nothing to hear. */
    if (c->schedule.n_cycles < 2)
        c->cpu_ns = cpu_used(c);
    pthread_mutex_unlock(&c->lock);
    run_cycle(c, scrape_ns > 0);
    ended_ns = clock_monotonic_ns();
    pthread_mutex_lock(&c->lock);
    from_ns = counts_from(planned, begun_ns);
    schedule_note(&c->schedule, from_ns, ended_ns - from_ns, cpu_of_cycle(c), scrape_ns);
    note_progress(c, begun_ns, ended_ns);
    log_interval(c);
}

static void *collector_main(void *arg)
{
    struct collector *c = arg;
    struct schedule_next planned;

    pthread_setname_np(pthread_self(), "collector");
    pthread_mutex_lock(&c->lock);
    for (;;) {
        planned = plan(c);
        if (!wait_until(c, planned.begin_ns))
            break;
        take_settings(c);
        run_planned(c, &planned);
    }
    c->ended = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void init_sync(struct collector *c)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attr);
    pthread_condattr_destroy(&attr);
}

/* All but the thread. */
static void collector_free(struct collector *c)
{
    if (c->have_settings)
        cycle_settings_deinit(&c->settings.cycle);
    if (c->clock_watch >= 0)
        close(c->clock_watch);
    if (c->ended_cycles >= 0)
        close(c->ended_cycles);
    if (c->wake >= 0)
        close(c->wake);
    self_reader_deinit(&c->self_reader);
    state_file_close(&c->state);
    cycle_close(&c->cycle);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static int open_events(struct collector *c)
{
    c->ended_cycles = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (c->ended_cycles < 0)
        return -errno;
    c->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return c->wake < 0 ? -errno : 0;
}

int collector_start(const struct collector_parts *parts, struct collector_settings *settings,
                    struct collector **ret, struct buf *error)
{
    struct collector *c = calloc(1, sizeof(*c));
    struct cycle_time now = clock_now(-1);
    int r;

    if (!c) {
        buf_append_str(error, "out of memory");
        return -ENOMEM;
    }
    r = cycle_open(&c->cycle, CYCLE_DAEMON, parts->procfs, &now);
    if (r < 0) {
        buf_printf(error, "cannot read %s: %s", parts->procfs, strerror(-r));
        free(c);
        return r;
    }
    state_file_open(&c->state, parts->state_file, &c->cycle);
    init_sync(c);
    self_reader_init(&c->self_reader, c->cycle.procfs.ticks_per_second, c->cycle.procfs.page_size);
    c->publisher = parts->publisher;
    c->http = parts->http;
    c->source_reason = parts->source_reason;
    c->bpf = parts->bpf;
    cycle_use_bpf(&c->cycle, c->bpf);
    c->clock_watch = clock_watch_open();
    c->ended_cycles = c->wake = -1;
    c->reload_successful = true;
    c->reload_success_time_ns = now.realtime_ns;
    arrivals_init(&c->arrivals);
    schedule_init(&c->schedule, &settings->schedule, now.monotonic_ns);
    r = open_events(c);
    collector_configure(c, settings);
    if (r == 0)
        r = -pthread_create(&c->thread, NULL, collector_main, c);
    if (r < 0) {
        buf_printf(error, "cannot start the collector: %s", strerror(-r));
        collector_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

/* The lock is held. */
static bool wait_for_end(struct collector *c, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
    int r = 0;

    while (!c->ended && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&c->changed, &c->lock, &until);
    return c->ended;
}

struct collector *collector_stop(struct collector *c, uint64_t patience_ns)
{
    bool ended;

    pthread_mutex_lock(&c->lock);
    c->stop = true;
    (void)eventfd_write(c->wake, 1);
    ended = wait_for_end(c, clock_monotonic_ns() + patience_ns);
    pthread_mutex_unlock(&c->lock);
    if (!ended)
        return c;
    pthread_join(c->thread, NULL);
    collector_free(c);
    return NULL;
}

void collector_configure(struct collector *c, struct collector_settings *settings)
{
    pthread_mutex_lock(&c->lock);
    if (c->have_settings)
        cycle_settings_deinit(&c->settings.cycle);
    c->settings = *settings;
    rules_init(&settings->cycle.rules);
    settings->cycle.threads = (struct globs){0};
    c->have_settings = true;
    c->settings_given++;
    c->progress.in_effect = false;
    (void)eventfd_write(c->wake, 1);
    pthread_mutex_unlock(&c->lock);
}

void collector_note_reload(struct collector *c, bool successful)
{
    pthread_mutex_lock(&c->lock);
    c->reload_successful = successful;
    if (successful)
        c->reload_success_time_ns = clock_realtime_ns();
    pthread_mutex_unlock(&c->lock);
}

int collector_fd(const struct collector *c)
{
    return c->ended_cycles;
}

void collector_progress(struct collector *c, struct collector_progress *ret)
{
    eventfd_t ended;

    (void)eventfd_read(c->ended_cycles, &ended);
    pthread_mutex_lock(&c->lock);
    *ret = c->progress;
    ret->self.reload_successful = c->reload_successful;
    ret->self.reload_success_time_ns = c->reload_success_time_ns;
    pthread_mutex_unlock(&c->lock);
}
