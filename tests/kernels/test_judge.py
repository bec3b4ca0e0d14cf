#!/usr/bin/env python3
"""What boot.py makes of guests that end in every way."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import boot  # noqa: E402
from harness.tests import equal, main, true  # noqa: E402

NAMES = ["test_a", "check_b", "c-d.e"]
GOOD = "kernel 6.1.0-50-cloud-amd64\ntest_a 0 0.1 \ncheck_b 0 12.0 \nc-d.e 0 3.4 \nend 3\n"


def judged(text):
    return boot.judge("6.1", NAMES, boot.Told(text.encode()))


def test_all_is_well():
    equal("judgement", judged(GOOD), ([], []))
    equal("as a terminal sends it", judged(GOOD.replace("\n", "\r\n")), ([], []))


def test_a_program_fails():
    for status, what in ((1, "ended with 1"), (127, "ended with 127"), (139, "was ended by signal 11"),
                         (137, "was ended by signal 9")):
        equal(f"status {status}", judged(GOOD.replace("check_b 0", f"check_b {status}")),
              ([f"check_b {what} after 12.0 s"], []))


def test_skips():
    equal("of a program", judged(GOOD.replace("c-d.e 0 3.4 ", "c-d.e 77 0.1 no BTF;")),
          ([], ["c-d.e: no BTF"]))
    equal("without a reason", judged(GOOD.replace("c-d.e 0 3.4 ", "c-d.e 77 0.1 ")),
          ([], ["c-d.e: it gives no reason"]))
    equal("of a part", judged(GOOD.replace("test_a 0 0.1 ", "test_a 0 0.1 old;older;")),
          ([], ["test_a in part: old;older"]))
    equal("a reason is no excuse", judged(GOOD.replace("test_a 0 0.1 ", "test_a 1 0.1 old;")),
          (["test_a ended with 1 after 0.1 s"], []))


def test_guests_that_end_early():
    """Cut anywhere, what the guest told is no success."""
    for n in range(len(GOOD)):
        true(f"cut after {n} bytes", judged(GOOD[:n])[0])
    faults, _ = judged(GOOD[:GOOD.index("check_b")])
    equal("the faults", faults,
          ["check_b did not end", "did not run c-d.e", "did not come to its end"])
    equal("nothing", judged("")[0][0], "did not start its first process")


def test_strange_guests():
    for what, text in (
            ("another kernel", GOOD.replace("6.1.0", "6.12.0")),
            ("another number", GOOD.replace("end 3", "end 2")),
            ("a program twice", GOOD.replace("check_b 0 12.0 \n", "check_b 0 12.0 \n" * 2)),
            ("a program more", GOOD.replace("end", "x 0 0.1 \nend")),
            ("a program behind the end", GOOD + "x 0 0.1 \n"),
            ("a second begin", GOOD + GOOD),
            ("noise", GOOD.replace("end", "BUG: \nend")),
            ("no status", GOOD.replace("check_b 0", "check_b -"))):
        true(what, judged(text)[0])


def test_what_is_run_of_a_manifest():
    with tempfile.NamedTemporaryFile("w", suffix=".manifest") as f:
        f.write("unit\ttest_a\t/a b/c\ncheck\tb\t/b\nprogram\tc\t/c\ncommand\td\t/d\ntree\t-\t/e\n")
        f.flush()
        equal("names", boot.programs_of(f.name), ["test_a", "b", "c"])


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
