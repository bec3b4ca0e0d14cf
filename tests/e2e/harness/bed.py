"""The booted systemd that systemd_bed.sh runs a test beside, and the daemon as a service of it."""
import ctypes
import http.client
import json
import os
import shutil
import subprocess

from .daemon import Failure
from .exposition import Page
from .tests import equal

LEADER = os.environ["BED_LEADER"]
ROOT = os.environ["BED_ROOT"]
INSIDE = f"/proc/{LEADER}/root"  # with what is mounted there
DROP_INS = f"{ROOT}/etc/systemd/system/proctallyd.service.d"
CONFIG = "/etc/proctally/proctallyd.ini"
PORT = 19256
UNIT = "proctallyd.service"
FAST = "[collector]\ninterval = 500ms\n"
TURN_S = 30  # after which a control group is read again, at the latest
CLONE_NEWNET = 0x40000000


def inside(*command, check=True):
    """Runs a command in the container; what it printed."""
    done = subprocess.run(["nsenter", "-t", LEADER, "-a", *command], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise Failure(f"{command} ended with {done.returncode}: {done.stderr.decode()}"
                      f"{done.stdout.decode()}\n{journal_text()}")
    return done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


def systemctl(*arguments, check=True):
    return inside("systemctl", *arguments, check=check)


def show(name):
    return systemctl("show", "-P", name, UNIT).strip()


def main_pid():
    return int(show("MainPID"))


def journal(*arguments):
    """Entries of the service, as journalctl -o json has them."""
    inside("journalctl", "--sync")
    lines = inside("journalctl", "-u", UNIT, "-o", "json", "--no-pager", *arguments).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def journal_text():
    return subprocess.run(["nsenter", "-t", LEADER, "-a", "journalctl", "-u", UNIT, "--no-pager",
                           "-n", "40"], capture_output=True, check=False).stdout.decode()


def ask(path="/metrics", timeout=10):
    """-> (status, body)"""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def answers(path="/metrics"):
    try:
        return ask(path)[0]
    except (OSError, http.client.HTTPException):
        return None


def page():
    status, body = ask()
    equal("/metrics", status, 200)
    got = Page(body)
    equal("faults of the page", got.judge(), [])
    return got


def write(path, text):
    """A file of the container."""
    os.makedirs(os.path.dirname(f"{ROOT}{path}"), exist_ok=True)
    with open(f"{ROOT}{path}", "w", encoding="ascii") as f:
        f.write(text)


def write_config(text):
    write(CONFIG, text)


def program(name, original="/usr/bin/sleep"):
    """A program of the container by a name of its own; its path."""
    os.makedirs(f"{ROOT}/bed", exist_ok=True)
    return shutil.copy(f"{ROOT}{original}", f"{ROOT}/bed/{name}")[len(ROOT):]


def background(*command):
    """Runs a command in the container and does not wait for it; its pid there."""
    return int(inside("sh", "-c", '"$@" </dev/null >/dev/null 2>&1 & echo $!', "sh", *command))


def running(got):
    """{group: processes}, without the groups that have none."""
    return {dict(labels)["group"]: int(number)
            for labels, number in got.of("proctally_group_processes").items() if number > 0}


class Service:
    """The service started with this configuration and these drop-ins, {name: text}; at the end
    of the block it is stopped, and they are gone, as is its state."""

    def __init__(self, config=FAST, start=True, **drop_ins):
        self.start = start
        write_config(config)
        shutil.rmtree(DROP_INS, ignore_errors=True)
        os.makedirs(DROP_INS)
        for name, text in drop_ins.items():
            with open(f"{DROP_INS}/{name}.conf", "w", encoding="ascii") as f:
                f.write(text)
        systemctl("daemon-reload")

    def __enter__(self):
        if self.start:
            systemctl("start", UNIT)
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(f"--- journal ---\n{journal_text()}---")
        systemctl("stop", "proctallyd.socket", UNIT, check=False)
        # As `systemctl clean` does, which asks for a bus.
        inside("rm", "-rf", "/run/proctally", "/run/private/proctally")
        systemctl("reset-failed", check=False)
        shutil.rmtree(DROP_INS, ignore_errors=True)


def installed(name):
    """The text of a drop-in that is shipped."""
    for prefix in ("usr", "usr/local"):
        path = f"{ROOT}/{prefix}/share/proctally/systemd/{name}"
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return f.read()
    raise Failure(f"{name} is not installed")


def enter_network():
    """Of the container: HTTP is asked from here."""
    with open(f"/proc/{LEADER}/ns/net", "rb") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
