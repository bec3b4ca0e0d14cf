"""A live process becomes another program.

Pid 1501 keeps its pid and its start: in A it is bash with a script, in B and C qtdisp. Expected: it is
in the group of its new comm with the first cycle that sees that, what it used until then stays with
the old group, nobody started or ended, and it is in exactly one group at any time. So it is where the
program and the arguments decide, which are read again for it. Pid 1502 changes its arguments alone,
which is found within 16 cycles.
"""
import procfs
from harness.daemon import Daemon, once
from see import See

# The arguments of 1502, and the CPU ticks of 1501.
STEPS = {"A": ("one", 3), "B": ("two", 5), "C": ("two", 25)}
BY_TEXTS = """[metrics]
include = *

[group script-${1}]
comm = bash
cmdline = ^bash /opt/app/(\\w+)\\.sh$

[group app-${exe}]
exe = /opt/app/bin/qt*

[group worker-${1}]
comm = worker
cmdline = --name=(\\w+)
"""


def build(at):
    for step, (letter, (name, ticks)) in enumerate(STEPS.items()):
        root = at(f"proc.{letter}")
        procfs.base(root, step)
        if letter == "A":
            comm, line, exe = "bash", b"bash\0/opt/app/start.sh\0", "/usr/bin/bash"
        else:
            comm, line, exe = "qtdisp", b"/opt/app/bin/qtdisp\0", "/opt/app/bin/qtdisp"
        procfs.process(root, 1501, comm, cmdline=line, exe=exe, start=61000, utime=ticks)
        procfs.process(root, 1502, "worker", cmdline=f"worker\0--name={name}\0".encode(),
                       start=61000, utime=100 + ticks)


def check(page, tree, see):
    group = "bash" if tree == "proc.A" else "qtdisp"
    see.value(page, 1, "proctally_group_processes", group=group)
    see.value(page, 1, "proctally_group_processes", group="worker")
    see.value(page, sum(page.of("proctally_group_processes").values()), "proctally_processes")
    see.no_read_errors(page)


def check_once(page, tree, see):
    group = "bash" if tree == "proc.A" else "qtdisp"
    see.groups(page, {"init", "canary", "worker", group})
    see.cpu(page, group, STEPS[tree[-1]][1] / 100, 0.50)


def check_move(pages, see, old, new):
    """It moves, and is neither started nor ended."""
    for step, page in pages.items():
        here, there = (old, new) if step == "A" else (new, old)
        see.value(page, 1, "proctally_group_processes", group=here)
        see.zero_or_absent(page, "proctally_group_processes", group=there)
        for group in (old, new):
            see.zero_or_absent(page, "proctally_group_started_total", group=group)
            see.zero_or_absent(page, "proctally_group_restarts_total", group=group)
            see.zero_or_absent(page, "proctally_group_exited_total", group=group, reason="unknown")
    # What spans the change belongs to the old one.
    see.cpu(pages["C"], old, 0.02, 0)
    see.cpu(pages["C"], new, 0.20, 0)


def check_served(pages, see):
    check_move({letter: pages[f"proc.{letter}"] for letter in STEPS}, see, "bash", "qtdisp")


def run_by_texts(at):
    """The pages that a daemon shows whose rules look at program and arguments."""
    live, pages = at("live"), {}
    procfs.replace(at("proc.A"), live)
    with Daemon(config=BY_TEXTS, procfs=live) as daemon:
        daemon.wait_ready()
        for letter in STEPS:
            daemon.pause()
            procfs.replace(at(f"proc.{letter}"), live)
            daemon.resume()
            # Arguments that change alone are read once in 16 cycles.
            pages[letter] = daemon.settle(20 if letter == "B" else 4)
    return pages


def extra(at, see):
    pages = run_by_texts(at)
    check_move(pages, see, "script-start", "app-qtdisp")
    see.value(pages["A"], 1, "proctally_group_processes", group="worker-one")
    see.value(pages["B"], 1, "proctally_group_processes", group="worker-two")
    see.cpu(pages["C"], "worker-one", 0.02, 0)
    see.cpu(pages["C"], "worker-two", 0.20, 0)
    for page in pages.values():
        see.value(page, 0, "proctally_pending_processes")
    at_once = See("by texts --once")
    page = once(config=BY_TEXTS, procfs=at("proc.B"))
    at_once.cpu(page, "app-qtdisp", 0.05, 0.50)
    at_once.cpu(page, "worker-two", 1.05, 0.50)
    see.faults += at_once.faults
