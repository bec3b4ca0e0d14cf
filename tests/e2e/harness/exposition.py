"""A strict reader of one Prometheus text page (0.0.4).

It finds what `promtool check metrics` lets pass: series twice, families in pieces, values that
wrapped around. As a program it judges a body: exposition.py BODY [--prev OLD_BODY].
"""
import math
import re
import sys

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
TYPES = ("counter", "gauge", "untyped", "histogram", "summary")
ESCAPES = {"\\": "\\", '"': '"', "n": "\n"}


class Page:
    """Series of one page: {(name, ((label, value), ...)): number}, labels sorted."""

    def __init__(self, body):
        self.body = body
        self.series = {}
        self.types = {}
        self.helps = {}
        self.faults = []
        self._read()

    def get(self, name, **labels):
        """The value, or None when the page has no such series."""
        return self.series.get(key(name, labels))

    def value(self, name, **labels):
        got = self.get(name, **labels)
        if got is None:
            raise KeyError(show(key(name, labels)))
        return got

    def of(self, name):
        """All series of a name, as {labels: value}."""
        return {labels: v for (n, labels), v in self.series.items() if n == name}

    def label_values(self, name, label):
        return {dict(labels)[label] for labels in self.of(name) if label in dict(labels)}

    def groups(self):
        return self.label_values("proctally_group_processes", "group")

    def has_family(self, name):
        return any(n == name for n, _ in self.series)

    def is_counter(self, name):
        return self.types.get(name) == "counter"

    def judge(self, may_be_big=r"limit|max_"):
        """What is wrong with the page, as a list of texts; empty when all is well."""
        faults = list(self.faults)
        for k, v in self.series.items():
            if math.isnan(v) or math.isinf(v):
                faults.append(f"NaN or Inf: {show(k)}")
            elif v < 0:
                faults.append(f"negative: {show(k)} {v}")
            elif 1.8e17 <= v <= 1.9e19 and not re.search(may_be_big, show(k)):
                faults.append(f"looks like 2^64 wrapped: {show(k)} {v:.6g}")
        return faults

    def fell_since(self, earlier):
        """The counters that are lower than on an earlier page of the same daemon."""
        return [f"counter fell: {show(k)} {v} -> {self.series[k]}"
                for k, v in earlier.series.items()
                if earlier.is_counter(k[0]) and k in self.series and self.series[k] < v - 1e-9]

    def _read(self):
        body, faults = self.body, self.faults
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as e:
            faults.append(f"not UTF-8 at byte {e.start}: {body[max(0, e.start - 20):e.start + 10]!r}")
            text = body.decode("utf-8", "replace")
        if not body.endswith(b"\n"):
            faults.append("body does not end in LF")
        if b"\r" in body or b"\0" in body:
            faults.append("CR or NUL in body")
        done, current = set(), None
        for number, line in enumerate(text.split("\n"), 1):
            if not line:
                continue
            if line.startswith("#"):
                self._read_comment(number, line, done | {current})
                continue
            try:
                name, labels, value = parse_sample(line)
            except ValueError as e:
                faults.append(f"line {number}: {e}: {line[:100]!r}")
                continue
            family = self._family(name)
            if family != current:
                if family in done:
                    faults.append(f"line {number}: {family} is not in one block")
                if current is not None:
                    done.add(current)
                current = family
            k = key(name, dict(labels))
            if k in self.series:
                faults.append(f"line {number}: series twice: {show(k)}")
            self.series[k] = value
            if family not in self.types:
                faults.append(f"line {number}: no TYPE for {family}")
                self.types[family] = "untyped"
            if family not in self.helps:
                faults.append(f"line {number}: no HELP for {family}")
                self.helps[family] = ""

    def _read_comment(self, number, line, with_samples):
        parts = line.split(" ", 3)
        if len(parts) < 3 or parts[1] not in ("TYPE", "HELP"):
            return
        table = self.types if parts[1] == "TYPE" else self.helps
        if parts[2] in table:
            self.faults.append(f"line {number}: second {parts[1]} for {parts[2]}")
        if parts[2] in with_samples:
            self.faults.append(f"line {number}: {parts[1]} behind samples of {parts[2]}")
        table[parts[2]] = parts[3] if len(parts) == 4 else ""
        if parts[1] == "TYPE" and table[parts[2]] not in TYPES:
            self.faults.append(f"line {number}: unknown type")

    def _family(self, name):
        for suffix in ("_bucket", "_sum", "_count"):
            stem = name[:-len(suffix)]
            if name.endswith(suffix) and self.types.get(stem) in ("histogram", "summary"):
                return stem
        return name


def parse_sample(line):
    """-> (name, ((label, value), ...), number), or raises ValueError."""
    match = NAME.match(line)
    if not match:
        raise ValueError("no metric name")
    name, i, labels = match.group(0), match.end(), []
    if line[i:i + 1] == "{":
        i += 1
        while True:
            while line[i:i + 1] in (" ", ","):
                i += 1
            if i >= len(line):
                raise ValueError("labels are not closed")
            if line[i] == "}":
                i += 1
                break
            equals = line.find("=", i)
            label = line[i:equals].strip()
            if equals < 0 or not LABEL.match(label):
                raise ValueError(f"bad label name {label!r}")
            value, i = parse_label_value(line, equals + 1)
            labels.append((label, value))
            if line[i:i + 1] not in (",", "}"):
                raise ValueError("junk behind a label value")
    rest = line[i:].split()
    if len(rest) != 1:
        raise ValueError("not exactly one value (timestamps are not sent)")
    if len(dict(labels)) != len(labels):
        raise ValueError("label name twice")
    return name, tuple(labels), float(rest[0])


def parse_label_value(line, i):
    if line[i:i + 1] != '"':
        raise ValueError("label value is not quoted")
    i, out = i + 1, []
    while True:
        if i >= len(line):
            raise ValueError("label value is not closed")
        if line[i] == '"':
            return "".join(out), i + 1
        if line[i] == "\\":
            if line[i + 1:i + 2] not in ESCAPES:
                raise ValueError("bad escape in label value")
            out.append(ESCAPES[line[i + 1]])
            i += 2
        else:
            out.append(line[i])
            i += 1


def key(name, labels):
    return name, tuple(sorted((k, v) for k, v in labels.items() if v != ""))


def show(k):
    return k[0] + ("{" + ",".join(f'{a}="{b}"' for a, b in k[1]) + "}" if k[1] else "")


def main(arguments):
    with open(arguments[0], "rb") as f:
        page = Page(f.read())
    faults = page.judge()
    if "--prev" in arguments:
        with open(arguments[arguments.index("--prev") + 1], "rb") as f:
            faults += page.fell_since(Page(f.read()))
    for fault in faults:
        print("FAIL", fault)
    print(f"{len(page.series)} series, {len(page.types)} families, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
