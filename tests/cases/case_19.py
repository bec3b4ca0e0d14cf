"""/proc/stat of 4096 CPUs with an `intr` line of 100,001 numbers.

576 KB, 322 KB of it one line; tokens lie across every edge of a power of two. Expected: the boot
time is found, the totals are those written; the reader's memory does not grow with the line, and
one reading takes at most 20 ms. `proc.one` and `proc.none` are the smallest files: one CPU, and
the `cpu` line alone.
"""
import random

import procfs
from harness.daemon import SANITIZE, Daemon

MODES = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest",
         "guest_nice"]


def rows_and_intr(cpus):
    seeded = random.Random(7)
    rows = [[seeded.randrange(10 ** seeded.randrange(1, 9)) for _ in range(10)]
            for _ in range(cpus)]
    intr = [10 ** 11] + [seeded.choice([0, 0, 0, seeded.randrange(10 ** 6)])
                         for _ in range(100000)]
    return rows, "intr " + " ".join(map(str, intr)) + "\n"


def build(at):
    for name, cpus in (("proc.many", 4096), ("proc.one", 1)):
        rows, intr = rows_and_intr(cpus)
        procfs.base(at(name), stat=procfs.host_stat(cpus=dict(enumerate(rows)), intr=intr))
    _, intr = rows_and_intr(0)
    procfs.base(at("proc.none"), stat="cpu  1 2 3 4 5 6 7 8 9 10\n" + intr +
                f"ctxt 1\nbtime {procfs.BOOT_TIME}\nprocesses 1\n")


def totals(tree):
    if tree == "proc.none":
        return list(range(1, 11))
    rows, _ = rows_and_intr(4096 if tree == "proc.many" else 1)
    return [sum(column) for column in zip(*rows)]


def check(page, tree, see):
    see.value(page, procfs.BOOT_TIME, "proctally_host_boot_time_seconds")
    see.value(page, 10 ** 11, "proctally_host_interrupts_total")
    see.host_cpu(page, dict(zip(MODES, totals(tree))))
    see.no_read_errors(page)
    per_cpu = {"proc.many": 4096, "proc.one": 1, "proc.none": 0}[tree]
    see.equal("CPUs shown", len(page.label_values(see.PER_CPU, "cpu")), per_cpu)


def check_served(pages, see):
    see.quick(pages)


def extra(at, see):
    """The reader's memory does not depend on how long the file or its longest line is."""
    peaks = {}
    for tree in ("proc.one", "proc.many"):
        with Daemon(config="[group ${comm}]\ncomm = *\n", procfs=at(tree)) as daemon:
            daemon.wait_ready().settle(10)
            peaks[tree] = daemon.status_kb("VmHWM")
    if not SANITIZE:
        see.at_most("peak memory over that of one CPU, kB",
                    peaks["proc.many"] - peaks["proc.one"], 1024)
