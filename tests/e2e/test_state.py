#!/usr/bin/env python3
"""Totals go on over restarts, however the daemon ended: no counter falls, and none jumps.

KILLS says how often the daemon is killed (30).
"""
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from harness.daemon import SANITIZE, Daemon, Failure, free_port, wait_until
from harness.tests import RUN, Tree, equal, main, procfs, true
from test_prometheus import Prometheus

BUSY = os.environ["PROCTALLY_BUSY"]
KILLS = int(os.environ.get("KILLS", "30"))
CONFIG = "[groups]\nmax = 100000\n\n[state]\nfile = {file}\n\n[group ${{comm}}]\ncomm = *\n"
CPU = "proctally_group_cpu_seconds_total"
BOOT_ID = "b9b3d7c0-6b1f-4a5c-9d70-3f0a1f2b4c5d\n"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# A page may be as old as this before a sanitizer's daemon has made the next one.
AGE_S = 10 if SANITIZE else 2


class Host:
    """A fixture tree, or the real /proc, with a place for the state and a port that stay."""

    def __init__(self, tree=None):
        self.tree = tree
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.file = os.path.join(self.directory.name, "state")
        self.port = free_port()
        if tree:
            procfs.write(f"{tree}/sys/kernel/random/boot_id", BOOT_ID)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def daemon(self, **settings):
        return Daemon(config=CONFIG.format(file=self.file), procfs=self.tree, port=self.port,
                      **settings).wait_ready()


def cpu(page, group):
    return sum(value for labels, value in page.of(CPU).items() if dict(labels)["group"] == group)


def check_not_fallen(page, earlier):
    """Of the groups' counters none is lower, and none is gone."""
    for key, value in earlier.series.items():
        if key[0].startswith("proctally_group_") and earlier.is_counter(key[0]):
            true(f"{key} is gone", key in page.series)
            true(f"{key} fell: {value} -> {page.series[key]}", page.series[key] >= value)


def told(daemon, text):
    return any(text in line for line in daemon.log_lines())


# ---- trees: what comes out is known exactly ----

def step(tree, n):
    procfs.canary(tree, n, skip=("fd", "exe"))


def born(tree, pid, comm, start, utime):
    procfs.process(tree, pid, comm, start=start, utime=utime, stime=0)


def check_restart(end):
    with Tree() as tree, Host(tree) as host:
        with host.daemon() as daemon:
            daemon.settle()
            step(tree, 1)
            before = daemon.settle()
            equal("one step", cpu(before, "canary"), 1.5)
            true("told why it starts at 0", told(daemon, "reason=empty"))
            daemon.stop(end)
        step(tree, 3)  # used while nobody looks: lost
        born(tree, 5000, "born", 60000, 700)
        born(tree, 5001, "canary", 60001, 25)
        born(tree, 5002, "old", 49999, 700)  # started before, but was hidden
        with host.daemon() as daemon:
            page = daemon.page()
            check_not_fallen(page, before)
            equal("at once", cpu(page, "canary"), 1.75)
            equal("a new series begins at 0", cpu(page, "born"), 0)
            page = daemon.settle()
            equal("all of what was born meanwhile", cpu(page, "born"), 7)
            equal("and in a group that was there", cpu(page, "canary"), 1.75)
            equal("nothing of the old", cpu(page, "old"), 0)
            equal("started", page.value("proctally_group_started_total", group="born"), 1)
            equal("no restart", page.value("proctally_group_restarts_total", group="canary"), 0)
            true("told", told(daemon, "state resumed"))
            step(tree, 4)
            equal("a step more", cpu(daemon.settle(), "canary"), 3.25)
            daemon.stop(end)
        procfs.remove(f"{tree}/4242")
        procfs.remove(f"{tree}/5001")
        born(tree, 5003, "canary", 70000, 10)
        with host.daemon() as daemon:
            page = daemon.settle()
            equal("after the service restarted", cpu(page, "canary"), 3.35)
            equal("its restart", page.value("proctally_group_restarts_total", group="canary"), 1)


def test_terminated():
    check_restart(signal.SIGTERM)


def test_killed():
    check_restart(signal.SIGKILL)


def leave_state(host):
    with host.daemon() as daemon:
        daemon.settle()
        step(host.tree, 1)
        equal("one step", cpu(daemon.settle(), "canary"), 1.5)
    step(host.tree, 0)


def check_starts_at_0(host, reason):
    with host.daemon() as daemon:
        equal(reason, cpu(daemon.settle(), "canary"), 0)
        true(f"told: {daemon.log()}", told(daemon, f'msg="state starts at 0" file={host.file} '
                                                   f"reason={reason}"))
        equal("told once", daemon.log().count('msg="state'), 1)


