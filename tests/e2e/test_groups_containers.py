#!/usr/bin/env python3
"""Without a rule, containers on a booted systemd are groups of their own, from inside and outside.

Podman and systemd-nspawn run beside the daemon, which is the unit that is shipped. A second one looks
from outside, a third one runs in a pod.
"""
import http.client
import os
import shutil
import signal
import subprocess
import sys

from harness.bed import (LEADER, ROOT, TURN_S, Service, enter_network, inside, page, program,
                         running, systemctl, write)
from harness.daemon import Daemon, wait_until
from harness.exposition import Page
from harness.tests import BY_COMM, Unavailable, equal, main, true

FILES = "/bed/container"
IMAGE = "localhost/bed:latest"
SETTINGS = "/bed/containers.conf"
# No limits: cgroup v1 may hold the controllers. No new keyring: nspawn forbids it.
SETTINGS_TEXT = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
pids_limit = 0
keyring = false
[engine]
runtime = "runc"
cgroup_manager = "systemd"
events_logger = "file"
lock_type = "file"
[network]
network_backend = "netavark"
network_config_dir = "/bed/networks"
"""
PODMAN = ["/usr/bin/podman", "--root=/run/bed-storage", "--runroot=/run/bed-run",
          "--tmpdir=/run/bed-tmp", "--storage-driver=vfs"]
POD_UID = "1f2e3d4c-5b6a-4798-8899-aabbccddeeff"
KUBE_SLICE = f"kubepods-burstable-pod{POD_UID.replace('-', '_')}.slice"
SIDECAR_PORT = 19257
LIBRARIES = ("-v", "/usr:/usr:ro")


def podman(*arguments, check=True):
    """What it printed on its standard output."""
    done = subprocess.run(["nsenter", "-t", LEADER, "-a", "env",
                           f"CONTAINERS_CONF={SETTINGS}", *PODMAN, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"podman {arguments}: {done.stderr.decode()}")
    return done.stdout.decode().strip()


def need_podman():
    for tool in ("podman", "runc", "conmon", "catatonit"):
        if not shutil.which(tool, path=f"{ROOT}/usr/bin:{ROOT}/usr/sbin:{ROOT}/usr/libexec/podman"):
            raise Unavailable(f"needs {tool}")
    inside("tar", "-C", FILES, "-cf", "/bed/image.tar", ".")
    podman("import", "-q", "/bed/image.tar", IMAGE)
    try:
        podman("run", "--rm", "--network=none", *LIBRARIES, IMAGE, "/bed-box", "0")
    except AssertionError as e:
        raise Unavailable(f"no container runs here: {e}") from e


def run(name, *options):
    """A container of one process; its group."""
    done = podman("run", "-d", f"--name={name}", *LIBRARIES, *options, IMAGE, "/bed-box", "inf")
    return f"container/{done[:12]}"


def groups_of_ps():
    """What podman ps shows of the containers that run."""
    ids = podman("ps", "--format={{.ID}}").split()
    return {f"container/{short}" for short in ids}


def container_groups(got):
    return {group: n for group, n in running(got).items() if group.startswith(("container/", "pod/"))}


def wait_for(what, groups):
    wait_until(f"{what}: {groups}", lambda: container_groups(page()) == groups, TURN_S + 15)


class Containers:
    """Whatever was started in the `with` is gone at its end."""

    def __enter__(self):
        need_podman()

    def __exit__(self, *_):
        podman("pod", "rm", "-fa", check=False)
        podman("rm", "-fa", "-t", "0", check=False)


def test_containers():
    with Containers(), Service():
        one, two = run("one", "--network=none"), run("two", "--network=none")
        equal("podman shows", groups_of_ps(), {one, two})
        wait_for("both", {one: 1, two: 1})
        equal("their monitors, by comm", running(page())["conmon"], 2)
        podman("exec", "-d", "one", "/bed-box", "inf")
        wait_for("what is executed in one", {one: 2, two: 1})

        before = page()
        podman("rm", "-f", "-t", "0", "one")
        wait_for("the other", {two: 1})
        got = page()
        equal("the group stays, at", got.value("proctally_group_processes", group=one), 0)
        equal("counters", got.fell_since(before), [])


def test_containers_that_were_there_first():
    with Containers():
        one = run("one", "--network=none")
        with Service():
            wait_for("one", {one: 1})


def test_pod_of_podman():
    """Its id is no pod's uid: containers are told apart, the one that holds it together too."""
    with Containers(), Service():
        podman("pod", "create", "--network=none", "--name=bed-pod")
        one, two = run("one", "--pod=bed-pod"), run("two", "--pod=bed-pod")
        groups = groups_of_ps()
        equal("containers", len(groups), 3)
        true("both", {one, two} < groups)
        wait_for("all", {group: 1 for group in groups})


def test_pod_of_kubernetes():
    """All that is below a slice of the kubelet's is the pod's, monitors that are put there too."""
    with Containers(), Service():
        for name in ("one", "two"):
            run(name, "--network=none", f"--cgroup-parent={KUBE_SLICE}")
        wait_for("the pod", {f"pod/{POD_UID}": 4})


class ContainerService:
    """A container that systemd starts, for the length of a `with`; its group."""

    def __init__(self, unit, *command):
        self.unit = unit
        write(f"/etc/systemd/system/{unit}", f"""[Service]
Environment=CONTAINERS_CONF={SETTINGS}
Environment=HOME=/root
Delegate=yes
TimeoutStopSec=1
ExecStart={" ".join([*PODMAN, "run", "--rm", *command])}
""")
        systemctl("daemon-reload")

    def __enter__(self):
        before = groups_of_ps()
        systemctl("start", self.unit)
        wait_until("it runs or fails", lambda: groups_of_ps() > before or
                   systemctl("is-active", self.unit, check=False).strip() == "failed")
        started = groups_of_ps() - before
        if not started:
            self.stop()
            raise Unavailable("runc may not load BPF here")
        return started.pop()

    def stop(self):
        systemctl("stop", self.unit, check=False)
        systemctl("reset-failed", self.unit, check=False)

    def __exit__(self, *_):
        self.stop()


