#!/usr/bin/env python3
"""--explain PID: it says why, and it says what --once and the daemon do."""
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from harness.daemon import BINARY, PATIENCE_S, REPORTS, Daemon, become, once, wait_until
from harness.tests import Tree, equal, main, procfs, true
from harness.workers import Workers

NOBODY = 65534
# How many processes of a busy host are asked about.
MOST = 60
# Processes with series of their own, to learn the group of each.
TOP = "[processes]\ntop = 1000\nby = memory\n\n"
ID = "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
UID = "74c13223-5a00-11e9-b385-42010a80018d"
RULES = r"""
[exclude probes]
comm = sh curl
cmdline = /health(z|check)$

[group db-${pod}]
pod = *
comm = postgres*
children = yes

[group java-${app}]
comm = java
cmdline = -Dapp=(?<app>\S+)

[group java]
exe = java

[group slow]
comm = slow
cmdline = (a+)+$

[group people-${user}]
unit = session-*.scope

[group box]
container = 34dc0b5e626f

[group turns-${user}]
exe = turns

[group kin-${user}]
exe = kin
children = yes

[group late]
comm = late
"""
LIVE = r"""
[groups]
max = 100000
[exclude sleepers]
cmdline = ^sleep 98765$

[group family]
cmdline = ^sh -c timeout 1000 sleep 1000
children = yes

[group shells-${user}]
exe = */sh */dash */bash

[group ${1}-${user}]
cmdline = ^\S*?([^/\s]*python[^/\s]*)
"""


class Explained:
    def __init__(self, text):
        self.text = text
        self.lines = text.splitlines()

    @property
    def group(self):
        """None: it is excluded."""
        last = self.lines[-1]
        if last == "excluded":
            return None
        found = re.match(r'group (".*?(?<!\\)(?:\\\\)*")(, |$)', last)
        true(f"the last line names the group: {last!r}", found)
        return json.loads(found[1])

    def value(self, name):
        """Of the process, before rules are told of; None: it is not there."""
        for line in self.lines[:self.lines.index("")]:
            if line.startswith(f"    {name:<10} "):
                return line[15:]
        return None


def run(pid, *flags, config=None, procfs=None, user=None):
    """-> (exit status, standard output, standard error)"""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        path = os.path.join(directory, "a.ini")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(config or "")
        command = [BINARY, f"--explain={pid}", f"--config.file={path}", *flags]
        if procfs is not None:
            command.append(f"--path.procfs={procfs}")
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE_S, check=False, **become(user, command, directory))
    true(f"no report: {done.stderr}", not any(report in done.stderr for report in REPORTS))
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def explain(pid, **settings):
    code, out, err = run(pid, **settings)
    equal(f"exit status for {pid}: {err}", code, 0)
    equal("standard error", err, "")
    true("no control characters", not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out))
    return Explained(out)


def groups_of(page):
    """{pid: group} of the processes that have series."""
    labels = [dict(labels) for labels in page.of("proctally_process_threads")]
    return {int(l["pid"]): l["group"] for l in labels}


def build(tree):
    """Something for each of the rules, and something for each default."""
    pod = f"0::/kubepods/burstable/pod{UID}/{ID}\n"
    session = "0::/user.slice/user-1000.slice/session-3.scope\n"
    processes = [
        (100, "sh", dict(cmdline=b"sh\0-c\0wget x/healthz\0")),
        (101, "sh", dict(cmdline=b"sh\0-c\0sleep\0")),
        (200, "postgres", dict(cgroup=pod)), (201, "writer", dict(ppid=200, cgroup="0::/\n")),
        (203, "late", dict(ppid=200)),
        (300, "java", dict(cmdline=b"java\0-Dapp=shop\0", exe="/usr/bin/java")),
        (301, "java", dict(cmdline=b"java\0-jar\0x\0", exe="/opt/java (deleted)")),
        (302, "java", dict(cmdline=b"", exe="/opt/other")),
        (400, "slow", dict(cmdline=b"slow\0" + b"a" * 3000 + b"!\0")),
        (401, "slow", dict(cmdline=b"slow\0aaa\0")),
        (500, "vi", dict(cgroup=session)),
        (501, "app", dict(cgroup="0::/user.slice/user-1000.slice/user@1000.service/a.scope\n")),
        (600, "box", dict(cgroup=f"0::/docker/{ID}\n")), (601, "box", dict(cgroup="0::/lxc/x\n")),
        (602, "pod", dict(cgroup=pod)), (603, "svc", dict(cgroup="0::/a.slice/b@2.service\n")),
        (700, b"\x1b[31m\xff\n\"q\\", dict(cgroup="0::/\n")), (701, "kernel", dict(cgroup="0::/\n")),
        (702, "", dict(cgroup="0::/\n")), (703, "plain", dict(skip=("cgroup", "cmdline", "exe"))),
        (705, "late", {}),
    ]
    # Wherever the turn of files that are read by turns falls; and children before their parents.
    processes += [(1000 + i, "turns", dict(exe="/bin/turns")) for i in range(16)]
    processes += [(1100 + i, "kin", dict(exe="/bin/kin")) for i in range(16)]
    processes += [(1200 + i, "child", dict(ppid=1100 + i)) for i in range(16)]
    processes += [(1300 + i, "grand", dict(ppid=1200 + i)) for i in range(16)]
    for pid, comm, settings in processes:
        procfs.process(tree, pid, comm, **settings)
    procfs.kernel_thread(tree, 2, "kthreadd", ppid=0, cgroup="0::/\n")
    procfs.kernel_thread(tree, 9, "late", cgroup="0::/\n")
    procfs.process(tree, 800, "dead", state="Z", memory=False, cgroup="0::/a.service\n")
    return [1, 4242, 2, 9, 800, *(pid for pid, _, _ in processes)]


