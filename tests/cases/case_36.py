"""Lines of `maps` that are legal and odd.

Low addresses, no path behind a trailing blank, paths with blanks, tabs, backslashes and bytes above
127, pseudo files, five-digit devices, the largest inode. Expected: all 22 are counted, no error. What
each line says is in tests/unit/procfs/test_pid_maps.c, with this same text.
"""
import procfs

LINES = [
    ("rw-p", 0, "00:00", 0, ""),
    ("r--p", 0, "fe:00", 1, "/opt/sp ace/lib x.so"),
    ("r--p", 0, "fe:00", 2, "/opt/two  blanks/tail  "),
    ("r--p", 0, "fe:00", 3, "/opt/new\\012line.so"),
    ("r--p", 0, "fe:00", 4, "/opt/back\\slash.so"),
    ("r--p", 0, "fe:00", 5, "/opt/tab\there"),
    ("r--p", 0, "fe:00", 6, "/opt/b\udcffd"),
    ("r--s", 0, "00:01", 25, "/memfd:my memfd\\012name (deleted)"),
    ("rw-s", 0, "00:01", 26, "/dev/zero (deleted)"),
    ("rw-s", 0, "00:01", 0, "/SYSV00001234 (deleted)"),
    ("rw-p", 0, "00:00", 0, "[anon:pool x]"),
    ("rw-s", 0, "00:01", 27, "[anon_shmem:cache one]"),
    ("r-xp", 0, "00:00", 0, "//anon"),
    ("r--p", 0, "103:03", 49684469, "/opt/app/lib.so"),
    ("r--p", 0xfffff000, "fffff:00", procfs.U64_MAX, "/opt/app/big.so (deleted)"),
    ("r--p", 0, "fe:00", 7, "/opt/really (deleted)"),
    ("r--p", 0, "fe:00", 8, "/tmp/[heap]"),
    ("rw-p", 0, "00:00", 0, "[stack:1234]"),
    ("rw-s", 0, "00:10", 2048, "anon_inode:[io_uring]"),
    ("---s", 0, "fe:00", 9, "/opt/gone.so (deleted)"),
    ("rw-p", 0, "00:00", 0, "[heap]"),
]
MAPPINGS = 22


def maps():
    text = "".join(procfs.maps_line(0x10000 + i * 0x1000, 0x11000 + i * 0x1000, *line)
                   for i, line in enumerate(LINES))
    return text + procfs.maps_line(0xffffffffff600000, 0xffffffffff601000, "--xp",
                                   path="[vsyscall]")


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.process(root, 3601, "oddmaps", files={"maps": maps()})


def check(page, tree, see):
    see.value(page, MAPPINGS, "proctally_group_mappings", group="oddmaps")
    see.unread(page, "oddmaps")
    see.no_read_errors(page)
