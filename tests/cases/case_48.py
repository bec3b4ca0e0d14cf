"""The daemon itself runs out of descriptors.

a: a start with 16; b: its limit lowered to what is in use; c: every third open fails; d: ENFILE at the
root and at the first open of a process; e: more clients than it may accept, and EMFILE of accept; f: a
start with 1,100 inherited descriptors. Expected: it neither ends, nor spins, nor leaks; a cycle that
could not open its files fails, logged once, and shows no zeros: the last page stays; after relief the
next cycle is whole; scrapes go on. It needs few descriptors, however many processes there are.
"""
import os
import resource
import socket
import subprocess
import tempfile
import time

import procfs
from faults import SHIM, FaultyDaemon
from harness.daemon import BINARY, SANITIZE, Daemon, free_port, wait_until
from see import See

CONFIG = "[collector]\nstale_after = 100\n\n[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
FAILURES = "proctally_snapshot_failures_total"
SPIN_MAX = 0.05 if not SANITIZE else 0.5
MANY = 500
ENOUGH = 100  # 64 of them are the prober's, of requests that wait
CLIENTS = 1100
TICK = os.sysconf("SC_CLK_TCK")


def build(at):
    procfs.base(at("proc"))


def exact(see, page):
    see.canary(page, {**see.canary_gauges(), **see.canary_steps(0)})
    see.groups(page, {"init", "canary"})


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", "rb") as f:
        fields = f.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def does_not_spin(daemon, see, seconds=1.0):
    """At ten cycles a second, without anybody asking."""
    begin, before = time.monotonic(), cpu_seconds(daemon.pid)
    time.sleep(seconds)
    see.at_most("share of a CPU", (cpu_seconds(daemon.pid) - before) /
                (time.monotonic() - begin), SPIN_MAX)


def fewest_descriptors(daemon):
    fewest = daemon.descriptors()
    for _ in range(30):
        time.sleep(0.01)
        fewest = min(fewest, daemon.descriptors())
    return fewest


class Variant:
    def __init__(self, name, see, daemon):
        self.see, self.all, self.daemon = See(name), see, daemon

    def __enter__(self):
        self.daemon.__enter__().wait_ready()
        exact(self.see, self.daemon.settle())
        self.base = fewest_descriptors(self.daemon)
        self.lines = len(self.daemon.log_lines())
        return self

    def __exit__(self, *what):
        self.daemon.__exit__(*what)
        self.all.faults += self.see.faults

    def failed(self):
        return self.daemon.page().value(FAILURES, reason="descriptors")

    def recovers(self, lines=2):
        """Whole again, with one line when it began and one when it was over."""
        page = self.daemon.settle()
        exact(self.see, page)
        self.see.no_read_errors(page)
        wait_until(f"{self.base} descriptors", lambda: fewest_descriptors(self.daemon) <= self.base)
        got = self.daemon.log_lines()[self.lines:]
        self.see.equal(f"lines {got}", len(got), lines)
        return page


def start_with_few(root, see):
    """With 16 it works. Where it cannot start it ends and says why; where it can, but no cycle opens
    its files, it says that."""
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        config, log = f"{directory}/ini", f"{directory}/log"
        procfs.write(config, CONFIG)
        for limit in (16, 14, 12, 11, 10, 8, 6, 5):
            port = free_port()
            with open(log, "wb") as out, subprocess.Popen(
                    [BINARY, f"--config.file={config}", f"--path.procfs={root}",
                     f"--web.listen-address=127.0.0.1:{port}", "--collector.interval=100ms"],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)),
            ) as process:
                outcomes[limit] = start_outcome(process, port, log)
                process.terminate()
    see.equal("with 16", outcomes[16], "serves")
    for limit, outcome in outcomes.items():
        see.equal(f"with {limit}: {outcome}", outcome in ("serves", "refuses", "waits"), True)


def start_outcome(process, port, log):
    def said():
        with open(log, "rb") as f:
            return f.read().decode()

    def outcome():
        if process.poll() is not None:
            why = "RLIMIT_NOFILE" in said()
            return "refuses" if process.returncode != 0 and why else f"ended: {said()!r}"
        status, body = get(port)
        if status == 200 and b'processes{group="canary"} 1\n' in body:
            return "serves"
        return "waits" if status == 503 and "reason=descriptors" in said() else None

    return wait_until("it serves, or ends, or says that it waits", outcome)


