#!/usr/bin/env python3
"""Without a rule, the processes of a booted systemd are in the groups that proctallyd(8) names.

The daemon runs as the unit that is shipped. Whom a process belongs to, systemd itself is asked,
through ps(1).
"""
import collections
import os
import shutil
import signal
import sys
import time

from harness.bed import (FAST, INSIDE, ROOT, TURN_S, Service, background, enter_network, inside,
                         installed, journal, main_pid, page, program, running, show, systemctl,
                         write)
from harness.daemon import Failure, wait_until
from harness.tests import Unavailable, equal, main, true

UNITS = {
    # Two processes, and a supervisor that starts them again.
    "bed-plain.service": "[Service]\nRestart=always\nRestartSec=100ms\n"
                         "ExecStart=/bin/sh -c '/bed/bed-sleep 100000 & exec /bed/bed-sleep inf'\n",
    "bed@.service": "[Service]\nExecStart=/bed/bed-sleep inf\n",
    "bed-target.service": "[Service]\nExecStart=/bed/bed-sleep inf\n",
    "bed-args@.service": "[Service]\nExecStart=/bed/bed-args 100000 %i\n",
    "bed-dynamic.service": "[Service]\nDynamicUser=yes\nUser=bed-dyn\nExecStart=/bed/bed-sleep inf\n",
}
MOVER = """burn() { i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; }
mkfifo /run/bed-fifo
exec 3<>/run/bed-fifo
burn
: >/run/bed-burnt
read -r x <&3
burn
: >/run/bed-burnt
read -r x <&3
"""


class Units:
    """These units run for the length of a `with`."""

    def __init__(self, *names):
        self.names = names

    def __enter__(self):
        systemctl("start", *self.names)

    def __exit__(self, *_):
        systemctl("stop", *self.names, check=False)
        systemctl("reset-failed", *self.names, check=False)


def processes(group):
    return running(page()).get(group, 0)


def count(got, name, group):
    return got.value(f"proctally_group_{name}", group=group)


def exited(got, group):
    return got.value("proctally_group_exited_total", group=group, reason="unknown")


def cpu(got, group):
    """Seconds."""
    return sum(got.value("proctally_group_cpu_seconds_total", group=group, mode=mode)
               for mode in ("user", "system"))


# ---- what systemd says ----

def user_name(uid):
    return inside("id", "-nu", uid).strip()


def expected_group(owner, unit, user_unit, comm):
    for service in (user_unit, unit):
        if service.endswith(".service") and not service.startswith("user@"):
            if "@" in service:
                return service.partition("@")[0] + "@.service"
            return "run-.service" if service.startswith("run-") else service
    return comm if owner == "-" else f"user/{user_name(owner)}"


def expected_groups():
    """{group: processes} of all processes there are."""
    columns = [word for name in ("ouid:12", "unit:256", "uunit:256", "comm:32")
               for word in ("-o", f"{name}=")]
    found = collections.Counter()
    for line in inside("ps", "-ewww", *columns).splitlines():
        owner, unit, user_unit, comm = line.split(None, 3)
        if comm.strip() != "ps":
            found[expected_group(owner, unit, user_unit, comm.strip())] += 1
    return dict(found)


def check_all_groups(*names):
    """The page and systemd agree about every process, and these groups are among them."""
    deadline = time.monotonic() + TURN_S + 15
    while True:
        got, expected = running(page()), expected_groups()
        if got == expected:
            break
        if time.monotonic() > deadline:
            raise Failure(f"groups: {got}, systemd says {expected}")
        time.sleep(0.2)
    for name in names:
        true(f"{name} in {got}", name in got)
    return got


# ---- services and scopes ----

def test_services_and_scopes():
    with Service(), Units("bed-plain.service", "bed@a.service", "bed@b.service"):
        try:
            for _ in range(2):
                systemctl("reset-failed", check=False)
                inside("systemd-run", "-q", "/bed/bed-sleep", "inf")
            inside("systemd-run", "-q", "--unit=bed-named", "/bed/bed-sleep", "inf")
            background("systemd-run", "-q", "--scope", "--unit=bed-mine", "/bed/bed-scoped", "inf")
            got = check_all_groups("proctallyd.service", "systemd-journald.service")
            of_bed = {group: n for group, n in got.items() if group.startswith(("bed", "run"))}
            equal("groups", of_bed, {"bed-plain.service": 2, "bed@.service": 2, "run-.service": 2,
                                     "bed-named.service": 1, "bed-scoped": 1})
            equal("init.scope", inside("cat", "/proc/1/comm").strip(), "systemd")
            true("its comm", got["systemd"] >= 1)
        finally:
            inside("sh", "-c", "systemctl stop 'run-*.service' bed-named.service bed-mine.scope")


def test_services_that_were_there_first():
    with Units("bed-plain.service", "bed@a.service", "bed@b.service"), Service():
        check_all_groups("bed-plain.service", "bed@.service")


