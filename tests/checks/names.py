#!/usr/bin/env python3
"""The tree names no host but this one and those that stand for none, and no path of somebody's
machine: where packages come from is the business of whoever builds."""
import re

from sources import files, finish, text

URL = re.compile(r"\b[a-z][a-z0-9+.-]*://(?:[^/\s@\"'`]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)")
OURS = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|[\w.-]*\bexample(\.[a-z]+)?|[a-zA-Z]{1,12}")
PATHS = re.compile(r"(?<![\w.])(/root/|/home/[a-z]|/srv/[a-z]|/Users/)")
ITSELF = "tests/checks/names.py"


def strange(line):
    """What in the line names another host or a machine's own path."""
    for found in URL.finditer(line):
        if not OURS.fullmatch(found[1]):
            yield found[0]
    for found in PATHS.finditer(line):
        yield found[0]


def main():
    faults = []
    for path in files():
        if path == ITSELF:
            continue
        for number, line in enumerate(text(path).splitlines(), 1):
            faults += [f"{path}:{number}: {found!r}" for found in strange(line)]
    finish(faults)


main()
