#!/usr/bin/env python3
"""The C sources are as clang-format 14 leaves them."""
import os
import shutil
import subprocess

from sources import SOURCE, files, finish, skip


def main():
    tool = shutil.which("clang-format-14")
    if not tool:
        skip("clang-format-14 is not installed")
    paths = [os.path.join(SOURCE, p) for p in files("lib", "daemon", "tests", endings=[".c", ".h"])]
    done = subprocess.run([tool, "--dry-run", "--Werror", *paths], capture_output=True, text=True,
                          check=False)
    finish([done.stderr] if done.returncode else [])


main()
