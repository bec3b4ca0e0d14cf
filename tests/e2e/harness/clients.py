"""Ordinary clients and hostile ones beside them."""
import json
import os
import socket
import statistics
import subprocess
import sys
import time

from .daemon import wait_until
from .exposition import Page

HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile.py")
GOOD_S = 2.0


class Hostiles:
    """So many of a kind, in a process of their own, for the length of a `with`."""

    def __init__(self, port, kind, count, source="127.0.0.2", again=False):
        self.process = subprocess.Popen(
            [sys.executable, "-B", HOSTILE, str(port), source, kind, str(count),
             *(["again"] if again else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.outcome = None

    def __enter__(self):
        return self.wait_ready()

    def __exit__(self, *_):
        self.stop()

    def wait_ready(self):
        if self.process.stdout.readline() != b"ready\n":
            raise AssertionError("the hostile clients did not start")
        return self

    def stop(self):
        if self.outcome is None:
            out, _ = self.process.communicate(timeout=30)
            self.outcome = json.loads(out)
        return self.outcome


def scrape(port, limit_s):
    """Seconds that an ordinary scrape of a connection of its own takes; None: it failed."""
    begin = time.monotonic()

    def left():
        return max(0.001, limit_s - (time.monotonic() - begin))

    pieces = []
    try:
        with socket.create_connection(("127.0.0.1", port), left()) as s:
            s.sendall(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n")
            while True:
                s.settimeout(left())
                piece = s.recv(1 << 18)
                if not piece:
                    break
                pieces.append(piece)
    except OSError:
        return None
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    if not head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.0 200 ")) or not body.endswith(b"\n"):
        return None
    seconds = time.monotonic() - begin
    return seconds if seconds <= limit_s else None


def scrapes(port, count, over_s, limit_s=GOOD_S):
    """One after the other, spread over so many seconds; -> the seconds of those that succeeded."""
    begin, good = time.monotonic(), []
    for i in range(count):
        time.sleep(max(0, begin + i * over_s / count - time.monotonic()))
        seconds = scrape(port, limit_s)
        if seconds is not None:
            good.append(seconds)
    return good


def collected(daemon):
    """(snapshots, those that failed, seconds of the last collection), without the big page"""
    page = Page(daemon.ask("/metrics?" + "&".join(
        f"name[]=proctally_snapshot{name}" for name in ("s_total", "_failures_total",
                                                        "_duration_seconds"))).body)
    return (page.value("proctally_snapshots_total"),
            sum(page.of("proctally_snapshot_failures_total").values()),
            page.value("proctally_snapshot_duration_seconds", phase="collect"))


def wait_big(daemon, size):
    """Until the page is that big, which it is with its first amounts."""
    daemon.wait_ready()
    wait_until(f"a page of {size} bytes", lambda: len(daemon.ask().body) >= size)


def quiet_descriptors(daemon):
    """Those that stay: of requests under way there are more for a moment."""
    return min(daemon.descriptors() for _ in range(20) if not time.sleep(0.02))


def limit_after(unloaded):
    """Twice the unloaded median or 2 s, whichever is more."""
    return max(2 * statistics.median(unloaded), GOOD_S)