def test_not_to_be_resumed():
    with Tree() as tree, Host(tree) as host:
        leave_state(host)
        procfs.write(f"{tree}/sys/kernel/random/boot_id", BOOT_ID.replace("b9", "b8"))
        check_starts_at_0(host, '"another boot"')
        leave_state(host)
        with open(host.file, "r+b") as f:
            offset, length = struct.unpack("=QQ", f.read(40)[24:])
            f.seek(offset + length // 2)
            byte = f.read(1)[0]
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte ^ 1]))
        check_starts_at_0(host, "damaged")
        for size in (100, 5000):
            with open(host.file, "wb") as f:
                f.write(b"\xff" * size)
            check_starts_at_0(host, "empty" if size < 128 else '"no state"')
        leave_state(host)
        with host.daemon() as daemon:
            equal("good again", cpu(daemon.page(), "canary"), 1.5)
        with open(host.file, "r+b") as f:
            f.seek(16)
            f.write(b"\x63")
        check_starts_at_0(host, '"written by a newer version"')


def test_without_a_boot_id():
    with Tree() as tree, Host(tree) as host:
        os.unlink(f"{tree}/sys/kernel/random/boot_id")
        with host.daemon() as daemon:
            daemon.settle()
            true("warned", told(daemon, "no state is kept"))
        true("no file", not os.path.exists(host.file))


def test_one_alone_and_reload():
    with Tree() as tree, Host(tree) as host:
        leave_state(host)
        with host.daemon() as daemon:
            with Daemon(config=CONFIG.format(file=host.file), procfs=tree) as second:
                second.wait_ready()
                true("warned", told(second, "another daemon uses the file"))
                equal("on its own", cpu(second.page(), "canary"), 0)
            equal("the first", cpu(daemon.page(), "canary"), 1.5)
            daemon.write_config(CONFIG.format(file=host.file + ".other"))
            daemon.send(signal.SIGHUP)
            wait_until("warned", lambda: told(daemon, "change at the next start only"))
            daemon.settle()
            true("no other file", not os.path.exists(host.file + ".other"))
            daemon.stop(signal.SIGKILL)
        with host.daemon() as daemon:
            equal("kept", cpu(daemon.page(), "canary"), 1.5)


def test_takes_over():
    """A daemon that began beside another goes on with its file when that one has ended."""
    with Tree() as tree, Host(tree) as host:
        leave_state(host)
        with host.daemon() as daemon, Daemon(config=CONFIG.format(file=host.file),
                                             procfs=tree) as second:
            second.wait_ready().settle()
            step(tree, 1)
            equal("the second begins at 0", cpu(second.settle(), "canary"), 1.5)
            equal("the first goes on", cpu(daemon.settle(), "canary"), 3)
            daemon.stop()
            wait_until("it takes over", lambda: told(second, "the state is kept from now on"))
            second.settle()
            equal("told once", second.log().count('msg="the state is kept'), 1)
            second.stop(signal.SIGKILL)
        with host.daemon() as daemon:
            equal("of the second", cpu(daemon.page(), "canary"), 1.5)


def test_removed_while_running():
    with Tree() as tree, Host(tree) as host:
        leave_state(host)
        with host.daemon() as daemon:
            daemon.settle()
            os.unlink(host.file)
            daemon.settle()
            true("told", told(daemon, "the state file was removed or replaced"))
            aside = host.directory.name + ".aside"
            os.rename(host.directory.name, aside)
            os.mkdir(host.directory.name)
            try:
                daemon.settle()
                equal("told once", daemon.log().count("removed or replaced"), 1)
                daemon.stop(signal.SIGKILL)
            finally:
                shutil.rmtree(aside)
        with host.daemon() as daemon:
            equal("kept", cpu(daemon.page(), "canary"), 1.5)


def test_runtime_directory():
    with Tree() as tree, Host(tree) as host:
        environment = {"RUNTIME_DIRECTORY": f"{host.directory.name}:/nowhere"}
        for message in ("state starts at 0", "state resumed"):
            with Daemon(procfs=tree, environment=environment) as daemon:
                daemon.wait_ready()
                true(message, told(daemon, message))
        equal("mode", os.stat(host.file).st_mode & 0o777, 0o600)
        for odd in ("state", f"{host.directory.name}/../x"):
            with Daemon(procfs=tree, environment={"RUNTIME_DIRECTORY": odd}) as daemon:
                daemon.wait_ready()
                true("warned", told(daemon, f"$RUNTIME_DIRECTORY is not to be used\" "
                                            f"directory={odd} "))
        with Daemon(config="[state]\nfile =\n", procfs=tree, environment=environment) as daemon:
            daemon.wait_ready()
            true("turned off", not told(daemon, "state"))


# ---- the real /proc, under load ----

class Busy:
    """Processes of one name that use CPU, and what /proc says of them at each look."""

    def __init__(self, name, directory, n=1):
        self.name = name
        self.processes = [
            subprocess.Popen([BUSY, name, "1", "0", f"{directory}/{name}.{i}"],
                             stdout=subprocess.PIPE) for i in range(n)]
        for process in self.processes:
            process.stdout.readline()
        # Of user and of system time it says whole ticks, rounded down.
        self.slack = 2 * TICK_S * n
        self.first = self.seconds()
        self.looks = [(time.monotonic(), self.first)]

    def seconds(self):
        ticks = 0
        for process in self.processes:
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as f:
                ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
        return ticks * TICK_S

    def look(self):
        self.looks.append((time.monotonic(), self.seconds()))
        return self.looks[-1][1]

    def before(self, moment):
        """What had been used, at the latest, in a page that was taken then."""
        return max([s for t, s in self.looks if t < moment - AGE_S], default=self.first)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()


