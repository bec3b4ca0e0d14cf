"""One bad line must not cost the file.

`processes -2045677862` (a 32-bit counter printed signed, seen on 4.14) and `procs_running -1`.
Expected: boot time and CPU lines as if nothing were wrong; the two numbers are left out (the first
may be 2249289434), never negative and never near 2^64; at most one warning.
"""
import procfs


def build(at):
    stat = procfs.host_stat(processes=-2045677862).replace("procs_running 3", "procs_running -1")
    procfs.base(at("proc"), stat=stat)


def check(page, tree, see):
    see.value(page, procfs.BOOT_TIME, "proctally_host_boot_time_seconds")
    see.equal("forks", page.get("proctally_host_tasks_created_total") in (None, 2249289434), True)
    see.absent(page, "proctally_host_processes_running")
    see.value(page, 0, "proctally_host_processes_blocked")
    see.value(page, 1895404, "proctally_host_context_switches_total")
    see.host_cpu(page, dict(user=42202, nice=24, system=41182, idle=160000, iowait=900, irq=0,
                            softirq=266, steal=42, guest=0, guest_nice=0))
    see.equal("files with errors", {f for f, _ in see.read_errors(page)} <= {"host_stat"}, True)


def check_log(lines, tree, see):
    see.at_most("warnings", sum("level=warn" in line for line in lines), 1)
