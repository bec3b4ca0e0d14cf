#!/usr/bin/env python3
"""Each header compiles alone, and twice: it includes what it needs, and is guarded."""
import json
import os
import platform
import shlex
import shutil
import subprocess

from sources import BUILD, COMPILER, files, finish

IN_LIB = "-Wall -Wextra -Werror -Wstrict-prototypes -D_GNU_SOURCE -std=gnu17 -fsyntax-only".split()
# What is compiled for the kernel, and not where the source is not built.
IN_KERNEL = "lib/bpf/kernel/"
ARCHITECTURES = {"x86_64": "x86", "aarch64": "arm64"}


def include_flags():
    """Every include path that any file of the build has."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    flags = []
    for command in commands:
        words = shlex.split(command["command"])
        for i, word in enumerate(words):
            flag = [word] if word.startswith("-I") else words[i:i + 2] if word == "-isystem" else []
            if flag and flag not in flags:
                flags.append(flag)
    return [word for flag in flags for word in flag]


def kernel_compiler():
    """Clang as lib/bpf calls it; nothing where it cannot be called so."""
    clang, machine = shutil.which("clang") or shutil.which("clang-14"), platform.machine()
    if not clang or machine not in ARCHITECTURES or not os.path.exists("/usr/include/bpf"):
        return []
    return [clang, "-target", "bpf", "-g", "-O2", "-Wno-unused-parameter",
            f"-D__TARGET_ARCH_{ARCHITECTURES[machine]}",
            "-idirafter", f"/usr/include/{machine}-linux-gnu"]


def main():
    faults, flags, in_kernel = [], include_flags(), kernel_compiler()
    for path in files("lib", "daemon", endings=[".h"]):
        compiler = in_kernel if path.startswith(IN_KERNEL) else [COMPILER]
        line = f'#include "{path.removeprefix("lib/")}"\n'
        for count in (1, 2) if compiler else ():
            done = subprocess.run([*compiler, *IN_LIB, *flags, "-x", "c", "-"],
                                  input=line * count, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                faults.append(f"{path}, included {'alone' if count == 1 else 'twice'}:\n{done.stderr}")
                break
    finish(faults)


main()
