/*
 * Cycles whose allocations and system calls fail, each at each place, by each errno it may have.
 *
 * What is disturbed is one cycle of a life over three states of a host: A, then B, then C. The same
 * life without disturbance is its twin. Whatever failed in between, the counters of both are the
 * same at the next cycle that nothing disturbs: none is lost and none is counted twice.
 *
 * Linked with --wrap of what is to fail. Only the thread that armed a plan is disturbed.
 */
#include "daemon/cycle.h"
#include "daemon/publish.h"
#include "daemon/self.h"

#include "comm_rule.h"
#include "host_tree.h"

#include <stdio.h>

static const uint64_t SECOND = 1000000000u;

/* ---- what fails ---- */

enum call {
    CALL_OPENAT,
    CALL_READ,
    CALL_GETDENTS,
    CALL_FSTATAT,
    CALL_LSEEK,
    CALL_CLOSE,
    CALL_N,
};

struct plan {
    bool armed;
    unsigned calls; /* so far */
    unsigned at;    /* of the call that fails, from 1; 0: none */
    unsigned every; /* or each of so many */
    int error;
    unsigned hits;
    enum call call; /* of the hit, and of what */
    char path[256];
};

static _Thread_local struct plan heap_plan, call_plan;

enum { DESCRIPTORS = 256 };

/* What this thread has open, relative to the root. */
static _Thread_local char path_of[DESCRIPTORS][256];

static bool plan_hits(struct plan *plan)
{
    if (!plan->armed)
        return false;
    plan->calls++;
    if (plan->every ? plan->calls % plan->every != 0 : plan->calls != plan->at)
        return false;
    plan->hits++;
    return true;
}

#define WRAP_HEAP(name, parameters, arguments)                         \
    void *__real_##name parameters;                                    \
    void *__wrap_##name parameters;                                    \
    void *__wrap_##name parameters                                     \
    {                                                                  \
        return plan_hits(&heap_plan) ? NULL : __real_##name arguments; \
    }

WRAP_HEAP(malloc, (size_t n), (n))
WRAP_HEAP(calloc, (size_t n, size_t size), (n, size))
WRAP_HEAP(realloc, (void *p, size_t n), (p, n))

static bool call_fails(enum call call, int dir, const char *name)
{
    const char *base = dir >= 0 && dir < DESCRIPTORS ? path_of[dir] : "";

    if (!plan_hits(&call_plan))
        return false;
    call_plan.call = call;
    snprintf(call_plan.path, sizeof(call_plan.path), "%.120s%s%.120s", base,
             *base && name ? "/" : "", name ? name : "");
    errno = call_plan.error;
    return true;
}

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
    const char *base = dir >= 0 && dir < DESCRIPTORS ? path_of[dir] : "";
    int fd;

    if (call_fails(CALL_OPENAT, dir, name))
        return -1;
    fd = __real_openat(dir, name, flags);
    if (fd >= 0 && fd < DESCRIPTORS)
        snprintf(path_of[fd], sizeof(path_of[fd]), "%.120s%s%.120s", base, *base ? "/" : "", name);
    return fd;
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
    return call_fails(CALL_READ, fd, NULL) ? -1 : __real_read(fd, p, n);
}

ssize_t __real_getdents64(int fd, void *p, size_t n);
ssize_t __wrap_getdents64(int fd, void *p, size_t n);
ssize_t __wrap_getdents64(int fd, void *p, size_t n)
{
    return call_fails(CALL_GETDENTS, fd, NULL) ? -1 : __real_getdents64(fd, p, n);
}

int __real_fstatat(int dir, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    return call_fails(CALL_FSTATAT, dir, name) ? -1 : __real_fstatat(dir, name, st, flags);
}

off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    return call_fails(CALL_LSEEK, fd, NULL) ? -1 : __real_lseek(fd, offset, whence);
}

