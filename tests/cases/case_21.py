"""CPUs that are offline, come and go.

proc.A: cpu0 cpu4 cpu8 cpu12; B: cpu0 cpu8; C: all four again, cpu4 with idle from 0; D: cpu511
appears at the end. Expected: a CPU is known by the number in its name, never by its position; an
absent one is not shown; none shows another's numbers. The host's total is the `cpu` line's, and
may not fall though the written sums do.
"""
import procfs

ROWS = {
    "proc.A": {0: (10000, 500000), 4: (20000, 400000), 8: (30000, 300000), 12: (40000, 200000)},
    "proc.B": {0: (10100, 500500), 8: (30000, 300000)},
    "proc.C": {0: (10200, 501000), 4: (20000, 100), 8: (30000, 300500), 12: (40000, 200000)},
    "proc.D": {0: (10300, 501500), 8: (30000, 301000), 511: (7, 70)},
}


def build(at):
    for step, (tree, rows) in enumerate(ROWS.items()):
        cpus = {n: [user, 0, 100, idle, 0, 0, 0, 0, 0, 0] for n, (user, idle) in rows.items()}
        procfs.base(at(tree), step, stat=procfs.host_stat(cpus=cpus))


def check(page, tree, see):
    see.equal("CPUs shown", page.label_values(see.PER_CPU, "cpu"), {str(n) for n in ROWS[tree]})
    see.value(page, 300.00, see.PER_CPU, cpu="8", mode="user")
    see.no_read_errors(page)


def check_once(page, tree, see):
    rows = ROWS[tree]
    for cpu, (user, idle) in rows.items():
        see.value(page, user / 100, see.PER_CPU, cpu=str(cpu), mode="user")
        see.value(page, idle / 100, see.PER_CPU, cpu=str(cpu), mode="idle")
        see.value(page, 1.00, see.PER_CPU, cpu=str(cpu), mode="system")
    see.value(page, sum(user for user, _ in rows.values()) / 100,
              "proctally_host_cpu_seconds_total", mode="user")


def check_served(pages, see):
    for tree, rows in ROWS.items():
        see.value(pages[tree], rows[0][0] / 100, see.PER_CPU, cpu="0", mode="user")
    see.value(pages["proc.D"], 0.07, see.PER_CPU, cpu="511", mode="user")
    see.value(pages["proc.D"], 0.70, see.PER_CPU, cpu="511", mode="idle")
