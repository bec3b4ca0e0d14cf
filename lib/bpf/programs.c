/*
 * programs - the programs in the kernel: loaded, attached, asked.
 *
 * libbpf tells what it does on standard error, in its own words and many lines; here it is quiet,
 * for a refusal is an ordinary outcome with a reason of ours.
 */
#include "bpf/programs.h"

#include "bpf/kernel_traits.h"
#include "bpf/record.h"
#include "bpf/skeleton.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the first namespaces, in every kernel: PROC_PID_INIT_INO, PROC_CGROUP_INIT_INO. */
static const ino_t FIRST_PID_NAMESPACE = 0xeffffffc, FIRST_CGROUP_NAMESPACE = 0xeffffffb;
enum {
    CPUS_MAX = 1024, /* as the programs have it */
    SWEEP_AT_ONCE = 256,
};

struct programs {
    struct proctally_bpf *skeleton;
    struct bpf_link *walk;
    struct ring_buffer *ring;
    programs_record_function *function; /* while draining */
    void *arg;
    struct exit_key keys[SWEEP_AT_ONCE];
    struct exiting exiting[SWEEP_AT_ONCE];
};

static bool use_casts = true;

static int silence(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level;
    (void)format;
    (void)args;
    return 0;
}

static int take_record(void *arg, void *bytes, size_t n)
{
    struct programs *p = arg;

    p->function(p->arg, bytes, n);
    return 0;
}

static bool is_namespace(const char *path, ino_t number)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_ino == number;
}

static void configure(struct proctally_bpf *s, const struct kernel_traits *traits)
{
    int cpus = libbpf_num_possible_cpus();
    bool namespaced = !is_namespace("/proc/self/ns/pid", FIRST_PID_NAMESPACE);

    s->rodata->namespaced = namespaced;
    s->rodata->n_cpus =
        traits->memory_in_parts && cpus > 0 && cpus <= CPUS_MAX ? (uint32_t)cpus : 0;
    bpf_program__set_autoload(s->progs.learn_cpus, s->rodata->n_cpus > 0);
    /* In another namespace paths begin elsewhere, and most are of processes that are not seen. */
    bpf_program__set_autoload(s->progs.note_cgroup,
                              !namespaced &&
                                  is_namespace("/proc/self/ns/cgroup", FIRST_CGROUP_NAMESPACE));
}

static int learn_cpus(struct proctally_bpf *s)
{
    LIBBPF_OPTS(bpf_test_run_opts, options);
    int r;

    if (s->rodata->n_cpus == 0)
        return 0;
    r = bpf_prog_test_run_opts(bpf_program__fd(s->progs.learn_cpus), &options);
    if (r < 0)
        return r;
    return options.retval == s->rodata->n_cpus ? 0 : -ENOTSUP;
}

static int attach(struct bpf_link **link, const struct bpf_program *program)
{
    if (*link || !bpf_program__autoload(program))
        return 0;
    *link = bpf_program__attach(program);
    return *link ? 0 : -errno;
}

static void detach(struct bpf_link **link)
{
    bpf_link__destroy(*link);
    *link = NULL;
}

int programs_resume(struct programs *p)
{
    struct proctally_bpf *s = p->skeleton;
    int r;

    r = attach(&s->links.note_cgroup, s->progs.note_cgroup);
    /* Whoever's exit was not noted has no number later on. */
    if (r == 0)
        r = attach(&s->links.note_exit, s->progs.note_exit);
    if (r == 0)
        r = attach(&s->links.note_victim, s->progs.note_victim);
    if (r == 0)
        r = attach(&s->links.note_end, s->progs.note_end);
    if (r < 0)
        programs_pause(p);
    return r;
}

void programs_pause(struct programs *p)
{
    detach(&p->skeleton->links.note_end);
    detach(&p->skeleton->links.note_victim);
    detach(&p->skeleton->links.note_exit);
    detach(&p->skeleton->links.note_cgroup);
}

/* The first walk learns the reader's namespace, which ends are then told apart by. */
static int walk_once(struct programs *p)
{
    char bytes[4096];
    ssize_t n;
    int fd = programs_walk(p);

    if (fd < 0)
        return fd;
    n = read(fd, bytes, sizeof(bytes));
    close(fd);
    return n > 0 ? 0 : n == 0 ? -ENODATA : -errno;
}

static void unload(struct programs *p)
{
    ring_buffer__free(p->ring);
    bpf_link__destroy(p->walk);
    proctally_bpf__destroy(p->skeleton);
    *p = (struct programs){0};
}

static int load_build(struct programs *p, enum skeleton_build build,
                      const struct kernel_traits *traits)
{
    int r;

    p->skeleton = skeleton_open(build);
    if (!p->skeleton)
        return -errno;
    configure(p->skeleton, traits);
    r = proctally_bpf__load(p->skeleton);
    /* They are not there where libbpf has found that the kernel maps no variables. */
    if (r == 0 && (!p->skeleton->rodata || !p->skeleton->bss))
        r = -ENOTSUP;
    if (r == 0)
        r = learn_cpus(p->skeleton);
    if (r < 0)
        return r;
    p->walk = bpf_program__attach_iter(p->skeleton->progs.walk_tasks, NULL);
    if (!p->walk)
        return -errno;
    p->ring = ring_buffer__new(bpf_map__fd(p->skeleton->maps.ring), take_record, p, NULL);
    if (!p->ring)
        return -errno;
    r = walk_once(p);
    return r < 0 ? r : programs_resume(p);
}

