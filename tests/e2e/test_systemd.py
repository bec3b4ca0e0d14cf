#!/usr/bin/env python3
"""The daemon as a service of a real systemd: systemd_bed.sh boots one and runs this beside it."""
import http.client
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time

from harness.bed import (FAST, INSIDE, PORT, ROOT, UNIT, Service, answers, ask, enter_network, inside,
                         installed, journal, main_pid, page, show, systemctl, write_config)
from harness.bpf import BOTH, is_built, need_bpf
from harness.daemon import wait_until
from harness.exposition import Page
from harness.tests import equal, main, procfs, true

TREE = "/bed/proc"
REFUSED = "proctally_config_last_reload_successful"
HANG = "[Service]\nEnvironment=LD_PRELOAD=/bed/hang.so HANG_FILE=/run/hang\n"


def status_of(pid):
    text = inside("cat", f"/proc/{pid}/status")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


# ---- the units ----

def test_units_are_sound():
    path = show("FragmentPath")
    for unit in (path, path.replace(".service", ".socket")):
        equal(f"verify {unit}", inside("systemd-analyze", "verify", unit), "")
    for extra in ({}, {"ptrace": installed("ptrace.conf")},
                  {"unprivileged": installed("unprivileged.conf")}):
        with Service(start=False, **extra):
            inside("systemd-analyze", "security", "--threshold=25", UNIT)


def test_start_is_over_with_the_first_snapshot():
    tree = ROOT + TREE
    procfs.base(tree)
    os.rename(f"{tree}/1", f"{tree}/one")
    os.rename(f"{tree}/4242", f"{tree}/other")
    with Service(FAST + f"procfs = {TREE}\n", start=False):
        systemctl("start", "--no-block", UNIT)
        wait_until("it listens", lambda: answers("/-/healthy") == 200)
        equal("ready", answers("/-/ready"), 503)
        equal("state", show("ActiveState"), "activating")
        equal("status", show("StatusText"), "Waiting for the first snapshot")
        os.rename(f"{tree}/one", f"{tree}/1")
        os.rename(f"{tree}/other", f"{tree}/4242")
        wait_until("active", lambda: show("ActiveState") == "active")
        equal("ready", answers("/-/ready"), 200)
        equal("processes", page().value("proctally_processes"), 2)
    shutil.rmtree(tree)


def test_start_status_and_stop():
    with Service():
        status, _ = ask()
        equal("a page right after the start", status, 200)
        equal("ready", answers("/-/ready"), 200)
        text = show("StatusText")
        true(f"status: {text}", re.fullmatch(
            r"\d+ processes in \d+ groups, from (bpf|procfs); a snapshot every 500ms", text))
        begin = time.monotonic()
        systemctl("stop", UNIT)
        seconds = time.monotonic() - begin
        true(f"stopping took {seconds:.1f} s", seconds < 5)
        equal("result", show("Result"), "success")


# ---- the state ----

def groups_that_fell(before):
    return [f for f in page().fell_since(before) if "proctally_group_" in f]


def counted(got):
    """The group counters that are not 0."""
    return {k: v for k, v in got.series.items()
            if k[0].startswith("proctally_group_") and got.is_counter(k[0]) and v > 0}


def told(text):
    pid = str(main_pid())
    return [e["MESSAGE"] for e in journal() if e.get("_PID") == pid and text in e["MESSAGE"]]


def test_state_outlives_a_stop():
    """An upgrade stops the service and starts it again, or restarts it."""
    with Service():
        # The journal works for what is asked of it here.
        wait_until("something is counted", lambda: (journal(), counted(page()))[1])
        before = page()
        for _ in range(2):
            systemctl("stop", UNIT)
            equal("it keeps its directory", inside("ls", "-A", "/run/proctally/").split(), ["state"])
            systemctl("start", UNIT)
            equal("resumed", len(told("state resumed ")), 1)
            equal("fell", groups_that_fell(before), [])
            equal("gone", sorted(counted(before).keys() - page().series.keys()), [])
        systemctl("restart", UNIT)
        equal("fell", groups_that_fell(before), [])
        inside("kill", "-s", "KILL", str(main_pid()))
        wait_until("started again", lambda: answers("/-/ready") == 200 and told("state resumed "))
        equal("fell", groups_that_fell(before), [])
        systemctl("stop", UNIT)
        systemctl("clean", "--what=runtime", UNIT)
        systemctl("start", UNIT)
        equal("begins at 0", len(told("state starts at 0 ")), 1)


