#!/usr/bin/env python3
"""Who may include what, and who may look at the clock or the environment.

lib/ has no HTTP, INI, systemd, threads, environment or clock. Each foreign header is included by one
.c and its .h. Readers of files that may block are the prober's alone. Nothing climbs by "../".
"""
import re

from sources import files, finish, text

NOT_IN_LIB = ["microhttpd.h", "ini.h", "systemd/", "pthread.h", "threads.h", "libdeflate.h",
              "syslog.h", "time.h", "sys/time.h", "sys/timerfd.h"]
CALLS_NOT_IN_LIB = ["getenv", "secure_getenv", "setenv", "clock_gettime", "gettimeofday", "time",
                    "nanosleep", "usleep", "sleep", "syslog", "pthread_create"]
MAY_BLOCK = ["procfs/pid_maps.h", "procfs/pid_smaps.h", "procfs/pid_cmdline.h",
             "procfs/pid_exe.h"]
ONE_PAIR = ["microhttpd.h", "ini.h", "libdeflate.h", "pcre2.h", "sys/capability.h",
            "systemd/sd-daemon.h", "systemd/sd-journal.h"]


def without_comments_and_strings(code):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", code, flags=re.S)


def included(code):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', code, re.M)


def main():
    faults, users = [], {header: set() for header in ONE_PAIR}
    for path in files("lib", "daemon", endings=[".c", ".h", ".def", ".in"]):
        code = text(path)
        for header in included(code):
            if header.startswith(".") or "/../" in header:
                faults.append(f"{path}: climbs to {header}")
            if path.startswith("lib/") and any(
                    header == f or f.endswith("/") and header.startswith(f) for f in NOT_IN_LIB):
                faults.append(f"{path}: {header} has no place in lib/")
            if header in MAY_BLOCK and path not in ("lib/procfs/probe.c", f"lib/{header[:-2]}.c"):
                faults.append(f"{path}: {header} may block, only probe.c reads by it")
            if header in users:
                users[header].add(path.rpartition(".")[0])
        if path.startswith("lib/"):
            for name in re.findall(r"\b(\w+)\s*\(", without_comments_and_strings(code)):
                if name in CALLS_NOT_IN_LIB:
                    faults.append(f"{path}: calls {name}()")
    for header, pairs in users.items():
        if len(pairs) != 1:
            faults.append(f"<{header}> is included by {sorted(pairs) or 'nobody'}, not by one pair")
    finish(faults)


main()
