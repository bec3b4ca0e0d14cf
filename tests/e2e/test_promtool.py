#!/usr/bin/env python3
"""promtool finds nothing: not on a host's own page, nor with every family on."""
import shutil
import subprocess
import sys

from harness.daemon import Daemon, once, skip
from harness.tests import BY_COMM, equal, main, true

CONFIGS = {"default": None,
           "all families": "[groups]\ncompat = process-exporter\n\n[metrics]\ninclude = *\n\n"
                           "[processes]\ntop = 10\n\n[threads]\ngroups = *\n\n" + BY_COMM}


def lint(page):
    return subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True,
                          check=False)


def test_once():
    for name, config in CONFIGS.items():
        done = lint(once(config=config).body)
        equal(f"{name}: what promtool says", (done.stdout + done.stderr).decode(), "")
        equal(f"{name}: its exit status", done.returncode, 0)


def test_served():
    with Daemon(config=CONFIGS["all families"]) as daemon:
        daemon.wait_ready()
        daemon.ask("/no-such-path")
        page = daemon.settle()
        for name in ("proctally_process_cpu_seconds_total", "namedprocess_namegroup_num_procs"):
            true(f"{name} is on the page", page.of(name))
        done = lint(page.body)
        equal("what promtool says", (done.stdout + done.stderr).decode(), "")
        equal("its exit status", done.returncode, 0)


if __name__ == "__main__":
    if not shutil.which("promtool"):
        skip("promtool is not installed (package prometheus)")
    sys.exit(main(sys.modules[__name__]))
