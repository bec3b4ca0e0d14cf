/*
 * source_choice - which source of processes the daemon takes, and why.
 *
 * The source is tried as it is going to be used: loaded first, privileges given up, then tested. So
 * what works without them was seen to.
 */
#include "daemon/source_choice.h"

#include "daemon/bpf_trial.h"
#include "daemon/log.h"
#include "daemon/own_procfs.h"
#include "daemon/privileges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef PROCTALLY_WITH_BPF
#include "bpf/programs.h"
#include "bpf/source.h"
#endif

const char *source_reason_name(enum source_reason reason)
{
    static const char *const names[SOURCE_REASON_N] = {
        [SOURCE_CONFIGURED] = "configured",
        [SOURCE_NOT_BUILT] = "not_built",
        [SOURCE_NOT_NEEDED] = "not_needed",
        [SOURCE_FOREIGN_PROCFS] = "foreign_procfs",
        [SOURCE_NOT_PERMITTED] = "not_permitted",
        [SOURCE_NO_BTF] = "no_btf",
        [SOURCE_REFUSED] = "refused",
        [SOURCE_NO_MEMORY] = "no_memory",
        [SOURCE_SELF_TEST_PASSED] = "self_test_passed",
        [SOURCE_SELF_TEST_FAILED] = "self_test_failed",
        [SOURCE_LOST] = "lost",
    };

    return names[reason];
}

const char *source_choice_name(const struct source_choice *s)
{
    return s->bpf ? "bpf" : "procfs";
}

/* It goes on with them: it works as well, and who gave them knows that it has them. */
static void drop_privileges(bool walks)
{
    int r = privileges_drop(walks);

    if (r < 0)
        log_warn("cannot give up CAP_BPF and CAP_PERFMON", LOG_ERRNO("error", r));
}

#ifdef PROCTALLY_WITH_BPF

const char *source_choice_library(void)
{
    static char text[32];

    snprintf(text, sizeof(text), "libbpf %s", programs_library_version());
    return text;
}

enum source_reason source_choice_of_one_look(const struct config *c)
{
    return c->source == CONFIG_SOURCE_PROCFS ? SOURCE_CONFIGURED : SOURCE_NOT_NEEDED;
}

void source_choice_deinit(struct source_choice *s)
{
    if (!s->bpf)
        return;
    bpf_source_close(s->bpf);
    free(s->bpf);
    s->bpf = NULL;
}

/* The source holds some 16; of fewer than this, cycles and clients would lack them. */
enum { DESCRIPTORS_LEAST = 64 };

/* An attempt to have it: the source, or why not. */
struct attempt {
    struct bpf_source *source;
    enum source_reason reason; /* without a source */
    int error;                 /* a negative errno */
    struct buf *why;           /* for people, on one line */
};

static void fail(struct attempt *a, enum source_reason reason, int error)
{
    a->reason = reason;
    a->error = error;
}

static void tell_failure(struct attempt *a, enum programs_failure failure)
{
    switch (failure) {
    case PROGRAMS_NO_BTF:
        a->reason = SOURCE_NO_BTF;
        buf_append_str(a->why, "the kernel does not describe itself in /sys/kernel/btf/vmlinux "
                               "(CONFIG_DEBUG_INFO_BTF)");
        break;
    case PROGRAMS_DENIED:
        a->reason = SOURCE_NOT_PERMITTED;
        buf_append_str(a->why,
                       "bpf(2) is refused by a seccomp profile, a security module or a "
                       "user namespace, or before Linux 5.11 by the limit of locked memory");
        break;
    case PROGRAMS_REFUSED:
        a->reason = SOURCE_REFUSED;
        buf_printf(a->why,
                   "the kernel does not take the programs (%s): it must be 5.10 or later, and "
                   "not locked down",
                   strerror(-a->error));
        break;
    case PROGRAMS_NO_MEMORY:
        a->reason = SOURCE_NO_MEMORY;
        buf_append_str(a->why, "not enough memory");
        break;
    }
}

static void load(struct attempt *a, const struct procfs *fs)
{
    struct task_units units = {.ticks_per_second = fs->ticks_per_second,
                               .page_size = fs->page_size};
    struct bpf_source *source = malloc(sizeof(*source));
    enum programs_failure failure = PROGRAMS_NO_MEMORY;

    a->error = source ? bpf_source_open(source, &units, &failure) : -ENOMEM;
    if (a->error < 0) {
        tell_failure(a, failure);
        free(source);
        return;
    }
    a->source = source;
}