/* As Linux does: the descriptor is closed, whatever is said. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool fails = call_fails(CALL_CLOSE, fd, NULL);
    int r = __real_close(fd);

    if (fd >= 0 && fd < DESCRIPTORS)
        path_of[fd][0] = '\0';
    if (!fails)
        return r;
    errno = call_plan.error;
    return -1;
}

/* What is under way, for who reads that it failed. */
static char disturbance[96];

#define EQUAL(a, b) equal((uint64_t)(a), (uint64_t)(b), #a " and " #b)

static void equal(uint64_t a, uint64_t b, const char *what)
{
    if (a != b)
        fail_msg("%s: %lld, %lld: %s, of %s", what, (long long)a, (long long)b, disturbance,
                 call_plan.path);
}

/* ---- the host ---- */

enum stage { STAGE_A, STAGE_B, STAGE_C, STAGE_N };

static struct tree trees[STAGE_N];
static int roots[STAGE_N];

/* Who is new in B, so that what could not be read of them at once has no base. */
static const unsigned new_in_b[] = {40, 61, 70, 81, 82, 83};

static void put_texts(struct tree *t, unsigned pid, const char *cmdline)
{
    char name[32];

    snprintf(name, sizeof(name), "%u/exe", pid);
    tree_link(t, name, "/bin/x");
    tree_pid(t, pid, "cmdline", "%s", cmdline);
}

/* Those whose group turns on more than their comm. */
static void put_grouped(struct tree *t, enum stage stage, unsigned k)
{
    HOST_PUT(t, .pid = 80, .comm = "app", .user_ticks = 50 + k);
    put_texts(t, 80, "app -n one");
    if (stage != STAGE_A) {
        HOST_PUT(t, .pid = 81, .comm = "app", .start = 9003, .user_ticks = 5 + k, .parent = 80);
        put_texts(t, 81, "app -n two");
        HOST_PUT(t, .pid = 82, .comm = "kid", .start = 9004, .user_ticks = 9 + k, .parent = 81);
        HOST_PUT(t, .pid = 83, .comm = "app", .start = 9005, .user_ticks = 3 + k);
        put_texts(t, 83, "app noise");
    } else {
        HOST_PUT(t, .pid = 85, .comm = "app", .user_ticks = 2);
        put_texts(t, 85, "app -n three");
    }
    HOST_PUT(t, .pid = 84, .comm = "srv", .user_ticks = 20 + 2 * k);
    tree_pid(t, 84, "cgroup", "0::/system.slice/web.service\n");
    HOST_PUT(t, .pid = 86, .comm = "sh", .user_ticks = 30 + k);
    tree_pid(t, 86, "cgroup", "0::/user.slice/user-4242.slice/session-1.scope\n");
}

static void make_stage(enum stage stage)
{
    struct tree *t = &trees[stage];
    unsigned k = 100 * stage;

    host_tree_new(t);
    HOST_PUT(t, .pid = 1, .comm = "init", .user_ticks = 7 + k, .read_bytes = 4096 + k);
    HOST_PUT(t, .pid = 10, .comm = "a", .user_ticks = 100 + k, .write_bytes = 100 + k, .fds = 3);
    HOST_PUT(t, .pid = 11, .comm = stage == STAGE_A ? "b" : "bb", .user_ticks = 900 + 3 * k);
    HOST_PUT(t, .pid = 12, .comm = "a", .user_ticks = 40 + 7 * k, .fds = 2, .fds_limit = "10");
    HOST_PUT(t, .pid = 20, .comm = "z", .state = 'Z', .parent = 10);
    if (stage == STAGE_A)
        HOST_PUT(t, .pid = 30, .comm = "gone", .user_ticks = 5);
    HOST_PUT(t, .pid = 40, .comm = "r", .start = stage == STAGE_A ? 100 : 9000,
             .user_ticks = stage == STAGE_A ? 7000 : 3 + k, .read_bytes = 70 + k);
    if (stage == STAGE_A)
        HOST_PUT(t, .pid = 60, .comm = "svc", .start = 50, .user_ticks = 70);
    else
        HOST_PUT(t, .pid = 61, .comm = "svc", .start = 9000, .user_ticks = 11 + k,
                 .read_bytes = 500 + k);
    if (stage != STAGE_A)
        HOST_PUT(t, .pid = 70, .comm = "new", .start = 9001, .user_ticks = 5 + k,
                 .write_bytes = 900 + k, .threads = 3);
    if (stage == STAGE_C)
        HOST_PUT(t, .pid = 71, .comm = "later", .start = 9500, .user_ticks = 1);
    host_tree_put_exited_leader(
        t, (struct host_process){.pid = 500, .comm = "leader", .user_ticks = 20 + k});
    put_grouped(t, stage, k);
    roots[stage] = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(roots[stage] >= 0);
}

