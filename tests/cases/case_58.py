"""Forms of the `Max open files` row.

Unlimited, 0, wider than its column, missing, an empty file, -1, no file, above 2^53. Expected: the
ratio is open descriptors over the soft limit; unlimited is 0; where there is no limit to divide by
it is left out; never Inf or NaN. Other rows do not matter, not even when their columns touch.
"""
import procfs

RATIO = "proctally_group_open_fds_limit_ratio"
WIDE = "18446744073708503040"  # seen for ntpd


def build(at):
    root = at("proc")
    procfs.base(root)
    plain = procfs.limits()
    memory = f"{'Max locked memory':<25} {{0:<20}} {{0:<20}} {'bytes':<10}\n"
    files = {
        5801: plain.replace(memory.format("8388608"), memory.format(WIDE)),
        5802: procfs.limits("unlimited", "unlimited"),
        5803: procfs.limits("0", "0"),
        5804: procfs.limits(WIDE, WIDE),
        5805: "".join(line + "\n" for line in plain.splitlines() if "open files" not in line),
        5806: "",
        5807: procfs.limits("-1", "-1"),
        5809: procfs.limits("9007199254740993", "9007199254740993"),
    }
    for pid, text in sorted(files.items()):
        procfs.process(root, pid, f"l{pid}", files={"limits": text})
    procfs.process(root, 5808, "l5808", skip=("limits",))


def check(page, tree, see):
    for pid in range(5801, 5810):
        see.value(page, 3, "proctally_group_open_fds", group=f"l{pid}")
    see.value(page, 0.0029296875, RATIO, group="l5801")
    see.value(page, 0, RATIO, group="l5802")
    for pid in (5805, 5806, 5808):
        see.absent(page, RATIO, group=f"l{pid}")
    for pid in (5804, 5809):
        see.at_most("ratio", page.value(RATIO, group=f"l{pid}"), 1e-15)
    for pid in (5803, 5807):
        see.zero_or_absent(page, RATIO, group=f"l{pid}")
    see.equal("kinds of errors", see.read_errors(page).keys() - {("limits", "malformed")}, set())


def check_once(page, tree, see):
    see.at_most("errors", sum(see.read_errors(page).values()), 3)


def check_log(lines, tree, see):
    see.at_most("warnings", sum("level=warn" in line for line in lines), 1)
