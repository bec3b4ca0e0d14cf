"""What a scan finds of processes that are just ending.

701 an empty directory, 702 a dangling symlink, 703 all but `stat`, 706 an empty `stat`: gone, not
counted, no error (at most one for 706). 704 only `stat`: counted, the rest left out. 705 without
`status`, `io` and `fd`: counted, CPU exact. 707 lists a thread that has no files: threads come
from stat field 20. The cycle succeeds, nothing is logged.
"""
import os

import procfs


def build(at):
    root = at("proc")
    procfs.base(root)
    os.mkdir(f"{root}/701")
    os.symlink("nowhere", f"{root}/702")
    procfs.process(root, 703, "nostat", skip=("stat",))
    procfs.write(f"{root}/704/stat", procfs.stat(704, "onlystat", utime=100, stime=50, minflt=10,
                                                 majflt=1))
    procfs.process(root, 705, "partial", skip=("status", "io", "fd"))
    procfs.process(root, 706, "empty", files={"stat": b""})
    procfs.process(root, 707, "lostthread", threads=2)
    os.mkdir(f"{root}/707/task/799")


def check(page, tree, see):
    see.groups(page, {"init", "canary", "onlystat", "partial", "lostthread"})
    for name in ("onlystat", "partial", "lostthread"):
        see.value(page, 1, "proctally_group_processes", group=name)
        see.states(page, name, sleeping=1)
    see.value(page, 2, "proctally_group_threads", group="lostthread")
    see.value(page, 8388608, "proctally_group_virtual_memory_bytes", group="onlystat")
    for name in ("onlystat", "partial"):
        for family in ("resident_memory_bytes", "swap_bytes", "open_fds",
                       "storage_read_bytes_total"):
            see.absent(page, f"proctally_group_{family}", group=name)
    see.unread(page, "onlystat", status=1, io=1, fd=1, limits=1, maps=1, smaps=1)
    # PSS is read only of processes whose size is known not to be huge.
    see.unread(page, "partial", status=1, io=1, fd=1, smaps=1)
    see.unread(page, "lostthread")
    see.equal("read errors", see.read_errors(page).keys() - {("stat", "malformed")}, set())
    see.equal("at most one error for 706", see.read_errors(page).get(("stat", "malformed"), 0), 0)
    see.zero_or_absent(page, "proctally_snapshot_failures_total", reason="procfs")


def check_once(page, tree, see):
    see.cpu(page, "partial", 1.00, 0.50)
    see.cpu(page, "onlystat", 1.00, 0.50)
