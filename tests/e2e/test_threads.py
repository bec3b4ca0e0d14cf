#!/usr/bin/env python3
"""Threads by their names, and what only threads know, held against /proc and getrusage(2).

A process of the test's own starts and ends threads as it is told. It is stopped, and what the page
says is held against what /proc says of each thread, read here by other code.
"""
import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from harness.daemon import SANITIZE, Daemon, once, wait_until
from harness.tests import PROCFS, equal, main, true

CROWD = os.environ["PROCTALLY_CROWD"]
BY_COMM = "[groups]\nmax = 100000\n\n[group ${comm}]\ncomm = *\n\n"
# So that two runs of this test on one host do not see each other.
NAME = f"crowd{os.getpid()}"
CONFIG = PROCFS + BY_COMM + f"[threads]\ngroups = {NAME}*\n"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
NOBODY = 65534
NAMES_MAX = 50
# Families of a group, and the same by name; what of /proc they are.
GROUP = {"run_queue_seconds_total": "waited", "voluntary_context_switches_total": "voluntary",
         "involuntary_context_switches_total": "involuntary"}
BY_NAME = {f"thread_{family}": field for family, field in GROUP.items()}
CPU = "proctally_group_thread_cpu_seconds_total"
COUNT = "proctally_group_threads_by_name"


def read(path):
    with open(path, "rb") as f:
        return f.read().decode("utf-8", "replace")


