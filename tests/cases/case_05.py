"""Kernel threads, zombies and rare states.

Kernel threads have no memory lines, an empty cmdline, maps and fd/, no exe and no smaps_rollup;
their names are longer than 15 bytes and come whole. Letters I, P, X, t, W and unknown ones are
"other". Expected: each is counted, no error for what such processes lack, no log line.
"""
import procfs

NAMES = {
    2: "kthreadd",
    9: "kworker/0:0-events_power_efficient",
    10: "kworker/u257:12-events_freezable_power_efficient_x_y_z_01234567",
    20: "cpuhp/3",
    501: "reaped-late", 502: "st-X", 503: "st-t", 504: "st-Q", 505: "st-W",
}
KERNEL = {"kthreadd", NAMES[9], NAMES[10], "cpuhp/3"}


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.kernel_thread(
        root, 2, "kthreadd", state="S", ppid=0, start=23, utime=0, stime=1,
        files={"stat": procfs.stat(2, "kthreadd", "S", 0, 0, 1, start=23, vsize=0, rss=0, pgrp=0,
                                   session=0, flags=2129984),
               "status": procfs.status(2, "kthreadd", "S", 0, uid=0, voluntary=62, memory=False,
                                        kthread=1)})
    procfs.kernel_thread(root, 9, NAMES[9])
    procfs.kernel_thread(root, 10, NAMES[10])
    procfs.kernel_thread(root, 20, NAMES[20], state="P", start=31)
    procfs.process(root, 501, NAMES[501], state="Z", utime=300, stime=0, start=2000, memory=False,
                   skip=("exe", "smaps_rollup"),
                   files={"status": procfs.status(501, NAMES[501], "Z", voluntary=1, memory=False,
                                                  fd_size=0)})
    for pid, letter in ((502, "X"), (503, "t"), (504, "Q")):
        procfs.process(root, pid, NAMES[pid], state=letter, start=2000 + pid)
    procfs.process(root, 505, NAMES[505], state="W", start=2505, fields=44)


def check(page, tree, see):
    groups = page.groups()
    see.equal("groups", groups | {"st-X"}, {"init", "canary", *NAMES.values()})
    for name in NAMES.values():
        if name in groups:
            see.value(page, 1, "proctally_group_processes", group=name)
    for name in ("kthreadd",):
        see.states(page, name, sleeping=1)
    see.states(page, "reaped-late", zombie=1)
    for name in KERNEL - {"kthreadd"} | {"st-t", "st-Q", "st-W"}:
        see.states(page, name, other=1)
    see.value(page, 1, "proctally_group_zombie_children", group="init")
    for name in KERNEL | {"reaped-late"}:
        for kind in ("anon", "file", "shmem"):
            see.zero_or_absent(page, "proctally_group_resident_memory_bytes", group=name, kind=kind)
        see.zero_or_absent(page, "proctally_group_virtual_memory_bytes", group=name)
        see.zero_or_absent(page, "proctally_group_open_fds", group=name)
    see.no_read_errors(page)


def check_once(page, tree, see):
    see.cpu(page, "reaped-late", 3.00, 0.00)
