/* once - one page of totals since process start. */
#include "daemon/once.h"

#include "daemon/clock.h"
#include "daemon/cycle.h"
#include "daemon/self.h"
#include "daemon/settings.h"
#include "expose/render.h"

#include <errno.h>
#include <string.h>

enum { ONCE_MAX_BYTES = 512 * 1024 * 1024 };

static void fill_self(const struct cycle *c, const char *source_reason, struct self *ret)
{
    struct self_reader reader;

    *ret = (struct self){.snapshots = 1, .reload_successful = true};
    collector_describe(ret, c->bpf != NULL, source_reason);
    self_reader_init(&reader, c->procfs.ticks_per_second, c->procfs.page_size);
    self_read(&reader, ret);
    self_reader_deinit(&reader);
}

struct cycle_time once_now(void)
{
    return (struct cycle_time){.monotonic_ns = clock_monotonic_ns(),
                               .realtime_ns = clock_realtime_ns(),
                               .boottime_ns = clock_boottime_ns()};
}

int once_collect(struct cycle *c, struct cycle_time *now)
{
    int r = cycle_run(c, now);

    for (unsigned run = 1; r == 0 && cycle_is_to_settle(c, run); run++) {
        *now = once_now();
        r = cycle_run(c, now);
    }
    return r;
}

/* Collects and renders the snapshot. */
static int collect_page(struct cycle *c, struct cycle_time *now, const char *source_reason,
                        struct arena *arena, struct buf *page)
{
    struct snapshot snapshot = {0};
    uint64_t collected_ns;
    int r;

    r = once_collect(c, now);
    if (r < 0)
        return r;
    collected_ns = clock_monotonic_ns();
    fill_self(c, source_reason, &snapshot.self);
    r = cycle_snapshot(c, 1, 0, now, arena, &snapshot);
    if (r < 0)
        return r;
    snapshot.self.snapshot_time_ns = clock_realtime_ns();
    snapshot.self.reload_success_time_ns = now->realtime_ns;
    snapshot.self.phase_ns[PHASE_COLLECT] = collected_ns - now->monotonic_ns;
    snapshot.self.phase_ns[PHASE_TRACK] = clock_monotonic_ns() - collected_ns;
    render(&snapshot, FORMAT_TEXT, NULL, page);
    return buf_failed(page) ? -ENOMEM : 0;
}

int once_write(const struct buf *text, FILE *out)
{
    if (fwrite(text->data, 1, text->len, out) != text->len || fflush(out) != 0)
        return errno ? -errno : -EIO;
    return 0;
}

int once_run(const struct config *c, const char *source_reason, FILE *out, struct buf *error)
{
    struct cycle_time now = once_now();
    struct collector_settings settings;
    struct cycle cycle;
    struct arena arena;
    struct buf page;
    int r;

    r = settings_make(c, &settings, error);
    if (r < 0)
        return r;
    r = cycle_open(&cycle, CYCLE_ONCE, c->procfs, &now);
    if (r < 0) {
        cycle_settings_deinit(&settings.cycle);
        buf_printf(error, "cannot read %s: %s", c->procfs, strerror(-r));
        return r;
    }
    arena_init(&arena, ONCE_MAX_BYTES);
    buf_init(&page, ONCE_MAX_BYTES);
    r = cycle_configure(&cycle, &settings.cycle);
    if (r == 0)
        r = collect_page(&cycle, &now, source_reason, &arena, &page);
    if (r < 0) {
        buf_printf(error, "cannot collect from %s: %s", c->procfs, strerror(-r));
    } else {
        r = once_write(&page, out);
        if (r < 0)
            buf_printf(error, "cannot write the page: %s", strerror(-r));
    }
    buf_deinit(&page);
    arena_deinit(&arena);
    cycle_close(&cycle);
    return r;
}