class Watch:
    """Pages in a row, over all daemons."""

    def __init__(self, busy):
        self.busy = busy
        self.last, self.last_time = None, 0

    def look(self, daemon):
        moment = time.monotonic()
        page = daemon.page()
        used = self.busy.look()
        shown = cpu(page, self.busy.name)
        true(f"{shown} s are shown, {used - self.busy.first} were used",
             shown <= used - self.busy.first + self.busy.slack)
        if self.last:
            check_not_fallen(page, self.last)
            rise = shown - cpu(self.last, self.busy.name)
            most = used - self.busy.before(self.last_time) + self.busy.slack
            true(f"rose by {rise} s, /proc by {most}", rise <= most)
        self.last, self.last_time = page, moment
        return shown


def check_born(daemon, newcomer):
    """All that the newcomer used is on the page."""
    used = newcomer.seconds()
    wait_until(f"{used} s of {newcomer.name}",
               lambda: cpu(daemon.page(), newcomer.name) >= used - newcomer.slack)
    shown = cpu(daemon.page(), newcomer.name)
    true(f"{shown} s, and no more than was used", shown <= newcomer.seconds() + newcomer.slack)


def test_killed_at_any_moment():
    seed = int(os.environ.get("PROCTALLY_TEST_SEED", time.time_ns()))
    print(f"PROCTALLY_TEST_SEED={seed}")
    chance = random.Random(seed)
    with Host() as host:
        busy = Busy(f"{RUN}-state", host.directory.name, 2)
        newcomers = []
        watch = Watch(busy)
        try:
            shown = []
            for turn in range(KILLS + 1):
                if turn % 10 == 1:
                    newcomers.append(Busy(f"{RUN}-born-{turn}", host.directory.name))
                    time.sleep(0.3)
                with host.daemon(interval="100ms") as daemon:
                    until = time.monotonic() + chance.uniform(0, 1)
                    while time.monotonic() < until:
                        shown.append(watch.look(daemon))
                        time.sleep(chance.uniform(0, 0.05))
                    if turn % 10 == 1:
                        check_born(daemon, newcomers[-1])
                    shown.append(watch.look(daemon))
                    true("resumed", turn == 0 or told(daemon, "state resumed"))
                    daemon.stop(signal.SIGTERM if turn % 7 == 6 else signal.SIGKILL)
            true(f"most of the time it was counted: {shown[-1]}", shown[-1] > 0.1)
        finally:
            for one in [busy, *newcomers]:
                one.kill()


def test_prometheus_sees_no_reset():
    """Raw samples over two kills: resets() is 0, and the rise is no more than what was used."""
    if not shutil.which("prometheus"):
        print("prometheus is not installed")
        return
    with Host() as host:
        busy = Busy(f"{RUN}-prom", host.directory.name)
        try:
            with Prometheus(host.port) as prometheus:
                for turn in range(3):
                    with host.daemon(interval="200ms") as daemon:
                        begin = prometheus_time(prometheus)
                        wait_until("five scrapes", lambda: good_scrapes(prometheus, begin) >= 5,
                                   60, 0.5)
                        if turn < 2:
                            daemon.stop(signal.SIGKILL)
                check_raw_samples(prometheus, busy)
        finally:
            busy.kill()


def prometheus_time(prometheus):
    return float(prometheus.api("query", query="time()")["result"][1])


def good_scrapes(prometheus, begin):
    """The scrapes that got a page since then."""
    rows = prometheus.api("query", query="proctally_up[5m]")["result"]
    return sum(1 for row in rows for when, _ in row["values"] if when > begin)


def check_raw_samples(prometheus, busy):
    names = [n for n in prometheus.api("label/__name__/values")
             if n.startswith("proctally_group_") and n.endswith("_total")]
    true("there are counters", len(names) >= 8)
    for name in names:
        equal(f"resets of {name}", prometheus.query(f"resets({name}[10m]) > 0"), {})
    rows = prometheus.api("query", query=f'{CPU}{{group="{busy.name}"}}[10m]')["result"]
    equal("modes", len(rows), 2)
    rise = sum(float(row["values"][-1][1]) - float(row["values"][0][1]) for row in rows)
    used = busy.seconds() - busy.first
    true(f"rose by {rise} s of {used}", 0 < rise <= used + busy.slack)
    for row in rows:
        for (t, v), (u, w) in zip(row["values"], row["values"][1:]):
            # One thread, and a page may be an interval and a cycle old.
            true(f"{float(w) - float(v)} s within {u - t}", float(w) - float(v) <= u - t + 1)


if __name__ == "__main__":
    if not os.path.exists(BUSY):
        raise Failure(BUSY)
    sys.exit(main(sys.modules[__name__]))
