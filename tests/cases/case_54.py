"""Files of settings that are wrong, or odd.

63 of them, each derived from a good one, and a missing one, one without permission. What inih 55 makes
of them unaided: a line is cut at about 200 bytes and its rest parsed as another, names are cut at 49, a
directory is an empty file, ` ;` begins a comment inside a value. Expected: the good ones come to what
the plain one does; each other is refused within 5 s by one line that names file and line, with an exit
status that is not 0, before anything was started; --check-config says the same.
"""
import os
import re
import subprocess
import tempfile
import time

import procfs
from harness.daemon import BINARY, SANITIZE, Daemon, become, free_port

KEY = "comm"
NAME_MAX = 49
LINE_MAX = 199
REFUSED_S = 5 if not SANITIZE else 30
GOOD = """[group db]
comm = postgres mysqld

[group ${comm}]
comm = *

[collector]
interval = 1s
probe_deadline = 2s

[web]
listen = 127.0.0.1:19256
request_deadline = 10s
"""
LAST = GOOD.count("\n") + 2  # the line of what is appended
SAME = ["bom", "crlf", "nonl", "tabs", "long-comment"]
# The value as it has to be shown; a glob is no regular expression, and has none of its costs.
WHOLE = {"long-value": "^(" + "a" * 400 + ")$", "empty-regex": "()", "redos": "(a+)+$",
         "bad-regex": "^(unclosed", "huge-regex": "(a{1,255}){1,255}",
         "template": "{{.PID}}{{.Nope}}{{",
         "long-value-inject": "x" * (LINE_MAX - len("comm = ")) + "listen = 0.0.0.0:1"}
# Regular expressions, as what they are.
EXPRESSIONS = {"empty-expression": "()", "redos-expression": "(a+)+$", "blanks-expression": "a  b = c"}
EMPTY = ["empty", "blank", "only-comment"]
# The line to be named, 0: none of the file's; and what the text has to tell.
REFUSED = {
    "bom2": (1, "byte order mark"), "utf16": (1, "UTF-16"), "cr": (1, "CR"), "nul": (1, "0x00"),
    "long-key": (LAST, "key is longer"), "long-section": (LAST, "name is longer"),
    "cut-key": (LAST, "key is longer"), "unknown-key": (LAST, "no_such_key"),
    "unknown-section": (LAST, "no_such_section"), "dup-key": (3, "first in line 2"),
    "dup-section": (LAST, "first in line 1"), "no-equals": (LAST, "key = value"),
    "unclosed-section": (LAST, "]"), "empty-key": (LAST, "indented"),
    "empty-value": (2, "needs a value"), "quotes": (2, "quote"), "indent": (2, "indented"),
    "semicolon": (2, "comment"), "hash": (2, "comment"), "bad-class": (2, "backwards"),
    "nonutf8": (2, "UTF-8"),
    "bad-expression": (2, "missing closing parenthesis"), "bad-class-expression": (2, "range out of"),
    "huge-expression": (2, "too large"), "bad-capture": (1, "${2}"), "bad-place": (1, "${pid}"),
    **{f"{name}-interval": (8, "interval") for name in ("neg", "zero", "nan", "huge", "over", "unit",
                                                       "frac")},
    **{f"{name}-probe_deadline": (9, "probe_deadline") for name in ("neg", "zero", "huge")},
    **{f"bad{i}-listen": (12, "listen") for i in range(6)},
    "long-file": (0, "larger"), "many-sections": (LAST, "x0"), "directory": (0, "directory"),
    "loop": (0, "symbolic links"), "fifo": (0, "no regular file"), "devzero": (0, "no regular file"),
    "missing": (0, "No such file"), "mode-000": (0, "Permission denied"),
}


def build(at):
    procfs.base(at("proc"))


def with_value(value, key=KEY):
    return re.sub(rf"(?m)^({key} = ).*$", lambda m: m.group(1) + value, GOOD, count=1)


def with_expression(value):
    return GOOD.replace("comm = postgres mysqld", f"cmdline = {value}")


