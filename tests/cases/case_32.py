"""Forms of `smaps_rollup`.

3201 no such file (before 4.14), though `smaps` is there; 3202 the header alone; 3203 as of 4.14; 3204
as of 6.18, with Pss_Dirty and others beside Pss; 3205 empty; 3206 a directory, so a read gives EISDIR;
3207 a high address and a number behind `[rollup]`. Expected: PSS exact of 3203, 3204, 3207; left out
of the rest, for `smaps` is never read: it costs many times as much; an error of 3206 alone, logged
once.
"""
import os

import procfs

PSS = "proctally_group_proportional_memory_bytes"
FULL = procfs.smaps_rollup()
LATER = ("Pss_Dirty", "Pss_Anon", "Pss_File", "Pss_Shmem", "KSM", "FilePmdMapped", "SwapPss")
FILES = {
    3202: FULL.splitlines(True)[0],
    3203: "".join(line for line in FULL.splitlines(True) if line.partition(":")[0] not in LATER),
    3204: FULL,
    3205: "",
    3207: FULL.replace("55ce7335a000-7ffc37e96000", "ffffffff81000000-ffffffffff601000")
              .replace("[rollup]", "[rollup] 51").replace(" " * 26 + "[", " " * 22 + "["),
}
KNOWN = (3203, 3204, 3207)


def smaps():
    """Three mappings of 10, 20 and 30 kB."""
    return "".join(
        f"{0x400000 + i * 0x1000:08x}-{0x401000 + i * 0x1000:08x} rw-p 00000000 00:00 0 \n"
        f"Size:                  4 kB\nRss:                  {40 + i} kB\n"
        f"Pss:                  {10 + 10 * i} kB\nSwap:                  {2 + 2 * i} kB\n"
        f"SwapPss:               {1 + i} kB\nVmFlags: rd wr mr mw me ac sd\n" for i in range(3))


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.process(root, 3201, "v3201", skip=("smaps_rollup",), files={"smaps": smaps()})
    for pid, text in FILES.items():
        procfs.process(root, pid, f"v{pid}", files={"smaps_rollup": text})
    procfs.process(root, 3206, "v3206", skip=("smaps_rollup",))
    os.mkdir(f"{root}/3206/smaps_rollup")


def check(page, tree, see):
    for pid in range(3201, 3208):
        group = f"v{pid}"
        see.value(page, 1, "proctally_group_processes", group=group)
        if pid in KNOWN:
            see.value(page, 1048576, PSS, group=group)
            see.unread(page, group)
        else:
            see.absent(page, PSS, group=group)
            see.unread(page, group, smaps=1)
    see.equal("kinds of errors", see.read_errors(page).keys(), {("smaps_rollup", "read")})


def check_once(page, tree, see):
    see.equal("errors", see.read_errors(page), {("smaps_rollup", "read"): 1})


def check_log(lines, tree, see):
    see.equal("warnings", sum("level=warn" in line for line in lines), 1)
