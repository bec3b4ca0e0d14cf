"""Forms of `io`.

3501 no file (a kernel without TASK_IO_ACCOUNTING), 3502 no read_bytes, 3503 read_bytes 2^64 - 1,
3504 unknown keys and another order, 3505 no LF at the end, 3506 no numbers, 3507 a key twice,
3508 a key that ends in another. Expected: what is readable is exact, the rest left out; one error
of 3506, at most one of 3503 (nothing near 2^64 is ever shown).
"""
import procfs

FILES = {
    3502: "rchar: 1\nwchar: 2\nsyscr: 0\nsyscw: 0\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n",
    3503: procfs.io(read=procfs.U64_MAX),
    3504: "zz_new: 5\ncancelled_write_bytes: 0\nwrite_bytes: 8192\nread_bytes: 4096\nsyscw: 0\n"
          "syscr: 0\nwchar: 2\nrchar: 1\nzz_last: 6\n",
    3505: "write_bytes: 8192\nread_bytes: 4096",
    3506: "rchar: 1\nread_bytes: abc\nwrite_bytes:\n",
    3507: "read_bytes: 1\nread_bytes: 2\nwrite_bytes: 8192\n",
    3508: "cancelled_write_bytes: 999\nread_bytes: 4096\nwrite_bytes: 8192\n",
}
READ = "proctally_group_storage_read_bytes_total"
WRITTEN = "proctally_group_storage_written_bytes_total"


def build(at):
    root = at("proc")
    procfs.base(root)
    procfs.process(root, 3501, "i3501", skip=("io",))
    procfs.remove(f"{root}/3501/task/3501/io")
    for pid, text in FILES.items():
        procfs.process(root, pid, f"i{pid}", files={"io": text})


def check(page, tree, see):
    for pid in (3501, *FILES):
        see.value(page, 1, "proctally_group_processes", group=f"i{pid}")
    for pid, family in ((3501, READ), (3501, WRITTEN), (3502, READ), (3506, READ), (3506, WRITTEN)):
        see.absent(page, family, group=f"i{pid}")
    see.unread(page, "i3501", io=1)
    see.unread(page, "i3502", io=1)
    errors = see.read_errors(page)
    see.equal("kinds of errors", errors.keys(), {("io", "malformed")})


def check_once(page, tree, see):
    for pid in (3504, 3505, 3508):
        see.value(page, 4096, READ, group=f"i{pid}")
        see.value(page, 8192, WRITTEN, group=f"i{pid}")
    see.value(page, 8192, WRITTEN, group="i3502")
    see.value(page, 8192, WRITTEN, group="i3507")
    see.equal("one of the two", page.value(READ, group="i3507") in (1, 2), True)
    see.value(page, 999, "proctally_group_storage_cancelled_write_bytes_total", group="i3508")
    see.equal("errors", see.read_errors(page)[("io", "malformed")] in (1, 2), True)


def check_log(lines, tree, see):
    see.at_most("warnings", sum("level=warn" in line for line in lines), 1)
