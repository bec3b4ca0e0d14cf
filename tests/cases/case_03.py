"""comm cut in the middle of a character, and bytes that are no UTF-8.

The kernel cuts comm at 15 bytes, wherever that is. Expected: the page is valid UTF-8, no process
is dropped, each bad byte shows as U+FFFD, a whole emoji stays.
"""
import procfs

COMMS = {
    301: (b"job-\xe5\x90\x8c\xe6\xad", "job-\u540c\ufffd\ufffd"),
    302: (b"worker-caf\xc3", "worker-caf\ufffd"),
    303: (b"\xf0\x9f\x98\x80ok", "\U0001f600ok"),
    304: (b"task - \xe8\xa1", "task - \ufffd\ufffd"),
    305: (b"\xed\xa0\x80s", "\ufffd\ufffd\ufffds"),  # a surrogate
    306: (b"\xc0\xafo", "\ufffd\ufffdo"),  # overlong
    307: (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),  # above U+10FFFF
}


def build(at):
    root = at("proc")
    procfs.base(root)
    for pid, (comm, _) in COMMS.items():
        if pid == 301:
            procfs.process(root, pid, comm, threads=2, cmdline=b"/opt/app/bin/job\0",
                           tasks=[(301, comm, 50, 25, 3, 1, "S"),
                                  (311, b"pool-\xe6\x96\x87\xe5", 50, 25, 2, 1, "S")])
        else:
            procfs.process(root, pid, comm, cmdline=b"/opt/app/bin/job\0")


def check(page, tree, see):
    see.groups(page, {"init", "canary", *(shown for _, shown in COMMS.values())})
    for _, shown in COMMS.values():
        see.value(page, 1, "proctally_group_processes", group=shown)
        see.states(page, shown, sleeping=1)
    see.value(page, 2, "proctally_group_threads", group=COMMS[301][1])
    see.no_read_errors(page)


def check_once(page, tree, see):
    for _, shown in COMMS.values():
        see.cpu(page, shown, 1.00, 0.50)
