"""Names in the root of /proc.

Pids are digits without a leading zero that fit. Everything else in the root is no process: other
numbers, signs, blanks, a file, symlinks (`self`, `thread-self`, one to the canary), directories of
the kernel, raw bytes. Expected: 1, 4242, 4194303 are counted, 4194304 and 2147483647 may be; the
canary is counted once; no crash.
"""
import os

import procfs

ODD = [b"2147483648", b"99999999999999999999", b"007", b"+5", b"-5", b"0", b" 12", b"12a", b"1.5",
       b"5 "]
PIDS = (4194303, 4194304, 2147483647)


def build(at):
    root = at("proc")
    procfs.base(root)
    for pid in PIDS:
        procfs.process(root, pid, f"n{pid}")
    for name in ODD:
        directory = f"{root}/{name.decode()}"
        procfs.write(f"{directory}/stat", procfs.stat(7, "odd-name"))
        procfs.write(f"{directory}/status", procfs.status(7, "odd-name"))
    for name in (b"irq", b"fs", b"tty", b"\xff\xfe"):
        os.mkdir(os.fsencode(root) + b"/" + name)
    procfs.write(f"{root}/555", "not a directory\n")
    os.symlink("4242", f"{root}/556")
    os.symlink("4242", f"{root}/self")
    os.symlink("4242/task/4242", f"{root}/thread-self")


def check(page, tree, see):
    see.value(page, 1, "proctally_group_processes", group="canary")
    groups = page.groups()
    see.equal("groups", groups - {"n4194304", "n2147483647"}, {"init", "canary", "n4194303"})
    see.value(page, len(groups), "proctally_processes")
    see.at_most("errors", sum(see.read_errors(page).values()), len(ODD) + 3)
