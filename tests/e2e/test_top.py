#!/usr/bin/env python3
"""[processes] top: processes that are busy get series of their own, few and the right ones."""
import os
import signal
import sys

from harness.daemon import Daemon, once, wait_until
from harness.tests import BY_COMM, PROCFS, RUN, Tree, equal, main, procfs, true
from harness.workers import Workers

# More than other processes of a busy host will outdo.
TOP = 15
FAMILIES = {"cpu_seconds_total": 2, "resident_memory_bytes": 3, "swap_bytes": 1,
            "major_page_faults_total": 1, "storage_read_bytes_total": 1,
            "storage_written_bytes_total": 1, "open_fds": 1, "threads": 1, "start_time_seconds": 1}


def config(top=TOP, by="cpu", more=""):
    return f"{PROCFS}[processes]\ntop = {top}\nby = {by}\n\n{more}{BY_COMM}"


def rows(page):
    """{pid: (comm, group)} of the processes that have series."""
    labels = [dict(labels) for labels in page.of("proctally_process_threads")]
    return {int(l["pid"]): (l["comm"], l["group"]) for l in labels}


def families(page):
    return {name[len("proctally_process_"):] for name, _ in page.series
            if name.startswith("proctally_process_")}


def with_rows(page):
    """The page, if anybody has series: without use since the last cycle nobody need have."""
    return page if rows(page) else None


def stat_seconds(pid):
    """User and system time as /proc has it."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:13]]


def test_off_by_default():
    equal("families", families(once(config=BY_COMM)), set())
    equal("whatever include says",
          families(once(config="[metrics]\ninclude = *\n\n" + BY_COMM)), set())


def test_once_ranks_by_all_that_was_used():
    with Tree() as tree:
        for pid, ticks in ((100, 50000), (200, 90000), (300, 70000), (400, 0)):
            for name, text in (("stat", procfs.stat(pid, f"c{pid}", utime=ticks)),
                               ("status", procfs.status(pid, f"c{pid}")), ("io", procfs.io())):
                procfs.write(f"{tree}/{pid}/{name}", text)
        page = once(config=config(2), procfs=tree)
    equal("who", rows(page), {200: ("c200", "c200"), 300: ("c300", "c300")})
    equal("CPU", page.value("proctally_process_cpu_seconds_total", pid="200", comm="c200",
                            group="c200", mode="user"), 900)


def test_busy_processes():
    threads = (1, 1, 2, 3)
    with Workers(*[(f"{RUN}-{i}", n, 10 * i) for i, n in enumerate(threads)]) as workers, \
            Daemon(config=config()) as daemon:
        daemon.wait_ready()

        def has_workers():
            page = daemon.page()
            true(f"at most {2 * TOP} processes", len(rows(page)) <= 2 * TOP)
            return page if set(workers.pids()) <= set(rows(page)) else None

        page = wait_until("the busy ones have series", has_workers)
        for number, pid in enumerate(workers.pids()):
            name = f"{RUN}-{number}"
            equal("labels", rows(page)[pid], (name, name))
            for family, n in FAMILIES.items():
                got = [labels for labels in page.of(f"proctally_process_{family}")
                       if dict(labels)["pid"] == str(pid)]
                equal(f"series of {family}", len(got), n)
            labels = {"pid": str(pid), "comm": name, "group": name}
            true("descriptors", page.value("proctally_process_open_fds", **labels) >= 10 * number)
            equal("threads", page.value("proctally_process_threads", **labels),
                  threads[number])
            equal("start", page.value("proctally_process_start_time_seconds", **labels),
                  page.value("proctally_group_oldest_start_time_seconds", group=name))
        equal("families", families(page), set(FAMILIES))
        compare_with_proc(daemon, workers)
        victim = workers.processes[0]
        victim.kill()
        victim.wait()  # a zombie of a host where others are idle keeps its series
        wait_until("it has ended", lambda: victim.pid not in rows(daemon.page()))


def compare_with_proc(daemon, workers):
    """Stopped, they keep their series for a while, and each counter is what /proc says."""
    workers.pause()
    page = daemon.settle(2)
    compared = set(workers.pids()) & set(rows(page))
    true("who is idle has not to go", compared)
    for pid in compared:
        comm, group = rows(page)[pid]
        got = [page.value("proctally_process_cpu_seconds_total", pid=str(pid), comm=comm,
                          group=group, mode=mode) for mode in ("user", "system")]
        equal(f"CPU of {comm}", [round(v, 2) for v in got], stat_seconds(pid))
    workers.resume()


def test_excluded_processes():
    """One that is in no group has no series, however much it uses."""
    with Workers((f"{RUN}-0", 1, 0), (f"{RUN}-1", 3, 0)) as workers, \
            Daemon(config=config(more=f"[exclude busy]\ncomm = {RUN}-1\n\n")) as daemon:
        daemon.wait_ready()
        kept, excluded = workers.pids()

        def has_kept():
            got = rows(daemon.page())
            true("the excluded one has none", excluded not in got)
            return kept in got

        wait_until("the other one has series", has_kept)
        equal("excluded", daemon.settle(1).value("proctally_excluded_processes"), 1)


def test_reload_in_mid_life():
    with Workers((f"{RUN}-0", 1, 0), (f"{RUN}-1", 1, 10)), Daemon(config=PROCFS + BY_COMM) as daemon:
        daemon.wait_ready()
        equal("off", rows(daemon.settle(1)), {})
        for top, by in ((5, "cpu"), (5, "memory"), (2, "fds"), (4, "io")):
            daemon.write_config(config(top, by))
            daemon.send(signal.SIGHUP)
            page = wait_until(f"top {top} by {by}", lambda: with_rows(daemon.page()))
            true(f"at most {2 * top}", len(rows(daemon.settle(3))) <= 2 * top)
            equal("families", families(page), set(FAMILIES))
        daemon.write_config(config(4, "cpu", "[metrics]\nexclude = *_fds *_storage_*\n\n"))
        daemon.send(signal.SIGHUP)
        left = set(FAMILIES) - {"open_fds", "storage_read_bytes_total", "storage_written_bytes_total"}
        wait_until("less families", lambda: families(daemon.page()) == left)
        daemon.write_config(BY_COMM)
        daemon.send(signal.SIGHUP)
        wait_until("off again", lambda: not rows(daemon.page()))
        equal("families", families(daemon.settle(1)), set())


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
