#!/usr/bin/env python3
"""HTTP as Prometheus, a browser and curl speak it."""
import gzip
import http.client
import os
import socket
import subprocess
import sys
import time

from harness.daemon import (BINARY, OPENMETRICS, SANITIZE, TEXT, Daemon, free_port, once,
                            wait_until)
from harness.exposition import key
from harness.tests import BY_COMM, Tree, equal, main, procfs, true

ASKS_OPENMETRICS = ("application/openmetrics-text;version=1.0.0,"
                    "application/openmetrics-text;version=0.0.1;q=0.75,"
                    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")  # as Prometheus 2.42 does
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
# Differ from scrape to scrape of one snapshot.
SLOW = "1h"


def openmetrics(daemon, **headers):
    return daemon.ask(headers={"Accept": ASKS_OPENMETRICS, **headers})


def test_content_types():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        for accept in (None, "*/*", BROWSER, "text/plain", "application/json", "image/png", "junk;;"):
            answer = daemon.ask(headers={"Accept": accept} if accept else {})
            equal(f"status for {accept}", answer.status, 200)
            equal(f"type for {accept}", answer.headers["Content-Type"], TEXT)
        answer = openmetrics(daemon)
        equal("status", answer.status, 200)
        equal("type", answer.headers["Content-Type"].split("; escaping")[0], OPENMETRICS)
        true("ends in EOF", answer.body.endswith(b"\n# EOF\n"))
        true("Vary names Accept", "accept" in answer.headers["Vary"].lower())
        true("Vary names Accept-Encoding", "accept-encoding" in answer.headers["Vary"].lower())


def test_gzip_is_the_same_page():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree, interval=SLOW) as daemon:
        daemon.wait_ready()
        for accept in ("text/plain", ASKS_OPENMETRICS):
            plain = daemon.ask(headers={"Accept": accept})
            packed = daemon.ask(headers={"Accept": accept, "Accept-Encoding": "gzip"})
            equal("encoding", packed.headers["Content-Encoding"], "gzip")
            equal("no encoding", plain.headers["Content-Encoding"], None)
            equal("type", packed.headers["Content-Type"], plain.headers["Content-Type"])
            equal("unpacked", gzip.decompress(packed.body), plain.body)
            equal("length", int(packed.headers["Content-Length"]), len(packed.body))
        for refusal in ("identity", "gzip;q=0", "br"):
            answer = daemon.ask(headers={"Accept-Encoding": refusal})
            equal(f"{refusal} is plain", answer.headers["Content-Encoding"], None)


def test_head():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree, interval=SLOW) as daemon:
        daemon.wait_ready()
        get, head = daemon.ask(), daemon.ask(method="HEAD")
        equal("status", head.status, 200)
        equal("body", head.body, b"")
        equal("length", head.headers["Content-Length"], str(len(get.body)))
        equal("type", head.headers["Content-Type"], TEXT)


def test_other_paths_and_methods():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        for path in ("/metrics/", "/metric", "/favicon.ico", "//metrics", "/..", "/%00"):
            equal(f"status of {path}", daemon.ask(path).status, 404)
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = daemon.ask(method=method)
            equal(f"status of {method}", answer.status, 405)
            equal("Allow", sorted(answer.headers["Allow"].replace(" ", "").split(",")),
                  ["GET", "HEAD"])
        equal("a query is ignored", daemon.ask("/metrics?x=1").status, 200)
        for path in ("/-/healthy", "/-/ready", "/"):
            for method in ("GET", "HEAD"):
                equal(f"{method} {path}", daemon.ask(path, method).status, 200)
            equal(f"POST {path}", daemon.ask(path, "POST").status, 405)
        daemon.settle()
        page = daemon.page()
        true("404 is counted",
             page.value("proctally_http_requests_total", path="other", code="404") >= 6)
        true("405 is counted",
             page.value("proctally_http_requests_total", path="/metrics", code="405") == 4)