static int make_stages(void **state)
{
    (void)state;
    for (int i = 0; i < STAGE_N; i++)
        make_stage((enum stage)i);
    return 0;
}

static int free_stages(void **state)
{
    (void)state;
    for (int i = 0; i < STAGE_N; i++) {
        close(roots[i]);
        tree_free(&trees[i]);
    }
    return 0;
}

/* ---- a life ---- */

struct life {
    struct cycle cycle;
    struct cycle_time now;
    struct publisher *publisher;
    uint64_t sequence;
    bool sizes;       /* descriptors are counted by fstatat */
    unsigned fillers; /* groups of nobody */
};

enum { FAMILIES_ALL, FAMILIES_UNPROBED };

static void add_rule(struct rules *rules, const struct rule_spec *spec)
{
    struct rule_fault fault;

    assert_int_equal(rules_add(rules, spec, &fault), 0);
}

/* What the prober reads decides, and parents lead. */
static void add_text_rules(struct rules *rules)
{
    struct span app = SPAN_LITERAL("app"), noise = SPAN_LITERAL("noise"),
                name = SPAN_LITERAL("-n (\\w+)");

    add_rule(rules, &(struct rule_spec){
                        .exclude = true,
                        .name = noise,
                        .patterns = {[RULE_COMM] = {&app, 1}, [RULE_CMDLINE] = {&noise, 1}}});
    add_rule(rules, &(struct rule_spec){
                        .children = true,
                        .name = SPAN_LITERAL("app-${1}"),
                        .patterns = {[RULE_COMM] = {&app, 1}, [RULE_CMDLINE] = {&name, 1}}});
}

static int configure(struct life *l, int which)
{
    struct cycle_settings settings = {.groups_max = 100,
                                      .groups_forget_ns = 3600 * SECOND,
                                      .probe_deadline_ns = 3600 * SECOND,
                                      .pss_max_bytes = UINT64_MAX};
    struct span fixed = SPAN_LITERAL("svc"), wrong;
    bool armed = heap_plan.armed;
    int r;

    heap_plan.armed = false;
    rules_init(&settings.rules);
    assert_int_equal(rules_add_comm(&settings.rules, fixed, &fixed, 1, &wrong), 0);
    for (unsigned i = 0; i < l->fillers; i++) {
        char name[32];

        snprintf(name, sizeof(name), "filler-%u", i);
        fixed = span_from_str(name);
        assert_int_equal(rules_add_comm(&settings.rules, fixed, &fixed, 1, &wrong), 0);
    }
    if (which == FAMILIES_ALL)
        add_text_rules(&settings.rules);
    selection_default(&settings.families);
    assert_true(selection_include(&settings.families, SPAN_LITERAL("*")) > 0);
    if (which == FAMILIES_UNPROBED) {
        assert_true(
            selection_exclude(&settings.families, SPAN_LITERAL("proctally_group_*mapping*")) > 0);
        assert_true(selection_exclude(&settings.families,
                                      SPAN_LITERAL("proctally_group_proportional*")) > 0);
    }
    heap_plan.armed = armed;
    r = cycle_configure(&l->cycle, &settings);
    assert_null(settings.rules.rules);
    return r;
}

