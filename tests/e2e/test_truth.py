#!/usr/bin/env python3
"""The page says what /proc says.

Processes of the test's own use CPU, memory, files and descriptors. They are stopped, and every
family of every group is held against /proc, read here by other code: as totals by --once, and as
increases between two stopped moments by the running daemon.
"""
import ctypes
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness.daemon import Daemon, Failure, once, wait_until
from harness.tests import PROCFS, RUN, equal, main, true

BUSY = os.environ["PROCTALLY_BUSY"]
CONFIG = PROCFS + "[groups]\nmax = 100000\n\n[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
PR_SET_CHILD_SUBREAPER = 36
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# name, threads, descriptors, extra
PROCESSES = [(f"{RUN}-{i}", 1 + i % 4, 10 * i * i, "") for i in range(8)]
PROCESSES += [(f"{RUN}-zombie", 2, 20, "zombie"), (f"{RUN}-leaderless", 3, 30, "leaderless"),
              (f"{RUN}-pair", 2, 5, ""), (f"{RUN}-pair", 3, 500, "")]
LATE = (f"{RUN}-late", 3, 40, "")
# Mappings and limits of a process are read again once in so many cycles.
TURN = 16
STATES = {"R": "running", "S": "sleeping", "D": "disk_sleep", "T": "stopped", "Z": "zombie"}

COUNTERS = ["cpu_seconds_total{user}", "cpu_seconds_total{system}", "minor_page_faults_total",
            "major_page_faults_total", "storage_read_bytes_total", "storage_written_bytes_total",
            "storage_cancelled_write_bytes_total", "syscall_read_bytes_total",
            "syscall_written_bytes_total", "read_syscalls_total", "write_syscalls_total"]
SUMS = ["threads", "resident_memory_bytes{anon}", "resident_memory_bytes{file}",
        "resident_memory_bytes{shmem}", "swap_bytes", "virtual_memory_bytes", "open_fds",
        "mappings"]
# Families that are known by other means than a number of /proc: asserted, each, below.
OTHERS = {"processes", "processes_in_state", "started_total", "exited_total", "restarts_total",
          "oldest_start_time_seconds", "newest_start_time_seconds", "zombie_children",
          "unread_processes", "peak_resident_memory_bytes", "proportional_memory_bytes",
          "open_fds_limit_ratio", "mappings_limit_ratio",
          "info"}
LABELS = {"cpu_seconds_total": "mode", "resident_memory_bytes": "kind"}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def key_values(text):
    return dict(re.findall(r"^(\w+):\s*(\d+)", text, re.M))


def boot_time():
    return int(re.search(r"^btime (\d+)", read("/proc/stat"), re.M)[1])


def look(pid):
    """What /proc says of one process now."""
    stat = read(f"/proc/{pid}/stat")
    comm = stat[stat.index("(") + 1:stat.rindex(")")]
    field = [None, None, None] + stat[stat.rindex(")") + 2:].split()  # numbered as in proc(5)
    tasks = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    of = f"/proc/{pid}"
    state = field[3]
    if state == "Z" and len(tasks) > 1:  # the leader ended: memory is with the others
        of = f"/proc/{pid}/task/{tasks[1]}"
        state = read(f"{of}/stat").rpartition(")")[2].split()[0]
    known = {
        "comm": comm, "state": STATES.get(state, "other"), "parent": int(field[4]),
        "start": boot_time() + int(field[22]) * TICK_S,
        "cpu_seconds_total{user}": int(field[14]) * TICK_S,
        "cpu_seconds_total{system}": int(field[15]) * TICK_S,
        "minor_page_faults_total": int(field[10]), "major_page_faults_total": int(field[12]),
        "threads": int(field[20]),
    }
    status, io = key_values(read(f"{of}/status")), key_values(read(f"/proc/{pid}/io"))
    for name, key in (("anon", "RssAnon"), ("file", "RssFile"), ("shmem", "RssShmem")):
        known[f"resident_memory_bytes{{{name}}}"] = int(status.get(key, 0)) * 1024
    known["swap_bytes"] = int(status.get("VmSwap", 0)) * 1024
    known["peak_resident_memory_bytes"] = int(status.get("VmHWM", 0)) * 1024
    known["virtual_memory_bytes"] = int(status.get("VmSize", 0)) * 1024
    for name, key in (("storage_read_bytes", "read_bytes"), ("storage_written_bytes", "write_bytes"),
                      ("storage_cancelled_write_bytes", "cancelled_write_bytes"),
                      ("syscall_read_bytes", "rchar"), ("syscall_written_bytes", "wchar"),
                      ("read_syscalls", "syscr"), ("write_syscalls", "syscw")):
        known[f"{name}_total"] = int(io[key])
    if state == "Z":
        known.update(open_fds=0, mappings=0, proportional_memory_bytes=0, fds_ratio=0)
        return known
    known["open_fds"] = len(os.listdir(f"{of}/fd"))
    limit = re.search(r"^Max open files\s+(\d+)", read(f"/proc/{pid}/limits"), re.M)
    known["fds_ratio"] = known["open_fds"] / int(limit[1]) if limit else 0
    known["mappings"] = read(f"{of}/maps").count("\n")
    known["proportional_memory_bytes"] = (
        int(key_values(read(f"{of}/smaps_rollup"))["Pss"]) * 1024)
    return known


