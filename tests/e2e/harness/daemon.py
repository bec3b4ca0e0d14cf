"""Starting, asking and stopping the real daemon.

The binary comes from the environment, PROCTALLYD. Nothing here sleeps and hopes: every wait is
for something the daemon says, with a deadline.
"""
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from .exposition import Page

BINARY = os.environ.get("PROCTALLYD", "proctallyd")
# Sanitizers multiply time and memory; PROCTALLY_SANITIZE is the build's option of that name.
SANITIZE = os.environ.get("PROCTALLY_SANITIZE", "")
PATIENCE_S = 60 if SANITIZE else 20
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SKIP = 77
REPORTS = (b"ERROR: AddressSanitizer", b"ERROR: LeakSanitizer", b"runtime error:",
           b"WARNING: ThreadSanitizer")


class Failure(AssertionError):
    pass


def skip(reason):
    print(f"skipped: {reason}")
    raise SystemExit(SKIP)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what, condition, seconds=PATIENCE_S, pause=0.02):
    """Polls until condition() is true and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(pause)


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body


def become(user, command, directory):
    """What Popen needs to run the command as that user, who may look neither into our folders nor
    into the build's."""
    if user is None:
        return {}
    os.chmod(directory, 0o755)
    command[0] = shutil.copy(BINARY, directory)
    return {"user": user, "group": user, "extra_groups": []}


def preloadable(environment, directory):
    """The environment, its LD_PRELOAD by a path without blanks: the loader knows no quotes."""
    preload = environment.get("LD_PRELOAD", "")
    if " " not in preload:
        return environment
    return {**environment, "LD_PRELOAD": shutil.copy(preload, directory)}


class Daemon:
    """One run of the daemon on a port of its own. Use it in a `with`: the end of the block stops
    it by SIGTERM and checks how it ended."""

    def __init__(self, *flags, config=None, procfs=None, interval="100ms", port=None,
                 environment=None, level="info", user=None, binary=BINARY, under=()):
        """`under`: a command that ends in executing what follows it, the daemon."""
        self.port = port or free_port()
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.log_path = os.path.join(self.directory.name, "log")
        self.config_path = os.path.join(self.directory.name, "proctallyd.ini")
        command = [binary, f"--web.listen-address=127.0.0.1:{self.port}",
                   f"--collector.interval={interval}", f"--log.level={level}"]
        if config is not None:
            self.write_config(config)
            command.append(f"--config.file={self.config_path}")
        if procfs is not None:
            command.append(f"--path.procfs={procfs}")
        command += flags
        as_user = become(user, command, self.directory.name)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*under, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **preloadable(environment or {}, self.directory.name)},
                **as_user)
        self.ended = False

    def write_config(self, text):
        with open(self.config_path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if not self.ended:
                code, seconds = self.stop()
                if kind is None:
                    if code != 0:
                        raise Failure(f"SIGTERM gave exit status {code}\n{self.log()}")
                    if seconds > 5 and not SANITIZE:
                        raise Failure(f"SIGTERM took {seconds:.1f} s")
            if kind is None:
                self.check_log()
        finally:
            if kind is not None:
                print(f"--- log of the daemon ---\n{self.log()}---")
            self.directory.cleanup()

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        with open(self.log_path, "rb") as f:
            return f.read().decode("utf-8", "replace")

    def log_lines(self):
        return self.log().splitlines()

    def check_log(self):
        """No sanitizer report, and every line is logfmt with a level and a message."""
        text = self.log()
        for report in REPORTS:
            if report.decode() in text:
                raise Failure(f"sanitizer report\n{text}")
        for line in text.splitlines():
            if not re.search(r"(^| )level=(debug|info|warn|error)( |$)", line) or "msg=" not in line:
                raise Failure(f"log line is not logfmt: {line!r}")

    def alive(self):
        return self.process.poll() is None

    def must_live(self):
        if not self.alive():
            raise Failure(f"the daemon ended with {self.process.returncode}\n{self.log()}")

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """-> (exit status, seconds it took)"""
        self.ended = True
        begin = time.monotonic()
        if self.alive():
            self.send(number)
        try:
            code = self.process.wait(30 if SANITIZE else 10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("did not end within 10 s of its signal") from None
        return code, time.monotonic() - begin

    # ---- asking ----

    def ask(self, path="/metrics", method="GET", headers=None, timeout=10):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            connection.close()

    def page(self):
        """One checked page in the text format."""
        begin = time.monotonic()
        answer = self.ask()
        seconds = time.monotonic() - begin
        if answer.status != 200:
            raise Failure(f"/metrics answered {answer.status}")
        if answer.headers["Content-Type"] != TEXT:
            raise Failure(f"content type {answer.headers['Content-Type']!r}")
        if seconds > 2 and not SANITIZE:
            raise Failure(f"/metrics took {seconds:.1f} s")
        page = Page(answer.body)
        faults = page.judge()
        if faults:
            raise Failure("page: " + "\n".join(faults[:20]))
        return page

    def answers(self, path="/metrics"):
        try:
            return self.ask(path).status
        except OSError:
            self.must_live()
            return None

    def wait_ready(self):
        wait_until("/-/ready answers 200", lambda: self.answers("/-/ready") == 200)
        return self

    def snapshots(self):
        return self.page().value("proctally_snapshots_total")

    def settle(self, more=4):
        """The page after `more` snapshots that began later than now, each of them scraped on the
        way: a new counter shows its 0 first, and its amount once that 0 was served. No counter
        may fall meanwhile."""
        last = self.page()
        goal = last.value("proctally_snapshots_total") + more + 1

        def reached():
            nonlocal last
            self.must_live()
            page = self.page()
            fell = page.fell_since(last)
            if fell:
                raise Failure("\n".join(fell[:20]))
            last = page
            return page if page.value("proctally_snapshots_total") >= goal else None

        # On a host of thousands of processes one snapshot of all families takes seconds.
        return wait_until(f"{more} more snapshots", reached, PATIENCE_S + 3 * more)

    # ---- looking at the process ----

    def thread_states(self):
        states = {}
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/stat", "rb") as f:
                states[int(tid)] = f.read().rpartition(b")")[2].split()[0].decode()
        return states

    def pause(self):
        """Stops every thread, so that a tree can be changed behind its back."""
        self.send(signal.SIGSTOP)
        wait_until("stopped", lambda: set(self.thread_states().values()) <= {"T"})

    def resume(self):
        self.send(signal.SIGCONT)

    def status_kb(self, key):
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def once(*flags, config=None, procfs=None, user=None):
    """The page that --once prints, checked."""
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        command = [BINARY, "--once"]
        if config is not None:
            path = os.path.join(directory, "proctallyd.ini")
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(config)
            command.append(f"--config.file={path}")
        if procfs is not None:
            command.append(f"--path.procfs={procfs}")
        done = subprocess.run([*command, *flags], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE_S, check=False,
                              **become(user, command, directory))
    if done.returncode != 0:
        raise Failure(f"--once ended with {done.returncode}: {done.stderr.decode()}")
    if any(report in done.stderr for report in REPORTS):
        raise Failure(done.stderr.decode())
    page = Page(done.stdout)
    faults = page.judge()
    if faults:
        raise Failure("--once: " + "\n".join(faults[:20]))
    return page
