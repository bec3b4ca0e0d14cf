#!/usr/bin/env python3
"""SIGTERM and SIGINT end the daemon within 5 s, whatever it is doing, with status 0."""
import http.client
import os
import signal
import socket
import sys
import threading

from harness.daemon import SANITIZE, Daemon, wait_until
from harness.tests import BY_COMM, Tree, Unavailable, equal, main, true

REMOVAL_DELAY = os.environ.get("PROCTALLY_REMOVAL_DELAY")  # not with sanitizers
MANY = 500 if SANITIZE else 5000
WITHIN_S = 20 if SANITIZE else 5


def stops(daemon, number=signal.SIGTERM):
    code, seconds = daemon.stop(number)
    equal("exit status", code, 0)
    true(f"took {seconds:.1f} s", seconds < WITHIN_S)
    daemon.check_log()


def test_idle():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Tree() as tree, Daemon(config=BY_COMM, procfs=tree, interval="1h") as daemon:
            daemon.wait_ready()
            stops(daemon, number)


def test_on_a_large_tree():
    """So many processes that cycles follow each other without a break, and pages are large."""
    with Tree(MANY) as tree:
        clients_in_every_state(tree)
        during_a_cycle(tree)
        before_the_first_snapshot(tree)


def clients_in_every_state(tree):
    """One has connected, one has sent half a request, one does not read its answer, one is kept."""
    with Daemon(config="[groups]\nmax = 100000\n\n" + BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        sockets = []
        for sent in (b"", b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20,
                     b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(5)
            s.connect(("127.0.0.1", daemon.port))
            s.sendall(sent)
            sockets.append(s)
        sockets[3].recv(100)
        sockets[2].recv(10)
        stops(daemon)
        for s in sockets:
            s.close()


def during_a_cycle(tree):
    for _ in range(3):
        with Daemon(config="[groups]\nmax = 100000\n\n[metrics]\ninclude = *\n\n" + BY_COMM,
                    procfs=tree) as daemon:
            daemon.wait_ready()
            stops(daemon)


def before_the_first_snapshot(tree):
    with Daemon(config=BY_COMM, procfs=tree) as daemon:
        wait_until("it listens", lambda: daemon.answers("/-/healthy") == 200)
        stops(daemon)


def test_while_connections_come_and_go():
    """They keep the library's thread awake while it is told to listen no longer, which takes long
    enough here that both do it."""
    if not REMOVAL_DELAY:
        raise Unavailable("nothing is preloaded into a sanitizer's process")
    environment = {"LD_PRELOAD": REMOVAL_DELAY}
    with Tree() as tree:
        for _ in range(5):
            with Daemon(config=BY_COMM, procfs=tree, environment=environment) as daemon:
                daemon.wait_ready()
                asked = threading.Event()
                client = threading.Thread(target=ask_until_the_end, args=(daemon.port, asked))
                client.start()
                try:
                    true("the client is served", asked.wait(10))
                    stops(daemon)
                finally:
                    daemon.process.kill()
                    client.join()


def ask_until_the_end(port, asked):
    """A connection per request, until there is none any more."""
    try:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/-/healthy")
            connection.getresponse().read()
            connection.close()
            asked.set()
    except (OSError, http.client.HTTPException):
        pass


def test_hangup_and_stop_at_once():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        daemon.send(signal.SIGHUP)
        stops(daemon)


def test_pipe_closed_by_the_reader_of_the_log():
    """A log that nobody reads any more ends nothing."""
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree, level="debug") as daemon:
        daemon.wait_ready()
        daemon.send(signal.SIGPIPE)
        daemon.settle(1)
        stops(daemon)


def test_leaves_no_zombies():
    """As process 1 it is the parent of orphans; who ignores SIGCHLD need not wait for them."""
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        with open(f"/proc/{daemon.pid}/status", encoding="ascii", errors="replace") as f:
            ignored = next(int(line.split()[1], 16) for line in f if line.startswith("SigIgn:"))
        true("SIGCHLD is ignored", ignored >> (signal.SIGCHLD - 1) & 1)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
