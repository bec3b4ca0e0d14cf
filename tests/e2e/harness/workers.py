"""Processes of the test's own that are busy: see busy.c."""
import glob
import os
import signal
import subprocess
import tempfile

from .daemon import Failure, wait_until


def task_states(pid):
    """The states of all threads of a process."""
    states = set()
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with open(path, encoding="utf-8", errors="replace") as f:
            states.add(f.read().rpartition(")")[2].split()[0])
    return states


class Workers:
    """Use it in a `with`: the end of the block ends them. Each is (name, threads, descriptors)."""

    def __init__(self, *what):
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.processes = [self.start(i, *one) for i, one in enumerate(what)]

    def start(self, number, name, threads, descriptors):
        process = subprocess.Popen(
            [os.environ["PROCTALLY_BUSY"], name, str(threads), str(descriptors),
             f"{self.directory.name}/{number}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if process.stdout.readline() != b"ready\n":
            raise Failure(f"{name} did not start")
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            process.stdout.close()
        self.directory.cleanup()

    def pids(self):
        return [process.pid for process in self.processes]

    def pause(self):
        for process in self.processes:
            process.send_signal(signal.SIGSTOP)
        wait_until("all threads stopped",
                   lambda: all(task_states(pid) <= set("T") for pid in self.pids()))

    def resume(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