def test_root_page():
    with Tree() as tree, Daemon("--web.telemetry-path=/m", config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        answer = daemon.ask("/")
        true("says what it is", b"proctally" in answer.body)
        true("links the metrics", b"/m" in answer.body)
        equal("metrics elsewhere", daemon.ask("/m").status, 200)
        equal("not at the default path", daemon.ask("/metrics").status, 404)


def test_keep_alive():
    with Tree() as tree, Daemon(config=BY_COMM, procfs=tree) as daemon:
        daemon.wait_ready()
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=5)
        connection.connect()
        local = connection.sock.getsockname()
        for _ in range(20):
            connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
            response = connection.getresponse()
            equal("status", response.status, 200)
            response.read()
            true("the connection is kept", connection.sock is not None)
            equal("the same connection", connection.sock.getsockname(), local)
        connection.close()


def test_not_ready_before_the_first_snapshot():
    """A procfs without processes gives no snapshot."""
    with Tree() as tree:
        hidden = tree + ".hidden"
        os.mkdir(hidden)
        for pid in ("1", "4242"):
            os.rename(f"{tree}/{pid}", f"{hidden}/{pid}")
        with Daemon(config=BY_COMM, procfs=tree) as daemon:
            wait_until("healthy", lambda: daemon.answers("/-/healthy") == 200)
            equal("ready", daemon.ask("/-/ready").status, 503)
            equal("metrics", daemon.ask("/metrics").status, 503)
            for pid in ("1", "4242"):
                os.rename(f"{hidden}/{pid}", f"{tree}/{pid}")
            daemon.wait_ready()
            page = daemon.page()
            true("the failures are counted",
                 page.value("proctally_snapshot_failures_total", reason="procfs") >= 1)
            equal("processes", page.value("proctally_processes"), 2)


def test_openmetrics_is_strict():
    """The reference parser takes it, and it says the same as the text page."""
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        print("     python3-prometheus-client is not installed: not judged")
        return
    with Tree() as tree, Daemon(config="[metrics]\ninclude = *\n" + BY_COMM, procfs=tree,
                                interval=SLOW) as daemon:
        daemon.wait_ready()
        answer, page = openmetrics(daemon), daemon.page()
        families = list(text_string_to_metric_families(answer.body.decode("utf-8")))
        samples = {key(s.name, s.labels): s.value
                   for family in families for s in family.samples}
        # Requests are counted between the two pages' snapshots only if one is taken: none is.
        equal("samples", samples, page.series)
        types = {f.name + ("_total" if f.type == "counter" else ""): f.type for f in families}
        for name, kind in page.types.items():
            if name in types:
                equal(f"type of {name}", types[name], kind)


def test_odd_names_in_openmetrics():
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        print("     python3-prometheus-client is not installed: not judged")
        return
    names = [b'q"uote', b"back\\slash", b"new\nline", b"caf\xc3", b"{a=\"b\"}", b"# EOF", b"\x01\x7f"]
    with Tree() as tree:
        for i, name in enumerate(names):
            procfs.process(tree, 600 + i, name)
        with Daemon(config=BY_COMM, procfs=tree) as daemon:
            daemon.wait_ready()
            text = openmetrics(daemon).body.decode("utf-8")
            groups = {s.labels["group"] for f in text_string_to_metric_families(text)
                      for s in f.samples if s.name == "proctally_group_processes"}
            equal("groups", groups, {"init", "canary", 'q"uote', "back\\slash", "new\nline",
                                     "caf\ufffd", '{a="b"}', "# EOF", "\ufffd\ufffd"})
            equal("groups of the text page", daemon.page().groups(), groups)


def test_real_proc_by_default():
    """No file, no procfs given: the host's own processes, and the daemon among them."""
    with Daemon() as daemon:
        daemon.wait_ready()
        page = daemon.page()
        true("the daemon is a group", page.value("proctally_group_processes", group="proctallyd") >= 1)
        equal("up", page.value("proctally_up"), 1)
        equal("sources", len(page.of("proctally_source_info")), 1)
        equal("descriptors of itself", page.value("process_open_fds") > 3, True)
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
            equal("pid_max", page.value("proctally_host_tasks_limit", limit="pid_max"), int(f.read()))
        with open("/proc/stat", encoding="ascii") as f:
            boot = next(int(line.split()[1]) for line in f if line.startswith("btime"))
        equal("boot time", page.value("proctally_host_boot_time_seconds"), boot)


