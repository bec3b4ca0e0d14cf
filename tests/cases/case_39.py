"""Forms of `cmdline`.

Rules hold expressions against the arguments joined by one blank. NULs at the end are padding; what may
stand without any NUL is one argument whose last byte counts. Without an argument (3903 nothing but NULs,
3904 an empty argv, 3911 an empty file) no expression matches, and the comm decides. Expected: each
process in the group of its own expression, nothing an error, no raw control character in the log. A
search that would not end is given up, counted, and told once.
"""
import signal

import procfs
from harness.daemon import Daemon, once, wait_until
from see import See

LINES = {
    3901: b"nginx: master process" + b"\0" * 18,
    3902: b"nginx: worker process",
    3903: b"\0" * 39,
    3904: b"\0",
    3905: b"\0show\0\0",
    3906: b"title filling argv no NUL" + b" " * 14 + b"ENVVAR=01234567890123456789\0",
    3907: b'/opt/a b/bin/x\0--name=a"b\\c\0line1\nline2\0',
    3908: b"/opt/app\0\xff\xfe\x80\0",
    3909: b"postgres: writer   ",
    3910: b"/opt/c/chrome --type=gpu --flag=1\0",
    3911: b"",
    3912: b"/opt/x\0\x1b]0;pwn\x07\0",
    3913: b"relative\0",
    3914: b"/\0",
}
# Section and expression, and the group that comes of it if that is not the section.
RULES = {
    3901: ("master", "^nginx: master process$"),
    3902: ("worker", "^nginx: worker process$"),
    3905: ("no-name", "^ show$"),
    3906: ("title", "^title .* ENVVAR=[0-9]{20}$"),
    3907: ("${1}-${2}", r"^/opt/a b/bin/x --name=(\S+) line1\n(line2)$", 'a"b\\c-line2'),
    3908: ("invalid", "^/opt/app "),
    3909: ("blanks", "^postgres: writer {3}$"),
    3910: ("chrome-${type}", r"^/opt/c/chrome --type=(?<type>\w+) --flag=1$", "chrome-gpu"),
    3912: ("escape", r"^/opt/x \x1b\]0;pwn\x07$"),
    3913: ("relative", "^relative$"),
    3914: ("slash", "^/$"),
}
BY_COMM = "[group ${comm}]\ncomm = *\n"
# What has an argument, but is taken by no section of its own, is in `other`.
CONFIG = ("[metrics]\ninclude = *\n\n[group canary]\ncomm = canary\n[group init]\ncomm = init\n" +
          "".join(f"[group {name}]\ncmdline = {expression}\n"
                  for name, expression, *_ in RULES.values()) +
          "[group other]\ncmdline = ^\n" + BY_COMM)


def build(at):
    root = at("proc")
    procfs.base(root)
    for pid, line in LINES.items():
        procfs.process(root, pid, f"c{pid}", cmdline=line)


def check(page, tree, see):
    """Without expressions none of this matters."""
    see.groups(page, {"init", "canary", *(f"c{pid}" for pid in LINES)})
    see.no_read_errors(page)


def check_groups(page, see):
    expected = {"canary": 1, "init": 1, "other": 0}
    for pid in LINES:
        name, _, *group = RULES.get(pid, (f"c{pid}", None))
        expected[group[0] if group else name] = 1
    see.groups(page, expected)
    for group, count in expected.items():
        see.value(page, count, "proctally_group_processes", group=group)
    see.no_read_errors(page)


def extra(at, see):
    at_once = See("expressions --once")
    check_groups(once(config=CONFIG, procfs=at("proc")), at_once)
    with Daemon(config=CONFIG, procfs=at("proc")) as daemon:
        served = See("expressions served")
        page = daemon.wait_ready().settle(3)
        check_groups(page, served)
        lines = daemon.log_lines()
        served.equal("control characters in the log",
                     [line for line in lines if any(ord(c) < 0x20 for c in line)], [])
        served.equal("warnings", [line for line in lines if "level=warn" in line], [])
    see.faults += at_once.faults + served.faults + endless_search(at)


def endless_search(at):
    """Two processes wrote themselves lines that an expression is searched in for ever."""
    see, root = See("endless search"), at("endless")
    procfs.base(root)
    for pid in (3920, 3921):
        procfs.process(root, pid, "hostile", cmdline=b"a" * 4000 + b"!\0")
    config = "[metrics]\ninclude = *\n\n[group slow]\ncmdline = (a+)+$\n" + BY_COMM
    with Daemon(config=config, procfs=root) as daemon:
        # Longer than a turn of the texts, which are no news.
        page = daemon.wait_ready().settle(20)
        see.value(page, 0, "proctally_group_processes", group="slow")
        see.value(page, 2, "proctally_group_processes", group="hostile")
        see.value(page, 2, "proctally_rule_searches_given_up_total")
        daemon.send(signal.SIGHUP)
        wait_until("searches by the rules that were read anew", lambda: daemon.page().value(
            "proctally_rule_searches_given_up_total") == 4)
        lines = [line for line in daemon.log_lines() if "level=warn" in line]
        see.equal("warnings, one for each reading of the file", len(lines), 2)
        see.equal("the rule is named", ["section=group rule=slow" in line for line in lines],
                  [True, True])
    return see.faults
