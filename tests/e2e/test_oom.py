#!/usr/bin/env python3
"""Who was killed for its memory is told apart from who was killed: processes of the test's own,
each in a control group that allows it 20 MiB."""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile

from harness.bpf import need_bpf
from harness.daemon import Daemon, skip, wait_until
from harness.tests import RUN, Unavailable, equal, main, true

MIB = 1 << 20
LIMIT, MORE = 20 * MIB, 100 * MIB
VICTIMS = 3
CONFIG = f"[collector]\nsource = bpf\n[group oom]\ncomm = {RUN}\n"
REASONS = ("success", "failure", "terminated", "killed", "crashed", "oom", "unknown")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(text))


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def mounts():
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            _, where, kind, options = line.split()[:4]
            yield where, kind, options.split(",")


class First:
    """A control group of version 1, below the one that the test is in."""

    def __init__(self, root):
        self.path = f"{root}/proctally-oom-{os.getpid()}"
        os.mkdir(self.path)

    def limit(self):
        write(f"{self.path}/memory.limit_in_bytes", LIMIT)
        # Absent where swap is not accounted for; then there may be no swap either.
        with contextlib.suppress(OSError):
            write(f"{self.path}/memory.memsw.limit_in_bytes", LIMIT)

    def kills(self):
        lines = read(f"{self.path}/memory.oom_control").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


class Second:
    """The same of version 2."""

    def __init__(self, root):
        if "memory" not in read(f"{root}/cgroup.subtree_control").split():
            write(f"{root}/cgroup.subtree_control", "+memory")
        self.path = f"{root}/proctally-oom-{os.getpid()}"
        os.mkdir(self.path)

    def limit(self):
        write(f"{self.path}/memory.max", LIMIT)
        with contextlib.suppress(OSError):
            write(f"{self.path}/memory.swap.max", 0)

    def kills(self):
        lines = read(f"{self.path}/memory.events").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def places():
    """(version, root of a hierarchy with the controller of memory)"""
    for where, kind, options in mounts():
        if kind == "cgroup" and "memory" in options and "rw" in options:
            yield First, where
        if kind == "cgroup2" and "memory" in read(f"{where}/cgroup.controllers").split():
            yield Second, where


@contextlib.contextmanager
def mounted():
    """A hierarchy of version 1 of the test's own, where nobody has the controller."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        done = subprocess.run(["mount", "-t", "cgroup", "-o", "memory", "proctally", directory],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise Unavailable("there is no controller of memory")
        try:
            yield First, directory
        finally:
            subprocess.run(["umount", directory], check=True)


@contextlib.contextmanager
def small_group():
    """A control group that allows 20 MiB."""
    with contextlib.ExitStack() as stack:
        found = next(places(), None)
        version, root = found or stack.enter_context(mounted())
        try:
            group = version(root)
        except OSError as e:
            raise Unavailable(f"no control group can be made in {root}: {e}") from None
        # Whose processes are gone from it a moment after their end.
        stack.callback(lambda: wait_until("the control group is removed", lambda: remove(group)))
        try:
            group.limit()
        except OSError as e:
            raise Unavailable(f"memory cannot be limited in {root}: {e}") from None
        yield group


def remove(group):
    with contextlib.suppress(OSError):
        os.rmdir(group.path)
    return not os.path.exists(group.path)


def child(act):
    """A process named RUN that acts when it is told to. -> (pid, what tells it)"""
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            write("/proc/self/comm", RUN)
            if os.read(heard, 1):
                act()
        finally:
            os._exit(1)
    os.close(heard)
    return pid, told


def use_memory(group):
    write(f"{group.path}/cgroup.procs", os.getpid())
    bytearray(b"x") * MORE


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def count(page, reason):
    return page.get("proctally_group_exited_total", group="oom", reason=reason) or 0


def exited(page):
    return sum(count(page, reason) for reason in REASONS)


def run(daemon, group):
    """Victims, and one that is only killed; the page on which all are told."""
    children = [child(lambda: use_memory(group)) for _ in range(VICTIMS)] + [child(kill)]
    try:
        wait_until("all are there",
                   lambda: daemon.page().get("proctally_group_processes", group="oom") ==
                   len(children))
        daemon.settle(1)
        for _, told in children:
            os.write(told, b"\n")
    finally:
        for _, told in children:
            os.close(told)
        statuses = [os.waitpid(pid, 0)[1] for pid, _ in children]
    equal("statuses", statuses, [int(signal.SIGKILL)] * len(children))
    # They share the control group, and one of them may be spared until another has gone.
    true("the kernel killed for memory", group.kills() >= 1)
    wait_until("all are told", lambda: exited(daemon.page()) >= len(children), 60)
    return daemon.page()


def test_victims():
    need_bpf()
    with small_group() as group, Daemon(config=CONFIG, interval="200ms") as daemon:
        daemon.wait_ready()
        page = run(daemon, group)
        equal("reasons", {reason: count(page, reason) for reason in REASONS},
              {**dict.fromkeys(REASONS, 0), "oom": VICTIMS, "killed": 1})
        equal("kills that the control group counts", group.kills(), VICTIMS)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root")
    sys.exit(main(sys.modules[__name__]))
