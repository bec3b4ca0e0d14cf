"""Reduced /proc of sandboxes: gVisor, WSL 1, qemu-user.

Expected: runs; processes are counted; what is not there is left out; no division by zero; threads
of 0 in `stat` show as in `status`; at most one warning of a kind.
"""
import procfs

GVISOR_STATUS = ("Name:\tcanary\nState:\tS (sleeping)\nTgid:\t4242\nPid:\t4242\nPPid:\t1\n"
                 "TracerPid:\t0\nFDSize:\t64\nVmSize:\t8192 kB\nVmRSS:\t2048 kB\nThreads:\t1\n"
                 "CapInh:\t0000000000000000\nSeccomp:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\n")
WSL1_DROPS = ("NStgid", "NSpid", "NSpgid", "NSsid", "Kthread", "VmSwap")


def build(at):
    root = at("proc.gvisor")
    zeros = " ".join(["0"] * 10)
    stat = (f"cpu  {zeros}\n" + "".join(f"cpu{n} {zeros}\n" for n in range(8)) + "intr 0" +
            " 0" * 255 + f"\nctxt 0\nbtime {procfs.BOOT_TIME}\nprocesses 0\nprocs_running 0\n"
            "procs_blocked 0\nsoftirq 0" + " 0" * 10 + "\n")
    procfs.base(root, stat=stat, with_canary=False)
    procfs.canary(root, files={"status": GVISOR_STATUS},
                  skip=("cgroup", "io", "schedstat", "smaps_rollup", "wchan"))
    root = at("proc.wsl1")
    procfs.base(root, stat=procfs.host_stat(softirq="").replace("procs_running 3\n", "")
                .replace("procs_blocked 0\n", ""), with_canary=False)
    procfs.canary(root, skip=("io", "limits", "smaps_rollup"),
                  files={"status": procfs.status(4242, "canary", swap_kb=16, voluntary=77,
                                                 involuntary=11, drop=WSL1_DROPS)})
    root = at("proc.qemuuser")
    procfs.base(root)
    stat = ["2501", "(guest)", "R", "1"] + ["0"] * 19 + ["21552080"] + ["0"] * 5
    stat += ["70368752569616"] + ["0"] * 16
    procfs.process(root, 2501, "guest",
                   files={"stat": " ".join(stat) + "\n",
                          "status": procfs.status(2501, "guest", threads=2)})


def canary(expected, tree):
    lacks = {"proc.gvisor": ("storage", "syscall", "proportional", "resident", "swap", "peak"),
             "proc.wsl1": ("storage", "syscall", "proportional", "swap", "open_fds_limit")}
    for what in list(expected):
        name = what[0] if isinstance(what, tuple) else what
        if any(word in name for word in lacks.get(tree, ())):
            expected[what] = None


def check(page, tree, see):
    see.value(page, 1, "proctally_group_processes", group="canary")
    if tree == "proc.qemuuser":
        see.value(page, 1, "proctally_group_processes", group="guest")
        see.value(page, 2, "proctally_group_threads", group="guest")
        see.states(page, "guest", running=1)
    if tree == "proc.wsl1":
        see.absent(page, "proctally_host_processes_running")
    see.no_read_errors(page)


def check_log(lines, tree, see):
    warnings = [line for line in lines if "level=warn" in line]
    see.equal("warnings of one kind are one", len(warnings), len(set(warnings)))
