#!/usr/bin/env python3
"""hostile.py PORT SOURCE KIND COUNT [again] - clients of the daemon that do it no good.

KIND is half (half a request line, then silence), drip (one byte of a header each second), noread (asks
and never reads the answer) or idle (nothing at all; asked says one whole request first). They connect
from the address SOURCE and stay as long as they are let, until standard input ends; `again` has each
that was cut come back, and those that never read replaced in turn, so that they ask at different times.
Says `ready` when all were tried once, and at the end what became of them.
"""
import json
import selectors
import socket
import sys
import time

SAY = {"half": b"GET /met", "drip": b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ",
       "noread": b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "idle": b"",
       "asked": b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"}
AGAIN_S = 0.2
DRIP_S = 1.0
TURN = 20  # in so many times AGAIN_S each one is replaced


class Hostile:
    def __init__(self, port, source, kind, count):
        self.port, self.source, self.kind, self.count = port, source, kind, count
        self.selector = selectors.DefaultSelector()
        self.held = {}  # in the order of their coming
        self.opened = self.refused = self.cut = 0

    def connect(self):
        s = socket.socket()
        s.settimeout(3)
        try:
            if self.kind == "noread":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.bind((self.source, 0))
            s.connect(("127.0.0.1", self.port))
            s.sendall(SAY[self.kind])
        except OSError:
            self.refused += 1
            s.close()
            return
        s.setblocking(False)
        self.opened += 1
        self.held[s] = None
        if self.kind != "noread":
            self.selector.register(s, selectors.EVENT_READ)

    def drop(self, s):
        self.held.pop(s)
        self.cut += 1
        if self.kind != "noread":
            self.selector.unregister(s)
        s.close()

    def drip(self):
        for s in list(self.held):
            try:
                s.send(b"a")
            except OSError:
                self.drop(s)

    def notice(self, seconds):
        """Drops those that the daemon has cut."""
        for key, _ in self.selector.select(seconds):
            if key.fileobj is sys.stdin:
                return False
            try:
                data = key.fileobj.recv(4096)
            except OSError:
                data = b""
            if not data:
                self.drop(key.fileobj)
        return True

    def run(self, again):
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        for _ in range(self.count):
            self.connect()
        print("ready", flush=True)
        next_drip, next_again = time.monotonic() + DRIP_S, time.monotonic() + AGAIN_S
        while self.notice(0.05):
            now = time.monotonic()
            if self.kind == "drip" and now >= next_drip:
                self.drip()
                next_drip = now + DRIP_S
            if again and now >= next_again:
                if self.kind == "noread":
                    # That they were cut would show behind the answer only, which they do not read.
                    for s in list(self.held)[:1 + self.count // TURN]:
                        self.drop(s)
                for _ in range(self.count - len(self.held)):
                    self.connect()
                next_again = time.monotonic() + AGAIN_S
        print(json.dumps({"held": len(self.held), "opened": self.opened, "refused": self.refused,
                          "cut": self.cut}), flush=True)


if __name__ == "__main__":
    Hostile(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])).run("again" in sys.argv[5:])
