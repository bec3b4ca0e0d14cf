#!/usr/bin/env python3
"""Reloads by the hundred, good files and bad ones, under scrape: no scrape fails, no counter falls,
and memory does not grow.

SOAK_RELOADS says how many (200).
"""
import os
import signal
import sys
import threading

from harness.daemon import SANITIZE, Daemon, Failure, wait_until
from harness.tests import Tree, equal, main, true

RELOADS = int(os.environ.get("SOAK_RELOADS", "200"))
# All that a reload needs was needed once by then.
WARM_UP = 50
GROWTH_KB = 256
CANARY = "[group web]\ncomm = canary\n"
GOOD = [
    CANARY,
    "[metrics]\ninclude = *\n\n" + CANARY + "\n[group base]\ncomm = init\n",
    "[groups]\nmax = 3\n\n" + CANARY + "\n[group ${comm}]\ncomm = *\n",
    CANARY + "".join(f"\n[group fixed-{i}]\ncomm = nobody-{i}\n" for i in range(40)),
    "[groups]\nforget = 1s\n\n" + CANARY,
]
BAD = [
    CANARY + "colour = blue\n",
    "[nonsense]\na = 1\n" + CANARY,
    "[collector]\ninterval = soon\n" + CANARY,
    CANARY + "[group twice]\ncomm = a\n" * 50 + "[collector]\nsource = no\n",
    "\udcff\udcfe\n" * 200,
]
SUCCESSFUL = "proctally_config_last_reload_successful"
TIME = "proctally_config_last_reload_success_timestamp_seconds"
CPU = "proctally_group_cpu_seconds_total"


class Scrapes:
    """Pages one after the other on a thread of their own."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.last = daemon.page()
        self.n = 0
        self.trouble = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.scrape)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def scrape(self):
        while not self.over.wait(0.01):
            try:
                page = self.daemon.page()
            except (Failure, OSError) as e:
                self.trouble.append(str(e))
                continue
            # A family that was off, and a group that was forgotten, begin anew at 0.
            fell = [f for f in page.fell_since(self.last)
                    if "proctally_group_" not in f or 'group="web"' in f and CPU in f]
            self.trouble += fell
            self.last = page
            self.n += 1


def reload(daemon, scrapes, text, good):
    """Hands the file over and waits until a page tells what became of it."""
    daemon.write_config(text)
    before = scrapes.last.value(TIME)
    daemon.send(signal.SIGHUP)

    def told():
        daemon.must_live()
        page = scrapes.last
        if not good:
            return page.value(SUCCESSFUL) == 0
        return page.value(SUCCESSFUL) == 1 and page.value(TIME) > before

    wait_until("the reload is told", told, pause=0.002)


def test_reloads_under_scrape():
    with Tree(50) as tree, Daemon(config=CANARY, procfs=tree, interval="100ms",
                                  level="error") as daemon:
        daemon.wait_ready()
        with Scrapes(daemon) as scrapes:
            resident = 0
            for i in range(RELOADS):
                if i == WARM_UP:
                    resident = daemon.status_kb("VmRSS")
                if i % 3 < 2:
                    reload(daemon, scrapes, GOOD[i // 3 % len(GOOD)], True)
                else:
                    reload(daemon, scrapes, BAD[i // 3 % len(BAD)], False)
            grown = daemon.status_kb("VmRSS") - resident
        equal("trouble", scrapes.trouble[:10], [])
        print(f"{RELOADS} reloads, a third of them of bad files; {scrapes.n} scrapes; resident "
              f"{resident} kB after {WARM_UP} reloads, and {grown} kB more at the end", flush=True)
        true("scrapes in between", scrapes.n >= RELOADS)
        if not SANITIZE:
            true(f"memory grows by {grown} kB", grown <= GROWTH_KB)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
