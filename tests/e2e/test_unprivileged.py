#!/usr/bin/env python3
"""The daemon as a user without any privilege, over processes of another user.

What every user may read is exact; what is hidden is left out, counted by part, and logged once of
each kind. Descriptors are counted where the kernel tells their number (6.2).
"""
import os
import sys

from harness.daemon import Daemon, skip
from harness.tests import RUN, equal, main, true
from test_truth import CONFIG, COUNTERS, SUMS, TURN, Herd, close, value

NOBODY = 65534
HIDDEN = {"io": [f for f in COUNTERS if f.startswith(("storage", "syscall", "read_", "write_"))],
          "maps": ["mappings", "mappings_limit_ratio"], "smaps": ["proportional_memory_bytes"]}


def kernel_tells_descriptors(pid):
    return os.stat(f"/proc/{pid}/fd").st_size > 0


def test_what_every_user_may_read():
    with Herd() as herd:
        herd.pause()
        base, pid = herd.truth(), herd.processes[1].pid
        hidden = dict(HIDDEN)
        if not kernel_tells_descriptors(pid):
            hidden["fd"] = ["open_fds", "open_fds_limit_ratio"]
        left_out = {family for families in hidden.values() for family in families}
        with Daemon(config=CONFIG, user=NOBODY) as daemon:
            daemon.wait_ready().settle()
            herd.resume()
            daemon.settle(10)
            herd.pause()
            page, truth = daemon.settle(TURN + 1), herd.truth()
            for group in (f"{RUN}-1", f"{RUN}-5", f"{RUN}-pair"):
                members = truth[group]
                for family in set(SUMS) - left_out:
                    got, expected = value(page, group, family), sum(m[family] for m in members)
                    true(f"{group} {family}: {got}, /proc says {expected}", close(got, expected))
                for family in set(COUNTERS) - left_out:
                    got = value(page, group, family)
                    expected = sum(m[family] for m in members) - sum(m[family] for m in base[group])
                    true(f"{group} {family}: {got}, /proc says {expected}", close(got, expected))
                for family in left_out:
                    equal(f"{group} {family}", value(page, group, family), None)
                unread = {dict(labels)["part"]: n
                          for labels, n in page.of("proctally_group_unread_processes").items()
                          if dict(labels)["group"] == group}
                equal(f"unread of {group}", unread, {part: len(members) for part in hidden})
            true("errors are counted", page.value("proctally_read_errors_total", file="io",
                                                  reason="permission") > 0)
            warnings = [line for line in daemon.log_lines() if "level=warn" in line]
            kinds = [(line.partition("file=")[2].split()[0], line.partition("reason=")[2].split()[0])
                     for line in warnings]
            equal("warnings of a kind", sorted(kinds), sorted(set(kinds)))
            lines = len(daemon.log_lines())
            daemon.settle(10)
            equal("log lines while nothing is new", daemon.log_lines()[lines:], [])


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root, to be another user than the processes'")
    sys.exit(main(sys.modules[__name__]))
