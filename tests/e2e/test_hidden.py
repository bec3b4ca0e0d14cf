#!/usr/bin/env python3
"""Processes that are hidden for a while, all but the daemon's own at once: nothing they used before
looks like a burst when they are back, and nobody is taken for new.

On a mount of its own, of which hidepid is changed under a daemon without privilege.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness.daemon import PATIENCE_S, Daemon, skip, wait_until
from harness.tests import BY_COMM, RUN, equal, main, true

BUSY = os.environ["PROCTALLY_BUSY"]
CONFIG = "[collector]\ncpu_budget = 100%\n\n" + BY_COMM
NOBODY = 65534
INSIDE = "PROCTALLY_TEST_INSIDE"
CPU = "proctally_group_cpu_seconds_total"
# Before, the option was of all mounts of the pid namespace.
OPTION_OF_ONE_MOUNT = (5, 8)


class Proc:
    """A procfs for the length of a `with`."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        os.chmod(self.directory.name, 0o755)
        self.path = os.path.join(self.directory.name, "proc")
        os.mkdir(self.path)
        self.mount("-t", "proc", "proc")
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)
        self.directory.cleanup()

    def mount(self, *options):
        subprocess.run(["mount", *options, self.path], check=True)

    def hide(self, hidden):
        self.mount("-o", f"remount,hidepid={2 if hidden else 0}")


@contextlib.contextmanager
def busy(name):
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        process = subprocess.Popen([BUSY, name, "1", "0", os.path.join(directory, "file")],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            equal("busy says", process.stdout.readline(), b"ready\n")
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def wait(what, condition):
    wait_until(what, condition, 3 * PATIENCE_S)


def use_cpu(process):
    """Lets it run until it has used half a second more, and stops it."""
    def used():
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    goal = used()[1] + 0.5
    process.send_signal(signal.SIGCONT)
    wait("half a second of CPU", lambda: used()[1] >= goal)
    process.send_signal(signal.SIGSTOP)
    wait("stopped", lambda: used()[0] == "T")


def cpu(page, group):
    return sum(page.value(CPU, group=group, mode=mode) for mode in ("user", "system"))


def members(daemon, group):
    return daemon.page().get("proctally_group_processes", group=group)


def all_cpu(page):
    return sum(page.of(CPU).values())


def test_hidden_and_back():
    with Proc() as proc, busy(f"{RUN}-old") as old:
        use_cpu(old)
        with Daemon(config=CONFIG, procfs=proc.path, user=NOBODY) as daemon:
            daemon.wait_ready().settle()
            with busy(f"{RUN}-born") as born:
                use_cpu(born)
                wait("it is seen", lambda: members(daemon, f"{RUN}-born") == 1)
                before, began = daemon.settle(), time.monotonic()
                equal("CPU of who was there", cpu(before, f"{RUN}-old"), 0)
                true("CPU of who is new", cpu(before, f"{RUN}-born") >= 0.5)

                proc.hide(True)
                wait("they are hidden", lambda: members(daemon, f"{RUN}-old") == 0
                     and members(daemon, f"{RUN}-born") == 0)
                daemon.settle()
                use_cpu(born)
                proc.hide(False)
                wait("they are back", lambda: members(daemon, f"{RUN}-old") == 1
                     and members(daemon, f"{RUN}-born") == 1)
                page, seconds = daemon.settle(), time.monotonic() - began
                for group in (f"{RUN}-old", f"{RUN}-born"):
                    equal(f"CPU of {group}", cpu(page, group), cpu(before, group))
                    equal(f"restarts of {group}",
                          page.value("proctally_group_restarts_total", group=group), 0)
                equal("started", [page.value("proctally_group_started_total", group=group)
                                  for group in (f"{RUN}-old", f"{RUN}-born")], [0, 1])
                true("no more CPU than there is",
                     all_cpu(page) - all_cpu(before) < seconds * os.cpu_count() + 1)

                use_cpu(born)
                wait("it counts again", lambda: cpu(daemon.page(), f"{RUN}-born") >=
                     cpu(before, f"{RUN}-born") + 0.5)


def kernel():
    return tuple(int(number) for number in os.uname().release.split("-")[0].split(".")[:2])


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root, to mount")
    if kernel() < OPTION_OF_ONE_MOUNT:
        skip("the kernel has one hidepid for all mounts")
    if not os.environ.get(INSIDE):
        if not shutil.which("unshare") or subprocess.run(
                ["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
            skip("no namespace for mounts can be made here")
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv])
    sys.exit(main(sys.modules[__name__]))
