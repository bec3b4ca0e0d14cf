"""Parses pages with the reference parsers; exits 77 where those are not installed."""

import sys

try:
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics_parser
except ImportError:
    sys.exit(77)


def parse(text, format):
    """The families of a page; raises ValueError if it is not as the format wants it."""
    if format == "openmetrics":
        return list(openmetrics_parser.text_string_to_metric_families(text))
    if not text.endswith("\n") or "\r" in text:
        raise ValueError("lines of the text format end in LF")
    return list(parser.text_string_to_metric_families(text))


def main():
    format, *paths = sys.argv[1:]
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            families = parse(file.read(), format)
        seen = set()
        for sample in (s for f in families for s in f.samples):
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in seen, f"{path}: {key} twice"
            assert sample.value >= 0, f"{path}: {key} is negative or no number"
            assert sample.timestamp is None, f"{path}: {key} has a timestamp"
            seen.add(key)
        for family in families:
            assert family.samples, f"{path}: {family.name} has no samples"
            assert family.documentation, f"{path}: {family.name} has no HELP"
        print(f"{path}: {len(families)} families, {len(seen)} samples")


if __name__ == "__main__":
    main()