class Herd:
    def __init__(self):
        # Children of a member that was killed come to us to be waited for, and do not linger.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.processes = []
        for number, process in enumerate(PROCESSES):
            self.start(number, process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            process.stdout.close()
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            self.directory.cleanup()

    def start(self, number, what):
        name, threads, descriptors, extra = what
        process = subprocess.Popen(
            [BUSY, name, str(threads), str(descriptors), f"{self.directory.name}/{number}", extra],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.processes.append(process)
        equal("busy says", process.stdout.readline(), b"ready\n")

    def pids(self):
        """All of them, and the children they have."""
        own = [p.pid for p in self.processes if p.returncode is None]
        children = []
        for pid in own:
            for path in glob.glob(f"/proc/{pid}/task/*/children"):
                children += [int(child) for child in read(path).split()]
        return own + children

    def pause(self):
        for process in self.processes:
            process.send_signal(signal.SIGSTOP)
        wait_until("all threads stopped", lambda: all(
            read(path).rpartition(")")[2].split()[0] in "TZ"
            for p in self.processes for path in glob.glob(f"/proc/{p.pid}/task/*/stat")))

    def resume(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)

    def truth(self):
        """{group: [what /proc says of each member that is left]}"""
        groups = {}
        for pid in self.pids():
            known = look(pid)
            known["pid"] = pid
            groups.setdefault(known["comm"], []).append(known)
        return groups


def value(page, group, family):
    """The page's number of "name" or "name{label value}"; None if not shown."""
    name, _, label = family.rstrip("}").partition("{")
    labels = {LABELS[name]: label} if label else {}
    return page.get(f"proctally_group_{name}", group=group, **labels)


def close(got, expected):
    return got is not None and abs(got - expected) < 1e-6 * max(1, abs(expected))


def compare_levels(page, truth, faults):
    most_mappings = int(read("/proc/sys/vm/max_map_count"))
    parents = [m["parent"] for members in truth.values() for m in members if m["state"] == "zombie"]

    def expect(group, family, expected, slack=0.0):
        got = value(page, group, family)
        if got is None or not (close(got, expected) or abs(got - expected) <= slack):
            faults.append(f"{group} {family}: {got}, /proc says {expected}")

    for group, members in truth.items():
        expect(group, "processes", len(members))
        for state in (*STATES.values(), "other"):
            got = page.get("proctally_group_processes_in_state", group=group, state=state)
            expected = sum(m["state"] == state for m in members)
            if got != expected:
                faults.append(f"{group} in state {state}: {got}, /proc says {expected}")
        for family in SUMS:
            expect(group, family, sum(m[family] for m in members))
        expect(group, "peak_resident_memory_bytes",
               max(m["peak_resident_memory_bytes"] for m in members))
        # Of pages that every process maps (the vdso) each has a share, and their number changes.
        expect(group, "proportional_memory_bytes",
               sum(m["proportional_memory_bytes"] for m in members), 1024 * len(members))
        expect(group, "open_fds_limit_ratio", max(m["fds_ratio"] for m in members))
        expect(group, "mappings_limit_ratio", max(m["mappings"] for m in members) / most_mappings)
        expect(group, "oldest_start_time_seconds", min(m["start"] for m in members))
        expect(group, "newest_start_time_seconds", max(m["start"] for m in members))
        expect(group, "zombie_children", sum(parents.count(m["pid"]) for m in members))
        unread = [labels for labels in page.of("proctally_group_unread_processes")
                  if dict(labels)["group"] == group]
        if unread:
            faults.append(f"{group}: parts could not be read: {unread}")


def compare_counters(page, truth, base, faults):
    """Each counter is the sum of its members' totals less what they had at the base."""
    for group, members in truth.items():
        for family in COUNTERS:
            expected = sum(m[family] for m in members) - sum(m[family] for m in base.get(group, []))
            got = value(page, group, family)
            if not close(got, expected):
                faults.append(f"{group} {family}: {got}, /proc says {expected}")


def families_of_groups(page):
    return {name[len("proctally_group_"):] for name, _ in page.series
            if name.startswith("proctally_group_")}


def report(faults):
    if faults:
        raise Failure(f"{len(faults)} differ:\n" + "\n".join(faults[:40]))


def test_every_family_is_compared():
    compared = {f.partition("{")[0] for f in COUNTERS + SUMS} | OTHERS
    equal("families that nobody compares", families_of_groups(once(config=CONFIG)) - compared, set())


def test_once_is_what_proc_says():
    with Herd() as herd:
        time.sleep(1.5)  # so that there is something to count
        herd.pause()
        page, truth, faults = once(config=CONFIG), herd.truth(), []
        compare_levels(page, truth, faults)
        compare_counters(page, truth, {}, faults)
        report(faults)
        true("CPU was used", value(page, f"{RUN}-0", "cpu_seconds_total{user}") > 0)
        true("files were written", value(page, f"{RUN}-3", "storage_written_bytes_total") > 0
             or value(page, f"{RUN}-3", "syscall_written_bytes_total") > 0)
        equal("compared groups", len(truth), len({p[0] for p in PROCESSES}))


def test_daemon_adds_what_proc_adds():
    with Herd() as herd:
        herd.pause()
        base = herd.truth()
        with Daemon(config=CONFIG) as daemon:
            daemon.wait_ready()
            page, faults = daemon.settle(), []
            compare_levels(page, base, faults)
            compare_counters(page, base, base, faults)
            report(faults)
            for _ in range(2):
                herd.resume()
                if len(herd.processes) == len(PROCESSES):
                    # The first cycle is over: this one counts in full.
                    herd.start(len(PROCESSES), LATE)
                end = time.monotonic() + 1.5
                while time.monotonic() < end:
                    daemon.settle(1)
                herd.pause()
                page, truth, faults = daemon.settle(TURN + 1), herd.truth(), []
                compare_levels(page, truth, faults)
                compare_counters(page, truth, base, faults)
                report(faults)
            equal("started", page.value("proctally_group_started_total", group=f"{RUN}-late"), 1)
            for group in base:
                equal(f"started of {group}",
                      page.value("proctally_group_started_total", group=group), 0)
                equal(f"restarts of {group}",
                      page.value("proctally_group_restarts_total", group=group), 0)
            check_end(herd, daemon, truth)


def check_end(herd, daemon, truth):
    """One of two members ends: what it used stays counted, the levels lose it."""
    before = daemon.settle()
    victim = next(p for p in herd.processes if p.pid == min(
        m["pid"] for m in truth[f"{RUN}-pair"]))
    victim.kill()
    victim.wait()
    wait_until("the end is seen", lambda: daemon.page().value(
        "proctally_group_processes", group=f"{RUN}-pair") == 1)
    page = daemon.settle()
    for family in COUNTERS:
        got, least = value(page, f"{RUN}-pair", family), value(before, f"{RUN}-pair", family)
        true(f"{family} of the ended one stays: {got} < {least}", got >= least - 1e-9)
    equal("exited", page.value("proctally_group_exited_total", group=f"{RUN}-pair", reason="unknown"), 1)
    left = herd.truth()[f"{RUN}-pair"]
    equal("descriptors", value(page, f"{RUN}-pair", "open_fds"), sum(m["open_fds"] for m in left))


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
