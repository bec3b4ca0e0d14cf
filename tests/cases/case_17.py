"""Boot time that is missing, zero, junk or there twice.

Expected: the daemon runs on all four. Without a boot time start times are left out and all else
is exact; `btime 0` is a valid value (a board without a clock); of two lines the first wins.
"""
import procfs

START = {"proc.zero": 500, "proc.dup": 1700000500}  # of the canary; elsewhere unknown


def build(at):
    procfs.base(at("proc.none"), stat=procfs.host_stat(btime=None))
    procfs.base(at("proc.zero"), stat=procfs.host_stat(btime=0))
    procfs.base(at("proc.junk"), stat=procfs.host_stat(btime="17x"))
    procfs.base(at("proc.dup"), stat=procfs.host_stat() + "btime 1700009999\n")


def canary(expected, tree):
    for family in ("oldest", "newest"):
        expected[f"proctally_group_{family}_start_time_seconds"] = START.get(tree)


def check(page, tree, see):
    boot = {"proc.zero": 0, "proc.dup": 1700000000}.get(tree)
    if boot is None:
        see.absent(page, "proctally_host_boot_time_seconds")
    else:
        see.value(page, boot, "proctally_host_boot_time_seconds")
    see.value(page, 1895404, "proctally_host_context_switches_total")
    see.value(page, 48425, "proctally_host_tasks_created_total")
    errors = see.read_errors(page)
    errors.pop(("host_stat", "malformed"), None)
    see.equal("read errors", errors, {})


def check_log(lines, tree, see):
    see.at_most("warnings", sum("level=warn" in line for line in lines), 1)