def test_state_of_another_user():
    """DynamicUser= need not give the same one each time: systemd hands the directory over."""
    with Service():
        before = page()
        systemctl("stop", UNIT)
        inside("chown", "-R", "65001:65001", "/run/private/proctally")
        systemctl("start", UNIT)
        equal("resumed", len(told("state resumed ")), 1)
        equal("fell", groups_that_fell(before), [])


# ---- reload ----

def test_reload():
    with Service():
        pid = main_pid()
        before = page()
        write_config(FAST + "[group first-of-all]\ncomm = systemd\n")
        systemctl("reload", UNIT)
        wait_until("the new group", lambda: "first-of-all" in page().groups())
        wait_until("active", lambda: show("ActiveState") == "active")
        equal("accepted", page().value(REFUSED), 1)

        write_config(FAST + "colour = blue\n")
        systemctl("reload", UNIT)
        wait_until("it is refused", lambda: page().value(REFUSED) == 0)
        wait_until("active", lambda: show("ActiveState") == "active")
        wait_until("the status tells", lambda: "refused" in show("StatusText"))
        true("the old groups stay", "first-of-all" in page().groups())
        refusal = [e for e in journal("-p", "err") if "refused" in e["MESSAGE"]]
        true("the journal tells why", any("colour" in e["PROCTALLY_ERROR"] for e in refusal))

        write_config(FAST)
        systemctl("reload", UNIT)
        wait_until("accepted again", lambda: page().value(REFUSED) == 1)
        wait_until("the status is as before", lambda: "refused" not in show("StatusText"))
        equal("counters", page().fell_since(before), [])
        equal("the same process", main_pid(), pid)
        equal("restarts", show("NRestarts"), "0")


def test_wrong_settings_are_not_tried_again():
    with Service(FAST + "colour = blue\n", start=False):
        systemctl("start", UNIT, check=False)
        wait_until("failed", lambda: show("ActiveState") == "failed")
        equal("status", show("ExecMainStatus"), "2")
        time.sleep(3)  # longer than RestartSec
        equal("state", show("ActiveState"), "failed")
        true("told", any("colour" in e["MESSAGE"] for e in journal("-n", "20")))


# ---- the journal ----

def test_journal_fields():
    with Service():
        pid = str(main_pid())
        entries = [e for e in journal() if e.get("_PID") == pid]
        listening = next(e for e in entries if e["MESSAGE"].startswith("listening "))
        equal("message", listening["MESSAGE"], f"listening address=127.0.0.1:{PORT} path=/metrics")
        equal("PRIORITY", listening["PRIORITY"], "6")
        equal("PROCTALLY_ADDRESS", listening["PROCTALLY_ADDRESS"], f"127.0.0.1:{PORT}")
        equal("PROCTALLY_PATH", listening["PROCTALLY_PATH"], "/metrics")
        equal("SYSLOG_IDENTIFIER", listening["SYSLOG_IDENTIFIER"], "proctallyd")
        equal("transport", listening["_TRANSPORT"], "journal")
        first = next(e for e in entries if e["MESSAGE"].startswith("first snapshot "))
        true("a number", int(first["PROCTALLY_PROCESSES"]) > 1)


