#!/usr/bin/env python3
"""Clients that do the daemon no good, beside an ordinary one: 200 of four kinds, which come back when
they are cut. PROCTALLY_CLIENTS_S is for how long, 10 s if it is not set.

What is bounded is the connections of an address, of all addresses, the time of a request and the size of
its head. Whoever comes when there are too many is let in at the expense of those that hold a connection
for nothing, so hostile clients do an ordinary one no harm, of other addresses or of its own: both are
tested here.
"""
import os
import resource
import socket
import statistics
import sys
import time

from harness.clients import (GOOD_S, Hostiles, collected, limit_after, quiet_descriptors, scrapes,
                             wait_big)
from harness.daemon import SANITIZE, Daemon, wait_until
from harness.tests import BY_COMM, Tree, equal, main, true

SECONDS = float(os.environ.get("PROCTALLY_CLIENTS_S", "10"))
KINDS = ("half", "drip", "noread", "idle")
EACH = 50
SAME = (("half", 200), ("drip", 200), ("noread", 50), ("idle", 200), ("asked", 200))
GROUPS = 4300 if not SANITIZE else 300
BODY = 10_000_000 if not SANITIZE else 500_000
CONFIG = ("[collector]\ncpu_budget = 100%\n\n[groups]\nmax = 10000\n\n"
          "[metrics]\ninclude = *\n\n" + BY_COMM)
MEMORY_KB = 50 * 1024
HEAD_MAX = 32 * 1024


def back_to(daemon, descriptors, seconds=30):
    begin = time.monotonic()
    wait_until(f"{descriptors} descriptors", lambda: daemon.descriptors() <= descriptors, seconds)
    return time.monotonic() - begin


def test_two_hundred_of_another_address():
    with Tree(GROUPS) as tree, Daemon(config=CONFIG, procfs=tree, interval="1s") as daemon:
        wait_big(daemon, BODY)
        unloaded = scrapes(daemon.port, 20, 4)
        equal("scrapes without load", len(unloaded), 20)
        limit = limit_after(unloaded)
        descriptors, memory = quiet_descriptors(daemon), daemon.status_kb("VmRSS")
        begin, (snapshots, _, _) = time.monotonic(), collected(daemon)
        count = int(10 * SECONDS)
        hostile = [Hostiles(daemon.port, kind, EACH, again=True) for kind in KINDS]
        try:
            for h in hostile:
                h.wait_ready()
            good = scrapes(daemon.port, count, SECONDS, limit)
            most = daemon.status_kb("VmHWM")
            after, failed, took = collected(daemon)
            seconds = time.monotonic() - begin
            many = daemon.descriptors()
        finally:
            outcomes = [h.stop() for h in hostile]
        back = back_to(daemon, descriptors)
        scrapes(daemon.port, 3, 1)
        rest = daemon.status_kb("VmRSS")
        print(f"     {count} scrapes, {len(good)} good, median {statistics.median(good):.3f} s "
              f"(unloaded {statistics.median(unloaded):.3f}), slowest {max(good):.3f} s; "
              f"memory {memory} kB, most +{most - memory}, then +{rest - memory}; "
              f"descriptors {descriptors}, {many}, back in {back:.1f} s; collection {took:.3f} s")
        print("     " + "; ".join(f"{kind} {o}" for kind, o in zip(KINDS, outcomes)))
        true("19 of 20 are good", len(good) >= 0.95 * count)
        true("they did come", all(o["opened"] >= EACH for o in outcomes))
        equal("snapshots that failed", failed, 0)
        true(f"{after - snapshots} snapshots in {seconds:.1f} s", after - snapshots >= 0.7 * seconds)
        if not SANITIZE:
            true(f"memory +{most - memory} kB", most - memory <= MEMORY_KB)


def beside(daemon, hostile, what, count=20, over_s=2):
    """19 of 20 ordinary scrapes succeed beside them, though they come of the same address."""
    for h in hostile:
        h.wait_ready()
    good = scrapes(daemon.port, count, over_s, GOOD_S if not SANITIZE else 4 * GOOD_S)
    outcomes = [h.stop() for h in hostile]
    print(f"     {what}: {len(good)} of {count} good, slowest {max(good or [0]):.3f} s; "
          + "; ".join(str(o) for o in outcomes))
    true(f"{what}: 19 of 20 are good", len(good) >= 0.95 * count)