static int open_life(struct life *l)
{
    int r;

    l->now = (struct cycle_time){.monotonic_ns = 100 * SECOND,
                                 .realtime_ns = (HOST_TREE_BOOT + 5000) * SECOND,
                                 .boottime_ns = 5000 * SECOND};
    l->sequence = 0;
    r = cycle_open(&l->cycle, CYCLE_DAEMON, trees[STAGE_A].root, &l->now);
    if (r < 0)
        return r;
    path_of[l->cycle.procfs.root][0] = '\0';
    l->cycle.procfs.fd_count_in_size = l->sizes;
    return 0;
}

static void close_life(struct life *l)
{
    cycle_close(&l->cycle);
    if (l->publisher)
        publisher_free(l->publisher);
    l->publisher = NULL;
}

static int run(struct life *l, enum stage stage)
{
    int root = l->cycle.procfs.root;

    /* The same root, with other files in it. */
    assert_int_equal(dup3(roots[stage], root, O_CLOEXEC), root);
    l->now.monotonic_ns += 10 * SECOND;
    l->now.boottime_ns += 10 * SECOND;
    l->now.realtime_ns += 10 * SECOND;
    return cycle_run(&l->cycle, &l->now);
}

static void describe(struct self *self)
{
    *self = (struct self){.version = "0",
                          .revision = "r",
                          .libmicrohttpd_version = "0",
                          .source = "procfs",
                          .source_reason = "test"};
}

/* Snapshot, publication and all pages of it. 0 or -ENOMEM. */
static int publish(struct life *l)
{
    struct slot *slot = publisher_begin(l->publisher);
    struct variant *variant;
    int r, worst = 0;

    assert_non_null(slot);
    describe(&slot->snapshot.self);
    r = cycle_snapshot(&l->cycle, l->sequence + 1, l->sequence, &l->now, &slot->arena,
                       &slot->snapshot);
    if (r < 0) {
        publisher_abandon(l->publisher, slot);
        return r;
    }
    l->sequence++;
    publisher_commit(l->publisher, slot, true);
    for (int kind = 0; kind < VARIANT_N; kind++) {
        r = publisher_acquire(l->publisher, (enum variant_kind)kind, &variant);
        assert_true(r == 0 || r == -ENOMEM);
        if (r < 0) {
            worst = r;
            continue;
        }
        assert_true(variant->bytes.len > 1000);
        publisher_release(l->publisher, variant);
    }
    return worst;
}

/*
 * Until prober and resolver have answered everything, and undisturbed: who waits for too long is
 * decided by what there is, so counts elsewhere.
 */
static void settle(struct life *l)
{
    bool armed = heap_plan.armed;

    heap_plan.armed = false;
    while (cycle_between(&l->cycle, l->now.monotonic_ns) != UINT64_MAX)
        usleep(50);
    users_wait(l->cycle.placing.users);
    heap_plan.armed = armed;
}

static void must_run(struct life *l, enum stage stage)
{
    assert_int_equal(run(l, stage), 0);
    settle(l);
}

/* What groups and host come to on the page, when every amount is on it. */
static void final_page(struct life *l, struct buf *page)
{
    struct selection only = {0};

    /* So long that what is read by turns had its turn. */
    for (int i = 0; i < 18; i++) {
        must_run(l, STAGE_C);
        if (i >= 15)
            assert_int_equal(publish(l), 0);
    }
    assert_true(selection_include(&only, SPAN_LITERAL("proctally_group_*")) > 0);
    assert_true(selection_include(&only, SPAN_LITERAL("proctally_host_*")) > 0);
    buf_reset(page);
    assert_int_equal(publisher_render_some(l->publisher, FORMAT_TEXT, &only, page), 0);
}

