#!/usr/bin/env python3
"""No snapshot for too long: its figures leave the page, and nothing of the daemon's own falls."""
import os
import signal
import sys
import time

from harness.daemon import SANITIZE, Daemon, wait_until
from harness.tests import BY_COMM, Tree, equal, main, true

HANG = os.environ.get("PROCTALLY_HANG")  # not where a sanitizer must be loaded first
PIDS = ("1", "4242")
RELOADED = "proctally_config_last_reload_successful"


def hide(tree):
    os.makedirs(f"{tree}.hidden", exist_ok=True)
    for pid in PIDS:
        os.rename(f"{tree}/{pid}", f"{tree}.hidden/{pid}")


def restore(tree):
    for pid in PIDS:
        os.rename(f"{tree}.hidden/{pid}", f"{tree}/{pid}")


def wait_stale(daemon):
    wait_until("stale", lambda: daemon.answers("/-/ready") == 503)


def failures(page):
    return sum(page.of("proctally_snapshot_failures_total").values())


def check_withdrawn(page, before):
    equal("up", page.value("proctally_up"), 0)
    for name, _ in page.series:
        true(f"{name} is the daemon's own", not name.startswith(("proctally_group", "proctally_host")))
    equal("counters", page.fell_since(before), [])
    equal("snapshots", page.value("proctally_snapshots_total"),
          before.value("proctally_snapshots_total"))
    equal("time of the last one", page.value("proctally_snapshot_timestamp_seconds"),
          before.value("proctally_snapshot_timestamp_seconds"))


def last_page(daemon, tree):
    """The page of the last snapshot, when there can be no further one."""
    daemon.pause()
    hide(tree)
    daemon.resume()
    wait_until("a cycle fails", lambda: "the last snapshot stays" in daemon.log())
    return daemon.page()


def test_nothing_at_first():
    """What never was cannot stay."""
    with Tree() as tree:
        hide(tree)
        with Daemon(config=BY_COMM, procfs=tree) as daemon:
            wait_until("a cycle fails", lambda: "cycle failed" in daemon.log())
            equal("ready", daemon.answers("/-/ready"), 503)
            equal("metrics", daemon.answers(), 503)
            restore(tree)
            daemon.wait_ready()
            true("told", daemon.log().count("there is no snapshot yet") == 1)
            true("nothing stayed", "snapshot stays" not in daemon.log())


def test_emptied_and_restored():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        daemon.settle()
        before = last_page(daemon, tree)
        equal("the last snapshot stays at first", before.value("proctally_up"), 1)
        wait_stale(daemon)
        page = daemon.page()
        check_withdrawn(page, before)
        true("text", b"too old" in daemon.ask("/-/ready").body)
        equal("healthy", daemon.answers("/-/healthy"), 200)

        # It is a page that lives: failures, requests and CPU time go on.
        later = wait_until("failures are counted", lambda: (
            lambda p: p if failures(p) > failures(page) else None)(daemon.page()))
        check_withdrawn(later, page)
        true("requests are counted", later.value("proctally_http_requests_total", path="/metrics",
                                                 code="200") >
             before.value("proctally_http_requests_total", path="/metrics", code="200"))
        daemon.write_config(BY_COMM + "colour = blue\n")
        daemon.send(signal.SIGHUP)
        last = wait_until("a refused reload shows", lambda: (
            lambda p: p if p.value(RELOADED) == 0 else None)(daemon.page()))

        restore(tree)
        daemon.wait_ready()
        page = daemon.page()
        equal("up", page.value("proctally_up"), 1)
        equal("groups", page.groups(), {"init", "canary"})
        equal("counters since stale", page.fell_since(last), [])
        equal("counters since before", page.fell_since(before), [])
        equal("it is told once", daemon.log().count("figures are withdrawn"), 1)


def test_again_and_again():
    """Turns from fresh to stale and back, while pages are asked for."""
    with Tree() as tree, Daemon(config="[collector]\nstale_after = 1\n" + BY_COMM,
                                procfs=tree) as daemon:
        daemon.wait_ready()
        last, ups = daemon.page(), set()
        for _ in range(2 if SANITIZE else 3):
            hide(tree)
            wait_until("stale", lambda: daemon.page().value("proctally_up") == 0)
            restore(tree)
            deadline = time.monotonic() + 0.5
            while time.monotonic() < deadline or 1 not in ups:
                page = daemon.page()
                equal("counters", page.fell_since(last), [])
                last = page
                ups.add(page.value("proctally_up"))
            daemon.wait_ready()


class Hang:
    """A daemon whose collector can be made to hang in a read."""

    def __init__(self, tree):
        self.file = f"{tree}.hang"
        self.daemon = Daemon(config=BY_COMM, procfs=tree,
                             environment={"LD_PRELOAD": HANG, "HANG_FILE": self.file})

    def begin(self):
        with open(self.file, "w", encoding="ascii"):
            pass
        wait_stale(self.daemon)

    def end(self):
        os.unlink(self.file)


def test_hanging_collector():
    if not HANG:
        return
    with Tree() as tree:
        hang = Hang(tree)
        with hang.daemon as daemon:
            daemon.wait_ready()
            before = daemon.settle()
            hang.begin()
            page = daemon.page()
            equal("up", page.value("proctally_up"), 0)
            equal("groups", page.groups(), set())
            equal("counters", page.fell_since(before), [])
            wait_until("it lives", lambda: daemon.page().value("process_cpu_seconds_total") >
                       page.value("process_cpu_seconds_total"))
            hang.end()
            daemon.wait_ready()
            equal("groups after", daemon.page().groups(), {"init", "canary"})
            equal("counters after", daemon.page().fell_since(page), [])


def test_stop_while_the_collector_hangs():
    if not HANG:
        return
    with Tree() as tree:
        hang = Hang(tree)
        with hang.daemon as daemon:
            daemon.wait_ready()
            hang.begin()
            code, seconds = daemon.stop()
            equal("exit status", code, 0)
            true(f"took {seconds:.1f} s", seconds < 5)
            true("told", "does not end" in daemon.log())


def test_a_pause_is_not_staleness():
    """What stood still as a whole finds everything old, and goes on."""
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        for _ in range(2):
            daemon.pause()
            time.sleep(1.5)
            daemon.resume()
            page = daemon.page()
            equal("up", page.value("proctally_up"), 1)
        true("never told", "withdrawn" not in daemon.log())


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