class Crowd:
    """One process for the length of a `with`."""

    def __init__(self, name=NAME):
        self.name = name

    def __enter__(self):
        # By a path that another user may read as well.
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        os.chmod(self.directory.name, 0o755)
        program = shutil.copy(CROWD, self.directory.name)
        self.process = subprocess.Popen([program, self.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        equal("crowd says", self.answer(), "ready")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.directory.cleanup()

    def answer(self):
        return self.process.stdout.readline().decode().strip()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.answer()

    def start(self, name, n, how="start"):
        equal(f"{how} {name}", self.tell(f"{how} {name} {n}"), "done")

    def end(self, name):
        equal(f"end {name}", self.tell(f"end {name}"), "done")

    def usage(self):
        """-> voluntary and involuntary switches, also of threads that ended"""
        return [int(n) for n in self.tell("usage").split()]

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        wait_until("all threads stopped", lambda: all(
            read(path).rpartition(")")[2].split()[0] == "T"
            for path in glob.glob(f"/proc/{self.process.pid}/task/*/stat")))

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def look(self):
        """{tid: what /proc says of the thread}"""
        threads = {}
        for path in glob.glob(f"/proc/{self.process.pid}/task/*"):
            stat, status = read(f"{path}/stat"), read(f"{path}/status")
            field = [None, None, None] + stat[stat.rindex(")") + 2:].split()
            switches = [int(line.split()[1]) for line in status.splitlines()
                        if "voluntary_ctxt_switches:" in line]
            threads[int(os.path.basename(path))] = {
                "comm": stat[stat.index("(") + 1:stat.rindex(")")],
                "user": int(field[14]) * TICK_S, "system": int(field[15]) * TICK_S,
                "waited": int(read(f"{path}/schedstat").split()[1]) * 1e-9,
                "voluntary": switches[0], "involuntary": switches[1]}
        return threads


def sum_of(threads, field, comm=None):
    return sum(t[field] for t in threads.values() if comm is None or t["comm"] == comm)


def close(got, expected):
    return got is not None and abs(got - expected) < 1e-6 * max(1, abs(expected))


def compare(page, group, threads, base):
    """The page against the sums over threads, less those over the threads of the base."""
    faults = []

    def expect(what, got, expected):
        if not close(got, expected):
            faults.append(f"{what}: {got}, /proc says {expected}")

    for family, field in GROUP.items():
        expect(family, page.get(f"proctally_group_{family}", group=group),
               sum_of(threads, field) - sum_of(base, field))
    names = {t["comm"] for t in threads.values()}
    for name in names:
        expect(f"threads {name}", page.get(COUNT, group=group, thread=name),
               sum(t["comm"] == name for t in threads.values()))
        for mode in ("user", "system"):
            expect(f"cpu {name} {mode}", page.get(CPU, group=group, thread=name, mode=mode),
                   sum_of(threads, mode, name) - sum_of(base, mode, name))
        for family, field in BY_NAME.items():
            expect(f"{family} {name}",
                   page.get(f"proctally_group_{family}", group=group, thread=name),
                   sum_of(threads, field, name) - sum_of(base, field, name))
    equal("differences", faults, [])
    return names


def work(daemon, crowd, snapshots=5):
    """Lets it run over some snapshots, and stops it again."""
    crowd.resume()
    daemon.settle(snapshots)
    crowd.pause()
    return daemon.settle()


def test_once_is_what_proc_says():
    with Crowd() as crowd:
        crowd.start("pool-a", 3)
        crowd.start("still", 2, "still")
        crowd.start("b%ff%22", 1)
        wait_until("CPU is used", lambda: sum_of(crowd.look(), "user") > 0.1)
        crowd.pause()
        names = compare(once(config=CONFIG), NAME, crowd.look(), {})
        equal("names", names, {NAME, "pool-a", "still", 'b\ufffd"'})


def test_daemon_adds_what_proc_adds():
    with Crowd() as crowd:
        crowd.start("pool-a", 3)
        crowd.pause()
        base = crowd.look()
        with Daemon(config=CONFIG) as daemon:
            page = daemon.wait_ready().settle()
            compare(page, NAME, base, base)
            compare(work(daemon, crowd), NAME, crowd.look(), base)
            # New threads count in full, those of names that are there and of others.
            crowd.resume()
            crowd.start("pool-a", 2)
            crowd.start("pool-b", 2)
            compare(work(daemon, crowd), NAME, crowd.look(), base)
            # Those that end take nothing with them, and add at most what they used.
            before = daemon.page()
            crowd.resume()
            crowd.end("pool-b")
            page = work(daemon, crowd)
            left = crowd.look()
            crowd.resume()
            equal("threads pool-b", page.value(COUNT, group=NAME, thread="pool-b"), 0)
            for family in (*GROUP, *BY_NAME):
                for labels, value in before.of(f"proctally_group_{family}").items():
                    true(f"{family} {labels}", page.value(f"proctally_group_{family}",
                                                          **dict(labels)) >= value - 1e-9)
            for now, (family, field) in zip(crowd.usage(), list(GROUP.items())[1:]):
                got = page.value(f"proctally_group_{family}", group=NAME)
                true(f"{family}: {got} of those that are left",
                     got >= sum_of(left, field) - sum_of(base, field))
                true(f"{family}: {got} of {now}", got <= now - sum_of(base, field))


def test_a_new_process_is_what_getrusage_says():
    with Daemon(config=CONFIG) as daemon:
        daemon.wait_ready().settle()
        with Crowd() as crowd:
            crowd.start("pool-a", 4)
            wait_until("it is seen", lambda: daemon.page().get(
                COUNT, group=NAME, thread="pool-a") == 4)
            before = crowd.usage()
            crowd.pause()
            page = daemon.settle()
            compare(page, NAME, crowd.look(), {})
            crowd.resume()
            for low, high, family in zip(before, crowd.usage(), list(GROUP)[1:]):
                got = page.value(f"proctally_group_{family}", group=NAME)
                true(f"{family}: {got} within {low}..{high}", low <= got <= high)


def test_groups_that_are_not_listed():
    with Crowd(f"other{os.getpid()}") as other, Crowd() as crowd, Daemon(config=CONFIG) as daemon:
        other.start("pool-a", 2)
        crowd.start("pool-a", 1)
        page = daemon.wait_ready().settle()
        for family in (*GROUP, *BY_NAME, "threads_by_name", "thread_cpu_seconds_total"):
            groups = page.label_values(f"proctally_group_{family}", "group")
            equal(f"groups of {family}", groups, {NAME})
        equal("threads", page.value("proctally_group_threads", group=other.name), 3)
        equal("unread", page.value("proctally_unread_processes", part="task"), 0)


def test_reload():
    """Listed in mid-life: no burst; the same again: no gap; off: gone."""
    with Crowd() as crowd, Daemon(config=PROCFS + BY_COMM) as daemon:
        crowd.start("pool-a", 3)
        daemon.wait_ready().settle()
        crowd.pause()
        base = crowd.look()
        equal("series", daemon.page().of(COUNT), {})
        true("no series of a part that is not read",
             daemon.page().get("proctally_unread_processes", part="task") is None)
        for config in (CONFIG, CONFIG.replace(f"{NAME}*", f"{NAME[:-1]}? x*")):
            daemon.write_config(config)
            daemon.send(signal.SIGHUP)
            wait_until("it is in effect", lambda: daemon.page().of(COUNT))
            compare(work(daemon, crowd), NAME, crowd.look(), base)
        daemon.write_config(PROCFS + BY_COMM)
        daemon.send(signal.SIGHUP)
        wait_until("it is off", lambda: not daemon.page().of(COUNT))
        equal("series", daemon.settle().of("proctally_group_run_queue_seconds_total"), {})


def test_as_another_user():
    """What of threads is read is open to all."""
    with Crowd() as crowd, Daemon(config=CONFIG, user=NOBODY) as daemon:
        crowd.start("pool-a", 2)
        daemon.wait_ready()
        page = work(daemon, crowd)
        equal("threads", page.value(COUNT, group=NAME, thread="pool-a"), 2)
        true("CPU", page.value(CPU, group=NAME, thread="pool-a", mode="user") > 0)
        equal("unread", page.value("proctally_unread_processes", part="task"), 0)


def test_thousands_of_threads():
    with Daemon(config=CONFIG) as daemon, contextlib.ExitStack() as stack:
        daemon.wait_ready()
        crowd = stack.enter_context(Crowd())
        crowd.start("many", 3000, "still")
        page = daemon.settle()
        equal("threads", page.value(COUNT, group=NAME, thread="many"), 3000)
        equal("unread", page.value("proctally_unread_processes", part="task"), 0)
        crowd.pause()
        page, threads = daemon.settle(), crowd.look()
        equal("threads of /proc", len(threads), 3001)
        # It is new since the first cycle, so all of it counts.
        compare(page, NAME, threads, {})


def test_storm():
    """Names and memory are bounded, and no counter falls, while threads come and go."""
    with Crowd() as crowd, Daemon(config=CONFIG) as daemon:
        crowd.start("pool-a", 2)
        daemon.wait_ready().settle()
        before_kb = daemon.status_kb("VmRSS")
        crowd.process.stdin.write(b"storm 4\n")
        crowd.process.stdin.flush()
        names = 0
        for _ in range(8):
            page = daemon.settle(2)
            names = max(names, len(page.label_values(COUNT, "thread")))
        number = int(crowd.answer())
        true(f"{number} threads lived", number > 200)
        true(f"{names} names", 2 < names <= NAMES_MAX + 1)
        if not SANITIZE:
            after_kb = daemon.status_kb("VmRSS")
            true(f"{before_kb} kB, {after_kb} kB after", after_kb < before_kb + 4096)
        equal("threads", page.value(COUNT, group=NAME, thread="pool-a"), 2)
        equal("steps back", sum(page.of("proctally_steps_back_total").values()), 0)


def test_a_thread_that_executes():
    """Its totals become the leader's: what it used is not counted again."""
    with Crowd() as crowd, Daemon(config=CONFIG) as daemon:
        daemon.wait_ready().settle()
        begin = read(f"/proc/{crowd.process.pid}/stat").rpartition(")")[2].split()[19]
        equal("crowd says", crowd.tell(f"exec {NAME}-2"), "ready")
        crowd.pause()
        page = daemon.settle()
        leader = crowd.look()[crowd.process.pid]
        equal("start", read(f"/proc/{crowd.process.pid}/stat").rpartition(")")[2].split()[19], begin)
        used = leader["user"] + leader["system"]
        true(f"{used} s used", used > 0.1)
        counted = sum(page.of(CPU).values())
        true(f"{counted} s counted of {used}", counted <= used + 1e-9)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
