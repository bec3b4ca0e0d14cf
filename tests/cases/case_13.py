"""Pids used again between two cycles.

1301 `old` becomes `new`; 1302 `same` is another process of that name; 1303 `grow` goes on.
Expected: a reused pid is a new process that adds all it used (the tree is not the live /proc);
no counter falls or wraps.
"""
import procfs


def build(at):
    root = at("proc.A")
    procfs.base(root)
    procfs.process(root, 1301, "old", start=10000, utime=9000)
    procfs.process(root, 1302, "same", start=10000, utime=7000, read=900000)
    procfs.process(root, 1303, "grow", start=10000, utime=100)
    root = at("proc.B")
    procfs.base(root, 1)
    procfs.process(root, 1301, "new", start=90000, utime=5)
    procfs.process(root, 1302, "same", start=95000, utime=3, read=4096)
    procfs.process(root, 1303, "grow", start=10000, utime=160)


def check(page, tree, see):
    first = tree == "proc.A"
    see.value(page, 1, "proctally_group_processes", group="same")
    see.value(page, 1, "proctally_group_processes", group="old" if first else "new")
    see.value(page, 1700000100 if first else 1700000950,
              "proctally_group_oldest_start_time_seconds", group="same")
    see.no_read_errors(page)


def check_once(page, tree, see):
    first = tree == "proc.A"
    see.groups(page, {"init", "canary", "same", "grow", "old" if first else "new"})
    see.cpu(page, "same", 70.00 if first else 0.03, 0.50)
    see.cpu(page, "grow", 1.00 if first else 1.60, 0.50)
    see.cpu(page, "old" if first else "new", 90.00 if first else 0.05, 0.50)


def check_served(pages, see):
    a, b = pages["proc.A"], pages["proc.B"]
    for group in ("old", "same", "grow"):
        see.cpu(a, group, 0, 0)
    see.value(b, 0, "proctally_group_processes", group="old")
    see.absent(b, "proctally_group_oldest_start_time_seconds", group="old")
    see.cpu(b, "old", 0, 0)
    see.cpu(b, "new", 0.05, 0.50)
    see.cpu(b, "same", 0.03, 0.50)
    see.cpu(b, "grow", 0.60, 0)
    see.value(b, 4096, "proctally_group_storage_read_bytes_total", group="same")
    see.value(b, 4096, "proctally_group_storage_read_bytes_total", group="new")
    see.value(b, 0, "proctally_group_storage_read_bytes_total", group="grow")
    for group, started, exited, restarts in (("old", 0, 1, 0), ("new", 1, 0, 0), ("same", 1, 1, 1),
                                             ("grow", 0, 0, 0), ("canary", 0, 0, 0)):
        see.value(b, started, "proctally_group_started_total", group=group)
        see.equal(f"exited of {group}",
                  b.get("proctally_group_exited_total", group=group, reason="unknown") or 0, exited)
        see.value(b, restarts, "proctally_group_restarts_total", group=group)
    see.no_steps_back(b)