def test_restarts():
    group = "bed-plain.service"
    with Service(), Units(group):
        wait_until("both", lambda: processes(group) == 2)
        before = page()
        equal("restarts", count(before, "restarts_total", group), 0)
        systemctl("restart", group)
        wait_until("a restart", lambda: count(page(), "restarts_total", group) == 1)
        systemctl("kill", "--signal=KILL", group)
        wait_until("by its supervisor", lambda: count(page(), "restarts_total", group) == 2)
        wait_until("both", lambda: processes(group) == 2)

        systemctl("stop", group)
        wait_until("none", lambda: processes(group) == 0)
        got = page()
        equal("it stays, at", count(got, "processes", group), 0)
        equal("threads", count(got, "threads", group), 0)
        equal("a stop is no restart", count(got, "restarts_total", group), 2)
        # Starts are not for sure: who was seen before systemd moved him here has started elsewhere.
        equal("both ended three times", exited(got, group) - exited(before, group), 6)
        equal("counters", got.fell_since(before), [])


def test_restart_of_one_instance():
    """The other one goes on, so the group did not restart."""
    with Service(), Units("bed@a.service"):
        wait_until("one", lambda: processes("bed@.service") == 1)
        with Units("bed@b.service"):
            wait_until("two", lambda: processes("bed@.service") == 2)
            before = exited(page(), "bed@.service")
            systemctl("restart", "bed@b.service")
            wait_until("the end is seen", lambda: exited(page(), "bed@.service") > before)
            equal("restarts", count(page(), "restarts_total", "bed@.service"), 0)


