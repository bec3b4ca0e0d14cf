"""A field to measure whole programs in: a pid namespace, a farm in it, and what programs used.

The binaries come from the environment, PROCTALLYD and PROCFARM, or from the arguments
--proctallyd and --procfarm.
"""
import argparse
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time

SKIP = 77
TYPICAL = "-x -g 100 -f 20 -t 1 -m 60 -r 400 -a 80 -e 600".split()
BARE = "-g 100 -f 3".split()


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def arguments(**numbers):
    parser = argparse.ArgumentParser()
    parser.add_argument("--proctallyd", default=os.environ.get("PROCTALLYD", "proctallyd"))
    parser.add_argument("--procfarm", default=os.environ.get("PROCFARM", "procfarm"))
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def isolate():
    """Goes on in a pid namespace with its own /proc, so that nothing but the farm is measured."""
    if os.environ.get("PROCTALLY_BENCH_ISOLATED"):
        return
    if os.geteuid() != 0:
        skip("only root can make a pid namespace")
    os.environ["PROCTALLY_BENCH_ISOLATED"] = "1"
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-B"]
    os.execvp("unshare", command + sys.argv)


class Farm:
    def __init__(self, program, processes, shape):
        self.process = subprocess.Popen([program, "-n", str(processes), *shape],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready"):
            raise RuntimeError(f"procfarm: {line!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Program:
    """A program that answers HTTP on a port of its own."""

    def __init__(self, *command, quiet=True):
        self.port = free_port()
        output = subprocess.DEVNULL if quiet else None
        words = [word.replace("PORT", str(self.port)) for word in command]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output,
                                        stderr=output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def scrape(self, path="/metrics", encoding="gzip"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("GET", path, headers={"Accept-Encoding": encoding})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path} answered {answer.status}")
            return body
        finally:
            connection.close()

    def wait_ready(self, seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.scrape()
            except (OSError, RuntimeError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
            time.sleep(0.1)

    def cpu_seconds(self):
        return cpu_seconds(self.pid)


class Proctallyd(Program):
    """The daemon, which collects when it is told to."""

    def __init__(self, program, interval="1h", source="auto"):
        super().__init__(program, "--web.listen-address=127.0.0.1:PORT",
                         f"--collector.interval={interval}", "--log.level=error",
                         f"--collector.source={source}")
        self.wait_ready()

    def snapshots(self):
        page = self.scrape("/metrics?name[]=proctally_snapshots_total", "identity").decode()
        return float(re.search(r"^proctally_snapshots_total (\S+)$", page, re.M)[1])

    def wait_snapshots(self, number):
        while self.snapshots() < number:
            time.sleep(0.05)

    def collect(self):
        """One more cycle, which a reload begins at once, and the scrape of it."""
        number = self.snapshots() + 1
        self.process.send_signal(signal.SIGHUP)
        self.wait_snapshots(number)
        self.scrape()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    """User and system time of all threads, by the scheduler's nanoseconds."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def processes():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def status_bytes(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        return int(re.search(rf"^{key}:\s+(\d+) kB$", f.read(), re.M)[1]) * 1024
