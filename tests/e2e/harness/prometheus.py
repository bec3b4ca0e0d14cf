"""A real Prometheus that scrapes one daemon."""
import json
import os
import subprocess
import tempfile
import urllib.parse
import urllib.request

from .daemon import Failure, free_port, wait_until
from .tests import equal

CONFIG = """
global:
  scrape_interval: {interval}
  scrape_timeout: {timeout}
scrape_configs:
  - job_name: proctally
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Prometheus:
    """Scrapes the port for the length of a `with`."""

    def __init__(self, target_port, interval="1s", timeout="900ms"):
        self.port = free_port()
        self.directory = tempfile.TemporaryDirectory(prefix="proctally.")
        path = os.path.join(self.directory.name, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(CONFIG.format(port=target_port, interval=interval, timeout=timeout))
        self.log_path = os.path.join(self.directory.name, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={path}",
                 f"--storage.tsdb.path={self.directory.name}/db",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=debug"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        wait_until("Prometheus is ready", self.ready, 60, 0.2)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.directory.cleanup()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.read()

    def ready(self):
        if self.process.poll() is not None:
            raise Failure(f"Prometheus ended\n{self.log()}")
        try:
            return self.get("/-/ready")
        except OSError:
            return None

    def api(self, path, **query):
        answer = json.loads(self.get(f"/api/v1/{path}", **query))
        equal("API", answer["status"], "success")
        return answer["data"]

    def query(self, expression):
        """{labels: number} of an instant query."""
        return {tuple(sorted(row["metric"].items())): float(row["value"][1])
                for row in self.api("query", query=expression)["result"]}

    def one(self, expression):
        got = self.query(expression)
        equal(f"results of {expression}", len(got), 1)
        return next(iter(got.values()))

    def samples(self, name, seconds):
        """[(time of the scrape, number)] of the one series of that name."""
        got = self.api("query", query=f"{name}[{seconds}s]")["result"]
        return [(float(t), float(v)) for t, v in got[0]["values"]] if got else []
