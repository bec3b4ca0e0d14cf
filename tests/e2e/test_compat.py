#!/usr/bin/env python3
"""[groups] compat: what process-exporter shows of the same processes, under the same names; and
where its counters go wrong, ours do not."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request

from harness.daemon import BINARY, Daemon, once, skip, wait_until
from harness.exposition import Page
from harness.tests import BY_COMM, PROCFS, equal, main, true
from harness.workers import Workers, task_states

PEER = "prometheus-process-exporter"
# The version whose faults were looked at; others may have mended them.
KNOWN = "0.7.10"
NOBODY = 65534
# One that other users can run, where there is one.
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable
PREFIX = "namedprocess_namegroup_"
COMPAT = "[groups]\nmax = 100000\ncompat = process-exporter\n\n"
CONFIG = PROCFS + COMPAT + "[metrics]\ninclude = proctally_group_proportional_memory_bytes\n\n" + BY_COMM
# Two of one name, others of names that have to be escaped.
WORKERS = [("cmp-one", 1, 7), ("cmp-two", 1, 20), ("cmp-two", 1, 300), ('cmp "\\ {} \xfc', 1, 1)]
FAMILIES = {"num_procs", "num_threads", "states", "oldest_start_time_seconds", "cpu_seconds_total",
            "memory_bytes", "minor_page_faults_total", "major_page_faults_total",
            "read_bytes_total", "write_bytes_total", "open_filedesc", "worst_fd_ratio"}
# Theirs alone; docs/migration.md says why.
NOT_OURS = {"context_switches_total", "threads_wchan"}
UNSIGNED_WRAP = 2.0 ** 63
# The kernel keeps a part of its page counts per CPU, which stat leaves out and status may not.
RESIDENT_SLACK = 3 * 4096 * max(32, 2 * os.cpu_count()) * os.cpu_count()


class Peer:
    """process-exporter over the processes of these names."""

    def __init__(self, comms, *flags, user=None):
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        os.chmod(self.directory.name, 0o755)
        config, self.log_path = f"{self.directory.name}/all.yaml", f"{self.directory.name}/log"
        with open(config, "w", encoding="utf-8") as f:
            f.write('process_names:\n  - name: "{{.Comm}}"\n    comm:\n')
            f.writelines(f"    - '{comm}'\n" for comm in comms)
        as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [PEER, "-config.path", config, "-web.listen-address", "127.0.0.1:0",
                 "-children=false", "-threads=false", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_user)
        self.port = wait_until("process-exporter listens", self.listens)

    def listens(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            found = re.search(r"address=127\.0\.0\.1:(\d+)", f.read())
        return found and found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()

    def page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return Page(answer.read())


# A process of the test's own, by its name: it does what it is told, a line at a time.
CHILD = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.prctl(15, {name!r}, 0, 0, 0)
libc.prctl(1, 9, 0, 0, 0)
over = threading.Event()
def work():
    while not over.wait(0.0005):
        pass
threads = [threading.Thread(target=work) for _ in range({threads})]
for thread in threads:
    thread.start()
fd = os.open({path!r}, os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(fd, bytes(1 << 20), 0)
os.fsync(fd)
print("ready", flush=True)
sys.stdin.readline()
over.set()
for thread in threads:
    thread.join()
libc.prctl(4, {dumpable}, 0, 0, 0)
print("done", flush=True)
sys.stdin.readline()
"""


