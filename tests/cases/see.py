"""See - assertions about a page that go on after a fault, so that one run shows all of them."""

from harness.daemon import SANITIZE

STATES = ("running", "sleeping", "disk_sleep", "stopped", "zombie", "other")
CANARY = "canary"


class See:
    PER_CPU = "proctally_host_per_cpu_seconds_total"

    def __init__(self, where):
        self.where = where
        self.faults = []

    def fault(self, text):
        self.faults.append(f"{self.where}: {text}")

    def equal(self, what, got, expected):
        if got != expected:
            self.fault(f"{what}: {got!r}, expected {expected!r}")

    def at_most(self, what, got, limit):
        if got > limit:
            self.fault(f"{what}: {got!r}, expected at most {limit!r}")

    def value(self, page, expected, name, **labels):
        """The number exactly, but for what a double cannot hold of a decimal fraction."""
        got = page.get(name, **labels)
        if got is None or abs(got - expected) > 1e-9 * max(1, abs(expected)):
            self.fault(f"{name} {labels}: {got}, expected {expected}")

    def absent(self, page, name, **labels):
        """No series of the name that has these labels."""
        for series in page.of(name):
            if labels.items() <= dict(series).items():
                self.fault(f"{name} {dict(series)} is shown, but is not known")

    def zero_or_absent(self, page, name, **labels):
        if page.get(name, **labels) not in (None, 0):
            self.fault(f"{name} {labels}: {page.get(name, **labels)}, expected 0 or nothing")

    def groups(self, page, expected):
        self.equal("groups", page.groups(), set(expected))

    def states(self, page, group, **counts):
        for state in STATES:
            self.value(page, counts.get(state, 0), "proctally_group_processes_in_state",
                       group=group, state=state)

    def cpu(self, page, group, user, system):
        self.value(page, user, "proctally_group_cpu_seconds_total", group=group, mode="user")
        self.value(page, system, "proctally_group_cpu_seconds_total", group=group, mode="system")

    def resident(self, page, group, total):
        kinds = [page.get("proctally_group_resident_memory_bytes", group=group, kind=kind) or 0
                 for kind in ("anon", "file", "shmem")]
        self.equal(f"resident of {group}", sum(kinds), total)

    def unread(self, page, group, **parts):
        got = {dict(labels)["part"]: value
               for labels, value in page.of("proctally_group_unread_processes").items()
               if dict(labels)["group"] == group}
        self.equal(f"unread parts of {group}", got, parts)

    def host_cpu(self, page, ticks):
        """Totals of the `cpu` line; guests' time is taken out of user and nice."""
        ticks = dict(ticks)
        ticks["user"] = max(0, ticks["user"] - ticks["guest"])
        ticks["nice"] = max(0, ticks["nice"] - ticks["guest_nice"])
        for mode, value in ticks.items():
            self.value(page, value / 100, "proctally_host_cpu_seconds_total", mode=mode)

    def read_errors(self, page):
        """{(file, reason): count} of those that counted."""
        return {(dict(labels)["file"], dict(labels)["reason"]): value
                for labels, value in page.of("proctally_read_errors_total").items() if value}

    def no_read_errors(self, page):
        self.equal("read errors", self.read_errors(page), {})

    def steps_back(self, page):
        return {dict(labels)["field"]: value
                for labels, value in page.of("proctally_steps_back_total").items() if value}

    def no_steps_back(self, page):
        self.equal("steps back", self.steps_back(page), {})

    def quick(self, pages):
        """One look at the tree takes at most 20 ms."""
        for page in (p for name, p in pages.items() if name != "daemon"):
            if not SANITIZE:
                self.at_most("seconds to collect",
                             page.value("proctally_snapshot_duration_seconds", phase="collect"), 0.02)

    # ---- the canary: {family or (family, label, value): number, None for "not shown"} ----

    def canary(self, page, expected):
        for what, number in expected.items():
            name, labels = what, {"group": CANARY}
            if isinstance(what, tuple):
                name, labels = what[0], {"group": CANARY, what[1]: what[2]}
            if number is None:
                self.absent(page, name, **labels)
            else:
                self.value(page, number, name, **labels)

    @staticmethod
    def canary_gauges():
        group = "proctally_group_"
        return {
            f"{group}processes": 1, f"{group}threads": 1,
            (f"{group}processes_in_state", "state", "sleeping"): 1,
            (f"{group}processes_in_state", "state", "running"): 0,
            f"{group}zombie_children": 0,
            (f"{group}resident_memory_bytes", "kind", "anon"): 1048576,
            (f"{group}resident_memory_bytes", "kind", "file"): 1048576,
            (f"{group}resident_memory_bytes", "kind", "shmem"): 0,
            f"{group}swap_bytes": 16384,
            f"{group}virtual_memory_bytes": 8388608,
            f"{group}peak_resident_memory_bytes": 2097152,
            f"{group}proportional_memory_bytes": 1048576,
            f"{group}mappings": 6,
            f"{group}open_fds": 5,
            f"{group}open_fds_limit_ratio": 0.0048828125,
            f"{group}oldest_start_time_seconds": 1700000500,
            f"{group}newest_start_time_seconds": 1700000500,
        }

    @staticmethod
    def canary_totals(step):
        """What --once shows: totals since process start."""
        group = "proctally_group_"
        return {
            (f"{group}cpu_seconds_total", "mode", "user"): 12.34 + step,
            (f"{group}cpu_seconds_total", "mode", "system"): 5.67 + 0.5 * step,
            f"{group}minor_page_faults_total": 100 + 10 * step,
            f"{group}major_page_faults_total": 2,
            f"{group}storage_read_bytes_total": 40960 + 4096 * step,
            f"{group}storage_written_bytes_total": 81920 + 8192 * step,
            f"{group}storage_cancelled_write_bytes_total": 0,
            f"{group}syscall_read_bytes_total": 123456,
            f"{group}syscall_written_bytes_total": 654321,
            f"{group}read_syscalls_total": 10,
            f"{group}write_syscalls_total": 20,
        }

    @staticmethod
    def canary_steps(step):
        """What the daemon shows: it counts from what it found in its first cycle."""
        base = See.canary_totals(0)
        return {what: total - base[what] for what, total in See.canary_totals(step).items()}
