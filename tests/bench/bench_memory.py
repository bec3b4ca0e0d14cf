#!/usr/bin/env python3
"""Resident memory of the daemon over a large farm with the default groups, after five cycles."""
import sys

import field

BOUND = 16 * 1024 * 1024


def main():
    args = field.arguments(processes=10000, cycles=5)
    field.isolate()
    with field.Farm(args.procfarm, args.processes, field.BARE):
        with field.Proctallyd(args.proctallyd, interval="1s") as daemon:
            daemon.wait_snapshots(args.cycles)
            page = len(daemon.scrape(encoding="identity"))
            resident = field.status_bytes(daemon.pid, "VmRSS")
            print(f"{field.processes()} processes, {daemon.snapshots():.0f} cycles, page of {page} "
                  f"bytes")
            for key in ("VmRSS", "VmHWM", "RssAnon", "RssFile"):
                print(f"  {key:8} {field.status_bytes(daemon.pid, key) / 2**20:7.2f} MiB")
    print(f"  bound    {BOUND / 2**20:7.2f} MiB{'' if resident <= BOUND else '  MISSED'}")
    sys.exit(0 if resident <= BOUND else 1)


main()
