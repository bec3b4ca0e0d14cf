"""Reads that fail in the middle: ESRCH, EIO, EINTR, EINVAL, and an end where there was none.

Each row has one call of a running daemon fail (fault_shim.c tells that it did). Expected: ESRCH of
stat takes the canary away for that cycle, and it comes back with the same counters; of another file it
leaves that part out, counters keep their value, and no error counts; EIO and EINVAL count one; EINTR is
tried again; a root that cannot be listed fails the cycle, and the last page stays. `cgroup` is not read
at all.
"""
import os

import procfs
from faults import FaultyDaemon
from harness.daemon import wait_until
from see import See

CONFIG = "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
G = "proctally_group_"
# More cycles than it takes until mappings, limits and PSS have their turn.
TURN = 20
PSS = f"{G}proportional_memory_bytes"
# Without a size it is not known that PSS is cheap.
STATUS = [f"{G}resident_memory_bytes", f"{G}swap_bytes", f"{G}peak_resident_memory_bytes", PSS]


def build(at):
    procfs.base(at("proc.A"))
    procfs.base(at("proc.B"), 1)


def present(page):
    return page.value(f"{G}processes", group="canary")


class Row:
    """A daemon at a tree of its own, in its second step, so that counters are not 0."""

    def __init__(self, at, name, see, collector="", **settings):
        self.at, self.see = at, See(name)
        self.all = see
        self.settings = {"config": collector + CONFIG, **settings}

    def __enter__(self):
        live = self.at("A") + ".live"
        procfs.remove(live)
        procfs.replace(self.at("A"), f"{live}/proc")
        self.daemon = FaultyDaemon(procfs=f"{live}/proc", **self.settings)
        self.daemon.__enter__().wait_ready().settle()
        self.daemon.pause()
        procfs.replace(self.at("B"), f"{live}/proc")
        self.daemon.resume()
        self.exact(self.daemon.settle())
        return self

    def __exit__(self, *what):
        self.daemon.__exit__(*what)
        self.all.faults += self.see.faults

    def exact(self, page, **left_out):
        """The canary is exact but for what is left out."""
        expected = {**self.see.canary_gauges(), **self.see.canary_steps(1)}
        for key in expected:
            if (key[0] if isinstance(key, tuple) else key) in left_out.get("families", ()):
                expected[key] = None
        self.see.canary(page, expected)

    def errors(self, page, kinds):
        self.see.equal("kinds of errors", set(self.see.read_errors(page)), kinds)

    def recovers(self):
        """All is exact again, and nothing more is counted or logged."""
        self.daemon.relieve()
        page = self.daemon.settle(TURN)
        lines, errors = self.daemon.log_lines(), self.see.read_errors(page)
        self.exact(page)
        page = self.daemon.settle()
        self.see.equal("errors afterwards", self.see.read_errors(page), errors)
        self.see.equal("lines afterwards", self.daemon.log_lines(), lines)
        return page


def stat_is_gone(at, see, name, call, error):
    with Row(at, name, see, interval="300ms") as row:
        lines = len(row.daemon.log_lines())
        rule = row.daemon.fail(call, "4242/stat", error, times=1)
        wait_until("the canary is gone", lambda: not present(row.daemon.page()))
        row.see.equal("it fired", row.daemon.fired(rule), 1)
        wait_until("it is back", lambda: present(row.daemon.page()), 1)
        page = row.recovers()
        row.errors(page, set())
        row.see.equal("log lines", row.daemon.log_lines()[lines:], [])


def part_is_left_out(at, see, name, rule, families, parts, error=None):
    with Row(at, name, see) as row:
        lines = len(row.daemon.log_lines())
        number = row.daemon.fail(*rule)
        row.daemon.wait_fired(number)
        page = row.daemon.settle(TURN)
        row.exact(page, families=families)
        row.see.unread(page, "canary", **dict.fromkeys(parts, 1))
        row.errors(page, {error} if error else set())
        if error:
            row.see.equal("errors so far", row.see.read_errors(page)[error] >= 1, True)
        row.see.equal("log lines", len(row.daemon.log_lines()) - lines, 1 if error else 0)
        row.recovers()


