#!/usr/bin/env python3
"""How kernel.sh gets a kernel, from an apt that does what mirrors and networks do."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from harness.daemon import SKIP, skip  # noqa: E402
from harness.tests import equal, main, true  # noqa: E402

NAME = "linux-image-5.10.0-1-cloud-amd64"
# No smaller when it is packed, so that a package can be cut in the middle of it.
KERNEL = random.Random(1).randbytes(100000)
# Stands for apt-get and apt-cache: APT says what goes wrong, and each use is written down.
APT = """#!/bin/bash
echo "${0##*/} $*" >>"$TOOLS/used"
case "${0##*/} $*" in
*" indextargets "*) echo "$OWN main http://mirror.example/debian" ;;
*" update")
  [ "$APT" != offline ] || { echo "E: Could not resolve" >&2; exit 100; } ;;
*" show "*)
  case $APT in
  gone) echo "E: No packages found" >&2; exit 100 ;;
  newer) echo "Depends: linux-image-5.11.0-1-cloud-amd64 (= 5.11)" ;;
  *) echo "Depends: %(name)s (= 5.10.1-1), other" ;;
  esac ;;
*" download "*)
  case $APT in
  cut) head -c 50000 "$TOOLS/package" >%(name)s_1_amd64.deb.partial
       echo "E: Failed to fetch" >&2; exit 100 ;;
  damaged) head -c 50000 "$TOOLS/package" >%(name)s_1_amd64.deb ;;
  *) cp "$TOOLS/package" %(name)s_1_amd64.deb ;;
  esac ;;
*) exit 99 ;;
esac
""" % {"name": NAME}


class Machine:
    """A cache, and tools in front of the machine's own."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="a machine.")
        self.tools, self.cache = f"{self.directory.name}/bin", f"{self.directory.name}/cache"
        os.makedirs(self.tools)
        for name in ("apt-get", "apt-cache"):
            with open(f"{self.tools}/{name}", "w", encoding="ascii") as f:
                f.write(APT)
            os.chmod(f"{self.tools}/{name}", 0o755)
        self.pack({f"boot/vmlinuz-{NAME.removeprefix('linux-image-')}": KERNEL})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def pack(self, files):
        tree = f"{self.directory.name}/tree"
        files = {**files, "DEBIAN/control": f"Package: {NAME}\nVersion: 1\nArchitecture: amd64\n"
                 "Maintainer: nobody\nDescription: a kernel\n".encode()}
        for path, content in files.items():
            os.makedirs(os.path.dirname(f"{tree}/{path}"), exist_ok=True)
            with open(f"{tree}/{path}", "wb") as f:
                f.write(content)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, f"{self.tools}/package"],
                       stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["rm", "-r", tree], check=True)

    def get(self, apt="", version="5.10"):
        """-> (status, what it printed, the reason it gave)"""
        with open("/etc/os-release", encoding="utf-8") as f:
            own = next(line.partition("=")[2].strip().strip('"') for line in f
                       if line.startswith("VERSION_CODENAME="))
        done = subprocess.run(
            [f"{HERE}/kernel.sh", version, "bullseye", self.cache], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "TOOLS": self.tools,
                 "OWN": own, "APT": apt, "TMPDIR": self.directory.name})
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def uses(self):
        with open(f"{self.tools}/used", encoding="utf-8") as f:
            return len(f.readlines())

    def kept(self):
        return sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []

    def gets_it(self):
        status, path, reason = self.get()
        equal(f"status ({reason})", status, 0)
        equal("what is kept", [f"{self.cache}/{name}" for name in self.kept() if name[0] != "."],
              [path])
        with open(path, "rb") as f:
            true("it is the kernel", f.read() == KERNEL)


def test_a_second_run_asks_nobody():
    with Machine() as machine:
        machine.gets_it()
        uses = machine.uses()
        machine.gets_it()
        equal("uses of apt", machine.uses(), uses)
        equal("what is left", sorted(os.listdir(machine.directory.name)), ["bin", "cache"])


def test_skips():
    for apt, reason in (("offline", "no list of bullseye: E: Could not resolve"),
                        ("gone", "bullseye has no linux-image-cloud-amd64 any more"),
                        ("newer", "bullseye has linux-image-5.11.0-1-cloud-amd64 instead"),
                        ("cut", f"no download of {NAME}: E: Failed to fetch")):
        with Machine() as machine:
            equal(apt, machine.get(apt), (SKIP, "", f"skipped: kernel 5.10: {reason}"))
            equal(f"kept when {apt}", machine.kept(), [])
            machine.gets_it()


def test_damaged_packages():
    with Machine() as machine:
        equal("status", machine.get("damaged")[:2], (1, ""))
        equal("kept", machine.kept(), [])
        machine.gets_it()
    with Machine() as machine:
        machine.pack({"boot/config": b""})
        equal("status without a kernel", machine.get()[:2], (1, ""))
        equal("kept", machine.kept(), [])


def test_what_a_killed_run_left_is_no_kernel():
    with Machine() as machine:
        os.makedirs(machine.cache)
        with open(f"{machine.cache}/.new.1", "wb") as f:
            f.write(KERNEL[:100])
        machine.gets_it()


def test_other_kernels_are_others():
    with Machine() as machine:
        os.makedirs(machine.cache)
        for name in ("vmlinuz-5.1.0-1", "vmlinuz-5.100.0-1", "vmlinuz-6.1.0-1"):
            with open(f"{machine.cache}/{name}", "wb"):
                pass
        equal("offline", machine.get("offline")[0], SKIP)
        for version, name in (("5.1", "vmlinuz-5.1.0-1"), ("6.1", "vmlinuz-6.1.0-1")):
            equal(version, machine.get("offline", version)[:2], (0, f"{machine.cache}/{name}"))


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        skip("needs dpkg-deb")
    sys.exit(main(sys.modules[__name__]))
