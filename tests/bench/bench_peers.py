#!/usr/bin/env python3
"""CPU per process and sample of other exporters over ordinary processes, against the daemon's.

The daemon is there twice, with processes as text and as the kernel counts them.
Peers that are not installed are left out. Each round takes one sample of the peer and one of the
daemon, both scraped over loopback; ratios are medians over the rounds. For the daemon a sample is
a whole cycle and the scrape of it.
"""
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import field

NAMES = "process_names:\n  - name: '{{.Comm}}'\n    cmdline:\n    - '.+'\n"
APPS_PLUGIN = "/usr/lib/netdata/plugins.d/apps.plugin"
# apps.plugin samples by itself, once a second.
APPS_SECONDS = 4


class Exporter:
    """A peer that samples when it is scraped."""

    def __init__(self, *command):
        self.program = field.Program(*command)
        self.program.wait_ready()

    def sample(self):
        before = self.program.cpu_seconds()
        self.program.scrape()
        return self.program.cpu_seconds() - before

    def stop(self):
        self.program.process.terminate()
        self.program.process.wait()


class AppsPlugin:
    """It is stopped between the rounds, lest it takes its samples during others'."""

    def __init__(self, *arguments):
        self.output = tempfile.TemporaryFile()
        # The end of its standard input would end it.
        self.process = subprocess.Popen([APPS_PLUGIN, "1", *arguments], stdin=subprocess.PIPE,
                                        stdout=self.output, stderr=subprocess.DEVNULL)
        time.sleep(3)
        self.process.send_signal(signal.SIGSTOP)

    def frames(self):
        return os.pread(self.output.fileno(), 1 << 30, 0).count(b"BEGIN apps.cpu ")

    def sample(self):
        frames, before = self.frames(), field.cpu_seconds(self.process.pid)
        self.process.send_signal(signal.SIGCONT)
        time.sleep(APPS_SECONDS)
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        return (field.cpu_seconds(self.process.pid) - before) / max(1, self.frames() - frames)

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.output.close()


def peers(names_path):
    """Name, program, and what makes it."""
    exporter = ["prometheus-process-exporter", "-web.listen-address=127.0.0.1:PORT",
                f"-config.path={names_path}"]
    node = ["prometheus-node-exporter", "--web.listen-address=127.0.0.1:PORT",
            "--collector.disable-defaults", "--collector.processes", "--collector.stat"]
    return [
        ("process-exporter, its defaults", exporter[0], lambda: Exporter(*exporter)),
        ("process-exporter, no threads, no PSS", exporter[0],
         lambda: Exporter(*exporter, "-threads=false", "-gather-smaps=false")),
        ("node_exporter, processes and stat (counts)", node[0], lambda: Exporter(*node)),
        ("apps.plugin", APPS_PLUGIN, AppsPlugin),
        ("apps.plugin without files", APPS_PLUGIN, lambda: AppsPlugin("without-files")),
    ]


def daemon_sample(daemon):
    before = daemon.cpu_seconds()
    daemon.collect()
    return daemon.cpu_seconds() - before


def compare(name, make, daemons, rounds):
    peer = make()
    theirs, ours = [], [[] for _ in daemons]
    try:
        for _ in range(rounds):
            theirs.append(peer.sample())
            for daemon, samples in zip(daemons, ours):
                samples.append(daemon_sample(daemon))
    finally:
        peer.stop()
    per_process = 1e6 / field.processes()
    row = f"  {name:44} {statistics.median(theirs) * per_process:9.1f}"
    for samples in ours:
        ratio = statistics.median(t / o for t, o in zip(theirs, samples))
        row += f" {statistics.median(samples) * per_process:9.1f} {ratio:8.2f}"
    print(row, flush=True)


def daemons_of(program):
    """By the source of each; where the kernel's programs cannot be loaded, there is one."""
    found = {}
    for source in "procfs", "bpf":
        try:
            found[source] = field.Proctallyd(program, source=source)
        except OSError:
            print(f"source {source}: not to be had")
    return found


def main():
    args = field.arguments(processes=2000, rounds=7)
    if not any(shutil.which(program) for _, program, _ in peers("")):
        field.skip("no peer is installed")
    field.isolate()
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as names, \
            field.Farm(args.procfarm, args.processes, field.TYPICAL), \
            contextlib.ExitStack() as stack:
        daemons = daemons_of(args.proctallyd)
        for daemon in daemons.values():
            stack.enter_context(daemon)
            daemon.collect()
        names.write(NAMES)
        names.flush()
        heads = "".join(f" {source:>9} {'ratio':>8}" for source in daemons)
        print(f"{field.processes()} processes: CPU us per process and sample, medians of "
              f"{args.rounds} rounds\n  {'peer':44} {'peer':>9}{heads}", flush=True)
        for name, program, make in peers(names.name):
            if shutil.which(program):
                compare(name, make, list(daemons.values()), args.rounds)
            else:
                print(f"  {name:44} not installed")


main()
