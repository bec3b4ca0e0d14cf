#!/usr/bin/env python3
"""The image of config/container: what is in it, alone on a host, and as a sidecar in a pod."""
import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness.bpf import need_bpf
from harness.daemon import Daemon, Failure, wait_until
from harness.exposition import Page
from harness.podman import BASE, Network, Podman
from harness.tests import equal, main, true

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGE = "localhost/proctally-test:latest"
NAME = "proctally-alone"
POD = "proctally-sidecar"  # as pod.yaml calls it
PORT = 19256
MARK = "host-mark"  # comm of a process of the host
STORAGE = "proctally_group_storage_read_bytes_total"
podman = None


def ask(pid, path):
    """-> (status, body)"""
    with Network(pid):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def answers(pid, path):
    try:
        return ask(pid, path)[0]
    except (OSError, http.client.HTTPException):
        return None


def page_of(name):
    pid = podman.pid(name)
    true(f"{name} runs\n{podman.log(name)}", pid > 0)
    wait_until("/-/ready answers 200", lambda: answers(pid, "/-/ready") == 200)
    status, body = ask(pid, "/metrics")
    equal("status", status, 200)
    page = Page(body)
    equal("faults of the page", page.judge(), [])
    equal("proctally_up", page.value("proctally_up"), 1)
    return page


def start_seconds(pid):
    """Since the epoch."""
    with open(f"/proc/{pid}/stat", "rb") as f:
        ticks = int(f.read().rpartition(b")")[2].split()[19])
    with open("/proc/stat", encoding="ascii") as f:
        boot = next(int(line.split()[1]) for line in f if line.startswith("btime "))
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def check_self(name, page):
    """The daemon's own figures are those of the process in the container."""
    pid = podman.pid(name)
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    equal("comm", status["Name"].strip(), "proctallyd")
    equal("user", status["Uid"].split(), ["65534"] * 4)
    equal("group", status["Gid"].split(), ["65534"] * 4)
    start, got = start_seconds(pid), page.value("process_start_time_seconds")
    true(f"start {got}, the kernel says {start}", abs(got - start) < 0.1)
    memory = int(status["VmRSS"].split()[0]) * 1024
    got = page.value("process_resident_memory_bytes")
    true(f"memory {got}, the kernel says {memory}", abs(got - memory) < 4 << 20)


def running(page):
    """Groups with processes. The app's was in another one before it was executed."""
    return {dict(labels)["group"]: number
            for labels, number in page.of("proctally_group_processes").items() if number > 0}


def check_stop(name):
    code, seconds = podman.stop(name)
    equal(f"exit status\n{podman.log(name)}", code, 0)
    true(f"stopped within 5 s: {seconds:.1f}", seconds < 5)


@contextlib.contextmanager
def marked_host():
    """A process of the host that a container's own /proc does not show."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        program = shutil.copy(shutil.which("sleep"), os.path.join(directory, MARK))
        process = subprocess.Popen([program, "1000"], stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def alone(*flags, group=MARK):
    """As on a host: its procfs is mounted, and a configuration file. All is read-only."""
    with marked_host(), tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        os.chmod(directory, 0o755)
        path = os.path.join(directory, "proctallyd.ini")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"[collector]\ninterval = 500ms\n[group {group}]\ncomm = {MARK}\n")
        try:
            podman.run("run", "-d", f"--name={NAME}", "--network=none", "--read-only",
                       "--read-only-tmpfs=false", "--cap-drop=all",
                       "--security-opt=no-new-privileges", "-v", "/proc:/host/proc:ro",
                       "-v", f"{path}:/etc/proctally/proctallyd.ini:ro", *flags,
                       IMAGE, "--path.procfs=/host/proc")
            yield NAME
        finally:
            podman.run("rm", "-f", "-t", "0", NAME, check=False)


def test_image():
    image = json.loads(podman.says("image", "inspect", IMAGE))[0]
    config = image["Config"]
    equal("user", config["User"], "65534:65534")
    equal("ports", list(config["ExposedPorts"]), [f"{PORT}/tcp"])
    equal("signal", config["StopSignal"], "SIGTERM")
    equal("entry point", config["Entrypoint"],
          ["/usr/bin/proctallyd", f"--web.listen-address=:{PORT}"])
    equal("health check", (config.get("Healthcheck") or image["Healthcheck"])["Test"],
          ["CMD", "/usr/bin/proctallyd", "--healthcheck", f"--web.listen-address=:{PORT}"])
    said = podman.says("run", "--rm", "--network=none", IMAGE, "--version")
    label = "org.opencontainers.image."
    true(f"the version's label is that of {said}",
         said.startswith(f"proctallyd {config['Labels'][label + 'version']} "))
    for name in ("title", "description", "revision", "licenses"):
        true(f"label {name}", config["Labels"][label + name])
    true(f"size {image['Size']}", image["Size"] < 16 << 20)


def test_files_are_those_needed():
    root = podman.says("image", "mount", IMAGE)
    try:
        files = {os.path.join(folder, name)[len(root):]
                 for folder, _, names in os.walk(root) for name in names}
        programs = {path for path in files if ".so" not in os.path.basename(path)}
        equal("files that are no library", programs, {"/usr/bin/proctallyd"})
        needed = subprocess.run(["chroot", root, next(f for f in files if "/ld-linux" in f),
                                 "--list", "/usr/bin/proctallyd"], stdin=subprocess.DEVNULL,
                                capture_output=True, check=True).stdout.decode()
        libraries = {os.path.basename(path) for path in files - programs}
        true(f"nothing is missing\n{needed}", "not found" not in needed)
        equal("libraries", libraries,
              {os.path.basename(word) for word in needed.split()
               if ".so" in word and "vdso" not in word})
    finally:
        podman.run("image", "unmount", IMAGE)


def test_alone():
    with alone() as name:
        page = page_of(name)
        equal("the host's process", page.value("proctally_group_processes", group=MARK), 1)
        true("and others", sum(page.of("proctally_group_processes").values()) > 3)
        equal("its I/O, which is hidden", page.get(STORAGE, group=MARK), None)
        check_self(name, page)
        equal("health check", podman.run("healthcheck", "run", name).returncode, 0)
        check_stop(name)


def test_alone_with_capabilities():
    with alone("--cap-add=SYS_PTRACE", "--cap-add=DAC_READ_SEARCH") as name:
        page = page_of(name)
        true("I/O of the host's process", page.get(STORAGE, group=MARK) is not None)
        check_self(name, page)
        check_stop(name)


def test_kernel_counts():
    """In the host's process namespace; seccomp profiles of runtimes as a rule forbid bpf(2)."""
    need_bpf()
    with marked_host():
        try:
            podman.run("run", "-d", f"--name={NAME}", "--network=none", "--read-only",
                       "--read-only-tmpfs=false", "--cap-drop=all", "--pid=host",
                       "--cap-add=BPF", "--cap-add=PERFMON", "--security-opt=seccomp=unconfined",
                       IMAGE, "--collector.interval=500ms")
            page = page_of(NAME)
            equal("source", [dict(labels) for labels in page.of("proctally_source_info")],
                  [{"source": "bpf", "reason": "self_test_passed"}])
            equal("the host's process", page.value("proctally_group_processes", group=MARK), 1)
            true("its I/O", page.get(STORAGE, group=MARK) is not None)
            check_self(NAME, page)
            check_stop(NAME)
        finally:
            podman.run("rm", "-f", "-t", "0", NAME, check=False)


