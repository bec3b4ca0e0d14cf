#!/usr/bin/env python3
"""A real Prometheus that scrapes every 5 s gets snapshots that are young, and always about as
young: their age at the scrape is at most a cycle and 0.2 s, and varies by at most 0.2 s.

A machine that runs nobody in time cannot show that: a thread of our own that only sleeps tells when
it woke too late, and scrapes around such moments are told apart and not judged.

FRESH_SECONDS says how long (45).
"""
import os
import shutil
import sys
import threading
import time

from harness.daemon import Daemon, skip, wait_until
from harness.prometheus import Prometheus
from harness.tests import BY_COMM, main, true

SECONDS = int(os.environ.get("FRESH_SECONDS", "45"))
PERIOD_S = 5
# Until three came evenly, nobody can know when the next one will; and the collector hears of the
# third at its next cycle, which may be an interval later.
EVENLY = 3
INTERVAL_S = 10
LEARNT = EVENLY + INTERVAL_S // PERIOD_S
BOUND_S = 0.2
PAUSE_S = 0.02
STALL_S = 0.03
# So much before a scrape its cycle may have begun; and Prometheus may itself have come late.
AROUND_S = 1.0
SNAPSHOT = "proctally_snapshot_timestamp_seconds"


def cycle_seconds(page):
    return sum(page.of("proctally_snapshot_duration_seconds").values())


class Stalls:
    """When this machine let a sleeper wait: [(from, to)] of the wall clock."""

    def __enter__(self):
        self.found = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        last = time.monotonic()
        while not self.over.is_set():
            time.sleep(PAUSE_S)
            now = time.monotonic()
            if now - last > PAUSE_S + STALL_S:
                self.found.append((time.time() - (now - last), time.time()))
            last = now

    def near(self, at):
        return any(begin - AROUND_S < at < end + AROUND_S for begin, end in self.found)


def report(ages, cycle):
    ordered = sorted(ages)
    print(f"{len(ages)} scrapes: age {ordered[0]:.3f} to {ordered[-1]:.3f} s, median "
          f"{ordered[len(ordered) // 2]:.3f}, spread {ordered[-1] - ordered[0]:.3f}; "
          f"a cycle {cycle:.3f} s", flush=True)


def check(interval):
    scrapes = SECONDS // PERIOD_S
    with Daemon(config=BY_COMM, interval=interval) as daemon, Stalls() as stalls:
        daemon.wait_ready()
        with Prometheus(daemon.port, f"{PERIOD_S}s", "4s") as prometheus:
            wait_until(f"{scrapes} scrapes", lambda: len(prometheus.samples(
                SNAPSHOT, SECONDS + 60)) >= scrapes, SECONDS + 60, 1)
            samples = prometheus.samples(SNAPSHOT, SECONDS + 60)
            cycle = cycle_seconds(daemon.page())
    ages = [at - taken for at, taken in samples]
    print(f"interval {interval}, first scrapes: {[round(a, 3) for a in ages[:LEARNT]]}")
    print("then", [round(a, 3) for a in ages[LEARNT:]])
    judged = [at - taken for at, taken in samples[LEARNT:] if not stalls.near(at)]
    print(f"{len(stalls.found)} stalls of the machine, the longest of "
          f"{max([end - begin for begin, end in stalls.found], default=0):.3f} s; near them "
          f"{[round(at - taken, 3) for at, taken in samples[LEARNT:] if stalls.near(at)]}")
    if 2 * len(judged) < len(ages) - LEARNT:
        skip("the machine is too busy")
    report(judged, cycle)
    true("the snapshots are young", max(judged) <= cycle + BOUND_S)
    true("and about as young", max(judged) - min(judged) <= BOUND_S)


def test_the_default_interval():
    check(f"{INTERVAL_S}s")


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        skip("prometheus is not installed")
    sys.exit(main(sys.modules[__name__]))