def test_container_of_a_service():
    """Its payload is below the service, as podman's own units have it."""
    unit = "bed-quadlet.service"
    with Containers(), Service(), ContainerService(
            unit, "--cgroups=split", "--network=none", *LIBRARIES, IMAGE, "/bed-box", "inf") as group:
        wait_for("the payload", {group: 1})
        wait_until("podman and conmon", lambda: running(page()).get(unit) == 2)


def test_machine_of_nspawn():
    """A machine has a name; nspawn itself is the service."""
    if not os.path.exists(f"{ROOT}/usr/bin/systemd-nspawn"):
        raise Unavailable("needs systemd-nspawn")
    drop_in = "/etc/systemd/system/systemd-nspawn@.service.d/test.conf"
    write(drop_in, f"""[Service]
DevicePolicy=auto
DeviceAllow=
ExecStart=
ExecStart=systemd-nspawn -q --keep-unit --register=no --as-pid2 -M %i -D {FILES} \\
  --bind-ro=/usr /bed-box inf
""")
    unit = "systemd-nspawn@bed-machine.service"
    with Service():
        systemctl("daemon-reload")
        systemctl("start", unit)
        try:
            # The first process and the one it looks after; nspawn moves itself out of there.
            expected = {"container/bed-machine": 2, "systemd-nspawn@.service": 1}
            wait_until("the machine", lambda: expected.items() <= running(page()).items(), TURN_S + 15)
        finally:
            systemctl("stop", unit, check=False)


def test_from_outside():
    """The same containers by a daemon that is not in this systemd."""
    with Containers():
        one, two = run("one", "--network=none"), run("two", "--network=none")
        with Daemon() as d:
            equal("containers", container_groups(d.wait_ready().page()), {one: 1, two: 1})


# ---- a daemon in a container ----

def sidecar_groups():
    """{group: processes}, empty until it answers."""
    connection = http.client.HTTPConnection("127.0.0.1", SIDECAR_PORT, timeout=10)
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        body = response.read()
    except OSError:
        return {}
    finally:
        connection.close()
    if response.status != 200:
        return {}
    got = Page(body)
    equal("faults of the page", got.judge(), [])
    return running(got)


def sidecar(*options):
    """What podman is to run, for the daemon in a container."""
    return ("--user=65534", "--cap-drop=all", "--name=sidecar", *LIBRARIES,
            "-v", "/bed/sidecar:/sidecar:ro", *options, IMAGE, "/sidecar",
            "--collector.interval=500ms", f"--web.listen-address=127.0.0.1:{SIDECAR_PORT}")


def run_sidecar(*options):
    """In the pod; its group."""
    return f"container/{podman('run', '-d', '--pod=bed-pod', *sidecar(*options))[:12]}"


def test_sidecar():
    """In a control group namespace of its own it is at the root, and the others are beside it."""
    with Containers():
        podman("pod", "create", "--network=host", "--share=pid,net", "--name=bed-pod")
        app = run("app", "--pod=bed-pod")
        (infra,) = groups_of_ps() - {app}
        run_sidecar("--cgroupns=private")
        wait_until("all of the pod", lambda: sidecar_groups() == {app: 1, infra: 1, "sidecar": 1})
        podman("rm", "-f", "-t", "0", "sidecar")

        own = run_sidecar("--cgroupns=host")
        wait_until("and itself", lambda: sidecar_groups() == {app: 1, infra: 1, own: 1})
        podman("rm", "-f", "-t", "0", "sidecar")

        # By comm, names outlive the containers.
        write("/bed/sidecar.ini", BY_COMM)
        run_sidecar("-v", "/bed/sidecar.ini:/etc/proctally/proctallyd.ini:ro")
        wait_until("by comm", lambda: sidecar_groups() == {"bed-box": 1, "catatonit": 1,
                                                           "sidecar": 1})


def test_host_from_a_container():
    """All of the host from a control group namespace of its own; itself it does not know."""
    with Containers(), Service():
        one = run("one", "--network=none")
        expected = {one: 1, "sidecar": 1, "systemd-journald.service": 1, "proctallyd.service": 1}
        with ContainerService("bed-outlook.service", *sidecar(
                "--network=host", "--pid=host", "--cgroupns=private")):
            wait_until("the host's", lambda: expected.items() <= sidecar_groups().items())


def prepare():
    """Files of a container: one program, and places for what is mounted."""
    for name in ("proc", "sys", "dev", "etc", "run", "tmp", "usr"):
        os.makedirs(f"{ROOT}{FILES}/{name}")
    write(f"{FILES}/sidecar", "")
    for name in ("etc/os-release", "usr/os-release"):
        write(f"{FILES}/{name}", "ID=bed\n")
    for name in ("lib", "lib64"):
        os.symlink(f"usr/{name}", f"{ROOT}{FILES}/{name}")
    shutil.copy(ROOT + program("bed-box"), f"{ROOT}{FILES}/bed-box")
    shutil.copy(os.environ["PROCTALLYD"], f"{ROOT}/bed/sidecar")
    write(SETTINGS, SETTINGS_TEXT)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    enter_network()
    prepare()
    sys.exit(main(sys.modules[__name__]))