def cpu_seconds(pid):
    """By the kernel."""
    fields = inside("cat", f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def burnt(pid):
    """What a mover has used that waits again."""
    mark = f"{INSIDE}/run/bed-burnt"
    wait_until("it has worked", lambda: os.path.exists(mark))
    os.unlink(mark)
    wait_until("it waits", lambda: inside("ps", "-o", "state=", "-p", str(pid)).strip() == "S")
    return cpu_seconds(pid)


def test_move_into_a_service():
    """What was used before the move stays where it was used; a move is no start and no end."""
    mover, target = "bed-mover", "bed-target.service"
    with Service(), Units(target):
        pid = background(program(mover, "/bin/sh"), "/bed/mover.sh")
        try:
            first = burnt(pid)
            wait_until("it is counted", lambda: processes(mover) == 1 and
                       abs(cpu(page(), mover) - first) < 0.005)
            before = page()
            inside("sh", "-c", f"echo {pid} >/sys/fs/cgroup/system.slice/{target}/cgroup.procs")
            wait_until("it is moved", lambda: processes(target) == 2, TURN_S + 15)
            equal("left behind", processes(mover), 0)
            inside("sh", "-c", "echo >/run/bed-fifo")
            second = burnt(pid) - first
            true(f"CPU {first} and {second}", first > 0.05 and second > 0.05)
            wait_until("it is counted", lambda: abs(cpu(page(), target) - cpu(before, target) -
                                                    second) < 0.015)
            got = page()
            true(f"CPU before the move: {first}, {cpu(got, mover)}",
                 abs(cpu(got, mover) - first) < 0.005)
            for group in (mover, target):
                for name in ("started_total", "restarts_total"):
                    equal(f"{name} of {group}", count(got, name, group), count(before, name, group))
                equal(f"ended of {group}", exited(got, group), 0)
        finally:
            inside("kill", str(pid), check=False)


# ---- users ----

class Login:
    """A user of the container, who has a manager of his own, for the length of a `with`."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        if systemctl("is-active", "systemd-logind", check=False).strip() != "active":
            raise Unavailable("no systemd-logind runs here")
        if not inside("sh", "-c", "ls /lib/*/security/pam_systemd.so", check=False).endswith(".so\n"):
            raise Unavailable("needs pam_systemd")
        if inside("id", self.name, check=False).startswith("id:"):
            inside("useradd", "--create-home", "--shell=/bin/sh", self.name)
        self.uid = int(inside("id", "-u", self.name))
        inside("loginctl", "enable-linger", self.name)
        wait_until("the manager", lambda: systemctl("is-active", self.manager, check=False) ==
                   "active\n")
        return self

    @property
    def manager(self):
        return f"user@{self.uid}.service"

    def run(self, *arguments):
        """systemd-run(1) of the user's manager."""
        inside("runuser", "-u", self.name, "--", "env", f"XDG_RUNTIME_DIR=/run/user/{self.uid}",
               "systemd-run", "--user", "-q", *arguments)

    def __exit__(self, *_):
        inside("loginctl", "disable-linger", self.name, check=False)
        inside("loginctl", "terminate-user", self.name, check=False)
        systemctl("stop", self.manager, f"user-{self.uid}.slice", check=False)


def test_user_manager_and_sessions():
    with Service(), Login("bed-alice") as alice:
        got = check_all_groups("user/bed-alice")
        manager = got["user/bed-alice"]
        equal("the manager and its helper", manager, 2)
        alice.run("--unit=bed-own", "/bed/bed-sleep", "inf")
        alice.run("/bed/bed-sleep", "inf")
        got = check_all_groups("bed-own.service", "run-.service")
        equal("the manager", got["user/bed-alice"], manager)

        # A session has a scope, and with it all that was started from it.
        background("runuser", "-l", alice.name, "-c", "/bed/bed-sleep inf & /bed/bed-sleep inf")
        wait_until("a session", lambda: f" {alice.name}" in inside("loginctl", "--no-legend"))
        got = check_all_groups("user/bed-alice")
        true(f"the session's too: {got}", got["user/bed-alice"] >= manager + 3)

        # The user's, but no session: a service.
        inside("systemd-run", "-q", f"--uid={alice.name}", "--unit=bed-as-alice",
               "/bed/bed-sleep", "inf")
        check_all_groups("bed-as-alice.service")
        systemctl("stop", "bed-as-alice.service")

        systemctl("stop", alice.manager)
        inside("loginctl", "terminate-user", alice.name)
        wait_until("nobody", lambda: processes("user/bed-alice") == 0)
        true("the group stays", "user/bed-alice" in page().groups())


def test_shell_by_machined():
    if shutil.which("machinectl", path=f"{ROOT}/usr/bin:{ROOT}/bin") is None:
        raise Unavailable("needs machinectl")
    with Service(), Login("bed-alice") as alice:
        background("sh", "-c", f"sleep inf | machinectl -q shell {alice.name}@.host"
                   " /bed/bed-shell inf")
        wait_until("the shell", lambda: "bed-shell" in inside("ps", "-eo", "comm"))
        got = check_all_groups("user/bed-alice")
        true(f"no group of its comm: {got}", "bed-shell" not in got)


def test_user_without_a_name():
    with Login("bed-alice") as alice:
        path = f"{ROOT}/etc/passwd"
        with open(path, encoding="utf-8") as f:
            users = f.readlines()
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(line for line in users if not line.startswith("bed-alice:"))
        try:
            with Service():
                wait_until("the number", lambda: processes(f"user/{alice.uid}") == 2)
                true("and no name", "user/bed-alice" not in page().groups())
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(users)


# ---- what the sandbox of the unit leaves ----

def test_names_by_sockets():
    """A user that only systemd knows: the resolver asks through a Unix socket."""
    with Units("bed-dynamic.service"):
        if inside("id", "-u", "bed-dyn", check=False).startswith("id:"):
            raise Unavailable("needs libnss-systemd")
        with Service(FAST + "[group of-${user}]\nuser = bed-dyn\n"):
            wait_until("the name", lambda: processes("of-bed-dyn") == 1)


RULES = """[group arg-${1}]
cmdline = ^/bed/bed-args .* (\\d+)$
[group by-exe]
exe = /bed/bed-sleep
"""


def check_rules():
    wait_until("the rules", lambda: {"arg-1": 1, "arg-2": 1, "by-exe": 2}.items() <=
               running(page()).items())
    equal("pending", page().value("proctally_pending_processes"), 0)
    check_log()


def check_log():
    wrong = [entry["MESSAGE"] for entry in journal("-p", "warning")
             if entry.get("_PID") == str(main_pid()) and "cannot be read" not in entry["MESSAGE"]]
    equal("warnings", wrong, [])


def test_rules_in_the_sandbox():
    """No page may be written and executed, so expressions are interpreted; links to programs of
    others cannot be read, so their first arguments stand in."""
    with Units("bed-args@1.service", "bed-args@2.service", "bed-plain.service"):
        equal("the unit", show("MemoryDenyWriteExecute"), "yes")
        with Service(FAST + RULES):
            check_rules()
        with Service(FAST + RULES, ptrace=installed("ptrace.conf")):
            check_rules()


HIDDEN = "[Service]\nProtectProc=invisible\n"


def test_hidden_processes():
    """The service has a /proc of its own, so that what the host's hides does not matter."""
    with Units("bed-plain.service"):
        inside("mount", "-o", "remount,hidepid=invisible", "/proc")
        try:
            with Service():
                check_all_groups("bed-plain.service")
        finally:
            inside("mount", "-o", "remount,hidepid=off", "/proc")
        with Service(hidden=HIDDEN):
            equal("its own alone", running(page()), {"proctallyd.service": 1})
        with Service(hidden=HIDDEN, ptrace=installed("ptrace.conf")):
            check_all_groups("bed-plain.service")


def prepare():
    for name in ("bed-sleep", "bed-scoped", "bed-args", "bed-shell"):
        program(name)
    write("/bed/mover.sh", MOVER)
    for name, text in UNITS.items():
        write(f"/etc/systemd/system/{name}", text)
    systemctl("daemon-reload")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    enter_network()
    prepare()
    sys.exit(main(sys.modules[__name__]))
