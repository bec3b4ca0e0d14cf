/* Who runs in a control group: paths as real hosts have them. */
#include "group/cgroup_identity.h"

#include "check.h"

#include <stdio.h>

#define ID    "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
#define SHORT "34dc0b5e626f"
#define ID2   "d4e8e05a546c86b6443f101966c618e47753ed01fa9929cae00d3b692f7a9f80"
#define HASH  "0123456789abcdef0123456789abcdef"
#define UID   "74c13223-5a00-11e9-b385-42010a80018d"
#define UID_  "74c13223_5a00_11e9_b385_42010a80018d"
#define USER  "/user.slice/user-1000.slice/user@1000.service"

/* What is NULL is empty. */
struct expected {
    const char *path;
    const char *container;
    const char *pod;
    const char *service;
    const char *unit;
    const char *slice;
    int64_t session; /* 0: none */
};

static void check_field(const char *path, const char *field, struct span got, const char *expected)
{
    if (!expected)
        expected = "";
    if (!span_equal(got, span_from_str(expected)))
        fail_msg("%s: %s is \"%.*s\", not \"%s\"", path, field, (int)got.n, got.p, expected);
}

static void check_identity(const struct expected *e)
{
    struct span path = check_copy(span_from_str(e->path));
    struct cgroup_identity *got = malloc(sizeof(*got));

    assert_non_null(got);
    memset(got, 0xaa, sizeof(*got));
    cgroup_identify(path, got);
    check_field(e->path, "container", got->container, e->container);
    check_field(e->path, "pod", got->pod, e->pod);
    check_field(e->path, "service", got->service, e->service);
    check_field(e->path, "unit", got->unit, e->unit);
    check_field(e->path, "slice", got->slice, e->slice);
    if (got->has_session ? got->session_uid != e->session : e->session != 0)
        fail_msg("%s: session %d %u", e->path, got->has_session, got->session_uid);
    free(got);
    free((char *)path.p);
}

#define CHECK_TABLE(table)                                        \
    for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++) \
    check_identity(&(table)[i])

