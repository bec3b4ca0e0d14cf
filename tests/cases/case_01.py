"""comm with blanks and parentheses.

Six processes whose comm holds the bytes that splitting by fields breaks on. The only safe reading
is from the first `(` to the last `)`; behind it comes one state letter. Expected: six groups of
exactly these names, CPU, start, threads and state of each exact, no read error. Pid 102 must not
be taken for running (its comm holds `) R 1 2`).
"""
import procfs

COMMS = ["(sd-pam)", "a) R 1 2 (b", ") ) ) ) ) )", "sp  ace ", "x (y) S 1 1 1 0",
         ":-) 1 2 3 4 5 6"]


def build(at):
    root = at("proc")
    procfs.base(root)
    for i, comm in enumerate(COMMS, 1):
        procfs.process(root, 100 + i, comm, utime=10 + i, stime=i, start=1100 + i, threads=i)


def check(page, tree, see):
    see.groups(page, {"init", "canary", *COMMS})
    for i, comm in enumerate(COMMS, 1):
        see.value(page, 1, "proctally_group_processes", group=comm)
        see.value(page, i, "proctally_group_threads", group=comm)
        see.value(page, 1700000000 + 11 + i / 100, "proctally_group_oldest_start_time_seconds",
                  group=comm)
        see.states(page, comm, sleeping=1)
    see.no_read_errors(page)


def check_once(page, tree, see):
    for i, comm in enumerate(COMMS, 1):
        see.cpu(page, comm, (10 + i) / 100, i / 100)
