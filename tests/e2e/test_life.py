#!/usr/bin/env python3
"""Lives that are hard to follow: fork bombs, pids used again, orphans, renames, execs, threads that
come and go, moves between control groups. On every page no total falls, none grows by more CPU
than the host has, and every process is in one group.

Runs in a pid namespace of its own where it may, so that pids come round soon."""
import os
import shutil
import subprocess
import sys

from harness.daemon import SANITIZE, Daemon, Failure, wait_until
from harness.tests import main

LIFE = os.environ["PROCTALLY_LIFE"]
ISOLATED = "PROCTALLY_LIFE_ISOLATED" in os.environ
CONFIG = "[groups]\nmax = 100\n[exclude churn]\ncomm = life-odd\n[group life]\ncomm = life*\n"
CPUS = os.cpu_count()
CGROUPS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")


class Watch:
    """Looks at every page and remembers what must hold from one to the next."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.last = daemon.page()
        self.taken = [self.last.value("proctally_snapshot_timestamp_seconds")]

    def cpu(self, page):
        return sum(page.of("proctally_group_cpu_seconds_total").values())

    def look(self):
        self.daemon.must_live()
        page = self.daemon.page()
        fell = page.fell_since(self.last)
        if fell:
            raise Failure("\n".join(fell[:10]))
        self.taken.append(page.value("proctally_snapshot_timestamp_seconds"))
        # What a series shows first is of some snapshots: it was 0 until that was scraped.
        self.taken = sorted(set(self.taken))[-4:]
        passed = self.taken[-1] - self.taken[0] + page.value(
            "proctally_snapshot_duration_seconds", phase="collect")
        grown = self.cpu(page) - self.cpu(self.last)
        if grown > (passed + 2) * CPUS:
            raise Failure(f"{grown:.2f} s of CPU in {passed:.2f} s")
        counted = sum(page.of("proctally_group_processes").values())
        outside = (page.value("proctally_excluded_processes") +
                   page.value("proctally_pending_processes"))
        if counted + outside != page.value("proctally_processes"):
            raise Failure(f"{counted} in groups and {outside} outside, of "
                          f"{page.value('proctally_processes')}")
        self.last = page
        return page

    def until(self, what, condition, seconds=60):
        """The page that the condition holds of."""
        def looked():
            page = self.look()
            return page if condition(page) else None

        return wait_until(what, looked, seconds)


def start(*arguments):
    process = subprocess.Popen([LIFE, *map(str, arguments)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    if process.stdout.readline() != b"ready\n":
        raise Failure(f"life {arguments} did not get ready")
    return process


def end(process):
    process.stdin.close()
    process.stdout.close()
    if process.wait(60) != 0:
        raise Failure(f"life ended with {process.returncode}")


def life(page, name, **labels):
    return page.get(name, group="life", **labels) or 0


def exits(page):
    """For whatever reason."""
    return sum(number for labels, number in page.of("proctally_group_exited_total").items()
               if dict(labels)["group"] == "life")


def watched(*arguments):
    """A life to its end, every page looked at; the page before it and the one after."""
    with Daemon(config=CONFIG, interval="100ms") as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        before = watch.look()
        process = start(*arguments)
        watch.until("its end", lambda page: process.poll() is not None)
        end(process)
        watch.until("nobody is left", lambda page: life(page, "proctally_group_processes") == 0)
        return before, watch.look()


def test_bomb():
    with Daemon(config=CONFIG, interval="100ms") as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        process = start("bomb", 5000)
        # The parent is named life as well.
        watch.until("5,001 processes", lambda p: life(p, "proctally_group_processes") == 5001)
        end(process)
        watch.until("nobody", lambda p: life(p, "proctally_group_processes") == 0)
        # A reason that is new is at 0 first.
        page = watch.until("all exits", lambda p: exits(p) >= 5001)
        started, exited = life(page, "proctally_group_started_total"), exits(page)
        if not started == exited == 5001:
            raise Failure(f"{started} started and {exited} exited, of 5001")


def reuse():
    """How many of 750 short lives were seen to start: a slow cycle sees few at a time."""
    _, page = watched("reuse", 1500)
    if page.get("proctally_group_processes", group="life-odd") is not None:
        raise Failure("what is excluded has a group")
    return life(page, "proctally_group_started_total")


def see_some():
    grown = 0
    for _ in range(10):
        grown += reuse()
        if grown >= 2:
            return
    raise Failure(f"of 7,500 short lives {grown} were seen")


def test_pids_come_round():
    path = "/proc/sys/kernel/pid_max"
    with open(path, encoding="ascii") as f:
        most = f.read()
    lowered = ISOLATED
    try:
        if lowered:
            with open(path, "w", encoding="ascii") as f:
                f.write("400")
        see_some()
    except OSError:  # before 6.14 there is one pid_max for all
        see_some()
    finally:
        if lowered:
            with open(path, "w", encoding="ascii") as f:
                f.write(most)


def test_orphans():
    with Daemon(config=CONFIG, interval="100ms") as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        process = start("orphans", 200)
        watch.until("201", lambda p: life(p, "proctally_group_processes") == 201)
        end(process)
        watch.until("nobody", lambda p: life(p, "proctally_group_processes") == 0)


def cpu_of(*arguments):
    _, page = watched(*arguments)
    return sum(life(page, "proctally_group_cpu_seconds_total", mode=mode)
               for mode in ("user", "system"))


def test_renames_count_once():
    cpu = cpu_of("rename", 500)
    if not 0.7 < cpu < 2:
        raise Failure(f"{cpu} s counted of 1 s")


def test_execs_count_once():
    """Once go-on takes over, the name is another, and so is the group."""
    _, page = watched("exec", 300)
    cpu = sum(page.get("proctally_group_cpu_seconds_total", group=group, mode=mode) or 0
              for group in ("life", "exe") for mode in ("user", "system"))
    if cpu > 3:
        raise Failure(f"{cpu} s counted of 0.6 s and what 300 execs take")


def test_threads_that_end_take_nothing_along():
    cpu = cpu_of("threads", 1000)
    if not 0.6 < cpu < 4:
        raise Failure(f"{cpu} s counted of 1 s")


def test_fresh_names_without_end():
    """Rounds of names that nobody saw before, far more than there may be groups."""
    names, resident = int(os.environ.get("LIFE_NAMES", "400")), []
    with Daemon(config="[collector]\ncpu_budget = 100%\n[groups]\nmax = 100\nforget = 1s\n[group fixed]\ncomm = nobody\n"
                       "[group life]\ncomm = life\n[group ${comm}]\ncomm = *\nkernel = no\n",
                interval="100ms") as daemon:
        daemon.wait_ready()
        watch = Watch(daemon)
        for round_ in range(20):
            process = start("names", names, round_)
            # They get their names after they were born, and what found no room then stays in _other.
            page = watch.until(f"round {round_}",
                               lambda p: p.value("proctally_processes") > names and
                               life(p, "proctally_group_processes") <= 1)
            # The fixed ones, and _other.
            if len(page.groups()) > 103:
                raise Failure(f"{len(page.groups())} groups")
            resident.append(daemon.status_kb("VmRSS"))
            end(process)
            watch.until("nobody", lambda p: p.value("proctally_processes") < names)
    if not SANITIZE and resident[-1] > 1.3 * resident[1]:
        raise Failure(f"kB resident in each round: {resident}")


def writable_cgroup():
    for root in CGROUPS:
        path = f"{root}/proctally-life"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(f"{path}/cgroup.procs"):
            return root, path
        os.rmdir(path)
    return None


def test_moves_between_control_groups():
    found = writable_cgroup()
    if not found:
        print("no control group can be made here: moves are left out")
        return
    root, path = found
    process = start("orphans", 1)
    try:
        with Daemon(config=CONFIG, interval="100ms") as daemon:
            daemon.wait_ready()
            watch = Watch(daemon)
            for i in range(40):
                with open(f"{path if i % 2 == 0 else root}/cgroup.procs", "w",
                          encoding="ascii") as f:
                    f.write(str(process.pid))
                watch.look()
            started = life(watch.look(), "proctally_group_started_total")
            if started != 0:
                raise Failure(f"{started} starts counted for moves")
    finally:
        with open(f"{root}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(process.pid))
        end(process)
        os.rmdir(path)


ISOLATION = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "catatonit", "--"]


def may_be_isolated():
    """Not so in a chroot, whose / is no mount."""
    return (os.geteuid() == 0 and shutil.which("catatonit") and
            subprocess.run([*ISOLATION, "true"], stdin=subprocess.DEVNULL, capture_output=True,
                           check=False).returncode == 0)


def isolated():
    """Again in a pid namespace of its own, below a process 1 that waits for orphans."""
    os.execvpe(ISOLATION[0], [*ISOLATION, sys.executable, "-B", *sys.argv],
               {**os.environ, "PROCTALLY_LIFE_ISOLATED": "yes"})


if __name__ == "__main__":
    if not ISOLATED and may_be_isolated():
        isolated()
    sys.exit(main(sys.modules[__name__]))
