/*
 * main - starts the daemon's parts in order, waits for signals, stops them in reverse.
 *
 * Exit status: 0 done, 1 failed at start or while running, 2 wrong usage or configuration.
 */
#include "daemon/clock.h"
#include "daemon/collector.h"
#include "daemon/config.h"
#include "daemon/explain.h"
#include "daemon/healthcheck.h"
#include "daemon/http.h"
#include "daemon/log.h"
#include "daemon/once.h"
#include "daemon/options.h"
#include "daemon/overseer.h"
#include "daemon/privileges.h"
#include "daemon/publish.h"
#include "daemon/service.h"
#include "daemon/settings.h"
#include "daemon/signals.h"
#include "daemon/source_choice.h"
#include "daemon/version.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
};

enum {
    DESCRIPTORS_LEAST = 16,
    /* Of files and the prober's requests, and some to spare. */
    DESCRIPTORS_OWN = 128,
    LARGE_BLOCK_BYTES = 128 * 1024,
};

static const uint64_t FIRST_CYCLE_PATIENCE_NS = 1000000000u;
/* With the time that http_stop() may take, less than the 5 s in which the daemon ends. */
static const uint64_t COLLECTOR_PATIENCE_NS = 2500000000u;

struct daemon {
    const struct options *options;
    struct config config;
    uint64_t max_connections; /* as configured, or as many as descriptors allow */
    int signals;
    struct source_choice source;
    struct publisher *publisher;
    struct http *http;
    struct collector *collector;
    struct overseer overseer;
};

/* Descriptors 0 to 2 must be something, lest a socket becomes the place for log lines. */
static void hold_standard_descriptors(void)
{
    int fd;

    /* What is written to a closed standard output must fail, so it gets one that takes nothing. */
    do
        fd = open("/dev/null",
                  fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) < 0 ? O_PATH
                                                                                         : O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/*
 * Where it may choose, glibc keeps blocks as large as one that was freed before in its heap, from
 * which they do not get back: pages that many clients held at once would stay for ever.
 */
static void map_large_blocks(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
#endif
}

static int complain(const struct buf *error, int status)
{
    fprintf(stderr, "proctallyd: %.*s\n", (int)error->len, error->data ? error->data : "");
    return status;
}

static int start_signals(struct daemon *d, struct buf *error)
{
    d->signals = signals_open();
    if (d->signals < 0)
        buf_printf(error, "cannot wait for signals: %s", strerror(-d->signals));
    return d->signals < 0 ? d->signals : 0;
}

/* Sockets of a socket unit stand for those of the configuration. */
static int open_http(struct daemon *d, struct buf *error)
{
    uint64_t per_address = d->config.max_connections_per_address;
    struct http_settings settings = {
        .listen = d->config.listen.items,
        .n_listen = d->config.listen.n,
        .telemetry_path = d->config.telemetry_path,
        .max_connections = (uint32_t)d->max_connections,
        .max_connections_per_address =
            (uint32_t)(per_address < d->max_connections ? per_address : d->max_connections),
        .request_deadline_ns = d->config.request_deadline_ns};
    struct service_sockets sockets;
    int r;

    r = service_take_sockets(&sockets, error);
    if (r < 0)
        return r;
    settings.sockets = sockets.fd;
    settings.n_sockets = sockets.n;
    d->publisher = publisher_new(sockets.n > 0 ? sockets.n : d->config.listen.n);
    if (!d->publisher) {
        buf_append_str(error, "out of memory");
        return -ENOMEM;
    }
    return http_open(&settings, d->publisher, &d->http, error);
}

static int start_collector(struct daemon *d, struct buf *error)
{
    struct collector_parts parts = {.procfs = d->config.procfs,
                                    .state_file = d->config.state_file,
                                    .publisher = d->publisher,
                                    .http = d->http,
                                    .bpf = d->source.bpf,
                                    .source_reason = source_reason_name(d->source.reason)};
    struct collector_settings settings;
    int r;

    r = settings_make(&d->config, &settings, error);
    if (r < 0)
        return r;
    r = collector_start(&parts, &settings, &d->collector, error);
    if (r < 0)
        cycle_settings_deinit(&settings.cycle);
    return r;
}

static void start_overseer(struct daemon *d)
{
    struct overseer_parts parts = {.collector = d->collector,
                                   .publisher = d->publisher,
                                   .http = d->http,
                                   .stale_after = d->config.stale_after};

    overseer_init(&d->overseer, &parts);
}

/* Until a signal, the end of a cycle, or the time. */
static void wait_for_news(const struct daemon *d, uint64_t ns)
{
    struct pollfd news[] = {{.fd = d->signals, .events = POLLIN},
                            {.fd = collector_fd(d->collector), .events = POLLIN}};
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};

    (void)ppoll(news, sizeof(news) / sizeof(news[0]), &time, NULL);
}

