#!/usr/bin/env python3
"""Which source `auto` takes where, what is told of it, and that nothing of what loading takes is
left; and what becomes of who asks for `bpf` where it cannot be had."""
import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness.bpf import BOTH, BTF, CAP_BPF, SYS_BPF, is_built, kernel, need_bpf, need_build, status_of
from harness.daemon import BINARY, PATIENCE_S, Daemon, once, wait_until
from harness.tests import Tree, Unavailable, equal, main, true

REFUSE = os.environ["PROCTALLY_REFUSE"]
INSIDE = "PROCTALLY_TEST_INSIDE"
NOBODY = 65534
CANNOT = "the source bpf cannot be had"


def need_root():
    if os.geteuid() != 0:
        raise Unavailable("needs root")


def need_tool(*command):
    if not shutil.which(command[0]) or subprocess.run(
            [*command, "true"], capture_output=True, check=False).returncode != 0:
        raise Unavailable(f"{' '.join(command)} does not work here")


def info(page):
    """-> (source, reason)"""
    series = page.of("proctally_source_info")
    equal("series of proctally_source_info", len(series), 1)
    labels = dict(next(iter(series)))
    return labels["source"], labels["reason"]


def field(line, key):
    found = re.search(rf' {key}=("(?:[^"\\]|\\.)*"|\S+)', line)
    return found[1].strip('"') if found else None


def check_told(daemon, source, reason, told=0):
    """Of the choice, in the log: `told` lines of what cannot be had. -> the last one"""
    wait_until("the start is logged", lambda: " msg=started " in daemon.log())
    lines = [line for line in daemon.log_lines() if CANNOT in line]
    equal("lines of what cannot be had", len(lines), told)
    for line in lines:
        equal("level", field(line, "level"), "info")
        equal("reason", field(line, "reason"), reason)
    started = [line for line in daemon.log_lines() if " msg=started " in line]
    equal("lines of the start", len(started), 1)
    equal("started", (field(started[0], "source"), field(started[0], "reason")), (source, reason))
    return field(lines[-1], "error") if lines else None


def check_capabilities(daemon):
    """No thread has any of the two, nor can get it."""
    for tid in os.listdir(f"/proc/{daemon.pid}/task"):
        status = status_of(f"{daemon.pid}/task/{tid}")
        may_keep = 1 << CAP_BPF if kernel() < (5, 19) and status["Name"] != "proctallyd" else 0
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            equal(f"{name} of {status['Name']}", int(status[name], 16) & BOTH & ~may_keep, 0)
        if status["Uid"].split()[1] == "0":
            equal(f"CapBnd of {status['Name']}", int(status["CapBnd"], 16) & BOTH & ~may_keep, 0)


def check_chosen(source, reason, told=0, **how):
    """Starts the daemon so and looks at all that tells of its choice. -> the line's error"""
    with Daemon(**how) as daemon:
        daemon.wait_ready()
        why = check_told(daemon, source, reason, told)
        equal("proctally_source_info", info(daemon.page()), (source, reason))
        check_capabilities(daemon)
        return why


# ---- where it can be had ----

def test_auto_takes_bpf():
    need_bpf()
    check_chosen("bpf", "self_test_passed")


def test_asked_for():
    need_bpf()
    check_chosen("bpf", "configured", config="[collector]\nsource = bpf\n")


def test_procfs_is_asked_for():
    check_chosen("procfs", "configured", config="[collector]\nsource = procfs\n")


def test_not_built():
    if is_built():
        raise Unavailable("this build has the bpf source")
    check_chosen("procfs", "not_built")


def with_both(user=NOBODY):
    """A user that has the two capabilities and no others."""
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
               "--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"]
    need_tool(*command)
    return command


def readable_binary(directory):
    """The binary where others than we may look."""
    os.chmod(directory, 0o755)
    return shutil.copy(BINARY, directory)


def test_a_user_with_two_capabilities():
    need_bpf()
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        check_chosen("bpf", "self_test_passed", binary=readable_binary(directory),
                     under=with_both())


def in_namespaces(*options):
    """Runs this program's test_inside in new ones."""
    command = ["unshare", "--mount", "--fork", "--kill-child", *options]
    need_tool(*command)
    done = subprocess.run([*command, sys.executable, "-B", *sys.argv],
                          env={**os.environ, INSIDE: " ".join(options)}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=4 * PATIENCE_S, check=False)
    true(done.stdout.decode("utf-8", "replace"), done.returncode == 0)


def test_pid_namespace():
    need_bpf()
    in_namespaces("--pid", "--mount-proc")