def test_stderr_elsewhere_gets_lines():
    """JOURNAL_STREAM is set, but names another file."""
    log = "/run/proctallyd.log"
    with Service(stderr=f"[Service]\nStandardError=file:{log}\n"):
        with open(f"{INSIDE}{log}", encoding="ascii") as f:
            lines = f.read().splitlines()
        true(f"logfmt: {lines}", any("level=info msg=listening" in line for line in lines))


# ---- the watchdog ----

def restarted(pid):
    """Whether another process answers in the place of pid."""
    return main_pid() not in (0, pid) and answers("/-/ready") == 200


def test_stopped_process_is_killed():
    with Service(watchdog="[Service]\nWatchdogSec=3\nRestartSec=100ms\n"):
        pid = main_pid()
        inside("kill", "-s", "STOP", str(pid))
        wait_until("restarted", lambda: restarted(pid), 20)
        equal("restarts", show("NRestarts"), "1")
        page()
        true("by the watchdog", any("Watchdog timeout" in e["MESSAGE"] for e in journal("-n", "30")))


def test_hanging_collector_is_killed():
    hang = f"{INSIDE}/run/hang"
    shutil.copy(os.environ["PROCTALLY_HANG"], f"{ROOT}/bed/hang.so")
    with Service(watchdog="[Service]\nWatchdogSec=6\nRestartSec=100ms\n",
                 hang=HANG):
        pid, before = main_pid(), page()
        with open(hang, "w", encoding="ascii"):
            pass
        try:
            wait_until("stale", lambda: answers("/-/ready") == 503)
            now = page()
            equal("up", now.value("proctally_up"), 0)
            equal("groups", now.groups(), set())
            equal("counters", now.fell_since(before), [])
            wait_until("the status tells", lambda: show("StatusText").startswith("Stale: "))
            equal("the same process", main_pid(), pid)
            wait_until("killed", lambda: show("NRestarts") == "1", 20)
        finally:
            os.unlink(hang)
        wait_until("restarted", lambda: restarted(pid), 20)
        equal("restarts", show("NRestarts"), "1")
        true("by the watchdog", any("Watchdog timeout" in e["MESSAGE"] for e in journal("-n", "30")))
        equal("up", page().value("proctally_up"), 1)


def test_hanging_collector_does_not_stop_the_stop():
    hang = f"{INSIDE}/run/hang"
    shutil.copy(os.environ["PROCTALLY_HANG"], f"{ROOT}/bed/hang.so")
    with Service(hang=HANG):
        with open(hang, "w", encoding="ascii"):
            pass
        try:
            wait_until("stale", lambda: answers("/-/ready") == 503)
            begin = time.monotonic()
            systemctl("stop", UNIT)
            seconds = time.monotonic() - begin
            true(f"stopping took {seconds:.1f} s", seconds < 5)
            equal("result", show("Result"), "success")
        finally:
            os.unlink(hang)


def test_failing_cycles_are_no_hang():
    """A restart mends no /proc: the page goes stale, the process stays."""
    tree = ROOT + TREE
    procfs.base(tree)
    with Service(FAST + f"procfs = {TREE}\n", watchdog="[Service]\nWatchdogSec=2\n"):
        pid = main_pid()
        os.rename(f"{tree}/1", f"{tree}/one")
        os.rename(f"{tree}/4242", f"{tree}/other")
        wait_until("stale", lambda: answers("/-/ready") == 503)
        time.sleep(4)  # twice the watchdog's time
        equal("the same process", main_pid(), pid)
        os.rename(f"{tree}/one", f"{tree}/1")
        os.rename(f"{tree}/other", f"{tree}/4242")
        wait_until("fresh", lambda: answers("/-/ready") == 200)
    shutil.rmtree(tree)


def test_long_interval_raises_the_watchdog():
    with Service("[collector]\ninterval = 20s\n", watchdog="[Service]\nWatchdogSec=2\n"):
        pid = main_pid()
        time.sleep(5)  # more than twice the watchdog's time, and no cycle
        equal("the same process", main_pid(), pid)
        equal("answers", answers("/-/ready"), 200)
        told = [e for e in journal() if e.get("_PID") == str(pid) and "WatchdogSec" in e["MESSAGE"]]
        equal("warnings", len(told), 1)
        equal("priority", told[0]["PRIORITY"], "4")