class Child:
    def __init__(self, name, path, threads=0, dumpable=1, user=None):
        as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        code = CHILD.format(name=name, threads=threads, dumpable=dumpable, path=path)
        self.process = subprocess.Popen([PYTHON, "-c", code], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **as_user)
        equal("child says", self.process.stdout.readline(), b"ready\n")

    def turn(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        equal("child says", self.process.stdout.readline(), b"done\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def version():
    done = subprocess.run([PEER, "-version"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def series(page, comms):
    """{(family, labels): value} of the groups of these names."""
    return {(name[len(PREFIX):], labels): value for (name, labels), value in page.series.items()
            if name.startswith(PREFIX) and dict(labels).get("groupname") in comms}


def families(page):
    return {name[len(PREFIX):] for name, _ in page.series if name.startswith(PREFIX)}


def is_counter(family):
    return family.endswith("_total")


def slack(family, labels):
    memtype = dict(labels).get("memtype")
    if memtype == "resident":
        return RESIDENT_SLACK
    # Of pages that every process maps each has a share, and their number changes.
    return 64 * 1024 if memtype == "proportionalResident" else 1e-9


def is_compared(family, labels):
    labels = dict(labels)
    # A Python shares its pages with whoever else runs one; the workers are static.
    if labels.get("memtype") == "proportionalResident" and labels["groupname"] == "cmp-idle":
        return False
    return family not in NOT_OURS and labels.get("memtype") != "proportionalSwapped"


def compare_levels(ours, theirs, comms):
    """Every gauge of theirs; returns how many were compared."""
    mine, n = series(ours, comms), 0
    for (family, labels), value in series(theirs, comms).items():
        if is_counter(family) or not is_compared(family, labels):
            continue
        got = mine.get((family, labels))
        if family == "oldest_start_time_seconds":
            got = got and float(int(got))  # theirs has whole seconds
        true(f"{family} {dict(labels)}: {got}, process-exporter says {value}",
             got is not None and abs(got - value) <= slack(family, labels))
        n += 1
    return n


def increases(page, earlier, comms):
    before = series(earlier, comms)
    return {k: v - before.get(k, 0) for k, v in series(page, comms).items() if is_counter(k[0])}


def test_off_by_default():
    equal("families", families(once(config="[metrics]\ninclude = *\n\n" + BY_COMM)), set())


def test_beside_process_exporter():
    comms = {what[0] for what in WORKERS} | {"cmp-idle", "cmp-gone"}
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory, \
            Workers(*WORKERS) as workers, Child(b"cmp-idle", f"{directory}/a"), \
            Child(b"cmp-gone", f"{directory}/b") as gone:
        workers.pause()
        gone.process.kill()  # and not waited for: a zombie
        wait_until("it has ended", lambda: task_states(gone.process.pid) == {"Z"})
        with Peer(sorted(comms)) as peer, Daemon(config=CONFIG) as daemon:
            daemon.wait_ready()
            first, theirs = daemon.settle(), peer.page()
            equal("our families", families(first), FAMILIES)
            equal("their families that we lack", families(theirs) - FAMILIES, NOT_OURS)
            names = {"groupname"}
            equal("groups", {dict(l)["groupname"] for _, l in series(first, comms)},
                  {dict(l)["groupname"] for _, l in series(theirs, comms)})
            true("labels by the names of theirs", all(
                names <= {label for label, _ in labels} for _, labels in series(first, comms)))
            compared = compare_levels(first, theirs, comms)
            for comm, state in (("cmp-idle", "Sleeping"), ("cmp-gone", "Zombie"),
                                ("cmp-one", "Other")):
                equal(f"{comm} in {state}",
                      first.value(PREFIX + "states", groupname=comm, state=state), 1)
            workers.resume()
            time.sleep(2)
            workers.pause()
            page, later = daemon.settle(), peer.page()
            compared += compare_levels(page, later, comms)
            ours, expected = increases(page, first, comms), increases(later, theirs, comms)
            for (family, labels), value in expected.items():
                if not is_compared(family, labels):
                    continue
                got = ours[(family, labels)]
                true(f"{family} {dict(labels)} rose by {got}, by process-exporter {value}",
                     abs(got - value) <= 1e-6)
                compared += 1
            true("CPU was used", any(v > 0 for (f, _), v in ours.items() if f == "cpu_seconds_total"))
            print(f"{compared} values are the same")
            equal("labels", {k for k in series(page, comms) if is_compared(*k)},
                  {k for k in series(later, comms) if is_compared(*k)})


def wrapped(page, comm):
    return {family for (family, _), value in series(page, {comm}).items()
            if is_counter(family) and value >= UNSIGNED_WRAP}


def compare_faults(comm, child, daemon, peer, expected):
    """Before and after the child's turn: which counters wrapped around, theirs and ours."""
    before = daemon.settle()
    peer.page()
    child.turn()
    after, theirs = daemon.settle(), peer.page()
    equal("ours that fell", after.fell_since(before), [])
    equal("ours that wrapped", wrapped(after, comm), set())
    print(f"process-exporter's that wrapped: {sorted(wrapped(theirs, comm))}")
    if KNOWN in version():
        equal("theirs that wrapped", wrapped(theirs, comm), expected)
    return after


def test_threads_that_end():
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory, \
            Child(b"cmp-ends", f"{directory}/f", threads=4) as child, \
            Peer(["cmp-ends"], "-gather-smaps=false") as peer, Daemon(config=CONFIG) as daemon:
        daemon.wait_ready()
        wait_until("threads are seen", lambda: daemon.page().get(
            PREFIX + "num_threads", groupname="cmp-ends") == 5)
        # Theirs is the sum over the threads there are.
        compare_faults("cmp-ends", child, daemon, peer, {"context_switches_total"})


def test_io_denied_later():
    """As after a setuid: what was readable is no longer."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        os.chown(directory, NOBODY, NOBODY)
        with Child(b"cmp-denied", f"{directory}/f", dumpable=0, user=NOBODY) as child, \
                Peer(["cmp-denied"], "-gather-smaps=false", user=NOBODY) as peer, \
                Daemon(config=CONFIG, user=NOBODY) as daemon:
            daemon.wait_ready()
            with open(f"/proc/{child.process.pid}/io", encoding="ascii") as f:
                used = dict(re.findall(r"^(read|write)_bytes: ([1-9]\d*)", f.read(), re.M))
            expected = {f"{what}_bytes_total" for what in used}
            page = compare_faults("cmp-denied", child, daemon, peer, expected)
            unread = page.get("proctally_group_unread_processes", group="cmp-denied", part="io")
            equal("processes without io", unread, 1)


def test_a_name_that_is_no_utf8():
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory, \
            Child(b"cmp-\xff", f"{directory}/f"), Daemon(config=CONFIG) as daemon:
        daemon.wait_ready()
        page = daemon.settle()
        equal("processes", page.get(PREFIX + "num_procs", groupname="cmp-�"), 1)


def test_reload():
    with Daemon(config=PROCFS + BY_COMM) as daemon:
        daemon.wait_ready()
        equal("off", families(daemon.settle(1)), set())
        daemon.write_config(COMPAT + "[metrics]\nexclude = proctally_*\n\n" + BY_COMM)
        daemon.send(signal.SIGHUP)
        wait_until("on, and nothing else", lambda: families(daemon_page(daemon)) == FAMILIES)
        equal("groups by our own names", daemon_page(daemon).groups(), set())
        daemon.write_config(BY_COMM)
        daemon.send(signal.SIGHUP)
        wait_until("off again", lambda: families(daemon_page(daemon)) == set())


def test_examples_of_the_manual():
    """What docs/migration.md shows as a configuration is one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/migration.md")
    with open(path, encoding="utf-8") as f:
        blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", f.read(), re.M)
    examples = [b for b in (textwrap.dedent(b).strip() for b in blocks) if b.startswith("[")]
    true("there are examples", examples)
    for text in examples:
        with tempfile.NamedTemporaryFile("w", suffix=".ini", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            done = subprocess.run([BINARY, "--check-config", f"--config.file={file.name}"],
                                  capture_output=True, text=True, check=False)
        equal(f"faults of {text.splitlines()[0]}", done.stderr, "")


def daemon_page(daemon):
    return Page(daemon.ask().body)


if __name__ == "__main__":
    if not shutil.which(PEER):
        skip(f"{PEER} is not installed (package of that name)")
    if os.geteuid() != 0:
        skip("needs root: it starts processes of another user, and reads their io")
    sys.exit(main(sys.modules[__name__]))