def compare(tree, pids, config):
    """-> {pid: group} of explanations, once they agree with the page."""
    page = once(config=TOP + config, procfs=tree)
    got = {pid: explain(pid, config=config, procfs=tree).group for pid in pids}
    counts = collections.Counter(group for group in got.values() if group is not None)
    equal("counts", counts, {dict(labels)["group"]: n for labels, n in
                             page.of("proctally_group_processes").items() if n > 0})
    equal("excluded", list(got.values()).count(None), page.value("proctally_excluded_processes"))
    equal("pending", page.value("proctally_pending_processes"), 0)
    by_page = groups_of(page)
    true("most have series", len(by_page) > len(pids) // 2)
    equal("one by one", {pid: got[pid] for pid in by_page}, by_page)
    return got


def test_every_process_of_a_tree():
    with Tree() as tree:
        pids = build(tree)
        got = compare(tree, pids, RULES)
        equal("rules", {pid: got[pid] for pid in (100, 200, 201, 203, 300, 301, 302, 400, 401, 600)},
              {100: None, 200: f"db-{UID}", 201: f"db-{UID}", 203: "late", 300: "java-shop",
               301: "java", 302: "app.service", 400: "app.service", 401: "slow", 600: "box"})
        for pids in (range(1000, 1016), [*range(1100, 1116), *range(1200, 1216), *range(1300, 1316)]):
            equal("of one kind", len({got[pid] for pid in pids}), 1)
        with Daemon(config=TOP + RULES, procfs=tree) as daemon:
            daemon.wait_ready()
            wait_until("the daemon says the same", lambda: all(
                got[pid] == group for pid, group in groups_of(daemon.page()).items()))


def test_defaults_and_bounds():
    with Tree() as tree:
        pids = build(tree)
        got = compare(tree, pids, "")
        equal("defaults", {pid: got[pid] for pid in (2, 500, 600, 601, 602, 603, 700, 701, 702)},
              {2: "kernel", 500: got[501], 600: "container/34dc0b5e626f", 601: "container/x",
               602: f"pod/{UID}", 603: "b@.service", 700: '\ufffd[31m\ufffd\n"q\\',
               701: "comm/kernel", 702: "_empty"})
        true("bounded", "_other" in compare(tree, pids, "[groups]\nmax = 3\n" + RULES).values())
        compare(tree, pids, "[group ${comm}]\ncomm = *\nchildren = yes\n")
        compare(tree, pids, "[group all]\ncomm = init\nchildren = yes\n" + RULES)


def test_what_it_says():
    with Tree() as tree:
        build(tree)
        slow = explain(400, config=RULES, procfs=tree)
        true("the search was given up", any("takes too long" in line for line in slow.lines))
        true("arguments are cut", slow.value("cmdline").endswith('...", 3006 bytes'))
        child = explain(201, config=RULES, procfs=tree)
        true("whom it follows", any("follows its parent 200 \"postgres\"" in line
                                    for line in child.lines))
        java = explain(302, config=RULES, procfs=tree)
        equal("arguments", java.value("cmdline"), "none: it shows no arguments")
        equal("exe", java.value("exe"), '"/opt/other", as the link says')
        equal("user", java.value("user").rpartition(", ")[2], "uid 1000")


def child_of(parent):
    """The number of a child that is there by now."""
    def find():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as f:
                if int(f.read().rpartition(b")")[2].split()[1]) == parent:
                    return int(pid)
        return None

    return wait_until(f"a child of {parent}", find)


@contextlib.contextmanager
def family():
    """-> a shell, a child of its child, and somebody else, by their pids"""
    shell = subprocess.Popen(["sh", "-c", "timeout 1000 sleep 1000; true"],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    other = subprocess.Popen(["sleep", "98765"], stdin=subprocess.DEVNULL)
    try:
        between = child_of(shell.pid)
        child = child_of(between)
        wait_until("it sleeps", lambda: os.readlink(f"/proc/{child}/exe").endswith("sleep"))
        yield shell.pid, child, other.pid
    finally:
        for pid in (between, child):
            os.kill(pid, signal.SIGKILL)
        for process in (shell, other):
            process.kill()
            process.wait()


def test_live_processes():
    def differences(pids):
        """Explanations that differ from the page taken before, of those that are still there."""
        page, found = groups_of(once(config=TOP + LIVE)), set()
        some = sorted(page)[::1 + len(page) // MOST]
        for pid in set(page).intersection(pids or some):
            code, out, _ = run(pid, config=LIVE)
            if code == 0 and Explained(out).group != page[pid]:
                found.add((pid, page[pid], Explained(out).group))
        return found

    with family() as (shell, child, sleeper), Workers(("a\xfc\x1b b", 3, 1)):
        equal("excluded", explain(sleeper, config=LIVE).group, None)
        equal("the child's group", explain(child, config=LIVE).group,
              explain(shell, config=LIVE).group)
        true("the child follows", any(f"follows its ancestor {shell} " in line
                                      for line in explain(child, config=LIVE).lines))
        # Some of a busy host have changed in between: not the same ones each time.
        found = differences(None)
        for _ in range(3):
            found = found and found & differences([pid for pid, _, _ in found])
        equal("differ every time", found, set())


def test_another_user_is_refused_the_link():
    if os.geteuid() != 0:
        print("     needs root: not tested")
        return
    config = "[group sleepers]\nexe = sleep\n\n[group args]\ncmdline = ^sleep\n"
    with family() as (_, child, _):
        own = explain(child, config=config)
        true("the link", own.value("exe").endswith('/sleep", as the link says'))
        other = explain(child, config=config, user=NOBODY)
        equal("the first argument", other.value("exe"),
              '"sleep", as the first argument says: the link cannot be read: Permission denied')
        equal("the group", other.group, "sleepers")
        page = once(config=TOP + config, user=NOBODY)
        equal("on the page", groups_of(page)[child], "sleepers")


def test_what_is_no_process():
    with Tree() as tree:
        equal("unknown", run(77, procfs=tree),
              (1, "", f"proctallyd: there is no process 77 in {tree}\n"))
        procfs.process(tree, 78, "odd", files={"stat": "nonsense"})
        equal("unreadable", run(78, procfs=tree),
              (1, "", f"proctallyd: cannot read {tree}/78/stat: it is malformed\n"))
        equal("no tree", run(78, procfs=tree + "/none")[0], 1)
    with Workers(("threads", 3, 1)) as workers:
        pid = workers.pids()[0]
        thread = next(tid for tid in os.listdir(f"/proc/{pid}/task") if int(tid) != pid)
        equal("a thread", run(thread), (1, "", f"proctallyd: there is no process {thread} in /proc: "
                                               "it is a thread of one, or ended just now\n"))


def test_usage():
    for pid in ("0", "-1", "x", "1x", "99999999999", "\x1b[2J"):
        code, out, err = run(pid)
        equal(f"{pid!r}", (code, out), (2, ""))
        true("one line", err.count("\n") == 1 and "\x1b" not in err)
    for flag in ("--once", "--check-config", "--healthcheck", "--explain=1"):
        equal(flag, run(1, flag)[0], 2)
    code, _, err = run(1, config="[group a]\ncolour = blue\n")
    equal("a wrong file", code, 2)
    true(err, ":2: [group a] colour: unknown key" in err)


def test_output_that_fails():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BINARY, "--explain=1"], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    equal("exit status", done.returncode, 1)
    true(done.stderr, b"cannot write the explanation: No space left" in done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
