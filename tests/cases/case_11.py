"""A user without privilege, whom io, fd, maps, smaps_rollup, environ and exe refuse.

1101 is another user's, 1102 our own; of the group `mixed` 1103 is another's and 1104 our own. As root
all is read. As uid 65534, expected: 1101 is counted, with CPU and memory, and what is hidden is left out
and not 0: above all the descriptors and their ratio; 1102 is exact; `mixed` adds up what 1104 shows.
Each kind of error counts in each cycle and is logged once in a run.
"""
import os

import procfs
from harness.daemon import Daemon, once
from see import See

NOBODY = 65534
OWNERS = {1101: ("other", 0), 1102: ("mine", NOBODY), 1103: ("mixed", 0), 1104: ("mixed", NOBODY)}
HIDDEN = ("io", "fd", "maps", "smaps")
LEFT_OUT = ("storage_read_bytes_total", "storage_written_bytes_total",
            "storage_cancelled_write_bytes_total", "syscall_read_bytes_total",
            "syscall_written_bytes_total", "read_syscalls_total", "write_syscalls_total",
            "open_fds", "open_fds_limit_ratio", "mappings", "proportional_memory_bytes")
READ = "proctally_group_storage_read_bytes_total"
WRITTEN = "proctally_group_storage_written_bytes_total"
CONFIG = "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
KINDS = {("io", "permission"), ("fd", "permission"), ("maps", "permission"),
         ("smaps_rollup", "permission")}


def build(at):
    root = at("proc")
    procfs.base(root)
    for pid, (comm, uid) in OWNERS.items():
        procfs.process(root, pid, comm, uid=uid)


def check(page, tree, see):
    """As root."""
    for group, count in (("other", 1), ("mine", 1), ("mixed", 2)):
        see.value(page, 3 * count, "proctally_group_open_fds", group=group)
        see.value(page, 6 * count, "proctally_group_mappings", group=group)
        see.unread(page, group)
    see.no_read_errors(page)


def check_once(page, tree, see):
    see.value(page, 2 * 4096, READ, group="mixed")


def hide(root):
    """Owners and modes as another user meets them."""
    for pid, uid in [(1, 0), (4242, 1000)] + [(pid, uid) for pid, (_, uid) in OWNERS.items()]:
        at = f"{root}/{pid}"
        for directory, names, files in os.walk(at):
            for name in (*names, *files):
                os.lchown(os.path.join(directory, name), uid, uid)
        os.chown(at, uid, uid)
        for name in ("io", "maps", "smaps_rollup", "environ"):
            os.chmod(f"{at}/{name}", 0o400)
        os.chmod(f"{at}/fd", 0o500)
        if uid != NOBODY:
            os.unlink(f"{at}/exe")


def check_hidden(page, see, expected_canary):
    group = "proctally_group_"
    for what in list(expected_canary):
        name = what[0] if isinstance(what, tuple) else what
        if name.removeprefix(group) in LEFT_OUT:
            expected_canary[what] = None
    see.canary(page, expected_canary)
    see.groups(page, {"init", "canary", "other", "mine", "mixed"})
    for family in LEFT_OUT:
        see.absent(page, group + family, group="other")
    see.unread(page, "other", **dict.fromkeys(HIDDEN, 1))
    see.unread(page, "mixed", **dict.fromkeys(HIDDEN, 1))
    see.unread(page, "mine")
    for name, count in (("other", 1), ("mine", 1), ("mixed", 2)):
        see.value(page, count, f"{group}processes", group=name)
        see.value(page, count * 8388608, f"{group}virtual_memory_bytes", group=name)
        see.resident(page, name, count * 2097152)
    for name in ("mine", "mixed"):
        see.value(page, 3, f"{group}open_fds", group=name)
        see.value(page, 3 / 1024, f"{group}open_fds_limit_ratio", group=name)
        see.value(page, 6, f"{group}mappings", group=name)
        see.value(page, 1048576, f"{group}proportional_memory_bytes", group=name)
    see.equal("kinds of errors", see.read_errors(page).keys(), KINDS)


def check_as_nobody(root, see):
    with Daemon(config=CONFIG, procfs=root, user=NOBODY) as daemon:
        page = daemon.wait_ready().settle()
        at_daemon = See("as nobody")
        check_hidden(page, at_daemon, {**at_daemon.canary_gauges(), **at_daemon.canary_steps(0)})
        before = at_daemon.read_errors(page)
        snapshots = page.value("proctally_snapshots_total")
        lines = daemon.log_lines()
        warnings = [line for line in lines if "level=warn" in line]
        at_daemon.equal("warnings", len(warnings), len(KINDS))
        page = daemon.settle(10)
        at_daemon.equal("log lines of 10 more cycles", daemon.log_lines()[len(lines):], [])
        cycles = page.value("proctally_snapshots_total") - snapshots
        after = at_daemon.read_errors(page)
        hidden = 4  # init, canary, 1101, 1103
        at_daemon.equal("errors of io a cycle",
                        (after["io", "permission"] - before["io", "permission"]) / cycles, hidden)
        see.faults += at_daemon.faults


def check_once_as_nobody(root, see):
    at_once = See("--once as nobody")
    page = once(config=CONFIG, procfs=root, user=NOBODY)
    check_hidden(page, at_once, {**at_once.canary_gauges(), **at_once.canary_totals(0)})
    at_once.cpu(page, "other", 1.00, 0.50)
    at_once.value(page, 4096, READ, group="mine")
    at_once.value(page, 8192, WRITTEN, group="mine")
    at_once.value(page, 4096, READ, group="mixed")
    at_once.value(page, 8192, WRITTEN, group="mixed")
    at_once.equal("errors", at_once.read_errors(page), dict.fromkeys(KINDS, 4))
    see.faults += at_once.faults


def extra(at, see):
    if os.geteuid() != 0:
        return
    root = at("proc")
    os.chmod(os.path.dirname(root), 0o755)
    hide(root)
    check_once_as_nobody(root, see)
    check_as_nobody(root, see)
