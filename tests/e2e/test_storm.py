#!/usr/bin/env python3
"""A fork bomb, chains of execs and crowds of threads at once, as the kernel counts them. On every
page meanwhile no total has fallen, none is more than what was done by then, and in the end all of
it is counted, once.

STORM_FORKS says how many are forked (3000)."""
import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import time

from harness.bpf import need_bpf
from harness.clients import quiet_descriptors
from harness.daemon import Daemon, Failure, skip, wait_until
from harness.tests import RUN, Unavailable, equal, main, true

STORM = os.environ["PROCTALLY_STORM"]
FORKS = int(os.environ.get("STORM_FORKS", "3000"))
EXECS, THREADS = 100, 1000
CONFIG = ("[collector]\nsource = bpf\ncpu_budget = 100%\n"
          "[metrics]\ninclude = proctally_group_syscall_written_bytes_total\n\n"
          f"[group storm]\ncomm = {RUN}\nchildren = yes\n")
INTERVAL_S = 0.2
CPUS = os.cpu_count()
# What clocks and ticks of pages that are read one after the other may be apart, of CPU time.
SLACK_S = 0.1
# Its own lines of output.
SLACK_BYTES = 4096


def total(page, family, **labels):
    return sum(value for got, value in page.of(f"proctally_group_{family}").items()
               if {**dict(got), "group": "storm", **labels} == dict(got))


def cpu(page):
    return total(page, "cpu_seconds_total")


def exited(page):
    return sum(value for labels, value in page.of("proctally_group_exited_total").items()
               if dict(labels)["group"] == "storm")


class Storm:
    """One run of the program, and what it has noted of itself."""

    def __init__(self, forks, execs, threads):
        self.tally = tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="proctally.")
        self.tally.write(bytes(24))
        self.tally.flush()
        self.process = subprocess.Popen(
            [STORM, RUN, self.tally.name, str(forks), str(execs), str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hear("ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        status = self.process.wait(60)
        self.tally.close()
        equal("storm ends with", status, 0)

    def hear(self, line):
        equal("storm says", self.process.stdout.readline(), f"{line}\n".encode())

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def noted(self):
        """(processes started, ended, bytes written), of which none is more by now"""
        with open(self.tally.name, "rb") as f:
            return struct.unpack("QQQ", f.read(24))

    def is_over(self):
        started, ended, _ = self.noted()
        return started > 0 and started == ended

    def used(self):
        """CPU seconds of all, processes, bytes; once it is over"""
        self.hear("over")
        self.go_on()
        own, children, started, written = self.process.stdout.readline().split()
        return float(own) + float(children), int(started), int(written)


class Watch:
    """Looks at every page and at what was done by then."""

    def __init__(self, daemon, storm):
        self.daemon, self.storm = daemon, storm
        self.first = self.last = daemon.page()
        self.seen = time.monotonic()
        self.pages = 0

    def grown(self, page, family):
        return total(page, family) - total(self.first, family)

    def look(self):
        self.daemon.must_live()
        before, page = time.monotonic(), self.daemon.page()
        started, ended, written = self.storm.noted()
        fell = page.fell_since(self.last)
        if fell:
            raise Failure("\n".join(fell[:10]))
        true("no more started than did", self.grown(page, "started_total") <= started)
        true("no more exited than did", exited(page) - exited(self.first) <= ended)
        true("no more written than was",
             self.grown(page, "syscall_written_bytes_total") <= written + SLACK_BYTES)
        # A page is of a cycle that may have begun before the last look.
        took = page.value("proctally_snapshot_duration_seconds", phase="collect")
        passed = time.monotonic() - self.seen + took + INTERVAL_S
        grown = cpu(page) - cpu(self.last)
        true(f"{grown:.3f} s of CPU in {passed:.3f} s", grown <= passed * CPUS + SLACK_S)
        self.last, self.seen = page, before
        self.pages += 1
        return page

    def until(self, what, condition, seconds=60):
        def looked():
            page = self.look()
            return page if condition(page) else None

        return wait_until(what, looked, seconds)


def check_all(watch, page, used_s, started, written):
    """What the storm did, and what is told of it now."""
    lost = page.value("proctally_lost_end_records_total")
    seen_s = cpu(page) - cpu(watch.first)
    print(f"     {started} processes, {watch.grown(page, 'started_total'):.0f} started and "
          f"{exited(page) - exited(watch.first):.0f} exited; CPU {seen_s:.3f} s of {used_s:.3f}; "
          f"{written} bytes, {watch.grown(page, 'syscall_written_bytes_total'):.0f} told; "
          f"{lost:.0f} lost; {watch.pages} pages")
    true("no more CPU than was used", seen_s <= used_s * 1.005 + 0.01)
    if lost:
        true("what is missing was lost", started - (exited(page) - exited(watch.first)) <= lost)
        return
    equal("started", watch.grown(page, "started_total"), started)
    equal("exited", exited(page) - exited(watch.first), started)
    equal("members", total(page, "processes"), 1)
    true("CPU", seen_s >= used_s * 0.98 - 0.02)
    told = watch.grown(page, "syscall_written_bytes_total")
    true("written", written <= told <= written + SLACK_BYTES)


@contextlib.contextmanager
def daemon_and_storm(*amounts):
    """A page on which every counter has shown its 0 is behind them."""
    with Daemon(config=CONFIG, interval=f"{INTERVAL_S * 1000:.0f}ms") as daemon:
        daemon.wait_ready()
        with Storm(*amounts) as storm:
            daemon.settle(4)
            yield daemon, storm


def test_storm():
    with daemon_and_storm(FORKS, EXECS, THREADS) as (daemon, storm):
        descriptors = quiet_descriptors(daemon)
        watch = Watch(daemon, storm)
        storm.go_on()
        watch.until("its end", lambda page: storm.is_over(), 120)
        used_s, started, written = storm.used()
        equal("processes", started, FORKS + 7)

        def is_all(page):
            return (exited(page) - exited(watch.first) +
                    page.value("proctally_lost_end_records_total") >= started and
                    total(page, "processes") == 1)

        watch.until("all ends", is_all)
        # Ends of threads may come after that of their process, and some are found by a look.
        with contextlib.suppress(Failure):
            watch.until("all bytes", lambda page: watch.grown(
                page, "syscall_written_bytes_total") >= written, 5)
        check_all(watch, watch.look(), used_s, started, written)
        equal("descriptors", quiet_descriptors(daemon), descriptors)


if __name__ == "__main__":
    try:
        need_bpf()
    except Unavailable as e:
        skip(e)
    sys.exit(main(sys.modules[__name__]))