def test_kernel_threads_are_one_group():
    with Tree() as tree:
        procfs.kernel_thread(tree, 2, "kthreadd", state="S", ppid=0)
        procfs.kernel_thread(tree, 9, "kworker/0:0-events")
        page = once(procfs=tree)
        equal("groups", page.groups(), {"init", "canary.service", "kernel"})
        equal("kernel", page.value("proctally_group_processes", group="kernel"), 2)


def kernel_threads():
    """How many this host has; none in a process namespace."""
    found = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                found += int(f.read().rpartition(b")")[2].split()[6]) >> 21 & 1
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def test_kernel_threads_of_this_host():
    def is_right():
        """None came or went meanwhile."""
        before = kernel_threads()
        got = once().get("proctally_group_processes", group="kernel") or 0
        return before == got == kernel_threads()

    wait_until("all of them and nobody else", is_right)


def test_two_listeners():
    port = free_port()
    with Tree() as tree, Daemon(f"--web.listen-address=127.0.0.1:{port}", config=BY_COMM,
                                procfs=tree) as daemon:
        daemon.wait_ready()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/metrics")
        equal("status on the second", connection.getresponse().status, 200)
        connection.close()


def run(*arguments):
    return subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, check=False)


def test_address_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run(f"--web.listen-address=127.0.0.1:{port}")
        true("fails", done.returncode not in (0, -11, -6))
        true("names the address", f"127.0.0.1:{port}".encode() in done.stderr)


def test_healthcheck():
    with Tree() as tree, Daemon(procfs=tree) as daemon:
        daemon.wait_ready()
        place = f"127.0.0.1:{daemon.port}"
        asks = f"--web.listen-address=:{daemon.port}"
        elsewhere = f"--web.listen-address=127.0.0.1:{free_port()}"
        done = run("--healthcheck", asks, elsewhere)  # the first one counts
        equal("status", (done.returncode, done.stdout, done.stderr), (0, b"", b""))
        daemon.write_config(f"[web]\nlisten = {place}\n")
        done = run("--healthcheck", f"--config.file={daemon.config_path}")
        equal("status by the file's address", (done.returncode, done.stderr), (0, b""))
        daemon.write_config("nonsense\n")
        done = run("--healthcheck", f"--config.file={daemon.config_path}")
        equal("status with a bad file", done.returncode, 1)
        done = run("--healthcheck", f"--config.file={daemon.config_path}", asks)
        equal("status with a bad file nobody needs", done.returncode, 0)
        daemon.pause()
        begin = time.monotonic()
        done = run("--healthcheck", asks)
        seconds = time.monotonic() - begin
        daemon.resume()
        equal("status of a daemon that hangs", done.returncode, 1)
        equal("what it says", done.stderr,
              f"proctallyd: not healthy: {place}: Connection timed out\n".encode())
        true(f"in time: {seconds:.1f} s", seconds < 4 or SANITIZE)
    done = run("--healthcheck", asks)
    equal("status without a daemon", done.returncode, 1)
    equal("lines", done.stderr.count(b"\n"), 1)
    true("says why", b"Connection refused" in done.stderr)


def test_flags():
    done = run("--version")
    equal("--version", done.returncode, 0)
    true("names itself", b"proctally" in done.stdout)
    for library in (b"libmicrohttpd ", b"libsystemd", b"libbpf"):
        true(f"names {library}", library in done.stdout)
    done = run("--help")
    equal("--help", done.returncode, 0)
    for flag in ("config.file", "web.listen-address", "web.telemetry-path", "path.procfs",
                 "collector.source", "collector.interval", "log.level", "log.format", "once",
                 "check-config", "healthcheck", "version", "help"):
        true(f"--help names --{flag}", f"--{flag}".encode() in done.stdout)
    done = run("--check-config")
    equal("--check-config", done.returncode, 0)
    true("shows the effective values", b"interval" in done.stdout)
    for wrong in ("--no-such-flag", "--collector.interval=1ms", "--log.level=loud", "word",
                  "--config.file=/nonexistent/file"):
        done = run(wrong, "--check-config")
        true(f"{wrong} fails", done.returncode > 0)
        true(f"{wrong} is told", len(done.stderr) > 10)
        equal(f"{wrong} prints no page", done.stdout, b"")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
