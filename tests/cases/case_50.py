"""Slow clients.

a: 200 that send half a request line; b: 200 that send a byte of a header each second; c: 50 that ask for
10 MB and do not read; d: 20 kept connections that idle. Expected beside each, for an ordinary client of
the same address: 19 of 20 scrapes within 2 s, all the time; descriptors as before within 30 s of their
end; with c at most 50 MB of memory more, which is given back; the time of a collection as before.
"""
import statistics
import time

import procfs
from harness.clients import GOOD_S, Hostiles, collected, quiet_descriptors, scrapes, wait_big
from harness.daemon import SANITIZE, Daemon, wait_until

WEB = "[web]\nrequest_deadline = 3s\n"
MANY = WEB + "max_connections = 128\nmax_connections_per_address = 64\n"
# A reader that is slow holds the page that it was given: there are as many as cycles in its time, so
# the budget leaves those of the interval and few more.
CONFIG = ("\n[collector]\ncpu_budget = 10%\n\n[groups]\nmax = 10000\n\n"
          "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n")
KINDS = {"half": (200, WEB), "drip": (200, WEB), "noread": (50, MANY), "asked": (20, WEB)}
SCRAPES = 20
SECONDS = 4  # longer than the deadline
GROUPS = 4300 if not SANITIZE else 300
BODY = 10_000_000 if not SANITIZE else 500_000
MEMORY_KB = 50 * 1024
REST_KB = 8 * 1024  # less than a page
REST_S = 30


def build(at):
    del at


def tree(root):
    procfs.base(root)
    for i in range(GROUPS):
        pid, comm = 10000 + i, f"worker-{i:05}"
        procfs.write(f"{root}/{pid}/stat", procfs.stat(pid, comm))
        procfs.write(f"{root}/{pid}/status", procfs.status(pid, comm))
        procfs.write(f"{root}/{pid}/io", procfs.io())


def memory_after(daemon, before):
    """What it has some snapshots and scrapes after their end."""
    deadline = time.monotonic() + REST_S
    while time.monotonic() < deadline:
        scrapes(daemon.port, 1, 0)
        rest = daemon.status_kb("VmRSS")
        if SANITIZE or rest - before <= REST_KB:
            break
        time.sleep(0.5)
    return rest


def one_kind(kind, root, see):
    count, web = KINDS[kind]
    with Daemon(config=web + CONFIG, procfs=root, interval="1s") as daemon:
        wait_big(daemon, BODY)
        good = scrapes(daemon.port, SCRAPES, 1)
        see.equal(f"{kind}: good scrapes before", len(good), SCRAPES)
        before, memory = quiet_descriptors(daemon), daemon.status_kb("VmRSS")
        first, _, collect = collected(daemon)
        took, beside = [], []
        with Hostiles(daemon.port, kind, count, "127.0.0.1"):
            for _ in range(SCRAPES):
                begin = time.monotonic()
                beside += scrapes(daemon.port, 1, 0)
                took.append(collected(daemon)[2])
                time.sleep(max(0, begin + SECONDS / SCRAPES - time.monotonic()))
            most = daemon.status_kb("VmHWM")
        last, failed, _ = collected(daemon)
        wait_until(f"{before} descriptors", lambda: daemon.descriptors() <= before, 30)
        rest = memory_after(daemon, memory)
        print(f"     {kind}: {len(beside)} of {SCRAPES} good, slowest {max(beside or [0]):.3f} s; memory "
              f"+{most - memory} kB, then +{rest - memory}; collection {collect:.3f} s, "
              f"{statistics.median(took):.3f} beside them")
        see.at_most(f"{kind}: scrapes that failed", SCRAPES - len(beside), 1)
        see.at_most(f"{kind}: the slowest", max(beside or [0]), GOOD_S)
        see.equal(f"{kind}: snapshots go on", last - first >= SECONDS * 0.7, True)
        see.equal(f"{kind}: snapshots that failed", failed, 0)
        if not SANITIZE:
            see.at_most(f"{kind}: memory, kB", most - memory, MEMORY_KB)
            see.at_most(f"{kind}: memory after, kB", rest - memory, REST_KB)
            see.at_most(f"{kind}: collection", statistics.median(took), 3 * collect + 0.05)


def extra(at, see):
    root = at("proc")
    tree(root)
    for kind in KINDS:
        one_kind(kind, root, see)
