#!/usr/bin/env python3
"""Processes as the kernel counts them: those that come and go between two looks are counted, with
all that they used, by how they ended, and once.

BPF_BURST says how many there are in a burst (3000)."""
import os
import subprocess
import sys

from harness.clients import quiet_descriptors
from harness.daemon import SANITIZE, Daemon, Failure, skip, wait_until
from harness.tests import RUN, equal, main, true

ENDS = os.environ["PROCTALLY_ENDS"]
BURST = int(os.environ.get("BPF_BURST", "3000"))
CONFIG = ("[metrics]\ninclude = proctally_group_syscall_written_bytes_total\n\n"
          f"[group ends]\ncomm = {RUN}\nchildren = yes\n")
MIB = 1 << 20
REASONS = ("success", "failure", "terminated", "killed", "crashed", "oom", "unknown")


def bpf(interval="500ms", config=CONFIG):
    daemon = Daemon("--collector.source=bpf", config=config, interval=interval)
    daemon.wait_ready()
    return daemon


def available():
    try:
        with bpf():
            return True
    except Failure as e:
        if os.geteuid() == 0:
            raise
        print(e)
        return False


class Ends:
    """One run of the program, within its own group."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([ENDS, RUN, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        equal("ends says", self.process.stdout.readline(), b"ready\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        equal("ends ends with", self.process.wait(60), 0)

    def run(self):
        """CPU of its own, of its children, minor faults of these."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        true("it says what it used", len(line) == 3)
        return float(line[0]), float(line[1]), int(line[2])


def total(page, family, **labels):
    return sum(value for got, value in page.of(f"proctally_group_{family}").items()
               if {**dict(got), "group": "ends", **labels} == dict(got))


def shown(daemon):
    """A page on which every counter has shown its 0, and all that ended before has been told."""
    daemon.settle(3)
    return daemon.settle(1)


def settled(daemon, condition):
    """The first page that the condition holds of, or the last one after a while."""
    def looked():
        page = daemon.page()
        return page if condition(page) else None

    try:
        return wait_until("all ends are told", looked, 90)
    except Failure:
        return daemon.page()


def ended(page):
    return sum(total(page, "exited_total", reason=reason) for reason in REASONS)


def lost(page):
    return page.value("proctally_lost_end_records_total")


def test_burst():
    with bpf() as daemon, Ends("burst", BURST) as ends:
        before = shown(daemon)
        own, children, faults = ends.run()
        page = settled(daemon, lambda p: ended(p) - ended(before) >= BURST)
        started = total(page, "started_total") - total(before, "started_total")
        cpu = total(page, "cpu_seconds_total") - total(before, "cpu_seconds_total")
        seen = total(page, "minor_page_faults_total") - total(before, "minor_page_faults_total")
        print(f"     {BURST} processes: {started:.0f} started, {ended(page) - ended(before):.0f} "
              f"exited, {lost(page):.0f} lost; CPU {cpu:.3f} s of {own + children:.3f}; "
              f"{seen:.0f} faults, {faults} of children")
        equal("lost", lost(page), 0)
        equal("started", started, BURST)
        equal("exited", ended(page) - ended(before), BURST)
        equal("exited well", total(page, "exited_total", reason="success"), BURST)
        true("CPU", abs(cpu - own - children) <= 0.02 * (own + children) + 0.01)
        true("faults", faults <= seen <= faults * 1.05 + 500)
        equal("members", total(page, "processes"), 1)


def test_loss_is_counted():
    """While nobody takes ends out of the ring, it fills."""
    number = 6000
    with bpf() as daemon, Ends("burst", number) as ends:
        before = shown(daemon)
        daemon.pause()
        ends.run()
        daemon.resume()
        page = settled(daemon, lambda p: ended(p) - ended(before) + lost(p) >= number)
        exited = ended(page) - ended(before)
        print(f"     {number} processes: {exited:.0f} exited, {lost(page):.0f} lost")
        true("some are lost", lost(page) > 0)
        true("some are not", 0 < exited < number)
        # Others end, too.
        true("all are counted", number <= exited + lost(page) <= number + 300)
        equal("lines of the log", sum("ends of processes or threads were lost" in line
                                      for line in daemon.log_lines()), 1)


def test_reasons():
    with bpf() as daemon, Ends("reasons", 4) as ends:
        before = shown(daemon)
        ends.run()
        page = settled(daemon, lambda p: ended(p) - ended(before) >= 20)
        got = {reason: total(page, "exited_total", reason=reason) for reason in REASONS}
        equal("reasons", got, {"success": 4, "failure": 4, "terminated": 4, "killed": 4,
                               "crashed": 4, "oom": 0, "unknown": 0})


def test_threads_take_nothing_along():
    count = 100
    with bpf() as daemon, Ends("threads", count) as ends:
        before = shown(daemon)
        own, _, _ = ends.run()
        written = count * 64 * 1024

        def grown(page, family):
            return total(page, family) - total(before, family)

        page = settled(daemon, lambda p: grown(p, "syscall_written_bytes_total") >= written)
        true("written", written <= grown(page, "syscall_written_bytes_total") <= written + 4096)
        cpu = grown(page, "cpu_seconds_total")
        true(f"CPU: {cpu} of {own}", abs(cpu - own) <= 0.02 * own + 0.02)
        true("switches", grown(page, "voluntary_context_switches_total") >= count)


def test_bytes_of_a_tree_count_once():
    count = 30
    with bpf() as daemon, Ends("tree", count) as ends:
        before = shown(daemon)
        ends.run()
        # Two shells and dd for each.
        page = settled(daemon, lambda p: ended(p) - ended(before) >= 3 * count)
        written = (total(page, "syscall_written_bytes_total") -
                   total(before, "syscall_written_bytes_total"))
        equal("processes", ended(page) - ended(before), 3 * count)
        true(f"{written:.0f} bytes, of {count * MIB}",
             count * MIB <= written <= count * MIB + 4096 * count)


def test_nothing_grows():
    with bpf("100ms") as daemon:
        daemon.settle(3)
        before = quiet_descriptors(daemon)
        daemon.settle(30)
        equal("descriptors", quiet_descriptors(daemon), before)
        equal("steps back of CPU", sum(
            daemon.page().value("proctally_steps_back_total", field=f"cpu_{mode}")
            for mode in ("user", "system")), 0)


if __name__ == "__main__":
    if SANITIZE and "thread" in SANITIZE:
        BURST = min(BURST, 500)
    if not available():
        skip("the bpf source cannot be had here")
    sys.exit(main(sys.modules[__name__]))