static void docker(void **state)
{
    static const struct expected rows[] = {
        {.path = "/system.slice/docker-" ID ".scope",
         .container = SHORT,
         .unit = "docker-" ID ".scope",
         .slice = "system.slice"},
        {.path = "/docker/" ID, .container = SHORT},
        {.path = "/docker/" ID "/init", .container = SHORT},
        {.path = "/docker-ce/docker/" ID, .container = SHORT},
        {.path = "/" ID, .container = SHORT},
        {.path = "/my-parent/" ID, .container = SHORT},
        {.path = USER "/user.slice/docker-" ID ".scope",
         .container = SHORT,
         .unit = "docker-" ID ".scope",
         .slice = "user.slice",
         .session = 1000},
        {.path = "/docker/" ID2 "/docker/" ID, .container = SHORT},
        {.path = "/system.slice/docker.service",
         .service = "docker.service",
         .unit = "docker.service",
         .slice = "system.slice"},
        /* Not 64 digits, or no digits, or not behind an engine's name. */
        {.path = "/docker/" HASH},
        {.path = "/docker"},
        {.path = "/docker/" ID "0"},
        {.path = "/docker/34DC0B5E626F2C5C4C5170E34B10E7654CE36F0FCD532739F4445BAABEA03376"},
        {.path = "/system.slice/x" ID ".scope", .unit = "x" ID ".scope", .slice = "system.slice"},
        /* A mount that dockerd has systemd make. */
        {.path = "/libpod_parent/libpod-" ID "/system.slice/var-lib-docker-containers-" ID2
                 "-mounts-shm.mount",
         .container = SHORT,
         .unit = "var-lib-docker-containers-" ID2 "-mounts-shm.mount",
         .slice = "system.slice"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void podman(void **state)
{
    static const struct expected rows[] = {
        {.path = "/machine.slice/libpod-" ID ".scope",
         .container = SHORT,
         .unit = "libpod-" ID ".scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/libpod-" ID ".scope/container",
         .container = SHORT,
         .unit = "libpod-" ID ".scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope/container",
         .container = SHORT,
         .unit = "libpod-" ID ".scope",
         .slice = "machine-libpod_pod_" ID2 ".slice"},
        {.path = USER "/user.slice/libpod-" ID ".scope/container",
         .container = SHORT,
         .unit = "libpod-" ID ".scope",
         .slice = "user.slice",
         .session = 1000},
        {.path = USER "/user.slice/user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope",
         .container = SHORT,
         .unit = "libpod-" ID ".scope",
         .slice = "user-libpod_pod_" ID2 ".slice",
         .session = 1000},
        {.path = "/libpod_parent/libpod-" ID, .container = SHORT},
        {.path = "/libpod_parent/" ID2 "/libpod-" ID, .container = SHORT},
        {.path = "/system.slice/nginx.service/libpod-payload-" ID,
         .container = SHORT,
         .service = "nginx.service",
         .unit = "nginx.service",
         .slice = "system.slice"},
        {.path = USER "/app.slice/kollektivkart@8000.service/libpod-payload-" ID,
         .container = SHORT,
         .service = "kollektivkart@.service",
         .unit = "kollektivkart@8000.service",
         .slice = "app.slice",
         .session = 1000},
        /* What watches a container is not in it. */
        {.path = "/machine.slice/libpod-conmon-" ID ".scope",
         .unit = "libpod-conmon-" ID ".scope",
         .slice = "machine.slice"},
        {.path = USER "/user.slice/libpod-conmon-" ID ".scope",
         .unit = "libpod-conmon-" ID ".scope",
         .slice = "user.slice",
         .session = 1000},
        {.path = "/libpod_parent/libpod-conmon-" ID},
        {.path = "/libpod_parent/conmon"},
        {.path = "/libpod_parent/" ID2 "/conmon"},
        {.path = "/system.slice/nginx.service/runtime",
         .service = "nginx.service",
         .unit = "nginx.service",
         .slice = "system.slice"},
        /* Health checks. */
        {.path = "/system.slice/" ID ".service", .unit = ID ".service", .slice = "system.slice"},
        {.path = "/system.slice/" ID "-1f2e3d4c5b6a7988.service",
         .unit = ID "-1f2e3d4c5b6a7988.service",
         .slice = "system.slice"},
        {.path = USER "/app.slice/" ID "-startup-5b6a7988.service",
         .unit = ID "-startup-5b6a7988.service",
         .slice = "app.slice",
         .session = 1000},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void kubernetes(void **state)
{
    static const struct expected rows[] = {
        {.path = "/kubepods/burstable/pod" UID "/" ID, .container = SHORT, .pod = UID},
        {.path = "/kubepods/besteffort/pod" UID "/" ID, .container = SHORT, .pod = UID},
        {.path = "/kubepods/pod" UID "/" ID, .container = SHORT, .pod = UID},
        {.path = "/kubepods/burstable/pod" UID "/crio-" ID, .container = SHORT, .pod = UID},
        {.path = "/kubepods/burstable/pod" UID, .pod = UID},
        {.path = "/kubepods/burstable/pod" HASH "/" ID, .container = SHORT, .pod = HASH},
        {.path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
                 ".slice/cri-containerd-" ID ".scope",
         .container = SHORT,
         .pod = UID,
         .unit = "cri-containerd-" ID ".scope",
         .slice = "kubepods-burstable-pod" UID_ ".slice"},
        {.path = "/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope",
         .container = SHORT,
         .pod = UID,
         .unit = "docker-" ID ".scope",
         .slice = "kubepods-pod" UID_ ".slice"},
        {.path = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" HASH
                 ".slice/crio-" ID ".scope/container",
         .container = SHORT,
         .pod = HASH,
         .unit = "crio-" ID ".scope",
         .slice = "kubepods-besteffort-pod" HASH ".slice"},
        /* The monitor is in the pod, but in none of its containers. */
        {.path = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
                 ".slice/crio-conmon-" ID ".scope",
         .pod = UID,
         .unit = "crio-conmon-" ID ".scope",
         .slice = "kubepods-besteffort-pod" UID_ ".slice"},
        {.path = "/system.slice/crio-conmon-" ID ".scope",
         .unit = "crio-conmon-" ID ".scope",
         .slice = "system.slice"},
        /* The kubelet's driver is systemd, the runtime's is not. */
        {.path = "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
                 ".slice:cri-containerd:" ID,
         .container = SHORT,
         .pod = UID,
         .service = "containerd.service",
         .unit = "containerd.service",
         .slice = "system.slice"},
        {.path = "/kubepods-burstable-pod" UID ".slice:cri-containerd:" ID,
         .container = SHORT,
         .pod = UID},
        {.path = "/kubepods-burstable-pod" UID_ ".slice:crio:1234567890abcdef",
         .container = "1234567890ab",
         .pod = UID},
        {.path = "/system.slice/containerd.service/pod_a.slice:cri-containerd:e575",
         .container = "e575",
         .service = "containerd.service",
         .unit = "containerd.service",
         .slice = "system.slice"},
        /* Below a cgroup root of the kubelet's; a node that is a container itself. */
        {.path = "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable"
                 ".slice/kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
         .container = SHORT,
         .pod = UID,
         .unit = "cri-containerd-" ID ".scope",
         .slice = "kubelet-kubepods-burstable-pod" UID_ ".slice"},
        {.path = "/docker/" ID "/kubelet.slice/kubelet.service",
         .container = SHORT,
         .service = "kubelet.service",
         .unit = "kubelet.service",
         .slice = "kubelet.slice"},
        {.path = "/kubepods/burstable/pod" UID "/" ID2 "/docker/" ID,
         .container = SHORT,
         .pod = UID},
        /* Out of a container's cgroup namespace. */
        {.path = "/../../pod" UID "/" ID, .container = SHORT, .pod = UID},
        {.path = "/../crio-" ID ".scope", .container = SHORT, .unit = "crio-" ID ".scope"},
        {.path = "/../../kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
         .container = SHORT,
         .pod = UID,
         .unit = "cri-containerd-" ID ".scope",
         .slice = "kubepods-besteffort-pod" UID_ ".slice"},
        /* No uids. */
        {.path = "/kubepods/burstable/podman"},
        {.path = "/kubepods/burstable/pod"},
        {.path = "/kubepods/burstable/pod74c13223-5a00-11e9-b385-42010a80018"},
        {.path = "/kubepods/burstable/pod74c13223-5a00-11e9-b385-42010a80018g"},
        {.path = "/kubepods/burstable/tripod" UID},
        {.path = "/kubepods/burstable/" UID},
        {.path = "/kubepods.slice/kubepods-burstable.slice", .slice = "kubepods-burstable.slice"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void other_engines(void **state)
{
    static const struct expected rows[] = {
        {.path = "/system.slice/nerdctl-" ID ".scope",
         .container = SHORT,
         .unit = "nerdctl-" ID ".scope",
         .slice = "system.slice"},
        {.path = USER "/user.slice/nerdctl-" ID ".scope",
         .container = SHORT,
         .unit = "nerdctl-" ID ".scope",
         .slice = "user.slice",
         .session = 1000},
        {.path = "/default/" ID, .container = SHORT},
        {.path = "/system.slice:docker:" ID, .container = SHORT},
        {.path = "/system.slice:runc:my-box_1.2", .container = "my-box_1.2"},
        {.path = "/ecs/test-ecs-classic/5a0d5ceddf6c44c1928d367a815d890f/" ID, .container = SHORT},
        {.path = "/ecs/5a0d5ceddf6c44c1928d367a815d890f/" ID, .container = SHORT},
        {.path =
             "/ecs/cd189a933e5849daa93386466019ab50/cd189a933e5849daa93386466019ab50-2495160603",
         .container = "cd189a933e5849daa93386466019ab50-2495160603"},
        {.path = "/ecs/cd189a933e5849daa93386466019ab50"},
        {.path = "/ecs/cd189a933e5849daa93386466019ab50/cd189a933e5849daa93386466019ab50-"},
        {.path =
             "/ecstasks.slice/ecstasks-cd189a933e5849daa93386466019ab50.slice/docker-" ID ".scope",
         .container = SHORT,
         .unit = "docker-" ID ".scope",
         .slice = "ecstasks-cd189a933e5849daa93386466019ab50.slice"},
        /* No triples. */
        {.path = "/a.slice:runc:"},
        {.path = "/a.slice:runc"},
        {.path = "/a.slice:runc:b:c"},
        {.path = "/a:b:c"},
        {.path = "/a.slice:libpod-conmon:" ID},
        {.path = "/a.slice:runc:b c"},
        {.path = "/:"},
        {.path = "/a.slice:"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void lxc(void **state)
{
    static const struct expected rows[] = {
        {.path = "/lxc/web-1", .container = "web-1"},
        {.path = "/lxc/101/ns/init.scope", .container = "101", .unit = "init.scope"},
        {.path = "/lxc.payload.web-1/system.slice/ssh.service",
         .container = "web-1",
         .service = "ssh.service",
         .unit = "ssh.service",
         .slice = "system.slice"},
        {.path = "/lxc.payload/web-1", .container = "web-1"},
        {.path = "/lxc.payload.user-1000_web.1", .container = "user-1000_web.1"},
        {.path = "/lxc/_x", .container = "_x"},
        {.path = "/lxc/outer/lxc/inner", .container = "inner"},
        {.path = "/lxc.payload.outer/lxc.payload.inner/.lxc", .container = "inner"},
        {.path = "/lxc.payload.c1/user.slice/user-0.slice/session-1.scope",
         .container = "c1",
         .unit = "session-1.scope",
         .slice = "user-0.slice"},
        {.path = "/user.slice/user-1000.slice/session-2.scope/lxc.payload.c1/user.slice/"
                 "user-5.slice/user@5.service/app.slice/a.service",
         .container = "c1",
         .service = "a.service",
         .unit = "a.service",
         .slice = "app.slice",
         .session = 1000},
        {.path = "/lxc.payload.c1/docker/" ID, .container = SHORT},
        {.path = "/lxc.monitor.web-1"},
        {.path = "/lxc.monitor/web-1"},
        {.path = "/lxc.pivot"},
        {.path = "/lxc.payload."},
        {.path = "/lxc"},
        {.path = "/lxc.payload"},
        {.path = "/system.slice/lxc.service",
         .service = "lxc.service",
         .unit = "lxc.service",
         .slice = "system.slice"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void machines(void **state)
{
    static const struct expected rows[] = {
        {.path = "/machine.slice/systemd-nspawn@web-1.service/payload/system.slice/nginx.service",
         .container = "web-1",
         .service = "nginx.service",
         .unit = "nginx.service",
         .slice = "system.slice"},
        {.path = "/machine.slice/systemd-nspawn@web\\x2d1.service/payload",
         .container = "web-1",
         .service = "systemd-nspawn@.service",
         .unit = "systemd-nspawn@web\\x2d1.service",
         .slice = "machine.slice"},
        {.path = "/machine.slice/systemd-nspawn@web.service",
         .container = "web",
         .service = "systemd-nspawn@.service",
         .unit = "systemd-nspawn@web.service",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-web\\x2d1.scope/payload/init.scope",
         .container = "web-1",
         .unit = "init.scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-web.scope",
         .container = "web",
         .unit = "machine-web.scope",
         .slice = "machine.slice"},
        /* nspawn itself is outside. */
        {.path = "/machine.slice/systemd-nspawn@web.service/supervisor",
         .service = "systemd-nspawn@.service",
         .unit = "systemd-nspawn@web.service",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-web.scope/supervisor",
         .unit = "machine-web.scope",
         .slice = "machine.slice"},
        /* A domain's number is another at each start. */
        {.path = "/machine.slice/machine-qemu\\x2d7\\x2ddb\\x2d1.scope/libvirt/emulator",
         .container = "qemu-db-1",
         .unit = "machine-qemu\\x2d7\\x2ddb\\x2d1.scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-lxc\\x2d1234\\x2dc.scope",
         .container = "lxc-c",
         .unit = "machine-lxc\\x2d1234\\x2dc.scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-qemu\\x2d7.scope",
         .container = "qemu-7",
         .unit = "machine-qemu\\x2d7.scope",
         .slice = "machine.slice"},
        {.path = "/machine.slice/machine-qemu\\x2d7\\x2d.scope",
         .container = "qemu-7-",
         .unit = "machine-qemu\\x2d7\\x2d.scope",
         .slice = "machine.slice"},
        /* What is no escape stays. */
        {.path = "/machine-a\\x2.scope", .container = "a\\x2", .unit = "machine-a\\x2.scope"},
        {.path = "/machine-a\\x2g.scope", .container = "a\\x2g", .unit = "machine-a\\x2g.scope"},
        {.path = "/machine-.scope", .unit = "machine-.scope"},
        {.path = "/systemd-nspawn@.service",
         .service = "systemd-nspawn@.service",
         .unit = "systemd-nspawn@.service"},
        /* 64 bytes at most, and one more. */
        {.path = "/machine-" HASH HASH ".scope",
         .container = "0123456789ab",
         .unit = "machine-" HASH HASH ".scope"},
        {.path = "/machine-" HASH HASH "x.scope", .unit = "machine-" HASH HASH "x.scope"},
        {.path = "/docker/" ID "/machine.slice/machine-web.scope/supervisor",
         .container = SHORT,
         .unit = "machine-web.scope",
         .slice = "machine.slice"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void units(void **state)
{
    static const struct expected rows[] = {
        {.path = "/init.scope", .unit = "init.scope"},
        {.path = "/system.slice/nginx.service",
         .service = "nginx.service",
         .unit = "nginx.service",
         .slice = "system.slice"},
        {.path = "/system.slice/nginx.service/worker/1",
         .service = "nginx.service",
         .unit = "nginx.service",
         .slice = "system.slice"},
        {.path = "/system.slice/system-getty.slice/getty@tty1.service",
         .service = "getty@.service",
         .unit = "getty@tty1.service",
         .slice = "system-getty.slice"},
        {.path = "/system.slice/system-postgresql.slice/postgresql@15-main.service",
         .service = "postgresql@.service",
         .unit = "postgresql@15-main.service",
         .slice = "system-postgresql.slice"},
        {.path = "/system.slice/sshd@3-10.0.0.1:22-10.0.0.2:5022.service",
         .service = "sshd@.service",
         .unit = "sshd@3-10.0.0.1:22-10.0.0.2:5022.service",
         .slice = "system.slice"},
        {.path = "/system.slice/a@b@c.service",
         .service = "a@.service",
         .unit = "a@b@c.service",
         .slice = "system.slice"},
        {.path = "/system.slice/cups.socket", .unit = "cups.socket", .slice = "system.slice"},
        {.path = "/system.slice/-.mount", .unit = "-.mount", .slice = "system.slice"},
        {.path = "/system.slice/dev-sda2.swap", .unit = "dev-sda2.swap", .slice = "system.slice"},
        {.path = "/system.slice/x.timer", .slice = "system.slice"},
        {.path = "/system.slice/x.target", .slice = "system.slice"},
        {.path = "/a.slice/a-b.slice", .slice = "a-b.slice"},
        {.path = "/system.slice/a.service/b.scope",
         .service = "a.service",
         .unit = "b.scope",
         .slice = "system.slice"},
        {.path = "/user.slice/app-dbus\\x2d:1.2\\x2dorg.slice/3809",
         .slice = "app-dbus\\x2d:1.2\\x2dorg.slice"},
        {.path = "/system.slice/a\\x2db.service",
         .service = "a\\x2db.service",
         .unit = "a\\x2db.service",
         .slice = "system.slice"},
        /* The kernel has files that begin like these. */
        {.path = "/system.slice/_cpu.service",
         .service = "cpu.service",
         .unit = "cpu.service",
         .slice = "system.slice"},
        {.path = "/system.slice/__x.service",
         .service = "_x.service",
         .unit = "_x.service",
         .slice = "system.slice"},
        {.path = "/_memory.slice/x.scope", .unit = "x.scope", .slice = "memory.slice"},
        /* No units. */
        {.path = "/we\"ird.service"},
        {.path = "/.service"},
        {.path = "/@.service"},
        {.path = "/_"},
        {.path = "/service"},
        {.path = "/a b.service"},
        /* 255 bytes at most, and one more. */
        {.path = "/" ID ID ID "@" HASH "1234567890123456789012.service",
         .unit = ID ID ID "@" HASH "1234567890123456789012.service",
         .service = ID ID ID "@.service"},
        {.path = "/" ID ID ID "@" HASH "12345678901234567890123.service"},
    };

    (void)state;
    CHECK_TABLE(rows);
}

static void transient(void **state)
{
    static const struct {
        const char *name;
        const char *service; /* NULL: the same */
    } rows[] = {
        {"run-19945.service", "run-.service"},
        {"run-u123.service", "run-.service"},
        {"run-u123-s4.service", "run-.service"},
        {"run-r" HASH ".service", "run-.service"},
        {"run-p1550-i1850.service", "run-.service"},
        {"run-p1550-i1850-s2.service", "run-.service"},
        {"run-parts.service", NULL},
        {"run-u.service", NULL},
        {"run-p12.service", NULL},
        {"run-12x.service", NULL},
        {"run-u12-s.service", NULL},
        {"run-r0123.service", NULL},
        {"rerun-12.service", NULL},
        {"app-firefox@" HASH ".service", "app-firefox@.service"},
        {"app-org.kde.konsole@autostart.service", "app-org.kde.konsole@.service"},
        {"dbus-:1.107-org.kde.kwalletd6@0.service", "dbus-org.kde.kwalletd6@.service"},
        {"dbus-org.freedesktop.login1.service", NULL},
        {"dbus-:1.x.service", NULL},
        {"dbus-.service", NULL},
        {"snap.lxd.daemon.service", NULL},
        {"snap.hello.hook-" UID ".service", "snap.hello.hook-.service"},
        {"job-" HASH ".service", "job-.service"},
        {"job-" HASH "0.service", "job-.service"},
        {"job_" HASH ".service", NULL},
        {HASH ".service", NULL},
        {UID ".service", NULL},
        {"php8.2-fpm.service", NULL},
        {"user@.service", NULL},
        {"user@alice.service", "user@.service"},
        {"user@4294967295.service", "user@.service"},
        {"user-runtime-dir@1000.service", "user-runtime-dir@.service"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char path[512];

        snprintf(path, sizeof(path), "/system.slice/%s", rows[i].name);
        check_identity(
            &(struct expected){.path = path,
                               .unit = rows[i].name,
                               .slice = "system.slice",
                               .service = rows[i].service ? rows[i].service : rows[i].name});
    }
}

static void sessions(void **state)
{
    static const struct expected rows[] = {
        {.path = "/user.slice/user-1000.slice/session-3.scope",
         .unit = "session-3.scope",
         .slice = "user-1000.slice",
         .session = 1000},
        {.path = "/user.slice/user-1000.slice/session-c1.scope/sub",
         .unit = "session-c1.scope",
         .slice = "user-1000.slice",
         .session = 1000},
        {.path = USER "/init.scope",
         .unit = "init.scope",
         .slice = "user-1000.slice",
         .session = 1000},
        {.path = USER "/app.slice/foo.service",
         .service = "foo.service",
         .unit = "foo.service",
         .slice = "app.slice",
         .session = 1000},
        {.path = USER "/app.slice/snap.firefox.firefox-" UID ".scope",
         .unit = "snap.firefox.firefox-" UID ".scope",
         .slice = "app.slice",
         .session = 1000},
        {.path = USER "/app.slice/app-gnome-org.gnome.Terminal-1234.scope",
         .unit = "app-gnome-org.gnome.Terminal-1234.scope",
         .slice = "app.slice",
         .session = 1000},
        {.path = "/user.slice/user-4294967294.slice/session-1.scope",
         .unit = "session-1.scope",
         .slice = "user-4294967294.slice",
         .session = 4294967294},
        /* No sessions. */
        {.path = "/user.slice/user-1000.slice", .slice = "user-1000.slice"},
        {.path = "/user.slice/user-1000.slice/user-runtime-dir@1000.service",
         .service = "user-runtime-dir@.service",
         .unit = "user-runtime-dir@1000.service",
         .slice = "user-1000.slice"},
        {.path = "/system.slice/session-3.scope",
         .unit = "session-3.scope",
         .slice = "system.slice"},
        {.path = "/user.slice/user-x.slice/session-3.scope",
         .unit = "session-3.scope",
         .slice = "user-x.slice"},
        {.path = "/user.slice/user-4294967295.slice/session-1.scope",
         .unit = "session-1.scope",
         .slice = "user-4294967295.slice"},
        {.path = "/user.slice/user-.slice/session-1.scope",
         .unit = "session-1.scope",
         .slice = "user-.slice"},
    };
    struct cgroup_identity root;

    (void)state;
    CHECK_TABLE(rows);
    /* 0 is a user too. */
    cgroup_identify(SPAN_LITERAL("/user.slice/user-0.slice/session-1.scope"), &root);
    assert_true(root.has_session);
    assert_int_equal(root.session_uid, 0);
}

static void nothing_to_tell(void **state)
{
    static const struct expected rows[] = {
        {.path = ""},
        {.path = "/"},
        {.path = "/../../other"},
        {.path = "/.."},
        {.path = "//"},
        {.path = "/a:b c"},
        {.path = "/we\"ird"},
        {.path = "/dead (deleted)"},
        {.path = "other"},
        {.path = "/\xff\xfe/\x01"},
        {.path = " (deleted)"},
        {.path = "/system.slice/a.service (deleted)",
         .service = "a.service",
         .unit = "a.service",
         .slice = "system.slice"},
        {.path = "//system.slice//a.service/",
         .service = "a.service",
         .unit = "a.service",
         .slice = "system.slice"},
        {.path = "/../../system.slice/a.service",
         .service = "a.service",
         .unit = "a.service",
         .slice = "system.slice"},
    };

    (void)state;
    CHECK_TABLE(rows);
}
static void the_path_and_the_whole_id(void **state)
{
    struct cgroup_identity got;

    (void)state;
    cgroup_identify(SPAN_LITERAL("/docker/" ID " (deleted)"), &got);
    check_span(got.path, "/docker/" ID);
    check_span(got.container, SHORT);
    check_span(got.container_id, ID);
    cgroup_identify(SPAN_LITERAL("/lxc/web (deleted) (deleted)"), &got);
    check_span(got.path, "/lxc/web (deleted)");
    check_span(got.container, "web (deleted)");
    check_span(got.container_id, "web (deleted)");
    cgroup_identify(span_of(NULL, 0), &got);
    assert_int_equal(got.path.n, 0);
    check_span(cgroup_path(SPAN_LITERAL("/ (deleted)")), "/");
}

/* The longest path there is, with no name that says anything, and with one at its end. */
static void long_paths(void **state)
{
    static char path[4096];
    struct cgroup_identity got;

    (void)state;
    for (size_t i = 0; i < sizeof(path); i++)
        path[i] = i % 200 == 0 ? '/' : 'a';
    cgroup_identify(span_of(path, sizeof(path)), &got);
    assert_int_equal(got.path.n, sizeof(path));
    assert_int_equal(got.container.n + got.unit.n + got.slice.n, 0);
    memcpy(path + sizeof(path) - 65, "/" ID, 65);
    cgroup_identify(span_of(path, sizeof(path)), &got);
    check_span(got.container, SHORT);
    /* No name but slashes. */
    memset(path, '/', sizeof(path));
    cgroup_identify(span_of(path, sizeof(path)), &got);
    assert_int_equal(got.container.n + got.unit.n + got.slice.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docker),
        cmocka_unit_test(podman),
        cmocka_unit_test(kubernetes),
        cmocka_unit_test(other_engines),
        cmocka_unit_test(lxc),
        cmocka_unit_test(machines),
        cmocka_unit_test(units),
        cmocka_unit_test(transient),
        cmocka_unit_test(sessions),
        cmocka_unit_test(nothing_to_tell),
        cmocka_unit_test(the_path_and_the_whole_id),
        cmocka_unit_test(long_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
