"""What the source bpf takes, seen to without it."""
import ctypes
import os
import platform
import re
import struct
import subprocess

from .daemon import BINARY
from .tests import Unavailable

BTF = "/sys/kernel/btf/vmlinux"
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
CAP_PERFMON, CAP_BPF = 38, 39
BOTH = 1 << CAP_PERFMON | 1 << CAP_BPF
BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY = 0, 2


def kernel():
    return tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())


def status_of(pid="self"):
    """/proc/PID/status; of a thread by PID/task/TID."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def may_call_bpf():
    """Whether an array of one element can be made."""
    attributes = ctypes.create_string_buffer(struct.pack("IIII", BPF_MAP_TYPE_ARRAY, 4, 4, 1), 128)
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_MAP_CREATE, attributes, 128)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def is_built():
    done = subprocess.run([BINARY, "--check-config", "--collector.source=bpf"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


def need_build():
    if not is_built():
        raise Unavailable("this build has no bpf source")


def need_bpf():
    need_build()
    if kernel() < (5, 10):
        raise Unavailable("the kernel is older than 5.10")
    if not os.access(BTF, os.R_OK):
        raise Unavailable(f"no {BTF}")
    if int(status_of()["CapEff"], 16) & BOTH != BOTH or not may_call_bpf():
        raise Unavailable("loading programs is not permitted here")
