/* The group of a process that no rule takes. */
#include "group/default_name.h"

#include "check.h"

#define ID  "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
#define UID "74c13223-5a00-11e9-b385-42010a80018d"

/* `name` NULL: it cannot be told yet. */
static void check_subject(const struct subject *subject, const char *name)
{
    struct buf out;
    bool told;

    buf_init(&out, 1024);
    told = default_name(subject, &out);
    assert_int_equal(told, name != NULL);
    name = name ? name : "";
    check_span_at(buf_span(&out), name, strlen(name), __FILE__, __LINE__);
    buf_deinit(&out);
}

/* A process of comm `app` in this control group. */
static void check_path(const char *path, const char *name)
{
    struct cgroup_identity id;
    struct subject subject = {
        .comm = SPAN_LITERAL("app"), .session_user = SPAN_LITERAL("alice"), .cgroup = &id};

    cgroup_identify(span_from_str(path), &id);
    check_subject(&subject, name);
}

static void by_control_group(void **state)
{
    (void)state;
    check_path("/kubepods/burstable/pod" UID "/" ID, "pod/" UID);
    check_path("/kubepods.slice/kubepods-pod74c13223_5a00_11e9_b385_42010a80018d.slice/"
               "crio-conmon-" ID ".scope",
               "pod/" UID);
    check_path("/system.slice/docker-" ID ".scope", "container/34dc0b5e626f");
    check_path("/lxc.payload.web/system.slice/ssh.service", "container/web");
    check_path("/machine.slice/systemd-nspawn@web.service/payload", "container/web");
    check_path("/machine.slice/systemd-nspawn@web.service/supervisor", "systemd-nspawn@.service");
    check_path("/system.slice/system-getty.slice/getty@tty1.service", "getty@.service");
    check_path("/system.slice/run-u5.service", "run-.service");
    check_path("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", "x.service");
    check_path("/user.slice/user-1000.slice/user@1000.service/app.slice/y.scope", "user/alice");
    check_path("/user.slice/user-1000.slice/user@1000.service/init.scope", "user/alice");
    check_path("/user.slice/user-1000.slice/session-3.scope", "user/alice");
    check_path("/init.scope", "app");
    check_path("/machine.slice/libpod-conmon-" ID ".scope", "app");
    check_path("/", "app");
    check_path("", "app");
}

static void by_comm(void **state)
{
    static const char *const rows[][2] = {
        {"nginx", "nginx"},
        {"", ""},
        {"a b)", "a b)"},
        {"\xff", "\xff"},
        {"kernel", "comm/kernel"},
        {"kernel2", "kernel2"},
        {"_other", "comm/_other"},
        {"_empty", "comm/_empty"},
        {"_others", "_others"},
        {"container/0123", "comm/container/0123"},
        {"container", "container"},
        {"pod/x", "comm/pod/x"},
        {"pod/", "comm/pod/"},
        {"podman", "podman"},
        {"user/alice", "comm/user/alice"},
        {"sshd.service", "comm/sshd.service"},
        {".service", "comm/.service"},
        {"service", "service"},
        {"sshd@.servic", "sshd@.servic"},
        {"comm/kernel", "comm/comm/kernel"},
        {"comm", "comm"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_subject(&(struct subject){.comm = span_from_str(rows[i][0])}, rows[i][1]);
}

static void kernel_threads(void **state)
{
    struct subject subject = {.comm = SPAN_LITERAL("kworker/0:1"), .kernel_thread = true};

    (void)state;
    check_subject(&subject, "kernel");
    /* Whatever else is known or expected of them. */
    subject.expected = UINT32_MAX;
    check_subject(&subject, "kernel");
}

static void steps(void **state)
{
    static const struct {
        const char *path; /* NULL: not known */
        enum default_step step;
    } rows[] = {
        {"/kubepods/burstable/pod" UID "/" ID, DEFAULT_POD},
        {"/docker/" ID, DEFAULT_CONTAINER},
        {"/system.slice/a.service", DEFAULT_SERVICE},
        {"/user.slice/user-1000.slice/session-3.scope", DEFAULT_SESSION},
        {"/init.scope", DEFAULT_COMM},
        {NULL, DEFAULT_COMM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cgroup_identity id;
        struct subject subject = {.cgroup = rows[i].path ? &id : NULL};

        if (rows[i].path)
            cgroup_identify(span_from_str(rows[i].path), &id);
        assert_int_equal(default_step(&subject), rows[i].step);
        subject.kernel_thread = true;
        assert_int_equal(default_step(&subject), DEFAULT_KERNEL);
    }
}

static void what_is_expected(void **state)
{
    struct cgroup_identity id;
    struct subject subject = {.comm = SPAN_LITERAL("app"), .expected = subject_bit(SUBJECT_CGROUP)};

    (void)state;
    check_subject(&subject, NULL);
    /* What does not decide may be expected. */
    subject.expected = ~subject_bit(SUBJECT_CGROUP);
    check_subject(&subject, "app");
    subject.cgroup = &id;
    cgroup_identify(SPAN_LITERAL("/system.slice/a.service"), &id);
    check_subject(&subject, "a.service");
    cgroup_identify(SPAN_LITERAL("/user.slice/user-1000.slice/session-3.scope"), &id);
    check_subject(&subject, NULL);
    subject.expected &= ~subject_bit(SUBJECT_SESSION_USER);
    check_subject(&subject, "user/1000");
    subject.session_user = SPAN_LITERAL("alice");
    check_subject(&subject, "user/alice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_control_group), cmocka_unit_test(by_comm),
        cmocka_unit_test(kernel_threads),   cmocka_unit_test(steps),
        cmocka_unit_test(what_is_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
