"""Forms of `cgroup`.

Version 1, 2 and hybrid hosts, colons and blanks in names, escapes of systemd, the mark of a removed
group, a path seen out of a cgroup namespace, no path, no line feed, no file. Expected: lines are
split at the first two colons only, and none of it is an error. Which path is taken of each is in
tests/unit/procfs/test_pid_cgroup.c. Without rules, processes are grouped by what their path tells,
else by comm; and rules hold it against globs.
"""
import pwd

import procfs
from harness.daemon import Daemon, once
from see import See


def version_1(named, others="/user.slice/u1"):
    """A line for each hierarchy; the one of systemd comes last, as the kernel lists them."""
    controllers = ("pids", "hugetlb", "net_cls,net_prio", "perf_event", "blkio", "freezer",
                   "devices", "memory", "cpu,cpuacct", "cpuset", "rdma")
    lines = [f"{12 - i}:{name}:{others}\n" for i, name in enumerate(controllers)]
    return "".join(lines) + f"1:name=systemd:{named}\n"


SESSION = "/user.slice/user-1000.slice/session-3.scope"
FORMS = {
    4101: "0::/system.slice/db.service\n",
    4102: version_1(SESSION),
    4103: version_1(SESSION) + "0::/kube\n",
    4104: "13:memory:/system.slice/containerd.service/pod_a.slice:cri-containerd:e575\n",
    4105: "0::/user.slice/app-dbus\\x2d:1.2\\x2dorg.slice/3809\n",
    4106: "0::/dead (deleted)\n",
    4107: "0::/../../other\n",
    4108: "0::/\n",
    4109: "0::/a:b c\n1:name=systemd:/we\"ird\n",
    4111: "0::/nolf",
    4112: "0::\n",
}
WITHOUT = 4110
CONTAINER = "0123456789ab" + "c" * 52
POD = "11112222-3333-4444-5555-666677778888"
# Beside them what runtimes make.
MADE = {
    4121: f"0::/system.slice/docker-{CONTAINER}.scope\n",
    4122: version_1(f"/docker/{CONTAINER}", f"/docker/{CONTAINER}"),
    4123: f"0::/kubepods/burstable/pod{POD}/{CONTAINER}\n",
    4124: "0::/system.slice/system-sshd.slice/sshd@7-10.0.0.1:22.service\n",
    4125: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/dbus.service\n",
    4126: "0::/lxc.payload.web/system.slice/cron.service\n",
}


def user(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


# Where they are by default, but for those that go by their comm.
DEFAULT = {
    4101: "db.service", 4102: f"user/{user(1000)}", 4103: f"user/{user(1000)}",
    4104: "container/e575",
    4121: "container/0123456789ab", 4122: "container/0123456789ab", 4123: f"pod/{POD}",
    4124: "sshd@.service", 4125: "dbus.service", 4126: "container/web",
}
BY_RULES = """[metrics]
include = *

[exclude dead]
cgroup = /dead

[group pod-${pod}]
pod = 1111*

[group db]
container = %s web

[group unit-${unit}]
unit = sshd@*.service

[group hers]
cgroup = /user.slice/user-1000.slice/*

[group slice-${slice}]
cgroup = *.service*
""" % CONTAINER
RULES = {
    4101: "slice-system.slice", 4102: "hers", 4103: "hers", 4104: "slice-system.slice",
    4121: "db", 4122: "db", 4123: f"pod-{POD}", 4124: "unit-sshd@7-10.0.0.1:22.service",
    4125: "hers", 4126: "db", 4106: None,
}


def build(at):
    root = at("proc")
    procfs.base(root)
    for pid, text in FORMS.items():
        procfs.process(root, pid, f"g{pid}", cgroup=text)
    procfs.process(root, WITHOUT, f"g{WITHOUT}", skip=("cgroup",))


def check(page, tree, see):
    groups = [f"g{pid}" for pid in (*FORMS, WITHOUT)]
    see.groups(page, {"init", "canary", *groups})
    for group in groups:
        see.value(page, 1, "proctally_group_processes", group=group)
        see.unread(page, group)
    see.no_read_errors(page)


def check_places(page, see, places, canary):
    """Each process is where it is said to be, or in the group of its comm; None: nowhere."""
    expected = {canary: 1, "init": 1}
    for pid in (*FORMS, *MADE, WITHOUT):
        group = places.get(pid, f"g{pid}")
        if group is not None:
            expected[group] = expected.get(group, 0) + 1
    got = {dict(labels)["group"]: value
           for labels, value in page.of("proctally_group_processes").items() if value}
    see.equal("processes of groups", got, expected)
    see.value(page, 0, "proctally_pending_processes")
    see.value(page, list(places.values()).count(None), "proctally_excluded_processes")
    see.no_read_errors(page)


def extra(at, see):
    root = at("made")
    procfs.base(root)
    for pid, text in {**FORMS, **MADE}.items():
        procfs.process(root, pid, f"g{pid}", cgroup=text)
    procfs.process(root, WITHOUT, f"g{WITHOUT}", skip=("cgroup",))
    for name, config, places, canary in (
            ("default", "[metrics]\ninclude = *\n", DEFAULT, "canary.service"),
            ("rules", BY_RULES, RULES, "slice-system.slice")):
        at_once, served = See(f"{name} --once"), See(f"{name} served")
        check_places(once(config=config, procfs=root), at_once, places, canary)
        with Daemon(config=config, procfs=root) as daemon:
            check_places(daemon.wait_ready().settle(3), served, places, canary)
        see.faults += at_once.faults + served.faults
