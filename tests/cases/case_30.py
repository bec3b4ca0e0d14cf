"""Sizes at the edges.

20 TiB reserved, more than 4 GiB resident, a negative rss and one near 2^64 in `stat`, an rss of 0
beside 2 MiB in `status` (the kinds come from there), no memory at all. Expected: exact where the
kernel's number is one, left out where it is none; integers are printed whole.
"""
import procfs


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.process(root, 3001, "grp", vsize=21990232555520, rss=900)
    procfs.process(root, 3002, "grp", vsize=6175744000, rss=1048577)
    procfs.process(root, 3003, "neg",
                   files={"stat": procfs.stat(3003, "neg", rss=-3),
                          "status": procfs.status(3003, "neg", rss_kb=12)})
    procfs.process(root, 3004, "huge",
                   files={"stat": procfs.stat(3004, "huge", vsize=procfs.U64_MAX,
                                              rss=procfs.U64_MAX - 2),
                          "status": procfs.status(3004, "huge", drop=("VmRSS", "VmSize"))})
    procfs.process(root, 3005, "lazy",
                   files={"stat": procfs.stat(3005, "lazy", rss=0),
                          "status": procfs.status(3005, "lazy"),
                          "smaps_rollup": procfs.smaps_rollup(1100, 0, 2200)})
    procfs.process(root, 3006, "none", memory=False, skip=("smaps_rollup",))


def check(page, tree, see):
    see.groups(page, {"init", "canary", "grp", "neg", "huge", "lazy", "none"})
    see.value(page, 21996408299520, "proctally_group_virtual_memory_bytes", group="grp")
    see.resident(page, "grp", 3686400 + 4294971392)
    see.value(page, 4294971392, "proctally_group_peak_resident_memory_bytes", group="grp")
    see.resident(page, "neg", 12288)
    see.value(page, 8388608, "proctally_group_virtual_memory_bytes", group="neg")
    see.absent(page, "proctally_group_virtual_memory_bytes", group="huge")
    see.resident(page, "lazy", 2097152)
    see.value(page, 1126400, "proctally_group_proportional_memory_bytes", group="lazy")
    for kind in ("anon", "file", "shmem"):
        see.zero_or_absent(page, "proctally_group_resident_memory_bytes", group="none", kind=kind)
    see.zero_or_absent(page, "proctally_group_virtual_memory_bytes", group="none")
    see.equal("printed whole", b"21996408299520" in page.body, True)
    errors = see.read_errors(page)
    errors.pop(("stat", "malformed"), None)  # 3004's vsize, which is no size
    see.equal("read errors", errors, {})
