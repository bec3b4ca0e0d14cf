"""A process with 120,000 descriptors.

Expected: the count is exact, and 117.1875 times the soft limit of 1024, not clamped. Descriptors are
counted by name alone: no call looks at a single one, and listing takes at most 61 calls of 64 KiB (3.84
MB of names, and the call that finds the end). On the real /proc their number is exact too.
"""
import os
import re
import resource
import shutil
import subprocess
import tempfile

import procfs
from harness.daemon import BINARY, SANITIZE, Daemon, once

COUNT = 120000
LIVE = 100000
CALLS_MAX = 61
FDS = "proctally_group_open_fds"
RATIO = "proctally_group_open_fds_limit_ratio"
CONFIG = "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
OPENER = ("import os, sys\nopen('/proc/self/comm', 'w').write('manyfds')\n"
          "fd = os.open('/dev/null', os.O_RDONLY)\n"
          "for _ in range(int(sys.argv[1]) - fd - 1): os.dup(fd)\n"
          "print(flush=True)\nsys.stdin.read()\n")


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.process(root, 4301, "manyfds", fds=0)
    fds = os.open(f"{root}/4301/fd", os.O_RDONLY)
    for i in range(COUNT):
        os.symlink("/dev/null", str(i), dir_fd=fds)
    os.close(fds)


def check(page, tree, see):
    see.value(page, COUNT, FDS, group="manyfds")
    see.value(page, COUNT / 1024, RATIO, group="manyfds")
    see.no_read_errors(page)


def system_calls(root):
    """The lines of strace that one look at the tree makes."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        config, trace = f"{directory}/ini", f"{directory}/trace"
        procfs.write(config, CONFIG)
        subprocess.run(["strace", "-f", "-y", "-s", "8", "-v", "-o", trace,
                        "-e", "trace=getdents64,%stat,%lstat,%fstat,readlink,readlinkat,openat",
                        "-e", "abbrev=getdents64",
                        BINARY, "--once", f"--path.procfs={root}", f"--config.file={config}"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        with open(trace, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()


def check_calls(root, see):
    if not shutil.which("strace") or SANITIZE:  # LeakSanitizer does not bear a tracer
        return
    lines = [line for line in system_calls(root) if "/4301/fd" in line]
    listing = [line for line in lines if " getdents64(" in line]
    see.equal("the listing was seen", len(listing) > 10, True)
    see.at_most("calls to list", len(listing), CALLS_MAX)
    each = [line for line in lines
            if re.search(r"(stat|statx|fstatat64|newfstatat|readlink|readlinkat|openat)\(.*/fd>, ",
                         line)]
    see.equal("calls for single descriptors", each, [])


def check_live(see):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(LIVE, most - 64)
    with subprocess.Popen(
            ["python3", "-c", OPENER, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))) as opener:
        opener.stdout.readline()
        expected = len(os.listdir(f"/proc/{opener.pid}/fd"))
        page = once(config=CONFIG)
        see.value(page, expected, FDS, group="manyfds")
        with Daemon(config="[group ${comm}]\ncomm = *\n") as daemon:
            page = daemon.wait_ready().page()
            see.value(page, expected, FDS, group="manyfds")
            see.value(page, expected / most, RATIO, group="manyfds")
        opener.stdin.close()
    see.equal("descriptors of the live one", expected >= min(count, 1000), True)


def extra(at, see):
    check_calls(at("proc"), see)
    check_live(see)