static void log_started(const struct daemon *d)
{
    const char *place;

    for (size_t i = 0; (place = http_place(d->http, i)); i++)
        log_info("listening", LOG_STR("address", place), LOG_STR("path", d->config.telemetry_path));
    log_info("started", LOG_STR("version", PROCTALLY_VERSION), LOG_STR("procfs", d->config.procfs),
             LOG_STR("source", source_choice_name(&d->source)),
             LOG_STR("reason", source_reason_name(d->source.reason)));
}

/* Under a low limit clients get at most half of it; who comes then takes the place of another. */
static uint64_t connections_that_fit(const struct config *c, uint64_t limit)
{
    uint64_t own = limit / 2 < DESCRIPTORS_OWN ? limit / 2 : DESCRIPTORS_OWN;
    uint64_t n = c->max_connections;

    while (n > 1 && own + http_descriptors_max(n, c->listen.n) > limit)
        n--;
    return n;
}

/*
 * As many connections as may be must leave enough to open files, which is more than the usual
 * limit where the configuration allows a thousand. Where there are not enough, fewer may be. Below
 * the least a start fails half way, or no cycle could open its files.
 */
static int provide_descriptors(struct daemon *d, struct buf *error)
{
    const struct config *c = &d->config;
    rlim_t enough = DESCRIPTORS_OWN + http_descriptors_max(c->max_connections, c->listen.n);
    struct rlimit limit;

    d->max_connections = c->max_connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur < enough && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = enough < limit.rlim_max ? enough : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < enough) {
        d->max_connections = connections_that_fit(c, limit.rlim_cur);
        log_warn("the limit of open files is too low for max_connections, fewer clients are held",
                 LOG_U64("limit", limit.rlim_cur), LOG_U64("enough", enough),
                 LOG_U64("connections", d->max_connections));
    }
    if (limit.rlim_cur >= DESCRIPTORS_LEAST)
        return 0;
    buf_printf(error, "RLIMIT_NOFILE allows %ju descriptors, %d are the least",
               (uintmax_t)limit.rlim_cur, DESCRIPTORS_LEAST);
    return -EMFILE;
}

/*
 * In this order, so that who connects meanwhile, or by doing so had systemd start the daemon, as
 * a rule finds figures when his request is taken.
 */
static int start(struct daemon *d, struct buf *error)
{
    int r;

    r = provide_descriptors(d, error);
    if (r == 0)
        r = start_signals(d, error);
    if (r == 0)
        r = source_choice_make(&d->source, &d->config, error);
    if (r == 0)
        r = open_http(d, error);
    if (r == 0)
        r = start_collector(d, error);
    if (r < 0)
        return r;
    /* What the collector may have had to keep is not for this thread, or those of HTTP. */
    (void)privileges_drop(false);
    start_overseer(d);
    wait_for_news(d, FIRST_CYCLE_PATIENCE_NS);
    r = http_serve(d->http, error);
    if (r == 0)
        log_started(d);
    return r;
}

/* A collector that hangs uses what would have to be freed: nothing is left but to go. */
static void leave(void)
{
    log_warn("the collection under way does not end, it is left at that");
    _exit(EXIT_DONE);
}

static void stop(struct daemon *d)
{
    service_tell_stopping();
    if (d->collector) {
        d->collector = collector_stop(d->collector, COLLECTOR_PATIENCE_NS);
        if (d->collector)
            leave();
        overseer_deinit(&d->overseer);
    }
    if (d->http)
        d->http = http_stop(d->http);
    if (d->publisher)
        d->publisher = publisher_free(d->publisher);
    source_choice_deinit(&d->source);
    if (d->signals >= 0)
        close(d->signals);
}

/* What only a start puts into effect. */
static void warn_of_fixed_settings(const struct config *before, const struct config *after)
{
    bool same = before->listen.n == after->listen.n &&
                strcmp(before->telemetry_path, after->telemetry_path) == 0 &&
                strcmp(before->procfs, after->procfs) == 0 && before->source == after->source &&
                strcmp(before->state_file, after->state_file) == 0 &&
                before->max_connections == after->max_connections &&
                before->max_connections_per_address == after->max_connections_per_address &&
                before->request_deadline_ns == after->request_deadline_ns;

    for (size_t i = 0; same && i < before->listen.n; i++)
        same = address_equal(&before->listen.items[i], &after->listen.items[i]);
    if (!same)
        log_warn("source, procfs and the settings of [web] and [state] change at the next start "
                 "only");
}

/* Parses aside and swaps; whatever is wrong leaves the old configuration in effect. */
static int reload(struct daemon *d, struct buf *error)
{
    struct collector_settings settings;
    struct config config;
    int r;

    config_init(&config);
    r = config_load(d->options, &config, error);
    if (r == 0)
        r = settings_make(&config, &settings, error);
    if (r < 0) {
        config_deinit(&config);
        return r;
    }
    warn_of_fixed_settings(&d->config, &config);
    log_configure(config.log_level, config.log_format);
    config_deinit(&d->config);
    d->config = config;
    collector_note_reload(d->collector, true);
    collector_configure(d->collector, &settings);
    return 0;
}