# ---- sockets ----

def test_socket_activation():
    with Service(start=False):
        systemctl("start", "proctallyd.socket")
        equal("state", show("ActiveState"), "inactive")
        status, body = ask()
        equal("the connection that starts it", status, 200)
        equal("faults", Page(body).judge(), [])
        equal("state", show("ActiveState"), "active")
        restart_under_load()
        systemctl("stop", UNIT)
        equal("after a stop it is started again", ask()[0], 200)


class Load:
    """Clients that connect anew for each request, for the length of a `with`."""

    def __init__(self):
        self.failures, self.asked, self.done = [], 0, threading.Event()
        self.clients = [threading.Thread(target=self.ask) for _ in range(3)]

    def ask(self):
        while not self.done.is_set():
            self.asked += 1
            try:
                status, _ = ask()
                if status != 200:
                    self.failures.append(f"answered {status}")
            except (OSError, http.client.HTTPException) as e:
                self.failures.append(repr(e))

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for client in self.clients:
            client.join()


def restart_under_load():
    with Load() as load:
        for _ in range(5):
            asked = load.asked
            systemctl("restart", UNIT)
            wait_until("asked meanwhile", lambda: load.asked > asked + 3)
    equal(f"failures of {load.asked}", load.failures, [])

    pid = main_pid()
    with Load() as load:
        inside("kill", "-s", "KILL", str(pid))
        wait_until("restarted", lambda: main_pid() not in (0, pid))
        wait_until("active", lambda: show("ActiveState") == "active")
    # What it had in hand is cut, but who connects has to wait only.
    true(f"cut: {load.failures}", len(load.failures) <= len(load.clients))
    equal("refused", [f for f in load.failures if "efused" in f], [])


def socket_drop_in(text):
    directory = f"{ROOT}/etc/systemd/system/proctallyd.socket.d"
    shutil.rmtree(directory, ignore_errors=True)
    if text:
        os.makedirs(directory)
        with open(f"{directory}/test.conf", "w", encoding="ascii") as f:
            f.write(text)
    systemctl("daemon-reload")


def test_unix_socket_and_a_second_address():
    path = "/run/proctally.sock"
    try:
        with Service(start=False):
            socket_drop_in(f"[Socket]\nListenStream={path}\nListenStream=127.0.0.1:19257\n")
            systemctl("start", "proctallyd.socket")
            # Root's own connection, through the container's root directory.
            local = socket.socket(socket.AF_UNIX)
            local.connect(f"{INSIDE}{path}")
            local.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            line = local.recv(100).split(b"\r\n")[0]
            true(f"answered: {line}", re.fullmatch(rb"HTTP/1\.[01] 200 OK", line))
            local.close()
            equal("the first address", ask()[0], 200)
            pid = str(main_pid())
            places = {e["PROCTALLY_ADDRESS"] for e in journal()
                      if e.get("_PID") == pid and "PROCTALLY_ADDRESS" in e}
            equal("places", places, {path, "127.0.0.1:19256", "127.0.0.1:19257"})
    finally:
        socket_drop_in(None)


def test_wrong_socket_is_named():
    try:
        with Service(start=False):
            socket_drop_in("[Socket]\nListenDatagram=127.0.0.1:19258\nFileDescriptorName=odd\n")
            systemctl("start", "proctallyd.socket")
            systemctl("start", UNIT, check=False)
            told = "(odd), given by systemd, is no listening stream socket"
            wait_until("told", lambda: any(told in e["MESSAGE"] for e in journal("-n", "20")))
    finally:
        socket_drop_in(None)


# ---- privileges ----

MORE = "[metrics]\ninclude = proctally_group_mappings\n[group init]\ncomm = systemd\n"
ALL = FAST + MORE
PTRACE = 1 << 2 | 1 << 19  # CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE


