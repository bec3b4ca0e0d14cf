#!/usr/bin/env python3
"""A real Prometheus scrapes the daemon every second: no scrape fails, all families arrive.

PROM_SECONDS says how long (20).
"""
import os
import re
import shutil
import sys

from harness.daemon import Daemon, skip, wait_until
from harness.prometheus import Prometheus
from harness.tests import equal, main, true

SECONDS = int(os.environ.get("PROM_SECONDS", "20"))
CONFIG = "[metrics]\ninclude = *\n\n[group ${comm}]\ncomm = *\n"


def test_scraped_without_a_failure():
    with Daemon(config=CONFIG, interval="500ms") as daemon:
        daemon.wait_ready()
        with Prometheus(daemon.port) as prometheus:
            wait_until("the first scrape", lambda: prometheus.query("up"), 60, 0.2)
            wait_until(f"{SECONDS} scrapes", lambda: prometheus.one(
                f"count_over_time(up[{SECONDS + 60}s])") >= SECONDS, 2 * SECONDS + 60, 0.5)
            whole = f"[{SECONDS + 60}s]"
            equal("the worst scrape", prometheus.one(f"min_over_time(up{whole})"), 1)
            targets = prometheus.api("targets")["activeTargets"]
            equal("health", [t["health"] for t in targets], ["up"])
            equal("last error", [t["lastError"] for t in targets], [""])
            true("scrapes are quick", prometheus.one(
                f"max_over_time(scrape_duration_seconds{whole})") < 0.9)

            page = daemon.page()
            names = set(prometheus.api("label/__name__/values"))
            sent = {name for name, _ in page.series}
            equal("series that did not arrive", sent - names, set())
            equal("as many samples as sent", prometheus.one("scrape_samples_scraped") > 100, True)
            equal("of them stored", prometheus.one("scrape_samples_post_metric_relabeling"),
                  prometheus.one("scrape_samples_scraped"))
            check_metadata(prometheus, page)
            check_values(prometheus)
            check_counters(prometheus, sent, page, whole)
            log = [line for line in prometheus.log().splitlines()
                   if re.search(r"level=(warn|error)", line) or
                   re.search(r"Append failed|Scrape failed|out of order|duplicate", line)]
            equal("warnings of Prometheus", log, [])


def check_metadata(prometheus, page):
    types = {row["metric"]: row["type"] for row in prometheus.api("targets/metadata")}
    for name, kind in page.types.items():
        if any(n == name for n, _ in page.series):
            metric = name[:-len("_total")] if kind == "counter" and name not in types else name
            equal(f"type of {name} in Prometheus", types.get(metric), kind)


def check_values(prometheus):
    equal("proctally_up", prometheus.one("proctally_up"), 1)
    equal("one job", prometheus.one("count(count by (job, instance) (proctally_group_processes))"), 1)
    true("processes add up", prometheus.one("sum(proctally_group_processes)") ==
         prometheus.one("proctally_processes"))
    # A cycle of all families takes seconds where there are thousands of processes.
    true("the page is fresh", prometheus.one(
        "timestamp(proctally_up) - proctally_snapshot_timestamp_seconds") < 10)


def check_counters(prometheus, sent, page, whole):
    """No counter fell from one scrape to the next."""
    for name in sorted(sent):
        if page.is_counter(name):
            fell = prometheus.query(f"resets({name}{whole}) > 0")
            equal(f"resets of {name}", fell, {})


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        skip("prometheus is not installed")
    sys.exit(main(sys.modules[__name__]))