def get(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as s:
            s.settimeout(1)
            s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            answer = b""
            while piece := s.recv(65536):
                answer += piece
        return int(answer[9:12] or b"0"), answer
    except OSError:
        return None, b""


def limit_lowered(root, see):
    with Variant("limit lowered", see, Daemon(config=CONFIG, procfs=root)) as v:
        limits = resource.prlimit(v.daemon.pid, resource.RLIMIT_NOFILE)
        # Below what is in use: one more may have been open all the while that they were counted.
        resource.prlimit(v.daemon.pid, resource.RLIMIT_NOFILE, (v.base - 2, limits[1]))
        wait_until("a line that it fails", lambda: len(v.daemon.log_lines()) > v.lines)
        does_not_spin(v.daemon, v.see)
        v.daemon.must_live()
        v.see.equal("lines while it fails", len(v.daemon.log_lines()) - v.lines, 1)
        resource.prlimit(v.daemon.pid, resource.RLIMIT_NOFILE, limits)
        page = v.recovers()
        v.see.equal("failures are counted", page.value(FAILURES, reason="descriptors") > 1, True)


def opens_fail(root, see, name, rule, how):
    with Variant(name, see, FaultyDaemon(config=CONFIG, procfs=root)) as v:
        number = v.daemon.fail(*rule, **how)
        v.daemon.wait_fired(number, 5)
        exact(v.see, v.daemon.page())
        does_not_spin(v.daemon, v.see)
        exact(v.see, v.daemon.page())
        v.daemon.relieve()
        page = v.recovers()
        v.see.equal("failures are counted", page.value(FAILURES, reason="descriptors") > 0, True)


def fails_once(root, see, name, rule):
    with Variant(name, see, FaultyDaemon(config=CONFIG, procfs=root)) as v:
        number = v.daemon.fail(*rule, times=1)
        v.daemon.wait_fired(number)
        page = v.recovers()
        v.see.value(page, 1, FAILURES, reason="descriptors")


def root_at_the_start(root, see):
    """The root is opened once and held: where that fails there is nothing to go on with."""
    daemon = FaultyDaemon(config=CONFIG, procfs=root, first=[("list", "/proc", "ENFILE",
                                                              {"times": 1})])
    with daemon:
        daemon.wait_ready()
        exact(see, daemon.settle())


def clients(port, count, seconds):
    """Connects so many that say nothing; -> those that were taken."""
    got, deadline = [], time.monotonic() + seconds
    while len(got) < count and time.monotonic() < deadline:
        try:
            got.append(socket.create_connection(("127.0.0.1", port), 5))
        except OSError:
            break
    return got


def many_clients(root, see):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CLIENTS + 100), hard))
    with Variant("many clients", see, Daemon(config=CONFIG, procfs=root)) as v:
        held = clients(v.daemon.port, CLIENTS, 10)
        v.see.equal("clients", len(held), CLIENTS)
        v.see.at_most("descriptors", v.daemon.descriptors(), v.base + 64)
        does_not_spin(v.daemon, v.see)
        for client in held:
            client.close()
        wait_until("it answers", lambda: v.daemon.answers() == 200, 5)
        v.recovers(lines=0)


def accept_fails(root, see):
    with Variant("accept fails", see, FaultyDaemon(config=CONFIG, procfs=root)) as v:
        number = v.daemon.fail("accept", "*", "EMFILE")
        held = clients(v.daemon.port, 20, 5)
        v.daemon.wait_fired(number)
        does_not_spin(v.daemon, v.see)
        for client in held:
            client.close()
        v.daemon.relieve()
        wait_until("it answers", lambda: v.daemon.answers() == 200, 5)
        v.recovers(lines=0)


def many_inherited(root, see):
    null = os.open("/dev/null", os.O_RDONLY)
    held = [os.dup(null) for _ in range(CLIENTS)]
    for fd in held:
        os.set_inheritable(fd, True)
    popen, daemon = subprocess.Popen, None
    try:
        subprocess.Popen = lambda *a, **k: popen(*a, **{**k, "close_fds": False})
        daemon = Daemon(config=CONFIG, procfs=root)
    finally:
        subprocess.Popen = popen
        for fd in (null, *held):
            os.close(fd)
    with Variant("inherited", see, daemon) as v:
        v.see.equal("they are there", v.base >= CLIENTS, True)
        v.recovers(lines=0)


def many_processes(root, see):
    """As few descriptors for hundreds of processes as for two."""
    for i in range(MANY):
        procfs.process(root, 20000 + i, "herd")
    with Daemon(config=CONFIG, procfs=root) as daemon:
        daemon.wait_ready().settle()
        most = 0
        for _ in range(200):
            most = max(most, daemon.descriptors())
        see.at_most("descriptors at any time", most, ENOUGH)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (ENOUGH, ENOUGH))
        page = daemon.settle()
        see.value(page, MANY, "proctally_group_processes", group="herd")


def extra(at, see):
    root = at("proc")
    start_with_few(root, see)
    limit_lowered(root, see)
    if SHIM:
        opens_fail(root, see, "every third open", ("open", "*", "EMFILE"), {"every": 3})
        opens_fail(root, see, "no process opens", ("open", "/1", "ENFILE"), {})
        fails_once(root, see, "ENFILE of a process once", ("open", "/1", "ENFILE"))
        fails_once(root, see, "ENFILE of the root once", ("list", "/proc", "ENFILE"))
        root_at_the_start(root, see)
        accept_fails(root, see)
    many_clients(root, see)
    many_inherited(root, see)
    many_processes(root, see)