static void same_page(const struct buf *page, const struct buf *twin, const char *what, unsigned at)
{
    if (span_equal(buf_span(page), buf_span(twin)))
        return;
    for (size_t i = 0, line = 0; i < page->len && i < twin->len; i++) {
        if (page->data[i] != twin->data[i])
            fail_msg("%s %u: page has\n%.150s\nand not\n%.150s", what, at, page->data + line,
                     twin->data + line);
        if (page->data[i] == '\n')
            line = i + 1;
    }
    fail_msg("%s %u: pages are of different length", what, at);
}

static int lowest_descriptor(void)
{
    int fd = dup(roots[STAGE_A]);

    close(fd);
    return fd;
}

static unsigned count_descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < DESCRIPTORS; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static const struct life no_life = {.cycle = {.procfs = {.root = -1}}};

/* The first stage until everybody is decided, since this tree lists children before parents, too.
 */
static void settle_stage_a(struct life *l)
{
    for (int i = 0; i < 3; i++)
        must_run(l, STAGE_A);
    assert_int_equal(l->cycle.groups.n_pending, 0);
}

static void twin_page(struct buf *page, unsigned fillers)
{
    struct life l = no_life;

    l.fillers = fillers;
    l.publisher = publisher_new(1);
    assert_non_null(l.publisher);
    assert_int_equal(open_life(&l), 0);
    assert_int_equal(configure(&l, FAMILIES_ALL), 0);
    settle_stage_a(&l);
    must_run(&l, STAGE_B);
    must_run(&l, STAGE_C);
    final_page(&l, page);
    close_life(&l);
}

/* ---- allocations ---- */

/* Tries a stage thrice under the plan, and once without. */
static void run_somehow(struct life *l, enum stage stage)
{
    int r = -ENOMEM;

    for (int i = 0; i < 3 && r < 0; i++) {
        r = run(l, stage);
        assert_true(r == 0 || r == -ENOMEM);
        settle(l);
    }
    if (r < 0) {
        heap_plan.armed = false;
        must_run(l, stage);
        heap_plan.armed = true;
    }
    r = publish(l);
    assert_true(r == 0 || r == -ENOMEM);
}

/* A whole life under the plan of the heap; its end is not disturbed. */
static void live(struct life *l, struct buf *page)
{
    int r;

    heap_plan.armed = true;
    l->publisher = publisher_new(1);
    r = open_life(l);
    assert_true(r == 0 || r == -ENOMEM);
    heap_plan.armed = false;
    if (!l->publisher)
        l->publisher = publisher_new(1);
    assert_non_null(l->publisher);
    if (r < 0)
        assert_int_equal(open_life(l), 0);
    heap_plan.armed = true;
    r = configure(l, FAMILIES_ALL);
    assert_true(r == 0 || r == -ENOMEM);
    if (r < 0) {
        /* Fixed groups may lack: until somebody belongs to them, or to the next settings. */
        heap_plan.armed = false;
        assert_int_equal(configure(l, FAMILIES_ALL), 0);
        heap_plan.armed = true;
    }
    for (int stage = 0; stage < STAGE_N; stage++) {
        run_somehow(l, (enum stage)stage);
        heap_plan.armed = false;
        if (stage == STAGE_A)
            settle_stage_a(l);
        heap_plan.armed = true;
    }
    heap_plan.armed = false;
    final_page(l, page);
    close_life(l);
}

/* A life in which this allocation fails, or each of so many. False: there were not as many. */
static bool live_without(struct plan plan, unsigned fillers, const struct buf *twin)
{
    struct life l = no_life;
    struct buf page;

    l.fillers = fillers;
    heap_plan = plan;
    buf_init(&page, 1 << 20);
    live(&l, &page);
    same_page(&page, twin, plan.every ? "without each allocation of" : "without allocation",
              plan.every ? plan.every : plan.at);
    buf_deinit(&page);
    return heap_plan.hits > 0;
}

/*
 * So many groups that there is room for one more, or for none, when cycle B needs two: its first or
 * its second new group is the one that cannot be made.
 */