def test_time_namespace():
    """Starts are others there than the kernel's own."""
    need_bpf()
    in_namespaces("--time", "--boottime=100000", "--pid", "--mount-proc")


def inside():
    """In namespaces of its own; the exit status."""
    if "--time" in os.environ[INSIDE]:
        why = check_chosen("procfs", "self_test_failed", told=1)
        true(f"says why: {why}", "began at tick" in why)
    else:
        check_chosen("bpf", "self_test_passed")
    return 0


# ---- where it cannot ----

def check_refused(reason, says, **how):
    """`auto` takes the procfs, and whoever asks for bpf gets an error that says the same."""
    why = check_chosen("procfs", reason, told=1, **how)
    true(f"says why: {why}", re.search(says, why))
    flags = [f"--path.procfs={how['procfs']}"] if "procfs" in how else []
    done = subprocess.run(
        [*how.get("under", ()), how.get("binary", BINARY), "--web.listen-address=127.0.0.1:0",
         "--collector.source=bpf", *flags],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
    equal("exit status", done.returncode, 1)
    lines = done.stderr.decode().splitlines()
    equal(f"lines {lines}", len(lines), 1)
    true(lines[0], lines[0].startswith(f"proctallyd: {CANNOT}: ") and re.search(says, lines[0]))


def test_seccomp():
    need_bpf()
    for error in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        check_refused("not_permitted", "seccomp", under=[REFUSE, f"{SYS_BPF}={error}", "--"])


def test_root_without_capabilities():
    need_build()
    need_root()
    command = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"]
    need_tool(*command)
    check_refused("not_permitted", "CAP_BPF and CAP_PERFMON", under=command)


def test_user_without_capabilities():
    need_build()
    if os.geteuid() != 0:
        check_refused("not_permitted", "CAP_BPF and CAP_PERFMON")
        return
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    need_tool(*command)
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        check_refused("not_permitted", "CAP_BPF and CAP_PERFMON",
                      binary=readable_binary(directory), under=command)


def test_no_btf():
    """Wherever the library may look for it."""
    need_bpf()
    need_tool("unshare", "--mount")
    places = [path for path in (os.path.dirname(BTF), "/boot", "/lib/modules", "/usr/lib/modules",
                                "/usr/lib/debug") if os.path.isdir(path)]
    hide = " && ".join(f"mount -t tmpfs none {path}" for path in places)
    check_refused("no_btf", BTF, under=["unshare", "--mount", "sh", "-c",
                                        f"{hide} && exec \"$@\"", "sh"])


def test_btf_is_masked():
    need_bpf()
    need_tool("unshare", "--mount")
    check_refused("no_btf", BTF, under=["unshare", "--mount", "sh", "-c",
                                        f"mount --bind /dev/null {BTF} && exec \"$@\"", "sh"])


def test_tree_of_files():
    need_build()
    with Tree() as tree:
        os.symlink(str(os.getpid()), f"{tree}/self")
        check_refused("foreign_procfs", re.escape(tree), procfs=tree)


@contextlib.contextmanager
def other_procfs():
    """The path of a mount of another pid namespace."""
    need_tool("unshare", "--mount", "--pid", "--fork", "--mount-proc")
    other = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                              "sh", "-c", "echo; exec sleep 1000"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        equal("it is mounted", other.stdout.readline(), b"\n")
        with open(f"/proc/{other.pid}/task/{other.pid}/children", encoding="ascii") as f:
            yield os.path.join("/proc", f.read().split()[0], "root", "proc")
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def test_procfs_of_another_namespace():
    need_build()
    need_root()
    with other_procfs() as path:
        check_refused("foreign_procfs", re.escape(path), procfs=path)


def test_no_procfs():
    need_build()
    for source in ("auto", "bpf"):
        done = subprocess.run([BINARY, "--web.listen-address=127.0.0.1:0",
                               "--path.procfs=/nonexistent/proc", f"--collector.source={source}"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                              check=False)
        equal("exit status", done.returncode, 1)
        true(done.stderr, b"cannot read /nonexistent/proc: No such file" in done.stderr)


# ---- one look ----

def test_once():
    equal("asked for", info(once("--collector.source=procfs")), ("procfs", "configured"))
    need_build()
    for source in ("auto", "bpf"):
        equal(source, info(once(f"--collector.source={source}")), ("procfs", "not_needed"))


if __name__ == "__main__":
    sys.exit(inside() if os.environ.get(INSIDE) else main(sys.modules[__name__]))
