"""Podman on storage of its own, and a base image without a registry.

Images stay below the build's directory, so that a second run is quick. All else is in process and
mount namespaces of the program's own: when it goes, in whichever way, the kernel takes containers
and mounts with it.
"""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from .daemon import Failure, skip

BASE = "localhost/proctally-base:latest"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOOLS = ("podman", "runc", "mmdebstrap", "unshare")
RUN = "/run/proctally-podman"  # short, for there will be sockets
INSIDE = "PROCTALLY_PODMAN_INSIDE"
CLONE_NEWNET = 0x40000000
# crun does not run where control groups are in hybrid mode. Podman takes the limits' hard values for
# soft ones in a pod, and may not be allowed to raise them. Locks are else shared by all of a machine.
SETTINGS = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
[network]
network_backend = "netavark"
network_config_dir = "{directory}/networks"
"""


def mirror():
    """Where this machine gets its packages from."""
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]:
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as f:
            found = re.search(r"^(?:URIs:\s*|deb\s+(?:\[[^]]*\]\s*)?)([a-z+]+://\S+)", f.read(), re.M)
        if found:
            return found[1]
    return None


def isolate():
    """Runs the program from its begin in namespaces of its own."""
    if os.environ.get(INSIDE) == "1":
        return
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        skip("no namespaces can be made here")
    os.environ[INSIDE] = "1"
    sys.stdout.flush()
    os.execvp("unshare", [*command, sys.executable, "-B", *sys.argv])


class Podman:
    def __init__(self, directory):
        if os.geteuid() != 0:
            skip("needs root")
        for tool in TOOLS:
            if not shutil.which(tool):
                skip(f"needs {tool}")
        if not glob.glob("/usr/lib*/podman/netavark") and not shutil.which("netavark"):
            skip("needs netavark")
        isolate()
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, exist_ok=True)
        # Empty at each begin, which podman takes for one after a reboot: nothing runs.
        os.makedirs(RUN, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "podman", RUN], check=True)
        settings = os.path.join(self.directory, "containers.conf")
        with open(settings, "w", encoding="utf-8") as f:
            f.write(SETTINGS.format(directory=self.directory))
        # Health checks are run by the test, not by timers of systemd.
        self.environment = {**os.environ, "CONTAINERS_CONF": settings, "DISABLE_HC_SYSTEMD": "true",
                            "BUILDAH_ISOLATION": "chroot"}
        self.command = ["podman", f"--root={self.directory}/storage",
                        f"--runroot={RUN}/run", f"--tmpdir={RUN}/tmp"]

    def __enter__(self):
        self.clean()
        return self

    def __exit__(self, kind, value, trace):
        self.clean()

    def clean(self):
        if not os.path.isdir(f"{self.directory}/storage"):
            return
        for command in (["pod", "rm", "-fa"], ["rm", "-fa", "-t", "0"]):
            self.run(*command, check=False)
        # What a build that was cut off left behind.
        self.run("rm", "-fa", "--depend", check=False)
        remove_groups()

    def run(self, *arguments, check=True, seconds=60):
        done = subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, env=self.environment, timeout=seconds,
                              check=False)
        if check and done.returncode != 0:
            raise Failure(f"podman {' '.join(arguments)} ended with {done.returncode}: "
                          f"{done.stdout.decode()[-3000:]}{done.stderr.decode()[-3000:]}")
        return done

    def says(self, *arguments, seconds=60):
        return self.run(*arguments, seconds=seconds).stdout.decode().strip()

    def need_base(self):
        """An image of Debian's smallest, made here once."""
        if self.run("image", "exists", BASE, check=False).returncode != 0:
            self.make_base()
        done = self.run("run", "--rm", "--network=none", BASE, "/bin/true", check=False)
        if done.returncode != 0:
            skip(f"no container runs here: {last_line(done)}")

    def make_base(self):
        source = mirror()
        tarball = os.path.join(self.directory, "base.tar")
        done = subprocess.run(
            ["mmdebstrap", "--variant=minbase", "bookworm", tarball, *([source] if source else [])],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=400, check=False)
        if done.returncode != 0:
            skip(f"no base image can be made here: {last_line(done)}")
        self.run("import", "-q", "--change", f"ENV PATH={PATH}",
                 "--change", 'CMD ["sleep", "infinity"]', tarball, BASE, seconds=120)
        os.remove(tarball)

    def build(self, containerfile, context, image):
        """Of two stages, the first one called `build`. With a name it survives the removal of what
        sources of yesterday became, and its layers serve the next build."""
        for more in (["--target=build", "-t", "localhost/proctally-stage"], ["-t", image]):
            self.run("build", "--format=docker", "--layers", "--network=host", "--build-arg",
                     f"BASE={BASE}", "-f", containerfile, *more, context, seconds=400)
        self.run("image", "prune", "-f", check=False)

    def inspect(self, name, what):
        return self.says("inspect", "-f", "{{" + what + "}}", name)

    def pid(self, name):
        return int(self.inspect(name, ".State.Pid"))

    def stop(self, name):
        """By the image's signal. -> (exit status, seconds it took)"""
        begin = time.monotonic()
        self.run("stop", "-t", "10", name)
        return int(self.inspect(name, ".State.ExitCode")), time.monotonic() - begin

    def log(self, name):
        done = self.run("logs", name, check=False)
        return (done.stdout + done.stderr).decode("utf-8", "replace")


def remove_groups():
    """Empty control groups that runs before this one left; those in use cannot be removed."""
    parents = [p for where in ("", "/*") for p in glob.glob(f"/sys/fs/cgroup{where}/libpod_parent")]
    for parent in parents:
        for folder, _, _ in os.walk(parent, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                pass


def last_line(done):
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


class Network:
    """The thread is in the network of a process, for the length of a `with`."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            enter(there)
        finally:
            os.close(there)

    def __exit__(self, *_):
        enter(self.home)
        os.close(self.home)


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