static void test_allocations(void **state)
{
    static const unsigned fillers[] = {0, 50, 51, 52, 53};
    unsigned lives = 0, descriptors = count_descriptors();
    struct buf twin;

    (void)state;
    buf_init(&twin, 1 << 20);
    for (size_t i = 0; i < sizeof(fillers) / sizeof(*fillers); i++) {
        twin_page(&twin, fillers[i]);
        for (unsigned at = 1; live_without((struct plan){.at = at}, fillers[i], &twin); at++)
            lives++;
        for (unsigned every = 1; every < 20; every++, lives++)
            live_without((struct plan){.every = every}, fillers[i], &twin);
    }
    heap_plan = (struct plan){0};
    print_message("%u lives\n", lives);
    assert_true(lives > 150);
    assert_int_equal(count_descriptors(), descriptors);
    buf_deinit(&twin);
}

/* ---- system calls ---- */

static const int errors[] = {EACCES, EIO, EINTR, EMFILE, ENFILE, ENOENT, ESRCH, ENOMEM, EINVAL};

/* Fails the cycle wherever it happens, so that it can fail several times in a row. */
static bool is_own_trouble(int e)
{
    return e == EMFILE || e == ENFILE || e == ENOMEM;
}

/* What the failure of a call is to come to. */
enum outcome {
    OUTCOME_NOTHING, /* it is tried again, or does not matter */
    OUTCOME_FAILED,  /* the cycle is, with this errno */
    OUTCOME_GONE,    /* the process is taken for ended */
    OUTCOME_UNREAD,  /* it is there, and nothing known of it */
    OUTCOME_PART,    /* a file is missing, of a process or the host */
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static unsigned hit_pid(void)
{
    return (unsigned)strtoul(call_plan.path, NULL, 10);
}

/* The directory of a process or its stat: what decides whether it is there. */
static bool hit_decides(void)
{
    char *rest;

    return strtoul(call_plan.path, &rest, 10) > 0 && (*rest == '\0' || strcmp(rest, "/stat") == 0);
}

static enum outcome expected(void)
{
    int e = call_plan.error;

    if (call_plan.call == CALL_CLOSE)
        return OUTCOME_NOTHING;
    if (e == EINTR && (call_plan.call == CALL_READ || call_plan.call == CALL_GETDENTS))
        return OUTCOME_NOTHING;
    if (is_own_trouble(e) || call_plan.path[0] == '\0')
        return OUTCOME_FAILED;
    if (hit_decides())
        return e == ENOENT || e == ESRCH ? OUTCOME_GONE : OUTCOME_UNREAD;
    return OUTCOME_PART;
}

static bool is_new_in_b(unsigned pid)
{
    for (size_t i = 0; i < sizeof(new_in_b) / sizeof(*new_in_b); i++)
        if (new_in_b[i] == pid)
            return true;
    return false;
}

static uint64_t faults_in_all(const struct cycle *c)
{
    uint64_t n = 0;

    for (int file = 0; file < FAULT_FILE_N; file++)
        for (int reason = 0; reason < FAULT_REASON_N; reason++)
            n += c->faults.count[file][reason];
    return n;
}

static uint64_t unread_in_all(const struct cycle *c)
{
    uint64_t n = 0;

    for (int part = 0; part < PART_N; part++)
        n += c->unread_processes[part];
    return n;
}

/* What cycle B of the twin said. */
struct said {
    uint64_t processes, faults, unread;
};

/*
 * Process 12's task and the files of an exited leader that only say more of it are no part of
 * their own; nor has a zombie memory that could be unread.
 */
static bool hit_is_a_part(void)
{
    static const char *const parts[] = {"/io", "/limits", "/fd", "/status"};
    unsigned pid = hit_pid();

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (ends_with(call_plan.path, parts[i]))
            return pid > 0 && pid != 20 && pid != 500;
    return false;
}

static void check_outcome(const struct cycle *c, int r, const struct said *twin)
{
    enum outcome outcome = expected();
    bool counts = call_plan.error != ENOENT && call_plan.error != ESRCH;
    bool nothing = outcome == OUTCOME_NOTHING;
    struct said said = {c->processes, faults_in_all(c), unread_in_all(c)};

    if (outcome == OUTCOME_FAILED) {
        EQUAL(r, -call_plan.error);
        EQUAL(said.faults, call_plan.path[0] ? twin->faults : said.faults);
        return;
    }
    EQUAL(r, 0);
    EQUAL(said.faults, twin->faults + (!nothing && counts));
    switch (outcome) {
    case OUTCOME_GONE:
        EQUAL(said.processes, twin->processes - 1);
        break;
    case OUTCOME_UNREAD:
        /* Who was never read is none yet; of a pid that is used again the old one stays. */
        EQUAL(said.processes, twin->processes - (is_new_in_b(hit_pid()) && hit_pid() != 40));
        EQUAL(c->unread_processes[PART_STAT], 1);
        break;
    default:
        EQUAL(said.processes, twin->processes);
        if (nothing || hit_is_a_part())
            EQUAL(said.unread, twin->unread + !nothing);
    }
}

static const struct group *find_group(const struct cycle *c, const char *name)
{
    for (size_t i = 0; i < c->groups.n_order; i++)
        if (span_equal(group_name(&c->groups, c->groups.order[i]), span_from_str(name)))
            return &c->groups.groups[c->groups.order[i]];
    fail_msg("there is no group %s", name);
    return NULL;
}

/* What each counter of all groups comes to. */
static uint64_t sum_of(const struct cycle *c, unsigned counter)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < c->groups.n_order; i++)
        sum += c->groups.groups[c->groups.order[i]].total[counter];
    return sum;
}