def of_init(got):
    """What the page says of init, which is root's."""
    return {name: got.get(f"proctally_group_{name}", group="init", **labels) for name, labels in {
        "cpu_seconds_total": {"mode": "user"}, "threads": {}, "storage_read_bytes_total": {},
        "mappings": {}}.items()}


def unread(got, part):
    return got.get("proctally_group_unread_processes", group="init", part=part) or 0


def check_user(status):
    uids = {int(uid) for uid in status["Uid"].split()}
    true(f"not root: {uids}", all(61184 <= uid <= 65519 for uid in uids))
    equal("NoNewPrivs", status["NoNewPrivs"], "1")


def check_source(source, reason, told):
    """What was chosen, and how many lines tell what cannot be had."""
    series = page().of("proctally_source_info")
    equal("source", [dict(labels) for labels in series], [{"source": source, "reason": reason}])
    pid = str(main_pid())
    lines = [e for e in journal() if e.get("_PID") == pid and "cannot be had" in e["MESSAGE"]]
    equal("lines of what cannot be had", len(lines), told)
    for line in lines:
        equal("reason", line["PROCTALLY_REASON"], reason)
        equal("priority", line["PRIORITY"], "6")
    true("the status tells", f" groups, from {source}; " in show("StatusText"))


def test_kernel_counts():
    """With the two capabilities that the unit has, for as long as they are needed."""
    need_bpf()
    with Service(ALL):
        check_source("bpf", "self_test_passed", 0)
        status = status_of(main_pid())
        check_user(status)
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            equal(name, int(status[name], 16), 0)
        equal("those it could get", int(status["CapBnd"], 16), BOTH)
        got = page()
        missing = [name for name, number in of_init(got).items() if number is None]
        equal("what is not known of init", missing, [])
        equal("unread", [unread(got, part) for part in ("stat", "io", "fd", "maps")], [0] * 4)


def test_kernel_counts_with_ptrace_drop_in():
    need_bpf()
    with Service(ALL, ptrace=installed("ptrace.conf")):
        check_source("bpf", "self_test_passed", 0)
        status = status_of(main_pid())
        check_user(status)
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            equal(name, int(status[name], 16), PTRACE)


def test_without_privileges():
    with Service(ALL, unprivileged=installed("unprivileged.conf")):
        if is_built():
            check_source("procfs", "not_permitted", 1)
        status = status_of(main_pid())
        check_user(status)
        equal("capabilities", int(status["CapEff"], 16), 0)
        equal("those it could get", int(status["CapBnd"], 16), 0)
        got = page()
        seen = of_init(got)
        true("CPU", seen["cpu_seconds_total"] is not None)
        true("threads", seen["threads"] >= 1)
        equal("I/O", seen["storage_read_bytes_total"], None)
        equal("mappings", seen["mappings"], None)
        true("I/O is unread", unread(got, "io") >= 1)
        true("descriptors are read", got.get("proctally_group_open_fds", group="init") is not None)


def test_ptrace_drop_in():
    with Service(FAST + "source = procfs\n" + MORE, ptrace=installed("ptrace.conf")):
        status = status_of(main_pid())
        check_user(status)
        equal("capabilities", int(status["CapEff"], 16), PTRACE)
        seen = wait_until("all is read", lambda: (
            lambda s: s if None not in s.values() else None)(of_init(page())))
        true(f"mappings: {seen}", seen["mappings"] > 10)
        equal("unread I/O", unread(page(), "io"), 0)


def test_unprivileged_drop_in():
    with Service(ALL, ptrace=installed("ptrace.conf"),
                 unprivileged=installed("unprivileged.conf")):
        equal("capabilities", int(status_of(main_pid())["CapEff"], 16), 0)
        equal("I/O", of_init(page())["storage_read_bytes_total"], None)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    enter_network()
    sys.exit(main(sys.modules[__name__]))
