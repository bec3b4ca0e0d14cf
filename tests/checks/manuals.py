#!/usr/bin/env python3
"""The manual pages: scdoc takes them, and mandoc finds nothing in what it makes of them but the
paragraphs that scdoc itself leaves empty."""
import os
import shutil
import subprocess

from sources import SOURCE, files, finish, skip


def main():
    pages = files("docs", endings=[".scd"])
    if not pages:
        skip("there are no manual pages")
    for tool in ("scdoc", "mandoc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    faults = []
    for page in pages:
        with open(os.path.join(SOURCE, page), "rb") as f:
            made = subprocess.run(["scdoc"], stdin=f, capture_output=True, check=False)
        if made.returncode or made.stderr:
            faults.append(f"{page}: {made.stderr.decode()}")
            continue
        judged = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=made.stdout,
                                capture_output=True, check=False)
        faults += [f"{page}: {line}" for line in (judged.stdout + judged.stderr).decode().splitlines()
                   if "skipping paragraph macro" not in line]
    finish(faults)


main()