static void give_back(struct attempt *a)
{
    bpf_source_close(a->source);
    free(a->source);
    a->source = NULL;
}

/* What loading takes, where that can be told beforehand: it reads megabytes. */
static bool may_load(struct attempt *a, struct procfs *fs, const char *path)
{
    struct rlimit limit;

    if (!own_procfs(fs)) {
        fail(a, SOURCE_FOREIGN_PROCFS, -EXDEV);
        buf_printf(a->why, "%s is no procfs of this process' own pid namespace", path);
        return false;
    }
    if (!privileges_to_load()) {
        fail(a, SOURCE_NOT_PERMITTED, -EPERM);
        buf_append_str(a->why, "it takes CAP_BPF and CAP_PERFMON");
        return false;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_LEAST) {
        fail(a, SOURCE_REFUSED, -EMFILE);
        buf_printf(a->why, "RLIMIT_NOFILE allows %ju descriptors, it takes %d",
                   (uintmax_t)limit.rlim_cur, DESCRIPTORS_LEAST);
        return false;
    }
    return true;
}

static void test(struct attempt *a, struct procfs *fs)
{
    int r = bpf_trial(a->source, fs, a->why);

    if (r == 0)
        return;
    fail(a, SOURCE_SELF_TEST_FAILED, r);
    give_back(a);
}

static void attempt_in(struct attempt *a, struct procfs *fs, const char *path)
{
    if (may_load(a, fs, path))
        load(a, fs);
    drop_privileges(a->source != NULL);
    if (a->source)
        test(a, fs);
}

/* Where the procfs cannot be read at all, the collector tells that. */
static void attempt(struct attempt *a, const char *path)
{
    struct procfs fs = {.root = -1};
    int r = procfs_open(&fs, path, (uint32_t)sysconf(_SC_CLK_TCK), (uint32_t)sysconf(_SC_PAGESIZE));

    if (r < 0) {
        fail(a, SOURCE_FOREIGN_PROCFS, r);
        buf_printf(a->why, "cannot read %s: %s", path, strerror(-r));
        drop_privileges(false);
        return;
    }
    attempt_in(a, &fs, path);
    procfs_close(&fs);
}

static int settle(struct source_choice *ret, const struct config *c, const struct attempt *a,
                  struct buf *error)
{
    struct span why = buf_span(a->why);
    bool asked_for = c->source == CONFIG_SOURCE_BPF;

    if (!a->source && asked_for) {
        buf_append_str(error, "the source bpf cannot be had: ");
        buf_append_span(error, why);
        return a->error;
    }
    if (!a->source)
        log_info("the source bpf cannot be had, procfs is taken",
                 LOG_STR("reason", source_reason_name(a->reason)), LOG_SPAN("error", why));
    *ret = (struct source_choice){.bpf = a->source, .reason = a->reason};
    if (a->source)
        ret->reason = asked_for ? SOURCE_CONFIGURED : SOURCE_SELF_TEST_PASSED;
    return 0;
}

int source_choice_make(struct source_choice *ret, const struct config *c, struct buf *error)
{
    struct buf why;
    struct attempt a = {.why = &why};
    int r;

    if (c->source == CONFIG_SOURCE_PROCFS) {
        drop_privileges(false);
        *ret = (struct source_choice){.reason = SOURCE_CONFIGURED};
        return 0;
    }
    buf_init(&why, CONFIG_ERROR_MAX);
    attempt(&a, c->procfs);
    r = settle(ret, c, &a, error);
    buf_deinit(&why);
    return r;
}

#else

const char *source_choice_library(void)
{
    return "no libbpf";
}

enum source_reason source_choice_of_one_look(const struct config *c)
{
    return c->source == CONFIG_SOURCE_PROCFS ? SOURCE_CONFIGURED : SOURCE_NOT_BUILT;
}

void source_choice_deinit(struct source_choice *s)
{
    (void)s;
}

int source_choice_make(struct source_choice *ret, const struct config *c, struct buf *error)
{
    (void)error;
    drop_privileges(false);
    *ret = (struct source_choice){.reason = source_choice_of_one_look(c)};
    return 0;
}

#endif
