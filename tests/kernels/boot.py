#!/usr/bin/env python3
"""boot.py VERSION KERNEL INITRAMFS MANIFEST DIRECTORY - boots a guest and judges what it tells.

The machine is an emulated one, without a network, whose file system is the initramfs. What it tells
of the manifest's programs comes over its second serial port, see guest/init, and that alone decides:
a guest that panics, hangs or ends early has not told of all, and fails.
"""
import collections
import os
import re
import subprocess
import sys
import time

SKIP = 77
SECONDS = float(os.environ.get("KERNELS_SECONDS", "300"))
RUN_IN_GUEST = ("unit", "check", "program")
# An oops in a program's system call kills it and lets the others go on: it must end all.
COMMAND_LINE = "console=ttyS0 quiet panic=-1 oops=panic"
# One thread for all CPUs: with one each, a booting kernel that changes its own code died of the
# breakpoint that it had put there for a moment (QEMU 7.2). It takes no longer.
EMULATION = "tcg,thread=single"
LOG_LINES = 150

Ended = collections.namedtuple("Ended", "status seconds reasons")


class Told:
    """What the guest has told, from the bytes of the port. A line that was cut off tells nothing."""

    ENDED = re.compile(r"([\w.+-]+) (\d+) (\d+\.\d) ?(.*)")

    def __init__(self, data):
        self.kernel = None
        self.programs = {}
        self.end = None
        self.strange = []
        *lines, cut = data.decode("utf-8", "replace").replace("\r", "").split("\n")
        for line in lines:
            if not self._read(line):
                self.strange.append(line)
        if cut:
            self.strange.append(cut)

    def _read(self, line):
        word, _, rest = line.partition(" ")
        if word == "kernel" and self.kernel is None:
            self.kernel = rest
            return True
        if self.end is not None:
            return False
        if word == "end" and rest.isdigit():
            self.end = int(rest)
            return True
        found = self.ENDED.fullmatch(line)
        if not found or found[1] in self.programs:
            return False
        self.programs[found[1]] = Ended(int(found[2]), float(found[3]), found[4])
        return True


def how(status):
    """How a program ended that did not succeed, from the status as a shell has it."""
    if status > 128:
        return f"was ended by signal {status - 128}"
    return f"ended with {status}"


def judge(version, names, told):
    """-> (what is wrong, what was skipped), each a list of lines without the kernel's name"""
    faults, skips = [], []
    if told.kernel is None:
        faults.append("did not start its first process")
    elif not told.kernel.startswith(version + "."):
        faults.append(f"is no {version}")
    for name in names:
        ended = told.programs.get(name)
        if ended is None:
            continue
        if ended.status not in (0, SKIP):
            faults.append(f"{name} {how(ended.status)} after {ended.seconds} s")
        elif ended.status == SKIP or ended.reasons:
            skips.append(f"{name}{'' if ended.status == SKIP else ' in part'}: "
                         f"{ended.reasons.rstrip(';') or 'it gives no reason'}")
    # They run one after the other, so the first of those is the one that was running.
    missing = [name for name in names if name not in told.programs]
    if missing:
        faults.append(f"{missing[0]} did not end")
    if missing[1:]:
        faults.append(f"did not run {' '.join(missing[1:])}")
    faults += [f"told of {name}, which it was not given"
               for name in told.programs if name not in names]
    faults += [f"said {line!r}" for line in told.strange]
    if told.end is None:
        faults.append("did not come to its end")
    elif told.end != len(names):
        faults.append(f"ran {told.end} programs of {len(names)}")
    return faults, skips


def programs_of(manifest):
    """The names of what is run in the guest, in this order."""
    with open(manifest, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return [row[1] for row in rows if row[0] in RUN_IN_GUEST]


def boot(kernel, initramfs, directory):
    """Runs the machine to its end. -> (its log, what it told, what went wrong with it)"""
    log, told = os.path.join(directory, "log"), os.path.join(directory, "told")
    command = ["setpriv", "--pdeathsig", "KILL",
               "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
               "-accel", EMULATION, "-cpu", "max", "-m", "1024", "-smp", "2",
               "-nic", "none", "-display", "none", "-serial", "file:log", "-serial", "file:told",
               "-kernel", kernel, "-initrd", initramfs, "-append", COMMAND_LINE]
    for path in (log, told):
        with open(path, "wb"):
            pass
    faults = []
    try:
        done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            faults.append(f"the machine ended with {done.returncode}: "
                          f"{done.stderr.decode('utf-8', 'replace').strip()}")
    except subprocess.TimeoutExpired:
        faults.append(f"the machine did not end within {SECONDS:.0f} s")
    with open(log, "rb") as f, open(told, "rb") as g:
        return f.read().decode("utf-8", "replace"), Told(g.read()), faults


def main():
    version, kernel, initramfs, manifest, directory = sys.argv[1:]
    names = programs_of(manifest)
    begin = time.monotonic()
    log, told, faults = boot(os.path.abspath(kernel), os.path.abspath(initramfs), directory)
    seconds = time.monotonic() - begin
    of_guest, skips = judge(version, names, told)
    faults += of_guest

    title = f"kernel {version} ({os.path.basename(kernel)})"
    if faults:
        print(f"--- the end of what {title} logged ---")
        print("\n".join(log.replace("\r", "").splitlines()[-LOG_LINES:]))
        print("---")
    for line in skips:
        print(f"{title}: skipped {line}")
    for line in faults:
        print(f"{title}: FAIL {line}")
    inside = sum(ended.seconds for ended in told.programs.values())
    print(f"{title}: {len(told.programs)} of {len(names)} programs told, {len(faults)} faults, "
          f"{seconds:.0f} s, of which programs {inside:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
