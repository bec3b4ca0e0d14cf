"""What the checks share: the tree's files, and how a check ends."""
import os
import sys

SKIP = 77
SOURCE, BUILD, COMPILER = (sys.argv[1:] + ["", "", ""])[:3]
NOT_OURS = {".git", "build"}


def files(*folders, endings=("",)):
    """Paths below the folders, relative to the source tree; all of it without folders."""
    found = []
    for folder in folders or (".",):
        for directory, names, leaves in os.walk(os.path.join(SOURCE, folder)):
            names[:] = sorted(n for n in names if n not in NOT_OURS and n != "__pycache__")
            found += [os.path.relpath(os.path.join(directory, leaf), SOURCE)
                      for leaf in sorted(leaves) if leaf.endswith(tuple(endings))]
    return found


def text(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8", errors="surrogateescape") as f:
        return f.read()


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def finish(faults):
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)