def test_of_the_same_address():
    """They cannot keep an ordinary client out: who is there for nothing goes when another comes."""
    with Tree(GROUPS) as tree, Daemon(config=CONFIG, procfs=tree, interval="1s") as daemon:
        wait_big(daemon, BODY)
        descriptors = quiet_descriptors(daemon)
        for again in (False, True):
            for kind, count in SAME:
                hostile = [Hostiles(daemon.port, kind, count, "127.0.0.1", again)]
                beside(daemon, hostile, f"{kind}{', again' * again}")
        beside(daemon, [Hostiles(daemon.port, kind, count, "127.0.0.1", True)
                        for kind, count in SAME], "all of them")
        back_to(daemon, descriptors)


def test_a_scraper_that_keeps_its_connection():
    """Those that never say a whole request do not cost it that, though they are of its address."""
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        with socket.create_connection(("127.0.0.1", daemon.port), 5) as s:
            equal("before", kept_scrape(s), 200)
            for kind in ("half", "drip", "idle"):
                with Hostiles(daemon.port, kind, 200, "127.0.0.1", True):
                    for _ in range(10):
                        equal(f"beside {kind}", kept_scrape(s), 200)
                        time.sleep(0.1)


def kept_scrape(s):
    """The status of a scrape over the connection, 0 if that was cut."""
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = s.recv(65536)
        if not piece:
            return 0
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += s.recv(65536)
    return int(head[9:12])


def test_kept_connections():
    """One that has had its answer may stay for a while, and counts as one of its address."""
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        descriptors = quiet_descriptors(daemon)
        with Hostiles(daemon.port, "asked", 20) as h:
            equal("good scrapes", len(scrapes(daemon.port, 20, 1)), 20)
            wait_until("no more than are allowed",
                       lambda: daemon.descriptors() <= descriptors + 16, 5)
            true("kept", 0 < h.stop()["held"] <= 16)
        back_to(daemon, descriptors)


def test_limits_of_connections():
    config = "[web]\nmax_connections = 20\nmax_connections_per_address = 8\n\n" + BY_COMM
    with Tree() as tree, Daemon(config=config, procfs=tree) as daemon:
        daemon.wait_ready()
        descriptors = quiet_descriptors(daemon)
        with Hostiles(daemon.port, "half", 50, source="127.0.0.2"):
            wait_until("8 of one address", lambda: daemon.descriptors() == descriptors + 8, 5)
            equal("others are served", len(scrapes(daemon.port, 10, 0.5)), 10)
            with Hostiles(daemon.port, "half", 50, source="127.0.0.3"), \
                    Hostiles(daemon.port, "half", 50, source="127.0.0.4"):
                time.sleep(0.5)
                true("20 in all", daemon.descriptors() <= descriptors + 20)
        back_to(daemon, descriptors)
        equal("afterwards", len(scrapes(daemon.port, 10, 0.5)), 10)


def test_descriptors_for_connections():
    """The limit of open files is raised to what as many connections as may be need, and the rest."""
    config = "[web]\nmax_connections = 500\nmax_connections_per_address = 500\n\n" + BY_COMM
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with Tree() as tree, Daemon(config=config, procfs=tree, interval="1s") as daemon:
            daemon.wait_ready()
            limit = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)[0]
            true(f"a limit of {limit}", limit == hard or limit >= 600)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def status_of(port, request):
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.settimeout(5)
        answer = b""
        try:
            s.sendall(request)
            while piece := s.recv(65536):
                answer += piece
        except OSError:
            pass
    return int(answer[9:12] or b"0")


def test_sizes_of_heads():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        host = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        for size, expected in ((1000, 200), (8000, 200), (HEAD_MAX, 414), (10 * HEAD_MAX, 414)):
            equal(f"an address of {size}", status_of(
                daemon.port, b"GET /metrics?x=" + b"a" * size + host + b"\r\n"), expected)
        for size, expected in ((1000, 200), (8000, 200), (HEAD_MAX, 431), (10 * HEAD_MAX, 431)):
            equal(f"a header of {size}", status_of(
                daemon.port, b"GET /metrics" + host + b"X: " + b"a" * size + b"\r\n\r\n"), expected)
        equal("4,000 headers", status_of(
            daemon.port, b"GET /metrics" + host + b"X: y\r\n" * 4000 + b"\r\n"), 431)
        equal("scrapes go on", len(scrapes(daemon.port, 5, 0.2)), 5)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
