"""What every end-to-end test shares: running functions named test_*, and trees to point at."""
import os
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures"))

import procfs  # noqa: E402

from .daemon import SKIP  # noqa: E402


def short(number):
    """Three characters of it."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return "".join(digits[number // 36 ** i % 36] for i in range(3))


# Begins the names of processes that are looked at on the host, where others may run these tests.
RUN = "b" + short(os.getpid())
BY_COMM = "[group ${comm}]\ncomm = *\n"
# What is held against the text of /proc: by ticks, of living threads, and as far as it may be read.
PROCFS = "[collector]\nsource = procfs\n"


def equal(what, got, expected):
    if got != expected:
        raise AssertionError(f"{what}: {got!r}, expected {expected!r}")


def true(what, condition):
    if not condition:
        raise AssertionError(what)


class Unavailable(Exception):
    """What a test needs is not here; the others are run."""


class Tree:
    """A fixture tree for the length of a `with`."""

    def __init__(self, processes=0):
        self.processes = processes

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.path = os.path.join(self.directory.name, "proc")
        procfs.base(self.path)
        for i in range(self.processes):
            pid, comm = 10000 + i, f"worker-{i:05}"
            procfs.write(f"{self.path}/{pid}/stat", procfs.stat(pid, comm))
            procfs.write(f"{self.path}/{pid}/status", procfs.status(pid, comm))
            procfs.write(f"{self.path}/{pid}/io", procfs.io())
        return self.path

    def __exit__(self, *_):
        self.directory.cleanup()


def main(module):
    """Runs the module's test_* functions in their order; the exit status of the program."""
    bad = done = 0
    for name, function in list(vars(module).items()):
        if not name.startswith("test_") or not callable(function):
            continue
        try:
            function()
            print(f"ok   {name}", flush=True)
            done += 1
        except Unavailable as e:
            print(f"skip {name}: {e}", flush=True)
        except AssertionError as e:
            print(f"FAIL {name}: {e}", flush=True)
            bad += 1
        except Exception:  # the others have to be run and told too
            print(f"FAIL {name}", flush=True)
            traceback.print_exc()
            bad += 1
    return 1 if bad else 0 if done else SKIP