def test_names_of_users():
    """They are the image's, which has none, until it gets the host's."""
    with alone(group="of-${user}") as name:
        equal("by number", page_of(name).value("proctally_group_processes", group="of-0"), 1)
    with alone("-v", "/etc/passwd:/etc/passwd:ro", group="of-${user}") as name:
        equal("by name", page_of(name).value("proctally_group_processes", group="of-root"), 1)


def test_from_outside():
    """Containers are groups by the ids that podman shows; those of its pods too, as these have no uid."""
    try:
        for name in ("one", "two"):
            podman.run("run", "-d", f"--name={name}", "--network=none", BASE)
        podman.run("pod", "create", "--network=none", "--name=outside")
        podman.run("run", "-d", "--pod=outside", "--name=three", BASE)
        ids = podman.says("ps", "--format={{.ID}}").split()
        equal("containers", len(ids), 4)
        with Daemon() as d:
            page = d.wait_ready().page()
        equal("their groups",
              {name: n for name, n in running(page).items() if name.startswith("container/")},
              {f"container/{short}": 1 for short in ids})
        # Those of earlier containers are zombies, as nobody waits for them here.
        equal("their monitors, by comm", page.value(
            "proctally_group_processes_in_state", group="conmon", state="sleeping"), 4)
    finally:
        podman.run("pod", "rm", "-f", "-t", "0", "outside", check=False)
        podman.run("rm", "-f", "-t", "0", "one", "two", check=False)


def test_health_check_fails():
    with alone() as name:
        page_of(name)
        podman.run("pause", name)
        # Exec into a paused container is refused, so it is asked from a second one beside it.
        done = podman.run("run", "--rm", f"--network=container:{name}", IMAGE, "--healthcheck",
                          check=False)
        podman.run("unpause", name)
        equal("status", done.returncode, 1)
        equal("lines", done.stderr.decode().count("\n"), 1)
        true("says why", b"timed out" in done.stderr)


@contextlib.contextmanager
def sidecar():
    """The pod that is shipped, of the test's images."""
    with open(f"{SOURCE}/config/container/pod.yaml", encoding="utf-8") as f:
        text = f.read()
    for shipped, own in (("localhost/app:latest", BASE), ("localhost/proctally:latest", IMAGE)):
        equal(f"{shipped} in pod.yaml", text.count(shipped), 1)
        text = text.replace(shipped, own)
    # Podman wants to publish ports, and the pod has no network but its own loopback here.
    ports = "      ports:\n        - name: metrics\n          containerPort: 19256\n"
    equal("ports in pod.yaml", text.count(ports), 1)
    text = text.replace(ports, "")
    with marked_host(), tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        try:
            podman.run("kube", "play", "--network=none", f.name)
            yield f"{POD}-proctally"
        finally:
            podman.run("pod", "rm", "-f", "-t", "0", POD, check=False)


def test_sidecar():
    with sidecar() as name:
        wait_until("the app is seen", lambda: running(page_of(name)).get("sleep"))
        page = page_of(name)
        equal("processes of the pod", running(page), {"catatonit": 1, "sleep": 1, "proctallyd": 1})
        check_self(name, page)
        podman.run("exec", name, "/usr/bin/proctallyd", "--healthcheck",
                   f"--web.listen-address=:{PORT}")
        check_stop(name)


if __name__ == "__main__":
    with Podman(os.environ["PROCTALLY_CONTAINERS"]) as podman:
        podman.need_base()
        try:
            podman.build(f"{SOURCE}/config/container/Containerfile", SOURCE, IMAGE)
        except Failure as e:
            print(f"FAIL build: {e}")
            sys.exit(1)
        status = main(sys.modules[__name__])
    sys.exit(status)
