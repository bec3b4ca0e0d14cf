#!/usr/bin/env python3
"""SIGHUP: a good file takes effect between two cycles, a bad one changes nothing."""
import os
import signal
import sys

from harness.daemon import Daemon, wait_until
from harness.tests import Tree, equal, main, true

FIRST = "[group web]\ncomm = canary\n"
SECOND = "[metrics]\ninclude = proctally_group_mappings\n\n" + FIRST + "\n[group base]\ncomm = init\n"
BAD = {
    "unknown key": FIRST + "colour = blue\n",
    "unknown section": FIRST + "[nonsense]\na = 1\n",
    "bad value": "[collector]\ninterval = soon\n" + FIRST,
    "duplicate key": "[collector]\ninterval = 1s\ninterval = 2s\n" + FIRST,
    "bytes": FIRST + "\udcff\udcfe = \udc80\n",
}
SUCCESSFUL = "proctally_config_last_reload_successful"
TIME = "proctally_config_last_reload_success_timestamp_seconds"


class Watch:
    """Pages of one daemon in a row: no counter may fall from one to the next."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.last = daemon.page()

    def page(self):
        page = self.daemon.page()
        equal("counters", page.fell_since(self.last), [])
        self.last = page
        return page

    def until(self, what, condition):
        def look():
            self.daemon.must_live()
            page = self.page()
            return page if condition(page) else None
        return wait_until(what, look)


def test_good_and_bad_files():
    with Tree() as tree, Daemon(config=FIRST, procfs=tree) as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        before = daemon.settle()
        equal("groups", before.groups(), {"web", "init"})
        equal("successful at start", before.value(SUCCESSFUL), 1)
        loaded = before.value(TIME)

        for name, text in BAD.items():
            daemon.write_config(text)
            lines = len(daemon.log_lines())
            daemon.send(signal.SIGHUP)
            page = watch.until(f"{name} is refused", lambda p: p.value(SUCCESSFUL) == 0)
            equal(f"{name}: groups", page.groups(), {"web", "init"})
            equal(f"{name}: time of the last good one", page.value(TIME), loaded)
            told = daemon.log_lines()[lines:]
            true(f"{name}: the log names the file: {told}",
                 any(daemon.config_path in line for line in told))
            daemon.write_config(FIRST)
            daemon.send(signal.SIGHUP)
            page = watch.until("good again", lambda p: p.value(SUCCESSFUL) == 1)
            true("a newer time", page.value(TIME) > loaded)
            loaded = page.value(TIME)

        daemon.write_config(SECOND)
        daemon.send(signal.SIGHUP)
        page = watch.until("the second file", lambda p: "base" in p.groups())
        equal("the new rule's group", page.value("proctally_group_processes", group="base"), 1)
        equal("the old group", page.value("proctally_group_processes", group="web"), 1)
        equal("the new family", page.value("proctally_group_mappings", group="web"), 6)

        os.unlink(daemon.config_path)
        daemon.send(signal.SIGHUP)
        page = watch.until("no file is refused", lambda p: p.value(SUCCESSFUL) == 0)
        true("groups stay", "base" in page.groups())
        os.mkdir(daemon.config_path)
        daemon.send(signal.SIGHUP)
        for _ in range(3):
            page = daemon.settle(1)
        equal("a directory is refused", page.value(SUCCESSFUL), 0)


def test_a_storm_of_signals():
    with Tree() as tree, Daemon(config=FIRST, procfs=tree) as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        for i in range(100):
            daemon.write_config(SECOND if i % 2 else FIRST)
            daemon.send(signal.SIGHUP)
            watch.page()
        daemon.send(signal.SIGHUP)
        watch.until("the last file", lambda p: "base" in p.groups())


def test_without_a_file():
    with Tree() as tree, Daemon(procfs=tree) as daemon:
        daemon.wait_ready()
        daemon.send(signal.SIGHUP)
        page = daemon.settle()
        equal("groups", page.groups(), {"canary.service", "init"})


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
