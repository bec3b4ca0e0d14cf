#!/usr/bin/env python3
"""proctally_group_info: what the control groups of a group's processes have in common."""
import sys

from harness.daemon import Daemon, once
from harness.tests import BY_COMM, Tree, equal, main, procfs

INFO = "proctally_group_info"
ON = f"[metrics]\ninclude = {INFO}\n\n"
ID = "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
ID2 = "d4e8e05a546c86b6443f101966c618e47753ed01fa9929cae00d3b692f7a9f80"
UID = "74c13223-5a00-11e9-b385-42010a80018d"
POD = f"0::/kubepods/burstable/pod{UID}/"


def info(page):
    """{group: (unit, container, pod)}; a label that is empty is none to Prometheus"""
    labels = [dict(labels) for labels in page.of(INFO)]
    equal("values", set(page.of(INFO).values()) - {1}, set())
    return {l["group"]: tuple(l.get(name, "") for name in ("unit", "container", "pod"))
            for l in labels}


def members(tree, comm, *cgroups, first):
    for i, cgroup in enumerate(cgroups):
        procfs.process(tree, first + i, comm, cgroup=cgroup + "\n")


def build(tree):
    members(tree, "same", "0::/system.slice/a.service", "0::/system.slice/a.service/sub", first=100)
    members(tree, "units", "0::/system.slice/a.service", "0::/system.slice/b.service", first=200)
    members(tree, "some", "0::/system.slice/a.service", "0::/", first=300)
    members(tree, "pod", POD + ID, POD + ID2, first=400)
    members(tree, "box", POD + ID, POD + ID, first=500)
    members(tree, "odd", '0::/lxc/q"\\\udcff', first=600)
    # Of one that has no such file nothing is said.
    members(tree, "known", "0::/system.slice/a.service", first=700)
    procfs.process(tree, 701, "known", skip=("cgroup",))
    procfs.process(tree, 800, "nobody", skip=("cgroup",))
    procfs.kernel_thread(tree, 900, "kworker/0:0", cgroup="0::/\n")


EXPECTED = {
    "init": ("init.scope", "", ""), "canary": ("canary.service", "", ""),
    "same": ("a.service", "", ""), "units": ("", "", ""), "some": ("", "", ""),
    "pod": ("", "", UID), "box": ("", ID[:12], UID), "odd": ("", 'q"\\\ufffd', ""),
    "known": ("a.service", "", ""), "nobody": ("", "", ""), "idle": ("", "", ""),
    "kworker/0:0": ("", "", ""),
}


def test_what_members_agree_on():
    with Tree() as tree:
        build(tree)
        page = once(config=ON + "[group idle]\ncomm = nothing-like-it\n\n" + BY_COMM, procfs=tree)
        equal("info", info(page), EXPECTED)
        equal("groups", page.groups(), set(EXPECTED))


def test_off_by_default():
    with Tree() as tree:
        build(tree)
        equal("info", info(once(config=BY_COMM, procfs=tree)), {})


def test_members_come_and_go():
    with Tree() as tree:
        build(tree)
        with Daemon(config=ON + BY_COMM, procfs=tree) as daemon:
            daemon.wait_ready()
            equal("two units", info(daemon.page())["units"], ("", "", ""))
            procfs.remove(f"{tree}/201")
            equal("one unit", info(daemon.settle(2))["units"], ("a.service", "", ""))
            procfs.process(tree, 202, "units", cgroup="0::/system.slice/c.service\n")
            equal("two again", info(daemon.settle(2))["units"], ("", "", ""))
            procfs.remove(f"{tree}/200")
            procfs.remove(f"{tree}/202")
            equal("nobody", info(daemon.settle(2))["units"], ("", "", ""))


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