/* Where the better programs are refused, those are left that every kernel takes. */
static int load(struct programs *p, const struct kernel_traits *traits)
{
    int r;

    if (traits->casts && use_casts) {
        r = load_build(p, SKELETON_CASTS, traits);
        if (r == 0 || r == -ENOMEM || r == -EPERM)
            return r;
        unload(p);
    }
    return load_build(p, SKELETON_PLAIN, traits);
}

void programs_use_casts(bool use)
{
    use_casts = use;
}

/* Whether the least that there is to ask of bpf(2) is permitted. */
static bool may_ask(void)
{
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);

    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS);
}

/* The verifier refuses with EACCES, as security modules do; who may not even ask gets EPERM. */
static enum programs_failure failure_of(int r)
{
    if (r == -ENOMEM)
        return PROGRAMS_NO_MEMORY;
    return r == -EPERM || !may_ask() ? PROGRAMS_DENIED : PROGRAMS_REFUSED;
}

static int load_or_tell(struct programs *p, enum programs_failure *ret_failure)
{
    struct kernel_traits traits;
    int r = kernel_traits(&traits);

    if (r < 0) {
        *ret_failure = r == -ENOMEM ? PROGRAMS_NO_MEMORY : PROGRAMS_NO_BTF;
        return r;
    }
    r = load(p, &traits);
    if (r < 0)
        *ret_failure = failure_of(r);
    return r;
}

int programs_load(struct programs **ret, enum programs_failure *ret_failure)
{
    struct programs *p = calloc(1, sizeof(*p));
    int r;

    libbpf_set_print(silence);
    *ret_failure = PROGRAMS_NO_MEMORY;
    if (!p)
        return -ENOMEM;
    r = load_or_tell(p, ret_failure);
    if (r < 0) {
        programs_free(p);
        return r;
    }
    *ret = p;
    return 0;
}

void programs_free(struct programs *p)
{
    if (!p)
        return;
    unload(p);
    free(p);
}

int programs_walk(struct programs *p)
{
    int fd = bpf_iter_create(bpf_link__fd(p->walk));

    return fd < 0 ? -errno : fd;
}

void programs_drain(struct programs *p, programs_record_function *function, void *arg)
{
    p->function = function;
    p->arg = arg;
    (void)ring_buffer__consume(p->ring);
}

/* Who deletes the note has it: see kernel/ends.bpf.c. Returns whether it is ours. */
static bool take_note(const struct programs *p, const struct exit_key *key)
{
    int exits = bpf_map__fd(p->skeleton->maps.exits), taken = bpf_map__fd(p->skeleton->maps.taken);
    uint32_t yes = 1;

    if (bpf_map_update_elem(taken, key, &yes, BPF_ANY) < 0)
        return false;
    if (bpf_map_delete_elem(exits, key) == 0)
        return true;
    (void)bpf_map_delete_elem(taken, key);
    return false;
}

/* One that was left is as if it had exited now. */
static void leave_note(const struct programs *p, const struct exit_key *key,
                       struct exiting *exiting, uint64_t now_ns)
{
    exiting->exit_ns = now_ns;
    (void)bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.exits), key, exiting, BPF_EXIST);
}

void programs_sweep(struct programs *p, uint64_t now_ns, uint64_t before_ns,
                    const struct programs_sweeper *sweeper)
{
    struct exit_key *keys = p->keys;
    uint64_t at = 0;
    int fd = bpf_map__fd(p->skeleton->maps.exits), r;
    bool first = true;

    do {
        uint32_t n = SWEEP_AT_ONCE;

        r = bpf_map_lookup_batch(fd, first ? NULL : &at, &at, keys, p->exiting, &n, NULL);
        if (r < 0 && errno != ENOENT)
            return;
        for (uint32_t i = 0; i < n; i++) {
            if (p->exiting[i].exit_ns >= before_ns)
                continue;
            if (!sweeper->is_over(sweeper->arg, &p->exiting[i].end))
                leave_note(p, &keys[i], &p->exiting[i], now_ns);
            else if (take_note(p, &keys[i]))
                sweeper->take(sweeper->arg, &p->exiting[i].end);
        }
        first = false;
    } while (r == 0);
}

int programs_ring_fd(const struct programs *p)
{
    return ring_buffer__epoll_fd(p->ring);
}

uint64_t programs_lost(const struct programs *p)
{
    return __atomic_load_n(&p->skeleton->bss->lost_ends, __ATOMIC_RELAXED);
}

const char *programs_library_version(void)
{
    return libbpf_version_string();
}