def one_error_each(at, see):
    with Row(at, "one EIO of status", see) as row:
        rule = row.daemon.fail("read", "4242/status", "EIO", times=1)
        row.daemon.wait_fired(rule)
        page = row.recovers()
        row.see.equal("errors", row.see.read_errors(page), {("status", "read"): 1})


def interrupted(at, see):
    with Row(at, "EINTR", see) as row:
        rules = [row.daemon.fail("read", name, "EINTR", times=3)
                 for name in ("/proc/stat", "4242/stat", "4242/smaps_rollup", "4242/maps")]
        rules.append(row.daemon.fail("list", "/proc", "EINTR", times=3))
        for rule in rules:
            row.daemon.wait_fired(rule, 3)
        page = row.recovers()
        row.errors(page, set())
        row.see.no_steps_back(page)
        row.see.host_cpu(page, dict(zip(
            ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest",
             "guest_nice"), (2 * ticks for ticks in procfs.CPU_ROW))))


def cgroup_is_not_read(at, see):
    with Row(at, "cgroup", see) as row:
        rules = [row.daemon.fail(call, "/cgroup", "EINVAL") for call in ("open", "read")]
        page = row.daemon.settle(TURN)
        row.exact(page)
        row.errors(page, set())
        row.see.equal("looks at it", sum(map(row.daemon.fired, rules)), 0)


def root_cannot_be_listed(at, see):
    failures = "proctally_snapshot_failures_total"
    with Row(at, "EIO of the root", see, collector="[collector]\nstale_after = 100\n\n") as row:
        lines = len(row.daemon.log_lines())
        rule = row.daemon.fail("list", "/proc", "EIO", times=5)
        row.daemon.wait_fired(rule, 2)
        row.exact(row.daemon.page())
        row.daemon.wait_fired(rule, 5)
        page = row.daemon.settle()
        row.exact(page)
        row.see.value(page, 5, failures, reason="procfs")
        row.see.equal("log lines", len(row.daemon.log_lines()) - lines, 2)
        row.recovers()
    with Row(at, "EIO of the root for long", see) as row:
        rule = row.daemon.fail("list", "/proc", "EIO")
        page = wait_until("the page is stale", lambda: (
            lambda page: page if page.value("proctally_up") == 0 else None)(row.daemon.page()))
        row.see.equal("groups while nothing is known", page.groups(), set())
        row.see.equal("they are not said to be none", page.get("proctally_processes") == 0, False)
        row.daemon.relieve()
        wait_until("it is good again", lambda: row.daemon.page().value("proctally_up") == 1)
        row.recovers()


def extra(at, see):
    def tree(step):
        return at(f"proc.{step}")

    stat_is_gone(tree, see, "ESRCH of stat", "read", "ESRCH")
    stat_is_gone(tree, see, "stat is empty", "read", None)
    stat_is_gone(tree, see, "ENOENT of stat", "open", "ENOENT")
    for name, rule, families, parts, counted in (
            ("ESRCH of io", ("read", "4242/io", "ESRCH"), [], ["io"], None),
            ("EIO of status", ("read", "4242/status", "EIO"), STATUS, ["status", "smaps"], "status"),
            ("ESRCH of smaps_rollup", ("read", "4242/smaps_rollup", "ESRCH"), [PSS], ["smaps"], None),
            ("ESRCH at its open", ("open", "4242/smaps_rollup", "ESRCH"), [PSS], ["smaps"], None),
            ("EINVAL of it", ("read", "4242/smaps_rollup", "EINVAL"), [PSS], ["smaps"],
             "smaps_rollup")):
        part_is_left_out(tree, see, name, rule, families, parts,
                         (counted, "read") if counted else None)
    one_error_each(tree, see)
    interrupted(tree, see)
    cgroup_is_not_read(tree, see)
    root_cannot_be_listed(tree, see)