static void handle_reload(struct daemon *d)
{
    struct buf error;
    bool successful;

    buf_init(&error, CONFIG_ERROR_MAX);
    overseer_begin_reload(&d->overseer);
    successful = reload(d, &error) == 0;
    if (successful) {
        log_info("configuration reloaded",
                 LOG_STR("file", d->config.file ? d->config.file : "none"));
    } else {
        collector_note_reload(d->collector, false);
        log_error("configuration refused, the old one stays", LOG_SPAN("error", buf_span(&error)));
    }
    overseer_end_reload(&d->overseer, successful, d->config.stale_after);
    buf_deinit(&error);
}

/* Until the signal that ends the daemon. */
static void serve(struct daemon *d)
{
    int signal_number;

    do {
        uint64_t sweep_ns = http_sweep(d->http), look_ns = overseer_look(&d->overseer);

        wait_for_news(d, sweep_ns < look_ns ? sweep_ns : look_ns);
        signal_number = signals_next(d->signals);
        if (signal_number == SIGHUP)
            handle_reload(d);
    } while (signal_number == 0 || signal_number == SIGHUP);
    log_info("stopping", LOG_STR("signal", sigabbrev_np(signal_number)));
}

static int run(struct daemon *d, struct buf *error)
{
    int r;

    log_init(STDERR_FILENO, clock_realtime_ns);
    log_configure(d->config.log_level, d->config.log_format);
    service_log_to_journal();
    r = start(d, error);
    if (r == 0)
        serve(d);
    stop(d);
    log_deinit();
    return r < 0 ? complain(error, EXIT_FAILED) : EXIT_DONE;
}

static int print_config(const struct config *c, struct buf *error)
{
    int r = config_print(c, stdout);

    if (r == 0 && fflush(stdout) != 0)
        r = -errno;
    if (r == 0)
        return EXIT_DONE;
    buf_printf(error, "cannot write the settings: %s", strerror(-r));
    return complain(error, EXIT_FAILED);
}

/*
 * A health check that is told the address needs no file: a bad one does not concern a daemon that
 * goes on with the old one.
 */
static int load(const struct options *options, struct config *ret, struct buf *error)
{
    for (size_t i = 0; options->healthcheck && i < options->n_given; i++)
        if (options->given[i].option == OPTION_WEB_LISTEN)
            return config_parse(SPAN_LITERAL(""), "", options, ret, error);
    return config_load(options, ret, error);
}

static bool serves(const struct options *options)
{
    return !options->once && !options->check_config && !options->explain && !options->healthcheck;
}

static int load_and_run(const struct options *options, struct buf *error)
{
    struct daemon d = {.options = options, .signals = -1};
    int status;

    /* From early on: a reload asked for now is done once there is something to reload. */
    if (serves(options))
        signals_hold();
    config_init(&d.config);
    if (load(options, &d.config, error) < 0)
        return complain(error, options->healthcheck ? EXIT_FAILED : EXIT_USAGE);
    if (options->healthcheck)
        status = healthcheck_run(&d.config.listen.items[0], error) < 0
                     ? complain(error, EXIT_FAILED)
                     : EXIT_DONE;
    else if (options->check_config)
        status = print_config(&d.config, error);
    else if (options->explain)
        status = explain_run(&d.config, options->explain_pid, stdout, error) < 0
                     ? complain(error, EXIT_FAILED)
                     : EXIT_DONE;
    else if (options->once)
        status = once_run(&d.config, source_reason_name(source_choice_of_one_look(&d.config)),
                          stdout, error) < 0
                     ? complain(error, EXIT_FAILED)
                     : EXIT_DONE;
    else
        status = run(&d, error);
    config_deinit(&d.config);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    struct buf error;
    int status = EXIT_DONE;

    hold_standard_descriptors();
    map_large_blocks();
    buf_init(&error, CONFIG_ERROR_MAX);
    options_init(&options);
    if (options_parse(argc, argv, &options, &error) < 0)
        status = complain(&error, EXIT_USAGE);
    else if (options.help)
        options_help(stdout);
    else if (options.version)
        printf("proctallyd %s (revision %s, libmicrohttpd %s, %s, %s)\n", PROCTALLY_VERSION,
               PROCTALLY_REVISION, http_library_version(), service_library(),
               source_choice_library());
    else
        status = load_and_run(&options, &error);
    /* Pages and settings complained themselves; this is for help and version. */
    if (status == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        status = EXIT_FAILED;
    options_deinit(&options);
    buf_deinit(&error);
    return status;
}