def derive(directory):
    """Writes all of them."""
    def put(name, text):
        procfs.write(f"{directory}/{name}.ini", text)

    plain = GOOD.encode()
    put("plain", plain)
    put("bom", b"\xef\xbb\xbf" + plain)
    put("bom2", b"\xef\xbb\xbf" * 2 + plain)
    put("crlf", plain.replace(b"\n", b"\r\n"))
    put("cr", plain.replace(b"\n", b"\r"))
    put("nonl", plain.rstrip(b"\n"))
    put("utf16", GOOD.encode("utf-16"))
    put("nul", plain.replace(b"\n", b"\0\n", 1))
    put("tabs", GOOD.replace(" = ", "\t=\t"))
    put("empty", "")
    put("blank", "\n \n\t\n")
    put("only-comment", "# x\n; y\n")
    put("long-comment", f"{GOOD}\n# {'c' * (LINE_MAX - 2)}{KEY} = injected\n")
    put("long-key", f"{GOOD}\n{'k' * 80} = 1\n")
    put("long-section", f"{GOOD}\n[{'s' * 80}]\n{KEY} = 1\n")
    put("cut-key", f"{GOOD}\n{KEY.ljust(NAME_MAX, 'z')}tail = 1\n")
    put("unknown-key", GOOD + "\nno_such_key = 1\n")
    put("unknown-section", GOOD + "\n[no_such_section]\na = 1\n")
    put("dup-key", re.sub(rf"(?m)^({KEY} = .*)$", r"\1\n\1", GOOD, count=1))
    put("dup-section", GOOD + "\n" + GOOD)
    put("no-equals", GOOD + "\njustaword\n")
    put("unclosed-section", GOOD + "\n[broken\nx = 1\n")
    put("empty-key", GOOD + "\n = 1\n")
    put("indent", GOOD.replace("\n" + KEY, "\n  " + KEY, 1))
    put("nonutf8", with_value("PLACE").encode().replace(b"PLACE", b"\xff\xfe\x80"))
    for name, value in {**WHOLE, "empty-value": "", "quotes": '"quoted"', "semicolon": "^db ;x",
                        "hash": "^db #x", "bad-class": "[z-a]"}.items():
        put(name, with_value(value))
    for name, value in {**EXPRESSIONS, "bad-expression": "^(unclosed", "bad-class-expression": "[z-a]",
                        "huge-expression": "((a{1,99}){1,99}){1,99}"}.items():
        put(name, with_expression(value))
    put("bad-capture", with_expression("(a)").replace("[group db]", "[group db-${2}]"))
    put("bad-place", with_expression("(a)").replace("[group db]", "[group db-${pid}]"))
    for name, value in (("neg", "-1"), ("zero", "0"), ("nan", "nan"), ("huge", "1e308"),
                        ("over", "99999999999999999999"), ("unit", "5parsecs"),
                        ("frac", "0.0000001")):
        for key in ("interval", "probe_deadline"):
            put(f"{name}-{key}", with_value(value, key))
    for i, value in enumerate((":99999", "nohost.invalid::x", "256.1.1.1:9", "[::1",
                               "/no/such/dir/sock", "127.0.0.1:")):
        put(f"bad{i}-listen", with_value(value, "listen"))
    put("long-file", GOOD + "\n" + "# filler filler filler\n" * 200000)
    put("many-sections", GOOD + "".join(f"\n[x{i}]\n" for i in range(50000)))
    put("mode-000", GOOD)
    os.chmod(f"{directory}/mode-000.ini", 0)
    os.mkdir(f"{directory}/directory.ini")
    os.symlink("loop.ini", f"{directory}/loop.ini")
    os.symlink("/dev/zero", f"{directory}/devzero.ini")
    os.mkfifo(f"{directory}/fifo.ini")


class Files:
    def __init__(self, directory, root, see):
        self.directory, self.root, self.see = directory, root, see

    def run(self, name, *flags):
        """-> (exit status, standard output, lines of standard error)"""
        command = [BINARY, f"--config.file={self.directory}/{name}.ini", *flags]
        user = {}
        if name == "mode-000" and os.geteuid() == 0:  # root may read all
            user = become(65534, command, self.directory)
        begin = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=30, **user)
        self.see.at_most(f"seconds for {name}", time.monotonic() - begin, REFUSED_S)
        return done.returncode, done.stdout.decode(), done.stderr.decode().splitlines()

    def settings(self, name):
        """What --check-config says it comes to, but for the file's name."""
        code, out, err = self.run(name, "--check-config")
        self.see.equal(f"{name} is accepted", (code, err), (0, []))
        return "".join(line for line in out.splitlines(True) if not line.startswith("# "))

    def refused(self, name, line, told):
        place = f"{self.directory}/{name}.ini:" + (f"{line}:" if line else "")
        check = self.run(name, "--check-config")
        # A port of its own, so that what goes on instead of ending is seen by the time-out alone.
        start = self.run(name, f"--web.listen-address=127.0.0.1:{free_port()}",
                         f"--path.procfs={self.root}")
        for what, (code, out, err) in (("checked", check), ("started", start)):
            self.see.equal(f"{name} {what}: status, output, lines", (code != 0, out, len(err)),
                           (True, "", 1))
            said = err[0] if err else ""
            self.see.equal(f"{name} {what}: {said!r} names {place}", place in said, True)
            self.see.equal(f"{name} {what}: {said!r} tells of {told}", told in said, True)
        self.see.equal(f"{name}: both say the same", check, start)


def check_accepted(files, see):
    plain = files.settings("plain")
    for name in SAME:
        see.equal(f"settings of {name}", files.settings(name), plain)
    for name, value in WHOLE.items():
        got = files.settings(name)
        see.equal(f"{name}: the value is whole", f"comm = {value}\n" in got, True)
        see.equal(f"{name}: the rest is as it was",
                  got.replace(f"comm = {value}\n", ""), plain.replace("comm = postgres mysqld\n", ""))
    for name, value in EXPRESSIONS.items():
        got = files.settings(name)
        see.equal(f"{name}: the expression is whole", f"cmdline = {value}\n" in got, True)
    default = files.settings("empty")
    for name in EMPTY:
        see.equal(f"settings of {name}", files.settings(name), default)


def check_running(files, root, see):
    """Odd and good: the page is the plain one's."""
    families = {}
    for name in ("plain", *SAME):
        with Daemon(f"--config.file={files.directory}/{name}.ini", procfs=root) as daemon:
            page = daemon.wait_ready().settle(1)
            families[name] = {key for key in page.series if key[0].startswith("proctally_group_")}
            see.value(page, 1, "proctally_group_processes", group="canary")
    for name, got in families.items():
        see.equal(f"series with {name}", got, families["plain"])


def extra(at, see):
    root = at("proc")
    with tempfile.TemporaryDirectory(prefix="proctally.") as directory:
        os.chmod(directory, 0o755)
        derive(directory)
        files = Files(directory, root, see)
        check_accepted(files, see)
        for name, (line, told) in REFUSED.items():
            files.refused(name, line, told)
        check_running(files, root, see)
