#!/usr/bin/env python3
"""Runs cases: run.py 01 [07 ...]. PROCTALLYD names the daemon's binary.

A case is a module case_NN that says what is odd and what has to come out:

    build(at)                 writes trees; at("proc") gives the path of one
    check(page, tree, see)    holds for --once and for the running daemon alike
    check_once(page, tree, see)      totals since process start
    check_served(pages, see)  what the daemon showed of each tree, by the tree's name
    check_log(lines, tree, see)      log lines of the daemon's run
    canary(expected, tree)    changes what the canary has to show
    extra(at, see)            runs of its own

Trees named proc.A, proc.B ... are successive cycles of one daemon: it is stopped, the tree is
changed in place, it goes on. Other trees are separate. What must hold of every daemon on every
tree is checked here: it lives and answers, the page is well formed, the canary is exact, no
counter falls, the log is quiet, descriptors and memory stay.
"""
import importlib
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fixtures"), os.path.join(HERE, "..", "e2e")]

import procfs  # noqa: E402
from harness.daemon import SANITIZE, Daemon, Failure, once, wait_until  # noqa: E402
from see import See  # noqa: E402

CONFIG = "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"
CYCLES = {"A", "B", "C", "D"}
IDLE_SNAPSHOTS = 10
IDLE_GROWTH_KB = 256
IDLE_ROUNDS = 4


def sequences(trees):
    """[[tree, ...], ...]: which trees one daemon sees one after the other."""
    cycles = [t for t in trees if t.rpartition(".")[2] in CYCLES]
    return [cycles] if cycles else [[t] for t in trees]


def check_canary(case, page, tree, step, see, counters):
    expected = see.canary_gauges()
    expected.update(counters(step))
    if hasattr(case, "canary"):
        case.canary(expected, tree)
    see.canary(page, expected)


def check_idle(daemon, see):
    """Over a tree that does not change nothing grows and nothing is logged."""
    lines, descriptors = len(daemon.log_lines()), daemon.descriptors()
    grown = []
    # A reader who still has the last page makes the next need a second buffer: growth that ends.
    while not grown or (grown[-1] > IDLE_GROWTH_KB and len(grown) < IDLE_ROUNDS):
        memory = daemon.status_kb("VmRSS")
        daemon.settle(IDLE_SNAPSHOTS)
        grown.append(daemon.status_kb("VmRSS") - memory)
    see.equal("log lines while idle", daemon.log_lines()[lines:], [])
    # Connections just closed on our side are open on the daemon's for a moment.
    wait_until(f"as few descriptors as before, {descriptors}",
               lambda: daemon.descriptors() <= descriptors)
    if not SANITIZE:  # their allocators keep what was freed
        see.at_most(f"growth while idle, kB, at last of {grown}", grown[-1], IDLE_GROWTH_KB)


def run_once(case, at, tree, step):
    see = See(f"{tree} --once")
    page = once(config=CONFIG, procfs=at(tree))
    check_canary(case, page, tree, step, see, see.canary_totals)
    for name in ("check", "check_once"):
        if hasattr(case, name):
            getattr(case, name)(page, tree, see)
    return see.faults


def run_daemon(case, at, trees, live):
    see = See("->".join(trees))
    pages = {}
    if len(trees) == 1:
        live = at(trees[0])
    else:
        procfs.replace(at(trees[0]), live)
    with Daemon(config=CONFIG, procfs=live) as daemon:
        daemon.wait_ready()
        for step, tree in enumerate(trees):
            if step:
                daemon.pause()
                procfs.replace(at(tree), live)
                daemon.resume()
            page = pages[tree] = daemon.settle()
            at_tree = See(f"{tree} served")
            check_canary(case, page, tree, step, at_tree, at_tree.canary_steps)
            if hasattr(case, "check"):
                case.check(page, tree, at_tree)
            see.faults += at_tree.faults
        check_idle(daemon, see)
        pages["daemon"] = daemon
        if hasattr(case, "check_served"):
            case.check_served(pages, see)
        if hasattr(case, "check_log"):
            case.check_log(daemon.log_lines(), trees[-1], see)
    return see.faults


def run(number):
    case = importlib.import_module(f"case_{number}")
    faults = []
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        trees = []

        def at(tree):
            if tree not in trees:
                trees.append(tree)
            return os.path.join(directory, tree)

        case.build(at)
        for count, sequence in enumerate(sequences(trees)):
            for step, tree in enumerate(sequence):
                faults += run_once(case, at, tree, step)
            faults += run_daemon(case, at, sequence, os.path.join(directory, f"live{count}"))
        if hasattr(case, "extra"):
            see = See("extra")
            case.extra(at, see)
            faults += see.faults
    return faults


def main(numbers):
    bad = 0
    for number in numbers:
        try:
            faults = run(number)
        except (Failure, KeyError) as e:
            faults = [str(e)]
        print(("FAIL " if faults else "ok   ") + number)
        for fault in faults:
            print("     " + fault)
        bad += bool(faults)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
