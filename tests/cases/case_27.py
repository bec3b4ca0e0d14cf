"""Counters of a process that step back.

The kernel scales the split of user and system time, so that one of them may dip; sums over
threads tear. 2701: user 1000, 998, 1050, system 500, 503, 505. 2702: both lower in B, as in A
again in C. 2703: faults 5000, 4000, 5100, bytes read 90000, 80000, 91000. Expected: shown counters
hold the highest value seen and go on from there; each dip is counted by field.
"""
import procfs

USED = {  # (user, system) of 2701, of 2702; faults and bytes of 2703
    "proc.A": ((1000, 500), (400, 100), (5000, 90000)),
    "proc.B": ((998, 503), (390, 99), (4000, 80000)),
    "proc.C": ((1050, 505), (400, 100), (5100, 91000)),
}


def build(at):
    for step, (tree, (resplit, dip, faults)) in enumerate(USED.items()):
        root = at(tree)
        procfs.base(root, step)
        procfs.process(root, 2701, "resplit", utime=resplit[0], stime=resplit[1])
        procfs.process(root, 2702, "dip", utime=dip[0], stime=dip[1])
        procfs.process(root, 2703, "faults", minflt=faults[0], read=faults[1])


def check_once(page, tree, see):
    (user, system), _, (faults, read) = USED[tree]
    see.cpu(page, "resplit", user / 100, system / 100)
    see.value(page, faults, "proctally_group_minor_page_faults_total", group="faults")
    see.value(page, read, "proctally_group_storage_read_bytes_total", group="faults")


def check_served(pages, see):
    expected = {"proc.A": (0, 0, 0, 0), "proc.B": (0, 0.03, 0, 0), "proc.C": (0.50, 0.05, 100, 1000)}
    for tree, (user, system, faults, read) in expected.items():
        page = pages[tree]
        see.cpu(page, "resplit", user, system)
        see.cpu(page, "dip", 0, 0)
        see.value(page, faults, "proctally_group_minor_page_faults_total", group="faults")
        see.value(page, read, "proctally_group_storage_read_bytes_total", group="faults")
        see.no_read_errors(page)
    see.no_steps_back(pages["proc.A"])
    back = see.steps_back(pages["proc.B"])
    see.equal("fields that stepped back", back.keys(),
              {"cpu_user", "cpu_system", "minor_page_faults", "storage_read_bytes"})
    see.equal("no more of them in C", see.steps_back(pages["proc.C"]).keys(), back.keys())
