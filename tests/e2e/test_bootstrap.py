#!/usr/bin/env python3
"""./bootstrap run, from where all is installed and built: what it prints, and how it ends."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

from harness.daemon import BINARY, Failure, free_port, wait_until
from harness.tests import equal, main, true

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SERVES = "proctallyd serves "


class Bootstrap:
    """A run of it in a tree of its own, where cmake has nothing to do and no package is missing."""

    def __init__(self, *flags, config=None):
        self.directory = tempfile.TemporaryDirectory(prefix="a tree.")
        root = self.directory.name
        os.makedirs(f"{root}/build/release/daemon")
        os.makedirs(f"{root}/bin")
        shutil.copy(f"{SOURCE}/bootstrap", root)
        os.symlink(os.path.abspath(BINARY), f"{root}/build/release/daemon/proctallyd")
        for name, text in (("cmake", ""), ("dpkg-query", "printf installed")):
            with open(f"{root}/bin/{name}", "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\n{text}\n")
            os.chmod(f"{root}/bin/{name}", 0o755)
        if config is not None:
            with open(f"{root}/config.ini", "w", encoding="ascii") as f:
                f.write(config)
            flags = (*flags, f"--config.file={root}/config.ini")
        self.out, self.err = f"{root}/out", f"{root}/err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [f"{root}/bootstrap", "run", *flags], stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, start_new_session=True,
                env={**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}"})

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(f"--- out ---\n{self.text(self.out)}--- err ---\n{self.text(self.err)}---")
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.directory.cleanup()

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def lines(self):
        return self.text(self.out).splitlines()

    def wait_lines(self, n):
        wait_until(f"{n} lines", lambda: self.process.poll() is not None or len(self.lines()) >= n)
        return self.lines()

    def end(self, send, number):
        send(self.process.pid, number)
        equal("exit status", self.process.wait(20), 0)
        wait_until("the last line",
                   lambda: f" msg=stopping signal={number.name[3:]}\n" in self.text(self.err))


def page(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def test_the_address_of_a_flag():
    port = free_port()
    with Bootstrap(f"--web.listen-address=127.0.0.1:{port}") as run:
        equal("lines", run.wait_lines(1), [f"{SERVES}http://127.0.0.1:{port}/metrics"])
        true("it serves", "\nproctally_up 1\n" in page(run.lines()[0].removeprefix(SERVES)))
        run.end(os.kill, signal.SIGTERM)
        equal("lines", len(run.lines()), 1)


def test_addresses_of_a_file():
    config = "[web]\nlisten = :0 0.0.0.0:0 127.0.0.1:0\ntelemetry_path = /a/b\n"
    for log in ("logfmt", "json"):
        with Bootstrap(f"--log.format={log}", config=config) as run:
            lines = run.wait_lines(3)
            equal("lines", len(lines), 3)
            for line in lines:
                true(line, line.startswith(f"{SERVES}http://127.0.0.1:") and line.endswith("/a/b"))
                true("it serves", "\nproctally_up 1\n" in page(line.removeprefix(SERVES)))


def test_interrupted_by_a_terminal():
    with Bootstrap("--web.listen-address=127.0.0.1:0") as run:
        run.wait_lines(1)
        run.end(os.killpg, signal.SIGINT)


def test_nothing_is_said_before_the_bind():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with Bootstrap(f"--web.listen-address=127.0.0.1:{taken.getsockname()[1]}") as run:
            equal("exit status", run.process.wait(20), 1)
            wait_until("the reason", lambda: "in use" in run.text(run.err))
            equal("lines", run.lines(), [])


def test_other_uses():
    with Bootstrap("--once") as run:
        equal("exit status", run.process.wait(20), 0)
        true("a page", "proctally_up 1" in run.lines())
        true("no address", not any(SERVES in line for line in run.lines()))
    with Bootstrap("--web.colour=blue") as run:
        equal("exit status", run.process.wait(20), 2)
        wait_until("the reason", lambda: "colour" in run.text(run.err))


if __name__ == "__main__":
    if not os.path.exists(BINARY):
        raise Failure(BINARY)
    sys.exit(main(sys.modules[__name__]))
