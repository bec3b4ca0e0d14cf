/* self - what the daemon measures of itself. */
#include "daemon/self.h"

#include "base/ticks.h"
#include "daemon/clock.h"
#include "procfs/boot_time.h"
#include "procfs/process.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void self_reader_init(struct self_reader *r, uint32_t ticks_per_second, uint32_t page_size)
{
    struct boot_time boot_time = {0};

    *r = (struct self_reader){.procfs.root = -1};
    if (procfs_open(&r->procfs, "/proc", ticks_per_second, page_size) < 0) {
        r->procfs = (struct procfs){.root = -1};
        return;
    }
    if (boot_time_read(&boot_time, &r->procfs) < 0)
        return;
    r->have_boot_time = true;
    r->boot_time_seconds = boot_time.seconds;
}

void self_reader_deinit(struct self_reader *r)
{
    procfs_close(&r->procfs);
}

static void self_set(struct self *s, enum self_process_field field, uint64_t value)
{
    s->process[field] = value;
    s->have_process |= UINT32_C(1) << field;
}

static void self_set_limit(struct self *s, enum self_process_field field, __rlimit_resource_t which)
{
    struct rlimit limit;

    if (getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        self_set(s, field, limit.rlim_cur);
}

static void self_take_gauge(struct self *s, enum self_process_field field, const struct sample *own,
                            enum gauge gauge)
{
    if (sample_has_gauge(own, gauge))
        self_set(s, field, own->gauge[gauge]);
}

static void self_take_resident(struct self *s, const struct sample *own)
{
    if (sample_has_gauge(own, GAUGE_RESIDENT_ANON_BYTES) &&
        sample_has_gauge(own, GAUGE_RESIDENT_FILE_BYTES) &&
        sample_has_gauge(own, GAUGE_RESIDENT_SHMEM_BYTES))
        self_set(s, SELF_RESIDENT_BYTES,
                 own->gauge[GAUGE_RESIDENT_ANON_BYTES] + own->gauge[GAUGE_RESIDENT_FILE_BYTES] +
                     own->gauge[GAUGE_RESIDENT_SHMEM_BYTES]);
}

static void self_take_start(const struct self_reader *r, struct self *s, const struct sample *own)
{
    uint64_t ns;

    /* A sample without one field of stat has no start either. */
    if (r->have_boot_time && own->have_gauges != 0 &&
        ticks_since_epoch(r->boot_time_seconds, own->identity.start_ticks,
                          r->procfs.ticks_per_second, &ns))
        self_set(s, SELF_START_TIME_NS, ns);
}

void self_read(struct self_reader *r, struct self *ret)
{
    uint32_t parts = part_bit(PART_STATUS) | part_bit(PART_FD);
    struct faults faults = {0};
    struct sample own;

    ret->have_process = 0;
    self_set(ret, SELF_CPU_NS, clock_process_cpu_ns());
    self_set_limit(ret, SELF_MAX_FDS, RLIMIT_NOFILE);
    self_set_limit(ret, SELF_VIRTUAL_MAX_BYTES, RLIMIT_AS);
    if (r->procfs.root < 0)
        return;
    if (process_begin(&r->procfs, (uint32_t)getpid(), &faults, &own) == 0)
        (void)process_read(&r->procfs, parts, &faults, &own);
    else
        own.have_gauges = 0;
    process_end(&r->procfs);
    self_take_gauge(ret, SELF_VIRTUAL_BYTES, &own, GAUGE_VIRTUAL_BYTES);
    self_take_gauge(ret, SELF_OPEN_FDS, &own, GAUGE_OPEN_FDS);
    self_take_gauge(ret, SELF_THREADS, &own, GAUGE_THREADS);
    self_take_resident(ret, &own);
    self_take_start(r, ret, &own);
}