static bool may_differ(const char *name, unsigned counter, enum outcome outcome)
{
    /* What one used up to its change of name went to the other name, if nobody saw it change. */
    if ((strcmp(name, "b") != 0 && strcmp(name, "bb") != 0) || counter >= COUNTER_N)
        return false;
    return outcome == OUTCOME_FAILED ||
           (hit_pid() == 11 && (outcome == OUTCOME_GONE || outcome == OUTCOME_UNREAD));
}

/* After the cycle that followed, all groups count as those of the twin. */
static void same_totals(const struct cycle *c, const struct cycle *twin)
{
    enum outcome outcome = expected();
    bool no_base =
        outcome == OUTCOME_PART && ends_with(call_plan.path, "/io") && is_new_in_b(hit_pid());

    EQUAL(c->processes, twin->processes);
    EQUAL(c->groups.n_order, twin->groups.n_order);
    for (unsigned k = 0; k < GROUP_COUNTER_N; k++) {
        /* One that was not there for a cycle has ended, and came back. */
        bool exit = k == GROUP_COUNTER_EXITED + EXIT_REASON_UNKNOWN && outcome == OUTCOME_GONE &&
                    !is_new_in_b(hit_pid());

        if (no_base && k < COUNTER_N && counter_part((enum counter)k) == PART_IO)
            continue;
        /* Others of its group are new, so to who does not see it, it was restarted. */
        if (k == GROUP_COUNTER_RESTARTS && outcome == OUTCOME_GONE && hit_pid() == 80)
            continue;
        EQUAL(sum_of(c, k), sum_of(twin, k) + exit);
        for (size_t i = 0; i < twin->groups.n_order; i++) {
            const struct group *other = &twin->groups.groups[twin->groups.order[i]];
            char name[UTF8_LABEL_MAX + 1] = "";

            memcpy(name, other->name, other->name_len);
            if (!exit && !may_differ(name, k, outcome) &&
                find_group(c, name)->total[k] != other->total[k])
                fail_msg("group %s: counter %u is %llu, not %llu: %s, of %s", name, k,
                         (unsigned long long)find_group(c, name)->total[k],
                         (unsigned long long)other->total[k], disturbance, call_plan.path);
        }
    }
    assert_memory_equal(c->host.field, twin->host.field, sizeof(c->host.field));
    assert_memory_equal(&c->host.cpu, &twin->host.cpu, sizeof(c->host.cpu));
}

