"""A daemon of which chosen calls fail: fault_shim.c preloaded, and the rules it goes by."""
import errno
import os
import tempfile

from harness.daemon import Daemon, skip, wait_until

SHIM = os.environ.get("PROCTALLY_FAULTS")


class FaultyDaemon(Daemon):
    """Rules may be there from the start (`first`) or come later, by fail()."""

    def __init__(self, *flags, first=(), **settings):
        if not SHIM:
            skip("the shim is not built")
        self.fault_directory = tempfile.TemporaryDirectory(prefix="proctally.")
        self.rules_path = os.path.join(self.fault_directory.name, "rules")
        self.fired_path = os.path.join(self.fault_directory.name, "fired")
        self.next_id = 0
        self.rules = [self._rule(*rule[:3], **(rule[3] if len(rule) > 3 else {}))
                      for rule in first]
        self._write()
        environment = {"LD_PRELOAD": SHIM, "FAULT_RULES": self.rules_path,
                       "FAULT_LOG": self.fired_path,
                       "ASAN_OPTIONS": "verify_asan_link_order=0"}
        super().__init__(*flags, environment=environment, **settings)

    def __exit__(self, *what):
        try:
            super().__exit__(*what)
        finally:
            self.fault_directory.cleanup()

    def _rule(self, call, name, error, after=0, times=0, every=1):
        number = -1 if error == "none" else getattr(errno, error) if error else 0
        self.next_id += 1
        return f"{self.next_id} {call} {name} {number} {after} {times} {every}\n"

    def _write(self):
        with open(self.rules_path + ".new", "w", encoding="ascii") as f:
            f.write("".join(self.rules))
        os.rename(self.rules_path + ".new", self.rules_path)

    def fail(self, call, name, error, **how):
        """From now on; -> the rule's number for fired(). An error "none" only counts the calls."""
        self.rules.append(self._rule(call, name, error, **how))
        self._write()
        return self.next_id

    def relieve(self):
        self.rules = []
        self._write()

    def fired(self, number):
        try:
            with open(self.fired_path, encoding="ascii") as f:
                return f.read().split().count(str(number))
        except FileNotFoundError:
            return 0

    def wait_fired(self, number, times=1):
        wait_until(f"failure {number} happened {times} times",
                   lambda: self.fired(number) >= times)
