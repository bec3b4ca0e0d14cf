#!/usr/bin/env python3
"""Processes whose maps or smaps_rollup never answer: they are quarantined, and all else goes on."""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

from harness.daemon import Daemon, wait_until
from harness.tests import BY_COMM, PROCFS, equal, main, true

HEAD = PROCFS + "probe_deadline = 300ms\n\n[metrics]\ninclude = *\n\n"
CONFIG = HEAD + BY_COMM
# What the prober reads decides.
BY_TEXTS = HEAD + r"""[group line-${1}]
comm = hang-*
cmdline = /hang-(\w+) 1000$

[group exe-${exe}]
comm = hang-*
exe = *

""" + BY_COMM
THREADS = 4
THREADS_MAX = 16
# PSS of a process is read again once in so many cycles, and known in between.
TURN = 16
LINE = "does not answer"


@contextlib.contextmanager
def processes(count, comm):
    """So many processes of that comm, found by the daemon at the real /proc."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        path = os.path.join(directory, comm)
        os.symlink("/bin/sleep", path)
        started = [subprocess.Popen([path, "1000"], stdin=subprocess.DEVNULL)
                   for _ in range(count)]
        try:
            yield started
        finally:
            for process in started:
                process.kill()
                process.wait()


class Hanging:
    """A daemon on the real /proc, in which reads of listed processes hang."""

    def __init__(self, config=CONFIG, started=(), name=None):
        self.config = config
        self.from_the_start = started, name

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.file = os.path.join(self.directory.name, "pids")
        self.calls = os.path.join(self.directory.name, "calls")
        self.list(*self.from_the_start)
        self.daemon = Daemon(config=self.config, environment={
            "LD_PRELOAD": os.environ["PROCTALLY_HANG_SHIM"], "HANG_FILE": self.file,
            "HANG_CALLS": self.calls})
        self.daemon.__enter__().wait_ready()
        return self

    def __exit__(self, *what):
        try:
            self.daemon.__exit__(*what)
            if what[0] is None:
                true("the collector opened what may block", not os.path.exists(self.calls))
        finally:
            self.directory.cleanup()

    def list(self, started, name=None):
        """These hang: with a name, in that file alone."""
        with open(self.file + ".new", "w", encoding="ascii") as f:
            f.write(" ".join(f"{p.pid}:{name}" if name else str(p.pid) for p in started))
        os.rename(self.file + ".new", self.file)

    def quarantined(self):
        return self.daemon.page().value("proctally_quarantined_processes")

    def wait_quarantined(self, count):
        wait_until(f"{count} quarantined", lambda: self.quarantined() == count)

    def lines(self):
        return [line for line in self.daemon.log_lines() if LINE in line]

    def descriptors(self):
        """The fewest of many looks: those of requests under way come and go."""
        fewest = self.daemon.descriptors()
        for _ in range(50):
            time.sleep(0.01)
            fewest = min(fewest, self.daemon.descriptors())
        return fewest

    def threads(self):
        return len(self.daemon.thread_states())


def mappings(page, group):
    return page.get("proctally_group_mappings", group=group)


def test_one_process():
    with processes(3, "hang-good") as good, processes(1, "hang-bad") as bad, Hanging() as h:
        one = wait_until("the mappings of all",
                         lambda: mappings(h.daemon.page(), "hang-bad")) / len(bad)
        threads = h.threads()
        h.list(bad)
        h.wait_quarantined(1)
        page = h.daemon.settle(4)
        equal("threads with the one that hangs", h.threads(), threads + 1)
        descriptors = h.descriptors()
        begin = time.monotonic()
        page = h.daemon.settle(10)
        true("cycles go on at their pace", time.monotonic() - begin < 20)
        equal("threads after 10 more cycles", h.threads(), threads + 1)
        equal("descriptors after 10 more cycles", h.descriptors(), descriptors)
        equal("quarantined", page.value("proctally_quarantined_processes"), 1)
        for part in ("maps", "smaps"):
            equal(f"unread {part}", page.value("proctally_group_unread_processes",
                                               group="hang-bad", part=part), 1)
            equal(f"unread {part} of the others",
                  page.get("proctally_group_unread_processes", group="hang-good", part=part), None)
        equal("its mappings", mappings(page, "hang-bad"), None)
        equal("all else of it", page.value("proctally_group_threads", group="hang-bad"), 1)
        true("the mappings of the others", mappings(page, "hang-good") == len(good) * one)
        equal("log lines", len(h.lines()), 1)
        true(h.lines()[0], f"pid={bad[0].pid} " in h.lines()[0] and "comm=hang-bad" in h.lines()[0]
             and "level=info" in h.lines()[0])
        # Its end releases it, though the thread never comes back.
        bad[0].kill()
        bad[0].wait()
        h.wait_quarantined(0)
        equal("the thread hangs on", h.threads(), threads + 1)
        equal("log lines", len(h.lines()), 1)


def test_one_file():
    """The file that hangs is named, and whatever else of the process takes the lock is not asked for."""
    with processes(2, "hang-bad") as bad, Hanging() as h:
        wait_until("the mappings of all", lambda: mappings(h.daemon.page(), "hang-bad"))
        h.list(bad[1:], "smaps_rollup")
        h.wait_quarantined(1)
        page = h.daemon.settle(2)
        equal("mappings that are not known", page.value("proctally_group_unread_processes",
                                                        group="hang-bad", part="maps"), 1)
        wait_until("the line", h.lines)
        equal("log lines", len(h.lines()), 1)
        true(h.lines()[0], f"pid={bad[1].pid} " in h.lines()[0] and "part=smaps" in h.lines()[0])


def test_too_many():
    with processes(THREADS_MAX + 2, "hang-bad") as bad, processes(1, "hang-good"), Hanging() as h:
        wait_until("the mappings of all", lambda: mappings(h.daemon.page(), "hang-bad"))
        threads = h.threads() - THREADS
        h.list(bad)
        h.wait_quarantined(THREADS_MAX)
        page = h.daemon.settle(TURN + 1)
        equal("threads", h.threads(), threads + THREADS_MAX)
        equal("quarantined", page.value("proctally_quarantined_processes"), THREADS_MAX)
        for group, count in (("hang-bad", len(bad)), ("hang-good", 1)):
            equal(f"unread PSS of {group}", page.value("proctally_group_unread_processes",
                                                       group=group, part="smaps"), count)
        equal("lines", len(h.lines()), THREADS_MAX)
        off = [line for line in h.daemon.log_lines() if "too many" in line]
        equal("lines on the prober being off", len(off), 1)
        h.daemon.settle(4)
        equal("threads", h.threads(), threads + THREADS_MAX)


def test_stop_before_the_deadline():
    """Threads that hang and were not given up yet do not hold up the stop either."""
    with processes(2, "hang-bad") as bad, Hanging() as h:
        wait_until("the mappings of all", lambda: mappings(h.daemon.page(), "hang-bad"))
        h.list(bad)
        h.daemon.settle(1)
        code, seconds = h.daemon.stop()
        equal("exit status", code, 0)
        true(f"took {seconds:.1f} s", seconds < 5)


def members(page, group):
    return page.get("proctally_group_processes", group=group)


def test_cmdline():
    """Its group turns on arguments that never come: it waits for two cycles, and for nothing else."""
    exe = "exe-" + os.path.basename(os.path.realpath("/bin/sleep"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(processes(1, "hang-good"))
        old = stack.enter_context(processes(1, "hang-old"))
        h = stack.enter_context(Hanging(BY_TEXTS, old, "cmdline"))
        # Found as the daemon starts: known by then is the program.
        page = h.daemon.page()
        equal("pending in the first snapshots", page.value("proctally_pending_processes"), 0)
        equal("who answers", members(page, "line-good"), 1)
        equal("who does not", members(page, exe), 1)
        h.wait_quarantined(1)
        # New while it runs.
        h.daemon.pause()
        bad = stack.enter_context(processes(1, "hang-bad"))
        h.list(old + bad, "cmdline")
        h.daemon.resume()
        begin = time.monotonic()
        page = h.daemon.settle(4)
        true("scrapes and cycles go on", time.monotonic() - begin < 10)
        equal("pending after that", page.value("proctally_pending_processes"), 0)
        true("it is grouped", members(page, "hang-bad") == 1 or members(page, exe) == 2)
        h.wait_quarantined(2)
        page = h.daemon.settle(2)
        equal("both are where their program is", members(page, exe), 2)
        equal("their arguments", page.value("proctally_group_unread_processes", group=exe,
                                            part="cmdline"), 2)
        equal("their program", page.get("proctally_group_unread_processes", group=exe,
                                        part="exe"), None)
        equal("who answers", members(page, "line-good"), 1)
        equal("lines", len(h.lines()), 2)
        true(h.lines()[1], f"pid={bad[0].pid} " in h.lines()[1] and "part=cmdline" in h.lines()[1])


def test_cmdline_of_one_that_had_a_place():
    """It answered once, and stays where that brought it, also when the rules are read anew."""
    with processes(2, "hang-good") as good, Hanging(BY_TEXTS) as h:
        equal("both", members(h.daemon.settle(1), "line-good"), 2)
        h.list(good[1:], "cmdline")
        h.daemon.send(signal.SIGHUP)
        h.wait_quarantined(1)
        page = h.daemon.settle(2)
        equal("both again", members(page, "line-good"), 2)
        h.daemon.send(signal.SIGHUP)
        page = h.daemon.settle(4)
        equal("both for ever", members(page, "line-good"), 2)
        equal("pending", page.value("proctally_pending_processes"), 0)
        good[1].kill()
        good[1].wait()
        h.wait_quarantined(0)
        equal("it ended there", members(h.daemon.settle(1), "line-good"), 1)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