/* Cycle B fails at a call, `times` in a row. */
static bool disturb(unsigned at, int error, unsigned times, bool sizes, const struct said *said,
                    const struct cycle *twin)
{
    struct life l = no_life;
    int lowest;

    snprintf(disturbance, sizeof(disturbance), "call %u, %s, %u in a row", at,
             strerrorname_np(error), times);
    l.sizes = sizes;
    EQUAL(open_life(&l), 0);
    EQUAL(configure(&l, FAMILIES_UNPROBED), 0);
    must_run(&l, STAGE_A);
    lowest = lowest_descriptor();
    for (unsigned i = 0; i < times; i++) {
        int r;

        call_plan = (struct plan){.armed = true, .at = at, .error = error};
        r = run(&l, STAGE_B);
        call_plan.armed = false;
        if (call_plan.hits > 0 && i == 0)
            check_outcome(&l.cycle, r, said);
        EQUAL(lowest_descriptor(), lowest);
    }
    must_run(&l, STAGE_C);
    if (call_plan.hits > 0)
        same_totals(&l.cycle, twin);
    close_life(&l);
    return call_plan.hits > 0;
}

static void test_calls(bool sizes)
{
    struct life twin = no_life;
    unsigned lives = 0, descriptors;
    struct said said;

    twin.sizes = sizes;
    assert_int_equal(open_life(&twin), 0);
    descriptors = count_descriptors();
    assert_int_equal(configure(&twin, FAMILIES_UNPROBED), 0);
    must_run(&twin, STAGE_A);
    must_run(&twin, STAGE_B);
    said =
        (struct said){twin.cycle.processes, faults_in_all(&twin.cycle), unread_in_all(&twin.cycle)};
    must_run(&twin, STAGE_C);
    for (size_t e = 0; e < sizeof(errors) / sizeof(*errors); e++)
        for (unsigned times = 1; times <= (is_own_trouble(errors[e]) ? 2 : 1); times++)
            for (unsigned at = 1; disturb(at, errors[e], times, sizes, &said, &twin.cycle); at++)
                lives++;
    print_message("%u lives\n", lives);
    assert_true(lives > 1000);
    assert_int_equal(count_descriptors(), descriptors);
    close_life(&twin);
}

static void test_calls_by_name(void **state)
{
    (void)state;
    test_calls(false);
}

static void test_calls_by_size(void **state)
{
    (void)state;
    test_calls(true);
}

/* ---- what the daemon reads of itself ---- */

/* Some of it may be missing, and is there again the next time. */
static void test_self(void **state)
{
    struct self_reader reader;
    struct self all, some, again;
    int lowest;
    unsigned n = 0;

    (void)state;
    self_reader_init(&reader, (uint32_t)sysconf(_SC_CLK_TCK), (uint32_t)sysconf(_SC_PAGESIZE));
    self_read(&reader, &all);
    lowest = lowest_descriptor();
    for (size_t e = 0; e < sizeof(errors) / sizeof(*errors); e++)
        for (unsigned at = 1; at == 1 || call_plan.hits > 0; at++, n++) {
            call_plan = (struct plan){.armed = true, .at = at, .error = errors[e]};
            self_read(&reader, &some);
            call_plan.armed = false;
            assert_int_equal(some.have_process & ~all.have_process, 0);
            assert_int_equal(lowest_descriptor(), lowest);
            self_read(&reader, &again);
            assert_int_equal(again.have_process, all.have_process);
        }
    assert_true(n > 50);
    self_reader_deinit(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_calls_by_name),
        cmocka_unit_test(test_calls_by_size),
        cmocka_unit_test(test_self),
    };

    return cmocka_run_group_tests(tests, make_stages, free_stages);
}
