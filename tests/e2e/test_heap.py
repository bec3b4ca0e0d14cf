#!/usr/bin/env python3
"""A warm cycle over processes that do not change makes no heap call on the collector's thread,
scraped or not."""
import glob
import os
import struct
import sys
import tempfile

from harness.daemon import Daemon, Failure
from harness.tests import BY_COMM, Tree, equal, main, procfs, true

WARM_UP = 30
CYCLES = 50
ALL = ("[groups]\ncompat = process-exporter\n\n[metrics]\ninclude = *\n\n"
       "[processes]\ntop = 30\nby = memory\n\n")
# What rules look at is read by turns, of users the names are looked up, and parents lead.
RULES = r"""[exclude some]
exe = gone
cmdline = never

[group ${user}-${1}]
user = 1000
cmdline = -n (\w+)
children = yes

"""
CONFIGS = {"default": BY_COMM, "all families": ALL + BY_COMM,
           "threads": "[threads]\ngroups = worker-*\n\n" + BY_COMM, "rules": RULES + BY_COMM}


def put_texts(tree):
    for path in glob.glob(f"{tree}/1????"):
        pid = int(os.path.basename(path))
        procfs.write(f"{path}/cmdline", f"worker\0-n\0w{pid % 10}\0" if pid % 3 else "worker\0")
        procfs.write(f"{path}/cgroup", f"0::/system.slice/w{pid % 7}.service\n")


def put_threads(tree):
    """Three for each worker."""
    for path in glob.glob(f"{tree}/1????"):
        for tid in range(int(os.path.basename(path)), 40000, 10000):
            for name, text in (("stat", procfs.stat(tid, f"t{tid % 7}")),
                               ("status", procfs.status(tid, "x")), ("schedstat", "1 2 3\n")):
                procfs.write(f"{path}/task/{tid}/{name}", text)


def test_warm_cycles():
    for name, config in CONFIGS.items():
        with tempfile.TemporaryDirectory(prefix="proctally.") as directory, Tree(100) as tree:
            path = os.path.join(directory, "counts")
            put_threads(tree)
            put_texts(tree)
            # With the state written in each of them.
            procfs.write(f"{tree}/sys/kernel/random/boot_id", "b9b3d7c0-6b1f-4a5c-9d70-3f0a1f2b4c5d\n")
            environment = {"LD_PRELOAD": os.environ["PROCTALLY_HEAPCOUNT"], "HEAPCOUNT_FILE": path,
                           "RUNTIME_DIRECTORY": directory}

            def calls(path=path):
                with open(path, "rb") as f:
                    return struct.unpack("QQ", f.read(16))

            with Daemon(config=config, procfs=tree, environment=environment) as daemon:
                daemon.wait_ready()
                threads = set()
                for tid in os.listdir(f"/proc/{daemon.pid}/task"):
                    with open(f"/proc/{daemon.pid}/task/{tid}/comm", encoding="ascii") as f:
                        threads.add(f.read().strip())
                if "collector" not in threads:
                    raise Failure(f"no thread is named collector: {threads}")
                page = daemon.settle(WARM_UP)
                equal("threads", sum(page.of("proctally_group_threads_by_name").values()),
                      300 if name == "threads" else 0)
                if name == "rules":
                    true("texts decide", any("-w" in group for group in page.groups()))
                    equal("pending", page.value("proctally_pending_processes"), 0)
                true("a state is written", os.path.getsize(f"{directory}/state") > 0)
                collector, others = calls()
                true("calls are counted at all", collector > 0 and others > 0)
                daemon.settle(CYCLES)
                after, others_after = calls()
                equal(f"{name}: heap calls in {CYCLES} cycles", after - collector, 0)
                true("scrapes did call the heap", others_after > others)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
